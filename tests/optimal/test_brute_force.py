"""Lattice programs against the whole linear program written out, and multipliers in exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dpcore import audit
from dpcore.kernels import lattice_terms as compiled
from dpcore.optimal import lattice_terms as plain
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.program import LatticeProgram

SOLVERS = 2e-7
"""How far apart two correct solvers may be, relative to the largest cost: HiGHS's default tolerances."""


def exact_exp(epsilon: float) -> Fraction:
    """e^ε to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


# The whole program ----------------------------------------------------------------------------------------


def order_rows(lattice: Lattice, open_left: bool, open_right: bool) -> list[dict[int, float]]:
    """Monotone rows Σ v r_i ≥ 0: outwards no increase; 2 r_0 ≥ r_1 + r_−1 where 0 is a node; none that ends at an
    end of the lattice at which the line goes on."""
    rows = []
    for i in range(lattice.first, lattice.last + 1):
        if i == 0 and not lattice.edge:
            rows.append({0: 2.0, 1: -1.0, -1: -1.0})
        elif i >= 0:
            rows.append({i: 1.0, i + 1: -1.0})
        else:
            rows.append({i: 1.0, i - 1: -1.0})
    ends = {lattice.first if open_left else None, lattice.last if open_right else None}
    inside = range(lattice.first, lattice.last + 1)
    kept = [row for row in rows if not any(i in ends and v < 0 for i, v in row.items())]
    return [{i: v for i, v in row.items() if i in inside} for row in kept]


def whole_program(lattice, costs, E, delta, *, atom_cost=None, rows=(), every_event=False):
    """(value or None, masses): all shifts ±1 … ±k, all events; `costs` and masses per index, nothing folded.

    With a slack for every term max(0, r_i − E r_{i−j}), or with a row for every one of the 2^m events.
    """
    n, first = len(lattice.indices), lattice.first
    events = range(lattice.event_first, lattice.event_last + 1)
    shifts = [j for j in range(-lattice.k, lattice.k + 1) if j]
    atoms = int(atom_cost is not None)
    slacks = 0 if every_event else len(shifts) * len(events)
    total = n + atoms + slacks
    A, b = [], []

    def excess(i, j):
        row = np.zeros(total)
        row[i - first] = 1.0
        if 0 <= i - j - first < n:
            row[i - j - first] -= E
        return row

    for t, j in enumerate(shifts):
        if every_event:
            terms = np.array([excess(i, j) for i in events])
            for chosen in product([0.0, 1.0], repeat=len(events)):
                row = np.array(chosen) @ terms
                row[n : n + atoms] = 1.0
                A.append(row), b.append(delta)
            continue
        sum_row = np.zeros(total)
        sum_row[n : n + atoms] = 1.0
        for s, i in enumerate(events):
            slack = n + atoms + t * len(events) + s
            row = excess(i, j)
            row[slack] = -1.0
            sum_row[slack] = 1.0
            A.append(row), b.append(0.0)
        A.append(sum_row), b.append(delta)
    for order in rows:
        row = np.zeros(total)
        for i, v in order.items():
            row[i - first] = -v
        A.append(row), b.append(0.0)
    c = np.concatenate([costs, [atom_cost] * atoms, np.zeros(slacks)])
    mass = np.concatenate([np.ones(n + atoms), np.zeros(slacks)])
    answer = linprog(c, A_ub=np.array(A), b_ub=b, A_eq=mass[None], b_eq=[1.0])
    assert answer.status in (0, 2), answer.message
    return (float(answer.fun), answer.x[:n]) if answer.status == 0 else (None, None)


def solved(lattice, costs, E, delta, **options):
    """The program generated pair by pair, to the end."""
    reference = np.exp(-0.5 * np.abs(lattice.indices + 0.5 * lattice.edge) / lattice.k)
    program = LatticeProgram(lattice, costs[lattice.representatives], E, delta, 1.0, reference, **options)
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda outcome: False)
    return program, outcome


epsilons = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
deltas = st.sampled_from([0.01, 0.1, 0.2, 0.35, 0.5, 0.8])


@st.composite
def tiny_programs(draw, *, most: int = 7, padded=st.booleans()):
    """(lattice, costs, open_left, open_right): a few indices around 0, any non-negative costs."""
    k, edge, folded = draw(st.integers(1, 3)), draw(st.integers(0, 1)), draw(st.booleans())
    right = draw(st.integers(1, most // 2))
    left = -right - edge if folded else -draw(st.integers(edge, most // 2))
    open_left, open_right = draw(padded), draw(padded)
    if folded:
        open_left = open_right
    lattice = Lattice(k, left - k * open_left, right + k * open_right, left, right, folded, edge)
    costs = np.array(draw(st.lists(st.integers(0, 8), min_size=len(lattice.indices), max_size=len(lattice.indices))))
    costs = costs / 4
    if draw(st.booleans()):
        costs = np.abs(lattice.indices + 0.5 * edge) / k  # what is asked in earnest
    return lattice, 0.5 * (costs + costs[::-1]) if folded else costs, open_left, open_right


@settings(max_examples=120)
@given(tiny_programs(), epsilons, deltas, st.booleans(), st.sampled_from([None, None, 0.0, 0.5]))
def test_pair_by_pair_reaches_the_whole_optimum(drawn, epsilon, delta, monotone, atom_cost):
    """Folded and not, either lattice, open and closed ends, with an atom, monotone."""
    lattice, costs, open_left, open_right = drawn
    assume(not (monotone and lattice.edge == 0 and not lattice.folded and lattice.last < 2))
    E = math.exp(epsilon)
    rows = order_rows(lattice, open_left, open_right) if monotone else []
    value, _ = whole_program(lattice, costs, E, delta, atom_cost=atom_cost, rows=rows)
    program, outcome = solved(
        lattice, costs, E, delta, atom_cost=atom_cost, monotone=monotone, open_left=open_left, open_right=open_right
    )
    if value is None:
        event("infeasible")
        assert outcome.status == "infeasible"
        return
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(value, abs=SOLVERS * max(1, costs.max()))
    # The law keeps its rows, seen by code of its own.
    r = lattice.unfold(outcome.masses)
    assert r.sum() + outcome.atom == pytest.approx(1, abs=SOLVERS)
    index = {int(i): float(m) for i, m in zip(lattice.indices, r)}
    for j in range(-lattice.k, lattice.k + 1):
        events = range(lattice.event_first, lattice.event_last + 1)
        if j:
            shortfall = sum(max(0.0, index[i] - E * index.get(i - j, 0.0)) for i in events)
            assert shortfall + outcome.atom <= delta + SOLVERS
    for row in rows:
        assert sum(v * index[i] for i, v in row.items()) >= -SOLVERS
    if atom_cost is None and not (monotone and lattice.edge):
        # Programs for lower bounds (monotone ones live on nodes): their multipliers prove the optimum.
        shifts, events, weights = program.multipliers(outcome)
        bound = audit.multiplier_bound_lower(
            costs,
            lattice.first,
            epsilon=epsilon,
            delta=delta,
            shifts=shifts,
            events=events,
            weights=weights,
            mirrored=lattice.folded,
            monotone=program.order_multipliers(outcome) if monotone else None,
        )
        assert bound <= value + SOLVERS * max(1, costs.max())
        assert bound == pytest.approx(value, abs=10 * SOLVERS * max(1, costs.max()))


@settings(max_examples=15)
@given(tiny_programs(most=5), epsilons, deltas, st.sampled_from([None, 0.0, 0.5]))
def test_slacks_stand_for_all_events(drawn, epsilon, delta, atom_cost):
    """The same optimum with one row for each of the 2^m events of each shift."""
    lattice, costs, *_ = drawn
    E = math.exp(epsilon)
    value, _ = whole_program(lattice, costs, E, delta, atom_cost=atom_cost)
    other, _ = whole_program(lattice, costs, E, delta, atom_cost=atom_cost, every_event=True)
    assert (value is None) == (other is None)
    if value is not None:
        assert value == pytest.approx(other, abs=SOLVERS * max(1, costs.max()))


@settings(max_examples=30)
@given(tiny_programs(padded=st.just(False)), epsilons, deltas)
def test_lattice_shortfalls(drawn, epsilon, delta):
    lattice, masses, *_ = drawn
    E = math.exp(epsilon)
    index = {int(i): float(m) for i, m in zip(lattice.indices, masses)}
    for j, found in zip(lattice.shifts.tolist(), lattice.shortfalls(masses, E)):
        terms = [index[i] - E * index.get(i - j, 0.0) for i in range(lattice.event_first, lattice.event_last + 1)]
        assert found == pytest.approx(sum(max(0.0, z) for z in terms), abs=1e-12)
        assert lattice.excess(masses, j, E) == pytest.approx(terms, abs=1e-12)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_kernels_give_the_bits_of_numpy(k, reach, seed):
    rng = np.random.default_rng(seed)
    lattice = Lattice(k, -reach - k * int(rng.integers(2)), reach, -reach, reach, False)
    r = np.exp(-rng.uniform(0, 3) * np.abs(lattice.indices) / k) * rng.uniform(0, 1, len(lattice.indices))
    events, E = lattice.events - lattice.first, math.exp(rng.uniform(0, 3))
    own = compiled.shortfalls(r, events, lattice.shifts, E)
    assert np.array_equal(own, plain.shortfalls(r, events, lattice.shifts, E))
    for j in lattice.shifts[:: max(1, k // 3)].tolist():
        assert np.array_equal(compiled.excess(r, events, j, E), plain.excess(r, events, j, E))


@settings(max_examples=60)
@given(st.integers(0, 5000), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_sums_are_those_of_numpy(count, start, seed):
    values = np.exp(8 * np.random.default_rng(seed).standard_normal(start + count))
    assert compiled.pairwise_sum(values, start, count) == values[start:].sum()


@settings(max_examples=60)
@given(tiny_programs(), epsilons, deltas, deltas)
def test_multipliers_prove_for_every_delta(drawn, epsilon, solved_at, proved_at):
    """A program solved at one δ proves a bound at any other, 0 included: how δ below the program's least is served."""
    lattice, costs, open_left, open_right = drawn
    E = math.exp(epsilon)
    program, outcome = solved(lattice, costs, E, solved_at, open_left=open_left, open_right=open_right)
    assume(outcome.status == "optimal")
    shifts, events, weights = program.multipliers(outcome)
    for delta in (proved_at, 0.0):
        bound = audit.multiplier_bound_lower(
            costs, lattice.first, epsilon=epsilon, delta=delta, shifts=shifts, events=events, weights=weights,
            mirrored=lattice.folded,
        )  # fmt: skip
        value, _ = whole_program(lattice, costs, E, delta)
        assert value is None or bound <= value + SOLVERS * max(1, costs.max())


