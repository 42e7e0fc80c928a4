"""Audits of laws that go on to infinity against the same laws in exact arithmetic: privacy at every reach, the ε from
which on it is pure, the loss, each on the safe side and close."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import Cells, Flanked, Tailed
from exact_losses import enclosed, ends, exact_loss, exp_bounds

from dpcore import audit
from dpcore.audit import cells, flanks, lattice, tails
from dpcore.loss import UNIT, Loss, parse_loss
from dpcore.noise import Noise, flanked, tailed
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
        ("mirrored", [-6, -3, -2, 0, 1, 3, 6], [0.05, 0.1, 0.3, 0.2, 0.25, 0.1], 0.0),
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


WIDE = PiecewiseNoise.from_masses(
    sensitivity=1.0, resolution=12, breaks=[-20, -7, -3, 0, 5, 9, 26], masses=[0.1, 0.25, 0.2, 0.3, 0.1, 0.05]
)
"""Pieces that are wider than a unit."""


@pytest.mark.parametrize("weight", [TOTAL >> 30, TOTAL >> 28, TOTAL >> 8])
def test_cells_of_a_thin_tail_are_taken_together_on_the_safe_side(weight, monkeypatch):
    """Where a unit more or less of the tail is nothing; the shift that is named is the worst."""
    monkeypatch.setattr(tails, "FEW", 0)
    monkeypatch.setattr(tails, "DEARER", 0)
    noise = TailedNoise(WIDE, weight, 40)
    exact = Tailed(Cells(Fraction(1, 12), Fraction(0), WIDE.breaks.tolist(), WIDE.weights.tolist(), TOTAL), weight, 40)
    pieces = tails._Pieces.of(noise, 12)
    assert (np.diff(pieces.edges).max() > 1) == (weight < TOTAL >> 8)
    epsilons = [0.0, 0.3, 1.0, 2.5]
    bounds, shifts = audit.curve_upper(noise, epsilons), audit.worst_shifts(noise, epsilons)
    for epsilon, bound, shift in zip(epsilons, bounds.tolist(), shifts.tolist()):
        found = dict(exact.shortfalls(Fraction(epsilon), Fraction(1)))
        most = max(found.values())
        assert most <= Fraction(bound) <= most + Fraction(3, 10**10), epsilon
        assert found[Fraction(shift, 12)] >= most - Fraction(1, 10**9)
    assert audit.curve_upper(noise, [audit.pure_from_upper(noise)])[0] == 0


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


def test_the_worst_ratio_may_be_that_of_two_neighbours():
    """A dent between cells that fall away slowly: whoever moves by two cells finds less of a difference."""
    falling = [1.3**-n for n in range(12)]
    masses = [*falling[::-1], 1 / 3, *falling]
    body = PiecewiseNoise.from_masses(
        sensitivity=0.5, resolution=2, breaks=range(-12, 14), masses=[one / sum(masses) for one in masses]
    )
    noise, weights = TailedNoise(body, TOTAL >> 1, 40), tuple(body.weights.tolist())
    exact = Tailed(Cells(Fraction(1, 4), Fraction(0), tuple(range(-12, 14)), weights, TOTAL), TOTAL >> 1, 40)
    pure = audit.pure_from_upper(noise)
    assert worst(exact, pure, Fraction(1, 2)) == 0 < worst(exact, pure - 1e-9, Fraction(1, 4))


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


RISEN = {"skewed": 0.86072, "mirrored": 0.86072, "symmetric": 0.64712}
"""P(A) + e^ε P(A − φ) of the worst event."""


def test_the_largest_shift_alone_is_not_enough_for_a_whole_lattice():
    """Nothing is lost at shift 0, and a law's first and last point are bare at a shift as long as itself."""
    noise = LatticeNoise.from_masses(1.0, 0, [0.5, 0.5])
    assert audit.shortfall_upper(noise, 0.0, 0.5) == (0.0, 0.0)
    assert audit.shortfall_upper(noise, 0.0, 7.0)[0] == 1.0
    assert math.isclose(audit.delta_upper(noise, 0.0, 1.0), 0.5, rel_tol=1e-14)


