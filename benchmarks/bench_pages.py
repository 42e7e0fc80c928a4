"""What one run of the script costs: `python -m benchmarks.bench_pages [--page composition]`.

Every page, at every topic, tab and panel that its address names, is opened by a first visitor in a process of its own
that has done what server.py does at its start, and no more; then every control that is drawn is moved, every button
pressed, every fold of numbers opened. Taken is the processor time of the thread that runs the script, jobs' processes
left out: while it runs, a session does not answer, and no other page is put together. Status 1 when a run takes more
than the limit.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.lessons.widgets import Stops
from pages.registry import PAGES
from pages.shared import compute
from pages.shared.address import FRAME, Choice, Choices, Number, Switch

ROOT = Path(__file__).parents[1]
LIMIT = 0.3
"""Seconds."""

CONTROLS = {page.name: page.controls for page in PAGES}
PLACES = ("topic", "tab", "panel")
"""Controls that say which part of a page is drawn. Those of another topic are all moved; of another tab or panel, those
that are drawn there only, and ε."""

BESIDE = ("turn_", "stop", "step_reset")
"""Buttons that are not pressed: they lead to another topic, or end a job."""


@dataclass(frozen=True)
class Run:
    """One run of the script.   place : where.   what : led to it.   seconds : of its thread."""

    place: str
    what: str
    seconds: float


class Visit:
    """One visitor of one place, and the runs so far."""

    def __init__(self, page: str, place: dict[str, str]) -> None:
        self.app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        self.app._page_hash = "" if page == PAGES[0].name else calc_hash(page)
        self.name, self.runs = name(page, place), []
        for key, value in place.items():
            self.app.query_params[key] = value

    def run(self, what: str) -> None:
        """Run the script."""
        TIMES.clear()
        self.app.run()
        if self.app.exception:
            print(f"{self.name}, {what}: {self.app.exception[0].message}", file=sys.stderr)
        self.runs.append((what, TIMES[-1]))

    def wait(self, seconds: float, what: str) -> None:
        """Look again and again, as the page itself does, until nothing is under way."""
        end = time.monotonic() + seconds
        while under_way() and time.monotonic() < end:
            time.sleep(0.2)
            self.run(f"{what}, looked at while it is solved")

    def change(self, values: dict[str, Any], what: str) -> None:
        """Move controls, and see the answer."""
        before = {key: self.app.session_state[key] for key in values if key in self.app.session_state}
        for key, value in values.items():
            self.app.session_state[key] = value
        try:
            self.run(what)
        except ValueError:  # a box that does not offer this just now
            for key, value in before.items():
                self.app.session_state[key] = value
        else:
            self.wait(1.5, what)


def visit(page: str, place: dict[str, str], known: set[str]) -> tuple[list[tuple[str, float]], set[str]]:
    """(what led to it, seconds) of all runs of one visitor who tries everything but what is known from elsewhere, and
    the keys of what is drawn."""
    one = Visit(page, place)
    one.run("first visit")
    one.wait(6.0, "first visit")
    one.run("again")
    if one.app.exception:
        return one.runs, set()
    address = CONTROLS[page]
    first = {key: one.app.session_state[key] for key in address.controls} | {"explain": False, "projector": False}
    keys, buttons = drawn(one.app), pressable(one.app)
    for key in sorted((keys - known | {"epsilon"}) & keys & first.keys() - place.keys()):
        for value in others({**address.controls, **FRAME.controls}[key], first[key]):
            one.change({key: value}, f"{key} = {value}")
        one.change({key: first[key]}, f"{key} back")
    for key in [key for key in buttons if not key.startswith(BESIDE) and key not in known]:
        for button in [button for button in one.app.button if button.key == key and not button.disabled]:
            button.click()
            one.run(f"button {key}")
            one.wait(2.0, f"button {key}")
        one.change({**first, **place}, f"{key} back")
    for chart in charts(one.app):
        if chart not in known:
            one.change({f"{chart}_numbers": True}, f"numbers of {chart}")
    return one.runs, {*keys, *buttons, *charts(one.app)}


def drawn(app: AppTest) -> set[str]:
    """Keys of all controls on the page."""
    kinds = ("selectbox", "select_slider", "slider", "toggle", "checkbox", "radio", "multiselect",
             "button_group", "text_input", "text_area")  # fmt: skip
    return {str(getattr(widget, "key", "")).removesuffix("_typed") for kind in kinds for widget in app.get(kind)}


def pressable(app: AppTest) -> list[str]:
    """Keys of all buttons on the page but those in the fields of numbers."""
    return [str(button.key) for button in app.button if button.key and not button.key.endswith(("_less", "_more"))]


def charts(app: AppTest) -> list[str]:
    """Keys of all charts on the page."""
    return [key for chart in app.get("plotly_chart") if (key := chart.proto.id.rpartition("-")[2])]


def others(control: object, value: Any) -> list[Any]:
    """Some values that a visitor may turn to."""
    if isinstance(control, Stops):
        at = control.stops.index(value)
        return [control.stops[n] for n in dict.fromkeys((min(at + 1, len(control.stops) - 1), 0, -1)) if n != at]
    if isinstance(control, Choice):
        return [option for option in control.options if option != value]
    if isinstance(control, Choices):
        return [list(control.options)]
    if isinstance(control, Switch):
        return [not value]
    if isinstance(control, Number):
        moved = 1.0 if value is None else value + 1 if control.whole else round(1.25 * value, 6)
        return [moved] if control.low <= moved <= control.high else []
    return []


def under_way() -> bool:
    figures = compute.figures()
    return bool(figures.jobs_running or figures.jobs_waiting)


def name(page: str, place: dict[str, str]) -> str:
    """What a place is called in the table."""
    return ": ".join([page, *place.values()])


def places(page: str) -> Iterator[dict[str, str]]:
    """All places of a page."""
    controls = CONTROLS[page].controls
    keys = [key for key in PLACES if key in controls]
    yield from (dict(zip(keys, names)) for names in product(*(controls[key].options for key in keys)))


TIMES: list[float] = []
"""Seconds that every thread took that ran the script."""


def take_time() -> None:
    """Have the seconds noted of every thread that runs the script."""
    plain = ScriptRunner._run_script_thread

    def timed(self: ScriptRunner) -> None:
        began = time.thread_time()
        try:
            plain(self)
        finally:
            TIMES.append(time.thread_time() - began)

    ScriptRunner._run_script_thread = timed


def in_a_process(page: str, place: dict[str, str], known: set[str]) -> tuple[list[Run], set[str]]:
    """The runs of a visitor, in a copy of this process; and the keys of what is drawn."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def go() -> None:
        logging.disable()
        compute.open_pool()
        compute._workers().pool.wait()
        there.send(visit(page, place, known))
        compute._workers().pool.close()
        os._exit(0)

    process = context.Process(target=go)
    process.start()
    there.close()
    try:
        runs, keys = here.recv()
        return [Run(name(page, place), *one) for one in runs], keys
    except EOFError:
        print(f"{name(page, place)}: the process died", file=sys.stderr)
        return [], set()
    finally:
        process.join()


