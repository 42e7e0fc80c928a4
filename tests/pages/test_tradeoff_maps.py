"""The page "Trade-off maps" under AppTest, with the real core: filling, stopping, coming back, bad input."""

from __future__ import annotations

import itertools
import re
import time
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from screens import idle, settle, turn, words
from streamlit.testing.v1 import AppTest

from dpcore.figures import DARK, LIGHT, hue
from dpcore.problem import SolverSettings, noise_problem
from dpcore.sweeps import chains, grid, sweep
from pages.tradeoff_maps import cells, charts, work

ROOT = Path(__file__).parents[2]
SMALL = {"low_epsilon": "0.5", "high_epsilon": "2", "low_delta": "0.05", "high_delta": "0.2", "steps": "3",
         "target": "5"}  # fmt: skip


def visit(settled: bool = True, **address: str) -> AppTest:
    """The page opened with these values in its address, once nothing is under way."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    turn(page, "tradeoff_maps")
    for key, value in {**SMALL, **address}.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return settle(page) if settled else page


def test_says_which_epsilon_an_error_takes():
    page = visit(wanted="0.8", at_delta="0.1")
    for _ in range(600):  # the map may be done before the answer is
        line = next(b.value for b in page.markdown if b.value.startswith("To err by at most"))
        found = [float(x) for x in re.findall(r"\*\*([\d.]+)\*\*", line)[1:]]
        if len(found) == 4:
            break
        idle(30)
        page.run()
    laplace, truncated, lower, upper = found
    assert laplace == 1.251, "rounded up: 1.25 is not quite enough with rounding"
    assert lower < upper < truncated < laplace
    assert 0.81 < lower and upper < 0.825
    assert "Out of reach at any ε: Gaussian, classical" in words(page)


def test_stops_and_goes_on():
    page = visit(settled=False, low_epsilon="1", high_epsilon="4", low_delta="0.001", steps="12", target="0.1")
    page.button(key="stop").click().run()
    for _ in range(50):
        if any(button.key == "resume" for button in page.button):
            break
        time.sleep(0.1)
        page.run()
    assert not page.exception
    page.button(key="resume").click().run()
    assert not page.exception
    assert any(button.key == "stop" for button in page.button)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ({"low_epsilon": "3", "high_epsilon": "2"}, "a first value below the last"),
        ({"high_epsilon": "200"}, "ε of the map = 200"),
        ({"wanted": "-1"}, "error you can afford = −1"),
        ({"second_threshold": "-1"}, "threshold of the second loss = −1"),
        ({"at_delta": "2"}, "δ = 2"),
        ({"sensitivity": "0"}, "sensitivity = 0"),
        ({"loss": "exceed", "threshold": "-1"}, "threshold"),
    ],
    ids=lambda value: str(value),
)
def test_bad_input_is_named(address, complaint):
    page = visit(settled=False, **address)
    assert all(complaint in error.value for error in page.error)
    assert len(page.sidebar.error) == 1, "under its control"


def test_without_a_wish_and_without_a_second_loss():
    page = visit(wanted="", second="l1")
    assert "Enter the error you can afford" in words(page)
    assert "Choose a second loss" in words(page)


@cache
def outcomes() -> tuple[work.Axes, list]:
    axes = work.Axes((0.5, 1.0, 5.0), (0.05, 0.2))
    problems, _ = grid(noise_problem(1, 0.2), axes.epsilons, axes.deltas)
    return axes, [one.outcome for one in sweep(problems, SolverSettings(gap=0.03))]


@pytest.mark.parametrize("quantity", ["value", "gain", "best", "gap"])
def test_maps_hold_the_figures(quantity):
    axes, found = outcomes()
    shown = charts.quantity(quantity, "laplace", "mean absolute error")
    figure = charts.heat_map(axes, found, shown, colours=LIGHT)
    z = np.array(figure.data[0].z)
    assert z.shape == (2, 3) and np.isfinite(z).all()
    here = next(o for o in found if (o.problem.privacy.epsilon, o.problem.privacy.delta) == (5.0, 0.2))
    expected = {
        "value": np.log10(here.certificate.upper), "gain": 1 - here.certificate.upper / 0.2,
        "best": float(charts.KEYS.index(here.best[0])), "gap": here.certificate.gap,
    }  # fmt: skip
    assert z[1, 2] == pytest.approx(expected[quantity], rel=1e-12)
    partial = charts.heat_map(axes, found[:2], shown, colours=DARK)
    assert np.isfinite(np.array(partial.data[0].z)).sum() == 2, "the rest is still to come"
    assert len(partial.data[1].x) == 2, "and cannot be clicked"
    charts.heat_map(axes, [], shown, colours=DARK)


def rgb(code: str) -> np.ndarray:
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)])


def luminance(parts: np.ndarray) -> float:
    """WCAG 2.2."""
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("quantity", ["value", "gain", "best", "gap"])
def test_the_table_shows_what_the_picture_will_show(quantity, colours):
    axes, found = outcomes()
    shown = charts.quantity(quantity, "laplace", "mean absolute error (<b>)")
    style, table = cells.html(axes, found[1:], shown, colours=colours).split("</style>")
    assert style.startswith("<style>")
    table = ElementTree.fromstring(table)
    assert table.find("caption").text.startswith(shown.title), "a unit is text"
    assert [head.text for head in table.findall("thead/tr/th")][1:] == ["0.5", "1", "5"]
    rows = table.findall("tbody/tr")
    assert [row.find("th").text for row in rows] == ["0.2", "0.05"], "as in the picture, the largest on top"
    picture, points = charts.heat_map(axes, found[1:], shown, colours=colours).data
    painted = [[cell.get("style") for cell in row.findall("td")] for row in reversed(rows)]
    places, codes = zip(*picture.colorscale)
    parts = np.array([rgb(code) for code in codes]).T
    for style, value in zip(itertools.chain(*painted), np.array(picture.z, float).ravel()):
        assert (style is not None) == np.isfinite(value)
        if style is not None:
            ground, ink = (rgb(part.split(":")[1]) for part in style.split(";"))
            share = (value - picture.zmin) / (picture.zmax - picture.zmin)
            assert np.abs(ground - [np.interp(share, places, part) for part in parts]).max() <= 0.51
            low, high = sorted(luminance(one / 255) for one in (ground, ink))
            assert (high + 0.05) / (low + 0.05) >= 4.5
    texts = [cell.text for row in rows for cell in row.findall("td") if cell.text]
    assert sorted(texts) == sorted(points.text)
    assert points.mode == ("markers" if quantity == "best" else "markers+text")


def test_a_mechanism_has_its_own_colour_in_the_map():
    axes, _ = outcomes()
    shown = charts.quantity("best", "best", "")
    shades = charts.scale(shown, np.array([[0.0]]), LIGHT)
    for place, key in enumerate(charts.KEYS):
        assert shades.at(float(place)) == tuple(rgb(hue(LIGHT, key)))
    assert not charts.written(axes, shown), "names have no room in cells; the legend has them"


def test_cells_cover_the_plane_ever_more_finely():
    axes = work.Axes(tuple(float(n) for n in range(1, 10)), tuple(n / 20 for n in range(1, 10)))
    problems, _ = grid(noise_problem(1, 0.2), axes.epsilons, axes.deltas)
    order = work.scattered(problems)
    assert set(order) == set(problems) and len(order) == 81
    assert set(chains(order)) == set(chains(problems)), "the same searches, so the same figures"
    first = [one.privacy.epsilon for one in order[:20]]
    assert max(np.diff(sorted({0.0, 10.0, *first}))) <= 4
    deltas = [one.privacy.delta for one in order[:20]]
    assert min(deltas) == 0.05 and max(deltas) == 0.45


def test_gains_are_never_overstated():
    _, found = outcomes()
    for one in found:
        gain = charts.gain(one, "best")
        assert 0 <= gain <= max(0.0, 1 - one.certificate.lower / one.best[1]) + 1e-15


def test_curves_and_frontier_draw_what_is_known():
    _, found = outcomes()
    asked = {"wanted": 0.7, "marks": {"laplace": 1.4}}
    figure = charts.curves(found[::2], "epsilon", ends=(0.1, 3.0), axis="y", colours=LIGHT, **asked)
    names = [trace.name for trace in figure.data if trace.name]
    assert "certified optimum" in names and "Laplace" in names and "provably impossible" in names
    charts.curves([], "delta", ends=(1e-9, 0.5), axis="y", colours=LIGHT)
    points = work.frontier(
        work.Frontier(noise_problem(1, 0.1), noise_problem(1, 0.1, 1, "exceed:0.5").loss, 0.02), None, lambda _: False
    )
    assert len(points) == 7 and all(not s.trace for s in points)
    charts.frontier(points, axes=("a", "b"), colours=DARK)
