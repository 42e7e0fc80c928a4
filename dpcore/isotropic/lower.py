"""Multipliers for `proof`, found by a linear program whose rows are radii; what it says is believed only after a proof.

maximise λ − δ Σ y_s  subject to  F(r) ≥ λ at radii r,  Σ_m ω_s,m(ρ) ≤ y_s at nodes ρ,  ω ≥ 0. Radii enter where F of
a solution is least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from ..errors import SolverError
from ..lp import INFINITY, SLICE, LinearProgram
from .geometry import beta_law
from .problem import Array, RadialLoss
from .proof import Multipliers

PER_DECADE = 8
"""Levels of τ per decade of the probability of what lies below."""

UPPER_LEVELS = np.linspace(0.22, 0.99, 20)
"""Probabilities of the coarse levels."""


def levels_of(dimension: int, delta: float, shift: float) -> Array:
    """Levels of τ, from 0 to 2s: graded as the probability that a random direction leads to less."""
    if dimension == 1:
        return np.linspace(0.0, 2 * shift, 21)
    decades = math.log10(0.2 / (1e-2 * min(delta, 0.01)))
    small = 0.2 * 10.0 ** -np.linspace(decades, 0, max(4, math.ceil(decades * PER_DECADE)) + 1)
    k = (dimension - 1) / 2
    share = special.betaincinv(k, k, np.concatenate([small, UPPER_LEVELS]))
    even = np.arange(1, 10) / 10 if dimension <= 5 else np.empty(0)
    found = np.unique(np.concatenate([[0.0], share, even, [1.0]]))
    kept = found[np.concatenate([[True], np.diff(found) > 1e-9])]
    levels: Array = 2 * shift * kept
    levels[-1] = min(levels[-1], 2 * shift)
    return levels


NEAR = (0.0, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.04, 0.07)
PER_INTERVAL, BEYOND = 3, 3
"""Radii of the first rows."""

PART, DENSE = 2_000_000, SLICE // 50
"""Numbers of rows that are made, and iterations times rows of the program, between two looks at the stop flag: about
0.1 s. Rows are dense."""

CHECKED, ROUNDS, MOST_RADII, SLACK = 6, 12, 48, 2e-3
"""Radii per interval between nodes, moved or not, at which F of a solution is looked at; so often; at most so many come
in at a time, and those where F is below λ by this share of the scale."""

MARGIN, FAR = 0.02, 2.0
"""Where the loss is more than FAR times the scale, F keeps away from λ by MARGIN of what is beyond: hardly any
probability lies there, and rates are high, so that a proof would need many pieces."""


def coefficients(dimension: int, shift: float, nodes: Array, levels: Array, radii: Array, width: float) -> Array:
    """(radii, n, m) twice: of E[W(r, r + s − R)] and of E[W(R, R + s − r)], by the midpoint rule in τ."""
    n, count = len(nodes), len(radii)
    r = np.maximum(radii, 1e-12)[:, None]
    i = np.clip(np.searchsorted(nodes, radii, side="right") - 1, 0, n - 2)
    share = np.clip((radii - nodes[i]) / (nodes[i + 1] - nodes[i]), 0.0, 1.0)
    inside = radii < nodes[-1]
    reach = beta_law(dimension, levels * (2 * (r + shift) - levels) / (4 * r * shift)) * inside[:, None]
    gain = np.zeros((count, n, len(levels)))
    rows = np.arange(count)
    gain[rows, i] = reach * (1 - share)[:, None]
    gain[rows, i + 1] += reach * share[:, None]
    fine, low = [], 0.0
    for high in levels.tolist():
        parts = max(1, math.ceil((high - low) / width))
        fine.append(low + (high - low) * np.arange(1, parts + 1) / parts)
        low = high
    even, top = np.concatenate(fine), float(levels[-1])
    if dimension == 1:  # τ is at one of its two ends
        ends, middle = np.broadcast_to(even, (count, len(even))), np.broadcast_to(even, (count, len(even)))
    else:  # weights turn, and may jump, at nodes
        turns = np.clip(nodes + shift - r, 0.0, top)
        ends = np.sort(np.concatenate([np.broadcast_to(even, (count, len(even))), turns], axis=1), axis=1)
        middle = 0.5 * (ends + np.concatenate([np.zeros((count, 1)), ends[:, :-1]], axis=1))
    owner = np.searchsorted(levels, middle, side="left")
    share = ends * (2 * (r - shift) + ends) / (4 * r * shift)
    below = np.where(share < 0, 0.0, beta_law(dimension, share))
    mass = np.diff(below, axis=1, prepend=0.0)
    place = np.abs(r - shift + middle)
    j = np.clip(np.searchsorted(nodes, place, side="right") - 1, 0, n - 2)
    part = np.clip((place - nodes[j]) / (nodes[j + 1] - nodes[j]), 0.0, 1.0)
    mass = mass * (place < nodes[-1])
    cost = np.zeros(count * n * len(levels))
    base = (rows[:, None] * n + j) * len(levels) + owner
    size = len(cost)
    cost += np.bincount(base.ravel(), (mass * (1 - part)).ravel(), size)
    cost += np.bincount((base + len(levels)).ravel(), (mass * part).ravel(), size + len(levels))[:size]
    return np.stack([gain, np.cumsum(cost.reshape(count, n, len(levels)), axis=2)])


@dataclass
class DualProgram:
    """nodes : of the multipliers, the last one with weight 0.   scale : size of the optimal loss."""

    dimension: int
    amplification: float
    delta: float
    loss: RadialLoss
    nodes: Array
    shifts: tuple[float, ...]
    scale: float
    width: float
    lp: LinearProgram = field(init=False)

    def __post_init__(self) -> None:
        self.levels = [levels_of(self.dimension, self.delta, s) for s in self.shifts]
        n = len(self.nodes) - 1
        self.lp = lp = LinearProgram(tolerance=1e-8, slice=DENSE)
        k = len(self.shifts)
        lp.add_columns([-1.0], -INFINITY, INFINITY)
        lp.add_columns(np.ones(k))
        self.units, self.first = [], [1 + k]
        for s, (shift, levels) in enumerate(zip(self.shifts, self.levels)):
            near = levels * (2 * (2 + shift) - levels) / (4 * 2 * shift)
            unit = np.maximum(beta_law(self.dimension, near), self.delta)
            self.units.append(self.scale / unit)
            row0 = lp.rows
            m = len(levels)
            lp.add_rows(
                np.full(n, -INFINITY), np.zeros(n), starts=np.arange(n), columns=np.full(n, 1 + s),
                values=np.full(n, -1.0),
            )  # fmt: skip
            lp.add_columns(
                np.zeros(n * m), starts=np.arange(n * m), rows=row0 + np.repeat(np.arange(n), m),
                values=np.tile(self.delta / unit, n),
            )  # fmt: skip
            self.first.append(self.first[-1] + n * m)
        self.radii = np.empty(0)

    def add(self, radii: Array, look: Callable[[], object] = lambda: None) -> None:
        """Rows of radii that are not yet there.   look : called now and then; what it raises ends this."""
        radii = np.setdiff1d(radii, self.radii)
        step = max(1, PART // (self.first[-1] + math.ceil(2 / self.width)))
        for begin in range(0, len(radii), step):
            look()
            part = radii[begin : begin + step]
            blocks = [np.full((len(part), 1), -1.0)]
            for shift, levels, units in zip(self.shifts, self.levels, self.units):
                gain, cost = coefficients(self.dimension, shift, self.nodes, levels, part, self.width)
                total = (gain - self.amplification * cost)[:, :-1] * units / self.scale
                blocks.append(total.reshape(len(part), -1))
            whole = np.concatenate(blocks, axis=1)
            costs = self.loss(part) / self.scale
            size = np.maximum(1.0, costs)
            whole /= size[:, None]
            whole[np.abs(whole) < 1e-13] = 0.0
            used = whole != 0
            columns = np.nonzero(used)[1]
            columns = np.where(columns > 0, columns + len(self.shifts), 0)
            starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))[:-1]])
            self.lp.add_rows(
                (MARGIN * np.maximum(costs - FAR, 0.0) - costs) / size, np.full(len(part), INFINITY), starts=starts,
                columns=columns, values=whole[used],
            )  # fmt: skip
        self.radii = np.concatenate([self.radii, radii])

    def first_radii(self) -> Array:
        """Three per interval of nodes, more where all directions lead to about the same radius, and those beyond."""
        nodes, last = self.nodes, float(self.nodes[-1])
        inside = nodes[:-1, None] + np.diff(nodes)[:, None] * np.arange(PER_INTERVAL) / PER_INTERVAL
        outside = last + np.linspace(0.0, 1.0, BEYOND + math.ceil(2 / (nodes[1] - nodes[0])))
        near = np.array(NEAR)
        return np.unique(np.concatenate([near[near < last], inside.ravel(), outside]))

    def checked(self) -> Array:
        """Radii at which F of a solution is looked at."""
        moved = [self.nodes, *(self.nodes + sign * s for s in self.shifts for sign in (1, -1))]
        cuts = np.unique(np.concatenate(moved))
        cuts = cuts[cuts >= 0]
        found: Array = (cuts[:-1, None] + np.diff(cuts)[:, None] * np.arange(CHECKED) / CHECKED).ravel()
        return found

    def values(self, multipliers: list[Multipliers], radii: Array, look: Callable[[], object]) -> Array:
        """F at radii, by the program's own quadrature."""
        found = self.loss(radii)
        step = max(1, PART // (self.first[-1] + math.ceil(2 / self.width)))
        for begin in range(0, len(radii), step):
            look()
            part = slice(begin, begin + step)
            for one in multipliers:
                gain, cost = coefficients(
                    self.dimension, one.shift, self.nodes, one.levels, radii[part], self.width
                )  # fmt: skip
                found[part] += np.tensordot(gain - self.amplification * cost, one.weights, axes=2)
        return found

    def solve(
        self, deadline: float, stop: Callable[[], bool], look: Callable[[], object] = lambda: None
    ) -> tuple[list[Multipliers], float] | None:
        """(multipliers, the program's value), or None without a solution. Where the loss jumps, F has many cusps: rows
        come in between as long as it is below λ."""
        found, radii = self._solve(deadline, stop), self.checked()
        for _ in range(ROUNDS if self.loss.beyond is not None else 0):
            if found is None:
                break
            multipliers, value = found
            least = value + self.delta * sum(float(one.weights.sum(axis=1).max()) for one in multipliers)
            missed = self.values(multipliers, radii, look) - least
            low = np.concatenate([[math.inf], missed, [math.inf]])
            turns = np.flatnonzero((missed < -SLACK * self.scale) & (missed <= low[:-2]) & (missed <= low[2:]))
            if not len(turns):
                break
            self.add(radii[turns[np.argsort(missed[turns])[:MOST_RADII]]], look)
            again = self._solve(deadline, stop)
            if again is None:
                break
            found = again
        return found

    def _solve(self, deadline: float, stop: Callable[[], bool]) -> tuple[list[Multipliers], float] | None:
        """(multipliers, the program's value) of the rows so far, or None without a solution."""
        try:
            status = self.lp.run(deadline, stop)
        except SolverError:
            return None
        if status != "optimal":
            return None
        x = self.lp.primal()
        found = []
        n = len(self.nodes) - 1
        for s, (shift, levels, units) in enumerate(zip(self.shifts, self.levels, self.units)):
            weights = np.maximum(x[self.first[s] : self.first[s + 1]].reshape(n, -1), 0.0) * units
            weights[weights < 1e-13 * weights.max(initial=0.0)] = 0.0
            found.append(Multipliers(shift, self.nodes, levels, np.vstack([weights, np.zeros(len(levels))])))
        value = (float(x[0]) - float(x[1 : 1 + len(self.shifts)].sum())) * self.scale
        return found, value
