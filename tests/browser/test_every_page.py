"""Every page in one visit to the server as it is operated: nothing serious or critical for axe-core in both themes and
on a phone, nothing wider than its window, no words on each other, nothing too small for a finger, nobody else asked for
anything; and the numbers behind every chart: each fold of them opens and shows a table."""

from __future__ import annotations

import os
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect
from views import Watched, quiet, routes, serious, stopped

from pages.release_plan import controls as plans

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

DESK, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
TALL = {"width": 1280, "height": 4000}
QUICK = {"gap": "5", "explain": "true"}
SHOWN = {
    "start": {},
    "tradeoff_maps": QUICK | {"low_epsilon": "0.5", "high_epsilon": "2", "low_delta": "0.05", "high_delta": "0.2",
                              "steps": "3", "target": "5", "second": "l1"},
    "optimal_noise": QUICK | {"epsilon": "1", "delta": "0.2"},
    "private_learning": QUICK | {"splits": "2", "draws": "10"},
}  # fmt: skip
"""Page → its link, if not `QUICK`."""

CHARTS = {"release_plan": plans.PAGE.query(plans.PAGE.read({})[0] | plans.SURVEY | {"panel": "expect"})}
"""Page → the link that shows its charts, if it is another one."""

COLLISIONS = """() => {
    const chain = (one) => (one ? [one, ...chain(one.parentElement)] : []);
    const style = new Map();
    const look = (one) => style.get(one) ?? (style.set(one, getComputedStyle(one)), style.get(one));
    const unseen = (one) => chain(one).some((each) => look(each).clipPath.includes("50%") || +look(each).opacity === 0);
    const clipped = (one, { left, top, right, bottom }) => {
        for (const each of chain(one)) {
            const { overflowX, overflowY, position } = look(each);
            const box = each === document.body ? null : each.getBoundingClientRect();
            if (box && overflowX !== "visible") [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
            if (box && overflowY !== "visible") [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
            if (position === "fixed") break;
        }
        const rim = 0.22 * (bottom - top);
        return { left, top: top + rim, right, bottom: bottom - rim };
    };
    const words = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node; (node = walker.nextNode()); ) {
        const one = node.parentElement;
        const seen = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
        if (!node.textContent.trim() || one.closest("script, style, title, desc, math")) continue;
        if (!one.checkVisibility(seen) || unseen(one)) continue;
        range.selectNodeContents(node);
        const bar = (each) => each.matches('[data-testid="stHeader"]');
        const above = chain(one).find((each) => bar(each) || ["fixed", "sticky"].includes(look(each).position));
        const owner = one.closest(".katex") ?? node;
        for (const line of range.getClientRects())
            words.push({ ...clipped(one, line), text: node.textContent.trim(), owner, above });
    }
    const shown = words.filter(({ left, top, right, bottom }) => right - left > 2 && bottom - top > 2);
    shown.sort((a, b) => a.top - b.top);
    const found = [];
    shown.forEach((a, at) => {
        for (let next = at + 1; next < shown.length && shown[next].top < a.bottom - 2; next++) {
            const b = shown[next];
            const over = Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2;
            if (over && Math.min(a.bottom, b.bottom) - b.top > 2 && a.owner !== b.owner && a.above === b.above)
                found.push(`${a.text.slice(0, 60)} | ${b.text.slice(0, 60)}`);
        }
    });
    return found;
}"""
"""Pairs of texts, tick labels and names of charts among them, that share more than a line's rim; bars that stay on the
screen while the page moves below them are looked at by themselves, and so is a formula."""

WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCROLLS = """() => { const main = document.querySelector('[data-testid="stMain"]');
    return main.scrollWidth - main.clientWidth; }"""


