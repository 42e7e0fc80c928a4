"""Radial laws in accounting: their pair against the audit, Monte Carlo and the accountant of dp_accounting."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from dpcore.accounting.mechanisms import Release
from dpcore.accounting.rules import totals
from dpcore.accounting.subsampling import parse_sampling
from dpcore.cli import main
from dpcore.isotropic import files
from dpcore.isotropic.audit import delta_upper
from dpcore.isotropic.geometry import log_volumes
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.neighbours import RadialMechanism, composable, neighbours
from dpcore.isotropic.problem import IsotropicProblem
from dpcore.isotropic.search import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings


def law(dimension: int, *, cells: int = 6, reach: float = 5.0, slope: float = 1.1, atom: float = 0.01) -> RadialNoise:
    breaks = np.arange(int(reach * cells) + 1)
    logs = log_volumes(dimension, breaks / cells) - slope * np.floor(2 * breaks[:-1] / cells) / 2
    masses = np.exp(logs - logs.max())
    masses *= (1 - atom) / masses.sum()
    return RadialNoise.from_masses(
        dimension=dimension, sensitivity=3.0, resolution=cells, breaks=breaks, masses=masses, atom=atom
    )


@pytest.fixture(scope="module")
def solution():
    problem = IsotropicProblem(2, Privacy(1.0, 0.01), sensitivity=2.0)
    return solve(problem, SolverSettings(gap=0.2, time_limit=60.0))


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 300])
def test_the_pair_has_the_audited_curve(dimension):
    noise = law(dimension)
    above, below = neighbours(noise, upper=True), neighbours(noise, upper=False)
    for epsilon in (0.0, 0.3, 0.55, 1.1, 2.0, 6.0):
        true = delta_upper(noise, epsilon)
        assert float(above.delta(epsilon)) == pytest.approx(true, rel=1e-10)
        assert float(below.delta(epsilon)) == pytest.approx(true, rel=1e-10)
        assert below.delta(epsilon) <= true * (1 + 1e-11)
    for pair in (above, below):
        assert pair.own.sum() == pytest.approx(1, abs=1e-12) and pair.other.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(pair.own, pair.other[::-1], rtol=1e-9, atol=1e-25)


def test_losses_that_meet_epsilon_exactly_stay_there(solution):
    """Optimal laws have steps of e^ε: much probability at one loss, where δ(ε) has a kink."""
    epsilon = solution.problem.privacy.epsilon
    pair = neighbours(solution.noise, upper=True)
    near = np.abs(pair.losses - epsilon) < 1e-9
    assert near.any() and float(pair.delta(epsilon)) == pytest.approx(solution.certificate.delta_upper, rel=1e-8)


def drawn_losses(noise: RadialNoise, count: int, rng: np.random.Generator) -> np.ndarray:
    """ln p/q of neighbours at releases drawn under the first, from the densities; ∞ where only it can make them."""
    x = noise.draws(count, rng)
    here = np.linalg.norm(x, axis=1)
    x[:, 0] -= noise.sensitivity
    there = np.linalg.norm(x, axis=1)
    logs = np.append(np.log(noise.masses) - log_volumes(noise.dimension, noise.edges), -np.inf)
    own, other = (
        logs[np.minimum(np.searchsorted(noise.edges, r, side="right") - 1, len(logs) - 1)] for r in (here, there)
    )
    return np.where(here == 0, np.inf, own - other)


@pytest.mark.parametrize(("dimension", "times"), [(2, 3), (20, 4)])
def test_the_composition_by_monte_carlo(dimension, times):
    noise, rng = law(dimension, atom=0.002), np.random.default_rng(dimension)
    losses = sum(drawn_losses(noise, 150_000, rng) for _ in range(times))
    release = Release(RadialMechanism("radial", noise, (1.0, 1.0)), times)
    for epsilon in (0.5, 2.0):
        exact = totals([release], epsilon=epsilon)[-1]
        gain = np.maximum(-np.expm1(epsilon - losses), 0.0)
        error = gain.std() / math.sqrt(len(gain))
        assert exact.lower - 5 * error <= gain.mean() <= exact.upper + 5 * error
        assert exact.lower <= exact.upper <= exact.lower * 1.01


def test_another_accountant_agrees():
    noise, times = law(5, atom=0.0), 5
    pair = neighbours(noise, upper=True)
    own, other = ({i: math.log(p) for i, p in enumerate(side) if p > 0} for side in (pair.own, pair.other))
    theirs = privacy_loss_distribution.from_two_probability_mass_functions(
        own, other, value_discretization_interval=1e-4
    ).self_compose(times)
    exact = {
        e: totals([Release(RadialMechanism("radial", noise, (1.0, 1.0)), times)], epsilon=e)[-1] for e in (0.5, 3.0)
    }
    for epsilon, found in exact.items():
        said = theirs.get_delta_for_epsilon(epsilon)  # rounded up, on a coarser grid
        assert found.lower <= said and said == pytest.approx(found.upper, rel=2e-3)


def test_one_use_is_the_audit_and_samples_help(solution):
    mechanism = composable(solution, "answer")
    assert mechanism.guarantee == (1.0, solution.certificate.delta_upper)
    assert mechanism.epsilon_at(solution.certificate.delta_upper * 1.0001) <= 1.0
    whole = totals([Release(mechanism, 4)], delta=0.05)[-1]
    sampled = totals([Release(mechanism, 4, parse_sampling("poisson:0.1"))], delta=0.05)[-1]
    assert whole.lower <= whole.upper < 4.0 and sampled.upper < whole.lower


def test_the_command_line_reads_the_file(solution, tmp_path, capsys):
    path = tmp_path / "vector.json"
    path.write_text(files.solution_to_json(solution))
    assert main(["account", "--mechanism", f"file:{path}", "--count", "10", "--delta", "0.1"]) == 0
    found = json.loads(capsys.readouterr().out)
    exact = {row["rule"]: row for row in found["totals"]}["exact"]
    assert 0 < exact["epsilon_lower"] <= exact["epsilon"] < 10 and found["releases"][0]["count"] == 10
    path.write_text(path.read_text().replace('"kind": "radial"', '"kind": "square"'))
    assert main(["account", "--mechanism", f"file:{path}", "--delta", "0.1"]) == 2
    assert "noise.kind" in capsys.readouterr().err
