"""Whole-number queries and the real-valued query next to them: what a bound and a law there are worth here.

A law on the multiples of a step, spread evenly over the cells around them, is a law on the line that is as private at
every real shift [Thm 1]; a private law on the line, rounded to the nearest multiple, keeps its promise at whole shifts
[method: constraints]. Where the step is small next to the law, little is lost by either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .. import audit
from .._validate import decimal
from ..errors import InputError
from ..loss import UNIT, parse_loss
from ..loss.cells import means_upper
from ..noise.piecewise import PiecewiseNoise
from ..noise.steps import lattice_points
from ..places import Places
from ..problem import NoiseProblem
from .jumps import threshold
from .lattice import Array

DIGITS = 10
"""Of a sensitivity that is rounded down because it is no whole number of steps: programs keep to short decimals."""

MOST_POINTS = 60_000
"""Lattice points on either side of 0 whose cells are looked at one by one."""

FARTHEST = 8.0
"""They reach so many half-widths of truncated Laplace noise and so many times as far as the loss has breaks."""

FINE = 10**4
"""Largest denominator of where a law's origin lies, in steps: any place serves for rounding."""


@dataclass(frozen=True)
class Real:
    """The problem of a real-valued query, and what its value V′ proves for whole-number queries: V (1 + share) + added
    ≥ V′."""

    problem: NoiseProblem
    share: float = 0.0
    added: float = 0.0

    @property
    def exact(self) -> bool:
        """Both have the same value."""
        return self.share == self.added == 0

    def lower(self, bound: float) -> float:
        """A lower bound here from one there, rounded down."""
        return max(0.0, (bound - self.added) / (1 + self.share) * (1 - 8 * UNIT) - 8 * UNIT * self.added)


def real_valued(problem: NoiseProblem) -> Real | None:
    """The real-valued query next to one with a granularity; None where nothing is known of what spreading costs.

    With one threshold, exactly: a point within m steps of 0 costs nothing and neither does its cell if the threshold
    is m + ½ steps; the problem is told in steps.
    """
    first, last = problem.lattice_support
    t, unit = threshold(problem.paid_loss), decimal(problem.lattice_step)
    try:
        if t is not None and problem.paid_loss.pieces[-1].constant == 1:
            loss = parse_loss(f"exceed:{math.floor(decimal(t) / unit) + 0.5!r}")
            ends, D = (first - 0.5, last + 0.5), float(problem.lattice_sensitivity)
            return Real(replace(problem, sensitivity=D, loss=loss, support=ends, granularity=None))
        cost = _spread_cost(problem)
        if cost is None:
            return None
        low, high = (x if math.isinf(x) else Fraction(x) for x in (first - 0.5, last + 0.5))
        ends = -_at_least(-low, unit), _at_least(high, unit)
        D = _at_most(problem.lattice_sensitivity * unit, problem.sensitivity)
        return Real(replace(problem, sensitivity=D, support=ends, granularity=None), *cost)
    except InputError:  # outside the ranges
        return None


def _at_least(steps: Fraction | float, unit: Fraction) -> float:
    """Steps in the query's unit, rounded up as the decimal that is shown."""
    if math.isinf(steps):
        return float(steps)
    found = float(steps * unit)
    return found if decimal(found) >= steps * unit else math.nextafter(found, math.inf)


def _at_most(exact: Fraction, asked: float) -> float:
    """The sensitivity asked for if it is at most this, or one of few digits that is."""
    if decimal(asked) <= exact:
        return asked
    scale = Fraction(10) ** (DIGITS - 1 - math.floor(math.log10(exact)))
    return float(math.floor(exact * scale) / scale)


