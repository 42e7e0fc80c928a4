"""Optimal noise: pick a loss, (ε, δ), a sensitivity and constraints; see the certified optimum."""

from __future__ import annotations

import streamlit as st

from pages.optimal_noise import (
    afford,
    along,
    controls,
    draws,
    evidence,
    panels,
    pins,
    privacy_profile,
    takeaway,
    textbooks,
)
from pages.optimal_noise.inputs import HOME, PANELS
from pages.shared import folding, frame, prose

TEXT = prose.sections("optimal_noise")

HOME.open()
st.title("Optimal noise", anchor=False)
told = panels.at_once()
frame.bar()
asked = controls.noise_controls()
view = panels.last_good(asked)
if view is None:
    st.caption(TEXT["about"])
    st.stop()

bars = textbooks.known(view.problem)
job = panels.asked_for(view)
complete, solution = job.done, panels.presentable(job, view)
if complete:
    bars = textbooks.asked(view.problem)
if solution is None:
    if complete:
        panels.failure(job, asked)
    else:
        panels.waiting(job, view, bars)
    st.stop()

panels.headline(solution, view, bars, lambda: along.headline(view), over=told)
frame.cite(*panels.claim(solution, view))
if not complete:
    panels.sharpening(job, view, solution)
else:
    panels.ended(job, solution)
if HOME["afford"] is not None:
    afford.panel(view)
panels.pictures(solution, view, bars)
if HOME["afford"] is None:
    afford.panel(view)
privacy_profile.panel(solution, view)

sure, price, attempt, beside, export = st.tabs(PANELS, key="panel", on_change="rerun")
if sure.open:
    with sure:
        evidence.certainty(solution, view, job)
if price.open:
    with price:
        evidence.price(solution, view)
if attempt.open:
    with attempt:
        draws.try_it(solution, view, bars)
if beside.open:
    with beside:
        pins.side_by_side(solution, view)
if export.open:
    with export:
        takeaway.export(solution, view)

panels.next_steps(solution)
folding.about(TEXT)
