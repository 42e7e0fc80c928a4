"""Forms of numbers, typed into every field for a number on every page: read as meant or refused beside it; six on
the home page, and THOROUGH=1 all twelve into every field of every page. Of the Learn pages' answers, which are all
drawn by the same line, every eighth without it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import TimeoutError, expect
from views import DRAWN, quiet, routes, settled

import pages
from pages.private_optimisation.controls import STORIES
from pages.registry import PAGES
from pages.release_plan import controls as plans
from pages.shared.address import Number

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

FORMS = ("0,5", ".5", "5e-1", " 0.5 ", "1 000", "1.000,5", "½", "١", "0.5€", "--1", "1/2", "")
SOME = ("0,5", "5e-1", " 0.5 ", "1 000", "½", "")
FEW = ("0,5", " 0.5 ", "")
"""One that is refused, one that is read, none at all: what a page can get wrong about a field of its own. How numbers
are read is the same everywhere (tests/test_numbers.py); more forms go into the first state of the home page."""

SURVEY = plans.PAGE.query(plans.PAGE.read({})[0] | plans.SURVEY)

THOROUGH = bool(os.environ.get("THOROUGH"))

HALF = (".5", "5e-1", " 0.5 ")
"""All ways of writing 0.5 that are read; what else is among the forms is refused."""

IDLE = {"sensitivity": "-1"}
"""Nothing is solved on a page whose problem is refused, and its fields answer at once."""

STATES: dict[str, list[dict[str, str]]] = {
    "optimal_noise": [
        IDLE | {"promise": "composed", "values": "step", "loss": "asym", "support": "interval", "budget": "exceed"},
        IDLE | {"promise": "gdp", "loss": "lp"}, IDLE | {"loss": "pinball"}, IDLE | {"loss": "exceed"},
        {"gap": "50", "panel": "Try it"},
    ],
    "tradeoff_maps": [IDLE | {"loss": loss} for loss in ("exceed", "pinball", "asym", "lp")],
    "data_dependent": [
        IDLE | {"loss": "pinball", "weight": "normal", "cap": "number"}, IDLE | {"loss": "exceed"},
        IDLE | {"loss": "asym"}, IDLE | {"loss": "lp"},
        {"gap": "50", "panel": "Release one value"},
    ],
    "vector_queries": [{}, {"panel": "applications"}],
    "private_learning": [{"splits": "2", "draws": "1"}],
    "isotropic": [IDLE | {"loss": "power"}, IDLE | {"loss": "exceed"}],
    "release_plan": [{"panel": "have", "identifier": "person"}, SURVEY | {"panel": "cost"}],
    "private_optimisation": [{"story": story, "epsilon": "-1"} for story in STORIES],
}  # fmt: skip
"""Page → addresses that together show all of its fields; the Learn pages show them by topics, where an answer is a
number."""

ADDRESSES = {page.name: page.controls for page in PAGES}
"""Page → its controls."""

LINK_ONLY = {"trials"}

READ = """() => Object.fromEntries([...document.querySelectorAll('[class*="st-key-field_"]:has(input)')].map(field => [
    field.className.match(/st-key-field_([\\w-]+)/)[1],
    [field.querySelector('input').value,
     [...field.querySelectorAll('[data-testid="stAlert"]')]
         .map(alert => alert.innerText.replace(/\\s+/g, ' ').replace(' :', ':')).join()]]))"""
"""Key → what the field holds, and the complaint beside it."""

THERE = "keys => keys.every(key => document.querySelector(`.st-key-field_${key} input`))"

TYPE = """([keys, text]) => keys.forEach(key => {
    const input = document.querySelector(`.st-key-field_${key} input`);
    input.focus();  // leaves the field before, which takes over what was typed there
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text);
    input.dispatchEvent(new Event('input', {bubbles: true}));
    input.blur();
})"""
"""As Playwright's own `fill`, in many fields at once."""

ANSWERED = f"""([keys, text, named, half]) => {{
    const fields = ({READ})();
    const answered = keys.every(([key, empty]) => {{
        const [held, said] = fields[key] || ['', 'not there'];
        const refused = said.includes(` = ${{named}}: expected`) && said.includes('Until then');
        return half && held === '0.5' || held === text && (refused || empty && !said);
    }});
    return answered && ({DRAWN})() && fields;
}}"""
"""The fields, once each has its answer and the page is drawn."""


def expected(name: str) -> set[str]:
    """Keys of the page's numbers but for sliders and what only a link can set."""
    folders = [Path(pages.__path__[0]) / folder for folder in (name, "lessons", "shared")]
    sources = "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    sliders = set(re.findall(r'\bst\.slider\((?:[^()]|\([^()]*\))*?key="(\w+)"', sources))
    numbers = {key for key, control in ADDRESSES[name].controls.items() if isinstance(control, Number)}
    return numbers - sliders - LINK_ONLY


