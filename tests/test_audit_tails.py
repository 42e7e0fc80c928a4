"""Audits of laws that go on to infinity against the same laws in exact arithmetic: privacy at every reach, the ε from
which on it is pure, the loss, each on the safe side and close."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from exact_laws import Cells, Flanked, Tailed
from exact_losses import exact_loss

from dpcore import audit
from dpcore.audit import cells, flanks, lattice, tails
from dpcore.loss import parse_loss
from dpcore.noise.flanked import FlankedNoise
from dpcore.noise.lattice import LatticeNoise
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.tailed import TailedNoise
from dpcore.noise.whole import TOTAL

COARSE = 1e-7
"""A unit of rounding that shows."""

BODIES = {
    name: PiecewiseNoise.from_masses(sensitivity=0.75, resolution=3, breaks=breaks, masses=masses, origin=origin)
    for name, breaks, masses, origin in (
        ("skewed", [-6, -3, -1, 0, 2, 3, 6], [0.1, 0.25, 0.2, 0.3, 0.1, 0.05], 0.25),
        ("symmetric", [-6, -3, -1, 1, 3, 6], [0.1, 0.25, 0.3, 0.25, 0.1], 0.0),
    )
}


def law(kind: str, body: str) -> tuple[TailedNoise | FlankedNoise, Tailed | Flanked]:
    """The same twice: as it is audited and in exact arithmetic."""
    noise = BODIES[body]
    breaks, weights = tuple(noise.breaks.tolist()), tuple(noise.weights.tolist())
    exact = Cells(Fraction(1, 4), Fraction(noise.origin), breaks, weights, TOTAL)
    if kind == "tail":
        return TailedNoise(noise, TOTAL >> 3, 5), Tailed(exact, TOTAL >> 3, 5)
    return FlankedNoise(noise, TOTAL // 3), Flanked(exact, 3, TOTAL // 3)


every_law = pytest.mark.parametrize(("kind", "body"), [(k, b) for k in ("tail", "flanks") for b in BODIES])


def worst(exact: Tailed | Flanked, epsilon: float, reach: Fraction) -> Fraction:
    return max(bound for _, bound in exact.shortfalls(Fraction(epsilon), reach))


@every_law
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_privacy_at_every_reach(kind, body, parts):
    noise, exact = law(kind, body)
    for epsilon in (0.0, 0.05, 0.3, 0.8):
        bound = Fraction(audit.delta_upper(noise, epsilon, parts / 4))
        known = worst(exact, epsilon, Fraction(parts, 4))
        assert known <= bound <= known + Fraction(1, 10**11), epsilon
    if parts == 3:
        assert audit.curve_upper(noise, [0.3])[0] == audit.curve_upper(noise, [0.3], 0.75)[0]


@every_law
def test_the_epsilon_from_which_on_a_law_is_pure(kind, body):
    noise, exact = law(kind, body)
    pure = audit.pure_from_upper(noise)
    assert worst(exact, pure, Fraction(3, 4)) == 0 < worst(exact, pure - 1e-9, Fraction(3, 4))
    assert audit.delta_upper(noise, pure + 1e-6, 0.75) == 0
    if kind == "flanks":
        for limit in (1, 2, 3):
            pure = flanks.pure_from_upper(noise, limit)
            assert worst(exact, pure, Fraction(limit, 4)) == 0 < worst(exact, pure - 1e-9, Fraction(limit, 4))


@every_law
@pytest.mark.parametrize("text", ["l1", "l2", "asym:1:3"])
def test_the_loss(kind, body, text):
    noise, exact = law(kind, body)
    low, high = exact.cost(exact_loss(text))
    assert high <= Fraction(audit.loss_upper(noise, parse_loss(text))) <= low * (1 + Fraction(3, 10**9))


ROUNDED = {"tail": 28.948, "flanks": 185.0, "lattice": 8.0}
"""By how many units of itself the derivations raise each of these losses."""


@pytest.mark.parametrize("kind", ROUNDED)
def test_rounding_is_added_to_a_loss(kind, monkeypatch):
    if kind == "lattice":
        noise = LatticeNoise.from_masses(0.3, -2, [0.1, 0.2, 0.4, 0.2, 0.1])
    else:
        noise = law(kind, "skewed")[0]
    loss = parse_loss("l2")
    sharp = audit.loss_upper(noise, loss)
    for module in (cells, flanks, lattice, tails):
        monkeypatch.setattr(module, "UNIT", COARSE)
    assert (audit.loss_upper(noise, loss) - sharp) / sharp / COARSE == pytest.approx(ROUNDED[kind], rel=1e-3)


@pytest.mark.parametrize("body", BODIES)
def test_the_error_of_a_tail_s_cells_counts_on_both_sides(body, monkeypatch):
    """Against the law where it is not covered, and where it covers: P(A) and e^ε P(A − φ) of the worst event, which
    differ by δ."""
    noise, E = law("tail", body)[0], math.exp(0.3)
    sharp = audit.delta_upper(noise, 0.3, 0.75)
    monkeypatch.setattr(tails, "CELL_ERROR", COARSE)
    risen = (audit.delta_upper(noise, 0.3, 0.75) - sharp) / COARSE
    own = (risen + sharp) / 2
    assert sharp < own < 1 and 0 < (own - sharp) / E < own
    assert risen == pytest.approx(RISEN[body], rel=1e-3)


RISEN = {"skewed": 0.86072, "symmetric": 0.64712}
"""P(A) + e^ε P(A − φ) of the worst event."""


def test_the_largest_shift_alone_is_not_enough_for_a_whole_lattice():
    """Nothing is lost at shift 0, and a law's first and last point are bare at a shift as long as itself."""
    noise = LatticeNoise.from_masses(1.0, 0, [0.5, 0.5])
    assert audit.shortfall_upper(noise, 0.0, 0.5) == (0.0, 0.0)
    assert audit.shortfall_upper(noise, 0.0, 7.0)[0] == 1.0
    assert math.isclose(audit.delta_upper(noise, 0.0, 1.0), 0.5, rel_tol=1e-14)