def _spread_cost(problem: NoiseProblem) -> tuple[float, float] | None:
    """(share, added): spread over cells, no law (ε, δ)-DP pays more than (1 + share) times what it pays, and added.

    Let h be the step and e_i what the mean of c over the cell of point i exceeds c_i by, r the law. From
    r_i ≤ δ + E r_(i − j), added up over 0 < |j| ≤ k, r_i ≤ ρ = (2kδ + E)/(2k + E); so of the points near 0 all
    together pay at most ρ times the ⌈1/ρ⌉ largest e_i more. Beyond, a piece a|x|^p + b costs no more in the mean if
    it is a constant, linear or concave; else e_i ≤ h²/24 · max c″ on the cell, largest next to the points near 0 for
    p ≤ 2, and for p > 2, b ≥ 0, at most h²/24 · p(p − 1)(|x| + h/2)^(p−2) / |x|^p of c_i, which falls with |x|.
    """
    loss, h, k = problem.paid_loss, problem.lattice_step, problem.lattice_sensitivity
    (lo, hi), unit = problem.lattice_support, decimal(problem.lattice_step)
    breaks = float(np.abs(loss.breaks).max(initial=0.0)) / h
    reach = math.ceil(FARTHEST * max(breaks, min(problem.privacy.truncation(), 1e9) * k)) + 2
    reach = min(reach, MOST_POINTS)
    if reach < breaks + 2:
        return None
    first, last = int(max(lo, -reach)), int(min(hi, reach))
    share = added = 0.0
    if first <= last:
        places = Places(-unit / 2, unit, np.arange(first, last + 2))
        parts, mean, _ = means_upper(loss, places)
        means = np.bincount(parts.cell, parts.share * mean, last - first + 1) * (1 + 16 * UNIT)
        least = audit.lattice_costs(lattice_points(first, last - first + 1, h), loss)[0]
        excess = np.sort(np.maximum(means - least, 0.0) + UNIT * means)[::-1]
        E = problem.privacy.amplification * (1 + 4 * UNIT)
        most = min(1.0, (2 * k * problem.privacy.delta + E) / (2 * k + E) * (1 + 16 * UNIT))
        added = most * math.fsum(excess[: math.ceil(1 / most)].tolist()) * (1 + 4 * UNIT)
    for piece, end in ((loss.pieces[0], -lo), (loss.pieces[-1], hi)):
        p, x = piece.power, (reach + 1) * h
        if end <= reach or piece.coefficient == 0 or p == 1:
            continue
        if piece.coefficient < 0 or piece.constant < 0:
            return None
        bend = max(0.0, p * (p - 1) / 24) * (1 + 1e-9)
        if p <= 2:
            added += bend * piece.coefficient * h * h * (x - h / 2) ** (p - 2)
        else:
            share = max(share, bend * ((x + h / 2) / x) ** (p - 2) * (h / x) ** 2)
    return share, added


def rounded(law: PiecewiseNoise, k: int) -> tuple[int, Array] | None:
    """(first, masses) of a law rounded to the nearest multiple of a kth of its sensitivity, halves up; None for laws
    in units too fine. All is counted in parts of a step, in whole numbers; the origin may be a little elsewhere."""
    start = (decimal(law.origin) * k / decimal(law.sensitivity)).limit_denominator(FINE)
    per, step = 2 * start.denominator * k, 2 * start.denominator * law.resolution
    far = max(abs(int(law.breaks[0])), abs(int(law.breaks[-1])), abs(law.atom_unit), law.resolution)
    if per * far + abs(start) * step + step > 2**62:
        return None
    ends = per * law.breaks + int(start * step)
    first, last = ((int(end) + step // 2) // step for end in (ends[0], ends[-1]))
    at = (per * law.atom_unit + int(start * step) + step // 2) // step
    if law.atom_weight:
        first, last = min(first, at), max(last, at)
    if last - first > 10**7:
        return None
    cuts = np.union1d(ends, step * np.arange(first, last + 1) - step // 2)
    cuts = cuts[(cuts >= ends[0]) & (cuts <= ends[-1])]
    cell = np.searchsorted(ends, cuts[:-1], side="right") - 1
    parts = law.masses[cell] * (np.diff(cuts) / np.diff(ends)[cell])
    masses: Array = np.zeros(last - first + 1)
    np.add.at(masses, (cuts[:-1] + step // 2) // step - first, parts)
    masses[at - first if law.atom_weight else 0] += law.atom_mass
    used = np.flatnonzero(masses > 0)
    return first + int(used[0]), masses[used[0] : used[-1] + 1]
