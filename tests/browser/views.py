"""What a reader sees of the page, for the journeys of the browser tests."""

from __future__ import annotations

import contextlib
import re
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import TimeoutError

from pages.registry import PAGES

HEADLINE = ".st-key-headline p"
CHART = ".st-key-chart_density .js-plotly-plot .main-svg"
LASTING = "delta=0.1&loss=asym&support=interval&low=-2&high=9&gap=0.0001"
"""A problem of Optimal noise whose bracket goes on closing for half a minute."""
DRAWN = """() => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app && app.getAttribute('data-test-script-state') === 'notRunning'
        && !document.querySelector('[data-stale="true"], [data-testid="stSkeleton"]');
}"""
"""No script runs and nothing is faded."""
UNDRAWN = """() => [
    document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state'),
    ...[...document.querySelectorAll('[data-stale="true"], [data-testid="stSkeleton"]')].slice(0, 5)
        .map(one => `${one.className} ${one.dataset.testid}: ${one.innerText.slice(0, 80)}`),
].join('; ')"""
"""What keeps a page from being drawn, in words."""


def routes() -> dict[str, str]:
    """Name → path of every page of the router."""
    return {page.name: f"/{page.address}" for page in PAGES}


def bounds(page) -> list[float]:
    """The numbers in bold of the headline."""
    page.wait_for_selector(HEADLINE)
    texts = page.locator(f"{HEADLINE} strong").all_inner_texts()
    return [float(text.replace("\u202f", "")) for text in texts]


def settled(page, before: list[float] | None = None) -> list[float]:
    """The headline's numbers once the solver has finished and they are no longer `before`."""
    deadline, last, seen = time.monotonic() + 60, None, 0
    while time.monotonic() < deadline:
        now = bounds(page)
        if page.get_by_role("button", name="Stop here").count() or not page.evaluate(DRAWN) or len(now) != 2:
            now = None
        seen = seen + 1 if now == last else 1
        if now and now != before and seen == 3:  # the button that says "still solving" comes after the headline
            return now
        last = now
        page.wait_for_timeout(300)
    raise AssertionError(f"the headline still reads {before} or is not there")


def quiet(page) -> None:
    """Wait until the page is drawn: no script runs, nothing is faded."""
    try:
        page.wait_for_function(DRAWN, polling=100)
    except TimeoutError as late:
        raise AssertionError(f"not drawn: {page.evaluate(UNDRAWN)}") from late
    page.wait_for_timeout(300)


def stopped(page) -> None:
    """Stop whatever is under way: what is there already is enough."""
    stops = page.get_by_role("button", name=re.compile("^Stop( here)?$"))
    for place in reversed(range(stops.count())):  # the last one first: the others keep their places
        with contextlib.suppress(TimeoutError):  # what has ended by itself cannot be stopped
            stops.nth(place).click(timeout=5000)
        stops.nth(place).wait_for(state="detached", timeout=240_000)


def still(locator) -> dict[str, float]:
    """Where something is once it has stopped moving: {"x", "y", "width", "height"} in pixels."""
    deadline, last = time.monotonic() + 60, None
    while time.monotonic() < deadline:
        now = locator.bounding_box()
        if now is not None and now == last:
            return now
        last = now
        locator.page.wait_for_timeout(300)
    raise AssertionError(f"{locator} does not come to rest")


def serious(page, *rules: str) -> list[str]:
    """What axe-core finds once the page is drawn, by all of its rules or by some; a colour on its way to another
    is not the page's yet, so what is found is looked for again."""
    quiet(page)
    if not _found(page, *rules):
        return []
    page.wait_for_timeout(2000)
    quiet(page)
    return _found(page, *rules)


def _found(page, *rules: str) -> list[str]:
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    findings = Axe().run(page, options=options).response["violations"]
    return [
        f"{finding['impact']} {finding['id']}: {[node['html'][:120] for node in finding['nodes'][:3]]}"
        for finding in findings
        if finding["impact"] in ("serious", "critical")
    ]


class Watched:
    """A record of what a page asks others than its server for, and of its complaints and dialogs."""

    def __init__(self, page, home: str) -> None:
        self.outside, self.complaints = [], []
        page.on("request", lambda request: self._request(request.url, home))
        page.on("websocket", lambda socket: self._request(socket.url, home.replace("http", "ws", 1)))
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text[:300]))
        page.on("pageerror", lambda error: self.complaints.append(str(error)[:300]))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))

    def _request(self, url: str, home: str) -> None:
        if not url.startswith((home + "/", "data:", "blob:")):
            self.outside.append(url)
