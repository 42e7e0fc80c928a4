"""What many releases reveal together, between two certified bounds: their composed privacy-loss distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from ..audit import delta_upper
from ..errors import CertificateError, InputError
from ..noise import Gaussian
from .curves import epsilon_at
from .loss_grids import MOST_CELLS, LossGrid, on_grid, reach
from .losses import compose
from .mechanisms import Release, sides
from .pairs import Pair, dominating_pair

FEW, TRIALS = 16, 2000
"""Values of positive probability that a grid is fitted to, and how many grids are tried."""

QUICK, FINE = 1 << 14, 1 << 17
"""Grid points within the composed loss: fit for a slider, and for a table."""


LARGEST_MU = 8.0
"""Gaussians further apart are composed of nearer ones, whose losses stay on a grid."""


@dataclass(frozen=True)
class Band:
    """lower ≤ the true value ≤ upper; the lower one is what two real neighbours show. Of mechanisms known only by
    (ε, δ): of the worst of them."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise CertificateError(f"lower bound {self.lower!r} above upper bound {self.upper!r}")


@dataclass(frozen=True, eq=False)
class Side:
    """All releases in one direction of neighbours: (dominating pair, real pair, count) of each, on grids of a step."""

    pairs: tuple[tuple[Pair, Pair, int], ...]
    step: float
    unseen: float

    @cached_property
    def above(self) -> list[tuple[LossGrid, int]]:
        return [(on_grid(one, self.step, upper=True, unseen=self.unseen), n) for one, _, n in self.pairs]

    @cached_property
    def below(self) -> list[tuple[LossGrid, int]]:
        return [(on_grid(one, self.step, upper=False, unseen=self.unseen), n) for _, one, n in self.pairs]

    def bound(self, times: int, *, upper: bool, delta: float | None = None, epsilon: float | None = None) -> float:
        """ε at δ, or δ at ε, of everything repeated so many times, from above or below."""
        parts = [(grid, times * count) for grid, count in (self.above if upper else self.below)]
        made = compose(parts, delta=delta, epsilon=epsilon)
        return made.delta(epsilon) if delta is None else made.epsilon(delta)  # type: ignore[arg-type]  # one of the two is given


class Truth:
    """The composition of some releases, all of them repeated any number of times.

    Grids are made once, for at most `times` repetitions; `points` is how fine they are.
    """

    def __init__(
        self, releases: Sequence[Release], *, times: int = 1, points: int = FINE, delta: float = 1e-12
    ) -> None:
        self.releases = tuple(releases)
        if not self.releases:
            raise InputError("mechanism", "(none)", "at least one mechanism")
        self._mu, rest = _gaussians(self.releases)
        directions = sides(self.releases)
        self.sides: tuple[Side, ...] = ()
        if rest:
            unseen = min(1e-6 * delta / (times * sum(one.count for one in rest)), 1e-12)
            parts = math.ceil((self._mu / LARGEST_MU) ** 2)  # as many equal Gaussians together are that one
            gaussian = [(dominating_pair(Gaussian(math.sqrt(parts) / self._mu), 1.0), parts)] if parts else []
            self.sides = tuple(_side(rest, gaussian, side, times, points, unseen) for side in directions)

    def epsilon(self, delta: float, *, times: int = 1) -> Band:
        """The least ε ≥ 0 at which the composition is (ε, δ)-DP; ∞ if there is none."""
        if not self.sides:
            return gaussian_band(self._mu * math.sqrt(times), delta)
        uppers = [side.bound(times, upper=True, delta=delta) for side in self.sides]
        # any direction bounds the worse one from below
        lower = self.sides[int(np.argmax(uppers))].bound(times, upper=False, delta=delta)
        return Band(lower, max(uppers))

    def epsilon_upper(self, delta: float, *, times: int = 1) -> float:
        """The upper end of `epsilon` alone."""
        if not self.sides:
            return gaussian_band(self._mu * math.sqrt(times), delta).upper
        return max(side.bound(times, upper=True, delta=delta) for side in self.sides)

    def delta(self, epsilon: float, *, times: int = 1) -> Band:
        """The least δ at which the composition is (ε, δ)-DP."""
        if not self.sides:
            found = delta_upper(Gaussian(1 / (self._mu * math.sqrt(times))), epsilon, 1.0)
            return Band(found * (1 - 1e-10), min(found * (1 + 1e-10), 1.0))
        uppers = [side.bound(times, upper=True, epsilon=epsilon) for side in self.sides]
        lower = self.sides[int(np.argmax(uppers))].bound(times, upper=False, epsilon=epsilon)
        return Band(lower, max(uppers))