# Multipliers, exactly ------------------------------------------------------------------------------------------


def exact_bound(costs, first, E, delta, terms, monotone=None, mirrored=False) -> Fraction:
    """min_i D_i − δ Σ_j max_i y_{j,i} with y the sum over equal (j, i), in rational arithmetic."""
    y: dict[tuple[int, int], Fraction] = {}
    for j, i, w in terms:
        y[j, i] = y.get((j, i), Fraction(0)) + Fraction(w)
    D = [Fraction(c) for c in costs]
    n = len(D)
    for (j, i), w in y.items():
        D[i - first] += w
        if 0 <= i - j - first < n:
            D[i - j - first] -= E * w
    for at, m in enumerate(monotone if monotone is not None else []):
        i = at + first
        row = {i: 2, i + 1: -1, i - 1: -1} if i == 0 else {i: 1, (i + 1 if i > 0 else i - 1): -1}
        for node, v in row.items():
            if 0 <= node - first < n:
                D[node - first] -= v * Fraction(m)
    if mirrored:
        D = [(one + other) / 2 for one, other in zip(D, reversed(D))]
    rates: dict[int, Fraction] = {}
    for (j, _), w in y.items():
        rates[j] = max(rates.get(j, Fraction(0)), w)
    return min(D) - Fraction(delta) * sum(rates.values(), Fraction(0))


