"""Staircase noise of Geng and Viswanath, alone or mixed with an atom."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validate import above, decimal, in_range, real
from ..errors import InputError
from ..exact import coin, draw_staircase
from ..loss import UNIT, Loss
from ..loss.cells import lattice_costs
from ..loss.powers import power_integral
from ..pair import FinitePair
from ..privacy import Privacy
from ..script import LawScript, carried, filled
from ..search import least_argument
from .base import NEGLIGIBLE, Array
from .first_step import first_step
from .ladder import POINTS, SUBDIVISIONS
from .moments import geometric_sum
from .periods import Side
from .pure import staircase_loss_bounds
from .stairs import stairs_pair
from .symmetric import SymmetricNoise, has_two_slopes

_DECAYS = 60.0
"""Periods are summed until e^−60: with the fifth power of their number this is below 1e-17 of the sum."""

STAIRCASE_FIELDS = ("epsilon", "sensitivity", "gamma", "atom", "location")

_STAIRCASE = '''\
# Staircase noise around ORIGIN: the density is constant up to GAMMA*SENSITIVITY and falls by the factor exp(-EPSILON)
# there and after every further SENSITIVITY; the point ORIGIN has probability ATOM.
SENSITIVITY = Fraction("$sensitivity")
EPSILON = Fraction("$epsilon")
GAMMA = Fraction($gamma)
ATOM = Fraction($atom)
ORIGIN = Fraction("$origin")

POINTS = max($points, GAMMA.denominator)  # lattice points per sensitivity
STEP = SENSITIVITY / POINTS


$functions

def added(value):
    """The value plus one exact draw: the point is added to the value itself, other draws to the value rounded up to the
    lattice."""
    if coin(ATOM):
        return value + ORIGIN
    return (-(-value // STEP) + draw_staircase(EPSILON, GAMMA, Fraction(0), POINTS)) * STEP + ORIGIN'''


@dataclass(frozen=True)
class Staircase(SymmetricNoise):
    """Probability 1 − atom: density a·e^(−ε·level(|x − location|/sensitivity)), level(y) = k on
    [k − 1 + γ, k + γ), 0 on [0, γ) [GV15]; probability `atom`: the location.

    Purely (ε, 0)-DP without the atom, (ε, atom)-DP with it [Thm 1; Thm 6].
    """

    epsilon: float
    sensitivity: float
    gamma: float
    atom: float = 0.0
    location: float = 0.0

    name = "Staircase"

    def __post_init__(self) -> None:
        above(0, 1e3, epsilon=self.epsilon)
        above(0, 1e300, sensitivity=self.sensitivity)
        in_range(0, 1, gamma=self.gamma)
        in_range(0, 1, atom=self.atom)
        real(location=self.location)

    @classmethod
    def calibrate(
        cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None, *, atom: float = 0.0
    ) -> Staircase:
        """The staircase law at ε (δ is not used) whose γ is least in expected loss (default |x|).

        For |x| and every two-slope loss γ = 1/(1 + e^(ε/2)) [GV15]; for other losses that grow away from 0 `first_step`
        finds the one valley; otherwise a search.
        """
        epsilon = privacy.epsilon
        if epsilon == 0:
            raise InputError("epsilon", epsilon, "a positive number for staircase noise")
        gamma = amplitude_gamma(epsilon)
        if loss is not None and not has_two_slopes(loss):
            even = loss.symmetrised()
            if even.grows_from_zero:
                return cls(epsilon, sensitivity, first_step(Side.line(even, epsilon, sensitivity)).end, atom)
            law: Callable[[float], Staircase] = lambda logit: cls(epsilon, 1.0, _logistic(logit))  # noqa: E731
            unit = loss.scaled(sensitivity)
            grid = [*np.linspace(-epsilon - 6.0, 6.0, 19), -epsilon / 2, *_kinks(unit)]
            gamma = _logistic(least_argument(lambda logit: law(logit)._search_loss(unit), grid, tolerance=1e-6))
        return cls(epsilon, sensitivity, gamma, atom)

    @property
    def radius(self) -> float:
        return math.inf

    @property
    def _decay(self) -> float:
        return math.exp(-self.epsilon)

    @property
    def _top(self) -> float:
        """Density at the centre, times the sensitivity: (1 − b)/(2(γ + b(1 − γ)))."""
        return -math.expm1(-self.epsilon) / (2 * (self.gamma + self._decay * (1 - self.gamma)))

    def _level(self, y: Array) -> Array:
        return np.floor(y - self.gamma) + 1

    def _height(self, y: Array) -> Array:
        return self._top / self.sensitivity * np.exp(-self.epsilon * self._level(y / self.sensitivity))

    def _tail(self, y: Array) -> Array:
        b, gamma = self._decay, self.gamma
        period, u = np.divmod(np.minimum(y / self.sensitivity, 1e15), 1.0)
        rest = np.maximum(gamma - u, 0.0) + b * (1 - np.maximum(u, gamma))
        return np.exp(-self.epsilon * period) * (2 * self._top * rest + b)

    def _tail_quantile(self, q: Array) -> Array:
        b, gamma = self._decay, self.gamma
        period = np.maximum(np.floor(-np.log(q) / self.epsilon), 0.0)
        missing = np.maximum(-np.expm1(np.log(q) + self.epsilon * period), 0.0) / (2 * self._top)
        u = np.where(missing <= gamma, missing, gamma + (missing - gamma) / b)
        return self.sensitivity * (period + np.minimum(u, 1.0))

    def loss_upper(self, loss: Loss) -> float:
        side = Side.line(loss, self.epsilon, self.sensitivity, self.location)
        spread = staircase_loss_bounds(side, self.gamma)[1]
        at_location = float(lattice_costs(np.array([self.location]), loss)[1][0])
        return ((1 - self.atom) * spread + self.atom * at_location) * (1 + 8 * UNIT)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        """Cell by cell where the interval is short or the centre is not 0; else a difference of two tails,
        which then differ by a factor."""
        D = self.sensitivity
        y0, y1 = sorted((abs(lo - centre) / D, abs(hi - centre) / D))
        periods = min(y1, y0 + _DECAYS / self.epsilon + 2) - y0
        if centre == 0 and (math.isinf(y1) or periods * self.epsilon > 2):
            beyond = 0.0 if math.isinf(y1) else float(self._upper_moment(power, y1))
            tails = float(self._upper_moment(power, y0)) - beyond
            unit: float = D**power
            return unit * self._top * tails
        k = np.floor(y0) + np.arange(int(periods) + 3)
        edges = np.clip(np.column_stack([k, k + self.gamma, k + 1]), y0, y1)
        lengths_from, lengths_to = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        levels = np.column_stack([k, k + 1]).ravel()
        side = 1.0 if hi > centre else -1.0
        ends = np.clip(centre + side * D * np.stack([lengths_from, lengths_to]), lo, hi)
        cells = power_integral(power, ends.min(axis=0), ends.max(axis=0))
        return self._top / D * float(np.exp(-self.epsilon * levels) @ cells)

    def _search_loss(self, loss: Loss) -> float:
        """`expected_loss` of the law about 0 with sensitivity 1, all pieces of the loss at once; pieces far
        narrower than their distance from 0 lose digits to cancellation, so this serves to compare γ only."""
        ends = np.abs([[piece.lo, piece.hi] for piece in loss.pieces])
        near, far = ends.min(axis=1), ends.max(axis=1)
        powers = np.array([piece.power for piece in loss.pieces])
        total = 0.0
        for power in {0.0, *powers.tolist()}:
            factors = [p.at_zero if power == 0 else p.coefficient * (p.power == power) for p in loss.pieces]
            used = np.flatnonzero(factors)
            if used.size == 0:
                continue
            moments, finite = self._upper_moment(power, near[used]), np.isfinite(far[used])
            if finite.any():
                moments[finite] -= self._upper_moment(power, far[used][finite])
            total += float(np.array(factors)[used] @ moments)
        return total * self._top

    def _upper_moment(self, power: float, y: ArrayLike) -> Array:
        """∫_y^∞ v^power e^(−ε·level(v)) dv, elementwise."""
        b, gamma = self._decay, self.gamma
        y = np.asarray(y, dtype=float)
        n = np.floor(y)
        corner = np.maximum(y, n + gamma)
        head = power_integral(power, y, corner) + b * power_integral(power, corner, n + 1)
        rest = self._period_sum(power, n + 1, 0.0, gamma) + b * self._period_sum(power, n + 1, gamma, 1.0)
        moment: Array = np.exp(-self.epsilon * n) * (head + b * rest)
        return moment

    def _period_sum(self, power: float, start: Array, u0: float, u1: float) -> Array:
        """Σ_{k ≥ 0} e^(−εk) ∫_{u0}^{u1} (start + k + u)^power du, elementwise over start."""
        if power == int(power):
            total = 0.0 * start
            for j in range(int(power) + 1):
                inner = math.comb(int(power), j) * power_integral(power - j, u0, u1)
                total = total + inner * geometric_sum(j, self.epsilon, start)
            return total
        if self.epsilon > 0.05:
            k = np.arange(int(_DECAYS / self.epsilon) + 2)
            from_start = start[..., None] + k
            sums: Array = power_integral(power, from_start + u0, from_start + u1) @ np.exp(-self.epsilon * k)
            return sums
        above, below = (geometric_sum(power + 1, self.epsilon, start + u) for u in (u1, u0))
        return (above - below) / (power + 1)

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """Exact sum over the cells of both densities; everything in units of the sensitivity.

        Left of the centre both densities fall by e^−ε per period, so one period times 1/(1 − e^−ε); between
        the centre and φ/2 the cells one by one; right of φ/2 the shifted density is the larger.
        """
        phi = shift / self.sensitivity
        if epsilon >= math.ceil(phi) * self.epsilon:
            return 0.0  # levels at distance φ differ by at most ⌈φ⌉
        gamma, reach = self.gamma, min(phi / 2, _DECAYS / self.epsilon + 2)
        whole, r = divmod(phi, 1.0)
        left = self._excess(
            np.clip([0.0, gamma, gamma - r, 1 + gamma - r, 1.0], 0.0, 1.0),
            lambda u: (self._level(u), whole + self._level(u + r)),
            epsilon,
        )
        own = gamma + np.arange(math.ceil(reach) + 1)
        first = math.floor(phi - reach - gamma)
        other = phi - gamma - (first + np.arange(math.ceil(reach) + 2))
        middle = self._excess(
            np.clip(np.concatenate([[0.0, reach], own, other]), 0.0, reach),
            lambda v: (self._level(v), self._level(phi - v)),
            epsilon,
        )
        return self._top * (left / -math.expm1(-self.epsilon) + middle)

    def pair(self, shift: float) -> FinitePair:
        """The shift at most 10⁴ sensitivities."""
        phi, gamma = above(0, 1e4, shift=shift / self.sensitivity), self.gamma
        edges = gamma + np.arange(math.ceil(phi) + 1)
        left = np.unique([0.0, gamma, (gamma - phi) % 1.0, 1.0])
        middle = np.unique(np.clip(np.concatenate([[0.0, phi], edges, phi - edges]), 0.0, phi))
        cells = [(0.5 * (x[:-1] + x[1:]), np.where(np.diff(x) > 1e-12, np.diff(x), 0.0)) for x in (left, middle)]
        return stairs_pair(self.epsilon, gamma, 1.0, phi, *cells, atom=self.atom)

    @property
    def _points(self) -> int:
        """Lattice points per sensitivity in a release: the inner step is a whole number of them."""
        return max(SUBDIVISIONS, Fraction(self.gamma).denominator)

    @property
    def release_step(self) -> float:
        return float(decimal(self.sensitivity) / self._points)

    def release(self, value: float) -> float:
        location, step = decimal(self.location), decimal(self.sensitivity) / self._points
        if coin(Fraction(self.atom)):
            return float(decimal(value) + location)
        drawn = draw_staircase(decimal(self.epsilon), Fraction(self.gamma), Fraction(0), self._points)
        return float((math.ceil(decimal(value) / step) + drawn) * step + location)

    def script(self) -> LawScript:
        numbers = {name: repr(float(getattr(self, name))) for name in ("sensitivity", "epsilon", "gamma", "atom")}
        imports, functions = carried(coin, draw_staircase)
        origin = repr(float(self.location))
        return LawScript(imports, filled(_STAIRCASE, origin=origin, points=POINTS, functions=functions, **numbers))

    def listed(self) -> tuple[Array, Array]:
        """Cells of constant density: [−γ, γ] and whole periods on either side, in units of the sensitivity [GV15, (9)].

        What lies beyond the last cell is less than `NEGLIGIBLE` and is spread over the cells listed.
        """
        periods = math.ceil(-math.log(NEGLIGIBLE) / self.epsilon)
        right = self.gamma + np.arange(periods + 1)
        side = np.exp(-self.epsilon * np.arange(1, periods + 1))
        edges = np.concatenate([-right[::-1], right])
        masses = np.concatenate([side[::-1], [2 * self.gamma], side])
        if self.gamma == 0:
            edges, masses = np.delete(edges, periods), np.delete(masses, periods)
        return self.location + self.sensitivity * edges, masses * ((1 - self.atom) / math.fsum(masses))

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {
            "family": "staircase",
            "parameters": {name: float(getattr(self, name)) for name in STAIRCASE_FIELDS},
            "tail": {"ratio": math.exp(-self.epsilon), "period": self.sensitivity},
        }

    def _excess(self, points: Array, levels: Callable[[Array], tuple[Array, Array]], epsilon: float) -> float:
        """Σ over cells between the points of length·(e^(−ε₀k) − e^(ε − ε₀k'))₊, (k, k') the levels inside."""
        points = np.sort(points)
        k, far = levels(0.5 * (points[:-1] + points[1:]))
        gain = -np.expm1(np.minimum(epsilon - (far - k) * self.epsilon, 0.0))
        return float(np.exp(-self.epsilon * k) * gain @ np.diff(points))


def amplitude_gamma(epsilon: float) -> float:
    """γ = 1/(1 + e^(ε/2)), best for |x|: the half-width of the top step, in sensitivities [GV14]."""
    return 1 / (1 + math.exp(epsilon / 2))


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _kinks(loss: Loss) -> list[float]:
    """Logits of the γ at which a step edge meets a break of the loss (the first few: more are not kinks worth it)."""
    fractions = {abs(x) % 1.0 for x in loss.breaks[:16].tolist() if x}
    return [math.log(g / (1 - g)) for g in fractions if 1e-12 < g < 1 - 1e-12]