# Beyond what is listed -------------------------------------------------------------------------------------------


@every_law
@pytest.mark.parametrize("text", ["l1", "l2"])
def test_the_loss_of_a_list_that_ends_early(kind, body, text, monkeypatch):
    """With two means of a tail listed, or e^−2 of a flank left out, what lies beyond is most of the loss's bound."""
    monkeypatch.setattr(tails, "CELLS_PER_MEAN", 2)
    monkeypatch.setattr(tailed, "CELLS_PER_MEAN", 2)
    monkeypatch.setattr(flanks, "LEFT_OUT", 2.0)
    monkeypatch.setattr(flanked, "LEFT_OUT", 2.0)
    noise, exact = law(kind, body)
    assert exact.cost(exact_loss(text))[1] <= Fraction(audit.loss_upper(noise, parse_loss(text)))


def share_and_step(of: Callable[[Noise, Loss], float], noise: Noise) -> tuple[float, float]:
    """What a bound of the loss beyond the listed cells takes to be there, and the step farther out: it is share·1{…}
    for a probability of large errors and share·2(far + 24 step) for the mean error."""
    share = of(noise, parse_loss("exceed:1"))
    edges = np.abs((noise.listed_tail if isinstance(noise, TailedNoise) else noise.listed_cells)[0].floats)
    return share, (of(noise, parse_loss("l1")) / share / 2 - float(edges.max()) * (1 + 1e-12)) / 24


def moments(q: Fraction) -> list[Fraction]:
    """E K, …, E K⁴ of a whole number K ≥ 1 with P(K = k) = (1 − q) q^(k − 1)."""
    s = 1 / (1 - q)
    return [s, (1 + q) * s**2, (1 + 4 * q + q**2) * s**3, (1 + 11 * q + 11 * q**2 + q**3) * s**4]


SHORT = PiecewiseNoise.from_masses(sensitivity=0.75, resolution=1, breaks=[-1, 0, 1], masses=[0.5, 0.5])
"""Two flanks and nothing else."""


@pytest.mark.parametrize("mean", [2, 4000])
def test_what_is_beyond_the_listed_cells_of_a_tail(mean):
    noise, q = TailedNoise(SHORT, TOTAL >> 3, mean), 1 - Fraction(1, mean)
    share, step = share_and_step(tails._unlisted_upper, noise)
    (_, there), units = ends(enclosed(q) ** (80 * mean)), Fraction(step) / Fraction(3, 4)
    assert there <= Fraction(share) and (mean < 10 or Fraction(share) <= there * Fraction(104, 100))
    assert all(size <= 24 * units**p for p, size in enumerate(moments(q), 1))
    assert step == pytest.approx((mean + 1) * 0.75, rel=1e-12)


@pytest.mark.parametrize("periods", [40, 16000])
def test_what_is_beyond_the_listed_cells_of_flanks(periods):
    """e^−80 after this many periods, and one more is listed."""
    ratio = math.floor(TOTAL * math.exp(-80 / periods) * (1 - 1e-13))
    noise, q = FlankedNoise(SHORT, ratio), Fraction(ratio, TOTAL)
    share, step = share_and_step(flanks._unlisted_upper, noise)
    (_, there), least = ends(enclosed(q) ** (noise.count + 1)), Fraction(3, 4) / (1 - q)
    assert there <= Fraction(share) and (periods < 100 or Fraction(share) <= there * Fraction(102, 100))
    assert all(size <= 24 * (Fraction(step) / Fraction(3, 4)) ** p for p, size in enumerate(moments(q), 1))
    assert least <= Fraction(step) <= least * (1 + Fraction(15, 10**13))


