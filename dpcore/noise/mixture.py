"""Multi-Gaussian and quasi-Gaussian noise: normal densities of one σ around several places [LSW26]."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from scipy import special

from .._validate import above, decimal, in_range, real
from ..errors import InputError
from ..loss import Loss
from ..pair import FinitePair
from ..privacy import Privacy
from ..rounded import plus_multi_normal, plus_quasi_normal
from ..search import bisections
from .base import Array
from .drawn import Drawn, DrawnNoise
from .moments import gauss_nodes, geometric_sum
from .solved import concave_chain, pair_of
from .worst_shift import FAR, SPREADS, Peaks, Worst, shortfalls, worst_shift

TOLERANCE = 5e-5
"""By so much of itself δ(ε) may be rounded up."""

ROUGH = 1e-3
"""By so much of itself δ(ε) of a curve may be rounded up."""

QUOTIENTS = 1e-12
"""Relative error of δ(ε) from rounding σ and shifts in units of the sensitivity."""

NEARLY = 1e-6
"""Relative error where σ is sought; what is found is proved afterwards."""

STEP = 3e-6
"""σ is moved up by so much first, then by twice as much, until the proof goes through."""

STARTS = (
    np.log([0.1, 0.3, 1.0, 3.0, 10.0, 20.0]),
    np.array([-6.0, -2.3, 0.0, 2.3]),
    np.array([
        [0.494, 0.434, 0.358, 0.277, 0.186, 0.141],
        [0.421, 0.385, 0.327, 0.261, 0.179, 0.138],
        [0.212, 0.203, 0.183, 0.167, 0.130, 0.110],
        [0.089, 0.088, 0.085, 0.081, 0.074, 0.067],
    ]),
)  # fmt: skip
"""ln ε, normal quantiles of δ, σ in sensitivities of multi-Gaussian noise there: where a search starts, no more."""

ROUNDS = 10
"""Most times the worst shift is looked for again."""

KNOTS, KNOTS_OF_ALL = 600, 96
"""Losses of a pair: of one shift, of all shifts."""

NEVER = 1e-13
"""δ(ε) below counts as that of an infinite loss."""

MOST_LOSS = 400.0

PERIODS = 8
"""Over so many periods moments are integrated, over more they are differences of two tails."""


@dataclass(frozen=True)
class Ladder(Peaks):
    """Weights tanh(ε/2) e^(−ε|k|)."""

    spread: float
    rate: float

    @property
    def window(self) -> int:
        return math.ceil(self.rate * self.spread**2 + SPREADS * self.spread + 0.5)

    @property
    def reach(self) -> float:
        return self.window + 2.0

    @property
    def periodic_from(self) -> float:
        return self.window + 1.0

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        share = -math.expm1(-self.rate)
        places: Array = (rng.geometric(share, size) - rng.geometric(share, size)).astype(float)
        return places + self.spread * rng.standard_normal(size)

    def weights(self, k: Array, side: Array) -> Array:
        return math.tanh(0.5 * self.rate) * np.exp(-self.rate * np.abs(k))

    def terms(self, x: Array) -> Array:
        return np.floor(x) + _column(-self.window, self.window + 2, x)

    def tail(self, y: Array) -> Array:
        first = np.floor(y)
        k = first + _column(-self.window, self.window + 2, y)
        near = (self.weights(k, k) * special.ndtr((k - y) / self.spread)).sum(0)
        far = np.exp(-self.rate * (first + self.window + 2)) / (1 + math.exp(-self.rate))
        total: Array = near + far
        return total


@dataclass(frozen=True)
class Shoulders(Peaks):
    """Weights e^ε and 1 at 0 and at the peak on the side of x, over their total mass."""

    spread: float
    epsilon: float
    rate = None
    furthest = 1

    @cached_property
    def _pair(self) -> tuple[float, float]:
        small = math.exp(-self.epsilon)
        total = 1 + 2 * small * float(special.ndtr(1 / self.spread))
        return 1 / total, small / total

    @property
    def reach(self) -> float:
        return 1 + FAR * self.spread

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        sides = np.where(rng.random(size) < self._pair[0], 0.0, rng.choice([-1.0, 1.0], size))
        low = special.ndtr(-1 / self.spread)
        kept = special.ndtri(low + (1 - low) * rng.random(size))  # of the normal law, on its peak's side of 0
        found: Array = np.where(sides == 0, self.spread * rng.standard_normal(size), sides * (1 + self.spread * kept))
        return found

    def weights(self, k: Array, side: Array) -> Array:
        return np.where(k == 0, self._pair[0], np.where(k == side, self._pair[1], 0.0))

    def terms(self, x: Array) -> Array:
        return _column(-1, 2, x)

    def tail(self, y: Array) -> Array:
        centre, side = self._pair
        return centre * special.ndtr(-y / self.spread) + side * special.ndtr((1 - y) / self.spread)

    @property
    def kink(self) -> float:
        s = self.spread
        return 2 * self._pair[1] * math.exp(-0.5 / s**2) / (s**3 * math.sqrt(2 * math.pi))


def _column(first: int, beyond: int, x: Array) -> Array:
    """first, …, beyond − 1 along a new first axis."""
    return np.arange(float(first), beyond).reshape(-1, *(1,) * x.ndim)


@dataclass(frozen=True)
class Mixture(DrawnNoise):
    """What both laws share: they are described in units of the sensitivity that they were made for.

    epsilon, sensitivity : of the law itself; they fix the weights and places of its peaks.
    sigma : the standard deviation of every peak.
    """

    epsilon: float
    sensitivity: float
    sigma: float
    location: float = 0.0

    falls_away = False

    def __post_init__(self) -> None:
        above(0, 1e3, epsilon=self.epsilon)
        above(0, 1e300, sensitivity=self.sensitivity)
        in_range(1e-3 * self.sensitivity, 1e6 * self.sensitivity, sigma=self.sigma)
        real(location=self.location)

    @staticmethod
    @abstractmethod
    def peaks_of(epsilon: float, spread: float) -> Peaks:
        """The law in units of its sensitivity."""

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> Self:
        """The least σ found with which every shift up to the sensitivity keeps (ε, δ), ε > 0 and δ > 0; that it does is
        proved (`worst_shift`)."""
        if privacy.epsilon == 0 or privacy.delta == 0:
            raise InputError("epsilon, delta", (privacy.epsilon, privacy.delta), "positive numbers for a mixture")
        return cls(privacy.epsilon, sensitivity, sensitivity * _least_spread(cls, privacy.epsilon, privacy.delta))

    @property
    def numbers(self) -> dict[str, Fraction]:
        """What exact draws take."""
        epsilon, spacing = Fraction(self.epsilon), decimal(self.sensitivity)
        return {"scale": Fraction(self.sigma), "spacing": spacing, "epsilon": epsilon}

    @property
    def peaks(self) -> Peaks:
        return self.peaks_of(self.epsilon, self.sigma / self.sensitivity)

    @property
    def radius(self) -> float:
        return math.inf

    def _height(self, y: Array) -> Array:
        return self.peaks.height(np.asarray(y, dtype=float) / self.sensitivity) / self.sensitivity

    def _tail(self, y: Array) -> Array:
        return 2 * self.peaks.tail(np.asarray(y, dtype=float) / self.sensitivity)

    def _tail_quantile(self, q: Array) -> Array:
        peaks, q = self.peaks, np.asarray(q, dtype=float)
        most = 1 + 40 * peaks.spread + (0.0 if peaks.rate is None else 2 - np.log(q) / peaks.rate)
        enough = lambda y: 2 * peaks.tail(y) <= q  # noqa: E731
        return self.sensitivity * bisections(enough, np.broadcast_to(most, q.shape), np.zeros(q.shape), rounds=64)[0]

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """A peak, and a normal number around it; those that cross to the other side of 0 are their mirror images."""
        return self.location + self.sensitivity * self.peaks.sample(rng, size)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        D = self.sensitivity
        unit: float = D**power
        return unit * _moment(self.peaks, power, lo / D, hi / D, centre / D)

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """At this shift alone."""
        at, of = np.array([shift / self.sensitivity]), np.array([epsilon])
        return float(shortfalls(self.peaks, at, of, TOLERANCE).upper[0])

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        """Over all shifts, of which the largest need not be the worst; rounded up."""
        return self.worst(epsilon, sensitivity)[0]

    def worst(self, epsilon: float, sensitivity: float) -> tuple[float, float]:
        """(δ(ε) over all shifts up to the sensitivity, rounded up by about TOLERANCE of it; the worst shift)."""
        found = _worst(self.peaks, epsilon, sensitivity / self.sensitivity)
        return found.upper, min(found.shift * self.sensitivity, sensitivity)

    def pair(self, shift: float) -> FinitePair:
        """From δ(ε) at this shift, rounded up: between the ε that are looked at it runs along chords in e^ε."""
        return _pair(self.peaks, shift / self.sensitivity, False)

    def attack_shift(self, sensitivity: float) -> float:
        """The one that is worst at the law's own ε."""
        return self.worst(self.epsilon, sensitivity)[1]

    def dominating_pair(self, sensitivity: float) -> FinitePair:
        """A pair that is at least as far apart as that of any shift."""
        return _pair(self.peaks, sensitivity / self.sensitivity, True)


