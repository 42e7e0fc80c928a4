"""Two neighbours' release laws side by side, as the law of the privacy loss under each of them.

The truth is 0 or φ, the release X or X + φ: call their laws P and Q. All that can be said about telling them apart is
in the privacy loss L(y) = ln p(y)/q(y), in how it is distributed under P and under Q [Awan, §14.1]. Every curve of this
package, δ(ε), the trade-off function, Rényi divergences, the attacker's success, is a function of such a pair.

`pair(noise, shift=φ)` is exact for one shift; `dominating_pair(noise, sensitivity)` is the tight pair of all shifts up
to the sensitivity [Awan, Prop. 14.3; ZDW22], whose curves are the mechanism's. Numbers are exact up to the rounding of
sums of probabilities (about 1e-15 per term); bounds with directed rounding are in `curves`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .. import audit
from .._validate import above
from ..errors import InputError
from ..noise.base import Noise
from ..noise.discrete import IntegerStaircase
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.lattice import LatticeNoise, whole_law, whole_steps
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..noise.truncated_laplace import TruncatedLaplace
from ..noise.uniform import Uniform

Array = NDArray[np.float64]

MANY_CORNERS = 200_000
"""Points kept before those below their concave envelope are dropped."""


class Pair(ABC):
    """The privacy loss L of two laws P and Q."""

    @property
    @abstractmethod
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        """(loss, P{L = loss}, Q{L = loss}) wherever one is positive, falling in the loss; ∞ first, −∞ last."""

    @abstractmethod
    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        """(P{L > ε}, Q{L > ε}), elementwise over finite ε of either sign."""

    @abstractmethod
    def delta(self, epsilons: ArrayLike) -> Array:
        """H(ε) = sup_A P(A) − e^ε Q(A) = P{L > ε} − e^ε Q{L > ε} at any finite ε [Awan, Def. 9.1]."""

    @abstractmethod
    def tradeoff(self, alphas: ArrayLike) -> Array:
        """T(P, Q): the least type II error of a test of P against Q with type I error at most α [Awan, Def. 13.1]."""

    @abstractmethod
    def renyi(self, orders: ArrayLike) -> Array:
        """D_α(P‖Q) at orders α ≥ 1; the Kullback–Leibler divergence at 1; ∞ if P leaves the support of Q."""

    @property
    def infinite(self) -> float:
        """P{L = ∞}: the probability of releases that are impossible under Q."""
        return self.atoms[0][1] if self.atoms and self.atoms[0][0] == math.inf else 0.0

    def cdf(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        """(P{L ≤ ε}, Q{L ≤ ε}), elementwise."""
        own, other = self.tails(epsilons)
        return 1 - own, 1 - other


@dataclass(frozen=True, eq=False)
class FinitePair(Pair):
    """A privacy loss with finitely many values.

    losses : (n,) falling strictly; ∞ first and −∞ last, if there.
    own, other : (n,) probabilities under P and under Q; other = own·e^−loss up to rounding.
    """

    losses: Array
    own: Array
    other: Array

    @classmethod
    def of(cls, own: ArrayLike, other: ArrayLike, losses: ArrayLike | None = None) -> FinitePair:
        """From outcomes with these probabilities; outcomes of one loss (to 1e-12) are one. `losses`, if known better
        than as logarithms of quotients."""
        own, other = np.asarray(own, dtype=float), np.asarray(other, dtype=float)
        used = (own > 0) | (other > 0)
        own, other = own[used], other[used]
        if losses is None:
            with np.errstate(divide="ignore"):
                found = np.log(own) - np.log(other)
        else:
            found = np.asarray(losses, dtype=float)[used]
        order = np.argsort(-found, kind="stable")
        found, own, other = found[order], own[order], other[order]
        near = np.isfinite(found[1:]) & np.isfinite(found[:-1])
        with np.errstate(invalid="ignore"):
            near &= found[:-1] - found[1:] <= 1e-12 * np.maximum(1.0, np.abs(found[1:]))
        starts = np.flatnonzero(np.append(True, ~near & (found[1:] != found[:-1])))
        found, own, other = found[starts], np.add.reduceat(own, starts), np.add.reduceat(other, starts)
        if losses is None:
            with np.errstate(divide="ignore"):
                found = np.log(own) - np.log(other)
        return cls(found, own, other)

    @property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        return tuple(zip(self.losses.tolist(), self.own.tolist(), self.other.tolist()))

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return np.append(0.0, np.cumsum(self.own)), np.append(0.0, np.cumsum(self.other))

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        last = np.searchsorted(-self.losses, -np.asarray(epsilons, dtype=float), side="left")
        return self._sums[0][last], self._sums[1][last]

    @cached_property
    def _kinks(self) -> tuple[Array, Array, Array]:
        """Finite losses L_i, H(L_i), and C_i = e^(L_i) Q{L ≥ L_i}: H(ε) = H(L_i) + C_i (1 − e^(ε − L_i)) down to the
        next one. Everything adds up, nothing cancels, so that small δ(ε) are as exact as large ones."""
        finite = np.isfinite(self.losses)
        losses, own = self.losses[finite], self.own[finite]
        value, height, last = self.infinite, 0.0, math.inf
        values, heights = [], []
        for loss, mass in zip(losses.tolist(), own.tolist()):
            value -= height * math.expm1(loss - last)
            height = height * math.exp(loss - last) + mass
            last = loss
            values.append(value)
            heights.append(height)
        return losses, np.array(values), np.array(heights)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        losses, values, heights = self._kinks
        if not losses.size:
            return np.full(epsilons.shape, self.infinite)
        at = np.searchsorted(-losses, -epsilons, side="left") - 1  # the lowest loss above ε
        below = np.maximum(at, 0)
        found = values[below] - heights[below] * np.expm1(np.minimum(epsilons - losses[below], 0.0))
        return np.clip(np.where(at < 0, self.infinite, found), 0.0, 1.0)

    @property
    def rise(self) -> Array:
        """(Q{L > τ}, P{L > τ}) at the steps of τ ≥ 0, (m, 2)."""
        positive = int(np.searchsorted(-self.losses, 0.0, side="left"))
        return np.column_stack([self._sums[1], self._sums[0]])[1 : positive + 1]

    @cached_property
    def vertices(self) -> tuple[Array, Array]:
        """(type I errors, type II errors) of the tests "say Q where the loss is at most τ", by rising type I error;
        the trade-off function joins them by chords [Neyman and Pearson]."""
        alphas = np.append(0.0, np.cumsum(self.own[::-1]))
        betas = np.append(np.cumsum(self.other)[::-1], 0.0)
        return np.minimum(alphas / max(alphas[-1], 1e-300), 1.0), np.minimum(betas / max(betas[0], 1e-300), 1.0)

    def tradeoff(self, alphas: ArrayLike) -> Array:
        x, y = self.vertices
        if len(x) > 1 and x[1] == 0:  # impossible under P: rejected at no cost
            x, y = x[1:], y[1:]
        return np.interp(np.asarray(alphas, dtype=float), x, y)

    def renyi(self, orders: ArrayLike) -> Array:
        orders = np.asarray(orders, dtype=float)
        if self.infinite > 0:
            return np.full(orders.shape, math.inf)
        used = self.own > 0
        return _renyi_of(orders, self.losses[used], self.own[used])


@dataclass(frozen=True, eq=False)
class MonotonePair(Pair):
    """A law with a log-concave density and its copy moved up by `shift`: L falls along the line, so that every
    {L > ε} is a half-line, and the best test says Q above some place."""

    noise: Gaussian | Laplace | TruncatedLaplace
    shift: float

    def _threshold(self, epsilons: Array) -> Array:
        """The place below which L > ε."""
        noise, phi = self.noise, self.shift
        if isinstance(noise, Gaussian):
            return noise.location + phi / 2 - epsilons * noise.sigma**2 / phi
        top = phi / noise.scale
        t = np.where(epsilons < top, np.where(epsilons < -top, np.inf, (phi - epsilons * noise.scale) / 2), -np.inf)
        if isinstance(noise, TruncatedLaplace):  # below φ − A the loss is infinite, above A it is −∞
            t = np.clip(t, min(phi - noise.half_width, noise.half_width), noise.half_width)
        return noise.location + t

    @cached_property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        noise, phi = self.noise, self.shift
        if isinstance(noise, Gaussian):
            return ()
        at, m = lambda x: float(noise.cdf(x)), noise.location
        start, end = m - noise.radius, m + noise.radius
        top = phi / noise.scale
        left = max(at(m) - at(start + phi), 0.0) if math.isfinite(start) else at(m)  # shared, below both centres
        found = [(math.inf, at(start + phi) if math.isfinite(start) else 0.0, 0.0)]
        found += [(top, left, left * math.exp(-top)), (-top, left * math.exp(-top), left)]
        found += [(-math.inf, 0.0, 1 - at(end - phi) if math.isfinite(end) else 0.0)]
        return tuple(one for one in found if one[1] > 0 or one[2] > 0)

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        t = self._threshold(np.asarray(epsilons, dtype=float))
        return self.noise.cdf(t), self.noise.cdf(t - self.shift)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        if isinstance(self.noise, Gaussian):
            return mirrored(epsilons, _gaussian_delta(self.shift / self.noise.sigma, np.abs(epsilons)))
        known = [self.noise.shortfall(abs(e), self.shift) for e in epsilons.ravel().tolist()]
        return mirrored(epsilons, np.reshape(known, epsilons.shape))

    def tradeoff(self, alphas: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            t = 2 * self.noise.location - self.noise.quantile(np.clip(np.asarray(alphas, dtype=float), 0.0, 1.0))
        return self.noise.cdf(t - self.shift)

    def renyi(self, orders: ArrayLike) -> Array:
        """Gaussian αφ²/(2σ²) [Awan, Prop. 12.2]; Laplace ln(α/(2α − 1) e^((α−1)t) + (α − 1)/(2α − 1) e^(−αt))/(α − 1)
        with t = φ/scale [Mironov 2017, Table II]."""
        orders = np.asarray(orders, dtype=float)
        if self.infinite > 0:
            return np.full(orders.shape, math.inf)
        if isinstance(self.noise, Gaussian):
            return orders * (0.5 * (self.shift / self.noise.sigma) ** 2)
        t, s = self.shift / self.noise.scale, orders - 1
        rest = np.expm1(np.minimum(s * t, 1.0)), math.exp(-t) * np.expm1(-s * t)  # E e^(sL) − 1 without cancellation
        small = 0.5 * (rest[0] + rest[1] + (rest[0] - rest[1] + 2 * s * math.expm1(-t)) / (2 * s + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            far, near = np.log(orders / (2 * orders - 1)) + s * t, np.log(s / (2 * orders - 1)) - orders * t
            found = np.where(s * t < 1, np.log1p(small), np.logaddexp(far, near)) / s
        return np.where(s > 0, found, t + math.expm1(-t))


def _gaussian_delta(mu: float, epsilons: Array) -> Array:
    """δ(ε) of N(0, 1) against N(μ, 1) at ε ≥ 0: Φ(−a) − e^ε Φ(−b), a, b = ε/μ ∓ μ/2, as φ(a)(m(a) − m(b)) with Mills'
    ratio m, since e^ε φ(b) = φ(a): where both are tiny, nothing but their difference is lost."""
    a, b = epsilons / mu - mu / 2, epsilons / mu + mu / 2
    density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
    mills = lambda x: math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))  # noqa: E731
    far = density * (mills(np.maximum(a, 0.0)) - mills(b))
    return np.clip(np.where(a > 0, far, special.ndtr(-a) - density * mills(b)), 0.0, 1.0)


def mirrored(epsilons: Array, deltas: Array) -> Array:
    """δ(ε) from δ(|ε|): at ε < 0 it is 1 − e^ε (1 − δ(−ε)), because H(ε) of (P, Q) is 1 − e^ε + e^ε H(−ε) of (Q, P),
    and with a shift goes its opposite."""
    below = np.minimum(epsilons, 0.0)
    return np.where(epsilons >= 0, deltas, -np.expm1(below) + np.exp(below) * deltas)


def _renyi_of(orders: Array, losses: Array, own: Array) -> Array:
    """ln Σ P{L} e^((α − 1)L)/(α − 1), elementwise over the orders; Σ P{L}·L at 1."""
    s, mean = np.ravel(orders - 1)[:, None], float(own @ losses)
    top = np.maximum((s * losses).max(axis=1), 0.0)
    small = np.log1p(np.expm1(np.minimum(s * losses, 1.0)) @ own)  # ln(1 + E(e^(sL) − 1)): nothing cancels
    large = top + np.log(np.exp(s * losses - top[:, None]) @ own)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(top < 1, small, large) / s[:, 0]
    return np.where(s[:, 0] > 0, found, mean).reshape(np.shape(orders))


# From a noise law to its pair ------------------------------------------------------------------------


def pair(noise: Noise, *, shift: float) -> Pair:
    """The laws of X (P) and of X + shift (Q), shift > 0. For laws on a lattice the largest whole number of steps in it.

    Raises
    ------
    InputError : the shift is not positive, below one step of a lattice, or 10⁴ times what a staircase is made for.
    """
    shift = above(0, 1e300, shift=shift)
    if isinstance(noise, Gaussian | Laplace | TruncatedLaplace):
        return MonotonePair(noise, shift)
    if isinstance(noise, PiecewiseNoise):
        return _piecewise_pair(noise, shift / noise.sensitivity * noise.resolution)
    if isinstance(noise, Uniform):
        bare = min(0.5 * shift / noise.half_width, 1.0)
        masses = np.array([bare, 1 - bare, 0.0])
        return _with_atom(masses, masses[::-1], noise.atom, np.array([math.inf, 0.0, -math.inf]))
    if isinstance(noise, Staircase):
        return _staircase_pair(noise, shift / noise.sensitivity)
    step = noise.step if isinstance(noise, LatticeNoise) else whole_law(noise)[1]
    if (steps := whole_steps(shift, step)) == 0:
        raise InputError("shift", shift, f"at least one step of the lattice, {step:g}")
    if isinstance(noise, LatticeNoise):
        return _lattice_pair(noise, steps)
    return _integer_pair(whole_law(noise)[0], steps)


def dominating_pair(noise: Noise, sensitivity: float) -> Pair:
    """The tight dominating pair: its δ(ε) is the largest over all shifts up to the sensitivity, at every ε, its
    trade-off function the largest that lies below those of all shifts [Awan, Prop. 14.3].

    For a symmetric density that falls from its centre it is the pair of the largest shift (see `SymmetricNoise`). For
    solved laws no single shift is the worst at every ε. H(ε) of each candidate is the largest of the lines A − e^ε B,
    with A = P{L > τ} and B = Q{L > τ}, so the largest H is the upper envelope of all their lines: the concave chain of
    the points (B, A), each edge of which is one value of the loss, ln of its slope. With every shift goes the opposite
    one, so losses below 0 mirror those above.
    """
    if not isinstance(noise, PiecewiseNoise | LatticeNoise):
        return pair(noise, shift=sensitivity)
    above(0, 1e300, sensitivity=sensitivity)
    corners, count = [np.zeros((1, 2))], 0
    for one in _candidates(noise, sensitivity):
        corners.append(one.rise)
        count += len(corners[-1])
        if count > MANY_CORNERS:
            corners, count = [_concave_chain(np.concatenate(corners))], 0
    chain = _concave_chain(np.concatenate(corners))
    other, own = np.diff(chain, axis=0).T
    used = own > other * (1 + 1e-12)  # a loss of 0 but for rounding belongs to the rest
    other, own = other[used], own[used]
    infinite = chain[0, 1]
    rest = max(1 - infinite - math.fsum(own) - math.fsum(other), 0.0)
    return FinitePair.of(
        np.concatenate([[infinite], own, [rest], other[::-1], [0.0]]),
        np.concatenate([[0.0], other, [rest], own[::-1], [infinite]]),
    )


def _candidates(noise: PiecewiseNoise | LatticeNoise, sensitivity: float):
    """The pairs of all shifts among which, at every ε, the worst one is."""
    signs = (1,) if noise.is_symmetric else (1, -1)
    if isinstance(noise, LatticeNoise):
        reach = min(whole_steps(sensitivity, noise.step), len(noise.weights))
        yield from (_lattice_pair(noise, sign * j) for j in range(1, reach + 1) for sign in signs)
        return
    if noise.atom_weight:  # shifts towards 0: the atom alone gives them away
        yield _with_atom(np.array([1.0]), np.array([1.0]), noise.atom_mass, np.zeros(1))
    limit = math.ceil(sensitivity / noise.sensitivity * noise.resolution * (1 - 2**-51))
    for shift in audit.candidate_shifts(noise, limit).tolist():
        yield from (_piecewise_pair(noise, sign * shift) for sign in signs)


def _concave_chain(points: Array) -> Array:
    """The corners of the concave upper envelope of points (B, A), by rising B [Andrew's monotone chain]."""
    points = points[np.lexsort((-points[:, 1], points[:, 0]))]
    highest = np.maximum.accumulate(points[:, 1])
    points = points[np.append(True, points[1:, 1] > highest[:-1])]
    chain: list[tuple[float, float]] = []
    for x, y in points.tolist():
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - a) > (y - b) * (c - a):
                break
            chain.pop()
        chain.append((x, y))
    return np.array(chain)