def test_rounding_at_a_tail_s_end_is_added(monkeypatch):
    """10⁻¹² of an eighth that lies beyond, and of the half of it that covers, and nothing else: 1/8 (1 − f) + f/8,
    f = 1/2, by the share of the tail."""
    monkeypatch.setattr(tails, "CELL_ERROR", 0.0)
    monkeypatch.setattr(tails, "UNIT", 0.0)
    noise = TailedNoise(SHORT, TOTAL - (TOTAL >> 20), 2)
    body = Cells(Fraction(3, 4), Fraction(0), (-1, 0, 1), (TOTAL // 2, TOTAL // 2), TOTAL)
    exact = worst(Tailed(body, noise.tail_weight, 2), 0.0, Fraction(3, 4))
    assert float(Fraction(audit.delta_upper(noise, 0.0, 0.75)) - exact) == pytest.approx(1.25e-13, rel=0.01, abs=0)


def test_terms_within_rounding_of_being_positive_count():
    """One cell that has 2u more than x times what covers it."""
    here, there, x = 0.25 * (1 + 4 * UNIT), 0.125, 2 * (1 + 2 * UNIT)
    exact = Fraction(here) - Fraction(x) * Fraction(there)
    assert (
        0 < exact <= Fraction(tails._one_shift_upper(np.array([here]), np.array([there]), np.ones(1), np.array([x]))[0])
    )


def test_probabilities_that_floats_know_roughly_are_none():
    """A cell of little weight beside one of 10⁻³²⁰, of which a float has three digits: covered by none, with no
    warning."""
    body = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1, breaks=[-1812, -1811, 0, 1], masses=[1e-17, 0.6, 0.4]
    )
    noise = TailedNoise(body, TOTAL >> 2, 3)
    tail = lambda u: Fraction(1, 4) * Fraction(2, 3) ** u / 6  # noqa: E731
    here = Fraction(3, 4) * Fraction(int(body.weights[0]), TOTAL) + tail(1811)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit.pure_from_upper(noise) == math.inf
        bounds = audit.curve_upper(noise, [698.4679, 705.0])
    epsilon = Fraction(698.4679)
    assert 0 < here - exp_bounds(epsilon)[0] * tail(1812) <= Fraction(bounds[0]) <= 2 * here
    assert 0 < bounds[1]


# Ratios, shifts, rounding ----------------------------------------------------------------------------------------


def test_no_bound_of_a_probability_exceeds_one():
    """A draw that is moved by far more than it scatters shows."""
    wide = PiecewiseNoise.from_masses(sensitivity=0.75, resolution=2, breaks=[0, 1], masses=[1.0])
    assert audit.delta_upper(TailedNoise(wide, 1, 2), 0.0, 0.75) == 1.0
    assert audit.delta_upper(FlankedNoise(SHORT, TOTAL >> 9), 0.0, 30.0) == 1.0


def with_periods_of_two(core: Cells, ratio: int) -> Flanked:
    """The law of `Flanked(core, 3, ratio)`: moved by 3, q as often as not, and then by 6 with q² again and again."""
    first, last, T = core.breaks[0], core.breaks[-1], core.total
    cells = []
    for a, b, w in zip(core.breaks, core.breaks[1:], core.weights):
        side = -1 if b <= first + 3 else int(a >= last - 3)
        cells += [(a, b, w * T), (a + 3 * side, b + 3 * side, w * ratio)] if side else [(a, b, w * (T + ratio))]
    cells.sort()
    breaks, total = (*(a for a, _, _ in cells), cells[-1][1]), T * (T + ratio)
    return Flanked(
        Cells(core.unit, core.origin, breaks, tuple(w for *_, w in cells), total), 6, total * ratio**2 // T**2
    )


@pytest.mark.parametrize("body", BODIES)
def test_flanks_at_twice_the_sensitivity(body):
    core = law("flanks", body)[1].core
    noise, exact = FlankedNoise(BODIES[body], TOTAL // 4), with_periods_of_two(core, TOTAL // 4)
    pure = flanks.pure_from_upper(noise, 6)
    assert worst(exact, pure, Fraction(3, 2)) == 0 < worst(exact, pure - 1e-9, Fraction(3, 2))
    for epsilon in (0.0, 0.8, flanks.pure_from_upper(noise), pure - 1e-3):
        known = worst(exact, epsilon, Fraction(3, 2))
        assert 0 < known <= Fraction(audit.delta_upper(noise, epsilon, 1.5)) <= known + Fraction(1, 10**13)


@pytest.mark.parametrize("periods", [1, 2])
@pytest.mark.parametrize("body", BODIES)
def test_rounding_is_added_to_flanks(body, periods, monkeypatch):
    """To the ε from which on the law is pure: four times what a density is off, 4u of the logarithm and 4u. To δ: what
    P(A) and e^ε P(A − φ) are off by, and 16u."""
    noise, E = law("flanks", body)[0], math.exp(0.3)
    sharp, pure = audit.delta_upper(noise, 0.3, 0.75 * periods), flanks.pure_from_upper(noise, 3 * periods)
    monkeypatch.setattr(flanks, "UNIT", COARSE)
    risen = (flanks.pure_from_upper(noise, 3 * periods) - pure) / COARSE
    assert risen == pytest.approx(4 * (16 + 8 * periods) + 4 * pure + 4, rel=1e-4)
    blurred = (audit.delta_upper(noise, 0.3, 0.75 * periods) - sharp) / COARSE
    both = (blurred - 16 * sharp) / (16 + 8 * periods)
    own = (both + sharp) / 2
    assert sharp < own < 1 and 0 < (own - sharp) / E < own
    assert both == pytest.approx(BLURRED[body][periods - 1], rel=1e-3)


BLURRED = {"skewed": (0.85248, 0.96749), "mirrored": (0.85248, 0.96749), "symmetric": (0.63499, 1.03499)}
"""P(A) + e^ε P(A − φ) of the worst event at one sensitivity, and at two."""


def test_flanks_with_a_gap_are_never_purely_private():
    gap = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=1, breaks=[-2, -1, 0, 1, 2], masses=[0.3, 0.4, 0, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit.pure_from_upper(FlankedNoise(gap, TOTAL // 3)) == math.inf


def test_a_lattice_law_s_masses_are_roughly_known(monkeypatch):
    """Most points have 5u more than e^ε times what covers them, and only that is lost: each may have 8u more than it
    seems. Points behind the largest one, which are covered twice over, add nothing."""
    monkeypatch.setattr(lattice, "UNIT", COARSE)
    epsilon, rise = 0.3, math.exp(0.3) * (1 + 5 * COARSE)
    up = rise ** np.arange(70.0)
    masses = np.concatenate([up, up[-1] * (math.exp(-0.3) * 1.001) ** np.arange(1.0, 74.0)])
    masses /= masses.sum()
    lost = masses[0] + math.fsum((masses[1:70] - math.exp(epsilon) * masses[:69]).tolist())
    bound, shift = audit.lattice_shortfall_upper(masses, epsilon, 1)
    assert shift == 1 and lost <= bound
    assert (bound - lost) / COARSE == pytest.approx(8 * masses[:70].sum() + 8 * lost, rel=1e-3)
    covered = (math.exp(epsilon) * (1 - 8.5 * COARSE)) ** np.arange(70.0)
    masses = np.concatenate([covered, covered[-1] * (math.exp(-0.3) * 1.001) ** np.arange(1.0, 74.0)])
    masses /= masses.sum()
    assert audit.lattice_shortfall_upper(masses, epsilon, 1)[0] <= masses[0] * (1 + 20 * COARSE), "8u are not 8.5u"


def test_both_directions_and_the_least_of_equally_bad_shifts():
    falling = audit.lattice_shortfall_upper(np.array([0.4, 0.3, 0.2, 0.1]), 1.0, 1)
    assert falling[0] == pytest.approx(0.4 - 0) and falling[1] == 1
    rising = audit.lattice_shortfall_upper(np.array([0.1, 0.2, 0.3, 0.4]), 1.0, 1)
    assert rising[0] == falling[0] and rising[1] == -1
    assert audit.lattice_shortfall_upper(np.array([0.5, 0.0, 0.5]), 0.0, 3) == (1.0, 1)
