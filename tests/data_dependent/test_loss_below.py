"""Another loss for true values below 0: brackets, costs of cells against quadrature, mirror images."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import SolverSettings
from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.data_dependent.bounds import lower_step
from dpcore.data_dependent.channel import Channel, Grid
from dpcore.data_dependent.files import solution_from_json, solution_to_json
from dpcore.data_dependent.referee import loss_upper


@pytest.mark.parametrize(
    ("low", "weight"),
    [(-2.0, "uniform"), (-0.7, "triangular"), *((low, "histogram:1,3,2") for low in (-2.0, -0.7, -3.1, 0.5, -9.0))],
)
def test_averages_count_every_value_by_its_own_loss(low, weight):
    """A random channel's audited loss against a fine midpoint sum over true values, wherever 0 lies among the cells."""
    problem = data_dependent_problem(
        1, 0.2, 1, "asym:1:3", query_range=(low, low + 3), weight=weight, loss_below="mirrored"
    )
    grid = Grid.make(problem.query_range, 1.0, 4)
    rng = np.random.default_rng(5)
    masses = rng.dirichlet(np.ones(grid.cells), grid.laws)
    channel = Channel.from_masses(grid, 0.9 * masses, np.full(grid.laws, 0.1))
    u = (np.arange(60_000) + 0.5) / 60_000
    f = low + 3 * u
    below = f < 0
    parts = ((problem.loss_below, f[below]), (problem.loss, f[~below]))
    losses = np.concatenate([channel.expected_loss(loss, part) for loss, part in parts if len(part)])
    w = problem.density.at(u)
    average = float(losses @ w / w.sum())
    assert average * (1 - 1e-6) <= loss_upper(channel, problem) <= average * (1 + 2e-3)  # tilted weights cost a little


def test_the_bracket_lies_between_both_losses():
    """The loss at every value is |x| or more, and at most 3|x|; one side's loss everywhere is another problem."""
    asked = {"query_range": (-2, 2)}
    found = solve(
        data_dependent_problem(1, 0.2, 1, "asym:1:3", **asked, loss_below="mirrored"), SolverSettings(gap=0.03)
    )
    proof = found.certificate
    once = solve(data_dependent_problem(1, 0.2, 1, **asked), SolverSettings(gap=0.03)).certificate
    assert proof.gap <= 0.03 and once.lower <= proof.upper and proof.lower <= 3 * once.upper
    assert found.independent is None and proof.delta_upper <= 0.2
    again = solution_from_json(solution_to_json(found))
    assert again.problem == found.problem and again.certificate.upper == pytest.approx(proof.upper, rel=1e-12)


@pytest.mark.parametrize("ends", [(-3.0, 1.0), (-1.3, 2.2), (-2.0, 2.0)])
def test_mirrored_ranges_have_the_same_bounds(ends):
    """x ↦ −x exchanges both losses: the mirrored problem has the same optimum, so no bound of one passes one of the
    other."""
    settings, asked = SolverSettings(gap=0.05, time_limit=20), {"loss_below": "mirrored"}
    here = solve(data_dependent_problem(1, 0.2, 1, "asym:1:2", query_range=ends, **asked), settings).certificate
    mirrored = (-ends[1], -ends[0])
    there = solve(data_dependent_problem(1, 0.2, 1, "asym:1:2", query_range=mirrored, **asked), settings).certificate
    assert max(here.lower, there.lower) <= min(here.upper, there.upper)


def test_all_values_below_zero_have_that_loss():
    below = data_dependent_problem(1, 0.2, 1, "l2", query_range=(-3, 0), loss_below="l1")
    alone = data_dependent_problem(1, 0.2, 1, "l1", query_range=(-3, 0))
    never = lambda: False  # noqa: E731
    found, plain = (lower_step(one, 4, None, (), float("inf"), never).bound for one in (below, alone))
    assert found == pytest.approx(plain, rel=1e-3)
