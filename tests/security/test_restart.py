"""The server ends: when asked, at once; when killed in the middle of a solve, without losing what was finished."""

from __future__ import annotations

import asyncio
import re
import time
from urllib.parse import urlencode

from running import Service, apart, running

from benchmarks.visitor import Visitor

HARD = {"epsilon": "0.7", "delta": "0.03", "loss": "lp", "exponent": "1.3", "gap": "0.0001", "seconds": "30"}
EASY = {"epsilon": "0.9", "delta": "0.15", "gap": "1"}
BOUNDS = r"at least \*\*([\d.]+)\*\*.*at most \*\*([\d.]+)\*\*"
BRACKET = re.compile(BOUNDS)


async def killed_while_solving(service: Service) -> None:
    visitor = Visitor(service.address, urlencode(HARD))
    async with visitor.visit():
        await visitor.finished()
        assert service.figures()["dp_frontier_jobs_running"] >= 1
        service.kill()


async def finished(service: Service) -> tuple[float, ...]:
    """The bracket that a visitor sees who stays until the job is done: what is not finished is not kept."""
    visitor = Visitor(service.address, urlencode(EASY))
    async with visitor.visit():
        await visitor.finished()
        deadline = time.monotonic() + 60
        while not (service.figures()["dp_frontier_jobs_finished_total"] and BRACKET.search("\n".join(visitor.texts()))):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    return bounds(visitor)


def bounds(visitor) -> tuple[float, ...]:
    return next(tuple(map(float, m.groups())) for text in visitor.texts() if (m := BRACKET.search(text)))


def test_results_survive_a_server_that_is_killed_while_it_solves(tmp_path):
    with running(tmp_path) as first:
        before = apart(finished(first))
        apart(killed_while_solving(first))
    with running(tmp_path) as second:
        assert second.figures()["dp_frontier_disk_hits_total"] == 0
        again = second.visit(EASY, until=BOUNDS)
        (lower, upper), (first_lower, first_upper) = bounds(again), before  # a busy machine showed an early bracket
        assert first_lower <= lower <= upper <= first_upper and not again.exceptions
        figures = second.figures()
        assert figures["dp_frontier_disk_hits_total"] >= 1, "from the store, not solved again"
        started = time.monotonic()
        second.stop()
        assert time.monotonic() - started < 15
        assert second.events()[-1]["event"] == "stop"
        assert [event for event in second.events() if "error" in event] == []


def test_the_server_does_not_start_with_settings_it_cannot_keep(tmp_path):
    service = Service(tmp_path, DP_FRONTIER_WORKERS="many", DP_FRONTIER_LOGS="json", DP_FRONTIER_SECONDS="1e9")
    assert service.process.wait(60) != 0
    for line in (
        "DP_FRONTIER_WORKERS = many: expected a whole number from 1 to 64",
        "DP_FRONTIER_SECONDS = 1e9: expected a number from 1 to 3600",
        "DP_FRONTIER_LOGS = json: expected one of",
    ):
        assert line in service.log
    assert "Traceback" not in service.log
