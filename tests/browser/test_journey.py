"""The main journeys in a real browser: change, stop, send a link, save and bring back, by hand and by keyboard."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pandas as pd
import pytest
from views import CHART, HEADLINE, LASTING, bounds, quiet, settled, still

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


def test_a_first_visit_starts_from_a_realistic_count_and_shows_where_optimal_noise_matters(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/optimal_noise")
    first = settled(page)
    assert page.locator(".st-key-verdict strong").inner_text() == "Keep Geometric: less than 0.01\u202f% to gain"
    assert "whole-number (1,\u00a010⁻⁶)-DP noise" in page.locator(HEADLINE).inner_text()
    assert page.get_by_role("combobox", name="Start from").input_value() == "Patient count"
    assert number_box(page, "Number of people n").input_value() in ("20000", "20 000")
    table = page.locator("table.matters")
    table.get_by_text("…").first.wait_for(state="detached")
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    for cell, saved in zip(rows[0], (1, 4, 15, 59), strict=True):  # both ends, where the time was up before they met
        ends = [int(end) for end in cell.removesuffix("\u202f%").split("–")]
        assert ends[0] <= saved <= ends[-1] <= ends[0] + 2
    assert rows[1:] == [4 * ["<\u202f1\u202f%"]]
    assert table.locator(".here").count() == 1 and table.locator("tr").nth(2).locator(".here").count() == 1
    chart = still(page.locator(CHART).first)
    assert chart["y"] + 0.9 * chart["height"] <= 720, "the picture is in the first screen"
    assert {"values=whole", "delta=1e-6", "people=20000"} <= set(page.url.split("?")[1].split("&"))
    again = visitor()
    again.goto(page.url)
    assert settled(again) == first

    box = number_box(page, "Number of people n")
    box.fill("2000000")
    box.press("Enter")
    page.get_by_text("δ = 10⁻⁶ is more than 1/n = 1/2\u202f000\u202f000").wait_for()
    page.get_by_text("Compared, not recommended: δ\u00a0=\u00a010⁻⁶ is more than 1/n.").wait_for()
    assert page.locator(".st-key-verdict strong").inner_text().startswith("Geometric: less than")


def number_box(page, name: str):
    """A field for a number by its label."""
    return page.get_by_label(name, exact=True).first


def test_tour_change_of_epsilon_and_nonsense(dashboard, visitor, artifacts):
    page = visitor(1440, 1750, tour=True, color_scheme="light")
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{dashboard}/?epsilon=1&delta=0.2")
    bounds(page)
    page.wait_for_selector(CHART)
    first = settled(page)
    assert 0.5579 <= first[0] <= first[1] <= 0.5592

    tour = page.get_by_label("A short tour")
    for step in (1, 2, 3):
        assert f"{step} of 3" in tour.inner_text()
        tour.get_by_role("button", name="Done" if step == 3 else "Next").click()
    assert tour.count() == 0
    page.screenshot(path=artifacts / "optimal_noise.png")

    box = page.get_by_role("textbox", name="ε exactly")
    box.fill("2")
    box.press("Enter")
    second = settled(page, first)
    assert second[1] < first[0], "less privacy, less noise"
    page.wait_for_function("() => location.search.includes('epsilon=2')")
    assert tour.count() == 0, "it does not come back"

    box.fill("-7")
    box.press("Enter")
    message = page.locator('[data-testid="stSidebar"] [data-testid="stAlert"]')
    message.first.wait_for()
    assert re.search(r"ε = −7: expected", message.first.inner_text())
    assert bounds(page) == second, "the last good picture stays"
    assert "Traceback" not in page.content() and not faults


def test_drag_epsilon_change_the_loss_and_stop(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/?gap=5")
    first = settled(page)
    slider = page.get_by_role("slider").first
    grip = slider.bounding_box()
    middle = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    for step in range(1, 6):  # five stops within half a second
        page.mouse.move(middle[0] + 6 * step, middle[1])
        page.wait_for_timeout(80)
    page.mouse.up()
    dragged = settled(page, first)
    assert dragged[1] < first[0]

    loss = page.get_by_role("combobox", name="Loss", exact=True)
    loss.click()
    loss.fill("squared")
    page.get_by_role("option", name="squared error").click()
    squared = settled(page, dragged)
    assert "squared error" in page.locator(HEADLINE).inner_text()

    page.goto(f"{dashboard}/?{LASTING}&epsilon=0.98&seconds=30")
    stop = page.get_by_role("button", name="Stop here").last  # a page drawn anew still shows its past
    stop.click()
    stop.wait_for(state="detached")
    page.get_by_role("button", name=re.compile("go on")).wait_for()
    lower, upper = bounds(page)
    assert 0 < lower <= upper and [lower, upper] != squared


BOTH = """() => {
    const app = document.querySelector('[data-testid="stApp"]');
    if (app?.getAttribute('data-test-script-state') !== 'notRunning') return null; // none beside the still picture
    const strip = [...document.querySelectorAll('p')].find(p => p.innerText.includes('lies between'));
    const figures = p => [...p.querySelectorAll('strong')].map(one => one.innerText);
    const headline = document.querySelector('.st-key-headline p');
    return strip && headline ? [figures(headline), figures(strip)] : null;
}"""
"""Figures of the headline and of the strip below it, at one moment; nothing while the page is being drawn."""


def test_headline_and_strip_move_together_while_the_solver_goes_on(dashboard, visitor):
    """They agree again and again, and not because they stand still."""
    page = visitor()
    page.goto(f"{dashboard}/?{LASTING}&epsilon=1.02&seconds=55")
    page.wait_for_selector(HEADLINE)
    agreed, deadline = [], time.monotonic() + 60
    while len(agreed) < 2:
        assert time.monotonic() < deadline, f"they agreed on {agreed} alone"
        both = page.evaluate(BOTH)
        agreed += [both[0]] if both and both[0] == both[1] and both[0] not in agreed else []
        page.wait_for_timeout(50)


def test_a_copied_link_opens_the_same_screen_elsewhere(dashboard, visitor):
    page = visitor(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{dashboard}/?gap=5")
    first = settled(page)
    page.get_by_role("tab", name="Side by side").click()
    page.get_by_role("button", name="Pin this problem").click()
    page.get_by_text("Logarithmic density").click()
    page.get_by_text("Monotone", exact=True).click()
    changed = settled(page, first)
    page.get_by_role("columnheader", name="Pin 1").wait_for()
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert {"monotone=true", "log_y=true", "panel=Side+by+side"} <= set(link.split("?")[1].split("&"))
    page.get_by_role("button", name="Cite").click()
    page.get_by_role("button", name="Copy BibTeX").click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Copied").wait_for()
    entry = page.evaluate("navigator.clipboard.readText()")
    assert entry.startswith("@software{") and str(changed[0]) in entry

    again = visitor(color_scheme="dark")
    again.goto(link)
    assert settled(again) == changed
    again.get_by_role("columnheader", name="Pin 1").wait_for()
    assert again.get_by_role("switch", name="Logarithmic density").is_checked()
    assert again.get_by_role("switch", name="Monotone").is_checked()
    assert again.get_by_role("tab", name="Side by side").get_attribute("aria-selected") == "true"
    assert again.url == link


def test_files_go_out_and_come_back(dashboard, visitor, tmp_path):
    page = visitor()
    page.goto(f"{dashboard}/?epsilon=2&loss=pinball&tau=0.3&gap=5&panel=Take+it+away")
    before = settled(page)
    page.wait_for_selector(CHART)

    def saved(button: str):
        quiet(page)
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    record = saved("JSON")
    assert json.loads(record.read_text())["certificate"]["upper"] == pytest.approx(before[1], rel=0.01)
    assert saved("Noise as PNG").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in saved("Costs as SVG").read_text()[:200]
    web = saved("Figure (HTML)").read_text()
    assert '"epsilon"' in web and "certificate" in web and "<script src=" not in web

    other = visitor()
    other.goto(f"{dashboard}/?gap=5&panel=Take+it+away")
    first = settled(other)
    other.locator('input[type="file"]').last.set_input_files(record)
    other.get_by_text("was audited again").wait_for()
    other.get_by_role("button", name="Set the controls to its problem").click()
    assert settled(other, first)[1] == pytest.approx(before[1], rel=0.05)
    other.wait_for_function("() => location.search.includes('loss=pinball')")


TAKEN = {
    "Optimal noise": ("/?values=whole&epsilon=2&loss=pinball&tau=0.3&sensitivity=3&gap=5&panel=Take+it+away", ["CSV"],
        "noise_epsilon-2_delta-0.2_pinball-0.3_sensitivity-3_step-1"),
    "Data-dependent noise": ("/data_dependent?gap=20&panel=Export", ["CSV"],
        "data-dependent_epsilon-1_delta-0.2_l1_sensitivity-2_values-0-to-4_weight-uniform"),
    "Vector queries": ("/vector_queries?shape=linear&dimension=3&delta=0&panel=export", ["Scales, CSV", "Samples, CSV"],
        "vector_epsilon-0.5_delta-0_3-coordinates_sensitivities-"),
}  # fmt: skip
"""Page → where it hands out files, its tables, how their names begin."""

WITH_FLINT = ("Vectors in d dimensions",)
"""Pages whose scripts need python-flint; tests/browser/test_vectors_in_d.py runs theirs."""

WITH_DATA = ("Release plan",)
"""Pages whose scripts read a table; tests/browser/test_plan_journey.py runs theirs."""


@pytest.mark.parametrize("name", TAKEN)
def test_tables_and_scripts_are_taken_away(dashboard, visitor, run_alone, tmp_path, name):
    """Tables are read without options, scripts run in a fresh environment, names say what is in the files."""
    address, tables, begins = TAKEN[name]
    page = visitor()
    page.goto(dashboard + address)

    def saved(button: str):
        page.get_by_role("button", name=button, exact=True).wait_for()
        quiet(page)
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        assert download.value.suggested_filename.startswith(begins)
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    for button in tables:
        table = pd.read_csv(saved(button))
        assert len(table) >= 3 and {kind.kind for kind in table.dtypes} <= {"f", "i"}
    program = saved("Python").read_text(encoding="utf-8")
    assert "dpcore" not in program and "numpy" not in program
    *_, last = run_alone(program).splitlines()
    released = last.rpartition(": ")[2]
    assert abs(float(released)) < 1e5
    assert ("." in released) == (name != "Optimal noise"), "a release of counts is a whole number"


def test_every_page_that_hands_out_a_script_is_looked_at():
    handed = [path for path in (ROOT / "pages").rglob("*.py") if "text/x-python" in path.read_text(encoding="utf-8")]
    assert len(handed) == len(TAKEN) + len(WITH_FLINT) + len(WITH_DATA)


def test_a_theme_changed_while_the_page_loads_loses_nothing(dashboard, visitor):
    page = visitor(color_scheme="light")
    page.goto(f"{dashboard}/?epsilon=5&delta=0.25&unit=kg&gap=5&loss=l2")
    page.get_by_role("heading", level=1).wait_for()
    page.emulate_media(color_scheme="dark")
    settled(page)
    page.wait_for_function("""() => [...document.querySelectorAll('.st-key-chart_density path.js-line')]
        .some(line => getComputedStyle(line).stroke === 'rgb(242, 102, 26)')""")  # the picture comes after the headline
    assert "(5,\u00a00.25)" in page.locator(HEADLINE).inner_text() and "kg²" in page.locator(HEADLINE).inner_text()
    assert page.url.endswith("/optimal_noise?epsilon=5&delta=0.25&unit=kg&gap=5&loss=l2")


FOCUSED = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    const name = e.getAttribute('aria-label') || e.innerText || '';
    return `${e.getAttribute('role') || e.type || e.tagName} ${name.slice(0, 20)}`;
}"""
"""Role and name of what has the focus, also inside shadow roots."""


