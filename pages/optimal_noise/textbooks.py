"""The textbook mechanisms of a problem: closed forms at once, what takes long to calibrate from the background."""

from __future__ import annotations

from dpcore.mechanisms import MECHANISMS, Baseline
from dpcore.problem import NoiseProblem
from pages.shared import compute, watching

from .work import slow_baselines

SLOT = "textbooks"


def known(problem: NoiseProblem) -> tuple[Baseline, ...]:
    """The textbook mechanisms that are there, in the order of `MECHANISMS`."""
    late = () if problem.granularity is not None else compute.known(problem, None, task=slow_baselines)
    return _ordered(compute.baselines(problem), late or ())


def asked(problem: NoiseProblem) -> tuple[Baseline, ...]:
    """The same; the others are worked out, and the page is drawn again with them."""
    if problem.granularity is not None:
        return compute.baselines(problem)
    job = compute.ask(SLOT, problem, None, task=slow_baselines, urgent=False)
    watching.live([job], lambda: None)
    return _ordered(compute.baselines(problem), job.solution or () if job.done else ())


def _ordered(some: tuple[Baseline, ...], others: tuple[Baseline, ...]) -> tuple[Baseline, ...]:
    places = list(MECHANISMS)
    one = [*some, *others]
    return tuple(sorted(one, key=lambda bar: places.index(bar.key)) if others else one)
