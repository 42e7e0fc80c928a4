"""Long ranges: lower bounds from windows of the range and from the average of all noise; the points
that few laws on a long range need.

Dropping true values drops constraints and, their losses being at least 0, loss: V is at least the sum over disjoint
windows of the window's share of the weight times the least loss on it [docs/data_dependent.md, Thm 6].
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from .problem import WINDOW, DataDependentProblem
from .weight import Density, PartOfWeight

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

TAIL = 4e-4
"""Share of the weight that the middle window may leave out; other windows with as little are not worth a program."""

MOST_WINDOWS = 12

DENSE = 4
"""An interval of so many cells has all its points."""

SPREAD_POINTS = 12
"""Points, evenly apart, in a longer one; there are more near its ends."""


def windows(problem: DataDependentProblem) -> list[tuple[DataDependentProblem, float]]:
    """(problem on a window, its share of the weight, rounded down), alike ones together; the problem itself where its
    range is not long."""
    D, density = decimal(problem.sensitivity), problem.density
    if problem.partition or problem.width <= WINDOW * D:
        return [(problem, 1.0)]
    density = _finer(density, problem.width / D)
    parts = density.parts
    masses = [Fraction(a + b) / 2 for a, b in zip(map(Fraction, density.left), map(Fraction, density.right))]
    total = sum(masses, Fraction(0))
    length = max(math.floor(WINDOW * D / (problem.width / parts)), 1)
    found: dict[tuple[Fraction, Density], Fraction] = {}
    for first, last in _tiles(np.array([float(v / total) for v in masses]), length, density.symmetric):
        low, high = (decimal(problem.query_range[0]) + problem.width * i / parts for i in (first, last))
        part = Density(density.left[first:last], density.right[first:last])
        if part.constant:
            part = Density(part.left[:1], part.right[:1])
        if decimal(float(low)) != low or decimal(float(high)) != high:
            continue
        key = (high - low, part)
        if key not in found and len(found) == MOST_WINDOWS:
            continue
        found[key] = found.get(key, Fraction(0)) + sum(masses[first:last], Fraction(0)) / total
    out = []
    for (width, part), share in found.items():
        spec = f"{problem.weight.spec} on {float(width):g} of its range"
        weight = PartOfWeight(spec, problem.weight.title, density=part)
        ends = (-float(width) / 2, float(width) / 2)
        if decimal(ends[1]) * 2 != width:
            ends = (0.0, float(width))
        out.append((replace(problem, query_range=ends, weight=weight), float(share) * (1 - 2.0**-50)))
    return out or [(problem, 1.0)]


def _finer(density: Density, width: Fraction) -> Density:
    """A density on parts of at most a sensitivity, where its values are constant on parts (others stay)."""
    if density.left != density.right or density.parts >= width:
        return density
    each = width / density.parts
    times = each.numerator if each.denominator == 1 else next(m for m in _ROUND if m >= each)
    left = tuple(v for v in density.left for _ in range(times))
    return Density(left, left)


def average_delta(problem: DataDependentProblem) -> float:
    """δ for which the noise of all true values together, each with its weight, is (ε, δ)-DP additive noise, whatever
    the mechanism [docs/data_dependent.md, Thm 6]; rounded up."""
    density = problem.density
    most = decimal(problem.sensitivity) / problem.width * density.variation / density.total / 2
    return math.nextafter(problem.privacy.delta + float(most) * (1 + 2.0**-50), math.inf)


_ROUND = sorted(2**a * 5**b for a in range(14) for b in range(6))


def _tiles(shares: Array, length: int, symmetric: bool) -> list[tuple[int, int]]:
    """Disjoint windows (first part, last part + 1): one in the middle of the weight, others on either side of it."""
    n = len(shares)
    if shares.max() == shares.min():
        return [(i, min(i + length, n)) for i in range(0, n, length)]
    sums = np.append(0.0, np.cumsum(shares))
    middle = n // 2 if symmetric else int(np.searchsorted(sums, 0.5))
    half = 1
    while 2 * half < length and sums[min(middle + half, n)] - sums[max(middle - half, 0)] < 1 - TAIL:
        half += 1
    first, last = max(middle - half, 0), min(middle + half, n)
    tiles = [(first, last)]
    while first > 0 or last < n:
        for a, b in ((max(first - length, 0), first), (last, min(last + length, n))):
            if a < b and sums[b] - sums[a] > TAIL:
                tiles.append((a, b))
        first, last = max(first - length, 0), min(last + length, n)
    return sorted(tiles, key=lambda tile: sums[tile[0]] - sums[tile[1]])


# Few laws, many cells -------------------------------------------------------------------------------------


def points_of(breaks: tuple[int, ...], count: int) -> NDArray[np.bool_]:
    """Which of `count` points laws on such intervals need: all of short intervals, of long ones some everywhere and
    more and more towards their ends; mirrored breaks have mirrored points, the outermost points are always among them.
    """
    used = np.zeros(count, dtype=bool)
    for first, last in zip(breaks, breaks[1:]):
        size = last - first
        if size <= DENSE:
            used[first : min(last, count)] = True
            continue
        near = np.unique(np.round(DENSE * 1.6 ** np.arange(math.log(size / DENSE, 1.6))).astype(int))
        inside = np.unique(
            np.concatenate([np.arange(DENSE), near, np.linspace(0, size - 1, SPREAD_POINTS).astype(int)])
        )
        inside = inside[inside < size]
        for at in (first + inside, last - 1 - inside):
            used[at[at < count]] = True
    used[[0, -1]] = True
    return used


def coarser_costs(costs: Array, nodes: Ints) -> Array:
    """Costs at some of the points, such that linear interpolation between these lies below the costs at all points,
    (G, m): releases may then be rounded to the nodes at random. Rounded down."""
    at = np.arange(costs.shape[1])
    left = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2)
    part = (at - nodes[left]) / np.diff(nodes)[left]
    values = costs[:, nodes]
    excess = values[:, left] * (1 - part) + values[:, left + 1] * part - costs
    above = np.maximum(np.maximum.reduceat(excess, nodes[:-1], axis=1), 0.0)
    lowered = values - np.maximum(np.pad(above, ((0, 0), (0, 1))), np.pad(above, ((0, 0), (1, 0))))
    rounding = 16 * 2.0**-53 * np.abs(costs).max(axis=1, keepdims=True)
    result: Array = lowered - rounding
    return result