def gaussian_band(mu: float, delta: float) -> Band:
    """The least ε at δ of N(0, 1) against N(μ, 1), to its rounding; beyond 700, where e^ε is too large, between the
    bounds P{L > ε + t}(1 − e^−t) ≤ δ(ε) ≤ P{L > ε}, for the loss L ~ N(μ²/2, μ²)."""
    found = epsilon_at(Gaussian(1 / mu), delta, sensitivity=1.0)
    if math.isfinite(found):
        return Band(found * (1 - 2e-9), found * (1 + 2e-9))
    quantile: Callable[[float], float] = lambda tail: mu * mu / 2 - mu * float(special.ndtri(min(tail, 1.0)))  # noqa: E731
    upper = quantile(delta) * (1 + 1e-12)
    lower = max(quantile(-delta / math.expm1(-t)) - t for t in (0.1, 0.3, 1.0, 3.0, 10.0) if delta < -math.expm1(-t))
    return Band(max(lower * (1 - 1e-12), 0.0), upper)


def _gaussians(releases: Sequence[Release]) -> tuple[float, list[Release]]:
    """(μ of all plain Gaussian releases together, the other ones): √Σ μ² [Awan, §13.8], exactly."""
    squares, rest = 0.0, []
    for one in releases:
        plain = one.sampling is None or one.sampling.rate == 1
        if plain and (mu := one.mechanism.gaussian_mu) is not None:
            squares += one.count * mu**2
        else:
            rest.append(one)
    return math.sqrt(squares), rest


def _side(
    releases: list[Release], gaussian: list[tuple[Pair, int]], side: str, times: int, points: int, unseen: float
) -> Side:
    pairs = [(one.pair(side), one.pair(side, attack=True), one.count) for one in releases]
    pairs += [(one, one, count) for one, count in gaussian]
    step = _step(pairs, times, points, unseen)
    return Side(tuple(pairs), step, unseen)


def _step(pairs: list[tuple[Pair, Pair, int]], times: int, points: int, unseen: float) -> float:
    """A step with at least so many points across the composed loss, chosen so that grids pass close by the values that
    losses take with positive probability: probability that sits between grid points costs accuracy."""
    spread, widest, spans, places = 0.0, 0.0, [], []
    for pair, attack, count in pairs:
        (low, high), real = reach(pair, unseen), reach(attack, unseen)
        _, variance, _ = on_grid(pair, max((high - low) / 2000, 1e-12), upper=True, unseen=unseen).moments()
        spread += times * count * variance
        widest = max(widest, high - low, real[1] - real[0])
        atoms = [atom for atom in pair.atoms if low <= atom[0] <= high]
        if 1 < len(atoms) <= FEW:
            start = max((own, loss) for loss, own, _ in atoms)[1]  # the grid passes through it
            places += [(abs(loss - start), count * own) for loss, own, _ in atoms]
            spans.append((count * variance, abs(atoms[0][0] - atoms[-1][0])))
    finest = max(1.01 * widest / MOST_CELLS, 1e-12)
    step = max((widest + 17 * math.sqrt(spread)) / points, finest)
    for _, span in sorted(spans, reverse=True):
        if span >= step:
            first = math.ceil(span / step)
            parts = np.arange(first, max(min(2 * first, first + TRIALS, math.floor(span / finest)), first) + 1)
            distances, weights = np.array(places).T
            off = distances * parts[:, None] / span
            off = (np.abs(off - np.rint(off)) @ weights) / parts
            return span / int(parts[np.argmax(off <= off.min() + 1e-9 * weights.sum() / parts[-1])])
    return step
