"""Bounded and unbounded neighbours against enumeration of tables and outcomes."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.gallery import neighbours

BUDGETS = st.lists(st.floats(0.01, 3.0), min_size=1, max_size=3)


def outcome(counts, epsilons, z):
    """P(z) of independent two-sided geometric noise, straight from its definition."""
    terms = []
    for count, epsilon, value in zip(counts, epsilons, z):
        a = math.exp(-epsilon)
        terms.append((1 - a) / (1 + a) * a ** abs(value - count))
    return math.prod(terms)


def pairs(cells, relation):
    """All pairs of neighbouring tables with up to three rows, as counts."""
    tables = [t for n in range(4) for t in itertools.product(range(cells), repeat=n)]
    count = lambda table: tuple(table.count(cell) for cell in range(cells))  # noqa: E731
    for one in tables:
        if relation == "unbounded":
            yield from ((count(one), count(one[:i] + one[i + 1 :])) for i in range(len(one)))
            yield from ((count(one[:i] + one[i + 1 :]), count(one)) for i in range(len(one)))
        else:
            for i, cell in itertools.product(range(len(one)), range(cells)):
                yield count(one), count((*one[:i], cell, *one[i + 1 :]))


@settings(max_examples=25, deadline=None)
@given(BUDGETS, st.sampled_from(neighbours.RELATIONS))
def test_the_exact_epsilon_is_the_largest_log_ratio(epsilons, relation):
    cells = len(epsilons)
    grid = list(itertools.product(range(-2, 6), repeat=cells))
    worst = max(
        (
            abs(math.log(outcome(x, epsilons, z) / outcome(y, epsilons, z)))
            for x, y in set(pairs(cells, relation))
            for z in grid
        ),
        default=0.0,
    )
    assert neighbours.exact_epsilon(epsilons, relation) == pytest.approx(worst, rel=1e-9, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.3, 3.0), min_size=1, max_size=2), st.sampled_from(neighbours.RELATIONS), st.floats(0, 4))
def test_the_exact_delta_is_the_largest_excess(epsilons, relation, epsilon):
    """Outcomes beyond ±80 around the counts carry less than 1e-9 at these rates."""
    cells, e = len(epsilons), math.exp(epsilon)
    grid = list(itertools.product(range(-80, 81), repeat=cells))
    zero = (0,) * cells
    seen = {tuple(b - a for a, b in zip(x, y)) for x, y in pairs(cells, relation)}
    worst = max(
        (sum(max(0.0, outcome(zero, epsilons, z) - e * outcome(step, epsilons, z)) for z in grid) for step in seen),
        default=0.0,
    )
    assert neighbours.exact_delta(epsilons, relation, epsilon) == pytest.approx(worst, abs=1e-8)


def test_parallel_composition_holds_unbounded_and_fails_bounded():
    budgets = (0.5, 1.0, 0.25)
    assert neighbours.exact_epsilon(budgets, "unbounded") == max(budgets)
    assert neighbours.exact_epsilon(budgets, "bounded") == 1.5
    assert neighbours.exact_epsilon((1.0, 1.0), "bounded") == 2.0
    assert neighbours.exact_epsilon((1.0,), "bounded") == 0.0
    assert neighbours.sizes_epsilon(3, "bounded") == math.inf and neighbours.sizes_epsilon(1, "bounded") == 0


@given(BUDGETS)
def test_loss_laws_are_laws_of_a_pair(epsilons):
    """Probabilities add up, and the other table's law has the same losses with e^−loss as much mass."""
    for relation in neighbours.RELATIONS:
        for cells in neighbours.touched(len(epsilons), relation):
            law = neighbours.loss_law(epsilons, cells)
            assert math.fsum(mass for _, mass in law) == pytest.approx(1, abs=1e-12)
            assert math.fsum(mass * math.exp(-loss) for loss, mass in law) == pytest.approx(1, abs=1e-12)


def test_bad_input_is_named():
    for wrong in ([], [0.5] * 13, [0.0], ["a"], [math.nan]):
        with pytest.raises(InputError):
            neighbours.budgets(wrong)
    with pytest.raises(InputError, match="relation"):
        neighbours.exact_epsilon((1.0,), "sideways")