@st.composite
def multipliers(draw):
    """Any weights at all on a small lattice, equal terms among them."""
    lattice, costs, *_ = draw(tiny_programs(padded=st.just(False)))
    shifts = range(1, lattice.k + 1) if lattice.folded else [j for j in range(-lattice.k, lattice.k + 1) if j]
    number = st.one_of(st.floats(0, 1), st.floats(0, 1e6), st.sampled_from([0.0, 1e-9, 0.1, 1 / 3]))
    events = st.integers(lattice.first, lattice.last)
    terms = draw(st.lists(st.tuples(st.sampled_from(list(shifts)), events, number), min_size=1, max_size=12))
    costs = costs * draw(st.sampled_from([1.0, 1 / 3, 1e6, 1e-9]))
    monotone = None
    if draw(st.booleans()):
        monotone = np.array(draw(st.lists(number, min_size=len(costs), max_size=len(costs))))
    return lattice, costs, terms, monotone


@settings(max_examples=150)
@given(multipliers(), st.one_of(epsilons, st.floats(0.001, 20)), st.one_of(deltas, st.floats(1e-12, 0.999)))
def test_the_bound_is_rounded_down(drawn, epsilon, delta):
    lattice, costs, terms, monotone = drawn
    shifts, events, weights = (np.array(v) for v in zip(*terms))
    bound = audit.multiplier_bound_lower(
        costs, lattice.first, epsilon=epsilon, delta=delta, shifts=shifts, events=events, weights=weights,
        monotone=monotone, mirrored=lattice.folded,
    )  # fmt: skip
    E = exact_exp(epsilon)
    exact = exact_bound(costs, lattice.first, E, delta, terms, monotone, lattice.folded)
    assert Fraction(bound) <= exact
    size = costs.max() + float(E) * weights.sum() + (0 if monotone is None else 4 * monotone.max())
    assert bound >= float(exact) - 1e-13 * size - 1e-300


