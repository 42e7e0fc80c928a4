"""Lists of numbers → the problems of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from .._validate import in_range
from ..errors import InputError
from ..loss import Loss
from ..privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from ..problem import NoiseProblem

MOST_VALUES = 1000
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
    epsilons = sorted({in_range(*EPSILON_RANGE, also=(0.0,), epsilon=value) for value in epsilons})
    deltas = sorted({in_range(*DELTA_RANGE, also=(0.0,), delta=value) for value in deltas})
    problems, refused = [], []
    for loss in losses or (problem.loss,):
        for epsilon in epsilons:
            for delta in deltas:
                try:
                    problems.append(replace(problem, privacy=Privacy(epsilon, delta), loss=loss))
                except InputError as error:
                    refused.append(Refused(epsilon, delta, loss, str(error)))
    return problems, refused


def read_numbers(text: str, **named: object) -> list[float]:
    """Numbers from "0.1,1,5", or "LOW:HIGH:COUNT" for COUNT of them evenly spread on a log scale, each rounded to four
    significant digits; parts of both kinds may be joined by commas. `named`: the field in messages, `epsilon=text`."""
    ((field, value),) = named.items() or (("numbers", text),)
    out: list[float] = []
    for part in text.split(","):
        try:
            out += _spread(*part.split(":")) if ":" in part else [float(part)]
        except (ValueError, TypeError, OverflowError):
            raise InputError(field, value, "numbers with commas, or LOW:HIGH:COUNT with 0 < LOW < HIGH") from None
    if len(out) > MOST_VALUES:
        raise InputError(field, value, f"at most {MOST_VALUES} numbers")
    return out


def _spread(low: str, high: str, count: str) -> list[float]:
    first, last, many = float(low), float(high), int(count)
    if not (0 < first < last < float("inf") and 2 <= many <= MOST_VALUES):
        raise ValueError(low)
    inner = np.geomspace(first, last, many)[1:-1].tolist()
    return [first, *(float(f"{Decimal(x):.4g}") for x in inner), last]
