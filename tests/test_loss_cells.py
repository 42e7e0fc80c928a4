"""Losses on cells between exact places, in rational arithmetic: far from 0, next to jumps and inside steep ramps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_losses import exact_loss
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.loss import parse_loss
from dpcore.loss.cells import infima_lower, means, means_upper, node_values, value_upper
from dpcore.places import Places, float_up

SPECS = [
    "l1", "l2", "lp:1.5", "lp:2.7", "lp:4", "huber:0.3", "asym:0.1:7", "pinball:0.3", "exceed:0.5", "exceed:0.3",
    "table:-0.7=0.3,0.1=0.2,0.4=5", "table:-0.5=1,-0.49999999999999994=0,0.3=0,0.30000000000000004=2,1=3",
    "table:1000000.1=2,1000000.3=0,1000000.7=1",
]  # fmt: skip

ORIGINS = [0.0, -0.5, 0.3, -33333.3, 1e6, -1000000000.1, 1000000.3]


@st.composite
def placed(draw):
    """A loss and places: breaks of the loss among them or next to them, wherever the lattice starts."""
    spec = draw(st.sampled_from(SPECS))
    origin = draw(st.sampled_from([*ORIGINS, *map(float, parse_loss(spec).breaks)]))
    sensitivity, k = (
        draw(st.sampled_from([1.0, 0.1, 0.7, 1e-6, 3000.0])),
        draw(st.sampled_from([1, 2, 3, 7, 64, 1 << 20])),
    )
    middle = round((draw(st.sampled_from([0.0, 0.3, -0.5, 1000000.3])) - origin) / sensitivity * k)
    start = draw(st.sampled_from([0, middle if abs(middle) < 2**61 else 0])) + draw(st.integers(-6, 3))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5, 1000]), min_size=1, max_size=8))
    return spec, Places.of(origin, sensitivity, k, np.cumsum([start, *steps]))


def cells(places: Places) -> list[tuple[Fraction, Fraction]]:
    ends = [places.at(i) for i in places.indices.tolist()]
    return list(zip(ends, ends[1:]))


@given(placed())
@settings(max_examples=300)
def test_means_from_above(case):
    """At least the mean, and no more above it than the numbers in it round."""
    spec, places = case
    loss, exact = parse_loss(spec), exact_loss(spec)
    parts, upper, most = means_upper(loss, places)
    assert np.bincount(parts.cell, parts.share) == pytest.approx(1, rel=1e-14)
    near = means(loss, places)
    for cell, (a, b) in enumerate(cells(places)):
        low, high = (v / (b - a) for v in exact.integral(a, b))
        here = parts.cell == cell
        bound = sum(Fraction(s) * Fraction(u) for s, u in zip(parts.share[here].tolist(), upper[here].tolist()))
        assert bound * (1 + Fraction(1, 2**50)) >= high
        top = max(exact.value(x)[1] for x in (a, b, *(e for e in exact.breaks if a < e < b)))
        assert Fraction(float(most[here].max())) >= top
        size = sum(s * float(p.size(x) + p.sway(x)) for s, p, x in sizes(loss, parts, here))
        assert float(bound) <= float(low) + 1e-13 * size
        assert abs(near[cell] - float(high)) <= 1e-13 * size


def sizes(loss, parts, here):
    """(share, piece, farther end) of every part of a cell."""
    for s, p, a, b in zip(parts.share[here], parts.piece[here], parts.left[here], parts.right[here]):
        yield float(s), loss.pieces[p], max(abs(a), abs(b))


@given(placed(), st.floats(0, 1), st.lists(st.fractions(0, 1), min_size=1, max_size=4))
@settings(max_examples=300)
def test_nodes_and_infima_from_below(case, touch, shares):
    """The interpolant lies below the loss at every place, without any tolerance."""
    spec, places = case
    loss, exact = parse_loss(spec), exact_loss(spec)
    nodes, infima = node_values(loss, places, touch), infima_lower(loss, places)
    for cell, (a, b) in enumerate(cells(places)):
        inside = [a + t * (b - a) for t in (Fraction(0), Fraction(1), *shares)]
        inside += [e for e in exact.breaks if a <= e <= b]
        for x in inside:
            value, t = exact.value(x)[0], (x - a) / (b - a)
            assert Fraction(float(nodes[cell])) * (1 - t) + Fraction(float(nodes[cell + 1])) * t <= value
            assert not a < x < b or Fraction(float(infima[cell])) <= value


@given(placed(), st.integers(0, 8))
@settings(max_examples=200)
def test_values_from_above(case, at):
    spec, places = case
    loss, exact = parse_loss(spec), exact_loss(spec)
    index = int(places.indices[min(at, len(places.indices) - 1)])
    place = places.at(index)
    high = exact.value(place)[1]
    bound = value_upper(loss, place)
    assert Fraction(bound) >= high
    near = float(place)
    size = max(float(p.size(near) + p.sway(near)) for p in loss.pieces if p.lo <= near <= p.hi)
    assert bound <= float(high) + 1e-13 * size


@pytest.mark.parametrize("side", [-1, 1])
def test_a_place_a_hair_beyond_a_jump_pays(side):
    """The float is the jump itself; the place is not."""
    loss, jump = parse_loss("exceed:0.5"), Fraction(side, 2)
    hair = Fraction(1, 10**30)
    assert value_upper(loss, jump) == 0 == value_upper(loss, jump - side * hair)
    assert value_upper(loss, jump + side * hair) >= 1
    outside, inside = (Places(jump, hair, np.arange(first, first + 2)) for first in ((0, -1) if side > 0 else (-1, 0)))
    assert [means_upper(loss, cell)[1].tolist() for cell in (outside, inside)] == [[1 + 2.0**-52], [0.0]]
    assert infima_lower(loss, outside)[0] >= 1 - 1e-15 and infima_lower(loss, inside)[0] == 0


@given(
    st.fractions(-(10**9), 10**9, max_denominator=10**6),
    st.fractions(Fraction(1, 10**9), 10),
    st.integers(-(10**6), 10**6),
)
def test_floats_of_places_are_the_nearest(origin, unit, start):
    places = Places(origin, unit, start + np.array([0, 1, 2, 5, 40]))
    assert places.floats.tolist() == [float(places.at(i)) for i in places.indices]
    for x in (0.0, 0.1, float(origin), float(places.at(start + 2))):
        exact = Fraction(repr(x))
        for inclusive in (False, True):
            count = sum(p <= exact if inclusive else p < exact for p in map(places.at, places.indices))
            assert places.below(x, inclusive=inclusive) == count
    assert places.below(math.inf, inclusive=True) == 5 and places.below(-math.inf, inclusive=True) == 0


@given(st.fractions(0, 10))
def test_rounding_up_holds_for_the_text_as_well(x):
    found = float_up(x)
    assert found >= x and Fraction(repr(found)) >= x
    assert found <= float(x) * (1 + 5e-16) + 1e-320
