"""The page "Trade-off maps" under AppTest, with the real core: filling, stopping, coming back, bad input."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screens import settle, words
from streamlit.testing.v1 import AppTest

from dpcore.problem import SolverSettings, noise_problem
from dpcore.sweep import grid, sweep
from pages.maps import charts, work
from pages.shared.charts import DARK, LIGHT

ROOT = Path(__file__).parents[2]
SMALL = {"low_epsilon": "0.5", "high_epsilon": "2", "low_delta": "0.05", "high_delta": "0.2", "steps": "3"}


def visit(settled: bool = True, **address: str) -> AppTest:
    """The page opened with these values in its address, once nothing is under way."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.switch_page("pages/tradeoff_maps.py")
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
        time.sleep(0.1)
        page.run()
    laplace, truncated, lower, upper = found
    assert laplace == 1.251, "rounded up: 1.25 is not quite enough with rounding"
    assert lower < upper < truncated < laplace
    assert 0.81 < lower and upper < 0.825
    assert "Out of reach: Gaussian, classical" in words(page)


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
        ({"high_epsilon": "200"}, "ε = 200"),
        ({"low_delta": ""}, "δ = nothing"),
        ({"at_delta": "2"}, "δ = 2"),
        ({"sensitivity": "0"}, "sensitivity = 0"),
        ({"loss": "exceed", "threshold": "-1"}, "threshold"),
    ],
    ids=lambda value: str(value),
)
def test_bad_input_is_named(address, complaint):
    page = visit(settled=False, **address)
    assert complaint in "\n".join(error.value for error in page.error)


def test_without_a_wish_and_without_a_second_loss():
    page = visit(wanted="", second="l1")
    assert "Enter the error you can afford" in words(page)
    assert "Choose a second loss" in words(page)


@cache
def outcomes() -> tuple[work.Axes, list]:
    axes = work.Axes((0.5, 1.0, 5.0), (0.05, 0.2))
    problems, _ = grid(noise_problem(1, 0.2), axes.epsilons, axes.deltas)
    return axes, [one.outcome for one in sweep(problems, SolverSettings(gap=5e-3))]


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


def test_gains_are_never_overstated():
    _, found = outcomes()
    for one in found:
        gain = charts.gain(one, "best")
        assert 0 <= gain <= max(0.0, 1 - one.certificate.lower / one.best[1]) + 1e-15


def test_curves_and_frontier_draw_what_is_known():
    _, found = outcomes()
    figure = charts.curves(found[::2], "epsilon", axis="y", colours=LIGHT, wanted=0.7, marks={"laplace": 1.4})
    names = [trace.name for trace in figure.data if trace.name]
    assert "certified optimum" in names and "Laplace" in names and "provably impossible" in names
    charts.curves([], "delta", axis="y", colours=LIGHT)
    points = work.exchange(
        work.Frontier(noise_problem(1, 0.1), noise_problem(1, 0.1, 1, "exceed:0.5").loss, 0.02), None, lambda _: False
    )
    assert len(points) == 7 and all(not s.trace for s in points)
    charts.exchange(points, axes=("a", "b"), colours=DARK)
