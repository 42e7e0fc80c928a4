"""The noise of scripts and notebooks by its law, scripts of OpenDP, and certified laws as its measurements."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InputError
from dpcore.integrations import opendp as wrapped
from dpcore.loss import absolute
from dpcore.optimal import solve
from dpcore.plan.budget import split
from dpcore.plan.plan import Line, Plan
from dpcore.plan.public import CHANGE_ONE, Category, Number, People
from dpcore.plan.script import plan_notebook, plan_script
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Quantile, Sum
from dpcore.problem import SolverSettings, noise_problem

DRAWS = 2500
EXACT = 2500 if int(os.environ.get("THOROUGH", "0")) else 150
"""Exact draws in Python, which take longer."""

COLUMNS = {"age": Number("age", 0, 100, step=0.5), "sex": Category("sex", ("f", "m"))}
LINES = (
    Line(Count("old", (), (Condition("age", ">", 65.0),))), Line(Mean("mean", ("age",), spread=True)),
    Line(Sum("sum", ("age",)), "gaussian"), Line(Histogram("table", ("sex",)), non_negative=True),
    Line(Quantile("median", ("age",))), Line(Count("best", (), (Condition("sex", "=", "f"),)), "optimum"),
)  # fmt: skip


def passes(drawn, cells, probabilities):
    """χ² of draws in cells by their number; what is rare is taken together."""
    found, expected = np.bincount(cells, minlength=len(probabilities)), len(drawn) * np.asarray(probabilities)
    common = expected >= 8
    found = np.append(found[common], found[~common].sum())
    expected = np.append(expected[common], max(len(drawn) - expected[common].sum(), 1e-9))
    if expected[-1] < 8:
        found, expected = np.append(found[:-2], found[-2:].sum()), np.append(expected[:-2], expected[-2:].sum())
    return stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-6


def by_quantiles(noise, drawn, count=10):
    """Draws of a law with a density, in cells of one probability."""
    ends = noise.quantile(np.arange(1, count) / count)
    return passes(drawn, np.searchsorted(ends, drawn), np.full(count, 1 / count))


def on_lattice(noise, drawn, step=1.0):
    places = np.arange(-400, 401)
    return passes(drawn, np.clip(np.rint(np.array(drawn) / step).astype(int) + 400, 0, 800), noise.pmf(places * step))


@pytest.fixture(scope="module")
def made():
    return split(Plan(People(CHANGE_ONE, 600), COLUMNS, LINES, 6.0, 1e-5, 'A "title" \\ """ and its end'))


@pytest.fixture(scope="module")
def dp():
    return pytest.importorskip("opendp.prelude", reason="opendp is not installed")


def test_the_script_of_opendp_runs_in_an_environment_of_its_own_and_leaves_out_what_opendp_has_not(made, dp, tmp_path):
    script = plan_script(made, opendp=True)
    rng = np.random.default_rng(1)
    ages = rng.integers(0, 201, 600) / 2
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{a},{'fm'[rng.integers(2)]}\n" for a in ages))
    (tmp_path / "release.py").write_text(script, encoding="utf-8")
    assert "dpcore" not in script and "“best”" in script
    run = [sys.executable, "-I", str(tmp_path / "release.py"), str(tmp_path / "people.csv")]
    found = json.loads(subprocess.run(run, capture_output=True, check=True, cwd=tmp_path, text=True).stdout)
    assert list(found) == ["old", "mean", "sum", "table", "median"]
    assert found["mean"]["mean"] == pytest.approx(ages.mean(), abs=5)
    assert found["mean"]["standard deviation"] == pytest.approx(ages.std(), abs=8)
    assert found["median"] == pytest.approx(np.median(ages), abs=8)
    assert found["sum"] == pytest.approx(ages.sum(), abs=4000)
    assert sum(found["table"].values()) == pytest.approx(600, abs=60)


