"""The referee against brute force: every event of the merged partition, in exact rational arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import Cells
from exact_losses import exact_loss
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise

TIGHT = 1 + 1e-12
"""How much above the exact value a bound may be: far more than its rounding slack (some 1e-15), far less than a bug."""


def exact_exp(epsilon: float) -> Fraction:
    """e^ε to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


def cells_of(noise: PiecewiseNoise, shift: Fraction = Fraction(0)) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(left, right, mass) in units, exact."""
    breaks = [int(b) + shift for b in noise.breaks]
    return [(a, b, Fraction(int(w), TOTAL)) for a, b, w in zip(breaks, breaks[1:], noise.weights)]


def excesses(noise: PiecewiseNoise, E: Fraction, shift: Fraction) -> list[Fraction]:
    """P(Z) − e^ε P(Z − φ) for every part Z of the merged partition, the two atoms' points being parts."""
    one, other = cells_of(noise), cells_of(noise, shift)
    points = sorted({x for a, b, _ in (*one, *other) for x in (a, b)})

    def mass(cells, lo, hi):
        return sum((m * (hi - lo) / (b - a) for a, b, m in cells if a <= lo and hi <= b), Fraction(0))

    parts = [mass(one, lo, hi) - E * mass(other, lo, hi) for lo, hi in zip(points, points[1:])]
    atom = Fraction(noise.atom_weight, TOTAL)
    return [*parts, atom, -E * atom] if shift else [*parts, atom - E * atom]


def largest_event(parts: list[Fraction]) -> Fraction:
    """The maximum over all 2^m events, one by one."""
    scale = math.lcm(*(p.denominator for p in parts))
    sums = [0]
    for part in (int(p * scale) for p in parts):
        sums += [s + part for s in sums]
    return Fraction(max(sums), scale)


def positive_part(parts: list[Fraction]) -> Fraction:
    return sum((p for p in parts if p > 0), Fraction(0))


