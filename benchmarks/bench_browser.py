"""What a visitor waits for in a real browser: `python -m benchmarks.bench_browser` (`--cold`: no kernel compiled yet).

Starts the dashboard with nothing stored, opens it five times in a browser that has never been there, beside a bare page
of Streamlit with a title and one chart, moves ε by one stop and by five within half a second, stops a long solve, and
opens the maps; prints the seconds and their limits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.load_sessions import Server, free_port

BARE = """import plotly.graph_objects as go
import streamlit as st

st.title("Bare")
st.plotly_chart(go.Figure(go.Scatter(x=[0, 1, 2], y=[0, 1, 0])))
"""
VISITS = 5
HEADLINE = ".st-key-headline strong"
CHART = ".st-key-chart_density .js-plotly-plot .main-svg"
SNAPSHOT = "#snapshot svg[role=img] path"
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-first-run", "--disable-dev-shm-usage"]  # fmt: skip


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.monotonic()
    act()
    return time.monotonic() - start


WATCH = """parts => {
    window.came = {};
    const look = () => {
        for (const part of parts) {
            if (!(part in window.came) && document.querySelector(part)) window.came[part] = performance.now();
        }
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true });
}"""
"""Notes when each of some parts (selectors) is in the page for the first time, in milliseconds from the moment the page
was asked for. The page itself says it: a driver's question waits behind whatever the page is busy with."""


def first_visit(browser: Browser, address: str, *parts: str, slower: int = 1) -> list[float]:
    """Seconds to each of some parts of a page (selectors), with nothing in the browser's cache, on a processor that is
    `slower` times as slow."""
    page = _newcomer(browser)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.add_init_script(f"({WATCH})({json.dumps(parts)})")
    page.goto(address, wait_until="commit")
    for part in parts:
        page.wait_for_selector(part, state="attached")
    came = page.evaluate("() => window.came")
    page.context.close()
    return [came[part] / 1000 for part in parts]


def solved(browser: Browser, address: str) -> None:
    """Look at a map until it is whole, so that there is a picture of it for whoever comes next."""
    page = _newcomer(browser)
    page.goto(address)
    page.wait_for_selector(CELL, state="attached")
    page.wait_for_timeout(2000)  # until the button that ends the search is there
    page.get_by_role("button", name="Stop", exact=True).first.wait_for(state="detached", timeout=300_000)
    page.context.close()


@contextmanager
def bare() -> Iterator[str]:
    """The address of a page with a title and one chart."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text(BARE)
        words = ["-m", "streamlit", "run", str(script), f"--server.port={port}", "--server.headless=true",
                 "--server.address=127.0.0.1"]  # fmt: skip
        server = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(5)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def beside_a_bare_page(browser: Browser, address: str) -> list[tuple[str, float, float]]:
    """Medians of fresh visits, ours and a bare page's in turn: the picture before the framework is there, the live
    headline, the live chart, a map's first cells by a link, in the picture before the framework and live."""
    linked = f"{address}/tradeoff_maps?sensitivity=4.5"
    names = ("title", "chart", "picture", "headline", "live", "still map", "map")
    seen: dict[str, list[float]] = {name: [] for name in names}
    with bare() as plain:
        for parts in ((f"{address}/optimal_noise", SNAPSHOT), (plain, "h1")):  # all are warm
            first_visit(browser, *parts)
        solved(browser, linked)
        time.sleep(5)
        for _ in range(VISITS):
            title, chart = first_visit(browser, plain, "h1", ".js-plotly-plot .main-svg")
            picture, headline, live = first_visit(browser, f"{address}/optimal_noise", SNAPSHOT, HEADLINE, CHART)
            still, cells = first_visit(browser, linked, FIRST_CELL, CELL)
            for name, value in zip(seen, (title, chart, picture, headline, live, still, cells), strict=True):
                seen[name].append(value)
    middle = {name: statistics.median(values) for name, values in seen.items()}
    return [
        ("bare page: title (s)", middle["title"], math.inf),
        ("bare page: chart (s)", middle["chart"], math.inf),
        ("first meaningful picture (s)", middle["picture"], 0.8),
        ("live headline, times the bare title", middle["headline"] / middle["title"], 1.1),
        ("live chart, times the bare chart", middle["live"] / middle["chart"], 1.3),
        ("a map's cells in the first picture (s)", middle["still map"], 0.8),
        ("live cells of a map, times the bare chart", middle["map"] / middle["chart"], 1.5),
    ]