@pytest.mark.parametrize("kind", ["script", "notebook", "opendp"])
def test_the_noise_has_the_law_of_the_plan(kind, made, request):
    names = {"__name__": "script"}
    if kind == "opendp":
        request.getfixturevalue("dp")
    if kind == "notebook":
        cells = [cell for cell in json.loads(plan_notebook(made))["cells"] if cell["cell_type"] == "code"]
        exec("".join(cells[0]["source"]), names)
    else:
        exec(plan_script(made, opendp=kind == "opendp"), names)
    used = [one for one in made.lines if kind != "opendp" or one.line.noise != "optimum"]
    laws = [noise for one in used for noise in one.noises]
    assert [f"law_{i + 1}" in names for i in range(len(laws) + 1)] == [True] * len(laws) + [False]
    for i, noise in enumerate(laws):
        added = names[f"law_{i + 1}"]()
        drawn = [float(added(Fraction(0))) for _ in range(DRAWS if kind == "opendp" else EXACT)]
        if noise.lattice_step is not None and noise.interval(0.95)[1] < 50 * noise.lattice_step:
            assert on_lattice(noise, drawn, noise.lattice_step)
        else:
            assert by_quantiles(noise, drawn)
    median = made.lines[4]
    runs = names["runs"](0, 10, [2, 5, 9], [1, 2, 1], Fraction(1, 2))
    values = np.array([2, 5, 5, 9])
    penalty = [abs((values < c).sum() - (values > c).sum()) for c in range(11)]
    for rate in (Fraction(7, 20), median.rank_rate):
        weights = np.exp(-float(rate) * np.array(penalty))
        found = Counter(names["draw"](*runs, rate) for _ in range(DRAWS))
        assert stats.chisquare([found[c] for c in range(11)], DRAWS * weights / weights.sum()).pvalue > 1e-6


def test_a_plan_of_nothing_but_certified_optima_has_no_such_script():
    with pytest.raises(InputError, match="opendp"):
        plan_script(split(Plan(People(), COLUMNS, LINES[-1:], 1.0, 1e-6)), opendp=True)


# Certified laws as measurements ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def solutions():
    quick = SolverSettings(time_limit=2.0)
    return {
        "lattice": solve(noise_problem(0.7, 0.02, 2.0, absolute(), granularity=1.0), quick),
        "line": solve(noise_problem(1.0, 0.05, 3.0, absolute()), quick),
    }


@pytest.fixture
def features(dp):
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("honest-but-curious")


@pytest.mark.parametrize("name", ["lattice", "line"])
def test_measurements_add_noise_of_the_stated_law(name, solutions, features):
    noise = solutions[name].noise
    release = wrapped.measurement(solutions[name])
    value = 1000 if name == "lattice" else 900.0
    drawn = [release(value) - value for _ in range(DRAWS)]
    if name == "lattice":
        assert all(isinstance(one, int) for one in drawn) and on_lattice(noise, drawn)
    else:
        ends, masses = noise.listed()
        places, atom = np.array(drawn), math.fsum(mass for _, mass in noise.atoms)
        apart = (np.abs(places) < 1e-9) & (atom > 0)
        cells = np.searchsorted(ends, places + 1e-9, side="right") - 1
        assert passes(drawn, np.where(apart, len(masses), cells), np.append(masses, atom))


def test_the_privacy_map_is_right_at_multiples(solutions, features):
    """Against the hockey-stick divergence of the listed law, by hand for every shift, and group privacy."""
    solution = solutions["lattice"]
    release, law = wrapped.measurement(solution), solution.noise
    places = np.arange(-3000, 3001)
    masses = np.asarray(law.pmf(places.astype(float)))
    assert release.map(0) == (0.0, 0.0)
    assert release.map(1)[0] == 0.7 and release.map(2)[1] <= 0.02 * (1 + 1e-12)
    for times in (1, 2, 3, 5):
        epsilon, delta = release.map(2 * times)
        assert epsilon == pytest.approx(0.7 * times, rel=1e-12) and epsilon >= 0.7 * times
        worst = 0.0
        for shift in range(1, 2 * times + 1):
            moved = np.interp(places - shift, places, masses, left=0.0, right=0.0)
            worst = max(worst, float(np.maximum(masses - math.exp(epsilon) * moved, 0.0).sum()))
        group = 0.02 * math.expm1(0.7 * times) / math.expm1(0.7)
        assert worst - 1e-12 <= delta <= min(worst + 1e-9, group * (1 + 1e-9))
        assert release.map(2 * times - 1) == (epsilon, delta)


def test_measurements_compose_in_opendp(solutions, features, dp):
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance(), TO="i64")
    chained = count >> wrapped.measurement(solutions["lattice"])
    assert chained.map(2) == wrapped.privacy_map(solutions["lattice"], 2)
    assert abs(chained([1.0] * 50) - 50) < 200


def test_it_asks_for_features_and_for_what_it_can_do(solutions, dp):
    dp.enable_features("contrib")
    with pytest.raises(dp.OpenDPException, match="honest-but-curious"):
        wrapped.measurement(solutions["lattice"])
    halves = solve(noise_problem(1.0, 0.0, 2.0, absolute(), granularity=0.5), SolverSettings(time_limit=1.0))
    with pytest.raises(InputError, match="granularity"):
        wrapped.measurement(halves)


def test_values_at_the_ends_of_what_floats_hold_are_clamped(solutions, features):
    release = wrapped.measurement(solutions["line"])
    assert abs(release(math.inf) - wrapped.LARGEST) < 1e6
