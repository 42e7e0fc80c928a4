"""Whole-number queries next to real-valued ones: what a bound and a law on the line are worth on the lattice."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dpcore._validate import decimal
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import solve
from dpcore.optimal.nearest import real_valued, rounded
from dpcore.problem import SolverSettings, noise_problem


def value(problem, seconds=0.5):
    return solve(problem, SolverSettings(gap=1e-3, time_limit=seconds)).certificate


@pytest.mark.parametrize("loss", ["l1", "l2", "lp:3", "lp:1.4", "asym:1:4", "table:-2=1,0=0,1=2,2=1,4=5"])
@pytest.mark.parametrize("step", [1.0, 1 / 3])
def test_bounds_of_the_line_lie_below_the_optimum_on_the_lattice(loss, step):
    for epsilon, delta, shape in (
        (1.0, 1e-3, {}),
        (0.4, 0.2, {"support": (-4.0, 9.0)}),
        (2.0, 0.05, {"monotone": True}),
    ):
        problem = noise_problem(epsilon, delta, 1.0, loss, granularity=step, **shape)
        real = real_valued(problem)
        assert decimal(real.problem.sensitivity) <= problem.lattice_sensitivity * decimal(step)
        assert real.lower(value(real.problem).lower) <= value(problem).upper


def test_the_line_is_dearer_than_the_lattice_without_what_spreading_costs():
    problem = noise_problem(1.0, 1e-6, 1.0, "l1", granularity=1.0)
    real, exact = real_valued(problem), value(problem)
    found = value(real.problem)
    assert found.lower > exact.upper * 1.1
    assert 0 < real.added <= 0.25 * np.e / (2 + np.e) + 1e-5  # the cell around 0, and no law has more on one point
    assert 0.8 * exact.lower <= real.lower(found.lower) <= exact.upper


def test_thresholds_are_exact_in_steps():
    real = real_valued(noise_problem(0.5, 0.01, 1.0, "exceed:0.3", granularity=0.1))
    assert real.exact and real.problem.sensitivity == 10 and real.problem.loss.spec == "exceed:3.5"


def test_rounding_takes_every_point_its_cell():
    rng = np.random.default_rng(5)
    for k, resolution, origin in ((3, 4, 0.0), (10, 7, 0.25), (60, 16, -1.7), (2, 50, 0.0)):
        breaks = np.cumsum(rng.integers(1, 9, 30)) - 60
        law = PiecewiseNoise.from_masses(
            sensitivity=1.0, resolution=resolution, breaks=breaks, masses=rng.random(29), atom=0.2, atom_unit=-3,
            origin=origin,
        )  # fmt: skip
        first, masses = rounded(law, k)
        edges = (first - 0.5 + np.arange(len(masses) + 1)) / k
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        assert masses == pytest.approx(np.diff(law.cdf(edges)), abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "sensitivity", "step"),
    [
        (0.00625, 0.000334, "asym:1:9.93", 1.0, 1 / 60),
        (0.0012, 0.05, "exceed:0.102", 50.0, 1.0),
        (0.0566, 0.0399, "pinball:0.32", 50.0, 1.0),
        (5.19, 1e-5, "asym:1:6.27", 50.0, 1.0),
        (7.5, 1e-5, "asym:1:8", 1.0, 1 / 60),
    ],
)
def test_many_steps_to_the_sensitivity(epsilon, delta, loss, sensitivity, step, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    problem = noise_problem(epsilon, delta, sensitivity, loss, granularity=step)
    certificate = solve(problem, SolverSettings(time_limit=4)).certificate
    assert certificate.delta_upper <= delta
    assert certificate.upper <= certificate.lower * (1 + 1e-3)
