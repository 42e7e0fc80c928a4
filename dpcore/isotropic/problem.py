"""What is asked: a dimension, (ε, δ), an ℓ2-sensitivity and a loss of the length of the error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..numbers import read_number, write_number
from ..privacy import SENSITIVITY, Privacy
from ..problem_fields.radial import DIMENSION
from ..quantity import Quantity

Array = NDArray[np.float64]

POWER = Quantity("power", 0.0, 20.0, 1.5, "power p", "Power p", step=0.5, open=True)
THRESHOLD = Quantity(
    "threshold", 0.0, SENSITIVITY.high, 5.0, "length t", "Length t, in the unit", step=1, in_unit=True
)  # fmt: skip
NAMED = {"norm": 1.0, "squared": 2.0}
"""Losses with a name of their own → the power of the length."""

SPELLINGS = "norm, squared, power:P with 0 < P ≤ 20, or exceed:T with T ≥ 0"


@dataclass(frozen=True)
class RadialLoss:
    """|x|^power, or where `beyond` is a number, 1 for |x| > beyond, else 0.

    Both are lower semicontinuous, rise with |x| and are 0 at 0.
    """

    power: float = 1.0
    beyond: float | None = None

    @property
    def spec(self) -> str:
        """The text it is asked for by."""
        if self.beyond is not None:
            return f"exceed:{write_number(self.beyond)}"
        return next((name for name, p in NAMED.items() if p == self.power), f"power:{write_number(self.power)}")

    def __call__(self, radius: ArrayLike) -> Array:
        """c at radii, to the nearest floats."""
        r = np.asarray(radius, dtype=float)
        values: Array = r**self.power if self.beyond is None else (r > self.beyond).astype(float)
        return values

    def in_units(self, sensitivity: float) -> RadialLoss:
        """The loss of x·sensitivity, up to the factor sensitivity^power for powers."""
        return self if self.beyond is None else RadialLoss(1.0, self.beyond / sensitivity)

    def factor(self, sensitivity: float) -> float:
        """The loss of x·sensitivity as a multiple of `in_units` of x, to the nearest float."""
        return sensitivity**self.power if self.beyond is None else 1.0

    def mean(self, dimension: int, inner: Array, outer: Array) -> Array:
        """E c(|X|), X uniform in shells, in floats: about ten digits."""
        ratio = inner / outer
        if self.beyond is not None:
            cut = np.clip(self.beyond / outer, ratio, 1.0)
            share: Array = _complement(cut, dimension) / _complement(ratio, dimension)
            return share
        d, p = dimension, self.power
        mean: Array = d / (d + p) * outer**p * _complement(ratio, d + p) / _complement(ratio, d)
        return mean


def _complement(ratio: Array, power: float) -> Array:
    """1 − ratio^power."""
    with np.errstate(divide="ignore"):
        out: Array = -np.expm1(power * np.log(ratio))
    return out


def parse_loss(text: str) -> RadialLoss:
    """The loss that a text asks for."""
    name, colon, number = text.strip().partition(":")
    if name in NAMED and not colon:
        return RadialLoss(NAMED[name])
    if name == "power" and colon:
        value = read_number(number, "loss", SPELLINGS)
        if POWER.low < value <= POWER.high:
            return RadialLoss(value)
    if name == "exceed" and colon:
        value = read_number(number, "loss", SPELLINGS)
        if 0 <= value < math.inf:
            return RadialLoss(1.0, value)
    raise InputError("loss", text, SPELLINGS)


@dataclass(frozen=True)
class IsotropicProblem:
    """The least expected loss of additive noise in R^dimension.

    sensitivity : neighbours change the query by at most so much in Euclidean length, in the query's unit.
    """

    dimension: int
    privacy: Privacy
    loss: RadialLoss = RadialLoss()
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", DIMENSION.check(self.dimension))
        object.__setattr__(self, "sensitivity", SENSITIVITY.check(self.sensitivity))
        if not 0 < self.privacy.delta:
            raise InputError("delta", self.privacy.delta, "a positive number")

    @property
    def least(self) -> float:
        """What no law undercuts, however little privacy is asked for: the loss of no error."""
        return 0.0

    @property
    def factor(self) -> float:
        """The loss in the query's unit of one that is 1 in units of the sensitivity, to the nearest float."""
        return self.loss.factor(self.sensitivity)


def isotropic_problem(
    dimension: int, epsilon: float, delta: float, sensitivity: float = 1.0, loss: RadialLoss | str = "norm"
) -> IsotropicProblem:
    """An `IsotropicProblem` from plain numbers and texts."""
    loss = loss if isinstance(loss, RadialLoss) else parse_loss(loss)
    return IsotropicProblem(dimension, Privacy(epsilon, delta), loss, sensitivity)