@st.composite
def laws(draw, *, most=6, widths=st.integers(1, 3), resolutions=st.integers(1, 4)):
    """Small piecewise constant laws: any widths, empty cells, sometimes an atom, sometimes symmetric."""
    count = draw(st.integers(1, most))
    sizes = [draw(widths) for _ in range(count)]
    masses = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    atom, atom_unit = draw(st.sampled_from([0, 0, 1, 5])), draw(st.integers(-2, 2))
    start = draw(st.integers(-5, 0))
    if draw(st.booleans()):
        sizes, masses = [*sizes[: (count + 1) // 2]], [*masses[: (count + 1) // 2]]
        sizes, masses = [*sizes[::-1], *sizes], [*masses[::-1], *masses]
        start, atom_unit = -sum(sizes) // 2, 0
    assume(sum(masses) > 0)
    return PiecewiseNoise.from_masses(
        sensitivity=draw(st.sampled_from([1.0, 0.3, 7.0])),
        resolution=draw(resolutions),
        breaks=np.cumsum([start, *sizes]),
        masses=masses,
        atom=atom,
        atom_unit=atom_unit,
        origin=draw(st.sampled_from([0.0, 0.0, -0.4])),
    )


epsilons = st.sampled_from([0.0, 0.001, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0])


@settings(max_examples=120)
@given(laws(), epsilons, st.lists(st.fractions(0, 1, max_denominator=97), min_size=2, max_size=4))
def test_no_event_at_any_shift_exceeds_the_bound(noise, epsilon, fractions):
    bound, where = audit.shortfall_upper(noise, epsilon)
    E, k = exact_exp(epsilon), noise.resolution
    shifts = {Fraction(j) for j in range(1, k + 1)} | {f * k for f in fractions if f}  # on and off the lattice
    for shift in shifts:
        for signed in (shift, -shift):
            parts = excesses(noise, E, signed)
            worst = positive_part(parts)
            if len(parts) <= 15:
                assert worst == largest_event(parts)
            assert worst <= Fraction(bound)
    attained = Fraction(where) / Fraction(noise.sensitivity) * k
    assert abs(attained - round(attained)) < 1e-9 and abs(attained) <= k
    signed = Fraction(round(attained))
    exact = positive_part(excesses(noise, E, signed)) if signed else Fraction(noise.atom_weight, TOTAL)
    assert bound <= float(exact) * TIGHT + 1e-15


@settings(max_examples=40)
@given(laws(most=9, widths=st.just(1)), epsilons)
def test_all_events_on_nine_cells(noise, epsilon):
    E = exact_exp(epsilon)
    worst = Fraction(noise.atom_weight, TOTAL)
    for shift in range(1, noise.resolution + 1):
        for signed in (shift, -shift):
            worst = max(worst, largest_event(excesses(noise, E, Fraction(signed))))
    bound, _ = audit.shortfall_upper(noise, epsilon)
    assert worst <= Fraction(bound)
    assert bound <= float(worst) * TIGHT + 1e-15


@given(laws(), epsilons, st.fractions(0, 1, max_denominator=31))
def test_shortfall_is_affine_between_grid_shifts(noise, epsilon, t):
    """[SLW, Lemma A.3]: why grid shifts are enough. Exact, so a wrong brute force would show here as well."""
    E = exact_exp(epsilon)
    for j in range(noise.resolution):
        # As the shift goes to 0 the atom alone stays uncovered.
        near = positive_part(excesses(noise, E, Fraction(j))) if j else Fraction(noise.atom_weight, TOTAL)
        far = positive_part(excesses(noise, E, Fraction(j + 1)))
        assume(j + t > 0)
        assert positive_part(excesses(noise, E, j + t)) == (1 - t) * near + t * far


@given(laws(), epsilons, epsilons)
def test_decreasing_in_epsilon(noise, one, two):
    low, high = sorted((one, two))
    assert audit.shortfall_upper(noise, high)[0] <= audit.shortfall_upper(noise, low)[0] * TIGHT


@given(laws(resolutions=st.just(4)), epsilons, st.floats(0.05, 1))
def test_smaller_sensitivity(noise, epsilon, fraction):
    """A given sensitivity is rounded up to the lattice; all real shifts up to it are covered."""
    limit = fraction * noise.sensitivity
    bound, _ = audit.shortfall_upper(noise, epsilon, limit)
    assert bound <= audit.shortfall_upper(noise, epsilon)[0] * TIGHT
    E, units = exact_exp(epsilon), Fraction(repr(limit)) / Fraction(repr(noise.sensitivity)) * 4
    for signed in (units, -units, units / 2, -units / 3):
        assert positive_part(excesses(noise, E, signed)) <= Fraction(bound)


def cost_of(noise: PiecewiseNoise, spec: str) -> Fraction:
    """E c(X), an upper end of it, in rational arithmetic: numbers are the decimals that they show."""
    unit, breaks, weights = Fraction(repr(noise.sensitivity)) / noise.resolution, noise.breaks, noise.weights
    origin, atom = Fraction(repr(noise.origin)), (int(noise.atom_unit), int(noise.atom_weight))
    return Cells(unit, origin, tuple(breaks.tolist()), tuple(weights.tolist()), TOTAL, *atom).cost(exact_loss(spec))[1]


@settings(max_examples=40)
@given(laws(), st.sampled_from(["l1", "l2"]))
@example(PiecewiseNoise.from_masses(sensitivity=1.0, resolution=1, breaks=[-3, -2, 4], masses=[0.3, 0.7]), "l2")
def test_loss_is_an_upper_bound_and_tight(noise, spec):
    bound, exact = audit.loss_upper(noise, parse_loss(spec)), cost_of(noise, spec)
    assert exact <= bound <= float(exact) * TIGHT


@pytest.mark.parametrize("side", [-1, 1])
def test_an_atom_a_hair_beyond_a_jump_pays(side):
    """Its float is the jump itself, where the loss is 0."""
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1 << 58, breaks=sorted([90 * side, side]), masses=[0.1], atom=0.9, atom_unit=side,
        origin=0.5 * side,
    )  # fmt: skip
    assert cost_of(noise, "exceed:0.5") == 1 and noise.atom_location == 0.5 * side
    assert 1 <= audit.loss_upper(noise, parse_loss("exceed:0.5")) <= 1 + 1e-14


@settings(max_examples=200)
@given(
    st.sampled_from(["l1", "l2", "lp:1.5", "lp:3", "exceed:0.3", "pinball:0.3", "huber:0.3", "table:-0.5=2,0.3=0,1=3"]),
    st.sampled_from([-33333.3, -1e9, 1e6, -123456.7, 0.0]), st.sampled_from([1.0, 0.1, 0.7]), st.integers(1, 60),
    st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(-5, 5), st.booleans(),
)  # fmt: skip
def test_the_loss_of_a_law_whose_lattice_starts_far_from_zero(spec, origin, sensitivity, k, widths, place, atom):
    """Cells next to 0, known as multiples of a unit from far away: the bound holds, and is tight."""
    start = round(-Fraction(repr(origin)) * k / Fraction(repr(sensitivity))) + place
    noise = PiecewiseNoise.from_masses(
        sensitivity=sensitivity, resolution=k, breaks=np.cumsum([start, *widths]), masses=np.arange(1, len(widths) + 1),
        atom=0.3 * atom, atom_unit=start + 1, origin=origin,
    )  # fmt: skip
    exact, bound = cost_of(noise, spec), audit.loss_upper(noise, parse_loss(spec))
    assert exact <= Fraction(repr(bound)) and exact <= Fraction(bound)
    assert bound <= float(exact) * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 3), (0.2, 1), (5.0, 2), (2.0, 8)])
def test_truncated_laplace_on_the_lattice(epsilon, k):
    """p_i ∝ e^{−ε|i|/k}, |i| ≤ n: at shift j the last j cells are uncovered and nothing else is [method: windows]."""
    n = 5 * k
    masses = np.exp(-epsilon * np.abs(np.arange(-n, n + 1)) / k)
    masses /= math.fsum(masses)
    noise = PiecewiseNoise.from_masses(
        sensitivity=2.0, resolution=2 * k, breaks=np.arange(-2 * n - 1, 2 * n + 2, 2), masses=masses
    )
    bound, shift = audit.shortfall_upper(noise, epsilon)
    # Inside the support the ratio e^{ε j/k} ≤ e^ε leaves no excess but for rounding.
    assert bound == pytest.approx(math.fsum(masses[-k:]), rel=1e-9)
    assert abs(shift) == 2.0


def test_uniform_with_atom_at_epsilon_zero():
    """By hand: the atom is never covered, and of the uniform part of width 2 a shift of 1 uncovers a half."""
    noise = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=1, breaks=[-1, 1], masses=[0.5], atom=0.5)
    bound, shift = audit.shortfall_upper(noise, 0.0)
    assert bound == pytest.approx(0.5 + 0.5 / 2, rel=1e-14)
    assert abs(shift) == 1.0


def test_amplification_bounds_hold():
    for epsilon in np.linspace(0, 20, 401).tolist():
        low, high = audit.amplification_bounds(epsilon)
        assert Fraction(low) <= exact_exp(epsilon) <= Fraction(high)
