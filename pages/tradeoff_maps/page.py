"""Trade-off maps: the certified optimum over (ε, δ), the ε that an error takes, two losses against each other."""

from __future__ import annotations

import streamlit as st

from pages.shared import compute, folding, frame, prose
from pages.shared.watching import live
from pages.tradeoff_maps import controls, panels, work

TEXT = prose.sections("tradeoff_maps")

controls.PAGE.open()
asked = controls.read()
jobs = {} if asked.fault else {"map": compute.ask("map", asked.plane, None, task=work.fill, wait=0)}
st.title("Trade-off maps", anchor=False)
controls.sidebar(asked)  # the first cells are solved meanwhile
if asked.fault:
    st.error(f"{asked.complaint} Correct it on the left.", icon=":material/error:")
    st.stop()

if asked.wanted is not None:
    asks = work.Target(asked.problem, asked.wanted)
    jobs["target"] = compute.ask("target", asks, None, task=work.epsilons, wait=0.05)
jobs["along"] = compute.ask("along", asked.along, None, task=work.fill, urgent=False, wait=0)
jobs["across"] = compute.ask("across", asked.across, None, task=work.fill, urgent=False, wait=0)
if asked.frontier is not None:
    jobs["frontier"] = compute.ask("frontier", asked.frontier, None, task=work.frontier, urgent=False, wait=0)

target = jobs.get("target")
live([target], lambda: panels.headline(asked, target))
panels.going_on(asked, jobs)
left, right = st.columns([3, 2], gap="large")
with left:
    panels.map_choices()
    panels.first_cells(jobs["map"])
    live([jobs["map"]], lambda: panels.heat_map(asked, jobs["map"]))
with right:
    live([jobs.get("frontier")], lambda: panels.frontier(asked, jobs.get("frontier")))
live([jobs["along"], target], lambda: panels.along(asked, jobs["along"], target))
live([jobs["across"]], lambda: panels.across(asked, jobs["across"]))
st.caption(TEXT["proved at the dots"])
panels.next_steps()
folding.about(TEXT)

if target is not None and (known := panels.needs(target.solution or ())):
    facts = {panels.name(key): f"ε in [{one.epsilon_lower:.6g}, {one.epsilon_upper:.6g}]" for key, one in known.items()}
    frame.cite(panels.sentence(asked, known, done=True).replace("**", ""), facts)
