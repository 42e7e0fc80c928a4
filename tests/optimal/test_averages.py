"""Shifts that are averaged: what the functions of events and covers are, and that bounds from them are no higher than
laws cost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.optimal import solve
from dpcore.optimal.averages import Averages, AveragesProgram
from dpcore.optimal.dense import AT_ONCE, DenseProgram
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.mesh import Grading
from dpcore.optimal.profile import ProfileSearch, normal_masses
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings, noise_problem


def problem_of(mu, loss):
    profile = GaussianProfile(mu)
    return noise_problem(profile.anchor.epsilon, profile.anchor.delta, 1.0, loss, profile=profile)


def search_of(mu, loss, cells=65):
    """A search that knows a law."""
    search = ProfileSearch(problem_of(mu, loss), SolverSettings(time_limit=60))
    search._start()
    search._curve_cells(cells)
    return search


def mesh(k=5, fine=4, folded=False):
    lattice = Lattice(k, -3 * k, 3 * k, -2 * k, 2 * k, folded)
    return Averages.of(lattice, Grading(fine, (0.0,), reach=1.5))


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(("k", "fine"), [(5, 4), (7, 2), (10, 8)])
def test_what_covers_an_event_is_the_average_of_its_copies(k, fine, folded):
    averages = mesh(k, fine, folded)
    rng = np.random.default_rng(k)
    every = range(averages.first, averages.last + 1)
    for shift in averages.shifts.tolist():
        moves, weights = averages.moves(shift)
        assert np.all(np.abs(moves) <= averages.k) and sum(map(Fraction, weights.tolist())) == 1
        chosen = rng.choice(averages.events, 6, replace=False)
        event, cover = averages.functions(shift, chosen)
        assert event.min() >= 0 and event.max() <= 1
        height = dict.fromkeys(averages.indices.tolist(), Fraction(0)) | dict.fromkeys(chosen.tolist(), Fraction(1))
        nodes = sorted(height)

        def at(x, nodes=nodes, height=height):
            if not nodes[0] <= x <= nodes[-1]:
                return Fraction(0)
            right = next(i for i in nodes if i >= x)
            left = max(i for i in nodes if i <= x)
            if left == right:
                return height[left]
            return height[left] + (height[right] - height[left]) * Fraction(x - left, right - left)

        for x in rng.choice(every, 20).tolist():
            copies = sum(Fraction(w) * at(x + move) for move, w in zip(moves.tolist(), weights.tolist()))
            assert event[x - averages.first] == pytest.approx(float(at(x)), abs=1e-13)
            assert cover[x - averages.first] == pytest.approx(float(copies), abs=1e-13)


@pytest.mark.parametrize("folded", [False, True])
def test_tests_are_these_functions_at_the_nodes(folded):
    averages = mesh(folded=folded)
    tests, column = averages.tests, averages.classify(averages.indices)
    at = averages.indices - averages.first
    for shift in averages.shifts.tolist():
        mine = np.flatnonzero(tests.shift == shift)
        assert set(tests.place[mine].tolist()) == set(averages.events.tolist())
        chosen = np.sort(np.random.default_rng(shift % 97).choice(mine, 5, replace=False))
        rows = tests.rows(chosen, np.zeros(5, dtype=np.int64), 1, averages.classes)
        for row, function in zip(rows, averages.functions(shift, tests.place[chosen])):
            assert row[0] == pytest.approx(np.bincount(column, function[at], averages.classes), abs=1e-13)


def test_multipliers_on_the_fine_lattice_are_the_functions_times_theirs():
    averages = mesh()
    for shift in averages.shifts.tolist():
        chosen = averages.events[3:9:2]
        shifts, events, weights = averages.spread(np.full(3, shift), chosen, np.full(3, 2.5))
        event, cover = averages.functions(shift, chosen)
        size = averages.last - averages.first + 1
        assert np.bincount(events - averages.first, weights, size) == pytest.approx(2.5 * event, abs=1e-12)
        places = events - shifts - averages.first
        inside = (places >= 0) & (places < size)
        assert np.bincount(places[inside], weights[inside], size) == pytest.approx(2.5 * cover, abs=1e-12)
        limits = [weights[shifts == move].max() for move in np.unique(shifts)]
        assert sum(limits) <= 2.5 * (1 + 1e-12)  # as much of δ as one row


@pytest.mark.parametrize(("loss", "mu"), [("l1", 2.5), ("pinball:0.37", 3.07), ("asym:1:3.5", 3.9)])
def test_averages_prove_more_than_all_shifts_of_the_mesh_and_weighing_loses_little(loss, mu, monkeypatch):
    search = search_of(mu, loss)
    program, k = [], 12
    solve_it = AveragesProgram.solve

    def spied(self, limits, near):
        program.append(self)
        return solve_it(self, limits, near)

    monkeypatch.setattr(AveragesProgram, "solve", spied)
    search._curve_nodes(k)
    averaged = search.lower
    assert 0.99 * program[0].lower < averaged <= program[0].lower * (1 + 1e-6)
    unweighed = replace(program[0])
    monkeypatch.setattr(AveragesProgram, "_weigh", lambda self, limits: None)
    unweighed.start()
    solve_it(unweighed, search._limits, lambda lower, upper: upper - lower < 0.02 * lower)
    assert unweighed.proved(search.profile) < averaged
    search.lower = 0.0
    monkeypatch.setattr(ProfileSearch, "_averages", False)
    search._curve_nodes(k)
    assert search.lower < averaged * (1 - 0.003)


@settings(max_examples=12)
@given(
    st.floats(2.2, 4.0), st.sampled_from(["l1", "pinball:0.4", "asym:1:2.5", "table:-1=2,0=0,0.3=0.3,2=4"]),
    st.integers(3, 14),
)  # fmt: skip
def test_no_law_on_the_curve_costs_less(mu, loss, k):
    search = search_of(mu, loss, 30)
    search.lower = 0.0
    search._curve_nodes(k)
    assert search._averages and 0 < search.lower <= search.upper
    rng = np.random.default_rng(k)
    x = np.linspace(-9, 9, 20001)
    for width in rng.uniform(0.3, 1, 10):  # wider normal laws, off the middle, keep the curve
        law = normal_masses(np.append(x - 0.00045, x[-1] + 0.00045) * mu * width)
        place = rng.normal() * 0.1
        assert law @ search.problem.loss.value(x + place) >= search.lower * (1 - 1e-6)


def test_brackets_close_where_poles_are_sharp():
    solution = solve(problem_of(3.57, "l1"), SolverSettings(gap=0.012, time_limit=60))
    assert solution.certificate.lower <= solution.certificate.upper <= 1.012 * solution.certificate.lower
    assert solution.certificate.profile.holds


def test_every_shift_has_its_turn_and_the_whole_sensitivity_every_time(monkeypatch):
    looked = []
    some = DenseProgram._some

    def spied(self, shifts, number):
        chosen = some(self, shifts, number)
        looked.append((self, shifts, chosen))
        return chosen

    monkeypatch.setattr(DenseProgram, "_some", spied)
    search_of(2.5, "l1", 100)
    assert looked
    for program, shifts, chosen in looked:
        assert len(chosen) <= AT_ONCE + 2 and set(chosen.tolist()) <= set(shifts.tolist())
        moves = np.abs(program._tests.shift[program._tests.begins])
        assert set(np.flatnonzero(moves == program.lattice.k).tolist()) & set(shifts.tolist()) <= set(chosen.tolist())
    program, shifts = looked[-1][0], np.arange(len(looked[-1][0]._by_shift))
    turns = set()
    for number in range(-(-len(shifts) // AT_ONCE)):
        turns |= set(some(program, shifts, number).tolist())
    assert turns == set(shifts.tolist())


@pytest.mark.parametrize("mu", [2.52, 3.6])
def test_losses_that_are_0_around_their_minimiser_have_no_kink_there(mu):
    """Nor do programs in which nothing binds yet stop the search."""
    loss = "table:-1.8=1.4,-1.5=0.8,-1.1=0,0=0,1.1=0,1.5=0.8,1.8=1.4"
    search = search_of(mu, loss)
    assert not search._averages
    lattice = Averages.of(Lattice(5, -18, 18, -18, 18, True), Grading(4, (0.0,), reach=2.0))
    costs = search._rounded_costs(lattice)
    on_all = search._rounded_costs(replace(lattice, nodes=tuple(range(lattice.first, lattice.last + 1))))
    program = AveragesProgram(
        mu, lattice, costs, normal_masses(lattice.ends / (2 * lattice.k) * mu), 1.0, 4.0, on_all=on_all
    )
    program._proofs = [(0.0, [])]
    program._weigh(search._limits)
    assert program.proved(search.profile) == 0.0
