"""Links are untrusted text: whatever an address holds, a page opens, says what it did not understand, and runs nothing.

THOROUGH=n opens 2000·n addresses instead of 30, and with every kind of markup in every parameter.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import re

import pytest
from hostile import MARKUP, NUMBERS, TEXTS, address
from visits import HOME, PAGES, ROOT, addresses, link, shown, visit

from dpcore.vector.profile import plain_name
from pages.shared import compute

THOROUGH = int(os.environ.get("THOROUGH", "0"))
COUNT = 2000 * THOROUGH or 30
CHUNKS = max(10, COUNT // 20)


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch, scanned_once):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    compute.rest()


def check(app, query, caplog) -> None:
    """No traceback on the page, none in the log, nothing on the page but what the program wrote there."""
    assert not app.exception, f"{link(query)}: {[e.value for e in app.exception]}"
    texts = "\n".join(shown(app))
    assert "Traceback" not in texts and "traceback" not in texts, link(query)
    errors = [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    assert not errors, f"{link(query)}: {errors[0].getMessage()}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_fuzzed_addresses_open_every_page(chunk, caplog):
    rng = random.Random(20_000 + chunk)
    known = addresses()
    for number in range(COUNT // CHUNKS):
        page = PAGES[(number + chunk) % len(PAGES)]
        query = address(rng, known)
        check(visit(page, query), query, caplog)
        compute.rest()


@pytest.mark.parametrize("page", PAGES)
def test_every_parameter_of_a_page_takes_every_kind_of_nonsense_at_once(page, caplog):
    known = sorted(addresses())
    for number in range(3 if THOROUGH else 2):
        rng = random.Random(number)
        query = {key: rng.choice(NUMBERS + TEXTS) for key in known}
        check(visit(page, query), query, caplog)
        compute.rest()


@pytest.mark.parametrize("page", PAGES)
def test_markup_in_an_address_stays_text(page, caplog):
    """A link must not plant an image, a link, a formula, an icon or a colour on the page somebody opens."""
    for first in range(0, len(MARKUP), 1 if THOROUGH else 7):
        query = {key: MARKUP[(first + number) % len(MARKUP)] for number, key in enumerate(addresses())}
        app = visit(page, query)
        check(app, query, caplog)
        for text, block in itertools.product(MARKUP, shown(app)):
            assert not live(text, block), f"{text!r} is alive in {block[:300]!r}"


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_the_names_of_sensitivities_stays_text(text, caplog):
    """A link with such a name is refused; made plain, as in a file, it is a name like others."""
    name = plain_name(text)
    for numbers in (f"{text}: 3; b: 1", f"{name}: 3; b: 1"):
        query = {"shape": "list", "numbers": numbers, "panel": "export", "delta": "0"}
        app = visit("pages/vector_queries/page.py", query)
        check(app, query, caplog)
        assert bool(app.error) == (numbers.partition(":")[0] != name)
        for block in shown(app):
            assert not live(text, block), f"{text!r} is alive in {block[:300]!r}"


def live(text: str, markdown: str) -> bool:
    """The text stands in the Markdown as it is, outside of code."""
    outside = re.sub(r"(`+)(?:(?!\1).)+\1", "", markdown, flags=re.S)
    return text in outside


def test_the_checker_tells_alive_from_dead():
    assert live("$q$", "costs 3 $q$") and live("[q](x)", "a [q](x)")
    assert not live("$q$", "costs 3 \\$q\\$") and not live("[q](x)", "`unit = [q](x)`")


def test_a_long_address_is_read_in_no_time_and_its_notes_are_short(caplog):
    query = {key: "9" * 30_000 for key in addresses()}
    app = visit(HOME, query)
    check(app, query, caplog)
    assert max(map(len, shown(app))) < 20_000
