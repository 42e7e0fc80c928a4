"""Data-dependent noise of means and standard deviations: what is drawn, what is certified, and where it is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.data_dependent.channel import Channel
from dpcore.errors import InputError
from dpcore.learning import bounded
from dpcore.learning.bounded import DataDependent, best, releases, solved
from dpcore.learning.design import SQUARE, SUM, Design, indicators
from dpcore.learning.estimators import PrivateNaiveBayes
from dpcore.learning.experiment import Asked, Protocol, simulate
from dpcore.learning.naive_bayes import PUBLISHED, statistics
from dpcore.learning.noises import drawn
from dpcore.learning.tables import load
from dpcore.loss import absolute
from dpcore.privacy import Privacy

PRIVACY = Privacy(1.0, 0.1)
EACH = Asked("naive-bayes", PRIVACY, "each", "published")


def test_a_range_of_few_sensitivities_is_certified_to_cost_less():
    found = solved(PRIVACY, 4)
    assert found.certificate.delta_upper <= 0.1
    assert (
        0.9 * found.certificate.upper < found.certificate.lower <= found.certificate.upper < 0.93 * found.clamped_upper
    )


def test_a_width_is_rounded_up_and_wide_ones_are_clamped():
    assert best(PRIVACY, 2.3).grid.query_range == (0.0, 3.0)
    assert best(PRIVACY, 16.5) is None


def test_draws_are_those_of_the_mechanism():
    made = best(PRIVACY, 3.0)
    assert isinstance(made, Channel)
    rng = np.random.default_rng(0)
    for value in (0.0, 0.7, 1.5, 2.9):
        found = releases(made, value, rng, 100_000)
        assert found.min() >= 0 and found.max() <= 3
        mean, error = np.abs(found - value).mean(), np.abs(found - value).std() / 100_000**0.5
        assert mean == pytest.approx(made.expected_loss(absolute(), [value])[0], abs=5 * error)


def test_statistics_stay_in_their_ranges_and_counts_get_the_optimum():
    table = load("ecoli")
    design = Design.of(table)
    sums = design.matrix.T @ indicators(table.labels, 2)
    law = DataDependent.of(PRIVACY)
    noise = law.drawn(design, sums, PUBLISHED, np.random.default_rng(1), 300)
    plain = drawn(law.noise, np.random.default_rng(1), noise.shape)
    others = [at for at, kind in enumerate(design.kinds) if kind not in (SUM, SQUARE)]
    assert (noise[:, others] == plain[:, others]).all()
    found = statistics(design, sums, PUBLISHED, noise)
    assert np.abs(found.means).max() <= 1 + 1e-12
    assert found.deviations.min() >= 1e-6 and found.deviations.max() <= 1 + 1e-12
    raw = statistics(design, sums, PUBLISHED, plain)
    zeros = (raw.deviations == 1e-6).mean(), (found.deviations == 1e-6).mean()
    assert zeros[0] > 0.03 > 10 * zeros[1], "0 is hardly ever released"


def test_ecoli_is_learnt_better():
    table, protocol = load("ecoli"), Protocol(3, 20)
    optimum, dependent = (simulate(table, EACH, key, protocol) for key in ("optimal", "data-dependent"))
    assert dependent.means[0] < 0.6 * optimum.means[0]


def test_it_is_for_published_sensitivities_alone():
    for asked in (Asked("naive-bayes", PRIVACY), Asked("naive-bayes", PRIVACY, "each", "corrected"),
                  Asked("coordinate-descent", PRIVACY, "each", "published")):  # fmt: skip
        with pytest.raises(InputError, match="noise = data-dependent: expected a budget for each statistic"):
            asked.law("data-dependent", load("ecoli"))
    model = PrivateNaiveBayes(1.0, 1e-5, noise="data-dependent", ranges=[(0, 1)], classes=[0, 1])
    with pytest.raises(InputError, match="noise"):
        model.fit(np.zeros((40, 1)), np.arange(40) % 2)


def test_it_is_stopped_while_it_solves():
    bounded.solved.cache_clear()
    looks = iter([False] * 3 + [True] * 1000)
    assert simulate(load("ecoli"), EACH, "data-dependent", Protocol(2, 2), lambda: next(looks)) is None


def test_the_command_takes_it(capsys):
    words = ["learn", "--data", "ecoli", "--epsilon", "1", "--delta", "0.1", "--splits", "2", "--draws", "2", "--noise",
             "data-dependent,gaussian", "--budget"]  # fmt: skip
    assert main([*words, "each"]) == 0
    assert list(json.loads(capsys.readouterr().out)["outcomes"]) == ["none", "data-dependent", "gaussian"]
    assert main([*words, "total"]) == 0
    assert "published sensitivities" in json.loads(capsys.readouterr().out)["refused"]["data-dependent"]
