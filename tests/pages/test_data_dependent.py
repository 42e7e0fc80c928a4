"""The page "Data-dependent noise" under AppTest, with the real core."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from scipy.integrate import quad
from screens import idle, settle, turn, words
from streamlit.testing.v1 import AppTest

from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.figures import DARK, LIGHT
from dpcore.problem import SolverSettings
from pages.data_dependent import charts, work
from pages.data_dependent.controls import PANELS
from pages.data_dependent.headline import advantage

ROOT = Path(__file__).parents[2]
QUICK = {"gap": "10", "seconds": "10"}


def visit(**address: str) -> AppTest:
    """The page opened with these values in its address, once the solver is done."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    turn(page, "data_dependent")
    for key, value in {**QUICK, **address}.items():
        page.query_params[key] = value
    return settle(page.run())


def bounds(page: AppTest) -> list[float]:
    line = next(block.value for block in page.markdown if "-DP release" in block.value)
    return [float(text) for text in re.findall(r"\*\*([\d.]+)\*\*", line)]


def test_opens_with_both_bounds_and_what_is_gained():
    page = visit()
    lower, upper = bounds(page)
    assert 0.6 < lower <= upper < 0.68
    assert "saves" in words(page) and "certified optimum" in words(page)
    assert "must not depend on the data" in words(visit(panel="Gain"))


def test_what_is_saved_over_additive_noise_is_rounded_down():
    assert "at least 6.5" in advantage(0.6450549, 0.6902) and advantage(0.7, 0.6902) == ""


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens(panel):
    page = visit(panel=panel)
    if panel == "Release one value":
        next(button for button in page.button if button.key == "release_one").click().run()
        assert 0 <= float(page.metric[0].value) <= 4
    assert not page.exception


def test_the_published_experiments_are_computed_when_asked_for():
    """Each has its first bracket soon, and brackets only narrow: here those of runs of 10 and 30 s."""
    page = visit(panel="Published")
    page.toggle(key="run_published").set_value(True).run()
    while "…" in (here := page.dataframe[-1].value["here"].tolist()):
        idle(1)
        page.run()
        assert not page.exception
    known = ((0.646442, 0.647502), (0.940646, 0.940750), (0.096871, 0.097589))
    for text, (lower, upper) in zip(here, known, strict=True):
        below, above = map(float, text.split(" – "))
        assert below <= upper and lower <= above < 2 * upper


@pytest.mark.parametrize(
    "address",
    [
        {"weight": "normal", "mean": "1", "sd": "1", "loss": "pinball"},
        {"weight": "histogram", "bins": "1 2, 3", "loss": "steep", "threshold": "0.5"},
        {"cap": "auto", "ordered": "true"},
        {"monotone": "true", "low": "0", "high": "1"},
        {"partition": "1, 2, 3", "epsilon": "0.2", "delta": "0.05"},
        {"delta": "0", "loss": "exceed"},
    ],
)
def test_every_control_reaches_the_core(address):
    lower, upper = bounds(visit(**address, seconds="2"))
    assert 0 <= lower <= upper


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ({"low": "4", "high": "4"}, "LO < HI"),
        ({"epsilon": "99"}, "0.001 to 20"),
        ({"weight": "histogram", "bins": "a"}, "number"),
        ({"weight": "histogram", "bins": "0,5 0,25 1"}, "0,5: expected numbers; write 0.5 or 0; 5"),
        ({"partition": "1,2,3"}, "1,2,3: expected numbers; write 1; 2; 3"),
        ({"partition": "9"}, "increasing numbers"),
        ({"cap": "number", "cap_value": "0.0001"}, "at least"),
    ],
)
def test_bad_values_are_named(address, complaint):
    assert complaint in words(visit(**address, seconds="1"))


def test_intervals_may_share_noise():
    page = visit(
        partition="-1 0 1", low="-2", high="2", sensitivity="1", shared="noise", loss="asym", below="true", panel="Gain"
    )
    line = next(
        block.value for block in page.markdown if "-DP noise with one law for each of 4 intervals" in block.value
    )
    lower, upper = (float(text) for text in re.findall(r"\*\*([\d.]+)\*\*", line))
    assert 0 < lower <= upper and "Below 0 the loss is that of errors of the other sign" in words(page)
    assert "Textbook mechanisms are clamped" in words(page) and not page.exception
    assert "noise only with a partition" in words(visit(shared="noise"))