def test_by_keyboard_alone(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/?gap=5")
    first = settled(page)

    def tab_to(matches: str) -> None:
        """Press Tab until the focused element matches."""
        passed = []
        for _ in range(160):  # twice around
            page.keyboard.press("Tab")
            passed.append(page.evaluate(FOCUSED))
            if matches in passed[-1]:
                return
        raise AssertionError(f"Tab never reached {matches}: {passed}")

    tab_to("range ε")
    page.keyboard.press("ArrowRight")
    second = settled(page, first)
    assert second[1] < first[0]
    tab_to("switch Explain")
    page.keyboard.press("Space")
    page.wait_for_function("() => location.search.includes('explain=true')")
    tab_to("tab How sure")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Price of a constraint", selected=True).wait_for()


def test_a_link_on_a_phone(dashboard, visitor, artifacts):
    page = visitor(390, 844)
    page.goto(f"{dashboard}/?epsilon=5&delta=0.25&loss=l1&unit=patients&gap=2&panel=Try+it")
    lower, upper = settled(page)
    assert 0.055 <= lower <= upper <= 0.065
    page.wait_for_selector(CHART)
    page.wait_for_selector(".st-key-chart_draws_optimal .main-svg")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(SCHEME, arg=scheme)
        quiet(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out on a narrow screen"
        page.screenshot(path=artifacts / f"optimal_noise_narrow_{scheme}.png")


SCHEME = "name => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === name"


@pytest.mark.timeout(240)
def test_the_wish_for_explanations_outlives_the_visit(dashboard, visitor):
    page = visitor()
    text = page.get_by_text("A stem is an").first
    toggle = page.get_by_role("switch", name="Explain")

    def arrive(query: str) -> bool:
        """Explanations are there in what the first run draws; the server is asked, not the browser."""
        page.goto("about:blank")
        page.goto(f"{dashboard}/optimal_noise?gap=5{query}")
        page.get_by_role("heading", level=1).wait_for()
        quiet(page)
        assert toggle.is_checked() == text.is_visible()
        return toggle.is_checked()

    def turn() -> None:
        before = toggle.is_checked()
        page.get_by_text("Explain", exact=True).first.click()
        page.wait_for_function(f"() => location.search.includes('explain=true') === {str(not before).lower()}")
        quiet(page)

    assert arrive("&explain=true")
    assert not arrive(""), "a link that was followed is nobody's wish"
    turn()
    assert arrive(""), "it is kept"
    assert not arrive("&explain=false"), "a link has the last word"
    assert arrive("")
    turn()
    assert not arrive("")


def test_what_is_known_before_a_solve_is_pale_until_that_has_ended(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/?epsilon=1&delta=0.17&gap=0.02")
    first = settled(page)
    thumb = page.locator(".st-key-delta_stop")
    assert "0.17" in thumb.inner_text(), "the value itself, not the nearest stop"
    page.evaluate(
        """() => { window.paleness = []; const look = () => {
            const chart = document.querySelector('.st-key-chart_density');
            if (chart) window.paleness.push(Number(getComputedStyle(chart).opacity));
            requestAnimationFrame(look); }; look(); }"""
    )
    thumb.get_by_role("slider").press("ArrowLeft")
    settled(page, first)
    assert "0.1" in thumb.inner_text() and "0.17" not in thumb.inner_text()
    assert 0.6 in page.evaluate("() => window.paleness")
    page.wait_for_function("() => window.paleness.at(-1) === 1")


def test_the_headline_follows_epsilon_while_it_is_dragged(dashboard, visitor, artifacts):
    page = visitor()
    page.goto(f"{dashboard}/?epsilon=1&delta=0.01&gap=5")
    first = settled(page)
    line = page.locator(".moving")
    line.wait_for(state="attached")
    page.get_by_role("slider").first.focus()
    grip = page.locator('.st-key-epsilon_stop [style*="translate(-50%"]').first.bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    told = []
    for step in range(1, 5):
        page.mouse.move(x - 16 * step, y)
        page.wait_for_timeout(60)
        told.append(line.inner_text())
    page.screenshot(path=artifacts / "dragged.png")
    assert not page.locator(HEADLINE).is_visible(), "of the value before"
    moved = [re.search(r"\((\S+),\s0\.01\)-DP noise errs by between (\S+) and (\S+) ", text) for text in told]
    assert all(moved) and len(set(told)) >= 2
    ends = [tuple(map(float, one.groups())) for one in moved]
    for (beyond, lower, _), (epsilon, _, upper) in zip(ends, ends[1:]):
        assert beyond >= epsilon and lower <= upper
    page.mouse.up()
    settled(page, first)
    assert line.inner_text() == "" and f"({ends[-1][0]:g},\u00a00.01)" in page.locator(HEADLINE).inner_text()