MOVED = """() => new Promise((resolve, reject) => {
    const told = (where) => [...document.querySelectorAll(where)].map(one => one.innerText).join();
    const said = () => told('.st-key-headline p');
    const before = said();
    let start = null, moved = null, first = null;
    document.addEventListener('keydown', () => { start ??= performance.now(); }, { capture: true, once: true });
    const look = () => {
        if (start !== null && /[0-9]/.test(told('.st-key-along .moving'))) moved ??= performance.now() - start;
        if (start !== null && said() !== before) {
            first ??= performance.now() - start;
            moved ??= first;
            const gap = [...said().matchAll(/within ([0-9.]+)/g)].pop();
            if (gap && Number(gap[1]) <= 0.1) return resolve([moved, first, performance.now() - start]);
        }
        if (start !== null && performance.now() - start > 60000) return reject(new Error(said()));
        requestAnimationFrame(look);
    };
    look();
})"""
"""Milliseconds from the next key to bounds for the new ε, those that follow the slider included, to a page drawn with
them, and to one within 0.1 %."""


def one_stop(page: Page, address: str, epsilon: float) -> tuple[float, ...]:
    """Seconds from a stop of ε to the first certified numbers, to a page with them, and to 0.1 %."""
    page.goto(f"{address}/optimal_noise?epsilon={epsilon}&delta=0.01")
    page.wait_for_selector(CHART)
    page.wait_for_timeout(6000)
    page.get_by_role("slider").first.focus()
    page.evaluate(f"() => {{ window.moved = ({MOVED})(); }}")
    page.keyboard.press("ArrowRight")
    return tuple(waited / 1000 for waited in page.evaluate("() => window.moved"))


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


STOPWATCH = """() => new Promise((resolve, reject) => {
    let start = null;
    document.addEventListener('click', () => { start ??= performance.now(); }, true);
    const look = () => {
        const words = [...document.querySelectorAll('button')].map(button => button.innerText);
        if (start !== null && words.some(word => word.includes('go on'))) return resolve(performance.now() - start);
        if (start !== null && performance.now() - start > 60000) return reject(new Error(words.join()));
        requestAnimationFrame(look);
    };
    look();
})"""
"""Milliseconds from the next click to a page that offers to go on."""


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

FIRST_CELL = f"{CELL}, {SNAPSHOT.replace('path', 'rect')}"
"""The same, or one of the snapshot."""


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
    (linked,) = first_visit(browser, f"{address}/tradeoff_maps?sensitivity=3.5", CELL)
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
            if cold:
                headline, chart = first_visit(browser, f"{address}/optimal_noise", HEADLINE, CHART)
                rows += [("first visit: headline (s)", headline, 8), ("first visit: chart (s)", chart, 8)]
            else:
                first_visit(browser, f"{address}/optimal_noise", HEADLINE, CHART)
                time.sleep(65)  # until the snapshot is drawn from the last answer
                still = partial(first_visit, browser, f"{address}/optimal_noise", SNAPSHOT)
                still()
                rows += [("snapshot of a known answer (s)", still()[0], 0.8) for _ in range(3)]
                rows.append(("the same, processor four times as slow (s)", still(slower=4)[0], 3))
                rows += beside_a_bare_page(browser, address)
                page = _newcomer(browser)
                moves = [one_stop(page, address, epsilon) for epsilon in (1, 2, 3)]
                names = ("first certified numbers (s)", "the page drawn with such (s)", "to 0.1 % (s)")
                rows += [
                    (f"one stop: {name}", statistics.median(waited), limit)
                    for name, waited, limit in zip(names, zip(*moves), (0.25, math.inf, 1))
                ]
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
        told = "" if math.isinf(limit) else f"   limit {limit}"
        print(f"{'ok  ' if value <= limit else 'MISS'} {name:<44} {value:6.2f}{told}")
    return int(any(value > limit for _, value, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