class MultiGaussian(Mixture):
    """Normal densities of one σ centred at k·sensitivity, k ∈ Z, with weights tanh(ε/2)·e^(−ε|k|) [LSW26].

    A larger σ is the law with a smaller one plus independent normal noise, so δ(ε) falls with σ: what fails just below
    the calibrated σ proves that it is the least.
    """

    name = "Multi-Gaussian"

    @staticmethod
    def peaks_of(epsilon: float, spread: float) -> Peaks:
        return Ladder(spread, epsilon)

    @property
    def drawn(self) -> Drawn:
        return plus_multi_normal, self.numbers


class QuasiGaussian(Mixture):
    """Density proportional to e^ε φ(x/σ) + φ((|x| − sensitivity)/σ), φ the normal density [LSW26]."""

    name = "Quasi-Gaussian"

    @staticmethod
    def peaks_of(epsilon: float, spread: float) -> Peaks:
        return Shoulders(spread, epsilon)

    @property
    def drawn(self) -> Drawn:
        return plus_quasi_normal, self.numbers


@lru_cache(maxsize=4096)
def _worst(law: Peaks, epsilon: float, sensitivity: float, tolerance: float = TOLERANCE) -> Worst:
    found = worst_shift(law, epsilon, sensitivity, tolerance=tolerance)
    return replace(found, upper=min(found.upper * (1 + QUOTIENTS), 1.0))


