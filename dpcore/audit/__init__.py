"""The independent referee, the only door to how private and how accurate a law is, and to what multipliers prove.

Plain NumPy and exact summation (`math.fsum`); no kernel, no linear program, no tolerance. Every function
ends in `_upper` or `_lower` and is rounded to that side; the slack is derived where it is added. Closed forms bring
their own δ(ε) and expected loss; solved laws are looked at cell by cell, every kind in a module of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Protocol, cast

import numpy as np

from ..loss import Loss
from ..loss.cells import lattice_costs
from ..noise.base import Array, Noise
from ..noise.flanked import FlankedNoise
from ..noise.lattice import LatticeNoise
from ..noise.mixture import Mixture
from ..noise.piecewise import PiecewiseNoise, candidate_shifts
from ..noise.steps import lattice_points, whole_steps
from ..noise.tailed import TailedNoise
from . import cells, flanks, tails
from .cells import cells_loss_upper
from .growth import amplification_bounds
from .lattice import lattice_loss_upper, lattice_shortfall_upper
from .multipliers import multiplier_bound_lower
from .tails import worst_shifts

__all__ = [
    "amplification_bounds",
    "candidate_shifts",
    "cells_loss_upper",
    "curve_upper",
    "delta_upper",
    "lattice_costs",
    "lattice_loss_upper",
    "lattice_shortfall_upper",
    "loss_upper",
    "multiplier_bound_lower",
    "pure_from_upper",
    "shortfall_upper",
    "worst_shifts",
]


class ClosedForm(Protocol):
    """What laws offer that no audit below is for; those without `loss_upper` stand in no certificate."""

    def shortfall(self, epsilon: float, sensitivity: float) -> float: ...

    def loss_upper(self, loss: Loss) -> float: ...


def delta_upper(noise: Noise, epsilon: float, sensitivity: float) -> float:
    """δ(ε): the largest P(A) − e^ε P(A − φ) over events A and shifts |φ| ≤ sensitivity, ε ≥ 0; rounded up for solved
    laws, for closed forms as exact as their formula says (at least ten digits)."""
    return shortfall_upper(noise, epsilon, sensitivity)[0]


@singledispatch
def shortfall_upper(noise: Noise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """(δ(ε) as in `delta_upper`, the shift that attains it, in the query's unit).

    sensitivity : None, for laws that have a sensitivity of their own, is that one.
    """
    assert sensitivity is not None  # a closed form has none of its own
    return cast(ClosedForm, noise).shortfall(epsilon, sensitivity), sensitivity


shortfall_upper.register(Mixture, Mixture.worst)


@shortfall_upper.register(LatticeNoise)
def _(noise: LatticeNoise, epsilon: float, sensitivity: float) -> tuple[float, float]:
    """Over the shifts that are multiples of the step."""
    bound, steps = lattice_shortfall_upper(noise.masses, epsilon, whole_steps(sensitivity, noise.step))
    return bound, float(lattice_points(steps, 1, noise.step)[0])


@shortfall_upper.register(TailedNoise)
def _(noise: TailedNoise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """The shift is the largest: which one attains the bound is not looked for."""
    largest = noise.body.sensitivity if sensitivity is None else sensitivity
    return float(tails.curve_upper(noise, [epsilon], sensitivity)[0]), largest


shortfall_upper.register(PiecewiseNoise, cells.worst_shift_upper)
shortfall_upper.register(FlankedNoise, flanks.worst_shift_upper)


@singledispatch
def curve_upper(noise: Noise, epsilons: Sequence[float] | Array, sensitivity: float | None = None) -> Array:
    """δ(ε′) as in `shortfall_upper` at every ε′ ≥ 0 given."""
    return np.array([shortfall_upper(noise, float(e), sensitivity)[0] for e in epsilons])


curve_upper.register(TailedNoise, tails.curve_upper)


@singledispatch
def loss_upper(noise: Noise, loss: Loss) -> float:
    """An upper bound of E c(X), with a derived slack, of laws that may stand in a certificate."""
    return cast(ClosedForm, noise).loss_upper(loss)


loss_upper.register(PiecewiseNoise, cells.loss_upper)
loss_upper.register(TailedNoise, tails.loss_upper)
loss_upper.register(FlankedNoise, flanks.loss_upper)


@loss_upper.register(LatticeNoise)
def _(noise: LatticeNoise, loss: Loss) -> float:
    return lattice_loss_upper(noise.masses, noise.points, loss)


@singledispatch
def pure_from_upper(noise: Noise) -> float:
    """An ε′ from which on δ(ε′) is 0; infinite for laws of bounded support."""
    return math.inf


pure_from_upper.register(TailedNoise, tails.pure_from_upper)
pure_from_upper.register(FlankedNoise, flanks.pure_from_upper)
