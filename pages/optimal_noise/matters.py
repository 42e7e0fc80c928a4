"""Where optimal noise matters, at a glance: certified savings over what people use, at four ε and the visitor's δ."""

from __future__ import annotations

import math
from dataclasses import astuple

import streamlit as st

from dpcore.mechanisms import Baseline, baseline
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Certificate
from pages.shared import compute, prose, watching

from . import verdict

TITLE = "Where optimal noise matters"
EPSILONS = (0.5, 1.0, 2.0, 5.0)
ROWS = {"laplace": ("real values, over Laplace", None), "geometric": ("counts, over Geometric", 1.0)}
"""What people use → (row, granularity). The loss is |x|, the sensitivity 1: for real values it cancels."""

SETTINGS = SolverSettings(gap=0.002, time_limit=5.0)
QUICK = 0.1
"""Seconds to wait for each of the problems."""


def table(problem: NoiseProblem) -> None:
    """The table, filled while its problems are solved, with the visitor's place framed; nothing for a promise of more
    than one pair."""
    if problem.profile is not None:
        return
    known, job = savings(problem.privacy.delta)
    if job is None:
        st.html(markup(known, problem))
        return

    @st.fragment(run_every=compute.pace(job))
    def watch() -> None:
        known, job = savings(problem.privacy.delta)
        if job is None:
            watching.draw_again()
        st.html(markup(known, problem))

    watch()


def savings(delta: float) -> tuple[dict[tuple[str, float], tuple[float, float]], compute.Job | None]:
    """((least, most) by mechanism and ε, what is under way for the rest). One problem is asked for at a time; the
    session keeps what is complete."""
    if (kept := st.session_state.get("matters")) and kept[0] == delta:
        return kept[1], None
    known = {}
    for key, (_, granularity) in ROWS.items():
        for epsilon in EPSILONS:
            problem = noise_problem(epsilon, delta, granularity=granularity)
            slot = f"matters {key} {epsilon:g}"
            job = compute.ask(slot, problem, SETTINGS, urgent=False, wait=QUICK)
            if not job.done:
                return known, job
            if job.solution is not None:
                known[key, epsilon] = saved(job.solution.certificate, baseline(key, problem))
    if len(known) == len(ROWS) * len(EPSILONS):
        st.session_state["matters"] = delta, known
    return known, None


def saved(proof: Certificate, bar: Baseline) -> tuple[float, float]:
    """(least, most) share of a mechanism's loss that the best noise saves."""
    return max(0.0, verdict.saved_share(proof.upper, bar)), verdict.remaining(proof, bar)


def told(least: float, most: float) -> str:
    """In whole per cent: one number if both ends round to it, else from one rounded down to the other rounded up."""
    if most < 0.005:
        return "0\u202f%" if most <= 2 * verdict.EXACT else "<\u202f1\u202f%"
    least, most = 100 * least, 100 * most
    both = round(least) == round(most)
    return f"{round(most)}\u202f%" if both else f"{math.floor(least)}–{math.ceil(most)}\u202f%"


def row_of(problem: NoiseProblem) -> str:
    """The row that a problem belongs to, "" if it has another loss, constraints, or finer steps."""
    for key, (_, granularity) in ROWS.items():
        step = None if granularity is None else problem.sensitivity
        if problem == noise_problem(*astuple(problem.privacy), problem.sensitivity, granularity=step):
            return key
    return ""


def markup(known: dict[tuple[str, float], tuple[float, float]], problem: NoiseProblem) -> str:
    """The table as HTML. The visitor's place is a cell if the problem is of the table's kind, else a column."""
    epsilon, delta = problem.privacy.epsilon, prose.delta_text(problem.privacy.delta)
    columns, mine, head, body = sorted({*EPSILONS, *([epsilon] if epsilon > 0 else [])}), row_of(problem), "", ""
    for one in columns:
        head += f'<th scope="col" class="{"here" if one == epsilon and not mine else ""}">{one:g}</th>'
    for key, (row, _) in ROWS.items():
        cells = ""
        for one in columns:
            here, share = (key, one) == (mine, epsilon), known.get((key, one))
            text = told(*share) if share else "…" if one in EPSILONS else "you" if here else ""
            kinds = {"here": here, "much": share is not None and share[0] >= verdict.WORTH}
            cells += f'<td class="{" ".join(kind for kind, on in kinds.items() if on)}">{text}</td>'
        body += f'<tr><th scope="row">{row}</th>{cells}</tr>'
    return (
        f'<table class="matters"><caption><b>{TITLE}</b>: mean error saved</caption>'
        f'<thead><tr><th scope="row">δ = {delta}, ε =</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
