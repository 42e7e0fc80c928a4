"""The topics on dominating pairs and on the central limit theorem: numbers by other routes, what the notes print."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.pairs import dominating_pair
from dpcore.figures import LIGHT
from dpcore.noise import Gaussian, Laplace
from dpcore.privacy import Privacy
from pages.composition.controls import PAGE as COMPOSITION
from pages.composition.topics import central_limit
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.topics import three_ways


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_three_ways_agree_with_a_closed_form(epsilon):
    """The closed form of the Gaussian, and of Laplace noise."""
    gauss = dominating_pair(Gaussian(0.8), 1.0)
    mu = 1.25
    expected = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    laplace = max(1 - math.exp((epsilon - 1) / 2), 0.0)
    for pair, delta in ((gauss, expected), (dominating_pair(Laplace(1.0), 1.0), laplace)):
        assert three_ways.by_losses(pair, epsilon) == pytest.approx(delta, abs=1e-12)
        for way in (three_ways.by_upper_tangent, three_ways.by_lower_tangent):
            assert delta - 1e-5 <= way(pair, epsilon) <= delta + 1e-12


def test_what_the_notes_print_is_not_delta():
    """The second formula says 1 for nearly equal laws; Lemma 14 as printed has mass e^{μ²}; signs put it right."""
    nearly_equal = dominating_pair(Gaussian(1e4), 1.0)
    assert three_ways.as_printed(nearly_equal, 0.5) == pytest.approx(1.0)
    assert three_ways.by_losses(nearly_equal, 0.5) == pytest.approx(0.0, abs=1e-12)
    mu, t = 0.7, np.linspace(-9, 9, 200_001)
    f = stats.norm.pdf(t, mu**2 / 2, mu)
    assert np.trapezoid(np.exp(t) * f, t) == pytest.approx(math.exp(mu**2))
    for x in (-0.5, 0.4):
        corrected = np.trapezoid(np.where(t >= -x, np.exp(-t) * f, 0), t)
        assert corrected == pytest.approx(stats.norm.cdf(x, mu**2 / 2, mu), abs=1e-4)


def test_the_headline_says_one_number_three_times():
    for name in ("gaussian", "laplace", "truncated-laplace"):
        law = laws.closed_form(name, Privacy(1.0, 0.1))
        text = three_ways.picture({"law": law, "probe": 0.6}, LIGHT).headline
        numbers = [float(one) for one in re.findall(r"\*\*([\d.]+)\*\*", text)]
        assert numbers == pytest.approx([float(law.profile(0.6))] * 3, rel=5e-3)


def test_the_question_about_two_tails():
    for number in range(4):
        asked = three_ways.TOPIC.asked(number)
        at = float(re.search(r"ℓ = ([\d.]+\d)", asked.text).group(1))
        own, other = (float(one) for one in re.findall(r"0\.\d{4}", asked.text))
        assert asked.right() == pytest.approx(own - math.exp(at) * other, abs=3e-4)


def test_the_bell_s_headline_by_the_binomial_law():
    values = {**COMPOSITION.read({})[0], "cl_count": 16, "cl_total": 1.0}
    text = central_limit.picture(values, LIGHT).headline
    distance, delta = (float(one) for one in re.findall(r"\*\*([\d.]+)\*\*", text))
    p = 1 / (1 + math.exp(-0.25))
    ones = stats.binom(16, p)
    k = np.arange(17)
    assert delta == pytest.approx(ones.pmf(k) @ np.maximum(1 - np.exp(1 - 0.25 * (2 * k - 16)), 0), rel=2e-3)
    normal = stats.norm(ones.mean(), ones.std()).cdf(k)
    assert distance == pytest.approx(
        max(abs(ones.cdf(k) - normal).max(), abs(ones.cdf(k - 1) - normal).max()), rel=2e-3
    )


def test_the_question_about_mu():
    for number in range(4):
        asked = central_limit.TOPIC.asked(number)
        count, epsilon = (
            int(re.match(r"\d+", asked.text).group()),
            float(re.search(r"ε = ([\d.]+\d)", asked.text).group(1)),
        )
        p = 1 / (1 + math.exp(-epsilon))
        mean, spread = epsilon * (2 * p - 1), 2 * epsilon * math.sqrt(p * (1 - p))
        assert asked.right() == pytest.approx(2 * count * mean / (spread * math.sqrt(count)))
