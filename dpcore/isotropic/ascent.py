"""Curves for `proof`, found by a sequence of linear programs; what they say is believed only after a proof.

maximise λ − δ Σ y  subject to  F(r) ≥ λ at radii r,  over the rates y of all curves and the levels T at their nodes.
F is linear in y and smooth in T: each program moves the levels within a trust region, in steps that change the
probability of the event at a node by about a factor e^trust. A step is taken if λ − δ Σ y rises where it is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csr_matrix

from ..errors import SolverError
from ..lp import INFINITY, LinearProgram
from .curves import Curve
from .geometry import beta_law
from .problem import Array, RadialLoss

FIRST_TRUST, LEAST_TRUST = 1.0, 1e-4
"""Changes of the logarithm of a probability that a program may make."""

GOOD, POOR = 0.7, 0.3
"""Shares of what a program promises that are kept: above one the trust region doubles, below the other it halves."""

ENOUGH = 1e-4
"""Relative gain below which rounds end."""

ROUNDS = 30

LARGEST_STEP = 0.25
"""Levels change by so much at most at once, in units of the sensitivity."""

FLATTEST = 0.02
"""Least slope of r ↦ r − T(r) that a program may make: where it is flat a radius jumps."""

NEAREST = 1e-9
"""Radius that stands for 0."""

LARGEST_LOSS = 0.9
"""Share of the probability of an event that one step may take away."""

LEAST_LAW, LEAST_COMPLEMENT = 1e-200, 1e-9
"""Where probabilities of events are nearer to 0 and 1, levels move by the step itself."""

LEAST_FACTOR = 0.5
"""Least factor of rates in one step: from afar no rate at all looks better than what a few steps lead to."""

STEEPEST = 1e9
"""Largest entry of a program: in the plane the law of the moved radius has no bound on its density."""

OUTSIDE = 12
"""Radii between the last node and where the events end."""


def _density(dimension: int, share: Array) -> Array:
    """Density of the Beta((d − 1)/2, (d − 1)/2) law; 0 outside (0, 1)."""
    k = (dimension - 1) / 2
    inside = np.clip(share, 1e-300, 1 - 1e-16)
    log = (k - 1) * (np.log(inside) + np.log1p(-inside)) - special.betaln(k, k)
    return np.where((share > 0) & (share < 1), np.exp(np.minimum(log, 600.0)), 0.0)


@dataclass
class _Slope:
    """One part of ∂(gain − E cost)/∂T: (radii,) node and value."""

    node: NDArray[np.intp]
    value: Array


def _event(dimension: int, shift: float, radius: Array, level: Array) -> tuple[Array, Array]:
    """P(R ≥ r + s − T) at radii and levels T, and its slope in T."""
    share = level * (2 * (radius + shift) - level) / (4 * radius * shift)
    slope = _density(dimension, share) * (radius + shift - level) / (2 * radius * shift)
    return beta_law(dimension, share), slope


def _gain(dimension: int, curve: Curve, radii: Array) -> tuple[Array, list[_Slope]]:
    """P(R ≥ r + s − T(r)) and its slopes."""
    nodes = curve.nodes
    i = np.clip(np.searchsorted(nodes, radii, side="right") - 1, 0, len(nodes) - 2)
    w = np.clip((radii - nodes[i]) / (nodes[i + 1] - nodes[i]), 0.0, 1.0)
    level = curve.levels[i] * (1 - w) + curve.levels[i + 1] * w
    inside = radii <= nodes[-1]
    value, slope = (np.where(inside, part, 0.0) for part in _event(dimension, curve.shift, radii, level))
    return value, [_Slope(i, slope * (1 - w)), _Slope(i + 1, slope * w)]


def _cost(dimension: int, curve: Curve, radii: Array) -> tuple[Array, list[_Slope]]:
    """P(R ≤ φ(r)), φ the last radius with φ − T(φ) ≤ r − s, and its slopes."""
    s, nodes, n = curve.shift, curve.nodes, len(curve.nodes)
    turns = np.maximum.accumulate(curve.turns)
    j = np.searchsorted(turns, radii - s, side="right") - 1
    i = np.clip(j, 0, n - 2)
    rise = np.maximum(turns[i + 1] - turns[i], 1e-12)
    w = np.clip((radii - s - turns[i]) / rise, 0.0, 1.0)
    last = np.where(j >= n - 1, nodes[-1], nodes[i] + w * (nodes[i + 1] - nodes[i]))
    level = last + s - radii
    share = np.where(level >= 0, level * (2 * (radii - s) + level) / (4 * radii * s), 0.0)
    live = (j >= 0) & (share > 0)
    value = np.where(live, beta_law(dimension, share), 0.0)
    steep = (nodes[i + 1] - nodes[i]) / rise
    slope = np.where(live & (j < n - 1), _density(dimension, share) * last / (2 * radii * s) * steep, 0.0)
    return value, [_Slope(i, slope * (1 - w)), _Slope(i + 1, slope * w)]


@dataclass
class Ascent:
    """scale : size of the optimal loss.   value : λ − δ Σ y of `curves` at the radii checked, not a proof.
    promised : what the last program said."""

    dimension: int
    amplification: float
    delta: float
    loss: RadialLoss
    scale: float
    curves: list[Curve]
    trust: float = FIRST_TRUST
    rows: Array = field(init=False)
    checks: Array = field(init=False)
    value: float = field(init=False)
    promised: float = field(init=False, default=math.inf)

    def __post_init__(self) -> None:
        nodes = np.unique(np.concatenate([one.nodes for one in self.curves]))
        far = nodes[-1] + max(one.shift for one in self.curves)
        ends = np.unique(np.concatenate([nodes, np.linspace(nodes[-1] + NEAREST, far, OUTSIDE)]))
        quarters = ends[:-1, None] + np.diff(ends)[:, None] * np.arange(4) / 4
        self.rows = np.maximum(np.append(quarters[:, ::2].ravel(), far), NEAREST)
        self.checks = np.maximum(np.append(quarters.ravel(), far), NEAREST)
        self.value = self._merit(self.curves)

    def add(self, radii: Array) -> None:
        """Radii where F was found to be small."""
        radii = np.maximum(radii, NEAREST)
        self.rows, self.checks = np.union1d(self.rows, radii), np.union1d(self.checks, radii)
        self.value = self._merit(self.curves)

    def _merit(self, curves: list[Curve]) -> float:
        total = self.loss(self.checks)
        for one in curves:
            gain, cost = (part(self.dimension, one, self.checks)[0] for part in (_gain, _cost))
            total = total + one.rate * (gain - self.amplification * cost)
        return float(total.min()) - self.delta * sum(one.rate for one in curves)

    def run(self, deadline: float, stop: Callable[[], bool]) -> list[Curve]:
        """Steps until they gain little."""
        for _ in range(ROUNDS):
            if self.trust < LEAST_TRUST:
                break
            found = self._step(deadline, stop)
            if found is None:
                break
            value = self._merit(found)
            share = (value - self.value) / max(self.promised - self.value, 1e-300)
            if value > self.value:
                self.curves, self.value = found, value
                self.trust *= 2 if share > GOOD else 0.5 if share < POOR else 1
            else:
                self.trust /= 4
            if self.promised - self.value <= ENOUGH * abs(self.value):
                break
        return self.curves

    def _step(self, deadline: float, stop: Callable[[], bool]) -> list[Curve] | None:
        """The next program's curves."""
        lp, radii, count = LinearProgram(), self.rows, len(self.curves)
        costs = self.loss(radii) / self.scale
        size = np.maximum(1.0, costs)
        rates = np.array([max(one.rate, 1e-9 * self.scale) for one in self.curves])
        lp.add_columns([-1.0], -INFINITY, INFINITY)
        lp.add_columns(self.delta * rates / self.scale, LEAST_FACTOR)
        numbers = np.arange(len(radii))
        entries = [(numbers, np.zeros(len(radii), dtype=int), -1 / size)]
        units, first = [], [1 + count]
        for k, one in enumerate(self.curves):
            (gain, up), (cost, down) = (part(self.dimension, one, radii) for part in (_gain, _cost))
            factor = rates[k] / self.scale / size
            entries.append((numbers, np.full(len(radii), 1 + k), (gain - self.amplification * cost) * factor))
            unit = self._units(one)
            for sign, parts in ((1.0, up), (-self.amplification, down)):
                for part in parts:
                    used = np.flatnonzero(part.value)
                    value = sign * part.value * unit[part.node] * factor
                    entries.append((used, first[-1] + part.node[used], value[used]))
            most = (np.minimum(2 * np.minimum(one.nodes, one.shift), 2 * one.shift) - one.levels) / unit
            lp.add_columns(
                np.zeros(len(unit)), np.maximum(-self.trust, np.minimum(-one.levels / unit, 0.0)),
                np.minimum(self.trust, np.maximum(most, 0.0)),
            )  # fmt: skip
            units.append(unit)
            first.append(first[-1] + len(unit))
        rows, columns, values = (np.concatenate([entry[i] for entry in entries]) for i in range(3))
        matrix = csr_matrix((values, (rows, columns)), shape=(len(radii), first[-1]))
        matrix.sum_duplicates()
        np.clip(matrix.data, -STEEPEST, STEEPEST, out=matrix.data)
        lp.add_rows(
            -costs / size, np.full(len(radii), INFINITY), starts=matrix.indptr[:-1], columns=matrix.indices,
            values=matrix.data,
        )  # fmt: skip
        for k, one in enumerate(self.curves):
            n, width = len(one.nodes), np.diff(one.nodes)
            pairs = first[k] + np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
            slopes = np.stack([units[k][:-1] / width, -units[k][1:] / width], axis=1)
            lp.add_rows(
                np.minimum(0.0, FLATTEST - np.diff(one.turns) / width), np.full(n - 1, INFINITY),
                starts=2 * np.arange(n - 1), columns=pairs.ravel(), values=slopes.ravel(),
            )  # fmt: skip
        try:
            if lp.run(deadline, stop) != "optimal":
                return None
        except SolverError:
            return None
        x = lp.primal()
        factors = np.maximum(x[1 : 1 + count], 0.0)
        self.promised = float(x[0]) * self.scale - self.delta * float(factors @ rates)
        moved = []
        for k, one in enumerate(self.curves):
            step = x[first[k] : first[k + 1]] * units[k] / max(float(factors[k]), POOR)
            moved.append(replace(one, levels=self._moved(one, step), rate=float(factors[k] * rates[k])))
        return moved

    def _law(self, curve: Curve) -> tuple[Array, Array]:
        """(n,) probability of the event at the nodes and its slope in T."""
        return _event(self.dimension, curve.shift, np.maximum(curve.nodes, NEAREST), curve.levels)

    def _units(self, curve: Curve) -> Array:
        """(n,) changes of T that change the probability of the event, or of its complement, by a factor e."""
        law, slope = self._law(curve)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.minimum(law, 1 - law) / slope
        return np.clip(np.where(np.isfinite(unit), unit, 0.0), 1e-7, LARGEST_STEP)

    def _moved(self, curve: Curve, step: Array) -> Array:
        """(n,) levels after a step: the probability, in which F is nearly linear, changes as the slope says."""
        k, s = (self.dimension - 1) / 2, curve.shift
        r = np.maximum(curve.nodes, NEAREST)
        law, slope = self._law(curve)
        change = np.maximum(slope * step, -LARGEST_LOSS * law)
        share = special.betaincinv(k, k, np.clip(law + change, 0.0, 1.0))
        whole = r + s
        levels = 4 * r * s * share / (whole + np.sqrt(np.maximum(whole * whole - 4 * r * s * share, 0.0)))
        usual = (slope > 0) & (law > LEAST_LAW) & (law < 1 - LEAST_COMPLEMENT) & np.isfinite(levels)
        moved: Array = np.where(usual, levels, curve.levels + step)
        return np.clip(moved, 0.0, 2 * np.minimum(curve.nodes, s))


def first_levels(shift: float, nodes: Array, reach: Array) -> Array:
    """(n,) T of the event |x − s·e| ≥ reach(|x|), reach at the nodes made non-decreasing and at least s."""
    psi = np.maximum.accumulate(np.maximum(reach, shift))
    levels: Array = np.clip(nodes + shift - psi, 0.0, 2 * np.minimum(nodes, shift))
    return levels