SMALL = """() => {
    const inside = (...names) => names.map((name) => `[data-testid="${name}"] *`).join();
    const boxes = inside("stSelectbox", "stMultiSelect", "stTextInput", "stDataFrame");
    const inText = 'p a, li a, td a, [data-testid="stSkipToContent"], [data-leads], .js-plotly-plot *';
    const beside = '[data-testid="stStatusWidget"] *, [class*="st-key-card_"] a';
    const found = [];
    for (const one of document.querySelectorAll('button, a, summary, [role="tab"]')) {
        if (one.closest('[data-testid="stSidebar"]')?.getBoundingClientRect().width < 200) continue;
        const { width, height } = one.getBoundingClientRect();
        if (!width || getComputedStyle(one).visibility !== "visible") continue;
        if (one.matches(`${boxes}, ${inText}, ${beside}`)) continue;
        if (height < 39.5 || width < 39.5) found.push(`${one.ariaLabel ?? one.innerText} ${width} × ${height}`);
    }
    return found;
}"""
"""What is pressed and smaller than a fingertip, but for words in a sentence, links that cover their card, a side bar
that is shut, and the insides of boxes, which are as high as their box but for its rim."""

NAMELESS = """() => [...document.querySelectorAll('button[aria-label="Help"]')]
    .filter((one) => one.offsetParent).map((one) => one.parentElement.outerHTML)"""


@pytest.mark.parametrize("name", routes())
def test_every_page(service, visitor, name):
    page = visitor(*DESK.values())
    watched = Watched(page, service.address)
    page.goto(f"{service.address}{routes()[name]}?{urlencode(SHOWN.get(name, QUICK))}")
    page.get_by_role("heading", level=1).wait_for()
    fits(page)
    assert not serious(page)
    if name not in ("start", *CHARTS) and not os.environ.get("THOROUGH"):
        page.locator(".main-svg").first.wait_for()
        stopped(page)  # hundreds of problems on some pages, and the page is drawn anew with each
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(700)  # the page notices the change within half a second
    assert not serious(page, "color-contrast")
    assert not page.evaluate(COLLISIONS), "in the dark"
    page.mouse.wheel(0, 3000)  # what is seen later is asked for later
    page.set_viewport_size(PHONE)
    touched = page.context.new_cdp_session(page)
    touched.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    fits(page)
    assert page.evaluate("matchMedia('(hover: none)').matches")
    assert not page.evaluate(SMALL) and not page.evaluate(NAMELESS)
    assert not serious(page), "on a phone"
    if name in CHARTS:
        page.goto(f"{service.address}{routes()[name]}?{urlencode(CHARTS[name])}")
    if name != "start":
        page.set_viewport_size(TALL)
        folds_open(page)
    assert not watched.outside
    assert not watched.complaints
    page.evaluate("localStorage.clear()")  # of this server; a profile is cleared for the other one


def folds_open(page) -> None:
    """Each fold of numbers opens and shows a table."""
    page.locator(".main-svg").first.wait_for()
    stopped(page)  # hundreds of problems on one of the pages: a few have numbers, too
    quiet(page)
    titles = page.locator("summary:visible").filter(has_text=re.compile(r"Numbers$"))
    assert titles.count()
    for number in range(titles.count()):
        fold = titles.nth(number).locator("xpath=..")
        quiet(page)
        titles.nth(number).press("Enter")  # the mouse would have to hit what the fold before is still moving
        expect(fold).to_have_attribute("open", "")
        fold.locator('table, [data-testid="stDataFrame"]').first.wait_for()
        assert not page.locator('[data-testid="stException"]').count(), fold.inner_text()


def fits(page) -> None:
    """Nothing sticks out of the window, and no words lie on each other."""
    quiet(page)
    page.wait_for_timeout(1500)  # charts are drawn again for a new width
    assert page.evaluate(WIDER) <= 0 and page.evaluate(SCROLLS) <= 0, "too wide"
    assert not page.evaluate(COLLISIONS)


def test_words_on_each_other_are_found(visitor):
    page = visitor()
    page.set_content("""<p>One <b>and</b> the next</p><p style="margin-top: -30px">lies on it</p>
        <svg><g><text y="20">ten</text><text y="26">eleven</text></g></svg>
        <details><summary>Fold</summary><p>unseen</p></details><p>below</p>""")
    assert {pair.split(" | ")[1] for pair in page.evaluate(COLLISIONS)} == {"lies on it", "eleven"}