@settings(max_examples=40)
@given(multipliers(), epsilons, deltas)
def test_any_weights_prove_a_bound(drawn, epsilon, delta):
    """Weak duality against the brute-force optimum, for weights that no program made."""
    lattice, costs, terms, monotone = drawn
    if lattice.edge:
        monotone = None  # the audit's rows are those of nodes
    if monotone is not None:
        monotone = 0.5 * (monotone + monotone[::-1]) if lattice.folded else monotone
    rows = order_rows(lattice, False, False) if monotone is not None else []
    value, _ = whole_program(lattice, costs, math.exp(epsilon), delta, rows=rows)
    assume(value is not None)
    shifts, events, weights = (np.array(v) for v in zip(*terms))
    bound = audit.multiplier_bound_lower(
        costs, lattice.first, epsilon=epsilon, delta=delta, shifts=shifts, events=events, weights=weights,
        monotone=monotone, mirrored=lattice.folded,
    )  # fmt: skip
    assert bound <= value + SOLVERS * max(1, costs.max())


# What rounding to nodes keeps -------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(0, 9), min_size=0, max_size=12),
    st.integers(1, 5),
    st.sampled_from([0, 7]),
)
def test_rounding_to_nodes_keeps_order(right, left, per_node, atom):
    """A density that falls away from 0, in cells of 1/per_node of a lattice step, with an atom at 0: node masses fall
    outwards from ±1 on, and 2 r_0 ≥ r_1 + r_−1. Exact."""
    heights = {}
    for t, h in enumerate(sorted(right, reverse=True)):
        heights[t] = h
    for t, h in enumerate(sorted(left, reverse=True)):
        heights[-1 - t] = h
    r: dict[int, Fraction] = {0: Fraction(atom)}
    for cell, h in heights.items():
        node = cell // per_node
        middle = Fraction(2 * cell + 1, 2 * per_node) - node  # hat functions are linear on a cell: their mean is there
        r[node] = r.get(node, Fraction(0)) + h * (1 - middle) / per_node
        r[node + 1] = r.get(node + 1, Fraction(0)) + h * middle / per_node
    mass = lambda i: r.get(i, Fraction(0))  # noqa: E731
    assert 2 * mass(0) >= mass(1) + mass(-1)
    for i in range(1, 15):
        assert mass(i) >= mass(i + 1)
        assert mass(-i) >= mass(-i - 1)
