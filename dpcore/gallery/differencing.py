"""Two harmless answers and one secret: differencing; two harmless tables and one name: linkage [Awan, §1.1.2].

Differencing: the total of all salaries minus that of all but one is her salary; counts of those above a threshold, with
and without her, tell whether hers is. With noise for ε on all answers together, the laws of what the attacker computes
are exact: the difference of two Laplace or two geometric variables.

Linkage: of two tables that share some columns, rows whose values there belong to one person alone are joined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, whole

Array = NDArray[np.float64]

YEARS, MONTHS, DAYS = 80, 12, 30
"""Years of birth that occur, months of a year, days of a month."""

BIRTHS = {"year": YEARS, "month": YEARS * MONTHS, "day": YEARS * MONTHS * DAYS}
"""How finely a birth is told → how many values it may have."""


@dataclass(frozen=True)
class TwoTotals:
    """The law of the difference of two totals around the secret, with noise for ε on both together.

    cap : salaries lie in [0, cap]. Each total gets Laplace noise of scale b = 2·cap/ε. The difference of two such
    variables has density (1 + |x|/b)·e^(−|x|/b)/(4b).
    """

    cap: float
    epsilon: float

    def __post_init__(self) -> None:
        above(0, 1e12, cap=self.cap)
        above(0, 1e6, epsilon=self.epsilon)

    @property
    def scale(self) -> float:
        return 2 * self.cap / self.epsilon

    @property
    def mean_error(self) -> float:
        """E|difference − secret| = 3b/2."""
        return 1.5 * self.scale

    def density(self, x: ArrayLike) -> Array:
        """Density of the error at x."""
        y = np.abs(np.asarray(x, dtype=float)) / self.scale
        found: Array = (1 + y) * np.exp(-y) / (4 * self.scale)
        return found

    def within(self, distance: float) -> float:
        """P(the error is at most so large) = 1 − (1 + t/2b)·e^(−t/b), without cancellation for small t."""
        y = max(distance, 0.0) / self.scale
        return -math.expm1(-y) - 0.5 * y * math.exp(-y)


@dataclass(frozen=True)
class PairsOfCounts:
    """A secret among 2^bits values, found by halving: so many pairs of counts, with noise for ε on all together.

    Each of the 2·bits counts gets geometric noise (ratio a = e^(−ε/(2·bits))); the attacker reads a difference of at
    least 1 as "above the threshold".
    """

    bits: int
    epsilon: float

    def __post_init__(self) -> None:
        whole(1, 60, bits=self.bits)
        above(0, 1e6, epsilon=self.epsilon)

    @property
    def ratio(self) -> float:
        return math.exp(-self.epsilon / (2 * self.bits))

    def error(self, k: ArrayLike) -> Array:
        """P(the difference is off by k), for whole numbers: ((1 − a)/(1 + a))²·a^|k|·(|k| + (1 + a²)/(1 − a²))."""
        size, a = np.abs(np.asarray(k, dtype=float)), self.ratio
        found: Array = ((1 - a) / (1 + a)) ** 2 * a**size * (size + (1 + a * a) / (1 - a * a))
        return found

    @property
    def answered(self) -> float:
        """P(one pair is read rightly): the error lies at 0 or on the harmless side, (1 + P(0))/2."""
        return 0.5 * (1 + float(self.error(0)))

    @property
    def found(self) -> float:
        """P(all pairs are read rightly, and so the secret is found)."""
        return self.answered**self.bits


def best_attack(epsilon: float, guess: float) -> float:
    """No attack on ε-DP answers finds more often what guessing finds with probability `guess`: e^ε·guess, at most 1."""
    return min(1.0, math.exp(min(epsilon, 700.0)) * guess)


def alone(people: ArrayLike, values: int) -> Array:
    """Expected share of people who share their values with nobody, spread evenly: (1 − 1/m)^(n − 1)."""
    people = np.asarray(people, dtype=float)
    if values == 1:
        return np.where(people == 1, 1.0, 0.0)
    shares: Array = np.exp((people - 1) * math.log1p(-1 / values))
    return shares


def town(people: int, areas: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A made-up register: sex, area, day of birth of everybody, spread evenly, (people, 3)."""
    people, areas = whole(1, 10**6, people=people), whole(1, 10**5, areas=areas)
    columns = (rng.integers(0, count, people) for count in (2, areas, BIRTHS["day"]))
    return np.column_stack(list(columns))


def candidates(register: NDArray[np.intp], rows: NDArray[np.intp], birth: str) -> NDArray[np.intp]:
    """How many people of the register agree with each row in its first one, two, three columns, (rows, 3).

    birth : how finely the day of birth is told, a key of `BIRTHS`.
    """
    coarse = BIRTHS["day"] // BIRTHS[birth]
    divide = np.array([1, 1, coarse])
    same = (register // divide)[None] == (rows // divide)[:, None]
    counted: NDArray[np.intp] = np.logical_and.accumulate(same, axis=2).sum(axis=1)
    return counted
