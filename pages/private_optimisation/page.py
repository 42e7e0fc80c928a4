"""Private optimisation: plans under private limits that are never broken."""

from __future__ import annotations

import streamlit as st

from pages.private_optimisation import certainty, controls, headline, panels, published, work
from pages.shared import compute, frame, prose, watching

TEXT = prose.sections("private_optimisation")
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

controls.PAGE.open()
st.session_state.update(controls.PAGE.values())  # a run that was cut short before the sidebar must not lose them
st.title("Private optimisation", anchor=False)
asked = controls.sidebar()
if asked.complaints:
    st.error(" ".join(asked.complaints), icon=":material/error:")
    st.stop()
if asked.program is None:
    st.info(TEXT["upload"])
    st.stop()

simulation = work.Releases(asked.story, asked.epsilon, asked.delta, asked.mechanisms, int(controls.PAGE["draws"]))
jobs = {"releases": compute.ask("releases", simulation, None, task=work.released)}
if asked.delta > 0:
    sweep = work.Sweep(asked.story, EPSILONS, asked.delta)
    jobs["price"] = compute.ask("price", sweep, None, task=work.sweep, urgent=False, wait=0)
if (figure := published.figure_job()) is not None:
    jobs["published"] = figure
if jobs["releases"].error is not None:
    headline.failed(jobs["releases"].error)
    st.stop()

waited_for = watching.under_way(jobs)
found = jobs["releases"].solution or [record for record in jobs["releases"].trace if isinstance(record, work.Released)]
claim = headline.headline(asked, found)
headline.going_on(jobs, waited_for)
left, right = st.columns([5, 4], gap="large")
with left:
    panels.picture(asked, found)
with right:
    panels.worth(asked, found)
panels.numbers(found)
if "price" in jobs:
    panels.price(asked, jobs["price"])
sure, paper, why = st.tabs(["What is sure", "Published figures", "Why nobody can do much better"])
with sure:
    certainty.certainty(asked, found)
with paper:
    published.published(figure)
with why:
    certainty.explanation()
panels.next_steps()
panels.about()
if jobs["releases"].done:
    frame.cite(claim, headline.facts(asked, found))
