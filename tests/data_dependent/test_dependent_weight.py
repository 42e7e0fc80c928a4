"""The weight in lower bounds: lines below it, whose mass is never more than its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.data_dependent import data_dependent_problem
from dpcore.data_dependent.bounds import upper_step
from dpcore.data_dependent.costs import queries
from dpcore.data_dependent.weight import Density, parse_weight

STEEP_WEIGHTS = ["normal:2:0.05", "normal:2:0.2", "normal:0:0.3", "normal:2:1", "histogram:0,1,0,5,0.1", "triangular"]


@settings(max_examples=60, deadline=None)
@given(
    nodes=st.lists(st.sampled_from([0.0, 0.0, 0.1, 1.0, 5.0]), min_size=2, max_size=9),
    jumps=st.booleans(),
    ends=st.tuples(st.integers(0, 48), st.integers(0, 48)).filter(lambda e: e[0] != e[1]),
)
def test_lines_stay_between_zero_and_the_weight(nodes, jumps, ends):
    density = Density(tuple(nodes), tuple(nodes)) if jumps else Density(tuple(nodes[:-1]), tuple(nodes[1:]))
    start, stop = (Fraction(e, 48) for e in sorted(ends))
    left, right = density.minorant(start, stop)
    slack = 2.0**-48 * density.largest
    assert left >= -slack and right >= -slack
    for u, v, at_u, at_v in density.pieces(start, stop):
        for x, w in ((u, at_u), (v, at_v)):
            inside = float((x - start) / (stop - start))
            assert left * (1 - inside) + right * inside <= w + slack
    mirrored = Density(density.right[::-1], density.left[::-1]).minorant(1 - stop, 1 - start)
    assert mirrored == pytest.approx((right, left), abs=slack)


def test_a_kink_in_the_middle_gets_the_mean_slope():
    """A line with either side's slope would not be the mirror image of its mirror image."""
    density = Density((3.0, 1.0), (1.0, 1.0))
    assert density.minorant(Fraction(0), Fraction(1)) == pytest.approx((2, 0))


@pytest.mark.parametrize("width", [4, 4.3])
@pytest.mark.parametrize("weight", STEEP_WEIGHTS)
def test_terms_of_the_lower_bound_have_no_more_mass_than_the_weight(weight, width):
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, width), weight=weight)
    for resolution in range(1, 40):
        assert sum(float(term.weights.sum()) for term in queries(problem, resolution)) <= 1


@pytest.mark.parametrize("weight", STEEP_WEIGHTS)
def test_densities_are_what_the_texts_say(weight):
    """Minorants of ever shorter stretches approach the weight."""
    density = parse_weight(weight).on(0.0, 4.0)
    for i in range(0, 4096, 97):
        line = density.minorant(Fraction(i, 4096), Fraction(i + 1, 4096))
        assert np.mean(line) / float(density.total) == pytest.approx(
            float(density.at(np.array([(i + 0.5) / 4096]))[0]), rel=1e-2, abs=1e-2
        )


def test_a_grid_that_misses_the_partition_is_refused():
    """Rather than that the partition is dropped."""
    problem = data_dependent_problem(1, 0.2, 2, query_range=(-1.5, 1.5), partition=(-0.75, 0))
    with pytest.raises(ValueError, match="partition"):
        upper_step(problem, 4, None, (), 0.0, lambda: False)