def test_intervals_of_unlike_lengths_stand_evenly():
    problem = data_dependent_problem(1, 0.2, 1, query_range=(-50, 50), partition=(-1, 0, 1), weight="normal:0:1")
    table = charts.tabulated(solve(problem, SolverSettings(gap=0.5, time_limit=5)))
    assert table.places.tolist() == [0, 1, 2, 3, 4] and table.place_of(0.5) == 2.5
    figure = charts.heat_map(table, 0.5, unit="", colours=LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["-50", "-1", "0", "1", "50"]


def test_a_step_changes_the_controls():
    page = visit()
    next(button for button in page.button if button.key == "step_0").click().run()
    assert page.session_state["epsilon"] == 0.2 and page.session_state["delta"] == 0.05


@pytest.fixture(scope="module")
def solution():
    return solve(data_dependent_problem(1, 0.2, 2, query_range=(0, 4)), SolverSettings(gap=0.05))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_charts_show_the_mechanism(solution, colours):
    table = charts.tabulated(solution)
    assert np.allclose(table.masses.sum(axis=1) + table.atoms, 1)
    assert len(charts.law(table, 1.2, unit="kg", colours=colours).frames) == solution.laws
    for figure in (
        charts.ridges(table, 1.2, unit="kg", colours=colours),
        charts.heat_map(table, 1.2, unit="", colours=colours),
    ):
        assert figure.layout.xaxis.title.text.startswith("release")


@pytest.mark.parametrize(
    ("weight", "share"),
    [
        ("histogram:1,3,0,4",
         lambda a, b: sum(m * max(0, min(b, i + 1) - max(a, i)) for i, m in enumerate((1, 3, 0, 4))) / 8),
        ("triangular", lambda a, b: quad(lambda x: 2 - abs(x - 2), a, b, points=[2])[0] / 4),
        ("normal:1:0.7", lambda a, b: (NormalDist(1, 0.7).cdf(b) - NormalDist(1, 0.7).cdf(a))
         / (NormalDist(1, 0.7).cdf(4) - NormalDist(1, 0.7).cdf(0))),
    ],
    ids=["histogram", "triangular", "normal"],
)  # fmt: skip
def test_bars_behind_the_laws_are_the_weight(solution, weight, share):
    """Shares of unequal intervals against the law itself; a bar is as long as its share over its width."""
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4), weight=weight)
    ends = [Fraction(0), Fraction(3, 10), Fraction(7, 5), Fraction(3), Fraction(4)]
    shares = [float(one) for one in problem.shares(ends)]
    assert shares == pytest.approx([share(float(a), float(b)) for a, b in zip(ends, ends[1:])], abs=2e-5)
    places = np.array([float(end) for end in ends])
    table = charts.Table(places, places, np.full((4, 4), 0.25), np.zeros(4), np.array(shares))
    (bars,) = (one for one in charts.ridges(table, 1.0, unit="", colours=LIGHT).data if one.type == "bar")
    assert np.allclose(np.array(bars.x) * bars.width / max(bars.x), shares / max(shares / np.diff(places)))
    plain = charts.ridges(charts.tabulated(solution), 1.2, unit="", colours=LIGHT)
    assert not [one for one in plain.data if one.type == "bar"]


def test_clamped_noise_is_tabulated_as_it_is(solution):
    from dataclasses import replace

    from dpcore.data_dependent.clamped import ClampedNoise

    clamped = ClampedNoise(solution.independent.noise, (0, 4))
    table = charts.tabulated(replace(solution, mechanism=clamped))
    assert np.allclose(table.masses.sum(axis=1) + table.atoms, 1)
    middles = 0.5 * (table.cells[1:] + table.cells[:-1])
    losses = (table.masses * np.abs(middles[None, :] - table.middles[:, None])).sum(axis=1)
    exact = clamped.expected_loss(solution.problem.loss, table.middles)
    assert np.allclose(losses, exact, atol=0.08)


def test_the_optimum_is_cheapest_on_average(solution):
    own, independent = work.solution_curves(solution)
    others = work.clamped_curves(solution.problem)
    assert own.average <= independent.average <= min(curve.average for curve in others) * (1 + 1e-3)
    drawn = work.average(own.values, work.weights(solution.problem))
    assert drawn == pytest.approx(own.average, rel=0.02)
