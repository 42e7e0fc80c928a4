"""Data-dependent noise: one law of the release per value of a query with a bounded range."""

from __future__ import annotations

import streamlit as st

from dpcore.data_dependent import solve
from pages.data_dependent import certainty, controls, headline, panels, published, takeaway
from pages.shared import compute, folding, frame, prose, watching

TEXT = prose.sections("data_dependent")

controls.PAGE.open()
st.title("Data-dependent noise", anchor=False)
asked = controls.sidebar()
if asked.problem is None:
    st.error(asked.complaint, icon=":material/error:")
    st.stop()

job = compute.ask("picture", asked.problem, asked.settings, task=solve)
waited_for = watching.under_way({"picture": job})
solution = headline.shown(job)
if solution is None:
    if waited_for:
        watching.closing("picture", job, waited_for, more=lambda: headline.shown(job) is not None)
        st.caption(TEXT["about"])
    else:
        headline.failure(job)
    st.stop()

headline.headline(solution)
watching.closing("picture", job, waited_for)
frame.cite(headline.sentence(solution).replace("*", ""), {"found by": solution.source})
panels.laws(solution, asked)
panels.losses(solution, asked)

drawers = (
    lambda: certainty.certainty(solution, asked, job),
    lambda: certainty.gain(solution),
    lambda: takeaway.release(solution),
    published.published,
    lambda: takeaway.export(solution),
)
for tab, draw in zip(st.tabs(controls.PANELS, key="panel", on_change="rerun"), drawers):
    if tab.open:
        with tab:
            draw()

panels.next_steps()
folding.about(TEXT)
