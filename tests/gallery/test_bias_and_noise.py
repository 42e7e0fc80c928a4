"""Bias and noise of objective perturbation: against simulation, other minimisers and the law of the noise vector."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import integrate, optimize

from dpcore.figures import LIGHT
from dpcore.gallery import objective_perturbation as core
from pages.mechanism_gallery.controls import PAGE
from pages.mechanism_gallery.topics import bias_and_noise

TABLE = core.example(800, np.random.default_rng(3))


def solved(ridge: float) -> np.ndarray:
    """By another minimiser."""
    value = lambda t: np.logaddexp(0, -TABLE.signed @ t).sum() + ridge / 2 * t @ t  # noqa: E731
    return optimize.minimize(value, np.zeros(2), method="BFGS", options={"gtol": 1e-7}).x


def test_parts_by_another_minimiser_and_by_simulation():
    spent = core.split(2.0, ridge=3.0)
    (found,) = core.parts(TABLE, 2.0, ridges=[3.0])
    assert found.bias == pytest.approx(np.linalg.norm(solved(3.0) - solved(0.0)), rel=1e-3)
    drawn = core.perturbed_objective(
        TABLE, np.full(3000, spent.noise), np.full(3000, spent.ridge), np.random.default_rng(4)
    )
    assert found.noise == pytest.approx(math.sqrt(((drawn - solved(3.0)) ** 2).sum(axis=1).mean()), rel=0.06)


def test_the_bias_lies_between_the_eigenvalues_not_below_the_norm():
    """γ‖θ̂‖/λ_max ≤ bias ≤ γ‖θ̂‖/λ_min: what the notes print, one over the norm, is the lower end."""
    plain, ridged = solved(0.0), solved(3.0)
    mean = np.zeros((2, 2))
    for step in np.linspace(0.005, 0.995, 100):
        s = 1 / (1 + np.exp(TABLE.signed @ (ridged + step * (plain - ridged))))
        mean += (TABLE.signed * (s * (1 - s))[:, None]).T @ TABLE.signed / 100
    values = np.linalg.eigvalsh(mean + 3.0 * np.eye(2))
    (found,) = core.parts(TABLE, 2.0, ridges=[3.0])
    size = 3.0 * np.linalg.norm(plain)
    assert size / values[1] < found.bias < size / values[0]
    assert found.bias == pytest.approx(np.linalg.norm(np.linalg.solve(mean + 3.0 * np.eye(2), 3.0 * plain)), rel=1e-3)


def test_the_best_ridge_is_between_and_the_headline_says_it():
    values = {**PAGE.read({})[0], "epsilon": 0.5, "bn_people": 300}
    picture = bias_and_noise.picture(values, LIGHT)
    rows = bias_and_noise.parts(300, 1, 0.5)
    here = rows[bias_and_noise.RIDGES.index(values["bn_ridge"])]
    bold = [float(one) for one in re.findall(r"\*\*([\d.]+)\*\*", picture.headline)]
    assert bold == pytest.approx([here.bias, here.noise], rel=6e-3)
    totals = [one.total for one in rows]
    assert 0 < int(np.argmin(totals)) < len(totals) - 1


def test_the_question_by_quadrature():
    for number in range(4):
        asked = bias_and_noise.TOPIC.asked(number)
        m = int(re.search(r"in (\d+) dim", asked.text).group(1))
        rate = float(re.search(r"ε_V = ([\d.]+\d)", asked.text).group(1)) / 2
        log = lambda r, power: np.exp(power * np.log(r) - rate * r - (m - 1) * (math.log(m / rate) - 1))  # noqa: B023, E731
        top = 6 * (m + 5) / rate
        whole, first = (integrate.quad(log, 1e-12, top, (power,), limit=400)[0] for power in (m - 1, m))
        assert asked.right() == pytest.approx(first / whole, rel=1e-4)