def shared_cells(noise: PiecewiseNoise, shift: float) -> tuple[Array, Array, Array]:
    """(density, density of the law moved by `shift` units, length) on the parts where one of them is positive."""
    breaks, other = noise.breaks, noise.breaks + shift
    points = np.unique(np.concatenate([breaks, other]))
    density = np.concatenate([[0.0], noise.masses / np.diff(breaks), [0.0]])
    here = density[np.searchsorted(breaks, points[:-1], side="right")]
    there = density[np.searchsorted(other, points[:-1], side="right")]
    used = (here > 0) | (there > 0)
    return here[used], there[used], np.diff(points)[used].astype(float)


def _piecewise_pair(noise: PiecewiseNoise, shift: float) -> FinitePair:
    here, there, length = shared_cells(noise, shift)
    return FinitePair.of(
        np.append(here * length, [noise.atom_mass, 0.0]), np.append(there * length, [0.0, noise.atom_mass])
    )


def _lattice_pair(noise: LatticeNoise, steps: int) -> FinitePair:
    bare = np.zeros(min(abs(steps), len(noise.weights)))
    own, other = np.append(noise.masses, bare), np.append(bare, noise.masses)
    return FinitePair.of(own, other) if steps > 0 else FinitePair.of(other, own)


def _integer_pair(law: IntegerStaircase, shift: int) -> FinitePair:
    left, middle = np.arange(law.period, dtype=float), np.arange(1, shift, dtype=float)
    ones = np.ones(len(left)), np.ones(len(middle))
    return _stairs(law.rate, law.rise, law.period, shift, (left, ones[0]), (middle, ones[1]), atom=0.0)


