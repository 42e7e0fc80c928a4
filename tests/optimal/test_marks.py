"""Events and laws for errors beyond ±t under a curve: their classes, what events prove and what laws pay."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpcore.audit import multiplier_bound_lower
from dpcore.optimal.central import CentralProgram
from dpcore.optimal.curve import CurveProgram
from dpcore.optimal.marks import Events, Shaped
from dpcore.optimal.profile import ProfileSearch, _fraction_beside, exceed_lower, normal_masses
from dpcore.optimal.step import Limits
from dpcore.optimal.trust import TrustProgram
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings, noise_problem

CASES = [(10, 3, 1), (10, 4, 2), (6, 11, 1), (2, 1, 2), (8, 2, 1)]
"""(steps per sensitivity, t in steps, sensitivities beyond it)."""

LIMITS = Limits(1.0, 1e-6, float("inf"), lambda: False)


def search_of(mu, t, **settings):
    profile = GaussianProfile(mu)
    anchor = profile.anchor
    problem = noise_problem(anchor.epsilon, anchor.delta, 1.0, f"exceed:{t}", profile=profile)
    return ProfileSearch(problem, SolverSettings(**settings))


# Events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_events_and_their_copies_are_unions_of_classes(case):
    lattice = Events.around(*case)
    ends = {*lattice.starts, *(-start for start in lattice.starts)}
    assert case[1] in lattice.edges
    assert set(lattice.edges) == {-edge for edge in lattice.edges}
    for move in range(2, case[0] + 1, 2):
        assert {edge + step for edge in lattice.edges for step in (-move, 0, move)} <= ends


@pytest.mark.parametrize("case", CASES)
def test_tests_are_the_masses_of_events_and_of_their_copies(case):
    """The first event and the last are half-lines, and so are their copies."""
    lattice = Events.around(*case)
    shares = np.random.default_rng(1).random(lattice.classes)
    masses, tests = lattice.unfold(shares), lattice.tests
    here, there = tests.means(shares)
    ends = [-math.inf, *lattice.edges, math.inf]
    cells, found = lattice.indices, 0
    for move in range(2, case[0] + 1, 2):
        for a, b in zip(ends, ends[1:]):
            assert (tests.shift[found], tests.place[found]) == (move, max(a, lattice.first))
            assert here[found] == pytest.approx(masses[(cells >= a) & (cells < b)].sum())
            assert there[found] == pytest.approx(masses[(cells + move >= a) & (cells + move < b)].sum())
            found += 1
    assert found == tests.count


@pytest.mark.parametrize("case", CASES)
def test_multipliers_prove_the_same_on_a_longer_lattice(case):
    """Half-lines go on: what multipliers leave on the cells of a lattice is what they leave on the line."""
    lattice = Events.around(*case)
    tests, rng = lattice.tests, np.random.default_rng(2)
    weights = rng.random(tests.count) / tests.count * 0.01
    shifts, cells, spread = lattice.spread(tests.shift, tests.place, weights)
    ends = np.array([lattice.first, *lattice.edges, lattice.last + 1])
    assert len(cells) == case[0] // 2 * len(lattice.indices)
    mark, found = case[1], []
    for more in (0, 3 * case[0]):
        index = np.arange(lattice.first - more, lattice.last + more + 1)
        costs = (np.abs(index + 0.5) > mark).astype(float)
        event = np.clip(np.searchsorted(ends, index, side="right") - 1, 0, len(ends) - 2)
        moves = np.arange(2, case[0] + 1, 2)
        own = weights.reshape(len(moves), -1)[:, event]
        if not more:
            order = np.lexsort((cells, shifts))
            assert np.allclose(spread[order], own.ravel())
        bound = multiplier_bound_lower(
            costs, int(index[0]), epsilon=0.3, delta=0.01, shifts=np.repeat(moves, len(index)),
            events=np.tile(index, len(moves)), weights=own.ravel(), mirrored=True,
        )  # fmt: skip
        found.append(bound)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


# Laws ------------------------------------------------------------------------------------------------------------


def shaped(k, mark, near, sensitivities=6):
    end = k * sensitivities
    return Shaped.around(k, mark, normal_masses(np.arange(-end, end + 1) / k), near)


@pytest.mark.parametrize("case", CASES)
def test_laws_change_at_even_distances_from_the_mark_only(case):
    lattice = shaped(*case)
    density = lattice.unfold(np.random.default_rng(3).random(lattice.classes))
    jumps = lattice.indices[1:][np.abs(np.diff(density)) > 1e-12]
    assert len(jumps) > 4
    assert set((jumps - case[1]) % 2) == {0}
    assert np.allclose(density, density[::-1])


@pytest.mark.parametrize("case", CASES)
def test_cells_of_blocks_are_told_apart_at_every_shift(case):
    """Shortfalls from tests are those of single steps, and at odd shifts they are means of their neighbours'."""
    lattice, growth = shaped(*case), 1.2
    shares = np.random.default_rng(4).random(lattice.classes)
    masses, tests = lattice.unfold(shares), lattice.tests
    here, there = tests.means(shares)
    whole = np.concatenate([np.zeros(case[0]), masses, np.zeros(case[0])])
    direct = [
        np.maximum(whole - growth * np.concatenate([np.zeros(j), whole[: len(whole) - j]]), 0.0).sum()
        for j in range(case[0] + 1)
    ]
    for move in range(2, case[0] + 1, 2):
        mine = tests.shift == move
        assert np.maximum(here[mine] - growth * there[mine], 0.0).sum() == pytest.approx(direct[move])
        assert direct[move - 1] <= 0.5 * (direct[move] + direct[move - 2]) + 1e-12
    assert lattice.shares(masses) == pytest.approx(shares)


