"""The page "Published figures": the transcribed tables, what is recomputed from a bracket, every tab."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screens import turn
from streamlit.testing.v1 import AppTest

from dpcore.figures import LIGHT
from dpcore.problem import SolverSettings, noise_problem
from dpcore.solution import Certificate
from dpcore.sweeps import grid, sweep
from pages.reproduction import charts, data

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found():
    """Six of the 100 combinations, solved."""
    problems, _ = grid(noise_problem(1, 0.2), (0.2, 1.0, 5.0), (0.05, 0.25))
    return [one.outcome for one in sweep(problems, SolverSettings(gap=1e-3, time_limit=60))]


def test_the_published_tables_agree_with_themselves():
    """Table 1 is the sum of Tables 4 and 5, Table 6 that of the supplement's two, up to rounding."""
    source = data.published()
    for whole, upper, lower in (("1", "4", "5"), ("6", "S1", "S2")):
        for epsilon in source["epsilons"]:
            for delta in source["deltas"]:
                parts = data.share(upper, epsilon, delta) + data.share(lower, epsilon, delta)
                assert data.share(whole, epsilon, delta) == pytest.approx(parts, abs=1.6e-4), (whole, epsilon, delta)


def test_corner_figures_as_printed():
    assert (data.share("1", 0.005, 0.005), data.share("1", 5, 0.75)) == (0.0187, 0.1906)
    assert (data.share("4", 5, 0.25), data.share("5", 1, 0.2)) == (0.1367, 0.2671)
    assert (data.share("6", 0.5, 0.05), data.share("S1", 2, 0.25)) == (0.4155, 0.0736)


def test_midpoints_near_the_bracket(found):
    assert all(data.agrees(one) for one in found)
    assert any(data.distance(one) != 0 for one in found), "they are midpoints of wider brackets"


def test_what_is_recomputed_encloses_the_figure_of_every_optimum_inside_the_bracket(found):
    for one in found:
        proof = one.certificate
        for measures in ("upper", "lower", "both"):
            low, high = data.recomputed(one, measures)
            for middle in (proof.lower, 0.5 * (proof.lower + proof.upper), proof.upper):
                exact = replace(one, certificate=Certificate(middle, middle, 0.0, 1.0))
                value = data.recomputed(exact, measures)[0]
                assert low - 1e-12 <= value <= high + 1e-12


def test_the_two_known_exceptions_are_told_apart():
    """(2, 0.5): the published O is 0.2129, but a law with a smaller loss than 0.2001 exists."""
    problems, _ = grid(noise_problem(1, 0.2), (2.0,), (0.5,))
    (one,) = (found.outcome for found in sweep(problems, SolverSettings(gap=2e-3, time_limit=60)))
    assert data.midpoint(one) == pytest.approx(0.2129)
    assert not data.agrees(one)
    assert data.distance(one) > 0.012


def test_figures_draw(found):
    for table in data.tables().values():
        if table.loss == "l1":
            cells, figures = charts.deviations(found, table, colours=LIGHT).data
            assert len(figures.text) == len(found) == np.isfinite(np.array(cells.z, float)).sum()
            for x, y, text in zip(figures.x, figures.y, figures.text):
                assert text.startswith(cells.customdata[y][x].partition("published ")[2][: len(text.rstrip(" *"))])
    charts.deviations([], data.tables()["1"], colours=LIGHT)
    charts.earlier_bound(found, 0.25, colours=LIGHT)
    charts.earlier_bound([], 0.25, colours=LIGHT)


def words(page: AppTest) -> str:
    return "\n".join(str(b.value) for b in [*page.markdown, *page.caption, *page.info, *page.warning, *page.error])


@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        ("Tables", "published midpoints"),
        ("Earlier lower bound", "row"),
        ("Example 1", "70 000/194"),
        ("Convergence", "minus β/2"),
        ("Shapes", "shape"),
        ("Monotone noise", "do not overlap"),
    ],
)
def test_every_tab_opens(tab, expected, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    turn(page, "reproduction")
    page.query_params["tab"] = tab
    page.run()
    assert not page.exception
    text = words(page) + "\n".join(box.key for box in page.selectbox)
    assert expected in text
