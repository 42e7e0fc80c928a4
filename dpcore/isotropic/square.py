"""Lower bounds for E‖X‖₁ in the plane under ℓ2-sensitivity 1, for every law: the loss has the square's symmetries only.

Let X be (ε, δ)-DP, U uniform on [0, 1)² and R = β⌊X/β + U⌋ coordinate by coordinate. Rounding commutes with shifts
φ ∈ βZ²: for A ⊆ βZ² and A_u the union of its squares moved by −βu, P(R ∈ A) = E P(X ∈ A_U) ≤ E[e^ε P(X + φ ∈ A_U)] + δ
= e^ε P(R + φ ∈ A) + δ. So the law r of R has Σ_i max(0, r_i − e^ε r_{i−j}) ≤ δ for every whole shift j, |j|₂ ≤ 1/β; and
E‖R‖₁ = E‖X‖₁, since |·| is linear between neighbours of βZ and R has the mean X. The least loss of such r is a bound
for all X, and any multipliers of these rows prove one (`rows.referee`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..audit.growth import amplification_bounds
from ..privacy import Privacy
from ..rows.interior import InteriorProgram, Limits
from ..rows.referee import Brackets

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ACCURACY = 1e-4
"""Relative distance of the program's ends at which it ends."""

MOST_CLASSES = 1500
"""Most classes of points under the symmetries: they take some minutes."""

BEYOND = 0.4
"""Events reach so much further than a truncated Laplace law, in sensitivities."""

SHORTEST = 0.3
"""Shorter shifts have no rows."""

RESOLUTIONS = (5, 10)
"""Points per sensitivity, from fast to slow: a tenth of a second and some six."""

SYMMETRIES = [(a, b, swap) for a in (1, -1) for b in (1, -1) for swap in (False, True)]
"""Symmetries of the square: signs of the coordinates, and whether these change places."""


@dataclass(frozen=True)
class Grid:
    """Whole points i, |i|∞ ≤ events + resolution, of βZ², β = 1/resolution; events : radius of those in events.

    Points are counted row by row, classes of points under the eight symmetries from 0 on.
    """

    resolution: int
    events: int

    @classmethod
    def of(cls, privacy: Privacy, resolution: int) -> Grid:
        """Events as far as a truncated Laplace law reaches, and a little further."""
        epsilon, delta = privacy.epsilon, privacy.delta
        reach = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon if epsilon > 0 else 0.5 / delta
        return cls(resolution, math.ceil((reach + BEYOND) * resolution))

    @property
    def half(self) -> int:
        return self.events + self.resolution

    @cached_property
    def points(self) -> tuple[Ints, Ints]:
        axis = np.arange(-self.half, self.half + 1)
        x, y = np.meshgrid(axis, axis, indexing="ij")
        return x.ravel(), y.ravel()

    def place(self, x: Ints, y: Ints) -> Ints:
        """Number of a point."""
        out: Ints = (x + self.half) * (2 * self.half + 1) + y + self.half
        return out

    @cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """(class of every point, size of every class)."""
        x, y = map(np.abs, self.points)
        named = np.maximum(x, y) * (self.half + 1) + np.minimum(x, y)
        _, of, sizes = np.unique(named, return_inverse=True, return_counts=True)
        return of, sizes

    @property
    def costs(self) -> Array:
        """‖βi‖₁ of every point, rounded down."""
        x, y = map(np.abs, self.points)
        out: Array = np.nextafter((x + y) / self.resolution, 0.0)
        return out

    @cached_property
    def shifts(self) -> list[tuple[int, int]]:
        """One of every class of whole shifts of length between SHORTEST and 1."""
        k = self.resolution
        pairs = [(i, j) for i in range(1, k + 1) for j in range(i + 1)]
        return [(i, j) for i, j in pairs if (SHORTEST * k) ** 2 <= i * i + j * j <= k * k]

    @cached_property
    def terms(self) -> tuple[Ints, Ints, Ints]:
        """(position of the shift, x, y) of every term max(0, r_i − e^ε r_{i−j}): of points nearer to 0 than i − j."""
        x, y = self.points
        inside = x * x + y * y <= self.events**2
        x, y = x[inside], y[inside]
        found = []
        for number, (i, j) in enumerate(self.shifts):
            nearer = i * i + j * j > 2 * (i * x + j * y)
            found.append(np.stack([np.full(int(nearer.sum()), number), x[nearer], y[nearer]]))
        shift, x, y = np.concatenate(found, axis=1)
        return shift, x, y


def taxicab_lower(
    privacy: Privacy, resolution: int, deadline: float = math.inf, stop: Callable[[], bool] = lambda: False
) -> float:
    """No (ε, δ)-DP law in the plane has a smaller E‖X‖₁; 0 where the program is too large or was ended.

    resolution : points per sensitivity. What is lost falls about like its square.
    """
    grid = Grid.of(privacy, resolution)
    if (grid.half + 1) * (grid.half + 2) > 2 * MOST_CLASSES:
        return 0.0
    of, sizes = grid.classes
    shift, x, y = grid.terms
    moved = np.array(grid.shifts)[shift].T
    events, covers = of[grid.place(x, y)], of[grid.place(x - moved[0], y - moved[1])]
    kept = events != covers  # else the term is 0
    shift, x, y, events, covers = (part[kept] for part in (shift, x, y, events, covers))
    count = len(grid.shifts)
    limits = Limits(
        np.searchsorted(shift, np.arange(count + 1)), np.full(count, privacy.delta),
        np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0),
        np.zeros(len(sizes), dtype=np.int64), sizes.astype(float), privacy.amplification, events, covers,
    )  # fmt: skip
    program = InteriorProgram(np.bincount(of, grid.costs).astype(float), limits)
    found = program.solve(deadline, stop, accuracy=ACCURACY)
    if found is None:
        return 0.0
    return max(0.0, proved(privacy, grid, shift, x, y, np.minimum(found.terms, found.limits[shift])))


def proved(privacy: Privacy, grid: Grid, shift: Ints, x: Ints, y: Ints, weights: Array) -> float:
    """The bound that multipliers of terms at (shift, point) prove, rounded down.

    Each is shared evenly by its eight images. Beyond the points no term is, and the loss is larger than at any column
    that stands for what is beyond.
    """
    n, width = len(grid.points[0]), 2 * grid.resolution + 1
    steps = np.array(grid.shifts)[shift].T
    names, covers, values = [], [], []
    for a, b, swap in SYMMETRIES:
        (u, v), (i, j) = ((b * q, a * p) if swap else (a * p, b * q) for p, q in ((x, y), (steps[0], steps[1])))
        limit = (i + grid.resolution) * width + j + grid.resolution
        names.append(limit * n + grid.place(u, v))
        covers.append(grid.place(u - i, v - j))
        values.append(np.maximum(weights, 0.0) / len(SYMMETRIES))
    name, first, index = np.unique(np.concatenate(names), return_index=True, return_inverse=True)
    total = np.bincount(index, np.concatenate(values), len(name)).astype(float)
    beyond = (grid.half + 1) / grid.resolution
    costs = np.append(grid.costs, np.nextafter(beyond, 0.0))
    brackets = Brackets.of(costs).with_terms(
        name % n, np.concatenate(covers)[first], amplification_bounds(privacy.epsilon)[1], total, name // n,
        privacy.delta,
    )  # fmt: skip
    return brackets.lower()
