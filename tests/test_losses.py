"""Losses: values, cell means against quadrature, lower nodes below the loss everywhere, tables, messages."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpcore.errors import InputError
from dpcore.loss import (
    FAMILIES,
    Loss,
    asymmetric,
    exceedance,
    family_of,
    huber,
    parameters,
    parse_loss,
    pinball,
    power,
    table,
)
from dpcore.loss.base import RAISED
from dpcore.loss.cells import node_values
from dpcore.loss.wording import errs, loss_axis, loss_name, loss_unit, loss_with_numbers
from dpcore.places import Places
from dpcore.problem import noise_problem

VALUES = {
    "l1": [(-2.0, 2.0), (0.0, 0.0), (3.5, 3.5)],
    "l2": [(-2.0, 4.0), (0.0, 0.0), (1.5, 2.25)],
    "lp:1.5": [(-4.0, 8.0), (0.25, 0.125)],
    "lp:3": [(-2.0, 8.0), (0.5, 0.125)],
    "pinball:0.8": [(-1.0, 0.2), (1.0, 0.8), (0.0, 0.0)],
    "asym:1:3": [(-2.0, 2.0), (2.0, 6.0)],
    "huber:1": [(0.5, 0.125), (-1.0, 0.5), (3.0, 2.5), (-3.0, 2.5)],
    "exceed:2": [(2.0, 0.0), (-2.0, 0.0), (2.0001, 1.0), (-7.0, 1.0), (0.0, 0.0)],
    "table:-2=4,0=0,1=1": [(-3.0, 6.0), (-1.0, 2.0), (0.5, 0.5), (4.0, 4.0)],
    "table:1=2,3=0,4=0": [(-1.0, 4.0), (0.0, 3.0), (2.0, 1.0), (3.5, 0.0), (9.0, 0.0)],
}
EVEN = {"l1", "l2", "lp:1.5", "lp:3", "huber:1", "exceed:2"}
NOT_GROWING = {"table:1=2,3=0,4=0"}


@st.composite
def tables(draw):
    """Tables with 2 to 6 breakpoints on a quarter-integer lattice, both convex and not."""
    count = draw(st.integers(2, 6))
    x = sorted(draw(st.lists(st.integers(-20, 20), min_size=count, max_size=count, unique=True)))
    y = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    y[0], y[-1] = max(y[0], y[1]), max(y[-1], y[-2])
    if count == 2:
        y = [y[0], y[0]]
    return table([v / 4 for v in x], [float(v) for v in y])


losses = st.one_of(
    st.just(parse_loss("l1")),
    st.just(parse_loss("l2")),
    st.floats(1, 4).map(power),
    st.floats(0.01, 0.99).map(pinball),
    st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)).map(lambda s: asymmetric(*s)),
    st.floats(0.05, 5).map(huber),
    st.floats(0.05, 5).map(exceedance),
    tables(),
)


@pytest.mark.parametrize("spec", VALUES)
def test_values_by_hand(spec):
    loss = parse_loss(spec)
    for x, expected in VALUES[spec]:
        assert float(loss.value(x)) == pytest.approx(expected, rel=1e-14, abs=1e-15)
    assert loss.even == (spec in EVEN)
    assert loss.grows_from_zero == (spec not in NOT_GROWING)


@pytest.mark.parametrize("spec", VALUES)
def test_spec_reads_back(spec):
    loss = parse_loss(spec)
    assert parse_loss(loss.spec) == loss


@given(losses, st.floats(-9, 9), st.floats(0.01, 7))
def test_mean_is_the_integral(loss, a, width):
    b = a + width
    inner = [x for x in loss.breaks.tolist() if a < x < b]
    cuts = [a, *inner, b]
    # Quadrature piece by piece; ends are moved inside, where the one-sided limit holds.
    total = sum(
        integrate.quad(lambda x: float(loss.value(x)), np.nextafter(u, v), np.nextafter(v, u))[0]
        for u, v in zip(cuts, cuts[1:])
    )
    # quad's own error is about 1e-8 of the largest value.
    assert float(loss.mean(a, b)) == pytest.approx(total / width, rel=1e-7, abs=1e-7)
    at_end, over = loss.mean([a, a], [a, b]).tolist()  # ends that coincide
    assert at_end == pytest.approx(float(loss.value(a)), rel=1e-15)  # powers of scalars and arrays differ by a unit
    assert over == pytest.approx(float(loss.mean(a, b)), rel=1e-15, abs=2 * float(loss.rounding(a, b)))


@given(
    losses,
    st.floats(-6, 0),
    st.floats(0.03, 1.5),
    st.integers(2, 20),
    st.one_of(st.none(), st.floats(0, 1)),
    st.randoms(use_true_random=False),
)
def test_interpolant_of_nodes_stays_below_the_loss(loss, start, step, count, touch, random):
    places = Places.of(start, step, 1, np.arange(count))
    nodes = places.floats
    touches = [random.random() for _ in range(count - 1)] if touch is None else touch
    lower = node_values(loss, places, touches)
    x = np.concatenate(
        [
            nodes,
            np.linspace(nodes[0], nodes[-1], 400),
            [random.uniform(nodes[0], nodes[-1]) for _ in range(50)],
            [b for b in loss.breaks.tolist() if nodes[0] <= b <= nodes[-1]],
        ]
    )
    interpolant = np.interp(x, nodes, lower)
    # 1e-13: the interpolation done here rounds, at values up to 50·6 + …; the proved slack is in the nodes themselves.
    assert (interpolant <= loss.value(x) + 1e-13 * (1 + np.abs(loss.value(x)))).all()


@given(losses, st.floats(-6, 0), st.integers(4, 40))
def test_nodes_are_not_needlessly_low(loss, start, count):
    """Second order: where the loss is smooth the nodes lose at most step²·(largest curvature) [Thm 2]."""
    step = 0.05
    places = Places.of(start, step, 1, np.arange(count))
    nodes = places.floats
    value, lower = loss.value(nodes), node_values(loss, places)
    smooth = np.ones(count, dtype=bool)
    for b in loss.breaks.tolist():
        smooth &= np.abs(nodes - b) > 1.5 * step
    exponents = [p.power for p in loss.pieces if p.coefficient]
    curvature = 0 if all(p == 1 for p in exponents) else 12 * 6**2  # |x|^4 on [−6, 2]
    if any(1 < p < 2 for p in exponents):
        smooth &= np.abs(nodes) > 1
    assert (value - lower)[smooth].max(initial=0) <= curvature * step**2 / 4 + 1e-9 * (1 + value.max())


@given(losses, st.floats(-8, 8), st.floats(0.01, 8))
def test_infimum_and_minimiser(loss, lo, width):
    hi = lo + width
    x, least = loss.minimiser(lo, hi)
    assert lo <= x <= hi
    size = max(abs(p.constant) + abs(p.coefficient) * abs(abs(x) - p.anchor) ** p.power for p in loss.pieces)
    assert least - 2**-49 * size <= loss.infimum(lo, hi) <= least
    assert least == pytest.approx(float(loss.value(x)), rel=1e-15)  # powers of scalars and arrays differ by a unit
    assert (loss.value(np.linspace(lo, hi, 301)) >= least - 1e-12 * (1 + abs(least))).all()


@given(losses, st.floats(0.1, 10), st.floats(-5, 5))
def test_scaled_and_symmetrised(loss, factor, x):
    assert float(loss.scaled(factor).value(x)) == pytest.approx(float(loss.value(factor * x)), rel=1e-9, abs=1e-9) or (
        np.abs(loss.breaks - factor * x).min() < 1e-9  # a jump may fall on either side of x
    )
    even = loss.symmetrised()
    assert even.even
    assert float(even.value(x)) == pytest.approx(0.5 * float(loss.value(x) + loss.value(-x)), rel=1e-9, abs=1e-9)


def within_a_unit(number: float, true: Fraction) -> bool:
    """Rounded once."""
    return abs(Fraction(number) - true) <= abs(true) / 2**53


@pytest.mark.parametrize("end", ["78.0000000000078", "78.00000000000001", "1.0000000000000002"])
def test_outer_slopes_are_those_of_the_decimals(end):
    """The outer slope goes on for ever; between floats so close to each other it would keep a few digits."""
    start = "1" if end < "2" else "78"
    loss = parse_loss(f"table:-{end}=2,-{start}=1,0=0,{start}=1,{end}=2")
    assert loss.even
    assert within_a_unit(loss.pieces[-1].coefficient, 1 / (Fraction(end) - Fraction(start)))


@pytest.mark.parametrize("tau", ["0.05", "0.997", "0.999", "0.001"])
def test_both_slopes_of_a_pinball_loss(tau):
    below, above = (piece.coefficient for piece in parse_loss(f"pinball:{tau}").pieces)
    assert within_a_unit(below, 1 - Fraction(tau)) and above == float(tau)


@settings(max_examples=50)
@given(losses, st.floats(-8, 8))
def test_lower_semicontinuous(loss, x):
    """c(x) is at most both one-sided limits."""
    for point in (x, *loss.breaks.tolist()):
        near = loss.value(np.array([point - 1e-9, point + 1e-9]))
        assert float(loss.value(point)) <= near.min() + 1e-6 * (1 + near.max())


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0], [1], "1 breakpoints"),
        ([0, 1], [1], "2 breakpoints and 1 values"),
        ([0, 0], [1, 1], "above the one before it"),
        ([1, 0], [1, 1], "above the one before it"),
        ([0, 1], [0, -1], "loss table value"),
        ([0, 1], [0, 1], "first slope"),
        ([0, 1], [1, 0], "last slope"),
        ([0, math.nan], [0, 1], "loss table breakpoint"),
        ([0, 1], [0, math.inf], "loss table value"),
        ([0, 1e300], [0, 0], "loss table breakpoint"),
        (["a", "b"], [0, 0], "no number"),
        (range(2000), range(2000), "2000 breakpoints"),
    ],
)
def test_tables_that_are_no_loss(x, y, message):
    with pytest.raises(InputError, match=message):
        table(x, y)


@pytest.mark.parametrize(
    "spec",
    ["", "l3", "lp", "lp:0.5", "lp:5", "lp:nan", "lp:1:2", "pinball:0", "pinball:1", "asym:1", "asym:0:1", "asym:1:-1",
     "huber:0", "huber:inf", "exceed:0", "exceed:x", "table:", "table:1", "table:1=2", "l1:1", "lp:1e999"],
)  # fmt: skip
def test_texts_that_name_no_loss(spec):
    with pytest.raises(InputError, match="expected"):
        parse_loss(spec)


@pytest.mark.parametrize("key", FAMILIES)
def test_a_family_speaks_for_itself(key):
    """Its text, its fields and its phrases, with and without a unit."""
    family = FAMILIES[key]
    loss = parse_loss("table:-2=1.5,0=0,1=0.1" if key == "table" else family.example)
    assert family_of(loss) is family and parse_loss(loss.spec) == loss
    assert family.from_values(family.values(loss)) == loss
    for unit in ("", "people"):
        phrases = [loss_axis(loss, unit), loss_name(loss, unit), loss_with_numbers(loss), *errs(loss, unit)]
        assert not any(mark in "".join(phrases) for mark in ("{", "}", "  ", " )"))
        assert bool(loss_unit(loss, unit)) == bool(unit and family.unit_power(loss) is not None)
    assert "|" not in loss_with_numbers(loss), "fit for a cell of a table in Markdown"
    assert (loss.scaled(2.0).family, loss.mirrored.family, loss.symmetrised().family) == (key, key, key)


def test_a_loss_without_a_family_has_no_words():
    loss = Loss("well:1:2", "loss that spares one point", parse_loss("exceed:1").pieces)
    with pytest.raises(ValueError, match="no family of losses has made well:1:2"):
        loss_axis(loss, "")


def test_fields_of_one_name_are_one_field():
    """Families that share the name of a number share its first value and its wording."""
    for name, one in parameters().items():
        alike = [p for family in FAMILIES.values() for p in family.parameters if p.name == name]
        assert {(p.title, p.label, p.default, p.in_unit) for p in alike} == {
            (one.title, one.label, one.default, one.in_unit)
        }


@given(losses, st.lists(st.floats(-8, 8), min_size=1, max_size=40))
def test_the_grown_loss_is_the_largest_that_grows(loss, places):
    grown = loss.grown
    assert grown.grows_from_zero and (grown is loss or not loss.grows_from_zero)
    assert grown.even == loss.even or not loss.even
    x = np.array(places)
    assert (grown.value(x) <= loss.value(x)).all()
    for here in places:  # tables are linear between breaks, others grow: beyond a place the least lies at a break
        outwards = loss.infimum(here if here > 0 else -math.inf, here if here < 0 else math.inf)
        last = loss.pieces[-1 if here >= 0 else 0]
        if last.coefficient >= 0:
            assert float(grown.value(here)) >= outwards - 1e-12 * (1 + outwards)


@pytest.mark.parametrize(
    ("spec", "asked", "end"),
    [
        ("table:-2=0,0=0,1=1", {}, (0.0, -1)),
        ("table:-2=1,-1=0,0=1,0.5=0,3=0", {}, (0.5, 1)),
        ("table:-3=0,-2=0,0=1,0.5=0,3=0", {}, (0.5, 1)),
        ("table:-3=0,-2=0,0=0,1=1", {"support": (-5.0, math.inf)}, None),
        ("table:-3=0,-2=0,0=0,1=1", {"support": (-math.inf, -2.5)}, (-2.5, -1)),
        ("table:-3=0,-2=0,0=0,1=1", {"symmetric": True}, None),
        ("table:-3=0,-2=0,0=0,1=1,2=0,3=0", {"symmetric": True}, (-2.0, -1)),
        ("table:-3=0,0=0,2=0,3=0", {}, (3.0, -1)),
        ("table:-3=0.1,-2=0.1,0=0,1=1", {}, None),
        ("l1", {}, None),
    ],
)
def test_ends_where_errors_cost_nothing(spec, asked, end):
    assert noise_problem(1.0, 1e-3, 1.0, spec, **asked).free_end == end


@given(st.integers(1, 30), st.floats(0.01, 5), st.floats(-4, 4))
def test_a_loss_with_an_end_is_itself_up_to_there_and_more_beyond(place, level, x):
    loss = parse_loss("table:-1=0.2,0=0,1=0.5,2=0.1,3=4")
    end = place / 10
    ended = loss.ended(end, level, 0.25)
    if x < end:
        assert float(ended.value(x)) == float(loss.value(x))
    elif x > end:
        assert float(ended.value(x)) == (level if x < end + 0.25 else RAISED * level) or x == end + 0.25
