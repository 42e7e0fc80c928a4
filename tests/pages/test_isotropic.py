"""The page "Vectors in d dimensions" under AppTest, with the real core."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from screens import ROOT, number, settle, turn, until, words
from streamlit.testing.v1 import AppTest

from dpcore.figures import DARK, LIGHT
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss
from dpcore.isotropic.search import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from pages.isotropic import charts, headline, panels, work
from pages.isotropic.controls import PANELS, PRESETS, read_problem

QUICK = {"gap": "30", "seconds": "10", "dimension": "2", "epsilon": "2", "delta": "0.2", "panel": "export"}


def visit(**address: str) -> AppTest:
    """The page opened with these values in its address, once the solver is done."""
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "isotropic")
    for key, value in {**QUICK, **address}.items():
        page.query_params[key] = value
    return settle(page.run())


def figures(page: AppTest) -> list[float]:
    """The numbers in bold of the headline: the Gaussian's loss and both bounds."""
    line = next(block.value for block in page.markdown if block.value.startswith("Noise for"))
    return [float(text.replace("\u202f", "")) for text in re.findall(r"\*\*([\d.\u202f]+)\*\*", line)]


def test_the_headline_has_the_gaussian_and_both_bounds():
    gaussian, lower, upper = figures(visit(loss="norm"))
    assert gaussian == pytest.approx(0.754, abs=1e-3)
    assert 0.5 < lower <= 0.6583 <= upper * 1.001 < 0.75
    shown = words(visit(loss="norm"))
    assert "Replace the Gaussian" in shown and "mean length of the error" in shown


@pytest.mark.parametrize("panel", [name for name in PANELS if name != "map"])
def test_every_panel_opens(panel):
    page = visit(panel=panel)
    if panel == "release":
        page.text_area(key="true_values").set_value("3.5").run()
        page.button(key="release_one").click().run()
        assert "1 of 2 values were given" in words(page)
        first, second = (float(text) for text in page.code[-1].value.split(", "))
        assert abs(first - 3.5) < 50 and abs(second) < 50
        page.text_area(key="true_values").set_value("1, 2, 3").run()
        page.button(key="release_one").click().run()
        assert "true values = 3 numbers" in words(page)
    assert not page.exception


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ({"epsilon": "99"}, "0.001 to 20"),
        ({"delta": "0"}, "a positive number"),
        ({"sensitivity": "-1"}, "1e-9"),
        ({"loss": "power", "power": "30"}, "above 0, at most 20"),
        ({"loss": "exceed", "threshold": "-2"}, "0 to"),
        ({"gap": "0"}, "target gap"),
        ({"dimension": "1001"}, "dimension = 1001"),
    ],
)
def test_bad_values_are_named(address, complaint):
    said = words(visit(**address)).replace("10\u207b\u2079", "1e-9")
    assert complaint in said


def test_numbers_typed_out_of_range_are_refused_at_their_field():
    page = visit()
    number(page, "dimension").set_value("2000").run()
    assert "expected a whole number from 1 to 1000" in words(page) and page.session_state["dimension"] == 2


@pytest.mark.parametrize("view", ["radius", "density", "picture"])
@pytest.mark.parametrize("dimension", ["1", "3"])
def test_every_view_is_drawn(view, dimension):
    page = visit(view=view, dimension=dimension, unit="kg")
    assert not page.exception and "kg" in words(page)
    assert ("no such picture" in words(page)) == (view == "picture" and dimension == "1")


def test_presets_are_accepted():
    first = {"power": 1.5, "threshold": 5.0}
    problems = [read_problem(first | values) for values in PRESETS.values()]
    assert [problem.dimension for problem in problems] == [10, 64, 1000]
    page = visit()
    page.button(key="step_0").click().run()
    assert page.session_state["dimension"] == 10


def test_the_map_fills_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(work, "EACH", SolverSettings(gap=0.5, time_limit=10.0))
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "isotropic")
    page.query_params.update(QUICK | {"panel": "map"})
    page = until(page.run(), *(f"{n} of {len(work.DIMENSIONS)} dimensions" for n in range(1, 6)))
    page.button(key="stop_map").click().run()
    for _ in range(20):
        if any(button.key == "resume_map" for button in page.button):
            break
        page.run()
    assert any(button.key == "resume_map" for button in page.button) and not page.exception


SOLVED = IsotropicProblem(2, Privacy(2.0, 0.2), RadialLoss(), 3.0)


