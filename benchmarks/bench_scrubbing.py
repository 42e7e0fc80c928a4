"""Moving pictures of the Learn pages in a real browser: `python -m benchmarks.bench_scrubbing` (`--topic NAME`).

For each: processor seconds of all its states, characters of the figure with them, seconds from the still picture on
the page to its slider, and, while that is dragged to and fro, states shown and frames painted a second, which depend on
what else runs (the load is printed first), and processor time of the browser's main thread for each state, which does
not: 33 ms are 30 states a second. Then the memory of the processes that compute.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time

from playwright.sync_api import Page, sync_playwright

from benchmarks.bench_browser import QUIET
from benchmarks.load_sessions import Server, free_port
from dpcore.figures import LIGHT
from pages.lessons import moving, path

COUNTED = """(key) => {
    const chart = document.querySelector(`.st-key-${CSS.escape(key)} .js-plotly-plot`);
    window.seen = { shown: 0, painted: 0 };
    chart.on('plotly_animated', () => { window.seen.shown++; });
    const paint = () => { window.seen.painted++; requestAnimationFrame(paint); };
    requestAnimationFrame(paint);
}"""
RAIL = ".slider-rail-touch-rect"
TURNS = 3
"""Times that the slider is dragged from one end to the other."""


def states(step: path.Step) -> tuple[float, int]:
    """(processor seconds of all states, characters of the figure with them) at the values the topic begins with."""
    topic, course = step.topic, step.course
    own = tuple(sorted((key, value) for key, value in topic.start.items() if key != topic.moves.key))
    start = time.process_time()
    found = moving.states(moving.Asked(step.place.name, topic.name, own, False, 14), None, progress=lambda _: False)
    spent, stops = time.process_time() - start, course.page.controls[topic.moves.key].stops
    values = course.known({**course.page.read({})[0], **topic.start})
    still = topic.picture(moving.worked_out(topic, values, lambda _: False), LIGHT).panels[0].figure
    labels = list(map(topic.moves.label.format, stops))
    return spent, len(json.dumps(moving.sent(still, found, 0, labels, LIGHT)))


def scrubbed(page: Page, address: str, step: path.Step) -> tuple[float, float, float, float]:
    """(seconds from the picture to its slider, states shown a second, frames painted a second, milliseconds of the main
    thread's processor time for a state)."""
    topic, controls = step.topic, step.course.page.controls
    chosen = "&".join(f"{key}={controls[key].write(value)}" for key, value in topic.start.items())
    key = f"chart_{topic.name}"
    page.goto(f"{address}/{step.place.name}?topic={topic.name}&{chosen}")
    page.wait_for_selector(f".st-key-{key} .js-plotly-plot .main-svg")
    start = time.monotonic()
    rail = page.locator(f".st-key-{key} {RAIL}").first
    rail.wait_for()
    waited = time.monotonic() - start
    page.wait_for_timeout(1500)
    rail.scroll_into_view_if_needed()  # under a long headline it is below the screen, where no mouse gets
    page.evaluate(COUNTED, key)
    box, count = rail.bounding_box(), len(controls[topic.moves.key].stops)
    ends = [box["x"] + share * box["width"] for share in (0.03, 0.97)]
    height = box["y"] + box["height"] / 2
    page.mouse.move(ends[0], height)
    page.mouse.down()
    clock = page.context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})
    busy = lambda: next(  # noqa: E731
        one["value"] for one in clock.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration"
    )
    before, used, start = page.evaluate("({ ...window.seen })"), busy(), time.monotonic()
    for turn in range(TURNS):
        page.mouse.move(ends[(turn + 1) % 2], height, steps=count)
    spent = time.monotonic() - start
    after, used = page.evaluate("({ ...window.seen })"), busy() - used
    page.mouse.up()
    shown, painted = (after[name] - before[name] for name in ("shown", "painted"))
    return waited, shown / spent, painted / spent, 1000 * used / max(shown, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topic", help="this one alone")
    asked = parser.parse_args().topic
    steps = [one for one in path.steps() if one.topic.moves is not None and asked in (None, one.topic.name)]
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    heads = ("topic", "states (s of processor)", "characters", "to its slider (s)", "states a second",
             "frames a second", "main thread (ms a state)")  # fmt: skip
    print(f"| {' | '.join(heads)} |", "|---" + "|--:" * (len(heads) - 1) + "|", sep="\n")
    server = Server(port := free_port())
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=QUIET)
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            page.set_default_timeout(60_000)
            for step in steps:
                spent, size = states(step)
                waited, shown, painted, busy = scrubbed(page, f"http://127.0.0.1:{port}", step)
                told = f"{spent:.2f} | {size} | {waited:.2f} | {shown:.0f} | {painted:.0f} | {busy:.0f}"
                print(f"| {step.topic.name} | {told} |", flush=True)
            browser.close()
        held = [f"{server.status('VmHWM', pid) / 1024:.0f}" for pid in server.family()]
        print(f"most memory held, the server's process first (MB): {', '.join(held)}")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
