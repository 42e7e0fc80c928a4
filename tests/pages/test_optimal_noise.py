"""The page "Optimal noise" under AppTest, with the real core: every loss, constraint and kind of bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from screens import QUICK, ROOT, bounds, idle, number, read, settle, turn, until, visit, words
from streamlit.testing.v1 import AppTest

from dpcore import export
from dpcore.optimal import first_bracket, solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings, noise_problem
from pages.optimal_noise import controls, inputs, work
from pages.optimal_noise.controls import EPSILON_STOPS
from pages.optimal_noise.inputs import PRESETS
from pages.shared import compute, frame


def test_opens_with_both_bounds_and_the_mechanisms_people_use():
    page = visit(gap="0.1")
    lower, upper = bounds(page)
    assert 0.5579 <= lower <= upper <= 0.5592
    assert "Laplace noise: 1.000 (79" in words(page)
    assert "(1, 0.2)-DP" in words(page)


def arrive(**address: str) -> AppTest:
    """The page as a visitor comes to it, by this link alone."""
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    page.query_params.update(address)
    return settle(page.run())


def test_a_first_visit_starts_from_the_patient_count_and_has_its_link():
    page = arrive()
    assert page.query_params == {
        "delta": "1e-6", "unit": "patients", "values": "whole", "people": "20000",
    }  # fmt: skip
    assert page.selectbox(key="preset").value == "Patient count"
    assert "**Keep Geometric: less than 0.01\u202f% to gain**" in words(page)
    assert "Compared, not recommended" not in words(page) and not page.sidebar.warning


@pytest.mark.parametrize("address", [{"epsilon": "1"}, {"explain": "true"}, {"projector": "true"}, {"log_y": "false"}])
def test_a_link_that_says_anything_keeps_its_meaning(address):
    """Values that a link leaves out are what they were before there was a first visit of its own."""
    page = arrive(**address)
    assert "Any (1, 0.2)-DP noise errs by" in words(page) and "people on average" in words(page)
    assert page.query_params["epsilon"] == "1", "and no page has a bare address, which would be a first visit"
    assert bounds(arrive(**{key: value for key, value in page.query_params.items()})) == bounds(page)


def test_numbers_of_people():
    page = visit(delta="0.01", people="1000")
    (warning,) = [block.value for block in page.sidebar.warning]
    assert "δ = 0.01 is more than 1/n = 1/1000" in warning and "those of about 10 of 1000 people" in warning
    assert "Compared, not recommended: δ = 0.01 is more than 1/n." in words(page)
    page = visit(delta="0.01", people="100")
    assert not page.sidebar.warning and "**Switch: at least 9." in words(page)
    page = visit(delta="0.01")
    assert "Compared, not recommended: δ = 0.01, and the number of people n is not given." in words(page)
    for people in ("0", "-5", "2.5", "1e13"):
        page = visit(people=people)
        assert f"`people = {people}`" in words(page)
        number(page, "people").set_value(people)
        shown = [read(block.value) for block in settle(page.run()).sidebar.error]
        assert any(text.startswith("number of people n = ") and "expected a whole number" in text for text in shown)


def test_examples_for_teaching_say_so_and_the_one_on_the_screen_is_named():
    page = visit()
    titles = page.selectbox(key="preset").options
    for preset, title in zip(PRESETS, titles):
        assert title.endswith("(for teaching)") == (preset["values"].get("delta", 0) >= 0.01), title
    page.selectbox(key="preset").set_value("Survey: share who agree")
    settle(page.run())
    assert page.selectbox(key="preset").value == "Survey: share who agree"
    assert "A percentage among 1000 answers" in words(page) and page.query_params["people"] == "1000"
    page.select_slider(key="epsilon_stop").set_value(2.0)
    settle(page.run())
    assert page.selectbox(key="preset").value is None and "A percentage among" not in words(page)


def test_an_atom_is_said_to_be_the_true_value():
    page = visit(epsilon="5", delta="0.25", gap="0.1")
    assert ":orange[:material/warning:] With probability up to **" in words(page)
    assert re.search(r"with probability up to \*\*0\.2\d+\*\* it \*\*is the true value\*\*", words(page))
    assert "simpler" not in words(page)


def test_where_nothing_better_was_found_the_page_says_what_may_remain():
    """How far the lower bound has come depends on the machine; what is said about it is true."""
    said = words(visit(promise="composed", releases="64", epsilon="1", delta="1e-5", seconds="1"))
    shown = str((re.search(r" at least \*\*([\d.]+)\*\*", said) or [0, "0"])[1])
    lower = float(shown) + 10.0 ** -len(shown.partition(".")[2])  # it is rounded down
    remains = re.search(
        r"\*\*Nothing better than Gaussian found\*\*; (?:up to (\d+)\u202f% may|how much may) remain", said
    )
    assert remains and lower >= (1 - int(remains[1] or 100) / 100) * 23.81
    assert "Gaussian, analytic: 23.81 (nothing better was found)" in said


@pytest.mark.parametrize(
    ("address", "lowest", "highest"),
    [
        ({"loss": "l2"}, 0.49, 0.54),
        ({"loss": "lp", "exponent": "1.5"}, 0.4, 0.6),
        ({"loss": "pinball", "tau": "0.8"}, 0.1, 0.3),
        ({"loss": "asym", "slope_below": "1", "slope_above": "3"}, 0.5, 1.2),
        ({"loss": "huber", "threshold": "1"}, 0.15, 0.3),
        ({"loss": "exceed", "threshold": "0.5", "gap": "40"}, 0.2, 0.7),
        ({"loss": "table", "table": "-1, 1\n0, 0\n1, 1"}, 0.53, 0.59),
    ],
    ids=lambda value: value["loss"] if isinstance(value, dict) else None,
)
def test_every_loss(address, lowest, highest):
    lower, upper = bounds(visit(**address))
    assert lowest <= lower <= upper <= highest


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ({"monotone": "true"}, "monotone (1, 0.2)-DP"),
        ({"symmetric": "true", "loss": "pinball"}, "symmetric (1, 0.2)-DP"),
        ({"support": "negative"}, "on (−∞, 0"),
        ({"support": "positive"}, "on \\[0, ∞"),
        ({"support": "interval", "low": "-2", "high": "3"}, "on \\[−2, 3"),
        ({"support": "interval", "low": "-2"}, "on \\[−2, ∞"),
    ],
    ids=str,
)
def test_every_constraint_is_solved_and_named(address, word):
    page = visit(**address)
    assert word in words(page)
    lower, upper = bounds(page)
    assert 0 < lower <= upper


def test_monotone_costs_about_two_per_cent():
    page = visit(monotone="true", gap="0.1")
    lower, upper = bounds(page)
    assert 0.568 <= lower <= upper <= 0.571
    page = until(visit(panel="Price of a constraint", gap="0.1"), "**1.", "**2.")
    assert re.search(r"monotone .*\*\*1\.[5-9] % to [12]\.\d+ %\*\*".replace(" %", "\u202f%"), words(page))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ({"epsilon": "-3"}, "ε = −3: expected 0 or a number from 0.001 to 20"),
        ({"epsilon": "1e6"}, "ε = 1 000 000: expected"),
        ({"delta": "1"}, "δ = 1: expected"),
        ({"delta": "1e-30"}, "δ = 10⁻³⁰: expected 0 or a number from 10⁻¹² to 0.999"),
        ({"epsilon": "0", "delta": "0"}, "δ = 0: expected a positive number when epsilon = 0"),
        ({"sensitivity": "-1"}, "sensitivity = −1: expected"),
        ({"loss": "lp", "exponent": "9"}, "exponent = 9: expected"),
        ({"loss": "pinball", "tau": "1"}, "τ = 1: expected"),
        ({"loss": "asym", "slope_below": "0"}, "cost per unit below = 0: expected"),
        ({"loss": "huber", "threshold": "-1"}, "threshold = −1: expected"),
        ({"loss": "table", "table": "no table"}, "loss table"),
        ({"loss": "table", "table": "-2,5; 1\n0; 0"}, "loss table line 1 = -2,5"),
        ({"loss": "table", "table": "0, 1\n1, 0"}, "loss table last slope"),
        ({"support": "interval", "low": "1", "high": "-1"}, "support = [1, -1]: expected"),
        ({"support": "interval", "low": "0", "high": "0.1"}, "support = [0, 0.1]: expected"),
        ({"seconds": "0"}, "time limit = 0: expected"),
    ],
    ids=str,
)
def test_nonsense_gets_a_named_message_under_its_control(address, message):
    page = visit(**address)
    shown = [read(block.value) for block in page.error]
    assert sum(message in text for text in shown) == 2, shown  # under the control and in the main column
    assert any(message in read(block.value) for block in page.sidebar.error)


@pytest.mark.parametrize(
    "address",
    [{"epsilon": "abc"}, {"epsilon": "0,5"}, {"sensitivity": ""}, {"delta": "nan"}, {"loss": "l9"},
     {"monotone": "perhaps"}],
    ids=str,
)  # fmt: skip
def test_malformed_links_fall_back_to_defaults_and_say_so(address):
    page = visit(**address)
    ((key, value),) = address.items()
    assert f"`{key} = {value}`" in words(page)
    assert len(bounds(page)) == 2


def test_the_last_good_picture_stays_while_a_value_is_wrong():
    page = visit()
    before = bounds(page)
    number(page, "epsilon").set_value("-1")
    settle(page.run())
    assert bounds(page) == before
    assert "still shows the last accepted values" in words(page)


def test_losses_and_problems_do_not_share_an_answer():
    page = visit()
    first = bounds(page)
    page.selectbox(key="loss").set_value("l2")
    second = bounds(settle(page.run()))
    page.selectbox(key="loss").set_value("l1")
    assert bounds(settle(page.run())) == first != second


def test_slider_and_box_follow_each_other():
    page = visit()
    page.select_slider(key="epsilon_stop").set_value(2.0)
    settle(page.run())
    assert number(page, "epsilon").value == "2" and page.session_state["epsilon"] == 2.0
    number(page, "epsilon").set_value("0.52")
    settle(page.run())
    assert page.select_slider(key="epsilon_stop").value == 0.5


def test_a_link_reproduces_the_screen():
    address = {"loss": "pinball", "tau": "0.3", "support": "interval", "low": "-4", "high": "4"}
    first = visit(epsilon="2", overlays="gaussian,staircase", gap="30", **address)
    again = visit(**{key: value for key, value in first.query_params.items()})
    assert bounds(again) == bounds(first)
    assert again.multiselect(key="overlays").value == ["gaussian", "staircase"]


@pytest.mark.parametrize("number", range(9))
def test_presets(number):
    page = visit()
    box = page.selectbox(key="preset")
    box.set_value(box.options[number])
    lower, upper = bounds(settle(page.run()))
    assert 0 < lower <= upper


def test_honest_when_it_hardly_matters():
    assert "hardly matters" in words(visit(epsilon="0.5", delta="1e-6", gap="0.1"))
    assert "hardly matters" not in words(visit(epsilon="5", delta="0.25"))


def test_no_error_at_all_is_needed():
    assert "Errors need not cost anything" in words(visit(loss="exceed", threshold="5"))


def test_pure_privacy_and_pure_delta():
    assert bounds(visit(delta="0"))[1] == pytest.approx(0.959517, rel=0.06)
    assert bounds(visit(epsilon="0", delta="0.25"))[1] == pytest.approx(1.0, rel=0.06)


def test_next_steps_change_the_problem():
    page = visit()
    page.button(key="step_1").click()
    settle(page.run())
    assert page.selectbox(key="loss").value == "l2"


def test_another_name_of_the_unit_computes_nothing():
    page = visit(unit="patients")
    for _ in range(30):  # where optimal noise matters is filled by and by, from the disk or by jobs
        page.run()
        idle(30)
        if "matters" in page.session_state:
            break
    assert "matters" in page.session_state
    before = compute.figures().jobs_started_total
    (field,) = [one for one in page.text_input if "unit" in str(one.key)]
    field.set_value("beds")
    assert "beds on average" in words(settle(page.run()))
    assert compute.figures().jobs_started_total == before


def test_a_unit_cannot_inject_markup():
    page = visit(unit="<b>$x$</b>")
    assert "0.5" in words(page) and "<b>" not in words(page).replace("`unit = <b>$x$</b>`", "")
    assert "people on average" in words(page), "the default stands in"


def test_try_it_shows_two_mechanisms():
    page = visit(panel="Try it", unit="patients")
    number(page, "truth").set_value("413").run()
    assert "truth" not in page.query_params, "a true value is in no link"
    assert "**Certified optimum** releases" in words(page)
    assert "Samples here are for looking" in words(page)


def test_counts_are_released_as_counts():
    page = visit(panel="Try it", values="whole", sensitivity="2")
    number(page, "truth").set_value("413").run()
    shown = re.findall(r"releases \*\*([^*]+)\*\*", words(page))
    assert len(shown) == 2 and all(re.fullmatch(r"−?[\d\u202f]+", one) for one in shown), shown


def test_both_methods_side_by_side():
    page = until(visit(both="true"), "reference (Selvi, Liu, Wiesemann)")
    rows = [line.split("|") for line in words(page).splitlines() if line.startswith(("| certified", "| reference"))]
    brackets = [(float(row[2]), float(row[3])) for row in rows]
    assert len(brackets) == 2
    assert max(low for low, _ in brackets) <= min(high for _, high in brackets)


def test_a_saved_file_comes_back_audited():
    problem = noise_problem(2, 0.1, 3.0, "pinball:0.3", support=(-20.0, 20.0))
    saved = export.solution_to_json(solve(problem, SolverSettings(gap=0.3)))
    page = visit(panel="Take it away", gap="30")
    page.file_uploader(key="reload").upload("noise.json", saved.encode(), "application/json")
    settle(page.run())
    assert "audited again" in "\n".join(block.value for block in page.success)
    page.button(key="restore").click()
    settle(page.run())
    assert number(page, "sensitivity").value == "3"
    assert page.selectbox(key="loss").value == "pinball"
    assert number(page, "tau").value == "0.3"
    assert page.selectbox(key="support").value == "interval"


@pytest.mark.parametrize("text", ["no json", "[1]", json.dumps({"epsilon": 1}), "{" * 3000])
def test_a_foreign_file_is_refused_with_a_message(text):
    page = visit(panel="Take it away")
    page.file_uploader(key="reload").upload("noise.json", text.encode(), "application/json")
    settle(page.run())
    assert "not accepted" in words(page)


def read_about(page) -> str:
    """What the page says before the explanations; the geometric law has a second name."""
    return words(page).split("Pick how")[0].replace("(discrete Laplace)", "")


def test_whole_numbers():
    page = visit(values="whole", sensitivity="3", delta="0")
    lower, upper = bounds(page)
    assert lower <= 2.8608324896 <= upper and upper - lower <= 1.001e-4, "five digits"
    assert "Any whole-number (1, 0)-DP noise" in words(page)
    assert "Discrete staircase" in words(page) and "Laplace" not in read_about(page)
    page.selectbox(key="values").set_value("real")
    assert bounds(settle(page.run()))[1] > 2.86 and "whole-number" not in words(page).split("Pick how")[0]


def test_steps_panels_and_links_of_lattice_noise():
    page = visit(values="step", step="0.1", sensitivity="0.3", monotone="true", panel="Try it")
    assert "0.1-step" in words(page) and "**Certified optimum** releases" in words(page)
    again = visit(**{key: value for key, value in page.query_params.items()})
    assert bounds(again) == bounds(page)
    page = visit(values="whole", sensitivity="0.5")
    message = "step of the query's values = 1: expected a whole part of the sensitivity 0.5"
    assert any(message in block.value for block in page.sidebar.error)


def test_a_file_of_lattice_noise_comes_back():
    saved = export.solution_to_json(solve(noise_problem(1, 0.1, 0.6, granularity=0.2)))
    page = visit(panel="Take it away")
    page.file_uploader(key="reload").upload("noise.json", saved.encode(), "application/json")
    settle(page.run())
    assert "audited again" in "\n".join(block.value for block in page.success)
    page.button(key="restore").click()
    settle(page.run())
    assert page.selectbox(key="values").value == "step" and number(page, "step").value == "0.2"


def test_a_search_that_ran_out_of_time_can_be_given_more():
    page = visit(gap="0.0001", seconds="0.05")
    assert "the time limit of 0.05 s ended the search" in words(page)
    settle(page.button(key="longer").click().run())
    assert page.session_state["seconds"] == 1 and "the time limit of 0.05 s" not in words(page)


def test_a_first_answer_is_shown_before_the_search_has_ended():
    """A gap that takes seconds: the first run of the page shows what is proved without solving, with its picture."""
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    page.query_params.update(epsilon="0.83", delta="0.037", gap="0.0001", seconds="20")
    page.run()
    first = first_bracket(noise_problem(0.83, 0.037, 1.0)).certificate
    lower, upper = bounds(page)
    assert first.gap < 0.05 and first.lower * 0.999 <= lower < upper <= first.upper * 1.001
    assert any(button.key == "stop" for button in page.button), "and the search goes on"
    page.button(key="stop").click()
    settle(page.run())


@pytest.mark.parametrize("address", [{}, {"loss": "l2", "delta": "0.01"}, {"values": "whole", "loss": "huber"}])
def test_what_is_proved_along_the_slider_of_epsilon(address):
    page = visit(**address)
    problem = inputs.read_problem(inputs.HOME.read({**QUICK, **address})[0])
    asked = work.Along(replace(problem, privacy=Privacy(1.0, problem.privacy.delta)), tuple(EPSILON_STOPS))
    proved = work.along(asked, None, lambda _: False)
    assert len(proved) == len(EPSILON_STOPS) and all(proved)
    for (_, upper), (lower, _) in zip(proved, proved[1:]):
        assert lower <= upper, "the least loss does not grow with ε"
    for epsilon, (lower, upper) in list(zip(EPSILON_STOPS, proved))[::5]:
        there = replace(problem, privacy=Privacy(epsilon, problem.privacy.delta))
        solved = solve(there, SolverSettings(gap=0.01)).certificate
        assert max(lower, solved.lower) <= min(upper, solved.upper)
    line = along_line(page)
    assert len(line["headlines"]) == len(EPSILON_STOPS) and line["here"] == EPSILON_STOPS.index(1.0)
    for epsilon, (lower, upper), told in zip(EPSILON_STOPS, proved, line["headlines"]):
        assert f"({epsilon:g}, " in told.replace("\u00a0", " ")
        least, most = (
            (float(one.replace(",", "")) for one in re.findall(r"\*\*([\d.,]+)\*\*", told))
            if "between" in told
            else (0, 1e9)
        )
        assert least <= lower <= upper <= most


def test_where_a_support_is_too_narrow_along_the_slider_nothing_is_told():
    """At ε = 1 there is no law in this support, at 2.22 there is; in the other one only beyond the slider's end."""
    narrow = {"loss": "l2", "support": "interval", "low": "-4.827", "high": "27.64"}
    page = visit(epsilon="2.22", delta="6.54e-10", **narrow)
    assert not page.exception
    told = dict(zip(EPSILON_STOPS, along_line(page)["headlines"]))
    assert not told[1.0] and "(3, " in told[3.0].replace("\u00a0", " ")
    assert not visit(epsilon="20", delta="1e-12", support="interval", low="-2.5", high="2.5").exception