@pytest.fixture(scope="module")
def solution():
    return solve(SOLVED, SolverSettings(gap=0.2))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_charts_show_the_laws(solution, colours):
    noise, curves = solution.noise, [charts.curve_of(one, SOLVED) for one in work.known_laws(SOLVED, certify=False)]
    radial = charts.radial(noise, curves, unit="kg", colours=colours)
    (own,) = [trace for trace in radial.data if trace.name == "certified law"]
    shown = np.trapezoid(own.y, own.x)
    assert 0.98 <= shown + noise.atom_mass <= 1 + 1e-9
    for figure in (
        charts.density(noise, curves, unit="kg", colours=colours), charts.plane(noise, unit="kg", colours=colours),
    ):  # fmt: skip
        assert "(kg)" in figure.layout.xaxis.title.text
    solid = solve(IsotropicProblem(3, Privacy(2.0, 0.2)), SolverSettings(gap=0.5)).noise
    assert len(charts.cloud(solid, unit="", colours=colours).frames) == charts.TURNS


def test_the_density_of_the_plane_integrates_to_what_is_not_at_the_centre(solution):
    (heat, _) = charts.plane(solution.noise, unit="", colours=LIGHT).data
    step = heat.x[1] - heat.x[0]
    assert heat.customdata.sum() * step**2 + solution.noise.atom_mass == pytest.approx(0.995, abs=0.03)


@pytest.mark.parametrize("loss", [RadialLoss(), RadialLoss(2.0)])
def test_curves_are_the_laws_that_were_calibrated(loss):
    """Their mean loss by quadrature is what the mechanism is said to pay."""
    problem = IsotropicProblem(5, Privacy(1.0, 0.01), loss, 2.0)
    for one in work.known_laws(problem, certify=False):
        curve = charts.curve_of(one, problem)
        r = np.linspace(1e-6, min(curve.quantile(1 - 1e-12), 400.0), 200_001)
        density = np.exp(curve.log_radial(r))
        assert np.trapezoid(density, r) == pytest.approx(1, abs=1e-4), one.key
        assert np.trapezoid(density * loss(r), r) == pytest.approx(one.loss, rel=1e-3), one.key
        assert np.trapezoid(density[r <= curve.quantile(0.3)], r[r <= curve.quantile(0.3)]) == pytest.approx(0.3, 1e-3)


def test_a_known_law_that_is_ahead_of_the_search_bounds_the_best_possible(solution):
    gaussian = work.gaussian_loss(SOLVED)
    assert headline.least(SOLVED, solution, ()) == min(solution.upper, gaussian * (1 + 1e-9))
    known = work.known_laws(SOLVED, certify=False)
    better, guessed = replace(known[0], loss=solution.lower), replace(known[0], loss=0.0, delta_upper=None)
    assert headline.least(SOLVED, solution, [better, guessed]) == pytest.approx(solution.lower)
    assert headline.verdict(SOLVED, gaussian, 0.99 * gaussian).startswith("Keep the Gaussian: at most 1")
    assert headline.verdict(SOLVED, 0.5 * gaussian, 0.4 * gaussian).startswith("Replace the Gaussian: 50")
    assert headline.verdict(SOLVED, gaussian, 0.4 * gaussian).startswith("Not settled")


def test_the_map_measures_excess_over_the_lower_bound():
    problem = work.Over(Privacy(1.0, 0.01), RadialLoss(2.0), 1.0).at(4)
    known = work.known_laws(problem, certify=False)
    points = [work.Point(4, 5.0, 6.0, known), work.Point(9, 0.0, math.inf, known)]
    found = charts.excesses([point for point in points if point.lower > 0])
    assert found["optimal"] == {4: pytest.approx(0.2)}
    assert found["gaussian"][4] == pytest.approx(known[0].loss / 5 - 1)
    table = panels.map_table(points)
    assert table["certified law, at most"] == ["6", "–"] or table["certified law, at most"] == ["6.000", "–"]
    figure = charts.dimensions(points, chosen=4, colours=LIGHT)
    assert {trace.name for trace in figure.data} == set(charts.names_of(points).values())


def test_a_law_that_is_never_that_long():
    problem = IsotropicProblem(7, Privacy(0.0549, 0.137), RadialLoss(1.0, 47.7))
    found = solve(problem, SolverSettings(0.05, 5.0))
    assert found.lower == found.upper == 0
    assert headline.verdict(problem, found.upper, found.lower).startswith("Replace the Gaussian")
    assert headline.sentence(problem, "", found).endswith("best possible **nothing**: its noise is never that long.")
