"""The sentence with the Gaussian's loss and both bounds, what to make of it, and why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.errors import InputError
from dpcore.isotropic.baselines import KnownLaw
from dpcore.isotropic.problem import IsotropicProblem
from dpcore.isotropic.solution import IsotropicSolution
from pages.shared import compute, frame, prose, watching
from pages.shared.messages import explain

from . import work
from .controls import FIELDS, Asked

NEAR = 0.03
"""What the Gaussian may have to lose to be kept."""

ROUNDING = 1e-9
"""More than closed forms lose, relatively."""

PAID = {"norm": "mean length of the error", "squared": "mean squared length of the error"}


def paid(problem: IsotropicProblem) -> str:
    """What is paid, in words."""
    loss = problem.loss
    if loss.beyond is not None:
        return f"probability of an error longer than {prose.plain(loss.beyond)}"
    return PAID.get(loss.spec, f"mean of the error's length to the power {prose.plain(loss.power)}")


def paid_unit(problem: IsotropicProblem, unit: str) -> str:
    """The unit of what is paid."""
    power = problem.loss.power
    if not unit or problem.loss.beyond is not None:
        return ""
    return unit if power == 1 else f"{unit}{prose.raised(int(power))}" if power == int(power) else ""


def subject(problem: IsotropicProblem, unit: str) -> str:
    """ "Noise for 20 numbers with ℓ2-sensitivity 1 at (4, 10⁻⁶)"."""
    d, privacy = problem.dimension, problem.privacy
    length = f"{prose.plain(problem.sensitivity)} {prose.literal(unit)}".rstrip()
    pair = f"({privacy.epsilon:g}, {prose.delta_text(privacy.delta)})"
    return f"Noise for {prose.count(d)} number{'s' * (d > 1)} with ℓ2-sensitivity {length} at {pair}"


def least(problem: IsotropicProblem, best: IsotropicSolution, known: Sequence[KnownLaw]) -> float:
    """The least loss that a law is proved to have: in many dimensions a known one may be ahead of the search."""
    others = [one.loss for one in known if not one.estimated]
    return min([best.upper, *(loss * (1 + ROUNDING) for loss in (work.gaussian_loss(problem), *others))])


def sentence(
    problem: IsotropicProblem, unit: str, best: IsotropicSolution | None, known: Sequence[KnownLaw] = ()
) -> str:
    """The result in one sentence, bounds rounded to the safe side."""
    gaussian = work.gaussian_loss(problem)
    text = f"{subject(problem, unit)}: the Gaussian pays **{prose.number(gaussian, 4)}**"
    if best is None:
        return f"{text}, the best possible …"
    if best.upper <= 0:
        return f"{text}, the best possible **nothing**: its noise is never that long."
    lower, upper = prose.bracket(best.lower, least(problem, best, known))
    if best.lower <= 0:
        return f"{text}, the best possible at most **{upper}**; the lower bound is still 0."
    return f"{text}, the best possible between **{lower}** and **{upper}**."


def verdict(problem: IsotropicProblem, upper: float, lower: float) -> str:
    """Whether to keep the Gaussian, given what the best possible lies between."""
    gaussian = work.gaussian_loss(problem)
    if upper <= 0 < gaussian:
        return "Replace the Gaussian: the best noise is never that long"
    if gaussian <= 0 or lower <= 0:
        return ""
    most, saved = 1 - lower / gaussian, 1 - upper / gaussian
    if most <= NEAR:
        return f"Keep the Gaussian: at most {prose.percent_up(max(most, 0.0))} to gain"
    if saved > 1e-3:
        return f"Replace the Gaussian: {prose.percent_down(saved)} less, at most {prose.percent_up(most)} possible"
    return f"Not settled: up to {prose.percent_up(most)} below the Gaussian may be possible"


def headline(asked: Asked, job: compute.Job, known: Sequence[KnownLaw]) -> None:
    """Verdict, sentence, and what is paid in further words."""
    problem, best = asked.problem, job.best
    told = verdict(problem, least(problem, best, known), best.lower) if best is not None else ""
    waiting = "No lower bound was found in this time" if job.done else "Computing both bounds …"
    frame.headline(sentence(problem, asked.unit, best, known), verdict=told or waiting)
    words = [f"Paid is the {paid(problem)}."]
    if best is not None and problem.loss.spec == "squared":
        each = prose.at_most(math.sqrt(best.upper / problem.dimension), 3)
        words.append(
            f"Per number that is a root mean square error of {each} {prose.literal(asked.unit)}".rstrip() + "."
        )
    others = [one for one in known if one.key != "gaussian"]
    if others:
        first = min(others, key=lambda one: one.loss)
        kind = " (an estimate)" if first.estimated else ""
        words.append(f"Least of the other known mechanisms: {prose.number(first.loss)}{kind}, {first.name}.")
    st.caption(" ".join(words))


def failure(job: compute.Job) -> None:
    """Why there is no law to show."""
    if isinstance(job.error, InputError):
        st.error(explain(job.error, FIELDS), icon=":material/error:")
    elif job.over:
        st.info("Stopped before the first law was found.")
        watching.go_on({"picture": job})
    else:
        why = str(job.error or "no law was found in this time")
        st.error(f"{why[:1].upper()}{why[1:]}. A larger ε or fewer numbers are easier.")
