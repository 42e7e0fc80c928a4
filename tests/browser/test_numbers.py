"""The numbers behind every chart: each fold of every page opens and shows a table."""

from __future__ import annotations

import re

import pytest
from sights import quiet, routes

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", routes())
def test_every_fold_of_numbers_opens(dashboard, visitor, name):
    page = visitor(1280, 4000)
    page.goto(f"{dashboard}{routes()[name]}?gap=5")
    page.locator(".main-svg").first.wait_for()
    for stop in page.get_by_role("button", name=re.compile("^Stop( here)?$")).all():
        stop.wait_for(state="detached")
    titles = page.locator("summary:visible").filter(has_text=re.compile(r"Numbers$"))
    for number in range(titles.count()):
        fold = titles.nth(number).locator("xpath=..")
        quiet(page)
        titles.nth(number).press("Enter")  # the mouse would have to hit what the fold before is still moving
        fold.locator('table, [data-testid="stDataFrame"]').first.wait_for()
        assert not page.locator('[data-testid="stException"]').count(), fold.inner_text()
