"""The start page: its numbers by other routes, where its cards lead, and which addresses are its own."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from running import apart
from screens import ROOT, settle, words
from streamlit.testing.v1 import AppTest

from dpcore import audit, figures
from dpcore.noise.gaussian import Gaussian
from pages.registry import PAGES
from pages.start import cards
from pages.start.controls import meant_for_noise
from service.entrance import Entrance

NAMED = {page.name: page for page in PAGES}


def number(answer: tuple[str, str]) -> float:
    return float(re.sub(r"[^\d.]", "", answer[0]))


@pytest.mark.parametrize("card", cards.CARDS, ids=lambda card: card.question)
def test_a_card_opens_its_page_filled_in(card):
    controls = NAMED[card.page].controls
    values, malformed = controls.read(controls.query(controls.read({})[0] | dict(card.values)))
    assert not malformed
    for key, value in card.values.items():
        assert values[key] == value or not getattr(controls.controls[key], "linked", True), key


@pytest.mark.parametrize("card", cards.CARDS, ids=lambda card: card.question)
@pytest.mark.parametrize("colours", [figures.LIGHT, figures.DARK], ids=["light", "dark"])
def test_a_picture_stays_in_its_box(card, colours):
    root = ElementTree.fromstring(figures.sketch(card.picture(), colours))
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=L|Z|$)", path.get("d")):
            assert 0 <= float(x) <= 240 and 0 <= float(y) <= 84
    assert "nan" not in ElementTree.tostring(root, "unicode") and len(list(root)) > 1


def test_the_numbers_by_other_routes():
    ratio = math.exp(-1)
    tails = [2 * ratio ** (k + 1) / (1 + ratio) for k in range(10)]  # P(|X| > k) of the geometric law
    assert number(cards.count_answer()) == next(k for k, tail in enumerate(tails) if tail <= 0.05)
    epsilon = number(cards.error_answer())
    assert math.log(20) / 5 <= epsilon <= math.log(20) / 5 + 0.01
    most = 1 / (1 + math.exp(-1))
    assert number(cards.meaning_answer()) == pytest.approx(100 * most, abs=0.5)
    assert number(cards.budget_answer()) == pytest.approx(math.log1p(math.expm1(1) / 2e-4), abs=0.01)
    assert math.log(20) * 52 <= float(re.search(r"±(\d+) with Laplace", cards.weekly_answer()[1])[1]) <= 157


def test_the_gaussians_keep_their_promise():
    """Twenty numbers that move by 1 in ℓ2, and 52 releases, are one release of a larger shift."""
    width = number(cards.vector_answer())
    sigma = width / 1.959964
    assert audit.delta_upper(Gaussian(sigma), 1.0, 1.0) <= 1e-6
    assert audit.delta_upper(Gaussian(0.995 * sigma), 1.0, 1.0) > 1e-6
    weekly = number(cards.weekly_answer()) / 1.959964
    assert audit.delta_upper(Gaussian(weekly), 1.0, math.sqrt(52)) <= 1e-6
    assert audit.delta_upper(Gaussian(0.98 * weekly), 1.0, math.sqrt(52)) > 1e-6


def test_belief_is_bounded_by_the_odds():
    prior = np.linspace(0.01, 0.99, 9)
    after = cards.belief(prior, 1.0)
    np.testing.assert_allclose(after / (1 - after), math.e * prior / (1 - prior))


def test_one_reserve_is_never_positive_and_private():
    noise = cards._reserve()
    assert noise.support[1] <= 0 and audit.delta_upper(noise, 1.0, 1.0) <= 1e-4 * (1 + 1e-9)


def test_a_sketch_says_what_it_is_given():
    """A bar twice as high as another one, in pixels."""
    root = ElementTree.fromstring(figures.sketch([figures.Stems(np.arange(2.0), np.array([1.0, 2.0]))], figures.LIGHT))
    low, high = (float(box.get("height")) for box in root.iter("{http://www.w3.org/2000/svg}rect"))
    assert high == pytest.approx(2 * low, abs=0.2)


def opened(**query: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.query_params.update(query)
    return settle(page.run())


def test_the_bare_address_shows_the_questions_and_asks_nothing_of_the_solver():
    page = opened()
    assert page.title[0].value == "Which question do you have?" and not page.query_params
    assert [link.proto.label for link in page.get("page_link")] == [f"**{card.question}**" for card in cards.CARDS]
    assert "What is proved" in [block.value for block in page.header]
    assert not page.sidebar.button and "Differential privacy takes noise" in words(page)


def test_an_old_address_opens_optimal_noise_where_the_server_did_not():
    page = opened(epsilon="2", gap="5")
    assert page.title[0].value == "Optimal noise" and "(2, 0.2)-DP" in words(page)


class Told:
    """What an ASGI application answers, or that it was reached."""

    async def __call__(self, scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def ask(self, path: str, query: bytes, method: str = "GET") -> tuple[int, str]:
        seen: list[dict] = []

        async def send(message) -> None:
            seen.append(message)

        async def receive() -> dict:
            return {"type": "http.request", "body": b""}

        scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": []}
        apart(Entrance(self, page="optimal_noise", meant=meant_for_noise)(scope, receive, send))
        headers = {name.decode(): value.decode() for name, value in seen[0]["headers"]}
        return seen[0]["status"], headers.get("location", "")


@pytest.mark.parametrize("query", [b"epsilon=2", b"projector=true", b"utm=x&epsilon=2&unit=%E2%82%AC", b"pairs="])
def test_the_server_leads_an_old_address_to_its_page(query):
    status, location = Told().ask("/", query)
    assert status == 307 and location == f"optimal_noise?{query.decode()}"


@pytest.mark.parametrize(
    ("path", "query", "method"),
    [
        ("/", b"", "GET"), ("/", b"utm_source=x", "GET"), ("/optimal_noise", b"epsilon=2", "GET"),
        ("/_stcore/health", b"epsilon=2", "GET"), ("//elsewhere", b"epsilon=2", "GET"), ("/", b"epsilon=2", "POST"),
    ],
)  # fmt: skip
def test_other_addresses_stay(path, query, method):
    assert Told().ask(path, query, method) == (200, "")


def test_nothing_of_an_address_gets_into_the_headers_of_the_answer():
    _, location = Told().ask("/", b"epsilon=1%0d%0aSet-Cookie:x\r\nX: y")
    assert "\r" not in location and "\n" not in location and location.startswith("optimal_noise?")
