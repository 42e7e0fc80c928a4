"""Noise for whole-number queries: two-sided geometric and discrete staircase."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validate import above, whole
from ..errors import InputError
from ..exact import draw_discrete_staircase
from ..loss import Loss
from ..pair import FinitePair
from ..privacy import Privacy
from ..script import LawScript, carried, filled
from .base import NEGLIGIBLE, Array
from .first_step import first_step
from .moments import geometric_sum
from .periods import Side
from .pure import staircase_loss_bounds
from .stairs import stairs_pair
from .steps import LatticeLaw, floor_steps, lattice_points, released, told, whole_shift

_DIRECT = 200_000
"""Finite sums of at most this many terms are taken term by term, longer ones as a difference of two tails."""

_DISCRETE_STAIRCASE = '''\
# The noise is i or -i steps from ORIGIN with a weight that is constant for i < RISE and falls by the factor exp(-RATE)
# there and after every further PERIOD.
STEP = Fraction("$step")
ORIGIN = $location * STEP
RATE = Fraction($rate)
RISE = $rise
PERIOD = $period


$functions

def added(value):
    """The value, rounded to the nearest step, plus one exact draw."""
    steps = (2 * value + STEP) // (2 * STEP)
    return (steps + draw_discrete_staircase(RATE, RISE, PERIOD)) * STEP + ORIGIN'''


class IntegerStaircase(LatticeLaw):
    """P(location ± i) = a·e^(−rate·level(i)), level(i) = k for k·period − period + rise ≤ i < k·period + rise.

    The weights fall by e^−rate per period and are even and non-increasing away from the location, so the
    argument of `SymmetricNoise` (sums for integrals) makes the largest shift the worst one.
    """

    location: int

    @property
    @abstractmethod
    def rate(self) -> float:
        """ln of the ratio of weights one period apart."""

    @property
    @abstractmethod
    def period(self) -> int: ...

    @property
    @abstractmethod
    def rise(self) -> int:
        """Number of i ≥ 0 with the largest weight, 1 ≤ rise ≤ period."""

    @property
    def centre(self) -> float:
        return self.location

    @property
    def lattice_step(self) -> float:
        return 1.0

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @cached_property
    def _decay(self) -> float:
        return math.exp(-self.rate)

    @cached_property
    def _top(self) -> float:
        """P(location) = (1 − b)/(2r + 2b(period − r) − (1 − b))."""
        rest, b = -math.expm1(-self.rate), self._decay
        return rest / (2 * self.rise + 2 * b * (self.period - self.rise) - rest)

    def _level(self, i: ArrayLike) -> Array:
        return np.floor((np.asarray(i, dtype=float) - self.rise) / self.period) + 1

    def pmf(self, k: ArrayLike) -> Array:
        """P(X = k), elementwise (0 at numbers that are not whole)."""
        k = np.asarray(k, dtype=float)
        return np.where(k == np.floor(k), self._weight(np.abs(k - self.location)), 0.0)

    def _weight(self, i: ArrayLike) -> Array:
        return self._top * np.exp(-self.rate * self._level(i))

    def _tail(self, n: Array) -> Array:
        """P(X − location ≥ n), n ≥ 0."""
        b, r = self._decay, self.rise
        periods, u = np.divmod(np.minimum(n, 1e15), self.period)
        whole_period = (r + b * (self.period - r)) / -math.expm1(-self.rate)
        rest = np.maximum(r - u, 0.0) + b * (self.period - np.maximum(u, r)) + b * whole_period
        tail: Array = self._top * np.exp(-self.rate * periods) * rest
        return tail

    @cached_property
    def _reach(self) -> int:
        """Distance beyond which less than e^−42 of the probability is."""
        return self.period * (math.ceil(42 / self.rate) + 1)

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]  # read only, like a field of a frozen class
        """All points but the last e^−42 of the probability: about 84·period/rate of them; prefer `pmf`."""
        k = self.location + np.arange(-self._reach, self._reach + 1)
        return tuple(zip(k.astype(float).tolist(), self.pmf(k).tolist()))

    def cdf(self, x: ArrayLike) -> Array:
        n = np.floor(np.asarray(x, dtype=float)) - self.location
        return np.where(n < 0, self._tail(np.abs(n)), 1 - self._tail(np.maximum(n + 1, 0.0)))

    def beyond(self, x: ArrayLike) -> Array:
        n = floor_steps(x, 1.0)
        return np.where(n > self.location, self.cdf(2 * self.location - n - 1), 1 - self.cdf(x))

    def quantile(self, u: ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        goal = np.minimum(u, 1 - u)
        periods = np.maximum(np.floor(np.log(float(self._tail(np.array(0.0))) / goal) / self.rate), 0.0)
        b, r = self._decay, self.rise
        missing = (self._tail(periods * self.period) - goal) / (self._top * np.exp(-self.rate * periods))
        inside = np.where(missing <= r, missing, r + (missing - r) / b)
        n = periods * self.period + np.clip(np.floor(inside), 0, self.period)
        k: Array = self.location + np.where(u < 0.5, -n, n)
        for _ in range(4):  # the closed form is at most a step or two off
            k = np.where(self.cdf(k) < u, k + 1, k)
            k = np.where(self.cdf(k - 1) >= u, k - 1, k)
        return k

    def expected_loss(self, loss: Loss) -> float:
        """Σ_k P(k) c(k): breaks of the loss one by one, between them sums of powers over each side."""
        whole_breaks = {float(x) for x in loss.breaks if x == math.floor(x)}
        parts = [float(self.pmf(x)) * float(loss.value(x)) for x in whole_breaks]
        for piece in loss.pieces:
            lo = -math.inf if math.isinf(piece.lo) else math.floor(piece.lo) + 1
            hi = math.inf if math.isinf(piece.hi) else math.ceil(piece.hi) - 1
            if lo > hi:
                continue
            if hi - lo < _DIRECT:
                k = np.arange(lo, hi + 1, dtype=float)
                parts.append(float(self.pmf(k) @ piece.value(k)))
                continue
            if piece.at_zero:
                parts.append(piece.at_zero * self._moment(0.0, lo, hi))
            if piece.coefficient:
                parts.append(piece.coefficient * self._moment(piece.power, lo, hi))
        return math.fsum(parts)

    def loss_upper(self, loss: Loss, step: float = 1.0) -> float:
        """An upper bound of E c(step·X), as `Noise.loss_upper`."""
        side = Side.points(loss, self.rate, self.period, step, self.location)
        return staircase_loss_bounds(side, self.rise)[1]

    def _moment(self, power: float, lo: float, hi: float) -> float:
        """Σ_{lo ≤ k ≤ hi} P(k) |k|^power over whole numbers of one sign, an end may be infinite."""
        m = self.location
        if hi < 0:
            lo, hi, m = -hi, -lo, -m
        start = max(lo, m)
        first = max(lo, m - self._reach)  # the powers before it are smaller, and all their weights together e^−42
        near = np.arange(first, max(first, min(start, hi + 1)), dtype=float)  # up to the location: rising weights
        total = float(self._weight(m - near) @ near**power) if near.size else 0.0
        if hi < start:
            return total
        return total + self._upper_sum(power, start, m) - (0.0 if math.isinf(hi) else self._upper_sum(power, hi + 1, m))

    def _upper_sum(self, power: float, start: float, centre: float) -> float:
        """Σ_{k ≥ start} P(k) k^power, start ≥ max(centre, 0)."""
        offset = start - centre
        i = offset + np.arange(self.period)
        sums = geometric_sum(power, self.rate, (centre + i) / self.period)
        scale: float = float(self.period) ** power
        return float(self._weight(i) @ sums) * scale

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        """Σ_k (P(k) − e^ε P(k − φ))₊ at the largest whole shift φ ≤ sensitivity (a number just below a
        whole one counts as that: rounding must not hide a shift).

        i = location − k ≥ 0: one period times 1/(1 − e^−rate); then k − location from 1 to φ/2 one by one.
        """
        phi = math.floor(sensitivity * (1 + 2**-50))
        if phi == 0 or epsilon >= math.ceil(phi / self.period) * self.rate:
            return 0.0
        left = np.arange(self.period, dtype=float)
        right = np.arange(1, min(phi // 2, self._reach) + 1, dtype=float)
        total = self._excess(left, left + phi, epsilon) / -math.expm1(-self.rate)
        return min(1.0, total + self._excess(right, phi - right, epsilon))

    def pair(self, shift: float) -> FinitePair:
        phi = whole_shift(shift, 1.0)
        left, middle = np.arange(self.period, dtype=float), np.arange(1, phi, dtype=float)
        ones = np.ones(len(left)), np.ones(len(middle))
        return stairs_pair(self.rate, self.rise, self.period, phi, (left, ones[0]), (middle, ones[1]), atom=0.0)

    def release(self, value: float, step: float = 1.0) -> float | int:
        """The value, rounded to the nearest multiple of the step, plus one exact draw of step·X."""
        drawn = draw_discrete_staircase(Fraction(self.rate), self.rise, self.period) + self.location
        return released(value, step, drawn)

    def script(self, step: float = 1.0) -> LawScript:
        numbers = {"rate": repr(float(self.rate)), "rise": self.rise, "period": self.period, "location": self.location}
        imports, functions = carried(draw_discrete_staircase)
        law = filled(_DISCRETE_STAIRCASE, step=repr(step), functions=functions, **numbers)
        return LawScript(imports, law, *told(step))

    def listed(self, step: float = 1.0) -> tuple[Array, Array]:
        reach = self.period * (math.ceil(-math.log(NEGLIGIBLE) / self.rate) + 1)
        masses = self.pmf(np.arange(self.location - reach, self.location + reach + 1))
        return lattice_points(self.location - reach, len(masses), step), masses / math.fsum(masses)

    def to_dict(self, step: float = 1.0) -> dict[str, Any]:
        points, probabilities = self.listed(step)
        law = {"rate": self.rate, "period": self.period, "rise": self.rise, "location": self.location, "step": step}
        return {
            "name": self.name,
            "points": points.tolist(),
            "probabilities": probabilities.tolist(),
            "family": "discrete-staircase",
            "parameters": law,
            "tail": {"ratio": math.exp(-self.rate), "period": self.period * step},
        }

    def _excess(self, near: Array, far: Array, epsilon: float) -> float:
        levels = self._level(near)
        gain = -np.expm1(np.minimum(epsilon - (self._level(far) - levels) * self.rate, 0.0))
        return float(self._top * np.exp(-self.rate * levels) @ gain)


@dataclass(frozen=True)
class Geometric(IntegerStaircase):
    """P(k) proportional to e^(−epsilon·|k − location|/sensitivity): (ε, 0)-DP for whole-number queries."""

    epsilon: float
    sensitivity: int = 1
    location: int = 0

    name = "Geometric"

    def __post_init__(self) -> None:
        above(0, 1e3, epsilon=self.epsilon)
        object.__setattr__(self, "sensitivity", whole(1, 10**9, sensitivity=self.sensitivity))
        object.__setattr__(self, "location", whole(-(10**6), 10**6, location=self.location))

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: int, loss: Loss | None = None) -> Geometric:
        """The two-sided geometric law at ε > 0 (δ is not used)."""
        if privacy.epsilon == 0:
            raise InputError("epsilon", privacy.epsilon, "a positive number for geometric noise")
        return cls(privacy.epsilon, sensitivity)

    @property
    def parameters(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "sensitivity": self.sensitivity, "location": self.location}

    @property
    def rate(self) -> float:
        return self.epsilon / self.sensitivity

    @property
    def period(self) -> int:
        return 1

    @property
    def rise(self) -> int:
        return 1

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        """As derived; at the law's own ε and sensitivity the quotient's rounding must not show."""
        if sensitivity <= self.sensitivity and epsilon >= self.epsilon:
            return 0.0
        return super().shortfall(epsilon, sensitivity)


@dataclass(frozen=True)
class DiscreteStaircase(IntegerStaircase):
    """P(±i) = a·e^(−ε·level(i)) with level 0 for i < r, then one level more every `sensitivity`
    [GV15, discrete setting].

    r is a whole number from 1 to sensitivity; sensitivity 1 is the geometric law.
    """

    epsilon: float
    sensitivity: int
    r: int
    location: int = 0

    name = "Discrete staircase"

    def __post_init__(self) -> None:
        above(0, 1e3, epsilon=self.epsilon)
        object.__setattr__(self, "sensitivity", whole(1, 10**6, sensitivity=self.sensitivity))
        object.__setattr__(self, "r", whole(1, self.sensitivity, r=self.r))
        object.__setattr__(self, "location", whole(-(10**6), 10**6, location=self.location))

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: int, loss: Loss) -> DiscreteStaircase:
        """The discrete staircase at ε > 0 (δ is not used) whose r is least in expected loss.

        For a loss that grows away from 0 `first_step` finds it; otherwise the best of every r up to sensitivity 256 and
        of 256 of them beyond.
        """
        epsilon = privacy.epsilon
        if epsilon == 0:
            raise InputError("epsilon", epsilon, "a positive number for staircase noise")
        even = loss.symmetrised()
        if even.grows_from_zero:
            return cls(epsilon, sensitivity, int(first_step(Side.points(even, epsilon, sensitivity)).end))
        candidates = sorted({round(r) for r in np.linspace(1, sensitivity, min(sensitivity, 256))})
        return min((cls(epsilon, sensitivity, r) for r in candidates), key=lambda law: law.expected_loss(loss))

    @property
    def parameters(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "sensitivity": self.sensitivity, "r": self.r, "location": self.location}

    @property
    def rate(self) -> float:
        return self.epsilon

    @property
    def period(self) -> int:
        return self.sensitivity

    @property
    def rise(self) -> int:
        return self.r
