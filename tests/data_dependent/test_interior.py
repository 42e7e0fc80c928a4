"""The interior point method for privacy rows against HiGHS on the same programs, and what it needs of its system."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.data_dependent import data_dependent_problem, referee
from dpcore.data_dependent.channel import Grid
from dpcore.data_dependent.constraints import rows_upper
from dpcore.data_dependent.costs import cell_costs_upper
from dpcore.data_dependent.program import ChannelProgram
from dpcore.data_dependent.whole import WholeProgram
from dpcore.rows.interior import Limits, _FullSystem, _System

NEVER = 1e18


def both(problem, resolution, cap=None):
    """The same program by both methods: (simplex, interior, costs, related)."""
    grid = Grid.make(problem.query_range, problem.sensitivity, resolution)
    costs = cell_costs_upper(problem, grid, spread=problem.monotone)
    further = rows_upper(problem, grid, cap, atoms=True)
    given = (costs, grid.related, problem.privacy.amplification, problem.privacy.delta, np.zeros(grid.laws), further)
    simplex = ChannelProgram(*given, problem.folds).solve(NEVER, lambda: False, enough=1e-8)
    whole = WholeProgram(*given, problem.folds).solve(NEVER, lambda: False, accuracy=2e-6)
    assert simplex is not None and whole is not None and whole.status != "stopped"
    return simplex, whole, costs, grid.related


@pytest.mark.parametrize(
    "epsilon, delta, resolution, options, cap",
    [
        (1, 0.2, 5, {}, None),
        (0, 0.1, 4, {}, None),
        (5, 0.25, 7, {}, None),
        (1, 0.2, 5, {"weight": "histogram:1,4,2"}, None),
        (1, 0.2, 5, {"ordered": True}, None),
        (1, 0.2, 5, {"monotone": True}, None),
        (1, 0.2, 5, {}, 1.0),
    ],
)
def test_finds_what_the_simplex_method_finds(epsilon, delta, resolution, options, cap):
    problem = data_dependent_problem(epsilon, delta, 2, query_range=(0, 4), **options)
    simplex, whole, costs, related = both(problem, resolution, cap)
    value, least = float((costs * whole.masses).sum()), float((costs * simplex.masses).sum())
    assert value == pytest.approx(least, rel=1e-5)
    proof = {"epsilon": epsilon, "delta": delta, "related": related, "mirrored": problem.folds}
    if not problem.monotone and not problem.ordered and cap is None:  # no atoms: the referee's columns are points only
        grid = Grid.make(problem.query_range, problem.sensitivity, resolution)
        without = WholeProgram(
            costs, grid.related, problem.privacy.amplification, delta, None, None, problem.folds
        ).solve(NEVER, lambda: False, accuracy=2e-6)
        proved = referee.multiplier_bound_lower(costs, without.multipliers, **proof)
        assert proved <= float((costs * without.masses).sum()) * (1 + 1e-6)
        assert proved == pytest.approx(float((costs * without.masses).sum()), rel=1e-5)


def test_a_factorised_band_solves_its_system():
    rng = np.random.default_rng(5)
    n, band = 500, 40
    dense = np.zeros((n, n))
    for i in range(n):
        for j in range(i, min(i + band, n)):
            dense[i, j] = dense[j, i] = rng.normal()
    dense += 2 * band * np.eye(n)
    system = _System(n, band, lambda: None)
    system.start(np.diag(dense).copy())
    for i in range(n):
        for j in range(i + 1, min(i + band, n)):
            block = i // system.size
            system.panels[block, i % system.size, j - block * system.size] = dense[i, j]
    system.factorise()
    right = rng.normal(size=(n, 3))
    assert np.allclose(system.solve(right), np.linalg.solve(dense, right), atol=1e-10)


def test_both_ways_of_filling_a_system_agree():
    rng, n, shifts = np.random.default_rng(6), 150, 20
    events = np.tile(np.arange(n - shifts), shifts) + np.repeat(np.arange(1, shifts + 1), n - shifts)
    covers = np.tile(np.arange(n - shifts), shifts)
    limits = Limits(
        np.arange(0, len(events) + 1, n - shifts),
        np.full(shifts, 0.1),
        np.arange(shifts + 1) * 2,
        rng.integers(0, n, 2 * shifts),
        rng.random(2 * shifts),
        np.zeros(n, dtype=np.int64),
        np.ones(n),
        3.0,
        events,
        covers,
    )
    assert _FullSystem.serves(limits)
    given = (1 + rng.random(n), limits, rng.random(len(events)), rng.random(len(events)), 1 + rng.random(shifts))
    right, found = rng.normal(size=n), []
    for kind in (_System, _FullSystem):
        system = kind(n, n, lambda: None)
        system.fill(*given)
        system.factorise()
        found.append(system.solve(right))
    assert np.allclose(*found, rtol=1e-9, atol=1e-12)


def test_points_may_be_left_out_and_a_stop_ends_it_with_what_there_is():
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4))
    grid = Grid.make(problem.query_range, 2, 5)
    costs = cell_costs_upper(problem, grid)
    used = np.ones(grid.cells, dtype=bool)
    used[[0, -1]] = False
    given = (costs, grid.related, problem.privacy.amplification, 0.2, np.zeros(grid.laws), None, problem.folds, used)
    found = WholeProgram(*given).solve(NEVER, lambda: False, accuracy=1e-6)
    assert not found.masses[:, [0, -1]].any()
    terms = np.maximum(found.masses[:, None] - problem.privacy.amplification * found.masses[None, :], 0.0)
    shortfalls = terms.sum(axis=2) + found.atoms[:, None]
    assert shortfalls[grid.related].max() <= 0.2 * (1 + 1e-5)
    looks = iter(range(10**6))
    stopped = WholeProgram(*given).solve(NEVER, lambda: next(looks) >= 6, accuracy=1e-12)
    assert stopped.status == "stopped" and np.isfinite(stopped.masses).all()
