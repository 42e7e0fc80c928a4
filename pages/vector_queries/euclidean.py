"""All coordinates under one ℓ2 bound: what the certified isotropic law makes of that, and where it is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from dpcore.isotropic.problem import IsotropicProblem, RadialLoss
from dpcore.isotropic.search import solve
from dpcore.isotropic.solution import IsotropicSolution
from dpcore.privacy import SENSITIVITY
from dpcore.problem import SolverSettings
from dpcore.problem_fields.radial import DIMENSION
from dpcore.vector import Allocation, VectorQuery
from pages.isotropic.controls import PAGE as ISOTROPIC
from pages.shared import compute, prose, watching

EFFORT = SolverSettings(gap=0.02, time_limit=10.0)

ROUNDING = 1e-9
"""More than the lengths below lose, relatively; the sensitivity asked for is larger by that."""


def as_isotropic(query: VectorQuery) -> IsotropicProblem | None:
    """The vector problem whose law, its coordinates scaled, is private for a query and has its squared error; None
    where there is none.

    Noise s_i X_i with X radial of ℓ2-sensitivity D is private where |(d_i/s_i)|₂ ≤ D for all neighbours' differences d,
    and pays Σ s_i² E|X|²/K. With |d_i| ≤ λ_i and s_i = √λ_i, the best scales, D² = Σ λ_i, so it pays (Σ λ_i)²/K times
    what it does for D = 1. With s_i = 1 that is D² times as much, D the ℓ2-sensitivity of the query.
    """
    values = [value for value in query.profile.values if value > 0]
    count = len(values)
    if query.power != 2 or query.weights is not None or query.privacy.delta == 0 or not 1 < count <= DIMENSION.high:
        return None
    length = min(math.fsum(values) / math.sqrt(count), query.sensitivity(2)) * (1 + ROUNDING)
    if not SENSITIVITY.low <= length <= SENSITIVITY.high:
        return None
    return IsotropicProblem(count, query.privacy, RadialLoss(2.0), length)


def link(problem: IsotropicProblem) -> str:
    """Its page, filled in."""
    values = {
        "dimension": problem.dimension, "epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta,
        "sensitivity": problem.sensitivity, "loss": "squared",
    }  # fmt: skip
    return f"isotropic?{urlencode(ISOTROPIC.query(ISOTROPIC.read({})[0] | values))}"


def beside(query: VectorQuery, found: Sequence[Allocation]) -> None:
    """The isotropic law's error beside the best one of the page."""
    problem = as_isotropic(query)
    if problem is None:
        return
    job = compute.ask("isotropic", problem, EFFORT, task=solve, urgent=False, wait=0.05)
    watching.live([job], lambda: st.caption(said(problem, job.best, found)))


def said(problem: IsotropicProblem, best: IsotropicSolution | None, found: Sequence[Allocation]) -> str:
    """What there is to say about it."""
    page = f"[Vectors in d dimensions]({link(problem)})"
    text = f"Coordinates that share one ℓ2 bound, as these do once scaled, have their own page: {page} has "
    if best is None:
        return text + "the certified law for them, which is being computed …"
    least = min((one for one in found if not one.reason), key=lambda one: one.error)
    text += f"a law for them with a mean squared error of {prose.at_most(best.upper, 4)}, proved"
    share = best.upper / least.error - 1
    if share < -1e-3:
        return f"{text}: {prose.percent_down(-share)} less than the best above ({least.name})."
    return f"{text}; the best above, {least.name}, pays {prose.number(least.error)}."
