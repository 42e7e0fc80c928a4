"""The sentence with both bounds, what it gains, and why there is none."""

from __future__ import annotations

import math
import time

import streamlit as st

from dpcore.data_dependent import Solution
from dpcore.data_dependent.channel import Channel
from dpcore.errors import InputError
from pages.shared import compute, frame, prose, watching
from pages.shared.messages import explain

from .controls import FIELDS

FAIR = 0.05
"""A gap at which the picture is worth drawing before the end."""


def shown(job: compute.Job) -> Solution | None:
    """The answer; before the end, what there is once it is fair or took a while."""
    if job.done or job.best is None:
        return job.solution
    fair = (job.best.certificate.gap or 1.0) <= FAIR or time.monotonic() - job.asked > 4
    return job.best if fair else None


def sentence(solution: Solution) -> str:
    """ "Any (1, 0.2)-DP release of a query between 0 and 4 errs by at least … on average; this one by at most …" """
    problem, certificate = solution.problem, solution.certificate
    low, high = problem.query_range
    lower, upper = prose.bracket(max(certificate.lower, 0.0), certificate.upper)
    verb, _ = prose.errs(problem.loss, "")
    privacy = f"({problem.privacy.epsilon:g}, {prose.delta_text(problem.privacy.delta)})"
    plain = problem.density.constant
    if problem.shared == "noise":
        return (
            f"Any {privacy}-DP noise with one law for each of {solution.laws} intervals of the values between {low:g} "
            f"and {high:g} {verb} at least **{lower}** on {'' if plain else 'weighted '}average; "
            f"this one at most **{upper}**."
        )
    return (
        f"Any {privacy}-DP release of a query between {low:g} and {high:g} {verb} at least **{lower}** on "
        f"{'' if plain else 'weighted '}average; this one at most **{upper}**."
    )


def headline(solution: Solution) -> None:
    """The sentence with both bounds, and what it gains."""
    frame.headline(sentence(solution))
    problem, certificate, independent = solution.problem, solution.certificate, solution.independent
    words = []
    if isinstance(solution.mechanism, Channel) and math.isfinite(solution.clamped_upper):
        share = 1 - certificate.upper / solution.clamped_upper if solution.clamped_upper else 0.0
        clamped = prose.at_most(solution.clamped_upper, 4)
        words.append(
            f"The best noise that ignores the true value, its releases clamped to the range, pays {clamped}: "
            f"knowing the value saves {prose.percent(share)}."
        )
        if independent is not None:
            words.append(f"Unclamped it pays {prose.at_most(independent.certificate.upper, 4)}; clamping is free.")
            if (independent.certificate.gap or 0.0) <= FAIR:  # while it is still rough, its lower bound says little
                words.append(advantage(certificate.upper, independent.certificate.lower))
    elif problem.shared == "noise":
        if independent is not None:
            words.append(
                f"One law for all true values pays {prose.at_most(independent.certificate.upper, 4)}. "
                + advantage(certificate.upper, independent.certificate.lower)
            )
        if problem.loss_below is not None:
            words.append("Below 0 the loss is that of errors of the other sign.")
    elif not isinstance(solution.mechanism, Channel):
        words.append(
            "So far the best known release is optimal noise that ignores the true value, clamped to the range."
        )
    st.caption(" ".join(words))


def advantage(upper: float, additive: float) -> str:
    """What the release is proved to save, given a lower bound of every additive noise's loss; "" if nothing."""
    if upper >= additive:
        return ""
    share = prose.percent_down(1 - upper / additive)
    least = prose.at_least(additive, 4)
    return f"Every unclamped additive noise pays at least {least}: at least {share} is saved, certified."


def failure(job: compute.Job) -> None:
    """Why there is no mechanism to show."""
    if isinstance(job.error, InputError):
        st.error(explain(job.error, FIELDS), icon=":material/error:")
    elif job.over:
        st.info("Stopped before the first release was found.")
        watching.go_on({"picture": job})
    else:
        st.error("There is no answer for these values yet. Try a longer time limit or a wider gap.")
