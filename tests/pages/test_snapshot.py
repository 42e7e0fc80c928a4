"""What is seen of a page before it is alive says what the live page will say, and says nothing that was not proved."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import plotly.graph_objects as go
import pytest
from screens import settle
from streamlit.testing.v1 import AppTest

import dpcore as dp
from dpcore import figures
from dpcore.optimal import first_bracket, solve
from dpcore.problem import noise_problem
from pages import snapshot
from pages.optimal_noise import inputs
from pages.optimal_noise.snapshot import sight
from pages.registry import PAGES
from pages.shared import compute, prose, seen
from pages.snapshot import Sight
from pages.start.cards import CARDS
from work.question import Answer, Question

ROOT = Path(__file__).parents[2]
APP = str(ROOT / "app.py")
QUERY = {"epsilon": "1", "delta": "0.2", "unit": "people", "seconds": "5"}


class Texts(HTMLParser):
    """The texts of a page, and what could run in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs), tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def known():
    """The problem of `QUERY`, solved by somebody."""
    values = inputs.HOME.read(QUERY)[0]
    problem, settings = inputs.read_problem(values), inputs.read_settings(values)
    compute._workers().cache.remember(Question(solve, problem, settings), Answer(solve(problem, settings)))
    return problem, settings


def test_it_says_what_the_live_page_says(known):
    page = snapshot.draw("optimal_noise", QUERY, "")
    app = AppTest.from_file("../../pages/optimal_noise/page.py", default_timeout=60)
    for key, text in QUERY.items():
        app.query_params[key] = text
    live = [one.value for one in app.run().markdown]
    shown = "".join(Texts(page).texts)
    (headline,) = [text for text in live if "at least **" in text]
    for text in (headline, live[live.index(headline) - 1]):
        assert text.replace("**", "") in shown


def test_nothing_is_solved_for_it_and_of_what_neither_somebody_nor_the_atlas_knows_there_is_none():
    compute.rest()  # what pages of other tests had under way
    before = compute.figures()
    assert snapshot.draw("optimal_noise", QUERY | {"epsilon": "1.2345", "loss": "huber"}, "") is None
    shown = "".join(Texts(snapshot.draw("optimal_noise", QUERY | {"epsilon": "1.2345"}, "")).texts)
    proof = first_bracket(noise_problem(1.2345, 0.2, 1.0)).certificate
    assert prose.bracket(proof.lower, proof.upper)[0] in shown
    assert compute.figures() == before


@pytest.mark.parametrize(
    "query", [{"epsilon": "x"}, {"epsilon": "-1"}, {"loss": "table", "table": "1"}, {"unit": "<b>"}, {"seconds": "1e9"}]
)
def test_of_an_address_that_is_not_understood_there_is_none(query):
    assert sight(QUERY | query) is None


LEARN = {"topic": "growth", "co_epsilon": "0.3"}


def test_of_other_pages_it_is_what_was_last_seen_at_that_address():
    """Also where the address says the same in other words; not at any other one."""
    assert snapshot.draw("composition", LEARN, "") is None
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page("pages/composition/page.py")
    for key, text in LEARN.items():
        app.query_params[key] = text
    settle(app.run())
    live = [one.value for one in app.markdown if "uses of" in one.value]
    shown = Texts(snapshot.draw("composition", LEARN | {"co_epsilon": "0.30"}, ""))
    assert live[0].replace("**", "") in "".join(shown.texts) and "path" in shown.tags
    for other in ({"co_epsilon": "0.2"}, {"topic": "budget"}, {"co_epsilon": "x"}, {"explain": "true"}):
        assert snapshot.draw("composition", LEARN | other, "") is None


def test_of_pages_that_read_people_s_data_nothing_is_kept():
    """Nor of a session that holds a file."""
    pages = {page.name: page for page in PAGES}
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]))
    for name in ("release_plan", "private_learning"):
        seen.begin(pages[name])
        seen.note(headline="secret")
        seen.picture(figure, "")
        seen.keep(pages[name], light=True)
        assert seen.at(pages[name], {}) is None
    takes = re.compile(r"from (pages.release_plan|\.) import [^\n]*\bupload\b")
    readers = {one.parent.name for one in ROOT.glob("pages/*/*.py") if takes.search(one.read_text(encoding="utf-8"))}
    assert readers == set(seen.PRIVATE)


def test_what_no_address_tells_is_shown_to_nobody_else():
    """Guesses of a game, say, of which the headline speaks."""
    game = {"topic": "game", "seed": "4711"}
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page("pages/what_epsilon_means/page.py")
    for key, text in game.items():
        app.query_params[key] = text
    app.run()
    app.button(key="guess_A").click().run()
    assert any("after 1 round you are" in one.value for one in app.markdown)
    page = snapshot.draw("what_epsilon_means", game, "")
    assert page is None or "you are" not in "".join(Texts(page).texts)


@pytest.mark.parametrize("path", ["tradeoff_maps", "no_such_page", "../app.py", "shared"])
def test_of_pages_without_one_there_is_none(path, monkeypatch):
    monkeypatch.setattr(seen, "_kept", {})  # what other tests have looked at
    assert snapshot.draw(path, {}, "") is None


def test_the_questions_are_there_from_the_first_moment():
    page = Texts(snapshot.draw("", {}, ""))
    shown = "".join(page.texts)
    for one in CARDS:
        lead, rest = one.answer()
        assert one.question in shown and prose.unbroken(f"{lead} {rest}") in shown


def test_every_text_is_escaped():
    bad = "<img src=x onerror=alert(1)>\"'&"
    figure = figures.density(
        [figures.Law("optimal", bad, dp.solve(epsilon=1, delta=0.2).noise)], unit=bad, colours=figures.LIGHT
    )
    figure.add_annotation(x=0, y=0.1, text=bad)
    page = snapshot.html(Sight(bad, bad, bad, [bad], [(bad, figure, bad)], [(bad, "<svg></svg>", bad)], until=bad))
    assert not Texts(page).tags & {"img", "script", "iframe", "a", "link"}


@pytest.mark.parametrize("theme", ["", "light", "dark"])
def test_the_theme_is_the_visitors(theme):
    scheme = re.search(r"color-scheme:([a-z ]+)", snapshot.html(Sight("x"), theme))
    assert scheme.group(1) == (theme or "light dark")
