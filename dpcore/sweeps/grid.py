"""Lists of numbers → the problems of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from .._validate import whole
from ..errors import InputError
from ..loss import Loss
from ..numbers import read_number
from ..privacy import DELTA, EPSILON, Privacy
from ..problem import NoiseProblem

MOST_VALUES = 1000
ACCEPTED = "numbers with commas, or LOW:HIGH:COUNT with 0 < LOW < HIGH"
"""Values on one axis of a grid."""


@dataclass(frozen=True)
class Refused:
    """A place of a grid where there is no problem, and why."""

    epsilon: float
    delta: float
    loss: Loss
    reason: str


def grid(
    problem: NoiseProblem, epsilons: Iterable[float], deltas: Iterable[float], losses: Sequence[Loss] = ()
) -> tuple[list[NoiseProblem], list[Refused]]:
    """`problem` at every (ε, δ) and for every loss (default: its own), sorted, δ running fastest; and the places where
    it makes no sense, such as ε = δ = 0.

    Raises
    ------
    InputError : a value that is outside what is accepted whatever the others are.
    """
    epsilons = sorted({EPSILON.check(value) for value in epsilons})
    deltas = sorted({DELTA.check(value) for value in deltas})
    problems, refused = [], []
    for loss in losses or (problem.loss,):
        for epsilon in epsilons:
            for delta in deltas:
                try:
                    problems.append(replace(problem, privacy=Privacy(epsilon, delta), loss=loss))
                except InputError as error:
                    refused.append(Refused(epsilon, delta, loss, str(error)))
    return problems, refused


def read_axis(text: str, field: str) -> list[float]:
    """Numbers from "0.1,1,5", or "LOW:HIGH:COUNT" for COUNT of them evenly spread on a log scale, each rounded to four
    significant digits; parts of both kinds may be joined by commas. `field`: its name in messages."""
    out: list[float] = []
    for part in text.split(","):
        out += _spread(part, field) if ":" in part else [read_number(part, field, ACCEPTED)]
    if len(out) > MOST_VALUES:
        raise InputError(field, text, f"at most {MOST_VALUES} numbers")
    return out


def _spread(text: str, field: str) -> list[float]:
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError(field, text, ACCEPTED)
    first, last = (read_number(part, field, ACCEPTED) for part in parts[:2])
    many = whole(2, MOST_VALUES, **{f"{field}, COUNT": parts[2]})
    if not 0 < first < last:
        raise InputError(field, text, ACCEPTED)
    inner = np.geomspace(first, last, many)[1:-1].tolist()
    return [first, *(float(f"{Decimal(x):.4g}") for x in inner), last]
