"""Optimal noise: pick a loss, (ε, δ), a sensitivity and constraints; see the certified optimum."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.mechanisms import Baseline
from dpcore.solution import Solution
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
from pages.shared import compute, folding, frame, prose

TEXT = prose.sections("optimal_noise")

Shown = tuple[panels.View, Solution, compute.Job, Sequence[Baseline]]
"""What is looked at, the noise that is drawn, the search behind it, and the textbooks'."""


def answer(asked: controls.Controls) -> Shown | None:
    """Draw headline and pictures; None while there is no noise to draw."""
    view = panels.last_good(asked)
    if view is None:
        st.caption(TEXT["about"])
        return None
    job = panels.asked_for(view)
    complete, solution = job.done, panels.presentable(job, view)
    bars = textbooks.asked(view.problem) if complete else textbooks.known(view.problem)
    if solution is None:
        if complete:
            panels.failure(job, asked)
        else:
            panels.waiting(job, view, bars)
        return None
    panels.headline(solution, view, bars, lambda: along.headline(view))
    frame.cite(*panels.claim(solution, view))
    if not complete:
        panels.sharpening(job, view, solution)
    else:
        panels.ended(job, solution)
    if HOME["afford"] is not None:
        afford.panel(view)
    panels.pictures(solution, view, bars)
    return view, solution, job, bars


HOME.open()
st.title("Optimal noise", anchor=False)
asked = controls.read()
controls.draw(asked)
shown = answer(asked)
if shown is None:
    st.stop()

view, solution, job, bars = shown
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
