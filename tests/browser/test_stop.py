"""Stop, on every page that has work to end: one click is enough, whenever it comes."""

from __future__ import annotations

import asyncio
import os
import re
import time

import pytest
from playwright.sync_api import TimeoutError
from running import apart
from views import LASTING, UNDRAWN, quiet

from benchmarks.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

LONG = {
    "Optimal noise": (f"/?{LASTING}&seconds=60", "Stop here"),
    "Data-dependent noise": ("/data_dependent?high=40&gap=0.001&seconds=60", "Stop here"),
    "Private optimisation": ("/private_optimisation?story=transport&draws=2000&figure=4", "Stop"),
    "Private learning": ("/private_learning?splits=200&draws=1000&panel=sensitivities", "Stop"),
    "Trade-off maps": ("/tradeoff_maps?steps=20&target=0.1", "Stop"),
}
"""What takes half a minute and more, and what its button is called."""

OTHER = {"Trade-off maps": "high_epsilon=7"}
"""What makes another problem of it, if not another ε: what another test has asked for may be there by now."""

LAGS = (150, 400, 700)
"""Milliseconds after which a button is pressed."""


@pytest.mark.parametrize("name", [*LONG, "Published figures"])
def test_no_stop_button_is_drawn_by_what_runs_by_itself(dashboard, name):
    """A click on one that is comes to nothing when the page runs again just then."""
    query = LONG.get(name, ("?tab=Tables&table=4",))[0].partition("?")[2]
    home = name == "Optimal noise"
    visitor = Visitor(dashboard, query if home else "")

    async def look() -> set[str]:
        """The fragments of all buttons that stop something."""
        async with visitor.visit():
            await visitor.finished()
            if not home:
                await visitor.turn_to(name, query)
                await visitor.finished()
            for _ in range(300):
                found = {visitor.fragments[path] for path, one in visitor.elements.items() if stops(one)}
                if found:
                    return found
                await asyncio.sleep(0.1)
        return set()

    assert apart(look()) == {""}


def stops(element) -> bool:
    return element.WhichOneof("type") == "button" and element.button.label.startswith("Stop")


@pytest.mark.parametrize("name", LONG)
def test_a_click_on_stop_ends_the_work(dashboard, visitor, name):
    """Each page after a lag of its own, then gone on with; THOROUGH=1 three times, for a click lost once in a while is
    what a visitor remembers."""
    (address, label), one = LONG[name], list(LONG).index(name) % len(LAGS)
    page = visitor()
    page.goto(f"{dashboard}{address}&{OTHER.get(name, 'epsilon=1.01')}")
    for lag in LAGS if os.environ.get("THOROUGH") else LAGS[one : one + 1]:
        stop = page.get_by_role("button", name=label, exact=True)
        stop.last.wait_for()  # a page drawn anew still shows its past
        page.wait_for_timeout(lag)
        stop.last.click()
        clicked = time.monotonic()
        stop.first.wait_for(state="detached", timeout=20_000)
        assert time.monotonic() - clicked < 20
        resume = page.get_by_role("button", name=re.compile("go on"))
        try:
            resume.wait_for()
        except TimeoutError as late:
            seen = f"{page.evaluate(UNDRAWN)}\n{page.get_by_test_id('stMain').inner_text()[:3000]}"
            raise AssertionError(seen) from late
        quiet(page)
        assert not stop.count()
        resume.click()
    stop.last.wait_for()


def test_a_published_table_stops_too(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/reproduction?tab=Tables&table=S1")  # x², which no other test looks at
    stop = page.get_by_role("button", name="Stop", exact=True)
    for left in (1, 0):  # the certified table, and the paper's grids
        stop.nth(left).wait_for()
        page.wait_for_timeout(400)
        stop.nth(left).click()
        stop.nth(left).wait_for(state="detached", timeout=20_000)
    page.get_by_text("Stopped early.").first.wait_for(timeout=20_000)
    quiet(page)
    assert not page.get_by_role("button", name="Stop", exact=True).count()
