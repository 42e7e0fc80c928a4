"""From nothing to released numbers in a real browser: a dozen clicks, a plan taken away and opened again."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys

import pytest
from views import quiet

pytestmark = pytest.mark.browser


class Clicks:
    """Clicks on a page, counted."""

    def __init__(self, page) -> None:
        self.page, self.count = page, 0

    def __call__(self, role: str, name: str | re.Pattern) -> None:
        self.page.get_by_role(role, name=name).first.click()
        self.count += 1
        quiet(self.page)


def metric(page, label: str) -> str:
    """The value of a number that is shown large."""
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue").inner_text()


def test_from_nothing_to_a_release_in_twelve_clicks(dashboard, visitor, artifacts, tmp_path):
    """Table, mean and median of a survey; then the plan, the script and made-up people, which belong together."""
    page = visitor(1280, 900)
    page.goto(dashboard)
    page.get_by_role("heading", name="Which question").wait_for()
    click = Clicks(page)
    click("button", "Apply")
    click("menuitem", "Release plan")
    page.get_by_text("3 statistics cost every person at most ε").wait_for()
    click("button", "Next: what you publish")
    click("button", "Next: the budget")
    click("button", "Next: the noise")
    click("button", "Next: what to expect")
    page.locator(".st-key-chart_signal_0 .main-svg").first.wait_for()
    page.screenshot(path=artifacts / "release_plan_expected.png", full_page=True)
    click("button", "Next: release")
    click("button", "Release these numbers …")
    click("button", re.compile("Spend ε = 1 .* and release"))
    page.locator(".st-key-chart_released_0 .main-svg").first.wait_for()
    assert click.count <= 12
    page.screenshot(path=artifacts / "release_plan_released.png", full_page=True)
    assert 35 < float(metric(page, "mean hours of work")) < 45
    assert 3e4 < float(metric(page, "median income").replace("\u202f", "")) < 6e4
    assert metric(page, "Left") == "0"
    assert "released" not in page.url and "Traceback" not in page.content()
    with page.expect_download() as download:
        page.get_by_role("button", name="Synthetic people (CSV)").click()
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        made = [int(row["age"]) for row in csv.DictReader(file)]
    assert abs(len(made) - 30_000) < 200 and min(made) == 17 and max(made) <= 90

    page.get_by_role("radio", name="7 Take away").click()
    quiet(page)
    saved = {}
    for button in ("Plan (TOML)", "Python script", "Made-up people (CSV)"):
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        saved[button] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[button])
    plan, script, people = saved.values()
    with people.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 30_000
    run = [sys.executable, "-I", str(script), str(people)]
    released = json.loads(subprocess.run(run, capture_output=True, check=True, text=True, timeout=60).stdout)
    assert set(released) == {"people by age", "mean hours of work", "median income"}
    assert 35 < released["mean hours of work"] < 45

    other = visitor()
    other.goto(f"{dashboard}/release_plan?epsilon=2")
    other.get_by_text("Nothing to publish yet").wait_for()
    other.get_by_text("Open a plan").click()
    other.get_by_test_id("stSidebar").locator('input[type="file"]').set_input_files(plan)
    other.get_by_role("button", name="Use this plan").click()
    other.get_by_text("3 statistics cost every person at most ε = 1").wait_for()


def test_a_bad_bound_is_named_under_its_field_and_kept(dashboard, visitor):
    page = visitor(390, 844)
    page.goto(f"{dashboard}/release_plan?panel=have")
    page.get_by_role("button", name="Add a column of numbers").click()
    low = page.get_by_role("textbox", name="Lower bound")
    low.fill("ten")
    low.press("Tab")
    page.locator(".st-key-entry_columns_0_low").get_by_text("lower bound = ten: expected a number").wait_for()
    assert low.input_value() == "ten"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.reload()
    page.get_by_role("textbox", name="Lower bound").wait_for()
    assert page.get_by_role("textbox", name="Lower bound").input_value() == "ten"
    low = page.get_by_role("textbox", name="Lower bound")
    low.fill("10")
    low.press("Enter")
    page.locator(".st-key-entry_columns_0_low").get_by_text("expected").wait_for(state="detached")