def test_a_law_of_the_given_shape_is_one_of_the_lattice():
    end, k = 30, 6
    masses = normal_masses(np.arange(-end, end + 1) / k)
    lattice = Shaped.around(k, 2, masses, 1)
    assert np.abs(lattice.unfold(lattice.shares(masses)) - masses).max() < 0.1 * masses.max()
    assert lattice.unfold(lattice.shares(masses)).sum() == pytest.approx(masses.sum())
    assert lattice.classes < end


# Programs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "case"), [(1.0, (4, 1, 1)), (0.6, (6, 2, 1)), (2.0, (10, 2, 1))])
def test_central_points_and_vertices_find_the_same(mu, case):
    lattice = Events.around(*case)
    costs = (np.abs(lattice.indices + 0.5) > case[1]).astype(float)
    ends = lattice.ends / (2 * lattice.k)
    normals = [normal_masses(ends * mu * share) for share in (0.99, 0.9)]
    found = []
    for kind, more in ((CurveProgram, {}), (CentralProgram, {"strict": tuple(normals)}), (TrustProgram, {})):
        program = kind(mu, lattice, costs, normals[0], 0.5, 4.0 + mu / 2, **more)
        program.start()
        assert program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-5) == "optimal"
        proof = program.proved(GaussianProfile(mu))
        assert proof <= program.upper
        found.append((proof, program.lower, program.upper))
    (first, _, above), (second, lower, upper), (third, *_) = found
    assert second == pytest.approx(lower, abs=1e-6)
    assert second <= above + 1e-9
    assert first <= upper + 1e-9
    assert upper - second < 1.1e-5
    assert first - 1.1e-5 < third <= upper + 1e-9


def first_program(monkeypatch, mu, t, rare, run):
    """The first program that `run` solves for errors beyond ±t, by central points where they count as rare."""
    monkeypatch.setattr("dpcore.optimal.profile.RARE", rare)
    search = search_of(mu, t, gap=1e-3, time_limit=300)
    search.lower = exceed_lower(search.problem)
    search._start()
    programs, make = [], search._curve_program
    search._curve_program = lambda *args, **more: programs.append(make(*args, **more)) or programs[-1]
    run(search)
    assert isinstance(programs[0], CentralProgram if rare == 1 else TrustProgram)
    return search, programs[0]


@pytest.mark.parametrize(
    ("mu", "t", "fraction"), [(0.379, 3.04, "73/12"), (0.582, 0.59, "13/11"), (1.46, 0.199, "7/17")]
)
def test_steps_in_a_trust_region_prove_what_central_points_do(mu, t, fraction, monkeypatch):
    """Both brackets hold the value of one program, and steps come about as near to it."""
    prove = lambda search: search._even_events(Fraction(fraction))  # noqa: E731
    search, _ = first_program(monkeypatch, mu, t, 1e-4, prove)
    other, central = first_program(monkeypatch, mu, t, 1.0, prove)
    assert exceed_lower(search.problem) < search.lower <= central.upper
    assert search.lower >= other.lower * (1 - 2e-4)


@pytest.mark.parametrize(("mu", "t", "fraction"), [(0.379, 3.04, "79/13"), (0.582, 0.59, "7/6"), (1.46, 0.199, "3/8")])
def test_laws_of_a_trust_region_cost_what_those_of_central_points_do(mu, t, fraction, monkeypatch):
    law = lambda search: search._even_cells(Fraction(fraction))  # noqa: E731
    search, program = first_program(monkeypatch, mu, t, 1e-4, law)
    _, central = first_program(monkeypatch, mu, t, 1.0, law)
    assert program.private and not program.outside(program.inner)
    assert search.best.source == "linear program"
    assert central.lower <= program.upper <= central.upper * (1 + 5e-5)


