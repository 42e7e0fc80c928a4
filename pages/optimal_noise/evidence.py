"""Panels that say why a result can be believed: the closing gap, the certificate, other methods, prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy_profile import Composed, PairList
from dpcore.problem import NoiseProblem
from dpcore.solution import Certificate, Solution
from pages.shared import compute, frame, prose
from pages.shared.address import FRAME
from pages.shared.messages import explain
from pages.shared.watching import when_done

from . import inputs
from .panels import TEXT, closing, escape
from .view import View


def certainty(solution: Solution, view: View, job: compute.Job) -> None:
    """The gap over time, the certificate, and the other method beside it."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        frame.heading("Closing the gap", TEXT["gap"])
        if not job.done or len({(record.lower, record.upper) for record in solution.trace}) > 1:
            closing(solution.trace, view)
        else:
            st.caption(f"Both bounds at once ({solution.source}): nothing had to be refined.")
    with right:
        frame.heading("Certificate", TEXT["method"])
        st.markdown(certificate_table(solution, view))
    _methods(solution, view)


def certificate_table(solution: Solution, view: View) -> str:
    """The proved facts as a Markdown table."""
    proof, unit = solution.certificate, prose.loss_unit(view.problem.loss, view.unit)
    rows = {
        prose.axis("lower bound", unit): "nothing proved" if proof.lower is None else prose.at_least(proof.lower),
        prose.axis("upper bound", unit): prose.at_most(proof.upper),
        "relative gap": "–" if proof.gap is None else prose.percent_up(proof.gap),
        "δ of this noise, audited": f"at most {prose.at_most(proof.delta_upper, 4)}",
        prose.axis("worst shift", view.unit): prose.plain(proof.worst_shift),
        "repaired": "yes: mixed with a stricter law" if proof.repaired else "no",
        "cells": str(solution.cells),
        "shifts audited": str(solution.shifts),
        "solving time": f"{solution.seconds:.2f} s",
        "source": solution.source,
    }
    if proof.budget_upper is not None and view.problem.budget is not None:
        rows["second loss of this noise"] = f"at most {prose.at_most(proof.budget_upper, 6)}"
    if proof.second_delta_upper is not None and view.problem.second is not None:
        epsilon = view.problem.second.epsilon
        rows[f"δ of this noise at ε = {epsilon:g}"] = f"at most {prose.at_most(proof.second_delta_upper, 6)}"
    rows |= profile_rows(solution)
    lines = [f"| {escape(key)} | {escape(value)} |" for key, value in rows.items()]
    return "\n".join(["| quantity | value |", "|---|---|", *lines])


def profile_rows(solution: Solution) -> dict[str, str]:
    """How the law keeps a promise of more than one pair."""
    proof, profile = solution.certificate.profile, solution.problem.profile
    if proof is None:
        return {}
    if isinstance(profile, Composed):
        joint = f"at most {prose.at_most(proof.deltas[0], 4)}, allowed {prose.delta_text(proof.limits[0])}"
        return {f"δ of {prose.count(profile.releases)} releases, by an accountant": joint}
    if isinstance(profile, PairList):
        return {"pairs kept": f"{len(proof.epsilons)} of {len(profile.pairs)}, audited"}
    return {
        "curve kept": f"at every ε′ ≥ 0; checked at {len(proof.epsilons)} crossings of tangents",
        "no privacy loss beyond": f"ε′ = {prose.at_most(proof.pure_from, 4)}",
    }


def _methods(solution: Solution, view: View) -> None:
    other = "certified" if view.settings.method == "reference" else "reference"
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    on = left.toggle(f"Also solve with the {other} method", key="both")
    if not on:
        where = "" if FRAME["projector"] else "; change it under “Solver” on the left"
        right.caption(f"The picture shows the {view.settings.method} method{where}.")
        return
    job = compute.ask("other method", view.problem, replace(view.settings, method=other), urgent=False, wait=0.0)
    when_done([job], lambda: st.markdown(method_table([solution, job.solution]) if job.solution else _trouble(job)))


