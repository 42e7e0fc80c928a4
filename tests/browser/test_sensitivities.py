"""Vector queries with one's own sensitivities: typed, from an old link, from a file."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from views import HEADLINE, quiet

from dpcore.privacy import Privacy
from dpcore.vector import SensitivityProfile, VectorQuery
from dpcore.vector.compare import allocation

pytestmark = pytest.mark.browser

OWN = SensitivityProfile((120.0, 0.5, 3.0), names=("age", "smoker_flag", "visits"))
BEST = allocation(VectorQuery(Privacy(0.5, 0), OWN), "blocks-optimal").error


def opened(visitor, address: str, **options):
    page = visitor(**{"width": 1280, "height": 1400} | options)
    page.goto(address)
    page.locator(".main-svg").first.wait_for()
    quiet(page)
    return page


def put(page, folder, name: str, text: str) -> None:
    """Upload a file into the page's box."""
    file = folder / name
    file.write_text(text)
    page.locator('[data-testid="stSidebar"] input[type="file"]').set_input_files(file)
    page.get_by_text(name).wait_for()
    quiet(page)


@pytest.mark.parametrize("scaling", ["", "&norm=l1"])
def test_noise_is_for_the_numbers_as_they_were_typed(dashboard, visitor, scaling):
    """Links that ask for a scaling too: 120 is not made to be 0.9997."""
    page = opened(visitor, f"{dashboard}/vector_queries?shape=list&delta=0&panel=export{scaling}")
    box = page.get_by_role("textbox", name="Sensitivities")
    box.fill("120; 0.5; 3")
    box.press("Control+Enter")
    expect(page.locator(HEADLINE)).to_contain_text(f"3 coordinates, 0.5-DP: mean squared error {BEST:.4g}")
    assert not page.get_by_text("Scaled to").count()
    expect(page.get_by_text("--profile 120.0,0.5,3.0 --power 2.0")).to_be_visible()
    answers = page.get_by_role("textbox", name="True values")
    answers.fill("5000; 5000; 5000")
    answers.press("Control+Enter")
    quiet(page)
    released, shown = [""], page.get_by_test_id("stCode").first
    for _ in range(4):
        page.get_by_role("button", name="Release", exact=True).click()
        expect(shown).to_have_text(re.compile(rf"^(?!{re.escape(released[-1])}$)[-\d.]+, [-\d.]+, [-\d.]+$"))
        released.append(shown.inner_text().strip())
    noises = [float(text.split(",")[0]) - 5000 for text in released[1:]]
    assert max(map(abs, noises)) > 2, "below 2 with probability below 1 % each"


def test_commas_that_can_be_read_in_two_ways_are_refused(dashboard, visitor):
    page = opened(visitor, f"{dashboard}/vector_queries?shape=list&numbers=0.85%3B%200.15")
    before = page.locator(HEADLINE).inner_text()
    box = page.get_by_role("textbox", name="Sensitivities")
    box.fill("0,5 0,25 1")
    box.press("Control+Enter")
    expect(page.get_by_test_id("stSidebar").get_by_role("alert")).to_contain_text("write 0.5 or 0; 5")
    box.fill("0.5, 0.25, 1")
    box.press("Control+Enter")
    expect(page.locator(HEADLINE)).to_contain_text("3 coordinates")
    assert before.startswith("2 coordinates")


@pytest.mark.parametrize("look", [{"color_scheme": "dark"}, {"width": 390, "height": 844}])
def test_a_file_is_looked_at_then_used(dashboard, visitor, tmp_path, artifacts, look):
    page = opened(visitor, f"{dashboard}/vector_queries?shape=list&delta=0", **look)
    if "width" in look:
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_text("From a file").click()
    people = "\n".join(f"{i},{18 + i % 60},{20_000 + 37 * i}" for i in range(300))
    put(page, tmp_path, "people.csv", f"id,age,salary\n{people}\n")
    refused = page.get_by_test_id("stSidebar").get_by_role("alert").filter(has_text="one line per person")
    expect(refused).to_contain_text("columns called age, salary")
    expect(refused).to_contain_text("A sensitivity is a public statement about the query")
    assert not page.get_by_role("button", name=re.compile("^Use these")).count()

    put(page, tmp_path, "own.csv", 'column;"l1";sensitivity\nage;1;120\nsmoker_flag;1;0.5\n"visits";2;3\n')
    expect(refused).to_have_count(0)
    page.screenshot(path=artifacts / f"sensitivities_{'phone' if 'width' in look else 'dark'}.png")
    page.get_by_role("button", name="Use these 3").click()
    expect(page.locator(HEADLINE)).to_contain_text(f"(age, smoker_flag, visits), 0.5-DP: mean squared error {BEST:.4g}")
    expect(page.get_by_role("textbox", name="Sensitivities")).to_have_value("age: 120\nsmoker_flag: 0.5\nvisits: 3")
    page.wait_for_function("() => location.search.includes('smoker_flag')")
