"""The frame around every page under AppTest: citations, explanations, projector, pins, chart texts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from screens import bounds, controls, number, read, settle, turn, until, visit, words
from streamlit.testing.v1 import AppTest

from dpcore import __version__, citation
from pages.optimal_noise.inputs import HOME
from pages.registry import PAGES as REGISTERED
from pages.shared import frame, prose
from pages.shared.address import FRAME

ROOT = Path(__file__).parents[2]
PAGES = sorted(Path("pages").rglob("*.py"))


def test_a_citation_names_version_claim_and_certificate():
    facts = {"lower bound": "0.5586", "upper bound": "0.5588"}
    plain = citation.plain("This noise errs by 0.5588 people.", facts, "https://example.org/")
    assert f"version {__version__}" in plain and "0.5588 people" in plain and "lower bound 0.5586" in plain


@pytest.mark.parametrize("unit", ["%", "a_b & c", "}\\input{x}", "$x$ #1"])
def test_nothing_in_a_bibliography_entry_is_a_command(unit):
    entry = citation.bibtex(f"This noise errs by 1 {unit}.", {"loss": "l1"}, "https://example.org/")
    note = re.search(r"note = \{(.*)\},\n", entry).group(1)
    assert not re.search(r"(?<!\\)[$%#&_{}]|\\(?![$%#&_])", note)
    assert entry.count("{") == entry.count("}")


def test_the_headline_and_its_certificate_are_in_the_citation():
    page = visit()
    page.session_state["citing"] = True
    page.run()
    cited = next(block.value for block in page.code if block.value.startswith("DP Frontier, version"))
    lower, upper = bounds(page)
    assert f"at least {lower}" in cited and f"at most {upper}" in cited
    assert "δ of the noise, audited, at most 0.2" in cited


def test_explanations_unfold_and_stay_in_the_link():
    text = prose.sections("optimal_noise")["density"].split(".")[0]
    assert text not in words(visit())
    page = visit(explain="true")
    assert text in words(page) and page.query_params["explain"] == "true"


def test_a_projector_shows_fewer_controls_and_forgets_nothing():
    page = visit(projector="true", sensitivity="3", monotone="true")
    keys = controls(page, "text_input")
    assert "sensitivity" not in keys and "epsilon" not in keys
    assert page.select_slider(key="epsilon_stop").value == 1.0
    assert "monotone (1, 0.2)-DP" in words(page)
    assert page.query_params["sensitivity"] == "3"


def test_two_problems_side_by_side():
    page = visit(panel="Side by side")
    page.button(key="pin").click()
    settle(page.run())
    assert page.query_params["pins"] == "epsilon=1&gap=5&seconds=5"
    assert page.button(key="pin").disabled, "it is there already"
    number(page, "epsilon").set_value("2")
    page = until(settle(page.run()), "| upper bound")
    rows = [line for line in words(page).splitlines() if line.startswith("| upper bound")]
    now, pinned = (float(cell) for cell in rows[0].split("|")[2:4])
    assert now == bounds(page)[1] < pinned
    again = until(visit(**{key: value for key, value in page.query_params.items()}), "| upper bound")
    assert rows[0] in words(again)
    again.button(key="take_Pin 1").click()
    assert now < bounds(settle(again.run()))[1] <= pinned, "the pinned problem, perhaps solved more closely by now"


def test_pins_are_bounded_and_malformed_ones_are_named():
    page = visit(panel="Side by side", pins="epsilon=-1;epsilon=abc;epsilon=3&gap=5;epsilon=4;epsilon=5", gap="5")
    page = until(page, "| upper bound")
    notes = " ".join(read(block.value) for block in page.info)
    assert "ε = −1: expected" in notes and "ε = abc: expected" in notes
    assert "Pin 1" in words(page) and "Pin 2" not in words(page), "three are read, two of them not understood"


def test_a_pin_brings_every_question_back():
    values, malformed = HOME.read({"loss": "pinball", "tau": "0.3", "support": "interval", "low": "-4", "log_y": "1"})
    from pages.optimal_noise import pins

    (pin,), faults = pins.read(pins.text_of(values))
    assert not malformed and not faults
    assert (pin.problem.loss.spec, pin.problem.support[0]) == ("pinball:0.3", -4.0)
    assert "log_y" not in pin.text


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_every_chart_has_words_for_screen_readers(path):
    """Charts are drawn with `alt`, by `drawing.draw` or by `st.plotly_chart` itself."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "plotly_chart":
            assert {"alt", "key"} <= {keyword.arg for keyword in node.keywords}, f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_every_chart_has_a_table_behind_it(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "drawing.draw":
            assert "table" in {keyword.arg for keyword in node.keywords}, f"{path}:{node.lineno}"


def test_the_textbook_mechanisms_have_their_table_while_the_optimum_is_sought():
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    page.query_params.update({"loss": "lp", "exponent": "1.37", "gap": "0.0001", "seconds": "20"})
    page.session_state["chart_waiting_numbers"] = True
    page.run()
    if any(button.key == "stop" for button in page.button):  # else it was solved before
        (table,) = [frame.value for frame in page.dataframe]
        assert "Laplace" in table.columns and len(table) == 9


PROJECTED = {
    "tradeoff_maps": ({"loss", "wanted", "at_delta"}, {"low_epsilon", "steps", "sensitivity", "second", "target"}),
    "data_dependent": ({"epsilon", "delta", "low", "high", "loss"}, {"weight", "cap", "monotone", "gap", "seconds"}),
    "vector_queries": ({"shape", "epsilon", "delta", "dimension"}, {"norm", "l1", "l2"}),
    "isotropic": ({"loss", "dimension_stop", "epsilon_stop"}, {"dimension", "sensitivity", "unit", "gap", "seconds"}),
    "release_plan": ({"epsilon_stop", "delta_stop"}, {"epsilon", "delta"}),
    "private_optimisation": ({"story", "epsilon", "delta", "mechanism"}, {"patients", "rivals", "draws", "map_seed"}),
}
"""Page → controls that a lecture moves, and controls that it does not need."""

FOLDED = {"data_dependent": "data dependent", "vector_queries": "vector queries", "isotropic": "isotropic"}
"""Pages with some of them in a fold → what their addresses are called."""


@pytest.mark.parametrize("name", PROJECTED)
def test_a_projector_keeps_what_a_lecture_moves(name):
    kept, hidden = PROJECTED[name]
    drawn = {}
    for projector in ("false", "true"):
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        turn(page, name)
        page.query_params["projector"] = projector
        if name in FOLDED:
            page.session_state[f"further on {FOLDED[name]}"] = True
        page.run()
        assert not page.exception
        drawn[projector] = controls(page.sidebar, *CONTROLS, "pills")
    assert kept | hidden <= drawn["false"] | {"rivals"}
    assert kept <= drawn["true"] and not hidden & drawn["true"]


def test_hidden_controls_keep_their_values():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    turn(page, "tradeoff_maps")
    page.query_params.update({"projector": "true", "steps": "3", "sensitivity": "3"})
    page.run().run()
    assert page.query_params["steps"] == "3" and page.query_params["sensitivity"] == "3"


def test_the_tour_has_three_steps():
    steps = frame.tour_steps()
    assert len(steps) == 3 and all(step["title"] and step["target"] and step["text"] for step in steps)


CONTROLS = ("checkbox", "multiselect", "radio", "select_slider", "selectbox", "slider", "text_area",
            "text_input", "toggle", "segmented_control")  # fmt: skip
NOT_IN_THE_LINK = ("preset", r"(\w+_)?lecture", "play", r"\w+_stop", r"\w+_file")
"""Shorthands for other controls, and what moves."""


@pytest.mark.parametrize("script", [page.script for page in REGISTERED[1:]])  # the first one has none
def test_every_control_of_every_page_is_in_the_link(script):
    page = AppTest.from_file(str(ROOT / script), default_timeout=60).run()
    assert not page.exception
    declared = page.session_state["kept"][page.session_state["address"]].keys() | FRAME.controls.keys()
    drawn = controls(page, *CONTROLS)
    assert drawn, "a page without controls needs no test"
    assert not {key for key in drawn - declared if not re.fullmatch("|".join(NOT_IN_THE_LINK), str(key))}
