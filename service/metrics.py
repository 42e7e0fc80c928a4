"""Figures for monitoring, in the text format of Prometheus, on an address of their own.

Counts and sizes only: how many sessions, how much work, how much memory. Nothing about what was asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import fields

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from streamlit import runtime

PREFIX = "dp_frontier_"


class Figures(Collector):
    """The numbers of a data class, read anew at every visit of the monitoring, with the process's threads and sessions.

    source : returns the data class. Its fields are gauges, or counters where the name ends in "_total"; what a field
        says is `described[name]`, its name in words where nothing is.
    """

    def __init__(self, source: Callable[[], object], described: dict[str, str] | None = None) -> None:
        self._source, self._described = source, described or {}

    def collect(self) -> Iterator[Metric]:
        figures = self._source()
        values = {field.name: getattr(figures, field.name) for field in fields(figures)}
        for name, value in {**values, "threads": threading.active_count(), "sessions": sessions()}.items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(PREFIX + name, self._described.get(name, name.replace("_", " ")), value=float(value))


def sessions() -> int:
    """Browser sessions that are connected now."""
    if not runtime.exists():
        return 0
    (stat,) = runtime.get_instance().stats_mgr.get_stats(family_names=["active_sessions"])["active_sessions"]
    return int(stat.value)


def registry(source: Callable[[], object], described: dict[str, str] | None = None) -> CollectorRegistry:
    """What is told to the monitoring: `source`, and memory, processor time and open files of the process."""
    found = CollectorRegistry()
    found.register(Figures(source, described))
    ProcessCollector(registry=found)
    PlatformCollector(registry=found)
    return found


def serve(address: tuple[str, int] | None, source: Callable[[], object]) -> Callable[[], None]:
    """Answer the monitoring at (host, port) from a thread of its own; returns what ends that. None: do nothing.

    Raises
    ------
    OSError : the address is taken or not this machine's.
    """
    if address is None:
        return lambda: None
    host, port = address
    server, thread = start_http_server(port, host, registry(source))

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(5)

    return stop
