"""Every page of the router under AppTest, opened with any address."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from streamlit.testing.v1 import AppTest

from pages import registry
from pages.shared import address

ROOT = Path(__file__).parents[2]
PAGES = [page.script for page in registry.PAGES]
"""All pages that the router knows."""

HOME, START = "pages/optimal_noise/page.py", "pages/start/page.py"
assert HOME in PAGES and START in PAGES


@cache
def addresses() -> dict[str, list[str]]:
    """All parameters that any page reads, each with values that it accepts."""
    found: dict[str, list[str]] = {}
    for one in (address.FRAME, *(page.controls for page in registry.PAGES)):
        for key, control in one.controls.items():
            found[key] = [*map(str, getattr(control, "options", ())), *_near(control.default)]
    return found


def _near(default: object) -> list[str]:
    if isinstance(default, bool):
        return ["true", "false"]
    if isinstance(default, int | float):
        return [str(default), str(2 * default), str(default / 3), "1"]
    return [str(default)] if isinstance(default, str) else ["1", "0.5"]


@cache
def page_hash(page: str) -> str:
    """How a session names a page."""
    if page == START:
        return ""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    return app.switch_page(page)._page_hash


def visit(page: str, query: dict[str, str | list[str]]) -> AppTest:
    """A fresh session that opens a page with this address, after one run of the script."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app._page_hash = page_hash(page)
    for key, text in query.items():
        app.query_params[key] = text
    return app.run()


def shown(app: AppTest) -> list[str]:
    """Every text on the page that Streamlit reads as Markdown."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.success, app.title, app.header,
             app.subheader, app.metric, app.toggle, app.button, app.selectbox)  # fmt: skip
    blocks = [(block, ("value", "label", "help")) for kind in kinds for block in kind]
    blocks += [(box, ("label", "help")) for box in app.text_input]  # what is typed is no Markdown
    return [text for block, names in blocks for name in names if isinstance(text := getattr(block, name, ""), str)]


def link(query: dict[str, str | list[str]]) -> str:
    """The address as one would send it, for messages."""
    return urlencode(query, doseq=True, errors="replace")[:300]
