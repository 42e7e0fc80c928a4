"""Optimal noise: pick a loss, (ε, δ), a sensitivity and constraints; see the certified optimum."""

from __future__ import annotations

import streamlit as st

from pages.shared import compute, controls, evidence, hands_on, panels, prose

TEXT = prose.sections("optimal_noise")

st.title("Optimal noise", anchor=False)
asked = controls.noise_controls()
view = panels.last_good(asked)
if view is None:
    st.caption(TEXT["about"])
    st.stop()

bars = compute.baselines(view.problem)
with panels.first_sight(view, bars):
    job = compute.ask("picture", view.problem, view.settings)
complete = job.done
if complete:
    solution = job.solution
    if solution is None:
        panels.failure(job, asked)
        st.stop()
else:
    first = compute.ask("first picture", view.problem, panels.rough(view.settings), wait=1.2)
    solution = first.solution
    if solution is None:
        panels.waiting(job, first, view, bars)
        st.stop()

panels.headline(solution, view, bars)
if not complete:
    panels.sharpening(job, view)
elif job.halt.is_set():
    panels.stopped_early()
panels.pictures(solution, view, bars)

names = ["How sure is this?", "Price of a constraint", "Try it", "Take it away"]
sure, price, attempt, export = st.tabs(names, key="panel", bind="query-params", on_change="rerun")
if sure.open:
    with sure:
        evidence.certainty(solution, view, job)
if price.open:
    with price:
        evidence.price(solution, view)
if attempt.open:
    with attempt:
        hands_on.try_it(solution, view, bars)
if export.open:
    with export:
        hands_on.export(solution, view)

panels.next_steps(solution, bars)
with st.expander("What is computed here, and where it comes from"):
    st.markdown(TEXT["about"] + "\n\n" + TEXT["formulas"] + "\n\n**References**\n\n" + TEXT["references"])