@lru_cache(maxsize=4096)
def _least_spread(kind: type[Mixture], epsilon: float, delta: float) -> float:
    """σ over the sensitivity: the shift that is worst at one σ fixes the next one, until none is worse; moved up
    until the proof goes through."""

    def at(spread: float, shift: float) -> float:
        law, of = kind.peaks_of(epsilon, spread), np.array([epsilon])
        return float(shortfalls(law, np.array([shift]), of, NEARLY).upper[0])

    spread, aim = _start(epsilon, delta), delta * (1 - 2 * TOLERANCE)
    shift: float | None = None
    off = 0.5  # so far off may the spread be, as a share
    for _ in range(ROUNDS):
        shift = _likely(kind.peaks_of(epsilon, spread), epsilon, shift)
        excess = lambda s, shift=shift: math.log(max(at(s, shift), 1e-30) / aim)  # noqa: E731
        found = _crossing(excess, spread, off)
        moved = abs(found / spread - 1)
        spread, off = found, max(moved, 0.01 * off)
        if moved > 0.2:
            shift = None
        elif off < STEP:  # is another shift, far from this one, worse?
            shift = _likely(kind.peaks_of(epsilon, spread), epsilon, None)
            if at(spread, shift) <= aim * (1 + TOLERANCE):
                break
    step = STEP
    while _worst(kind.peaks_of(epsilon, found := spread * (1 + step)), epsilon, 1.0).upper > delta:
        step *= 2
    return found


def _start(epsilon: float, delta: float) -> float:
    """Where the search begins. Of quasi-Gaussian noise too, whose σ is next to the same where δ is large."""
    logs, places, known = STARTS
    row = [float(np.interp(math.log(epsilon), logs, values)) for values in known]
    return float(np.interp(float(special.ndtri(delta)), places, row))


def _likely(law: Peaks, epsilon: float, near: float | None) -> float:
    """A shift up to 1 near the worst one; `near`: one that is not far from it."""
    if near is None:
        places = np.unique(np.concatenate([np.linspace(0, 1, 13)[1:], 1 - 0.5 ** np.arange(4, 10)]))
    else:
        off = 0.25 * law.spread * 0.25 ** np.arange(5)
        places = np.unique(np.clip(np.concatenate([near - off, [near], near + off]), 0.01, 1.0))
    for _ in range(2):
        known = shortfalls(law, places, np.full(len(places), epsilon), ROUGH, compared=True)
        best = int(np.argmax(known.own - math.exp(epsilon) * known.other))
        shift = float(places[best])
        low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
        places = np.linspace(low, high, 7)
    return shift


