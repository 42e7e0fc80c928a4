"""Audits err to the safe side: with e^ε and rounding known only roughly, what they say is still true, and worse."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import Cells, Flanked
from exact_losses import exact_loss, exp_bounds

from dpcore import audit
from dpcore.audit import cells, flanks, growth, lattice, multipliers, steps, tails
from dpcore.loss import parse_loss
from dpcore.noise.flanked import FlankedNoise
from dpcore.noise.lattice import LatticeNoise
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.tailed import TailedNoise
from dpcore.noise.whole import TOTAL
from dpcore.rows import referee

ROUGH = 1e-3
"""How roughly e^ε is known, relatively."""

COARSE = 1e-7
"""A unit of rounding that shows."""

BODY = PiecewiseNoise.from_masses(
    sensitivity=0.3, resolution=2, breaks=[-4, -2, 0, 1, 3, 5], masses=[0.1, 0.3, 0.25, 0.2, 0.15], origin=0.25
)
LAWS = {
    "cells": BODY,
    "parts of cells": PiecewiseNoise.from_masses(
        sensitivity=0.3, resolution=3, breaks=np.cumsum([0, *(1 + np.arange(40) % 4)]), masses=1 + np.arange(40) % 7
    ),
    "lattice": LatticeNoise.from_masses(0.3, -2, [0.1, 0.2, 0.4, 0.2, 0.1]),
    "tail": TailedNoise(BODY, TOTAL >> 3, 5),
    "flanks": FlankedNoise(BODY, TOTAL // 3),
}


def lower(epsilon: float = 0.5) -> float:
    """What some multipliers prove, of all kinds of rows."""
    some = np.array([1, 2, -1]), np.array([0, 1, -1]), np.array([0.2, 0.1, 0.3])
    return audit.multiplier_bound_lower(
        np.array([4.0, 2.0, 1.0, 2.0, 4.0]), -2, epsilon=epsilon, delta=0.1, shifts=some[0], events=some[1],
        weights=some[2], monotone=np.array([0.1, 0.2, 0.3, 0.2, 0.1]), at_zero=(0.1, 0.2),
        further=((epsilon / 2, 0.2, *some),), budget=(0.5, np.array([3.0, 1.0, 0.0, 1.0, 3.0]), 1.5),
    )  # fmt: skip


def lower_on_steps() -> float:
    proposal = steps.StepMultipliers(
        0.3, 4, (-math.inf, math.inf), np.array([-3, 0, 3]), np.array([-4, 4]),
        np.array([[0, 0.2, 0.1, 0], [0, 0.1, 0.2, 0]]),
    )  # fmt: skip
    return proposal.lower(parse_loss("l1"), 0.5, 0.1)


def roughly(epsilon: float) -> tuple[float, float]:
    low, high = growth.amplification_bounds(epsilon)
    return low * (1 - ROUGH), high * (1 + ROUGH)


@pytest.mark.parametrize("kind", [*LAWS, "multipliers", "steps"])
def test_e_to_the_epsilon_is_rounded_to_the_safe_side(kind, monkeypatch):
    """The bound is at least as bad as with an ε that the rough e^ε cannot exceed, and not as bad as with twice that."""
    epsilon = 0.5
    figure = {"multipliers": lower, "steps": lower_on_steps}.get(kind) or (
        lambda: -audit.delta_upper(LAWS[kind], epsilon, 0.3)
    )
    sharp = figure()
    for module in (flanks, lattice, multipliers, steps, tails):
        monkeypatch.setattr(module, "amplification_bounds", roughly)
    of_cells = lambda e: math.floor(growth.growth_lower(e) * (1 - ROUGH))  # noqa: E731
    monkeypatch.setattr(cells, "growth_lower", of_cells)
    rough = figure()
    assert 1e-6 < sharp - rough < 2e-3, "some probability is covered, and none that much"


UNITS = {"cells": 0, "parts of cells": 32.3, "lattice": 35.3, "tail": 110.5, "flanks": 123.2, "multipliers": 57.7,
         "steps": 224.4}  # fmt: skip
"""By how many units of itself the derivations worsen each of these figures: whole cells are added as whole numbers."""


@pytest.mark.parametrize("kind", UNITS)
def test_rounding_is_added_to_the_safe_side(kind, monkeypatch):
    figure = {"multipliers": lower, "steps": lower_on_steps}.get(kind) or (
        lambda: -audit.delta_upper(LAWS[kind], 0.5, 0.3)
    )
    sharp = figure()
    for module in (cells, flanks, lattice, multipliers, steps, tails, referee):
        monkeypatch.setattr(module, "UNIT", COARSE)
    assert (sharp - figure()) / abs(sharp) / COARSE == pytest.approx(UNITS[kind], rel=0.01)


@pytest.mark.parametrize("text", ["l1", "l2", "lp:1.5", "lp:4", "asym:1:3", "exceed:1", "huber:2"])
@pytest.mark.parametrize("ends", [(-1.0, 0.5, 1.0, 400.0), (-40.0, -30.0, -0.5, 1.0), (-0.1, 0.0, 0.1)])
def test_what_lies_beyond_the_listed_cells_is_not_underestimated(text, ends):
    """A share at the farther end and an exponential distance beyond it, whose moments are p!·step^p ≤ 24 step^p."""
    loss, step, share, edges = parse_loss(text), 3.0, 1e-3, np.array(ends)
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    paid = max(weights @ loss.value(end + side * step * nodes) for end, side in ((edges[0], -1), (edges[-1], 1)))
    bound = cells.beyond_upper(loss, edges, step, share)
    assert share * paid <= bound
    assert bound <= share * 2**4 * max(1, 3 * max(abs(edges[0]), abs(edges[-1])) ** 4 + 3 * 24 * step**4)


def test_e_to_the_epsilon_of_numbers_as_they_are_written():
    """Enclosed for the float and for the decimal number that it shows, which at large ε differ by many units."""
    assert growth.amplification_bounds(0.0) == (1.0, 1.0)
    for tenth in range(1, 3000, 7):
        epsilon = tenth / 10
        low, high = map(Fraction, growth.amplification_bounds(epsilon))
        for written in (Fraction(epsilon), Fraction(tenth, 10)):
            below, above = exp_bounds(written)
            assert low <= below and above <= high and high - low <= above * Fraction(10 + 5 * epsilon) / 2**53


@pytest.mark.parametrize("shift", [1, -1])
def test_a_few_units_of_a_weight_are_not_lost_to_rounding(shift):
    """One cell of many has 3 units of 2^−62 more than e^ε times the one that covers it, which no float product shows;
    the end that is not covered is a float."""
    epsilon, each, end = 0.1, 1 << 55, 1 << 54
    more = math.floor(exp_bounds(Fraction(epsilon))[0] * each) + 3
    weights = [end, *[each] * 60, more, *[each] * 60]
    weights = [*weights, *[each] * ((TOTAL - sum(weights)) // each)]
    weights[-1] += TOTAL - sum(weights) - end
    weights = np.array([*weights, end], dtype=np.int64)[::shift]
    noise = PiecewiseNoise(1.0, 1, np.arange(len(weights) + 1) - 60, weights)
    E = exp_bounds(Fraction(epsilon))[0]
    exact = max(
        end + sum(max(w - E * c, 0) for w, c in zip(one[1:], one)) for one in (weights.tolist(), weights.tolist()[::-1])
    )
    bound = Fraction(audit.delta_upper(noise, epsilon, 1.0))
    assert exact - end >= 2 and exact / TOTAL <= bound <= Fraction(math.nextafter(float(exact / TOTAL), 1))


@pytest.mark.parametrize("first", [-2, -1, 0])
def test_rows_of_a_law_that_is_monotone_at_0_itself(first):
    """D is the cost less what r₀ ≥ r₁ and r₀ ≥ r₋₁ take off at 0 and add beside it, as far as there is a node."""
    costs, (right, left) = np.array([8.0, 5.0, 3.0, 5.0, 8.0])[2 + first :], (3.5, 3.25)
    places = np.arange(first, first + len(costs))
    for at_zero in ((right, left), (right, 0.0), (0.0, left), (-1.0, -1.0)):
        kept = [max(0.0, m) for m in at_zero]
        D = costs + np.select([places == 0, places == 1, places == -1], [-sum(kept), *kept])
        none = np.array([], dtype=np.int64)
        found = audit.multiplier_bound_lower(
            costs, first, epsilon=1.0, delta=0.1, shifts=none, events=none, weights=np.array([]), at_zero=at_zero
        )
        assert D.min() - 1e-13 <= found <= D.min()
    for costs, at_zero in (([20.0, 10.0, 0.0], (3.0, 0.0)), ([0.0, 10.0, 20.0], (0.0, 3.0))):
        cheap = audit.multiplier_bound_lower(
            np.array(costs), -1, epsilon=1.0, delta=0.1, shifts=none, events=none, weights=np.array([]), at_zero=at_zero
        )
        assert 3 - 1e-13 <= cheap <= 3, "the cheaper node beside 0 gets dearer"
    heavy = audit.multiplier_bound_lower(
        np.array([3.0, 0.0, 0.5]), -1, epsilon=1.0, delta=0.1, shifts=none, events=none, weights=np.array([]),
        at_zero=(-1.0, 9.0),
    )  # fmt: skip
    assert -9 - 1e-13 <= heavy <= -9


@pytest.mark.parametrize("text", ["l1", "l2", "asym:1:3", "exceed:0.2"])
def test_wherever_the_points_of_a_release_lie_in_their_cells(text, monkeypatch):
    """With few lattice points to a unit what a cell's points cost depends on where in its first part the first lies."""
    monkeypatch.setattr(cells, "POINTS", 8.0)
    loss, sharp, paid = parse_loss(text), BODY.expected_loss(parse_loss(text)), []
    bound = audit.loss_upper(BODY, loss)
    for offset in (0.0, 0.5, 0.999):
        places = [
            left + (np.arange(8 * (right - left)) + offset) / 8 for left, right in zip(BODY.breaks, BODY.breaks[1:])
        ]
        costs = [loss.value(BODY.origin + BODY.unit * x).mean() for x in places]
        paid.append(BODY.masses @ costs)
    assert max(paid) <= bound and sharp < bound < 2 * sharp + 0.5