def link(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def reveal(page) -> None:
    """Unfold what holds fields."""
    closed = "details:not([open])"
    folds = page.locator(
        f'{closed}:has([class*="st-key-field_"]) > summary, [data-testid="stSidebar"] {closed} > summary'
    )
    while folds.count():
        folds.first.click()
        page.wait_for_timeout(1000)  # what is folded is drawn when that is heard of
        quiet(page)


def answer(page, keys: list[str], text: str, told: list) -> dict[str, list[str]]:
    """What the fields hold and say once the text is typed into all of them; where a page that draws itself anew took
    fields away between two of the events, it is typed again."""
    for patience in (20_000, 60_000):
        page.wait_for_function(THERE, arg=keys, polling=100)
        page.evaluate(TYPE, [keys, text])
        try:
            return page.wait_for_function(ANSWERED, arg=told, timeout=patience, polling=100).json_value()
        except TimeoutError:
            seen = f"{text!r}: {page.evaluate(READ)}, drawn: {page.evaluate(DRAWN)}"
            print(seen, page.url, page.evaluate("document.body.innerHTML.slice(0, 2000)"))
    raise AssertionError(seen)


@pytest.mark.parametrize("name", routes())
def test_forms_of_numbers_in_every_field(dashboard, visitor, name):
    controls, page, typed = ADDRESSES[name].controls, visitor(1280, 2400), set()
    page.on("console", lambda message: message.type == "error" and print(message.text[:2000]))
    page.on("pageerror", lambda error: print(error.stack or error))
    topics = [
        {"topic": topic} for topic in getattr(controls.get("topic"), "options", ())
        if isinstance(controls.get(f"{topic}_answer"), Number)
    ]  # fmt: skip
    for state in STATES.get(name, topics[:: 1 if THOROUGH else 8] or [{}]):
        page.goto(f"{dashboard}{routes()[name]}?{urlencode(state)}")
        page.locator("h1").first.wait_for()
        if "panel" in state:
            page.locator('[data-testid="stMain"] [class*="st-key-field_"]:visible').first.wait_for()
        quiet(page)
        reveal(page)
        keys = sorted(page.evaluate(READ).keys() - typed)
        typed |= set(keys)
        first = name == "optimal_noise" and len(typed) == len(keys)
        forms = FORMS if THOROUGH else SOME if first else FEW
        for text in forms if keys else ():
            before, named = link(page), text.strip() or "nothing"
            ways = [(key, not text and controls[key].empty) for key in keys]
            now = answer(page, keys, text, [ways, text, named, text in HALF])
            after = link(page)
            assert not page.get_by_test_id("stException").count(), text
            for key in keys:
                held, said = now[key]
                if text in HALF and not controls[key].whole:
                    assert held == "0.5" and after.get(key, ["0.5"]) == ["0.5"], (key, text, held)
                elif text or not controls[key].empty:
                    assert held == text and f" = {named}: expected" in said, (key, text, held, said)
                    assert after.get(key) == before.get(key), (key, text)
                else:
                    assert not held and not said and not after.get(key, [""])[0], (key, held, said)
    left = set() if THOROUGH or not topics else {"seed", *(f"{one['topic']}_answer" for one in topics)}
    assert typed - left == expected(name) - left and typed <= expected(name)


def test_a_field_by_the_keyboard(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/?gap=5")
    before = settled(page)
    field = page.get_by_role("textbox", name="ε exactly")
    field.press("Control+a")
    page.keyboard.type("0,5")
    page.keyboard.press("Tab")
    beside = page.locator(".st-key-field_epsilon").get_by_role("alert")
    expect(beside).to_contain_text("ε = 0,5: expected a number; write 0.5")
    expect(beside).to_contain_text("Until then it is 1.")
    above = page.locator(".st-key-notice").get_by_role("alert")
    expect(above).to_be_hidden()
    page.locator('[data-testid="stSidebarCollapseButton"] button').dispatch_event("click")  # seen under a pointer
    expect(above).to_contain_text("Until then it is 1.")  # where the field is not seen
    page.get_by_test_id("stExpandSidebarButton").press("Enter")
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "false")
    expect(above).to_be_hidden()
    expect(field).to_have_value("0,5")
    assert settled(page) == before and "epsilon" not in page.url
    field.press("Control+a")
    page.keyboard.type(" 2 ")
    page.keyboard.press("Enter")
    expect(field).to_have_value("2")
    expect(beside).to_have_count(0)
    assert settled(page, before)[1] < before[1]
    for name, value in (("ε: more", "2.1"), ("ε: less", "2")):
        page.get_by_role("button", name=name).press("Enter")
        expect(field).to_have_value(value)
    for key, value in (("ArrowUp", "2.1"), ("ArrowDown", "2")):
        field.press(key)
        expect(field).to_have_value(value)
        expect(field).to_be_focused()
    page.wait_for_function("() => location.search.includes('epsilon=2')")
