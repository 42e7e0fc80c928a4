"""The home page as AppTest opens it, and what a reader sees on any page."""

from __future__ import annotations

import re
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.shared import compute
from pages.shared.fields import typed

ROOT = Path(__file__).parents[2]
QUICK = {"gap": "5", "seconds": "5"}
"""A wide gap: these tests are about the page, not about digits."""


def visit(**address: str) -> AppTest:
    """The page opened with these values in its address, once the solver is done."""
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    for key, value in {**QUICK, **address}.items():
        page.query_params[key] = value
    return settle(page.run())


def turn(page: AppTest, name: str) -> AppTest:
    """Turn to a page of the router before it has run: `switch_page` then takes the file's name for the address."""
    page._page_hash = calc_hash(name)
    return page


def settle(page: AppTest) -> AppTest:
    """Run again until nothing is under way: timers of fragments do not fire under AppTest."""
    for _ in range(300):
        if not any(str(button.key).startswith("stop") for button in page.button):
            break
        idle(30)
        page.run()
    assert not page.exception
    return page


def idle(seconds: float) -> None:
    """Wait for all jobs, at most so long and at least a moment: pages that are drawn meanwhile slow them down."""
    deadline = time.monotonic() + seconds
    time.sleep(0.05)
    while time.monotonic() < deadline and (now := compute.figures()).jobs_running + now.jobs_waiting:
        time.sleep(0.02)


def until(page: AppTest, *texts: str) -> AppTest:
    """Run again until the page says one of these."""
    for _ in range(150):
        if any(text in words(page) for text in texts):
            return page
        time.sleep(0.1)
        page.run()
    raise AssertionError(f"the page never said {' or '.join(texts)}")


def number(page: AppTest, key: str):
    """The field of a number: its text."""
    return page.text_input(key=typed(key))


def controls(page, *kinds: str) -> set[str]:
    """Keys of the controls of these kinds that are drawn."""
    return {str(widget.key).removesuffix(typed("")) for kind in kinds for widget in page.get(kind)}


def answer(page: AppTest, topic: str, text: str) -> AppTest:
    """The page once an answer to its question was checked: a number, or the number of an option."""
    key = f"{topic}_answer"
    option = [radio for radio in page.radio if radio.key == key]
    (option[0] if option else number(page, key)).set_value(text).run()
    return page.button(key="check").click().run()


def words(page: AppTest) -> str:
    """All that the page says outside of controls and tables."""
    blocks = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error]
    return "\n".join(str(block.value) for block in blocks).replace("\u00a0", " ")


def read(markdown: str) -> str:
    """What a reader sees of Markdown in which every sign that means something is escaped."""
    return re.sub(r"\\(.)", r"\1", markdown)


def bounds(page: AppTest) -> list[float]:
    """The numbers in bold of the headline."""
    line = next(block.value for block in page.markdown if "DP noise" in block.value)
    return [float(text.replace("\u202f", "")) for text in re.findall(r"\*\*([\d.\u202f]+)\*\*", line)]
