"""Staircases in a support with a spread atom: private as they are, cheaper than without, near the lower bound."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import laws, solve
from dpcore.optimal.cut import UNITS, Cut
from dpcore.optimal.near_end import near_end_bounds
from dpcore.optimal.spread import Spread, spread_laws
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Progress

WHOLE = (-math.inf, math.inf)


def cut_top(problem: NoiseProblem) -> tuple[float, tuple[float, float]]:
    """(cost, ends of the top step) of the best staircase cut to the support."""
    family = Cut.of(problem)
    ends = family.best(laws.best_staircase(replace(problem, support=WHOLE)))
    assert ends is not None
    family, ends = family.narrowed(*ends)
    left, right = (family.origin + float(end) * problem.sensitivity for end in ends)
    return audit.loss_upper(family.law(*ends), problem.loss), (left, right)


def first_laws(problem: NoiseProblem, top: tuple[float, float]) -> list[PiecewiseNoise]:
    """The first law for every end."""
    return [law for tried in spread_laws(problem, top, lambda: False) for law in itertools.islice(tried, 1)]


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support", "gains", "gap"),
    [  # what they cost less than the best staircase cut to the support, and how far the lower bound is
        (10, 0.1, "l1", (-1, 4), 0.09, 0.016),
        (15, 0.1, "l1", (-1, 4), 0.10, 0.011),
        (8, 0.2, "l1", (-1, 4), 0.18, 0.05),
        (9, 0.03, "asym:1:2", (-1, 3), 0.02, 0.008),
        (10, 0.1, "l1", (-1.003, 4), 0.05, 0.03),
        (10, 1e-5, "l1", (-2, 4), 0.012, 0.004),
    ],
)
def test_cheaper_than_a_top_step_alone_and_near_the_lower_bound(
    epsilon: float, delta: float, spec: str, support: tuple[float, float], gains: float, gap: float
) -> None:
    problem = noise_problem(epsilon, delta, 1.0, spec, support=support)
    cut, top = cut_top(problem)
    (law,) = first_laws(problem, top)
    assert audit.shortfall_upper(law, epsilon)[0] <= delta
    cost = audit.loss_upper(law, problem.loss)
    assert cost <= (1 - gains) * cut
    lower = max(near_end_bounds(problem, top, lambda bound: bound >= cost))
    assert lower <= cost <= (1 + gap) * lower


def test_a_mirrored_support_has_the_mirrored_law() -> None:
    one = noise_problem(8, 0.1, 2.0, "asym:1:3", support=(-2, 9))
    other = replace(one, loss=one.loss.mirrored, support=(-9, 2))
    costs = [audit.loss_upper(law, p.loss) for p in (one, other) for law in first_laws(p, cut_top(p)[1])]
    assert len(costs) == 2
    assert costs[0] == pytest.approx(costs[1], rel=1e-5)


def test_whatever_the_parameters_the_law_is_private() -> None:
    """Not only the cheapest: every law of the family, with breaks rounded to units, keeps within δ and a millionth."""
    rng = random.Random(3)
    found = 0
    for _ in range(100):
        epsilon, delta, periods = rng.uniform(4, 12), 10 ** rng.uniform(-4, -0.5), rng.choice((1, 1, 2))
        end = -periods + rng.choice((0.0, round(rng.uniform(-0.01, 0.01) * UNITS) / UNITS))
        last = rng.choice((3.0, 0.75, math.inf))
        family = Spread(parse_loss("l1"), 1.0, 0.0, epsilon, delta, end, last, periods)
        width = math.exp(-epsilon / 2) * rng.uniform(0.5, 2)
        law = family.law(width, width * rng.uniform(0.01, 0.2), rng.random())
        if law is None:
            continue
        found += 1
        breaks = np.round(law[0] * UNITS).astype(np.int64)
        assert np.array_equal(breaks, law[0] * UNITS)
        noise = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=UNITS, breaks=breaks, masses=law[1])
        assert audit.shortfall_upper(noise, epsilon)[0] <= delta * (1 + 1e-6), (epsilon, delta, end, last)
        lo, hi = noise.support
        assert end - 1e-9 <= lo <= hi <= last + 1e-9
    assert found >= 20


def test_a_search_that_is_out_of_time_ends_with_what_it_began_with() -> None:
    problem = noise_problem(10, 0.1, 1.0, "l1", support=(-1, 4))
    (tried,) = spread_laws(problem, (0.0, 0.0095), lambda: True)
    law = next(tried)
    assert audit.shortfall_upper(law, 10)[0] <= 0.1
    assert 0.00773 < audit.loss_upper(law, problem.loss) < 0.0086


def test_none_where_they_do_not_serve() -> None:
    """Monotone and even laws, an end in the middle between whole sensitivities, or so far that it uncovers too little;
    small ε, for programs do better."""
    top = (0.0, 0.01)
    asked = noise_problem(10, 0.1, 1.0, "l1", support=(-1, 4))
    assert first_laws(asked, top)
    for other in (
        replace(asked, monotone=True),
        replace(asked, support=(-3, 3), symmetric=True),
        replace(asked, support=(-1.5, 4.5)),
        replace(asked, support=(-3, 5)),
        noise_problem(4, 0.1, 1.0, "l1", support=(-1, 4)),
    ):
        assert not first_laws(other, top)


def test_numbers_are_shown_and_the_caller_is_asked_before_multipliers_are_written_down() -> None:
    """The first record has the law and a bound; whoever stops it then gets both."""
    records = []

    def stop(record: Progress) -> bool:
        records.append(record)
        return True

    found = solve(noise_problem(10, 0.1, 1.0, "l1", support=(-1, 4)), SolverSettings(time_limit=60), stop).certificate
    assert found.upper <= 0.00774 and 0 < found.lower <= found.upper
    assert records[0].upper == found.upper
    assert records[-1].seconds < 30