def along_line(page: AppTest) -> dict:
    """What the line that follows the slider has been sent."""
    for _ in range(100):
        for node in page.get("bidi_component"):
            data = json.loads(node.proto.json) if node.proto.json else {}
            if "headlines" in data and data.get("slider") == "epsilon_stop":
                return data
        idle(10)
        page.run()
    raise AssertionError("there is none")


def test_what_is_known_is_told_before_the_controls_are_drawn_and_later_only_after_them(monkeypatch):
    """On the first run of a session; every other one follows what the visitor has done."""
    drawn: list[str] = []
    for name, part, of in (("controls", "noise_controls", controls), ("headline", "headline", frame)):

        def noted(*words, _name=name, _act=getattr(of, part), **more):
            drawn.append(_name)
            return _act(*words, **more)

        monkeypatch.setattr(of, part, noted)
    page = visit()
    assert drawn[:3] == ["headline", "controls", "headline"] and drawn.count("headline") == drawn.count("controls") + 1
    drawn.clear()
    number(page, "sensitivity").set_value("2")
    settle(page.run())
    assert drawn[:2] == ["controls", "headline"] and bounds(page)[0] > 1


def test_a_link_with_a_number_that_is_not_accepted_is_answered_by_a_complaint_alone():
    page = arrive(epsilon="-1")
    assert not page.exception and "DP noise" not in words(page)
    assert any("epsilon" in error.value or "ε" in error.value for error in page.error)