def test_a_tail_too_thin_for_floats_is_never_purely_private():
    """Cells of probability 0 as a float may stand beside others: no warning, and no ε that would be enough."""
    body = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1, breaks=[-1500, -1499, 0, 1], masses=[0.4, 0.3, 0.3]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit.pure_from_upper(TailedNoise(body, TOTAL >> 2, 2)) == math.inf
        assert audit.pure_from_upper(LAWS["tail"]) < math.inf


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_flanks_at_a_smaller_sensitivity(parts):
    """Rounded up to whole units; the shift is told in the query's unit."""
    core = PiecewiseNoise.from_masses(
        sensitivity=0.3, resolution=4, breaks=[-6, -4, -2, 1, 2, 4, 6], masses=[0.1, 0.3, 0.25, 0.2, 0.1, 0.05]
    )
    noise, reach = FlankedNoise(core, TOTAL // 3), Fraction(3, 10) * parts / 4
    known = Cells(Fraction(3, 40), Fraction(0), tuple(core.breaks.tolist()), tuple(core.weights.tolist()), TOTAL)
    law = Flanked(known, 4, TOTAL // 3)
    for epsilon in (0.0, 0.4, 0.9):
        worst, where = max((h, float(abs(shift))) for shift, h in law.shortfalls(Fraction(epsilon), reach))
        bound, shift = audit.shortfall_upper(noise, epsilon, float(reach))
        assert worst <= Fraction(bound) <= worst + Fraction(1, 10**13)
        assert bound == 0 or abs(shift) == pytest.approx(where, rel=1e-12)
    assert audit.shortfall_upper(noise, 0.4) == audit.shortfall_upper(noise, 0.4, 0.3)
    assert audit.shortfall_upper(noise, 30.0, float(reach)) == (0.0, pytest.approx(float(reach)))


def test_the_loss_of_a_law_beyond_its_listed_cells_counts_once():
    law = LAWS["flanks"]
    core = law.core
    exact = Flanked(
        Cells(Fraction(3, 20), Fraction(1, 4), tuple(core.breaks.tolist()), tuple(core.weights.tolist()), TOTAL),
        core.resolution, law.ratio_weight,
    ).cost(exact_loss("l2"))  # fmt: skip
    assert exact[1] <= Fraction(audit.loss_upper(law, parse_loss("l2"))) <= exact[1] * (1 + Fraction(1, 10**9))
