"""Many visitors at once: `python -m benchmarks.load_sessions` starts the server on this machine, lets sessions move the
sliders of the first page for a minute, and says how the service held out.

Each session moves ε or δ one to three stops, waits as long as people do (`--pause` seconds on average, at random), and
moves again. For every move the time is taken from sending it to the first certified bounds for the new values; a move
whose bounds had not come before the next one counts as never answered. Meanwhile another process asks for the health
check five times a second. In the end the sessions close, and no job and no thread of theirs may be left.

`--scrubbing 5` adds visitors of the Learn pages who drag their pictures. Dragging itself asks nothing of the server; at
every pause they let go, which is a run of the page, and every other time they move another control, for which all
states of the picture are computed anew. The limits are the same.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.visitor import Visitor

ROOT = Path(__file__).parents[1]
SLIDERS = ("epsilon_stop", "delta_stop")
BOUNDS = re.compile(r"\*\*[\d.,\u202f ×⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+\*\*")

LIMITS = {
    "errors": 0, "health, worst (ms)": 100, "first bounds, median (s)": 1, "first bounds, 95 % (s)": 4,
    "memory, most (MB)": 1000, "threads left": 0, "jobs left": 0,
}  # fmt: skip


@dataclass
class Move:
    """One change of a slider: when it was sent, what was asked, when the first bounds for it came."""

    sent: float
    asked: str
    run: int
    answered: float = math.inf

    @property
    def seconds(self) -> float:
        return self.answered - self.sent


@dataclass
class Session:
    """A visitor with a plan."""

    visitor: Visitor
    rng: random.Random
    moves: list[Move] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    first_sight: float = math.inf

    def look(self, element, now: float) -> None:
        """Take an element that came: are these bounds, and for the values last asked for?"""
        if element.WhichOneof("type") != "markdown" or not BOUNDS.search(element.markdown.body):
            return
        if not self.moves:
            return
        move = self.moves[-1]
        asked = move.asked in element.markdown.body
        underway = "between" in element.markdown.body and self.visitor.runs > move.run
        if (asked or underway) and move.answered == math.inf:
            move.answered = now

    async def live(self, until: float, pause: float) -> None:
        """Open the page, move sliders, leave."""
        visitor, rng = self.visitor, self.rng
        visitor.on_element = self.look
        try:
            start = time.monotonic()
            async with visitor.visit():
                await visitor.finished(60)
                self.first_sight = time.monotonic() - start
                stops = {key: list(visitor.widget(key).slider.options) for key in SLIDERS}
                at = {"epsilon_stop": stops["epsilon_stop"].index("1"), "delta_stop": stops["delta_stop"].index("0.2")}
                await asyncio.sleep(rng.uniform(0, pause))
                while time.monotonic() < until:
                    key = rng.choice(SLIDERS)
                    step = rng.choice([-3, -2, -1, 1, 2, 3])
                    top = len(stops[key]) - 1
                    at[key] += step if 0 <= at[key] + step <= top else -step
                    epsilon, delta = (stops[name][at[name]] for name in SLIDERS)
                    asked = f"({epsilon},\u00a0{delta})-"
                    self.moves.append(Move(time.monotonic(), asked, visitor.runs))
                    await visitor.run(**{key: stops[key][at[key]]})
                    await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        self.faults += visitor.exceptions


DRAGGED = (
    ("what_epsilon_means", "topic=worst-event", "probe", "epsilon"),
    ("mechanism_gallery", "topic=noisy_max", "epsilon", "nm_candidates"),
    ("composition", "topic=subsampling", "su_epsilon", "su_rate"),
    ("mechanism_gallery", "topic=local_central", "epsilon", "lc_people"),
    ("mechanism_gallery", "topic=additive_noise", "epsilon", "an_delta"),
    ("what_epsilon_means", "topic=processing&mechanism=laplace", "compare", "epsilon"),
)
"""Page, address, what its picture is dragged along, a control for which all of its states change."""


@dataclass
class Scrubber:
    """A visitor who drags a moving picture.

    waits : seconds until the states were there, of every time that they had changed; inf if they came too late.
    """

    visitor: Visitor
    rng: random.Random
    dragged: str
    other: str
    waits: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    asked: float = math.inf

    def look(self, element, now: float) -> None:
        """Take an element that came: is it the picture with its states?"""
        if element.WhichOneof("type") == "plotly_chart" and '"sliders"' in element.plotly_chart.spec:
            if self.waits and self.waits[-1] == math.inf:
                self.waits[-1] = now - self.asked

    async def live(self, until: float, pause: float) -> None:
        """Open the page, drag, leave."""
        visitor, rng = self.visitor, self.rng
        visitor.on_element = self.look
        try:
            self._ask()
            async with visitor.visit():
                await visitor.finished(60)
                await asyncio.sleep(pause)
                turn = 0
                while time.monotonic() < until:
                    key = self.other if turn % 2 else self.dragged
                    if turn % 2:
                        self._ask()
                    options = list(visitor.widget(key).slider.options)
                    await visitor.run(**{key: rng.choice(options)})
                    turn += 1
                    await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        self.faults += visitor.exceptions

    def _ask(self) -> None:
        self.asked = time.monotonic()
        self.waits.append(math.inf)


class Server:
    """The dashboard in a process of its own, with an empty store."""

    def __init__(self, port: int) -> None:
        self.address, self.metrics = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}/metrics"
        self._folder = tempfile.TemporaryDirectory(prefix="load-")
        self._log = Path(self._folder.name, "log")
        environment = {
            "DP_FRONTIER_LOG": "json", "DP_FRONTIER_STORE": f"{self._folder.name}/store",
            "DP_FRONTIER_METRICS": f"127.0.0.1:{port + 1}", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        command = [sys.executable, "-m", "streamlit", "run", "server.py", "--server.address=127.0.0.1",
                   f"--server.port={port}", "--server.headless=true"]  # fmt: skip
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 60
        while not healthy(port) and time.monotonic() < deadline:
            time.sleep(0.2)

    def status(self, name: str, pid: int | None = None) -> int:
        """A number of /proc/…/status: VmHWM in kB, Threads."""
        text = Path(f"/proc/{pid or self.process.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1])

    def family(self) -> list[int]:
        """The server's process and those that compute for it."""
        own = self.process.pid
        tasks = [task for task in Path(f"/proc/{own}/task").iterdir() if (task / "children").exists()]
        return [own, *(int(pid) for task in tasks for pid in (task / "children").read_text().split())]

    def memory(self) -> float:
        """What they hold together now, in MB; what they share counts once."""
        held = 0
        for pid in self.family():
            with suppress(OSError):  # it has just ended
                held += int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
        return held / 1024

    def figures(self) -> dict[str, float]:
        """What the monitoring is told."""
        with urllib.request.urlopen(self.metrics, timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        return {line.split()[0]: float(line.split()[1]) for line in lines if not line.startswith("#")}

    def errors(self) -> list[str]:
        """Lines of the log that are errors or no JSON."""
        lines = [line for line in self._log.read_text().splitlines() if line.strip()]
        plain = [line for line in lines if line[0] != "{" and "http://" not in line and "view your" not in line]
        return plain + [line for line in lines if line.startswith("{") and json.loads(line)["level"] in ("ERROR",)]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._folder.cleanup()


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def ask_health(port: int, results: Connection) -> None:
    """Ask five times a second until told to stop; send back the seconds each took (inf: no answer)."""
    seconds = []
    while not results.poll(0.2):
        start = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/_stcore/health")
            fine = connection.getresponse().status == 200
            connection.close()
        except OSError:
            fine = False
        seconds.append(time.monotonic() - start if fine else math.inf)
    results.send(seconds)


async def drive(server: Server, sessions: Sequence[Session | Scrubber], seconds: float, pause: float) -> float:
    """All sessions, opened within five seconds, for so many seconds after that; the most memory seen meanwhile."""
    until, most = time.monotonic() + 5 + seconds, server.memory()

    async def look() -> None:
        nonlocal most
        while True:
            most = max(most, await asyncio.to_thread(server.memory))
            await asyncio.sleep(1)

    async def one(number: int, session: Session | Scrubber) -> None:
        await asyncio.sleep(5 * number / len(sessions))
        await session.live(until, pause)

    looking = asyncio.create_task(look())
    await asyncio.gather(*(one(number, session) for number, session in enumerate(sessions)))
    looking.cancel()
    return most


def settled(server: Server, before: dict[str, float], threads: int) -> tuple[int, int]:
    """(threads, jobs) more than before the visitors came, after at most ten seconds."""
    deadline = time.monotonic() + 10
    while True:
        now = server.figures()
        jobs = int(sum(now.get(f"dp_frontier_{name}", 0) for name in ("jobs_waiting", "jobs_running")))
        extra = server.status("Threads") - threads
        if (extra <= 0 and not jobs and not now["dp_frontier_sessions"]) or time.monotonic() > deadline:
            return max(extra, 0), jobs
        time.sleep(0.5)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def main() -> int:
    """Print the figures beside their limits; status 1 when one is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=4, help="seconds between two moves of a session, on average")
    parser.add_argument("--scrubbing", type=int, default=0, help="visitors who drag pictures, besides")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    port = options.port or free_port()
    before_load = os.getloadavg()[0]
    server = Server(port)
    try:
        threads, idle = asyncio.run(warm_up(server)), server.figures()
        ours, theirs = multiprocessing.Pipe()
        probe = multiprocessing.get_context("spawn").Process(target=ask_health, args=(port, theirs))
        probe.start()
        busy = idle["process_cpu_seconds_total"]
        sessions = [
            Session(Visitor(server.address, "epsilon=1"), random.Random(number)) for number in range(options.sessions)
        ]
        scrubbers = [
            Scrubber(Visitor(server.address, query, page), random.Random(number), dragged, other)
            for number, (page, query, dragged, other) in zip(range(options.scrubbing), itertools.cycle(DRAGGED))
        ]
        memory = asyncio.run(drive(server, [*sessions, *scrubbers], options.seconds, options.pause))
        busy = server.figures()["process_cpu_seconds_total"] - busy
        ours.send("stop")
        health = ours.recv()
        probe.join()
        left = settled(server, idle, threads)
        faults = server.errors()
    finally:
        server.stop()
    faults += [fault for one in (*sessions, *scrubbers) for fault in one.faults]
    waits = [move.seconds for session in sessions for move in session.moves]
    first = [session.first_sight for session in sessions]
    figures = {
        "errors": len(faults),
        "health, worst (ms)": 1000 * max(health),
        "first bounds, median (s)": statistics.median(waits),
        "first bounds, 95 % (s)": quantile(waits, 0.95),
        "memory, most (MB)": memory,
        "threads left": left[0],
        "jobs left": left[1],
    }
    print(f"{options.sessions} sessions, {options.seconds:g} s, {len(waits)} moves; load before: {before_load:.2f}; "
          f"the server's own process used {busy:.0f} s of processor time on {os.cpu_count()} cores")  # fmt: skip
    answered = [wait for wait in waits if math.isfinite(wait)]
    print(
        f"page complete after {statistics.median(first):.2f} s (median), {max(first):.2f} s (worst); bounds never came "
        f"for {len(waits) - len(answered)} moves, worst of the others {max(answered, default=math.nan):.2f} s"
    )
    print(
        f"health: median {1000 * statistics.median(health):.1f} ms, 99 % {1000 * quantile(health, 0.99):.0f} ms, "
        f"{sum(s > 0.1 for s in health)} of {len(health)} above 100 ms"
    )
    if scrubbers:
        states = [wait for one in scrubbers for wait in one.waits]
        print(f"{len(scrubbers)} drag: states {len(states)} times anew, there after {statistics.median(states):.2f} s "
              f"(median), {sum(map(math.isinf, states))} times not before they were out of date")  # fmt: skip
    for name, value in figures.items():
        print(f"{'ok  ' if value <= LIMITS[name] else 'MISS'} {name:<26} {value:8.2f}   limit {LIMITS[name]}")
    for fault in faults[:5]:
        print("    ", fault[:300])
    return int(any(value > LIMITS[name] for name, value in figures.items()))


async def warm_up(server: Server) -> int:
    """One visit, so that everything is loaded and every lasting thread exists; returns how many threads there are."""
    async with Visitor(server.address).visit() as visitor:
        await visitor.finished(60)
        await asyncio.sleep(2)
    await asyncio.sleep(6)  # then the processes that solve start
    deadline = time.monotonic() + 60
    while len(server.family()) == 1 and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
    await asyncio.sleep(4)  # the thread that prepares has ended, those that listen have begun
    return server.status("Threads")


def free_port() -> int:
    """A port with a free one after it, most likely."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
