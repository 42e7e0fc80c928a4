"""The numbers behind every chart: each fold of every page opens and shows a table."""

from __future__ import annotations

import contextlib
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import TimeoutError, expect
from views import quiet, routes

from pages.release_plan import controls as plans

QUICK = {"gap": "5", "steps": "3"}
SHOWN = {"release_plan": plans.PAGE.query(plans.PAGE.read({})[0] | plans.SURVEY | {"panel": "expect"})}
"""Page → the address that shows its charts, where another one than `QUICK` does."""

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]


@pytest.mark.parametrize("name", [name for name in routes() if name != "start"])
def test_every_fold_of_numbers_opens(dashboard, visitor, name):
    page = visitor(1280, 4000)
    page.goto(f"{dashboard}{routes()[name]}?{urlencode(SHOWN.get(name, QUICK))}")
    page.locator(".main-svg").first.wait_for()
    stops = page.get_by_role("button", name=re.compile("^Stop( here)?$"))
    for place in reversed(range(stops.count())):  # the last one first: the others keep their places
        with contextlib.suppress(TimeoutError):  # what has ended by itself cannot be stopped
            stops.nth(place).click(timeout=5000)  # hundreds of problems on one of the pages: a few have numbers, too
        stops.nth(place).wait_for(state="detached", timeout=240_000)
    titles = page.locator("summary:visible").filter(has_text=re.compile(r"Numbers$"))
    quiet(page)
    assert titles.count()
    for number in range(titles.count()):
        fold = titles.nth(number).locator("xpath=..")
        quiet(page)
        titles.nth(number).press("Enter")  # the mouse would have to hit what the fold before is still moving
        expect(fold).to_have_attribute("open", "")
        fold.locator('table, [data-testid="stDataFrame"]').first.wait_for()
        assert not page.locator('[data-testid="stException"]').count(), fold.inner_text()