def _crossing(excess: Callable[[float], float], guess: float, off: float) -> float:
    """Where a function turns from positive to negative, to a hundredth of how far `off` the guess may be, as a share of
    it; half the guess if that is less."""
    from scipy.optimize import brentq  # 20 MB that only calibrating needs

    factor = 1 + min(max(off, 1e-5), 0.5)
    low = high = guess
    while excess(high) > 0:
        low, high = high, factor * high
        factor *= factor
    if low == high:
        low = high / factor
        while low > 0.5 * guess and excess(low) <= 0:
            factor *= factor
            low, high = low / factor, low
        if low <= 0.5 * guess and excess(low) <= 0:
            return low  # so far down that another shift is worse
    exact = max(0.01 * off, 0.1 * STEP)
    found: float = brentq(lambda t: excess(math.exp(t)), math.log(low), math.log(high), xtol=exact)
    return math.exp(found)


@lru_cache(maxsize=64)
def _pair(law: Peaks, size: float, every: bool) -> FinitePair:
    """The pair whose δ(ε) runs along chords in e^ε between values rounded up [DGKKM22]: at one shift, or at the worst
    ones of all shifts up to `size`; the same with both laws exchanged, since with every shift goes its opposite."""

    def known(epsilons: Array) -> Array:
        if every:
            return np.array([_worst(law, e, size, ROUGH).upper for e in epsilons.tolist()])
        return shortfalls(law, np.full(len(epsilons), size), epsilons, 1e-9).upper

    high, before = 1.0, 1.0
    while (now := float(known(np.array([high]))[0])) > NEVER and now < 0.9 * before and high < MOST_LOSS:
        high, before = 1.5 * high, now
    losses = np.linspace(0.0, high, KNOTS_OF_ALL if every else KNOTS)
    values, places = np.minimum.accumulate(known(losses)), np.exp(losses)
    slopes = -np.diff(values) / np.diff(places)
    corners = np.column_stack([slopes, values[:-1] + places[:-1] * slopes])
    return pair_of(concave_chain(np.concatenate([[[0.0, values[-1]]], corners[::-1]])))


def _moment(law: Peaks, power: float, lo: float, hi: float, centre: float) -> float:
    """∫_lo^hi x^power height(|x − centre|) dx, 0 ≤ lo < hi on one side of the centre.

    Far out a ladder repeats itself times e^−rate: the sum over its periods is a closed form, one period is integrated.
    """
    if lo < centre:
        return _panels(law, power, lo, hi, centre)
    start = max(lo, centre + law.periodic_from)
    if math.isinf(start):
        return _panels(law, power, lo, min(hi, max(lo, centre + 1) + FAR * law.spread), centre)
    if hi - start <= PERIODS:
        return _panels(law, power, lo, hi, centre) if lo < hi else 0.0
    near = _panels(law, power, lo, start, centre) if lo < start else 0.0
    beyond = 0.0 if math.isinf(hi) else _periods(law, power, hi, centre)
    return near + _periods(law, power, start, centre) - beyond


def _periods(law: Peaks, power: float, start: float, centre: float) -> float:
    """∫_start^∞ where every period is the one before times e^−rate."""
    assert law.rate is not None
    rate = law.rate
    return _panels(law, power, start, start + 1, centre, lambda x: geometric_sum(power, rate, x))


def _panels(
    law: Peaks, power: float, lo: float, hi: float, centre: float, factor: Callable[[Array], Array] | None = None
) -> float:
    """∫_lo^hi factor(x)·height(|x − centre|) dx, factor x^power unless given, by Gauss's rule on panels over which a
    normal density changes by at most e² or so; next to 0, where x^power is singular, they are as wide as their distance
    from it."""
    away = max(abs(lo - centre), abs(hi - centre)) if law.rate is None else 0.5
    steepness = max(abs(away - 1), 0.5) / law.spread
    width = law.spread * min(0.5, 2 / steepness)
    ends = [lo]
    while ends[-1] < min(hi, width):
        ends.append(min(hi, ends[-1] + (min(width, ends[-1]) if ends[-1] > 0 else width)))
    if ends[-1] < hi:
        ends += np.linspace(ends[-1], hi, math.ceil((hi - ends[-1]) / width) + 1)[1:].tolist()
    a, b = np.array(ends[:-1]), np.array(ends[1:])
    nodes, weights = gauss_nodes(16)
    x = a[:, None] + (b - a)[:, None] * nodes
    values = law.height(np.abs(x - centre)) * (x**power if factor is None else factor(x))
    parts = ((b - a) * (values @ weights)).tolist()
    if lo == 0 and factor is None:
        nodes, weights = gauss_nodes(16, float(power))
        x = b[0] * nodes
        parts[0] = float(b[0] * (weights @ (law.height(np.abs(x - centre)) * b[0] ** power)))
    return math.fsum(parts)
