"""Noise whose law is shared by the true values of an interval [SLW-S, Alg. G.1]: the mechanism and its audit.

The range is cut into sets; a true value in set g is released with noise of law γ_g, constant on cells of one lattice of
which the ends of the sets and the sensitivity are whole numbers of steps. Between neighbouring shifts of the lattice a
shortfall is linear, so finitely many shifts decide [docs/data_dependent.md, Thm 7].
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal, real
from ..audit import amplification_bounds, loss_upper
from ..loss import UNIT, Loss
from ..noise.piecewise import PiecewiseNoise
from .problem import DataDependentProblem
from .referee import uncovered

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoiseLaws:
    """release = true value + noise of the law of its set.

    ends : (G + 1,) of the sets, in the query's unit; a true value at an inner end belongs to the set on its right.
    laws : (G,) all with the same sensitivity and resolution, no origin, cells of one unit, an atom at 0 if any.
    """

    ends: tuple[float, ...]
    laws: tuple[PiecewiseNoise, ...]
    name: str = "Optimal, one law of the noise per interval"

    def __post_init__(self) -> None:
        first = self.laws[0]
        if len(self.ends) != len(self.laws) + 1 or any(a >= b for a, b in zip(self.ends, self.ends[1:])):
            raise ValueError("increasing ends, one more than the laws")
        for law in self.laws:
            alike = law.resolution == first.resolution and law.sensitivity == first.sensitivity and law.origin == 0
            if not alike or (np.diff(law.breaks) != 1).any() or law.atom_unit:
                raise ValueError("laws on cells of one unit of one lattice, atoms at 0")
        _ = self.units  # refuses

    @property
    def parameters(self) -> dict[str, float]:
        return {"laws": len(self.laws), "cells": self.masses.shape[1]}

    @cached_property
    def units(self) -> tuple[int, ...]:
        """The ends of the sets in units of sensitivity/resolution."""
        return units_of(self.ends, self.laws[0].sensitivity, self.laws[0].resolution)

    @cached_property
    def first(self) -> int:
        """The left end of the first cell of `masses`, in units."""
        return min(int(law.breaks[0]) for law in self.laws)

    @cached_property
    def masses(self) -> Array:
        """Probabilities of the cells, from `first` on, (G, N), each within a relative 2^−53."""
        out = np.zeros((len(self.laws), max(int(law.breaks[-1]) for law in self.laws) - self.first))
        for row, law in zip(out, self.laws):
            start = int(law.breaks[0]) - self.first
            row[start : start + len(law.masses)] = law.masses
        return out

    @cached_property
    def atom_masses(self) -> Array:
        return np.array([law.atom_mass for law in self.laws])

    @property
    def edges(self) -> Array:
        """Ends of the cells of `masses`, in the query's unit, (N + 1,)."""
        step = float(decimal(self.laws[0].sensitivity)) / self.laws[0].resolution
        return step * (self.first + np.arange(self.masses.shape[1] + 1))

    def law_of(self, value: float | Fraction) -> int:
        """The set of a true value; beyond the range the nearest one."""
        exact = value if isinstance(value, Fraction) else decimal(value)
        return min(max(bisect_right([decimal(end) for end in self.ends], exact) - 1, 0), len(self.laws) - 1)

    def release(self, value: float) -> float:
        """One exact private release; values outside the range count as its nearer end."""
        inside = min(max(real(value=value), self.ends[0]), self.ends[-1])
        return self.laws[self.law_of(inside)].release(inside)

    def expected_loss(self, loss: Loss, values: ArrayLike) -> Array:
        """E c(noise) at true values; in floating point, for drawings and tests."""
        means = np.array([law.expected_loss(loss) for law in self.laws])
        out: Array = means[[self.law_of(v) for v in np.atleast_1d(np.asarray(values, dtype=float)).tolist()]]
        return out


def units_of(ends: Sequence[float], sensitivity: float, resolution: int) -> tuple[int, ...]:
    """Ends of sets in units of sensitivity/resolution.

    Raises
    ------
    ValueError : some end is no whole number of them.
    """
    places = [decimal(end) * resolution / decimal(sensitivity) for end in ends]
    if any(place.denominator != 1 for place in places):
        raise ValueError("the ends of the sets must lie on the lattice")
    return tuple(int(place) for place in places)