def _staircase_pair(noise: Staircase, shift: float) -> FinitePair:
    """In units of the law's sensitivity."""
    above(0, 1e4, shift=shift)
    gamma = noise.gamma
    edges = gamma + np.arange(math.ceil(shift) + 1)
    left = np.unique([0.0, gamma, (gamma - shift) % 1.0, 1.0])
    middle = np.unique(np.clip(np.concatenate([[0.0, shift], edges, shift - edges]), 0.0, shift))
    cells = [(0.5 * (x[:-1] + x[1:]), np.where(np.diff(x) > 1e-12, np.diff(x), 0.0)) for x in (left, middle)]
    return _stairs(noise.epsilon, gamma, 1.0, shift, *cells, atom=noise.atom)


def _stairs(
    rate: float,
    rise: float,
    period: float,
    shift: float,
    left: tuple[Array, Array],
    middle: tuple[Array, Array],
    *,
    atom: float,
) -> FinitePair:
    """The pair of a law that falls by e^−rate per period from its centre, with one period of cells (distance from the
    centre, length) on the far side of it, and the cells between the two centres.

    Beyond the centre both laws fall alike, so one period stands for all, times 1/(1 − e^−rate); beyond the other
    centre the same is true with P and Q exchanged.
    """
    level = lambda i: np.floor((i - rise) / period) + 1  # noqa: E731
    near, far = level(left[0]), level(left[0] + shift)
    many = left[1] / -math.expm1(-rate)
    here, there = level(middle[0]), level(shift - middle[0])
    own = np.concatenate([np.exp(-rate * near) * many, np.exp(-rate * here) * middle[1], np.exp(-rate * far) * many])
    other = np.concatenate([np.exp(-rate * far) * many, np.exp(-rate * there) * middle[1], np.exp(-rate * near) * many])
    losses = rate * np.concatenate([far - near, there - here, near - far])
    return _with_atom(own / own.sum(), other / other.sum(), atom, losses)


