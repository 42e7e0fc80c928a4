"""What a visitor waits for in a real browser: `python -m benchmarks.bench_browser` (`--cold`: no kernel compiled yet).

Starts the dashboard with nothing stored, opens it three times in a browser that has never been there, moves ε by five
stops within half a second, stops a long solve, and opens the maps; prints the seconds and their limits.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.load_sessions import Server, free_port

HEADLINE = ".st-key-headline strong"
CHART = ".st-key-chart_density .js-plotly-plot .main-svg, .st-key-chart_first .js-plotly-plot .main-svg"
SNAPSHOT = "#snapshot svg[role=img] path"
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-first-run", "--disable-dev-shm-usage"]  # fmt: skip


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.monotonic()
    act()
    return time.monotonic() - start


def first_visit(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds to the headline and to the first chart, with nothing in the browser's cache."""
    page = _newcomer(browser)
    start = time.monotonic()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(HEADLINE)
    headline = time.monotonic() - start
    page.wait_for_selector(CHART)
    chart = time.monotonic() - start
    page.context.close()
    return headline, chart


def snapshot(browser: Browser, address: str, slower: int = 1) -> float:
    """Seconds to the still picture of an answer that is known, with nothing in the browser's cache and a processor that
    is `slower` times as slow; it is there until the live page is."""
    page = _newcomer(browser)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    start = time.monotonic()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(SNAPSHOT)
    waited = time.monotonic() - start
    page.context.close()
    return waited


def steps(page: Page, server: Server) -> tuple[float, float]:
    """(solves started, seconds until the bounds stand) for five quick stops of ε."""
    before = server.figures()["dp_frontier_jobs_started_total"]
    slider = page.get_by_role("slider").first
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
    waited = seconds(lambda: page.wait_for_selector(f"{HEADLINE} >> nth=0"))
    page.wait_for_timeout(6000)
    return server.figures()["dp_frontier_jobs_started_total"] - before, waited


STOPWATCH = """() => new Promise(resolve => {
    let start = null;
    document.addEventListener('click', () => { start ??= performance.now(); }, true);
    const look = () => {
        const words = [...document.querySelectorAll('button')].map(button => button.innerText);
        if (start !== null && words.some(word => word.includes('solve on'))) resolve(performance.now() - start);
        else requestAnimationFrame(look);
    };
    look();
})"""
"""Milliseconds from the next click to a page that offers to solve on."""


def cancel(page: Page, address: str) -> float:
    """Seconds from a click on "Stop here" to the page that says so."""
    page.goto(f"{address}/?loss=lp&exponent={1.2 + (time.time() % 1) / 2:.4f}&gap=0.0001&seconds=30")
    stop = page.get_by_role("button", name="Stop here").last
    stop.wait_for()
    page.wait_for_timeout(4000)  # until the browser has loaded what draws pictures
    page.evaluate(f"() => {{ window.waited = ({STOPWATCH})(); }}")
    stop.click()
    return page.evaluate("() => window.waited") / 1000


CELL = ".map-cells td[style]"
"""A cell of the map's table, which stands until the picture does."""


def maps(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds to the first cells of a map nobody has asked for before: from the first page, and by a link, with nothing
    in the browser's cache."""
    page = _newcomer(browser)
    page.goto(f"{address}/?sensitivity=2.5")
    page.wait_for_selector(CHART)
    page.wait_for_timeout(5000)
    page.get_by_text("Explore", exact=True).first.click()
    entry = page.get_by_text("Trade-off maps", exact=True).last
    entry.wait_for()
    turned = seconds(lambda: (entry.click(), page.wait_for_selector(CELL, state="attached")))
    page.context.close()
    time.sleep(20)  # what was asked for there has ended
    page = _newcomer(browser)
    start = time.monotonic()
    page.goto(f"{address}/tradeoff_maps?sensitivity=3.5", wait_until="commit")
    page.wait_for_selector(CELL, state="attached")
    linked = time.monotonic() - start
    page.context.close()
    return turned, linked


def _newcomer(browser: Browser) -> Page:
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(60_000)
    return page


def main() -> int:
    """Print the figures beside their limits; status 1 when one is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cold", action="store_true", help="with an empty cache of compiled kernels")
    cold = parser.parse_args().cold
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if cold:
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="cold-")
    server = Server(port := free_port())
    address, rows = f"http://127.0.0.1:{port}", []
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=QUIET)
            for number in range(1 if cold else 3):
                headline, chart = first_visit(browser, f"{address}/optimal_noise")
                rows.append((f"visit {number + 1}: headline (s)", headline, 8 if cold else 4))
                rows.append((f"visit {number + 1}: first chart (s)", chart, 8 if cold else 4))
            if not cold:
                time.sleep(65)  # until the snapshot is drawn from the last answer
                snapshot(browser, address)
                rows += [("snapshot of a known answer (s)", snapshot(browser, address), 0.8) for _ in range(3)]
                rows.append(("the same, processor four times as slow (s)", snapshot(browser, address, 4), 3))
                page = _newcomer(browser)
                page.goto(f"{address}/optimal_noise")
                page.wait_for_selector(HEADLINE)
                page.wait_for_timeout(8000)  # the first answer is refined meanwhile
                rows.append(("five quick steps: solves started", steps(page, server)[0], 2))
                rows += [("cancel to seen (s)", cancel(page, address), 0.5) for _ in range(3)]
                page.context.close()
                time.sleep(3)
                turned, linked = maps(browser, address)
                rows.append(("first cells of a map, turned to (s)", turned, 2))
                rows.append(("first cells of a map, by a link (s)", linked, 2))
            browser.close()
    finally:
        server.stop()
        if cold:
            shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
    print(f"load before: {os.getloadavg()[1]:.2f}, {os.cpu_count()} cores")
    for name, value, limit in rows:
        print(f"{'ok  ' if value <= limit else 'MISS'} {name:<36} {value:6.2f}   limit {limit}")
    return int(any(value > limit for _, value, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