def ends_of(problem: DataDependentProblem) -> tuple[float, ...]:
    """The ends of the sets, those of the range among them."""
    return (problem.query_range[0], *problem.partition, problem.query_range[1])


def shifts(units: Sequence[int], reach: int) -> Iterator[tuple[int, int, int, int]]:
    """(g, h, least, most): the true values of set h less those of set g, as far as both are within the sensitivity,
    `reach` units; the ends of sets are counted in."""
    sets = len(units) - 1
    for g in range(sets):
        for h in range(sets):
            least, most = max(units[h] - units[g + 1], -reach), min(units[h + 1] - units[g], reach)
            if least <= most:
                yield g, h, least, most


def shifted(values: Array, shift: int) -> Array:
    """Position i holds values[i − shift], 0 outside."""
    out = np.zeros_like(values)
    n = len(values)
    if abs(shift) < n:
        out[max(shift, 0) : n + min(shift, 0)] = values[max(-shift, 0) : n + min(-shift, 0)]
    return out


def shortfall_upper(mechanism: NoiseLaws, epsilon: float) -> tuple[float, float]:
    """(bound, shift): over all true values f, f + φ within the sensitivity and all events A the largest
    P(A | f) − e^ε P(A | f + φ) is at most `bound`, attained at |φ| = shift. Rounding as in `referee`."""
    E, masses, atoms = amplification_bounds(epsilon)[0], mechanism.masses, mechanism.atom_masses
    reach, covering = mechanism.laws[0].resolution, E * mechanism.masses
    rough, places = [float(atoms.max())], [(int(np.argmax(atoms)), 0, 0)]
    for g, h, least, most in shifts(mechanism.units, reach):
        for shift in range(least, most + 1):
            if g != h or shift:
                rough.append(float(uncovered(masses[g], shifted(covering[h], shift)).sum() + atoms[g]))
                places.append((g, h, shift))
    most_rough, worst, where = max(rough), float(atoms.max()), 0
    for value, (g, h, shift) in zip(rough, places):
        if value >= (1 - 1e-9) * most_rough:
            exact = worst
            if g != h or shift:
                exact = math.fsum([*uncovered(masses[g], shifted(covering[h], shift)).tolist(), float(atoms[g])])
            if exact >= worst:
                worst, where = exact, abs(shift)
    return min(worst * (1 + 16 * UNIT), 1.0), float(Fraction(where, reach) * decimal(mechanism.laws[0].sensitivity))


def signed_shares(problem: DataDependentProblem) -> Array:
    """Of the weight, of every set: its true values below 0 and the others, (G, 2), within 2u; without a loss of its own
    below 0 all count as others."""
    ends = [decimal(end) for end in ends_of(problem)]
    low, out = ends[0], np.zeros((len(ends) - 1, 2))
    for g, (left, right) in enumerate(zip(ends, ends[1:])):
        middle = left if problem.loss_below is None else min(max(Fraction(0), left), right)
        out[g] = [float(s) for s in problem.shares([left - low, middle - low, right - low])]
    return out


def average_upper(mechanism: NoiseLaws, problem: DataDependentProblem) -> float:
    """An upper bound of the average loss."""
    parts = signed_shares(problem) * _losses(mechanism, problem)
    return math.fsum(parts.ravel().tolist()) * (1 + 16 * UNIT)


def largest_upper(mechanism: NoiseLaws, problem: DataDependentProblem) -> float:
    """An upper bound of the loss at any true value."""
    ends = ends_of(problem)
    found = _losses(mechanism, problem)
    if problem.loss_below is None:
        return float(found[:, 1].max())
    here = np.array([[left < 0, right >= 0] for left, right in zip(ends, ends[1:])])
    return float(found[here].max())


def _losses(mechanism: NoiseLaws, problem: DataDependentProblem) -> Array:
    """Of every law, for true values below 0 and for others, rounded up, (G, 2)."""
    below = problem.loss if problem.loss_below is None else problem.loss_below
    return np.array([[loss_upper(law, below), loss_upper(law, problem.loss)] for law in mechanism.laws])