def main() -> int:
    """Print all runs above the limit, the worst first, and the worst of every place."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--page", default="", help="only pages whose names contain this")
    parser.add_argument("--place", default="", help="only places whose names contain this")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of the script's thread")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["DP_FRONTIER_STORE"] = ""
    import server

    server.load()
    server.preload()
    take_time()
    runs: list[Run] = []
    for page in [page.name for page in PAGES]:
        known: set[str] = set()
        for place in places(page) if options.page in page else ():
            if options.place in name(page, place):
                found, keys = in_a_process(page, place, known)
                known |= set() if "topic" in place else keys
                runs += found
                if found:
                    show(found)
    slow = sorted((run for run in runs if run.seconds > options.limit), key=lambda run: -run.seconds)
    print(f"\n{len(runs)} runs, {len(slow)} of them above {options.limit:g} s")
    for run in slow:
        print(f"{run.seconds:6.2f} s  {run.place}: {run.what}")
    return int(bool(slow))


def show(runs: list[Run]) -> None:
    """Print a line for every place."""
    later = runs[1:] or runs
    worst = max(later, key=lambda run: run.seconds)
    middle = statistics.median(run.seconds for run in later)
    print(f"{runs[0].place:<60} first {runs[0].seconds:5.2f}  median {middle:5.2f}  worst later {worst.seconds:5.2f}"
          f"  {worst.what}", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
