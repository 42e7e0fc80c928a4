"""How far one person moves what is released, by brute force, and what all of it keeps, by other routes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from dpcore.accounting.mechanisms import Additive, Release
from dpcore.accounting.truth import FINE, Truth
from dpcore.learning import noises
from dpcore.learning.design import CELL, COUNT, SQUARE, SUM, Design, indicators
from dpcore.learning.experiment import Asked
from dpcore.learning.tables import load
from dpcore.noise import Laplace, TruncatedLaplace
from dpcore.plan.public import Category, Number
from dpcore.privacy import Privacy

LOW, HIGH = -1.0, 3.0
PEOPLE = list(product((LOW, 0.5, 1.0, HIGH), (0, 1)))
"""(number, class) that a person may have."""


def neighbours(rows: int):
    """All data sets of so many rows, each with every one that replaces its first row."""
    for first, other in product(PEOPLE, PEOPLE):
        for rest in product(PEOPLE, repeat=rows - 1):
            yield (first, *rest), (other, *rest)


def of_class(data, code):
    return np.array([x for x, y in data if y == code])


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_published_sensitivities_hold_at_the_data_they_are_computed_from(rows):
    """(u − l)/n_c for a mean, (u − l)/√n_c for a deviation, n_c counted in either data set: both hold, for population
    and for sample deviations, between classes that are not empty."""
    width, reached = HIGH - LOW, [0.0, 0.0]
    for one, two in neighbours(rows):
        a, b = of_class(one, 0), of_class(two, 0)
        if len(a) == 0 or len(b) == 0:
            continue
        moved = abs(a.mean() - b.mean()), abs(a.std() - b.std())
        assert moved[0] <= width / len(a) + 1e-12
        assert moved[1] <= width / math.sqrt(len(a)) + 1e-12
        if min(len(a), len(b)) > 1:
            assert abs(a.std(ddof=1) - b.std(ddof=1)) <= width / math.sqrt(len(a)) + 1e-12
        if len(a) == len(b) == rows:
            reached = [max(old, new) for old, new in zip(reached, moved)]
    assert reached[0] == pytest.approx(width / rows)
    assert reached[1] == pytest.approx(width * math.sqrt(rows - 1) / rows), "a little less than (u − l)/√n"


def test_noise_in_proportion_to_private_counts_keeps_less_than_it_says():
    """Two neighbours whose class has 1 and 2 members, noise of (1, .1) by the published rule: far more than .1."""
    law = TruncatedLaplace.calibrate(Privacy(1, 0.1), 1.0)
    grid = np.linspace(-12, 12, 400_001)
    alone, with_another = law.density(grid) / 1.0, law.density(2 * grid) * 2  # noise of width u − l and (u − l)/2
    step = grid[1] - grid[0]
    shortfall = max(
        float(np.maximum(p - math.e * q, 0).sum() * step)
        for p, q in ((alone, with_another), (with_another, alone))
    )  # fmt: skip
    assert shortfall > 0.15


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_corrected_sums_move_as_told(rows):
    columns = (Number("x", LOW, HIGH), Category("k", ("a", "b", "c")))
    most = {"stays": np.zeros(4), "moves": np.zeros(4)}
    counted = {"stays": np.zeros(4, int), "moves": np.zeros(4, int)}
    people = list(product((LOW, 1.0, HIGH), (0.0, 1.0, 2.0), (0, 1)))
    scale = None
    for first, other in product(people, people):
        for rest in product(people[::5], repeat=rows - 1):
            sums = []
            for data in ((first, *rest), (other, *rest)):
                design = Design.of_values(np.array([p[:2] for p in data]), columns)
                sums.append(design.matrix.T @ indicators(np.array([p[2] for p in data]), 2))
            change = np.abs(sums[0] - sums[1]) / design.sensitivities[:, None]
            case = "stays" if first[2] == other[2] else "moves"
            for kind in (COUNT, CELL, SUM, SQUARE):
                here = change[design.kinds == kind]
                most[case][kind] = max(most[case][kind], here.max())
                counted[case][kind] = max(counted[case][kind], int((here > 1e-12).sum()))
            scale = design
    for case, told in zip(("stays", "moves"), scale.moved):
        by_kind = {kind: (share, count) for kind, share, count in told}
        for kind in (COUNT, CELL, SUM, SQUARE):
            share, count = by_kind.get(kind, (0.0, 0))
            assert (most[case][kind], counted[case][kind]) == (share, count), (case, kind)


def test_one_person_enters_twelve_statistics_and_changes_twenty_four():
    """contraceptive: a count, seven cells, two means, two deviations, of one class or of two."""
    design = Design.of(load("contraceptive"))
    assert design.touched == (12, 24)
    for number in design.touched:
        assert noises.promised_delta(Privacy(1, 0.1), number, number) == pytest.approx(1 - 0.9**number, rel=1e-6)
    assert 1 - 0.9**12 == pytest.approx(0.7176, abs=5e-5)


@pytest.mark.parametrize(
    ("key", "weights"),
    [
        ("gaussian", (1.0, 1.0, 1.0, 1.0)), ("gaussian", (1.0, 1.0, 0.5, 2.0)), ("laplace", (1.0, 1.0, 0.5, 2.0)),
        ("gaussian-classical", (1.0, 1.0, 0.5, 2.0)), ("truncated-laplace", (1.0, 1.0, 1.0, 1.0)),
    ],
)  # fmt: skip
def test_everything_together_keeps_the_total(key, weights):
    privacy = Privacy(1.0, 1e-5)
    asked = Asked("naive-bayes", privacy, weights=weights)
    table = load("ecoli")
    law = asked.law(key, table)
    for case in asked.cases(table):
        composed = Truth([Release(Additive("x", law, shift), count) for shift, count in case], points=FINE, delta=1e-5)
        assert composed.delta(1.0).lower <= 1e-5 * (1 + 1e-9)
        assert composed.delta(1.0).upper <= 1e-5 * (1 + 1e-4)
    if key == "gaussian":
        squares = max(sum(count * shift**2 for shift, count in case) for case in asked.cases(table))
        assert law.gaussian_mu(math.sqrt(squares)) == pytest.approx(1 / type(law).calibrate(privacy, 1.0).sigma)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.5), (0.3, 0.1), (1.0, 1e-12)])
def test_a_calibration_takes_what_the_total_allows(epsilon, delta):
    """Also where δ alone lets some noise pass with ε = 0: no more is added than the accountant asks for."""
    cases = Asked("naive-bayes", Privacy(epsilon, delta)).cases(load("ecoli"))
    law = noises.together("laplace", Privacy(epsilon, delta), cases)
    assert noises.keeps(law, Privacy(epsilon, delta), cases)
    assert not noises.keeps(Laplace(law.scale * 0.99), Privacy(epsilon, delta), cases)


def test_the_best_law_for_many_counts_keeps_the_total():
    """breast-cancer, where no sum moves by a part of its sensitivity; at ε = 10 it beats the Gaussian."""
    asked, table = Asked("naive-bayes", Privacy(10.0, 1e-5)), load("breast-cancer")
    law = asked.law("optimal", table)
    assert noises.amplitude(law) < 0.96 * noises.amplitude(asked.law("gaussian", table))
    for case in asked.cases(table):
        releases = [Release(Additive("x", law, shift), count) for shift, count in case]
        assert Truth(releases, points=FINE, delta=1e-5).delta(10.0).upper <= 1e-5 * (1 + 1e-4)


def test_pure_laws_add_up():
    """δ = 0: half a shift costs Laplace noise half of ε; other laws are charged all of it."""
    asked = Asked("naive-bayes", Privacy(6.0, 0.0))
    table = load("ecoli")
    stays, moves = asked.cases(table)
    laplace = asked.law("laplace", table)
    assert sum(shift * count for shift, count in moves) / laplace.scale <= 6.0
    assert asked.law("staircase", table).epsilon * sum(count for _, count in moves) <= 6.0
    assert sum(count for _, count in stays) <= sum(count for _, count in moves)


def test_coordinate_descent_releases_two_hundred_sums():
    """T·K = 200 on ecoli; at (1, .1) each what is promised together is nothing."""
    asked = Asked("coordinate-descent", Privacy(1, 0.1), "each")
    ((_, count),) = asked.cases(load("ecoli"))[0]
    assert count == 200 and noises.promised_delta(Privacy(1, 0.1), 200, 200.0) > 1 - 1e-8
