"""Privacy rows: the growing program against the dense one, what multipliers prove against rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dpcore.rows.program import PrivacyProgram, Rows, Uncovered
from dpcore.rows.referee import Brackets

SOLVERS = 1e-7
"""Two solvers' tolerances."""


@st.composite
def random_rows(draw):
    """(costs, (event, cover, factor, limit) per term, δ per limit, uncovered columns per limit) of a small program."""
    n, limits = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms = [
        (int(a), int(b), float(np.exp(rng.uniform(0, 2))), int(rng.integers(limits)))
        for a, b in (rng.choice(n, 2, replace=False) for _ in range(draw(st.integers(1, 12))))
    ]
    bare = [np.flatnonzero(rng.random(n) < 0.2) for _ in range(limits)]
    return rng.random(n), terms, rng.uniform(0.05, 0.9, limits), bare


def dense_optimum(costs, terms, deltas, bare):
    """All slacks and limits at once; None if there is no x."""
    n, m = len(costs), len(terms)
    A, b = [], []
    for t, (event, cover, factor, _) in enumerate(terms):
        row = np.zeros(n + m)
        row[event], row[cover], row[n + t] = 1.0, -factor, -1.0
        A.append(row), b.append(0.0)
    for r, delta in enumerate(deltas):
        row = np.zeros(n + m)
        row[[n + t for t, term in enumerate(terms) if term[3] == r]] = 1.0
        row[bare[r]] = 1.0
        A.append(row), b.append(delta)
    mass = np.append(np.ones(n), np.zeros(m))[None]
    answer = linprog(np.append(costs, np.zeros(m)), np.array(A), b, mass, [1.0])
    return float(answer.fun) if answer.status == 0 else None


@settings(max_examples=60)
@given(random_rows(), st.integers(0, 2**32 - 1))
def test_slacks_and_limits_in_any_order_reach_the_optimum(drawn, seed):
    """Entered one after the other, limits before and after their slacks; the multipliers prove the same value."""
    costs, terms, deltas, bare = drawn
    n, rng = len(costs), np.random.default_rng(seed)
    events, covers, factors, limits = (np.array(v) for v in zip(*terms))
    scaling, units = rng.uniform(0.3, 3, n), rng.uniform(0.3, 3, len(deltas))
    sizes = rng.uniform(0.3, 3, len(terms))

    def rows_of(names):
        columns = np.stack([events[names], covers[names]], axis=1).ravel()
        values = np.stack([np.ones(len(names)), -factors[names]], axis=1).ravel()
        count = np.arange(len(names))
        return Rows(2 * count, columns, values, sizes[names], count, limits[names])

    program = PrivacyProgram(rows_of, units, scaling)
    program.lp.add_rows(1.0, 1.0, starts=[0], columns=[], values=[])
    program.lp.add_columns(costs * scaling, starts=np.arange(n), rows=np.zeros(n), values=scaling)
    for r in rng.permutation(len(deltas)).tolist():
        some = np.flatnonzero(rng.random(len(terms)) < 0.5)
        assert program.add_terms(some) <= len(some)
        uncovered = Uncovered(np.zeros(len(bare[r]), dtype=int), bare[r], np.ones(len(bare[r])))
        program.add_limits(np.array([r]), deltas[[r]], uncovered)
    program.add_terms(np.arange(len(terms)))
    assert program.add_terms(np.arange(len(terms))) == 0
    value = dense_optimum(costs, terms, deltas, bare)
    status = program.run(math.inf, lambda: False)
    if value is None:
        assert status == "infeasible"
        return
    assert status == "optimal"
    x = program.solution()
    assert x.sum() == pytest.approx(1, abs=SOLVERS) and costs @ x == pytest.approx(value, abs=SOLVERS)
    rates, weights = program.multipliers(program.lp.row_duals(), 1.0)
    names = program.names
    D = costs + np.bincount(events[names], weights, n) - np.bincount(covers[names], factors[names] * weights, n)
    D += sum(rates[r] * np.isin(np.arange(n), bare[r]) for r in range(len(deltas)))
    assert D.min() - rates @ deltas == pytest.approx(value, abs=10 * SOLVERS)


@settings(max_examples=100)
@given(
    st.integers(1, 3), st.integers(2, 5), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1.0, 1e6, 1e-9])
)
def test_what_multipliers_prove_is_rounded_down(laws, points, seed, mirrored, unit):
    """Several laws, limits with shares of δ, terms named twice, a further row."""
    rng = np.random.default_rng(seed)
    n, m, k = laws * points, int(rng.integers(1, 15)), 3
    costs, delta = rng.random(n) * unit, float(rng.uniform(0.01, 0.9))
    shares, growth = np.arange(1, k + 1) / k, np.exp(rng.uniform(0, 3, k))
    events, limits = rng.integers(0, n, m), rng.integers(0, k, m)
    covers = events + limits - 1
    weights = rng.exponential(1.0, m) * rng.choice([-1, 1, 1], m) * unit
    row, rate, most = rng.normal(size=n), float(rng.random()) * unit, float(rng.random())
    brackets = Brackets.of(costs).with_terms(events, covers, growth[limits], weights, limits, delta, shares[limits])
    paid = rate * row
    bound = brackets.with_rows(paid, np.abs(paid), price=rate * most * (1 + 2.0**-51)).lower(
        laws=laws, mirrored=mirrored
    )
    y: dict[tuple[int, int], Fraction] = {}
    for i, r, w in zip(events.tolist(), limits.tolist(), weights.tolist()):
        y[i, r] = y.get((i, r), Fraction(0)) + Fraction(max(w, 0.0))
    D = [Fraction(c) + Fraction(rate) * Fraction(v) for c, v in zip(costs.tolist(), row.tolist())]
    for (i, r), w in y.items():
        D[i] += w
        if 0 <= i + r - 1 < n:
            D[i + r - 1] -= Fraction(float(growth[r])) * w
    if mirrored:
        D = [(one + other) / 2 for one, other in zip(D, reversed(D))]
    largest = [max((w for (_, s), w in y.items() if s == r), default=Fraction(0)) for r in range(k)]
    exact = sum(min(D[g * points : (g + 1) * points]) for g in range(laws))
    exact -= Fraction(delta) * sum(Fraction(r + 1, k) * largest[r] for r in range(k)) + Fraction(rate) * Fraction(most)
    assert Fraction(bound) <= exact
    assert bound >= float(exact) - 1e-12 * unit * float(growth.max()) * m