def _with_atom(own: Array, other: Array, atom: float, losses: Array) -> FinitePair:
    """The pair of a law that is a point with probability `atom`: neither covers the other's point."""
    return FinitePair.of(
        np.append((1 - atom) * own, [atom, 0.0]),
        np.append((1 - atom) * other, [0.0, atom]),
        np.append(losses, [math.inf, -math.inf]),
    )


def privacy_loss(noise: Noise, outputs: ArrayLike, *, shift: float) -> Array:
    """L(y) = ln p(y)/p(y − shift) at releases y (the truth is 0): ∞ where only the truth can have made them, −∞ where
    only the neighbour can, NaN where neither. Points of positive probability outweigh densities."""
    y = np.asarray(outputs, dtype=float)
    if isinstance(noise, Gaussian):
        return shift * (shift - 2 * (y - noise.location)) / (2 * noise.sigma**2)
    if isinstance(noise, Laplace):
        return (np.abs(y - noise.location - shift) - np.abs(y - noise.location)) / noise.scale
    lattice = isinstance(noise, LatticeNoise) or whole_law(noise) is not None
    own, other = ((noise.pmf if lattice else noise.density)(x) for x in (y, y - shift))
    if not lattice:
        for place, _ in noise.atoms:
            near = 2**-50 * (np.abs(y) + abs(shift) + abs(place))  # a release is a sum that was rounded
            own = np.where(np.abs(y - place) <= near, np.inf, own)
            other = np.where(np.abs(y - shift - place) <= near, np.inf, other)
            own, other = np.where(np.isinf(other), 0.0, own), np.where(np.isinf(own), 0.0, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(own) - np.log(other)