def _trouble(job: compute.Job) -> str:
    return f"Not available: {explain(job.error) if isinstance(job.error, InputError) else 'no usable answer.'}"


def method_table(solutions: Sequence[Solution]) -> str:
    """Brackets of several methods side by side."""
    lines = ["| method | lower | upper | gap | seconds | cells | shifts |", "|---|--:|--:|--:|--:|--:|--:|"]
    for one in solutions:
        proof = one.certificate
        lower = "–" if proof.lower is None else prose.at_least(proof.lower, 7)
        gap = "–" if proof.gap is None else prose.percent_up(proof.gap)
        cells = [inputs.METHODS[one.settings.method], lower, prose.at_most(proof.upper, 7), gap, f"{one.seconds:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {one.cells} | {one.shifts} |")
    return "\n".join(lines)


def price(solution: Solution, view: View) -> None:
    """Value with and without each constraint, as certified intervals."""
    frame.heading("Price of a constraint", TEXT["price"])
    jobs = {
        name: compute.ask(f"price of {name}", variant, view.settings, urgent=False, wait=0.0)
        for name, variant in variants(view.problem).items()
    }
    when_done(list(jobs.values()), lambda: st.markdown(price_table(solution, view, jobs)))


def variants(problem: NoiseProblem) -> dict[str, NoiseProblem]:
    """The problem with one constraint added or dropped, where that makes sense and a difference."""
    low, high = problem.support
    out = {}
    if low <= 0 <= high:
        out["monotone"] = replace(problem, monotone=not problem.monotone)
    if low == -high and not problem.loss.even:
        out["symmetric"] = replace(problem, symmetric=not problem.symmetric)
    if (low, high) != (-math.inf, math.inf):
        out["support"] = replace(problem, support=(-math.inf, math.inf))
    if problem.budget is not None:
        out["budget"] = replace(problem, budget=None)
    if problem.second is not None:
        out["second"] = replace(problem, second=None)
    if problem.profile is not None:
        out["profile"] = replace(problem, profile=None)
    return out


def price_table(solution: Solution, view: View, jobs: dict[str, compute.Job]) -> str:
    """Markdown table: constraint, cost without, cost with, price."""
    unit = prose.loss_unit(view.problem.loss, view.unit)
    lines = [f"| constraint | without it{f' ({unit})' if unit else ''} | with it | price |", "|---|--:|--:|--:|"]
    problem = view.problem
    on = {"monotone": problem.monotone, "symmetric": problem.symmetric, "support": True, "budget": True, "second": True}
    on["profile"] = True
    names = {"support": f"support {prose.interval(*problem.support)}"}
    if problem.profile is not None:
        pair = f"({problem.privacy.epsilon:g}, {prose.delta_text(problem.privacy.delta)})"
        names["profile"] = f"the whole promise, not just {pair}-DP for one release"
    if problem.budget is not None:
        names["budget"] = prose.budget_text(problem.budget)
    if problem.second is not None:
        names["second"] = f"({problem.second.epsilon:g}, {prose.delta_text(problem.second.delta)})-DP too"
    for key, job in jobs.items():
        if job.solution is None:
            lines.append(f"| {names.get(key, key)} | – | – | {_trouble(job)} |")
            continue
        pair = (job.solution, solution) if on[key] else (solution, job.solution)
        without, with_it = (one.certificate for one in pair)
        paid = prose.price(without, with_it)
        lines.append(f"| {names.get(key, key)} | {_between(without)} | {_between(with_it)} | **{paid}** |")
    if problem.folds and "symmetric" not in jobs:
        lines.append("| symmetric | the same | the same | **nothing** |")
        lines.append("\nSymmetry is free here: the average of a law and its mirror image costs the same.")
    return escape("\n".join(lines))


def _between(proof: Certificate) -> str:
    if proof.lower is None:
        return f"at most {prose.bracket(proof.upper, proof.upper)[1]}"
    return " to ".join(prose.bracket(proof.lower, proof.upper))
