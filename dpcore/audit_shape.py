"""The referee for shapes: does a law stay in its support, is it its own mirror image about 0, does it fall away from 0?

Decided on the whole numbers that a law is made of, without any tolerance.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ._validate import decimal
from .noise.base import Noise
from .noise.lattice import LatticeNoise, whole_law
from .noise.piecewise import PiecewiseNoise
from .noise.staircase import Staircase
from .noise.tailed import TailedNoise
from .problem import NoiseProblem


def keeps_shape(noise: Noise, problem: NoiseProblem) -> bool:
    """The law is within the support, and symmetric and monotone where the problem asks for that."""
    if not within(noise, problem.support) or (problem.symmetric and not is_mirrored(noise)):
        return False
    return not problem.monotone or falls_from_zero(noise)


def within(noise: Noise, support: tuple[float, float]) -> bool:
    """No draw lies outside [lo, hi]."""
    lo, hi = support
    first, last = _reach(noise)
    return (math.isinf(lo) or first >= decimal(lo)) and (math.isinf(hi) or last <= decimal(hi))


def _reach(noise: Noise) -> tuple[Fraction | float, Fraction | float]:
    """The ends of the smallest interval of probability 1."""
    if isinstance(noise, PiecewiseNoise):
        used = noise.weights.nonzero()[0]
        places = [noise.places.at(noise.breaks[i]) for i in ((used[0], used[-1] + 1) if len(used) else ())]
        places += [noise.atom_place] if noise.atom_weight else []
        return min(places), max(places)
    if isinstance(noise, LatticeNoise):
        used, step = noise.weights.nonzero()[0].tolist(), decimal(noise.step)
        return (noise.first + used[0]) * step, (noise.first + used[-1]) * step
    return noise.support


def is_mirrored(noise: Noise) -> bool:
    """The law is its own mirror image about 0."""
    if isinstance(noise, TailedNoise):
        return noise.body.origin == 0 and is_mirrored(noise.body)
    if isinstance(noise, PiecewiseNoise):
        ends = noise.places.at(noise.breaks[0]) + noise.places.at(noise.breaks[-1])
        return noise.is_symmetric and ends == 0 and not (noise.atom_weight and noise.atom_place)
    if isinstance(noise, LatticeNoise):
        return noise.is_symmetric and 2 * noise.first + len(noise.weights) == 1
    return _location(noise) == 0


def falls_from_zero(noise: Noise) -> bool:
    """The density does not increase away from 0, and only 0 may be an atom; on a lattice, the probabilities."""
    if isinstance(noise, TailedNoise):
        return noise.body.origin == 0 and falls_from_zero(noise.body)
    if isinstance(noise, PiecewiseNoise):
        zero, breaks = noise.places.position(0.0), noise.breaks.tolist()
        if noise.atom_weight and noise.atom_place:
            return False
    elif isinstance(noise, LatticeNoise):  # every point in the middle of a cell
        zero, breaks = Fraction(1, 2), range(noise.first, noise.first + len(noise.weights) + 1)
    else:
        return _location(noise) == 0
    weights = [0, *noise.weights.tolist(), 0]
    widths = [1, *(b - a for a, b in zip(breaks, breaks[1:])), 1]
    for x, near, far, near_width, far_width in zip(breaks, weights, weights[1:], widths, widths[1:]):
        rises = far * near_width - near * far_width  # across the end x of two cells, to the right
        if (x > zero and rises > 0) or (x < zero and rises < 0):
            return False
    return True


def _location(noise: Noise) -> float:
    """Where a closed form has its middle."""
    if (law := whole_law(noise)) is not None:
        return law[0].location
    return noise.location if isinstance(noise, Staircase) else math.nan