@pytest.mark.parametrize(("kind", "more"), [(CentralProgram, {}), (TrustProgram, {"proves": False})])
def test_no_event_of_a_law_says_more_than_the_curve(kind, more):
    mu = 0.8
    lattice = shaped(4, 1, 1, 8)
    costs = (np.abs(lattice.indices + 0.5) > 1).astype(float)
    normals = [normal_masses(lattice.ends / 8 * mu * share) for share in (0.99, 0.9, 0.8)]
    program = kind(mu, lattice, costs, normals[0], 0.7, 4.0, strict=tuple(normals), **more)
    program.start()
    assert program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-4) == "optimal"
    z, most = np.linspace(0, 4, 81), 0.0
    assert program.private
    for shift in range(1, 5):
        cover = np.concatenate([np.zeros(shift), program.inner[:-shift]])
        limit = norm.cdf(mu / 2 - z) - np.exp(mu * z) * norm.cdf(-mu / 2 - z)
        excess = np.maximum(program.inner - np.exp(mu * z)[:, None] * cover, 0.0).sum(axis=1)
        assert np.all(excess <= limit * (1 + 1e-8))
        most = max(most, float(np.max(excess / limit)))
    assert most > 1 - 1e-3  # the curve is what limits it


@pytest.mark.parametrize("x", [Fraction(2, 5), Fraction(37, 100), Fraction(5), Fraction(1, 300), Fraction(1001, 500)])
@pytest.mark.parametrize("most", [1, 5, 40])
@pytest.mark.parametrize("above", [True, False])
def test_fractions_are_the_nearest_on_their_side(x, most, above):
    found = _fraction_beside(x, 0.0, most, above)
    every = {Fraction(p, q) for q in range(1, most + 1) for p in range(1, 6 * q)}
    right = {fraction for fraction in every if (fraction >= x if above else fraction <= x)}
    assert found == min(right, key=lambda fraction: abs(fraction - x), default=None)
    rough = _fraction_beside(x, 0.1, most, above)
    if rough is not None and abs(rough - x) <= 0.1:
        assert rough.denominator == min(f.denominator for f in right if abs(f - x) <= 0.1)


# Brackets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("t", "mu"), [(0.5, 1.3), (2.0, 0.3), (1.5, 3.0)])
def test_the_gaussian_is_optimal_where_whole_sensitivities_lie_between(t, mu):
    certificate = search_of(mu, t, gap=1.2e-3, time_limit=20).run().certificate
    pays = 2 * norm.cdf(-t * mu)
    assert pays * (1 - 1e-9) <= certificate.lower <= pays * (1 + 1e-9)
    assert certificate.upper <= pays * 1.0012


@pytest.mark.parametrize(
    ("t", "mu", "most"),
    [(0.2, 2.0, 0.3801), (0.128, 0.134, 0.983), (0.861, 0.836, 0.4310), (0.7, 3.0, 0.05), (0.5625, 1.43, 0.345)],
)
def test_brackets_close_far_below_the_gaussian(t, mu, most):
    certificate = search_of(mu, t, gap=1.2e-3, time_limit=30).run().certificate
    assert certificate.upper <= 1.0012 * certificate.lower
    assert certificate.upper <= min(most, 2 * norm.cdf(-t * mu))


@pytest.mark.parametrize(("mu", "t", "fraction"), [(0.836, 0.85, "43/25"), (2.0, 0.2, "1/2"), (0.3, 1.31, "27/10")])
def test_few_events_prove_no_more_than_a_law_pays(mu, t, fraction):
    """What is proved for a longer distance of ±t is what the best law there pays, and no law for t undercuts it."""
    longer = Fraction(fraction)
    search, there = search_of(mu, t, gap=1e-3, time_limit=60), search_of(mu, float(longer / 2), gap=1e-3, time_limit=60)
    for each in (search, there):
        each.lower = exceed_lower(each.problem)
        each._start()
        each._even_events(longer)
    there._even_cells(longer)
    assert exceed_lower(search.problem) < search.lower <= search.upper
    assert search.lower <= there.upper <= 1.02 * there.lower


@pytest.mark.parametrize(("t", "mu", "gap"), [(2.2, 2.45, 0.02), (3.39, 2.17, 0.1), (2.74, 1.38, 0.03)])
def test_brackets_of_rare_errors_close(t, mu, gap):
    search = search_of(mu, t, gap=gap, time_limit=20)
    proof = search.run().certificate
    closed = exceed_lower(search.problem)
    assert closed < 1e-4
    assert closed * 1.01 < proof.lower <= proof.upper <= (1 + gap) * proof.lower
