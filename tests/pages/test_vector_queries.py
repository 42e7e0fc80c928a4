"""The page "Vector queries" under AppTest, with the real core."""

from __future__ import annotations

import io
import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.compare import allocation
from pages.vector import charts, controls, panels, takeaway, work
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
    assert any("sensitivities = -1" in e.value for e in page.error) and not page.exception
    page.text_area(key="numbers").set_value("3, 1").run()
    settle(page)
    assert not page.error and headline(page).startswith("2 coordinates")
    for values in ({"numbers": "a"}, {"epsilon": "99"}, {"power": "0.2"}, {"delta": "2"}, {"l2": "0.001"}):
        broken = visit(shape="list", **values)
        assert broken.error and not broken.exception
    for values in ({"delta": "0"}, {"epsilon": "0", "delta": "0.1"}, {"dimension": "1"}, {"shape": "one-hot"}):
        assert not visit(**values).error


def test_a_file_fills_the_list_to_the_last_digit(monkeypatch):
    """Rounded down, a sensitivity would promise more privacy than there is."""
    taken: dict = {}
    monkeypatch.setattr(controls.VECTOR, "choose", taken.update)
    controls._take(io.BytesIO(b"name,lower,upper\nage,0,0.12345678901\npay,0,3e5\n"), "bounds")
    assert parse_profile(taken["numbers"]).values == (0.12345678901, 3e5)


def test_a_hostile_link_is_not_understood_but_noted():
    page = visit(shape="<script>", dimension="1e9", panel="x")
    assert not page.exception and page.selectbox(key="shape").value == "exponential"


def test_next_steps_change_the_controls():
    page = visit()
    page.button(key="step_0").click().run()
    settle(page)
    assert headline(page).startswith("2 coordinates, 3-DP: mean absolute error")


def split(text: str) -> tuple[list[str], list[str]]:
    """(comments, the lines after them)"""
    lines = text.splitlines()
    return [line for line in lines if line.startswith("# ")], [line for line in lines if not line.startswith("# ")]


def test_files_and_command():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    found = work.closed(query)
    comments, lines = split(takeaway.scales_csv(query, found))
    assert __version__ in comments[0] and "epsilon = 0.5, delta = 1e-06, 3 sensitivities from 1.0 to 3.0" in comments[1]
    assert len(comments) == 2 + len([one for one in found if not one.reason])
    assert len(lines) == 4 and lines[0].startswith("coordinate,sensitivity,gaussian-iid")
    assert [float(line.split(",")[1]) for line in lines[1:]] == [1, 2, 3]
    rows = panels.rows(query, found)
    assert rows[2]["mechanism"] == "Gaussian, optimal" and rows[2]["saved"].endswith("dB")
    assert len(panels.columns(query, found)) == 3


def test_a_release_and_its_script(capsys):
    """The button releases all coordinates; the script that is offered runs and releases them too."""
    page = visit(panel="export", shape="list", numbers="3, 2, 1", delta="0")
    page.text_area(key="true_values").set_value("100, 200").run()
    page.button(key="release_one").click().run()
    assert not page.exception and not page.error
    numbers = [float(word) for word in page.code[0].value.split(",")]
    assert len(numbers) == 3 and numbers[:2] != [100, 200] and numbers[2] != 0
    assert any("an exact draw" in c.value for c in page.caption)
    exec(page.code[2].value, {})
    assert "Privacy(epsilon=0.5" in capsys.readouterr().out
    page.text_area(key="true_values").set_value("1, 2, 3, 4").run()
    page.button(key="release_one").click().run()
    assert page.error and not page.exception


def test_gaussian_noise_is_released_as_a_look_only():
    page = visit(panel="export", dimension="4", released="gaussian-optimal")
    assert page.button(key="release_one").label == "Sample, for looking"
    page.button(key="release_one").click().run()
    assert any("not a private release" in c.value for c in page.caption) and len(page.code[0].value.split(",")) == 4
    assert "for looking" in page.code[2].value
    assert any("stands in" in c.value for c in visit(panel="export", released="planar-staircase").caption)
    without = visit(panel="export", epsilon="0", delta="0.1", dimension="3")
    assert any(c.value.startswith("Laplace with δ") and "an exact draw" in c.value for c in without.caption)


def test_samples_and_coupled_coordinates():
    query = VectorQuery(Privacy(0.5, 1e-6), parse_profile("1,2,3"))
    one = next(one for one in work.closed(query) if one.key == "blocks-optimal")
    comments, lines = split(takeaway.samples_csv(query, one))
    assert comments[-1] == f"# Certificate: blocks-optimal: error {one.error!r}, (0.5, 0.0)-differentially private"
    assert lines[0] == "noise 1,noise 2,noise 3" and len(lines) == 1001
    assert lines == split(takeaway.samples_csv(query, one))[1]
    page = visit(panel="export", shape="list", numbers="1, 2, 3", l1="4", l2="3.5")
    assert "--l1 4.0 --l2 3.5" in page.code[0].value and "l1=4.0, l2=3.5)" in page.code[1].value


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
