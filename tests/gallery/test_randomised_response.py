"""Randomised response against enumeration of everybody's answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpcore.errors import InputError
from dpcore.gallery import randomised_response as core


def by_enumeration(truths: tuple[int, ...], epsilon: float) -> dict[tuple[int, ...], float]:
    """Probability of every vector of answers."""
    stay = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {
        answers: math.prod(stay if a == t else 1 - stay for a, t in zip(answers, truths))
        for answers in itertools.product((0, 1), repeat=len(truths))
    }


@given(some.floats(0.01, 6), some.integers(1, 5), some.data())
def test_neighbours_differ_by_at_most_epsilon_and_somewhere_by_it(epsilon, people, data):
    truths = tuple(data.draw(some.lists(some.integers(0, 1), min_size=people, max_size=people)))
    who = data.draw(some.integers(0, people - 1))
    other = tuple(1 - t if i == who else t for i, t in enumerate(truths))
    first, second = by_enumeration(truths, epsilon), by_enumeration(other, epsilon)
    worst = max(math.log(first[a] / second[a]) for a in first)
    assert worst == pytest.approx(epsilon, rel=1e-9)
    assert core.epsilon_of(core.truth_probability(epsilon)) == pytest.approx(epsilon, rel=1e-9)


@given(some.floats(0.05, 5), some.floats(0, 1), some.integers(1, 6))
def test_law_mean_and_variance_against_enumeration(epsilon, share, people):
    law, mean, square = np.zeros(people + 1), 0.0, 0.0
    for truths in itertools.product((0, 1), repeat=people):
        weight = math.prod(share if t else 1 - share for t in truths)
        for answers, chance in by_enumeration(truths, epsilon).items():
            law[sum(answers)] += weight * chance
            found = core.estimate(sum(answers) / people, epsilon)
            mean, square = mean + weight * chance * found, square + weight * chance * found**2
    assert core.answers(people, share, epsilon) == pytest.approx(law, abs=1e-12)
    assert mean == pytest.approx(share, abs=1e-9 * (1 + square))
    assert square - mean**2 == pytest.approx(sum(core.variance(epsilon, share, people)), rel=1e-7)


def test_the_notes_formulas():
    """[Awan, Example 3.2]: p = 2/(1 + e^ε), lies cost e^ε/(n (e^ε − 1)²)."""
    for epsilon in (0.1, 1.0, math.log(3)):
        p = 2 / (1 + math.exp(epsilon))
        assert core.truth_probability(epsilon) == pytest.approx(1 - p / 2)
        lies, drawing = core.variance(epsilon, 0.3, 50)
        assert lies == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2 / 50, rel=1e-12)
        assert drawing == pytest.approx(0.21 / 50)
    assert core.estimate(0.6, core.epsilon_of(0.75)) == pytest.approx(0.7)


def test_a_simulated_survey_lies_as_often_as_it_should():
    lies = core.survey(np.zeros(20_000, bool), 1.0, np.random.default_rng(4)).mean()
    assert abs(lies - 1 / (1 + math.e)) < 5 * math.sqrt(0.25 / 20_000)  # five standard deviations


@pytest.mark.parametrize("call", [
    lambda: core.estimate(0.5, 0.0), lambda: core.variance(-1, 0.5, 3), lambda: core.variance(1, 1.5, 3),
    lambda: core.answers(0, 0.5, 1), lambda: core.epsilon_of(0.4), lambda: core.truth_probability(math.nan),
])  # fmt: skip
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()
