"""ε, δ, sensitivity, unit and loss go along when a visitor turns to another page and asks for it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from screens import turn
from streamlit.testing.v1 import AppTest

from dpcore.loss import absolute
from dpcore.plan import laws
from dpcore.plan.budget import split
from dpcore.plan.files import plan_from_toml
from dpcore.plan.made_up import EXAMPLE
from pages.optimal_noise.inputs import read_problem
from pages.registry import PAGES
from pages.shared import compute, travel

ROOT = Path(__file__).parents[2]
NAMED = {page.name: page for page in PAGES if page.name in travel.PLACES}
SOLVED = [name for name in NAMED if name != "release_plan"]


@pytest.fixture(autouse=True)
def nothing_goes_on():
    yield
    compute.rest()


def first(name: str) -> dict[str, object]:
    controls = NAMED[name].controls
    return controls.read({})[0] | dict(controls.first or {})


@pytest.mark.parametrize(("here", "there"), list(itertools.permutations(SOLVED, 2)))
@pytest.mark.parametrize(
    "loss", [{"loss": "l1"}, {"loss": "l2"}, {"loss": "lp", "exponent": 1.5}, {"loss": "exceed", "threshold": 2.5}]
)
def test_there_and_back_is_the_same_problem(here, there, loss):
    """Only what both pages have controls for is compared."""
    problem = {"epsilon": 0.7, "delta": 0.03, "sensitivity": 1.5, "unit": "€", **loss}
    values = first(here) | travel.PLACES[here].write(problem, first(here))
    told = travel.PLACES[here].read(values)
    gone = first(there) | travel.PLACES[there].write(told, first(there))
    back = travel.PLACES[there].read(gone)
    for key in ("epsilon", "delta"):
        assert back[key] == told[key] == problem[key]
    for key in {"sensitivity", "unit", "loss", "exponent", "threshold"} & told.keys() & back.keys():
        if loss["loss"] != "exceed" or "vector_queries" not in (here, there) or key == "sensitivity":
            assert back[key] == told[key], key
    read, malformed = NAMED[there].controls.read(NAMED[there].controls.query(gone))
    assert not malformed and travel.PLACES[there].read(read) == back, "all of it is in the link"


def test_a_vector_stays_one():
    vector = {"epsilon": 2.0, "delta": 1e-6, "sensitivity": 0.5, "loss": "l2", "dimension": 7}
    gone = first("vector_queries") | travel.PLACES["vector_queries"].write(vector, first("vector_queries"))
    assert gone["numbers"] == ",".join(["0.5"] * 7) and gone["l2"] == 0.5
    assert travel.PLACES["vector_queries"].read(gone) == vector


def app(page: str, **query: str) -> AppTest:
    test = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    for key, value in query.items():
        test.query_params[key] = value
    test.run()
    return test if page == "optimal_noise" else test.switch_page(NAMED[page].script).run()


def buttons(test: AppTest) -> dict:
    return {button.key: button for button in test.button}


def test_a_problem_goes_along_and_changes_nothing_else():
    test = app(
        "optimal_noise",
        epsilon="0.7",
        delta="0.03",
        sensitivity="1.5",
        unit="€",
        loss="exceed",
        threshold="2.5",
        gap="50",
    )
    assert "travel" not in buttons(test)
    test.switch_page(NAMED["tradeoff_maps"].script).run()
    assert not test.exception
    assert "0.7" in buttons(test)["travel"].help and "Optimal noise" in buttons(test)["travel"].help
    assert test.session_state["at_epsilon"] == 1.0, "nothing moves unless it is asked for"
    buttons(test)["travel"].click().run()
    assert not test.exception
    told = {
        key: test.session_state[key] for key in ("at_epsilon", "at_delta", "sensitivity", "unit", "loss", "threshold")
    }
    assert told == dict(zip(told, (0.7, 0.03, 1.5, "€", "exceed", 2.5))) and test.session_state["steps"] == 9
    assert "travel" not in buttons(test), "it is this page's problem now"


def test_a_problem_waits_on_pages_that_have_none():
    test = app("optimal_noise", epsilon="0.7", gap="50")
    test.switch_page(next(page.script for page in PAGES if page.name == "composition")).run()
    assert "travel" not in buttons(test)
    test.switch_page(NAMED["isotropic"].script).run()
    buttons(test)["travel"].click().run()
    assert not test.exception and test.session_state["epsilon"] == 0.7
    test.switch_page(NAMED["optimal_noise"].script).run()
    assert test.session_state["epsilon"] == 0.7


def test_a_line_of_a_plan_is_the_problem_that_its_noise_is_for():
    """Asked on the first page, the line's problem is the one that its best noise is computed for."""
    for priced in split(plan_from_toml(EXAMPLE)).lines:
        if not priced.totals:
            continue
        own = laws.problem(priced.totals[0], priced.part, priced.line.full_support, absolute())
        problem = travel.problem_of(own)
        values = first("optimal_noise") | travel.PLACES["optimal_noise"].write(problem, first("optimal_noise"))
        assert read_problem(values) == own
        for name in SOLVED:
            page = NAMED[name].controls
            told = first(name) | travel.PLACES[name].write(problem, first(name))
            assert not page.read(page.query(told))[1], name
