"""Naïve Bayes and coordinate descent: against plain loops and scikit-learn, and their errors over splits."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.learning.descent import Descent, descend, features
from dpcore.learning.design import Design, indicators
from dpcore.learning.estimators import PrivateCoordinateDescent, PrivateNaiveBayes
from dpcore.learning.experiment import Asked, Protocol, closed, one_sided, simulate
from dpcore.learning.naive_bayes import PUBLISHED, Learner, Scales, predicted, statistics, weights
from dpcore.learning.published import PRINTED
from dpcore.learning.tables import FROM_DATA, load, read_table
from dpcore.learning.tuning import optimised
from dpcore.privacy import Privacy

EACH = Asked("naive-bayes", Privacy(1, 0.1), "each", "published")
EXPECTED_FAILURES: dict[str, str] = {}
"""Checks of scikit-learn that an estimator need not pass, with the reason: none."""


@pytest.fixture(scope="module")
def survey():
    return load("contraceptive")


@pytest.mark.parametrize("recipe", ["published", "corrected"])
def test_scores_are_those_of_the_formulas(survey, recipe):
    """One noisy draw, by the definitions: products of probabilities and normal densities."""
    learner = PUBLISHED if recipe == "published" else Learner("corrected", 1.0, 0.01)
    design, y = Design.of(survey), survey.labels
    sums = design.matrix.T @ indicators(y, 3)
    noise = np.random.default_rng(0).laplace(size=(2, *sums.shape))
    found = statistics(design, sums, learner, noise)
    guess = predicted(design.matrix, weights(design, found, learner))
    rows = np.random.default_rng(1).choice(len(y), 60, replace=False)
    for draw, row in product(range(2), rows):
        chances = []
        for code in range(3):
            count = sums[0, code] + noise[draw, 0, code]
            log, cell, number = math.log(count + learner.smoothing), 1, 0
            for at, column in enumerate(survey.columns):
                value = survey.values[row, at]
                if at in survey.categories:
                    place = cell + int(value)
                    seen = max(sums[place, code] + noise[draw, place, code], 1e-9 if recipe == "published" else 0.0)
                    size = len(column.values)
                    log += math.log((seen + learner.smoothing) / (count + learner.smoothing * size))
                    cell += size
                else:
                    here = survey.values[y == code, at]
                    z, inside = (2 * v - column.low - column.high for v in (value, here))
                    z, inside = z / (column.high - column.low), inside / (column.high - column.low)
                    one, two = (noise[draw, 23 + 2 * i + number, code] for i in range(2))
                    if recipe == "published":
                        mean = inside.mean() + one * 2 / len(here)
                        deviation = inside.std() + two * 2 / math.sqrt(len(here))
                    else:
                        mean = (inside.sum() + 2 * one) / count
                        deviation = math.sqrt(max(((inside**2 - 0.5).sum() + two) / count + 0.5 - mean**2, 1e-4))
                    log += -math.log(max(deviation, 1e-6)) - 0.5 * ((z - mean) / deviation) ** 2
                    number += 1
            chances.append(log)
        best = sorted(chances)
        assert best[-1] - best[-2] < 1e-3 or guess[row, draw] == int(np.argmax(chances))


def test_without_noise_it_is_scikit_learns_naive_bayes(survey):
    wine, cancer = load("wine"), load("breast-cancer")
    ours = PrivateNaiveBayes(noise="none", smoothing=0.0).fit(wine.values, wine.labels)
    theirs = GaussianNB().fit(wine.values, wine.labels)
    assert (ours.predict(wine.values) == theirs.predict(wine.values)).mean() > 0.99
    ours = PrivateNaiveBayes(noise="none", categories=dict.fromkeys(range(9), 10)).fit(cancer.values, cancer.labels)
    theirs = CategoricalNB(min_categories=10).fit(cancer.values.astype(int), cancer.labels)
    assert (ours.predict(cancer.values) == theirs.predict(cancer.values.astype(int))).mean() > 0.99


@pytest.mark.parametrize("estimator", [
    PrivateNaiveBayes(noise="none", random_state=0), PrivateCoordinateDescent(noise="none", random_state=0),
], ids=lambda one: type(one).__name__)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong(estimator):
    checked = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None)
    assert [one["check_name"] for one in checked if one["status"] == "failed"] == []


@pytest.mark.parametrize("kind", [PrivateNaiveBayes, PrivateCoordinateDescent])
def test_nothing_public_is_taken_from_private_data(kind):
    X, y = np.random.default_rng(0).uniform(-1, 1, (400, 2)), np.arange(400) % 2
    X[:, 0] += y
    with pytest.raises(InputError, match="ranges"):
        kind(classes=[0, 1]).fit(X, y)
    with pytest.raises(InputError, match="classes"):
        kind(ranges=[(-1, 2)]).fit(X, y)
    with pytest.raises(InputError, match="one of the classes stated: 0, 2"):
        kind(ranges=[(-1, 2)], classes=[0, 2]).fit(X, y)
    with pytest.raises(InputError, match="noise"):
        kind(noise="wishful", ranges=[(-1, 2)], classes=[0, 1]).fit(X, y)
    asked = {"epsilon": 10.0, "noise": "gaussian", "ranges": [(-1, 2)], "classes": [0, 1]}
    again = [kind(**asked, random_state=3).fit(X, y).predict(X).tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert kind(**asked).fit(X, y).score(X, y) > 0.5, "drawn exactly"


def test_descent_is_the_algorithm():
    """T iterations of K steps on random coordinates from a random start, means of iterates, by a plain loop."""
    table = load("ecoli")
    X, y = features(table), np.where(table.labels == 0, 1.0, -1.0)
    asked = Descent(7, 1e-3)
    shifts = iter(np.linspace(-3, 3, 14).tolist())
    found = descend(X, y, asked, np.random.default_rng(5), lambda sums: sums + next(shifts))
    rng, noise = np.random.default_rng(5), iter(np.linspace(-3, 3, 14).tolist())
    h = rng.uniform(-1, 1, (1, 8))[0]
    for _ in range(7):
        points = []
        for l in rng.permutation(8)[:2]:
            slope = sum(-yi * xi[l] / (1 + math.exp(yi * float(xi @ h))) for xi, yi in zip(X, y)) + next(noise)
            moved = h[l] - slope / len(y)
            h = h.copy()
            h[l] = math.copysign(max(abs(moved) - 1e-3, 0), moved)
            points.append(h)
        h = np.mean(points, axis=0)
    np.testing.assert_allclose(found[0], h, rtol=1e-9, atol=1e-12)


def test_errors_without_noise_are_those_printed():
    """[SLW, Table 2] in sample; out of sample the standard error of 20 splits is .5 to .7 points."""
    printed = {"contraceptive": (0.4914, 0.5108), "breast-cancer": (0.0212, 0.0346), "ecoli": (0.0397, 0.0452)}
    for name, (inside, outside) in printed.items():
        found = simulate(load(name), EACH, "none", Protocol(30, 1)).means
        assert found[0] == pytest.approx(inside, abs=0.004) and found[1] == pytest.approx(outside, abs=0.02), name


def test_more_noise_errs_more():
    protocol, table = Protocol(4, 20), load("breast-cancer")
    none, little, much = (
        simulate(table, Asked("naive-bayes", Privacy(e, 1e-5)), key, protocol)
        for e, key in ((1, "none"), (10, "gaussian"), (0.3, "gaussian"))
    )
    assert none.means[0] < little.means[0] < much.means[0]
    assert one_sided(little.inside, much.inside)[1] < 0.05
    assert 0 < closed(little, much, none)[0] < 1


def test_a_simulation_can_be_stopped(survey):
    asked = iter([False] * 3 + [True] * 100)
    found = simulate(survey, EACH, "gaussian", Protocol(50, 20), lambda: next(asked))
    assert len(found.inside) == 3
    assert simulate(survey, EACH, "gaussian", Protocol(50, 20), lambda: True) is None


def test_the_t_test_is_the_paired_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=30), rng.normal(0.3, 1, 30)
    expected = stats.ttest_rel(a, b, alternative="less")
    assert one_sided(a, b) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    assert one_sided([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.5)


def test_weights_are_chosen_without_the_data():
    table = load("iris")
    asked = Asked("naive-bayes", Privacy(2, 1e-5))
    found = optimised(asked, table)
    shuffled = type(table)(table.name, table.columns, table.values[::-1] * 0, table.classes, table.labels)
    assert found == optimised(asked, shuffled) and found.weights[:2] == (1.0, 1.0)


def test_files_need_ranges():
    text = "age,job,ill\n" + "".join(f"{20 + i % 30},{'ab'[i % 2]},{i % 2}\n" for i in range(40))
    with pytest.raises(InputError, match="age=LOW:HIGH or age=A"):
        read_table(text, "ill", "job=a|b")
    with pytest.raises(InputError, match="job"):
        read_table(text, "ill", "age=0:99; job=a|c")
    with pytest.raises(InputError, match="one of the columns"):
        read_table(text, "sick", "")
    table = read_table(text, "ill", "age=0:30; job=a|b")
    assert table.public and table.values[:, 0].max() == 30, "clamped"
    assert not read_table(text, "ill", FROM_DATA).public
    assert not table.classes_public and not read_table(text, "ill", FROM_DATA).classes_public
    stated = read_table(text, "ill", "age=0:30; job=ignored; ill=1|0")
    assert [one.name for one in stated.columns] == ["age"] and stated.classes == ("1", "0") and stated.classes_public
    assert (stated.labels == 1 - table.labels).all(), "in the order stated"
    wrong = {
        "age=0:30; job=a|b; ill=0|2": "ill = 1", "age=0:30; job=a|b; ill=0:1": "label = ill between",
        "age=0:30; job=a|b; ill=ignored": "ranges", "age=ignored; job=ignored": "0 columns",
    }  # fmt: skip
    for ranges, said in wrong.items():
        with pytest.raises(InputError, match=said):
            read_table(text, "ill", ranges)


def test_a_table_too_large_to_add_up_is_refused():
    values = "|".join(map(str, range(999)))
    text = "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(12_000))
    with pytest.raises(InputError, match="at most 10000 rows with so many columns and values"):
        read_table(text, "y", f"a={values}")


def test_the_command_says_errors_promise_and_tests(capsys, tmp_path):
    words = ["learn", "--data", "ecoli", "--epsilon", "1", "--delta", "0.1", "--budget", "each", "--splits", "3",
             "--draws", "5", "--noise", "gaussian,truncated-laplace"]  # fmt: skip
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["outcomes"]) == ["none", "gaussian", "truncated-laplace"]
    one = told["outcomes"]["gaussian"]
    assert one["total"] is None and 0 < one["in_sample"] < 1 and "none" in one["errs_less_than"]
    assert main([*words, "--sensitivities", "corrected"]) == 0
    known = json.loads(capsys.readouterr().out)["outcomes"]["truncated-laplace"]["total"]
    assert known["delta"] > 0.5 and known["epsilon"] == 16
    file = tmp_path / "t.csv"
    file.write_text("x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(50)))
    own = ["learn", "--data", str(file), "--label", "y", "--ranges", "x=0:6", "--epsilon", "1", "--delta", "1e-5"]
    assert main([*own, "--splits", "2", "--draws", "2", "--noise", "laplace", "--weights", "optimised"]) == 0
    assert json.loads(capsys.readouterr().out)["statistics_one_person_changes"] == 6


@pytest.mark.parametrize(("content", "said"), [(b"x,y\n" * 10, "at most 0 MB"), (b"\xff\xfe", "no text in UTF-8")])
def test_a_file_that_is_too_large_or_no_text_is_refused(content, said, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("dpcore.reload.MAX_BYTES", 20)
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    assert main(["learn", "--data", str(file), "--label", "y", "--epsilon", "1", "--delta", "1e-5"]) == 2
    assert f"data = {file}" in (told := capsys.readouterr().err) and said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "nothing"], "data = nothing"), (["--noise", "wishful"], "noise = wishful"),
        (["--model", "oracle"], "model = oracle"), (["--splits", "1"], "splits = 1"),
        (["--sensitivities", "published"], "sensitivities = published"), (["--weights", "1,2"], "weights"),
        (["--budget", "some"], "budget = some"), (["--epsilon", "30"], "epsilon = 30"),
    ],
)  # fmt: skip
def test_mistakes_are_named(words, said, capsys):
    first = ["learn", "--data", "ecoli", "--epsilon", "1", "--delta", "1e-5", "--splits", "2", "--draws", "1"]
    assert main([*first, *words]) == 2
    assert said in capsys.readouterr().err


def test_the_program_of_the_authors_rounds_sensitivities_up_and_has_the_printed_errors():
    """Ages from 16 to 49 and 0 to 16 children of 629, 333 and 511 women [contraceptive; SLW, Table 2]."""
    table = load("contraceptive")
    scales, years, children = Scales.of(table), 33 / 2, 16 / 2
    assert np.bincount(table.labels).tolist() == [629, 333, 511]
    assert np.allclose(scales.means * [[years], [children]], 1)  # .05, .1 and .06 years, all fewer than one
    assert np.allclose(scales.deviations * [[years], [children]], [[2, 2, 2], [1, 1, 1]])  # 1.3, 1.8, 1.5; .6, .9, .7
    assert np.allclose(scales.narrowest * [[years], [children]], 1)
    program, text = (Asked("naive-bayes", Privacy(1, 0.1), "each", recipe) for recipe in ("program", "published"))
    for key in ("gaussian", "truncated-laplace"):
        printed = PRINTED["naive-bayes"]["contraceptive"][key][0] / 100
        assert simulate(table, program, key, Protocol(12, 60)).means[0] == pytest.approx(printed, abs=0.009)
        assert simulate(table, text, key, Protocol(12, 60)).means[0] < printed - 0.012


def test_nothing_is_known_of_the_whole_with_rounded_sensitivities():
    with pytest.raises(InputError, match="private counts"):
        Asked("naive-bayes", Privacy(1, 0.1), "total", "program")
    with pytest.raises(InputError, match="published sensitivities"):
        Asked("naive-bayes", Privacy(1, 0.1), "each", "program").law("data-dependent", load("contraceptive"))
