"""LP-optimal scalar noise on every coordinate, with an optimal split of (ε, δ) and a joint certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..accounting.accountant import Accountant
from ..errors import InputError
from ..loss import Loss, absolute, power, squared
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..noise.truncated_laplace import TruncatedLaplace
from ..privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from ..problem import NoiseProblem, SolverSettings
from ..search import bisection
from ..solution import Progress as SolverProgress
from ..solution import Solution
from .joint import JointNoise, Scaled
from .query import Allocation, VectorQuery, stated

Array = NDArray[np.float64]

KEY, NAME = "lp-optimal", "LP-optimal, optimal split"
MOST_COORDINATES = 6
LEAST_EPSILON, LEAST_DELTA = 0.1, 1e-4
"""Below this δ linear programs gain next to nothing over staircases (1 % at ε = 0.5)."""

GAPS = (2e-2, 1e-3)
"""Relative gaps of the programs while the split is sought, and of the ones that are kept."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Coordinates of equal λ and w are one group and get the same law."""

    query: VectorQuery

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """(K,) the group of each coordinate, −1 where λ_i = 0."""
        pairs = np.stack([self.query.profile.array, self.query.weight_array], axis=1)
        live = self.query.profile.positive
        out = np.full(len(live), -1)
        out[live] = np.unique(pairs[live], axis=0, return_inverse=True)[1].ravel()
        return out

    @cached_property
    def counts(self) -> Array:
        return np.bincount(self.index[self.index >= 0]).astype(float)

    @cached_property
    def gains(self) -> Array:
        """w λ^p of one coordinate of each group."""
        first = [int(np.flatnonzero(self.index == g)[0]) for g in range(len(self.counts))]
        return self.query.weight_array[first] * self.query.profile.array[first] ** self.query.power


def lp_optimal(
    query: VectorQuery,
    *,
    progress: Callable[[float], bool | None] | None = None,
    time_limit: float = 20.0,
) -> Allocation:
    """Scalar laws of least Σ w_i E|T_i|^p found, one linear program per coordinate (sensitivity 1, scaled by λ_i).

    The split of (ε, δ) is found by Nelder and Mead on closed-form laws; then the accountant is fed the dominating
    curves of the solved laws and both budgets are stretched as far as it certifies (ε, δ) jointly.
    """
    groups = _Groups(query)
    if reason := _unsuitable(query, groups):
        return Allocation.missing(KEY, NAME, "gaussian-iid", reason)
    deadline = time.perf_counter() + time_limit

    def stop(error: float) -> bool:
        return time.perf_counter() > deadline or bool(progress and progress(error))

    shares = closed_form_split(query, groups.counts, groups.gains)
    bench = _Bench(query, groups, stop)
    best, best_at, proof = None, (1.0, 1.0), ""
    for t in (1.0, 0.5, 0.2):
        if best is not None and stop(best):
            break
        s = bench.largest_stretch(shares, t)
        if s is None:
            continue
        error = bench.error(bench.laws(shares, s, t, GAPS[0]))
        if best is None or error < best:
            best, best_at = error, (s, t)
    if best is None:
        return Allocation.missing(KEY, NAME, "gaussian-iid", "no split was certified in the time given")
    laws = bench.laws(shares, *best_at, GAPS[1])
    delta = bench.delta(laws)
    if not delta <= query.privacy.delta:  # the finer laws spend a little more: give back until they fit
        s = bench.largest_stretch(shares, best_at[1], GAPS[1])
        laws = bench.laws(shares, s, best_at[1], GAPS[1]) if s is not None else []
        delta = bench.delta(laws) if laws else math.inf
    if not delta <= query.privacy.delta:
        return Allocation.missing(KEY, NAME, "gaussian-iid", "no split was certified in the time given")
    proof = f"solved laws, their dominating curves composed: {stated(delta, query.privacy)}"
    return _allocation(query, groups, laws, shares, proof)


def closed_form_split(query: VectorQuery, counts: Array, gains: Array) -> tuple[Array, Array]:
    """(ε_g, δ_g) per coordinate of each group, Σ counts·ε_g ≤ ε and Σ counts·δ_g ≤ δ, that minimise the error of the
    better of truncated Laplace and staircase-with-atom noise."""
    from scipy.optimize import minimize

    privacy, loss, n = query.privacy, _loss(query.power), len(counts)

    def pair(x: Array) -> tuple[Array, Array]:
        out = []
        for part, total in ((x[: n - 1], privacy.epsilon), (x[n - 1 :], privacy.delta)):
            raw = np.exp(np.concatenate([part, [0.0]]) - max(part.max(initial=0.0), 0.0))
            out.append(total * raw / float(counts @ raw) * (1 - 2**-50))
        return out[0], out[1]

    def error(x: Array) -> float:
        epsilons, deltas = pair(x)
        if epsilons.min() < EPSILON_RANGE[0] or deltas.min() < DELTA_RANGE[0]:
            return 1e300  # finite: Nelder and Mead take differences
        values = [_closed_form(float(e), float(d), loss) for e, d in zip(epsilons, deltas)]
        return float((counts * gains) @ values)

    if n == 1:
        return pair(np.empty(0))
    third = np.log(gains[:-1] / gains[-1]) / (query.power + 1)
    start = np.concatenate([third, np.zeros(n - 1)])
    found = minimize(error, start, method="Nelder-Mead", options={"maxfev": 250, "xatol": 1e-2, "fatol": 1e-5})
    return pair(found.x)


