"""One vector in place of an iteration's numbers: sensitivity, algorithm, and the account of isotropic noise."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.isotropic.audit import delta_upper
from dpcore.learning import vectors
from dpcore.learning.descent import Descent, features
from dpcore.learning.experiment import Protocol
from dpcore.learning.noises import StoppedError, Watch
from dpcore.learning.tables import load
from dpcore.learning.vectors import Radial, Vectors, descend, deviation, law, simulate, total
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy

EACH = Privacy(1.0, 0.05)


@pytest.fixture(scope="module")
def planar():
    return law("vector-isotropic", EACH, 2)


def test_a_replaced_person_moves_the_vector_by_at_most_two_roots():
    """All people with features at or next to corners, also with steep scores: 2√d is nearly reached, never passed."""
    d, farthest, near = 3, 0.0, 1 - 1e-4
    people = [(np.array(x, float), y) for x in product((-1, -near, near, 1), repeat=d) for y in (-1, 1)]
    for h in (np.zeros(d), np.array([1e6, 1e6, 0.0]), np.array([0.3, -2.0, 1.0])):
        parts = [-y * x / (1 + math.exp(min(y * float(x @ h), 700))) for x, y in people]
        farthest = max(farthest, max(float(np.linalg.norm(a - b)) for a, b in product(parts, parts)))
    assert 0.999 * 2 * math.sqrt(d) < farthest <= 2 * math.sqrt(d) * (1 + 1e-12)


def test_the_descent_is_the_algorithm():
    """All coordinates at once, 1/K of the step, by a plain loop."""
    table = load("ecoli")
    X, y = features(table), np.where(table.labels == 0, 1.0, -1.0)
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(5, 8))
    shifts = iter(noise)
    found = descend(X, y, Descent(5, 1e-3), np.random.default_rng(7), lambda sums: sums + next(shifts))
    h = np.random.default_rng(7).uniform(-1, 1, 8)
    for one in noise:
        slope = sum(-yi * xi / (1 + math.exp(yi * float(xi @ h))) for xi, yi in zip(X, y)) + one
        moved = h - slope / len(y) / 2
        h = np.sign(moved) * np.maximum(np.abs(moved) - 1e-3 / 2, 0)
    np.testing.assert_allclose(found[0], h, rtol=1e-9, atol=1e-12)


def test_an_iteration_has_what_its_numbers_promise():
    found = Vectors(Privacy(0.5, 0.1)).each(18)
    assert found.epsilon == 2.5 and found.delta == pytest.approx(1 - 0.9**5, rel=1e-12)


def test_the_pair_dominates_at_every_epsilon(planar):
    pair = Radial(planar, EACH.epsilon).pair
    epsilons = np.concatenate([np.linspace(0, 2, 5), np.random.default_rng(0).uniform(0, 20, 5)])
    curve = pair.delta(epsilons)
    proved = np.array([delta_upper(planar, one) for one in epsilons.tolist()])
    assert (curve >= proved).all()
    assert (curve[:5] <= proved[:5] + 2e-3).all()
    assert pair.delta(np.array([EACH.epsilon]))[0] <= EACH.delta + 1e-3


def test_the_total_of_two_vectors_is_what_draws_say(planar):
    """δ(ε) = E(1 − e^(ε − L₁ − L₂))₊, by a million draws of the losses; its error is four standard ones."""
    rng = np.random.default_rng(1)
    density = np.append(planar.masses / (math.pi * np.diff(planar.edges**2)), 0.0)

    def height(x: np.ndarray) -> np.ndarray:
        inside = np.searchsorted(planar.edges, np.linalg.norm(x, axis=1), side="left") - 1
        return density[np.clip(inside, 0, len(density) - 1)]

    def losses() -> np.ndarray:
        x = planar.with_atom(0.0).draws(1_000_000, rng)
        with np.errstate(divide="ignore"):
            return np.log(height(x)) - np.log(height(x + np.array([planar.sensitivity, 0.0])))

    assert planar.atom_mass < 1e-9
    both = losses() + losses()
    for epsilon in (0.5, 1.5, 2.5):
        parts = np.maximum(-np.expm1(epsilon - both), 0.0)
        error = 4 * float(parts.std()) / 1000
        upper, _ = total(planar, EACH, 2, epsilon, 1e-5)
        assert parts.mean() - error <= upper <= parts.mean() + error + 4e-3


def test_gaussian_vectors_are_one_gaussian():
    noise = law("vector-gaussian", EACH, 8)
    delta, epsilon = total(noise, EACH, 9, 2.0, 1e-5)
    alone = Gaussian(noise.sigma / 3)
    assert delta == pytest.approx(total(alone, EACH, 1, 2.0, 1e-5)[0], rel=1e-9)
    assert epsilon == pytest.approx(total(alone, EACH, 1, 2.0, 1e-5)[1], rel=1e-9)
    assert deviation(noise, 8) == noise.sigma


def test_the_best_isotropic_noise_is_smaller_and_the_learner_errs():
    privacy = Privacy(2.0, 2e-5)
    gaussian, best = (deviation(law(key, privacy, 8), 8) for key in vectors.NAMES)
    assert best < 0.8 * gaussian
    table, protocol = load("ecoli"), Protocol(2, 5)
    none, noisy = (simulate(table, Vectors(Privacy(0.05, 1e-6)), key, protocol) for key in ("none", "vector-gaussian"))
    assert none.means[0] < 0.06 < noisy.means[0]


def test_it_stops_before_and_after_there_is_a_law():
    table, asked = load("ecoli"), Vectors(Privacy(0.71, 1e-5))
    assert simulate(table, asked, "vector-isotropic", Protocol(2, 2), lambda: True) is None
    with pytest.raises(StoppedError):
        total(law("vector-isotropic", EACH, 2), EACH, 2, 1.0, 1e-5, Watch(lambda: True))
    asked_often = iter([False] * 150 + [True] * 1000)
    assert simulate(table, asked, "vector-gaussian", Protocol(5, 2), lambda: next(asked_often)) is None


def test_the_command_sets_a_vector_beside(capsys):
    words = ["learn", "--data", "ecoli", "--model", "coordinate-descent", "--epsilon", "1", "--delta", "1e-5",
             "--splits", "2", "--draws", "2", "--noise", "gaussian", "--vectors", "--budget"]  # fmt: skip
    assert main([*words, "each"]) == 0
    told = json.loads(capsys.readouterr().out)["vectors"]
    assert (told["dimension"], told["epsilon"]) == (8, 2.0)
    best, gaussian = (told["outcomes"][f"vector-{one}"] for one in ("isotropic", "gaussian"))
    assert best["deviation"] < gaussian["deviation"] and 0 < best["total"]["delta"] < 1e-5
    assert main([*words, "total"]) == 2
    assert "coordinate-descent with --budget each" in capsys.readouterr().err
