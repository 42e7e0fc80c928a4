"""The main journeys in a real browser: change, stop, send a link, save and bring back, by hand and by keyboard."""

from __future__ import annotations

import json
import re

import pytest
from sights import CHART, HEADLINE, bounds, quiet, settled

pytestmark = pytest.mark.browser


def test_first_visit_tour_change_of_epsilon_and_nonsense(dashboard, visitor, artifacts):
    page = visitor(1440, 1750, tour=True, color_scheme="light")
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(dashboard)
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

    box = page.get_by_role("spinbutton", name="ε exactly")
    box.fill("2")
    box.press("Enter")
    second = settled(page, first)
    assert second[1] < first[0], "less privacy, less noise"
    page.wait_for_function("location.search.includes('epsilon=2')")
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

    page.goto(f"{dashboard}/?loss=lp&exponent=1.37&gap=0.0001&seconds=30")
    stop = page.get_by_role("button", name="Stop here").last  # a page drawn anew still shows its past
    stop.click()
    stop.wait_for(state="detached")
    page.get_by_role("button", name=re.compile("solve on")).wait_for()
    lower, upper = bounds(page)
    assert 0 < lower <= upper and [lower, upper] != squared


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
    page = visitor(accept_downloads=True)
    page.goto(f"{dashboard}/?epsilon=2&loss=pinball&tau=0.3&gap=5&panel=Take+it+away")
    before = settled(page)
    page.wait_for_selector(CHART)

    def saved(button: str):
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
    other.wait_for_function("location.search.includes('loss=pinball')")


def test_a_theme_changed_while_the_page_loads_loses_nothing(dashboard, visitor):
    page = visitor(color_scheme="light")
    page.goto(f"{dashboard}/?epsilon=5&delta=0.25&unit=kg&gap=5&loss=l2")
    page.get_by_role("heading", level=1).wait_for()
    page.emulate_media(color_scheme="dark")
    settled(page)
    page.wait_for_function("""() => [...document.querySelectorAll('.st-key-chart_density path.js-line')]
        .some(line => getComputedStyle(line).stroke === 'rgb(242, 102, 26)')""")  # the picture comes after the headline
    assert "(5,\u00a00.25)" in page.locator(HEADLINE).inner_text() and "kg²" in page.locator(HEADLINE).inner_text()
    assert page.url.endswith("/?epsilon=5&delta=0.25&unit=kg&gap=5&loss=l2")


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
    page.wait_for_function("location.search.includes('explain=true')")
    tab_to("tab How sure")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Price of a constraint", selected=True).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_link_on_a_phone(dashboard, visitor, artifacts, scheme):
    page = visitor(390, 844, color_scheme=scheme)
    page.goto(f"{dashboard}/?epsilon=5&delta=0.25&loss=l1&unit=patients&gap=2&panel=Try+it")
    lower, upper = settled(page)
    assert 0.055 <= lower <= upper <= 0.065
    page.wait_for_selector(CHART)
    page.wait_for_selector(".st-key-chart_draws_optimal .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out on a narrow screen"
    page.screenshot(path=artifacts / f"optimal_noise_narrow_{scheme}.png")


@pytest.mark.timeout(240)
def test_the_wish_for_explanations_outlives_the_visit(dashboard, visitor):
    page = visitor()
    text = page.get_by_text("A stem is an").first
    toggle = page.get_by_role("switch", name="Explain")

    def arrive(query: str) -> bool:
        """Explanations are there in what the first run draws; the server is asked, not the browser."""
        page.goto("about:blank")
        page.goto(f"{dashboard}/?gap=5{query}")
        settled(page)
        quiet(page)
        assert toggle.is_checked() == text.is_visible()
        return toggle.is_checked()

    def turn() -> None:
        before = toggle.is_checked()
        page.get_by_text("Explain", exact=True).first.click()
        page.wait_for_function(f"location.search.includes('explain=true') === {str(not before).lower()}")
        quiet(page)

    assert not arrive("")
    assert arrive("&explain=true")
    assert not arrive(""), "a link that was followed is nobody's wish"
    turn()
    assert arrive(""), "it is kept"
    assert not arrive("&explain=false"), "a link has the last word"
    assert arrive("")
    turn()
    assert not arrive("")
