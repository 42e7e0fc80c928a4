"""Long ranges: windows prove bounds below what the whole range proves, coarse nodes lie below fine ones, few laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore import SolverSettings
from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.data_dependent.bounds import lower_step, upper_step
from dpcore.data_dependent.problem import WINDOW
from dpcore.data_dependent.windows import average_delta, coarser_costs, points_of, windows

NEVER = math.inf


def test_windows_are_disjoint_parts_of_the_weight():
    bins = ",".join(f"{math.exp(-abs(x) / 30):.6g}" for x in np.arange(-99.5, 100))
    problem = data_dependent_problem(1, 0.1, query_range=(-100, 100), weight=f"histogram:{bins}")
    found = windows(problem)
    assert 0.9 < sum(share for _, share in found) <= 1
    for part, share in found:
        assert part.width <= WINDOW and part.privacy == problem.privacy
        # A window's weight, taken back to the whole range, is the weight there: the middle one begins at −12.
        assert 0 < share < 0.5
    uniform = windows(data_dependent_problem(1, 0.1, query_range=(0, 1473)))
    assert sum(share for _, share in uniform) == pytest.approx(1, abs=1e-12) and len(uniform) == 2


def test_windows_prove_less_than_the_range_they_are_cut_from():
    """(1, .1) over 30 sensitivities: the sum over windows lies below a mechanism's loss and above most of it."""
    problem = data_dependent_problem(1, 0.1, query_range=(0, 30))
    proved = lower_step(problem, 1, None, (), NEVER, lambda: False).bound
    assert 0.5 < proved < 0.6902


def test_interpolation_between_coarse_nodes_lies_below_all_fine_costs():
    rng = np.random.default_rng(3)
    costs = np.cumsum(rng.uniform(0, 1, (4, 60)), axis=1) * np.where(rng.random((4, 1)) < 0.5, 1, -1) + 70
    nodes = np.array([0, 1, 2, 7, 19, 20, 40, 59])
    coarse = coarser_costs(costs, nodes)
    between = np.array([np.interp(np.arange(60), nodes, row) for row in coarse])
    assert (between <= costs).all() and (coarse <= costs[:, nodes]).all()


def test_points_of_mirrored_intervals_are_mirrored():
    used = points_of((0, 100, 101, 102, 103, 203), 203)
    assert (used == used[::-1]).all() and used[[0, 99, 100, 101, 102, 103, 202]].all() and used.sum() < 90


def test_two_long_intervals_and_a_fine_middle():
    """The supplement's partition, coarser: a tail's law errs by a quarter of its length at least, whatever else holds;
    all tables of ten sets that the bracket is about include the one that releases 0 always."""
    ends = tuple(np.arange(-2.5, 3, 0.5))
    problem = data_dependent_problem(1, 0.1, 2, query_range=(-150, 150), partition=ends)
    answer = solve(problem, SolverSettings(gap=5e-2, time_limit=60))
    proof = answer.certificate
    assert answer.laws == 12 and proof.delta_upper <= 0.1
    least = 2 * 147.5 / 300 * 147.5 / 4
    assert least * 0.98 <= proof.lower <= proof.upper <= 75
    assert answer.mechanism.release(-120.0) in answer.mechanism.grid.points


def test_the_average_of_all_noise_is_nearly_as_private():
    """The average noise of optimal channels on small ranges, whatever the weight, against its δ by hand: all shifts by
    whole cells, of noise on the cells' differences (atoms are noise 0)."""
    for weight, variation in (
        ("uniform", 2.0),
        ("triangular", 4.0),
        ("histogram:1,3,2", 3.0),
        ("histogram:4,1,3", 4.5),
    ):
        problem = data_dependent_problem(1, 0.05, query_range=(0, 6), weight=weight)
        expected = 0.05 + variation / 6 / 2
        assert expected <= average_delta(problem) <= expected * (1 + 1e-12)
        step = upper_step(problem, 4, None, (), NEVER, lambda: False)
        grid, masses = step.channel.grid, step.channel.masses
        n = grid.cells
        shares = np.array([float(v) for v in problem.shares(grid.edges)])
        noise = np.zeros(2 * n - 1)
        for a in range(n):
            noise[n - 1 - a : 2 * n - 1 - a] += shares[a] * masses[a]
        noise[n - 1] += shares @ step.channel.atom_masses
        assert noise.sum() == pytest.approx(1)
        for shift in range(1, grid.reach + 1):
            moved = np.pad(noise, (shift, shift))
            for other in (moved[: -2 * shift], moved[2 * shift :]):
                inside = np.maximum(noise - math.e * other, 0).sum()
                assert inside <= average_delta(problem) + 1e-9


def test_counts_of_many_people_cost_what_additive_noise_does():
    """0 … 1473 at (1, .1): between windows' bound and the data-independent optimum, .6902 to .6909, within 1 %."""
    problem = data_dependent_problem(1, 0.1, query_range=(0, 1473))
    proof = solve(problem, SolverSettings(gap=1e-2, time_limit=60)).certificate
    assert proof.gap <= 1e-2 and 0.68 < proof.lower < 0.6909 and proof.upper > 0.6902 - 1e-3
    narrow = average_delta(data_dependent_problem(1, 0.1, query_range=(0, 30)))
    assert narrow == pytest.approx(0.1 + 1 / 30)
