"""Vectors in d dimensions: one ℓ2-sensitivity, the certified optimum, and how far the Gaussian is from it."""

from __future__ import annotations

import streamlit as st

from dpcore.isotropic.search import solve
from pages.isotropic import controls, headline, panels, takeaway, work
from pages.shared import compute, fields, folding, frame, prose, watching

TEXT = prose.sections("isotropic")

controls.PAGE.open()
st.title("Vectors in d dimensions", anchor=False)
asked = controls.sidebar()
if asked.problem is None:
    st.error(asked.complaint, icon=":material/error:")
    st.stop()

job = compute.ask("picture", asked.problem, asked.settings, task=solve)
others = compute.ask("known", asked.problem, None, task=work.known)
waited_for = watching.under_way({"picture": job})
both = watching.under_way({"picture": job, "known": others})
best = job.best


if job.done and best is None:
    headline.failure(job)
    st.stop()
watching.closing("picture", job, waited_for, more=lambda: best is None and job.best is not None)
watching.live(both.values(), lambda: headline.headline(asked, job, panels.laws_of(others)))
left, right = st.columns([11, 9], gap="large")
with left:
    if panels.views():
        watching.live(both.values(), lambda: panels.laws(asked, job.best, panels.laws_of(others)))
with right:
    frame.heading("What they pay", TEXT["losses"])
    watching.live(both.values(), lambda: panels.bars(asked, job.best, panels.laws_of(others)))
if best is not None:
    facts = {"found by": best.source, "audited δ": prose.at_most(best.delta_upper)}
    frame.cite(headline.sentence(asked.problem, asked.unit, best, panels.laws_of(others)).replace("*", ""), facts)
    parts = {
        "map": lambda: panels.over_dimensions(asked),
        "sure": lambda: panels.sure(asked, best, job),
        "release": lambda: takeaway.release_one(best),
        "export": lambda: takeaway.export(best),
    }
    parts[fields.choice(controls.PAGE, "panel", "Look closer")]()
panels.next_steps()
folding.about(TEXT)
