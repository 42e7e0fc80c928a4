"""The page "Vector queries" under AppTest, with the real core."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.compare import allocation
from pages.vector import charts, panels, work
from pages.vector.controls import PANELS, VECTOR

PAGE = "pages/vector_queries.py"


def visit(**query) -> AppTest:
    page = AppTest.from_file(f"../../{PAGE}", default_timeout=60)
    for key, value in query.items():
        page.query_params[key] = value
    return settle(page.run())


def settle(page: AppTest) -> AppTest:
    """Run again until the answers are there: timers do not fire under AppTest."""
    for _ in range(100):
        assert not page.exception, page.exception[0].value
        if not any("Still looking" in c.value or "tried so far" in c.value for c in page.caption):
            return page
        time.sleep(0.3)
        page.run()
    return page


def headline(page: AppTest) -> str:
    return next(m.value for m in page.markdown if "coordinate" in m.value and "**" in m.value)


def test_the_headline_has_the_numbers_of_the_core():
    page = visit()
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("exponential:20", normalise="l2"))
    blocks, best = allocation(query, "blocks-optimal").error, allocation(query, "laplace-optimal").error
    assert f"**{blocks:.4g}**" in headline(page) or f"**{blocks:.3f}"[:6] in headline(page)
    assert f"**{best:.4g}**" in headline(page)


def test_the_verdict_names_the_dimension():
    page = visit(shape="uniform", dimension="9")
    text = " ".join(c.value for c in page.caption)
    assert "Gaussian noise wins here" in text and "from K = 9 on" in text
    assert "Laplace noise wins here" in " ".join(c.value for c in visit(shape="uniform", dimension="8").caption)


@pytest.mark.parametrize("panel", list(PANELS))
def test_every_panel_is_drawn(panel):
    page = visit(panel=panel)
    assert not page.error


@pytest.mark.parametrize("application", ["lasso", "logistic", "layers"])
def test_applications(application):
    page = visit(panel="applications", application=application, trials="2")
    assert not page.error


def test_lists_bad_input_and_the_way_back():
    page = visit(shape="list", numbers="3, -1")
    assert any("−1" in e.value or "-1" in e.value for e in page.error) and not page.exception
    page.text_area(key="numbers").set_value("3, 1").run()
    settle(page)
    assert not page.error and headline(page).startswith("2 coordinates")
    for values in ({"numbers": "a"}, {"epsilon": "99"}, {"power": "0.2"}, {"delta": "2"}, {"l2": "0.001"}):
        broken = visit(shape="list", **values)
        assert broken.error and not broken.exception
    for values in ({"delta": "0"}, {"epsilon": "0", "delta": "0.1"}, {"dimension": "1"}, {"shape": "one-hot"}):
        assert not visit(**values).error


def test_a_hostile_link_is_not_understood_but_noted():
    page = visit(shape="<script>", dimension="1e9", panel="x")
    assert not page.exception and page.selectbox(key="shape").value == "exponential"


def test_next_steps_change_the_controls():
    page = visit()
    page.button(key="step_0").click().run()
    settle(page)
    assert headline(page).startswith("2 coordinates, 3-DP: mean absolute error")


def test_files_and_command(monkeypatch):
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    found = work.closed(query)
    lines = panels.scales_csv(query, found).splitlines()
    assert len(lines) == 4 and lines[0].startswith("coordinate,sensitivity,gaussian-iid")
    assert [float(line.split(",")[1]) for line in lines[1:]] == [1, 2, 3]
    rows = panels.rows(query, found)
    assert rows[2]["mechanism"] == "Gaussian, optimal" and rows[2]["saved"].endswith("dB")
    assert len(panels.columns(query, found)) == 3


def test_the_exported_json_is_the_command_lines():
    from dpcore.cli.profile import report

    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    assert json.loads(json.dumps(report(query, list(work.closed(query))), allow_nan=False))[0]["key"] == "gaussian-iid"


def test_charts_draw_what_they_are_given():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    found = work.closed(query)
    from pages.shared.charts import LIGHT

    figure = charts.errors(found, query, LIGHT)
    drawn = sorted(figure.data[0].x)
    assert drawn == sorted(one.error for one in charts.distinct(found))
    assert VECTOR.read({})[1] == {}