class _Bench:
    """Solves and judges trial splits, remembering the programs already solved."""

    def __init__(self, query: VectorQuery, groups: _Groups, stop: Callable[[float], bool]) -> None:
        self.query, self.groups, self.stop = query, groups, stop
        self.accountant = Accountant.for_target(query.privacy.epsilon, points=512)
        self._solved: dict[tuple[float, float, float], Solution] = {}

    def laws(self, shares: tuple[Array, Array], s: float, t: float, gap: float) -> list[Solution]:
        """One solved law per group at (s·ε_g, t·δ_g)."""
        from ..optimal import solve  # the solver's libraries are slow to load, and most queries do without

        out = []
        for epsilon, delta in zip(shares[0] * s, shares[1] * t):
            pair = (
                np.clip(epsilon, *EPSILON_RANGE),
                np.clip(delta, *DELTA_RANGE),
            )  # the accountant judges what comes of it
            key = (float(pair[0]), float(pair[1]), gap)
            if key not in self._solved:
                problem = NoiseProblem(Privacy(*key[:2]), 1.0, _loss(self.query.power))
                self._solved[key] = solve(problem, SolverSettings(gap=gap, time_limit=2.0), self._halt)
            out.append(self._solved[key])
        return out

    def _halt(self, record: SolverProgress) -> bool:
        return self.stop(math.inf) and math.isfinite(record.upper)

    def error(self, laws: list[Solution]) -> float:
        return math.fsum(self.groups.counts * self.groups.gains * [law.certificate.upper for law in laws])

    def delta(self, laws: list[Solution]) -> float:
        """Joint δ at ε, rounded up: basic composition where it applies and is enough, else the accountant."""
        privacy, counts = self.query.privacy, self.groups.counts
        spent = sum(int(count) * Fraction(law.problem.privacy.epsilon) for count, law in zip(counts, laws))
        if spent <= Fraction(privacy.epsilon):
            basic = math.fsum(counts * [law.certificate.delta_upper for law in laws]) * (1 + 1e-15)
            if basic <= privacy.delta:
                return basic
        parts = []
        for count, law in zip(self.groups.counts, laws):
            noise = law.noise
            if isinstance(noise, PiecewiseNoise):
                part = self.accountant.curve(noise)
            elif isinstance(noise, Staircase) and not noise.atom:
                part = self.accountant.staircase(noise.epsilon, noise.gamma)
            else:
                return math.inf
            parts += [part] * int(count)
        return self.accountant.delta_upper(parts, self.query.privacy.epsilon)

    def largest_stretch(self, shares: tuple[Array, Array], t: float, gap: float = GAPS[0]) -> float | None:
        """The largest s (within 1 %) for which (s·ε_g, t·δ_g) is certified; None if none was found."""

        def passes(s: float) -> bool:
            return self.delta(self.laws(shares, s, t, gap)) <= self.query.privacy.delta

        low = 1.0
        while not passes(low):
            low -= 0.02 if low > 0.9 else 0.1
            if low < 0.3 or self.stop(math.inf):
                return None
        high = low + (0.02 if low < 1 else 1.0)
        near = lambda low, high: high - low <= 0.01 or self.stop(math.inf)  # noqa: E731
        return bisection(passes, low, high, near=near)[0]


def _unsuitable(query: VectorQuery, groups: _Groups) -> str:
    live = int(query.profile.positive.sum())
    if query.privacy.delta < LEAST_DELTA or query.privacy.epsilon < LEAST_EPSILON:
        return (
            f"it is offered for epsilon from {LEAST_EPSILON:g} and delta from {LEAST_DELTA:g} on: below it gains little"
        )
    if live > MOST_COORDINATES:
        return f"it is offered for up to {MOST_COORDINATES} coordinates"
    try:
        _loss(query.power)
    except InputError:
        return "it is offered for powers up to 4"
    return ""


def _loss(exponent: float) -> Loss:
    return absolute() if exponent == 1 else squared() if exponent == 2 else power(exponent)


def _closed_form(epsilon: float, delta: float, loss: Loss) -> float:
    privacy = Privacy(epsilon, delta)
    truncated = TruncatedLaplace.calibrate(privacy, 1.0).expected_loss(loss)
    return min(truncated, Staircase.calibrate(privacy, 1.0, loss, atom=delta).expected_loss(loss))


def _allocation(
    query: VectorQuery, groups: _Groups, laws: list[Solution], shares: tuple[Array, Array], proof: str
) -> Allocation:
    live, p = groups.index >= 0, query.power
    upper = np.array([law.certificate.upper for law in laws])
    errors, scales, used = (np.zeros(len(live)) for _ in range(3))
    at = groups.index[live]
    errors[live] = groups.gains[at] * upper[at]
    scales[live] = query.profile.array[live] * upper[at] ** (1 / p)
    used[live] = shares[0][at] / query.privacy.epsilon
    kinds = tuple("LP-optimal" if on else "none" for on in live)
    places = [np.flatnonzero(groups.index == g) for g in range(len(laws))]
    parts = tuple(Scaled(at, query.profile.array[at], law.noise) for at, law in zip(places, laws))
    noise = JointNoise(len(live), parts)
    return Allocation(KEY, NAME, scales, errors, used, query.privacy, "gaussian-iid", kinds, proof, noise=noise)
