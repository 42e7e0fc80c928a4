"""Figures for monitoring: in Prometheus's format, at an address of their own, about work and never about questions."""

from __future__ import annotations

import re
import socket
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pages.shared import compute
from service import metrics


@dataclass(frozen=True)
class Sample:
    jobs_waiting: int = 3
    solves_total: int = 7
    median_seconds: float = 0.25


def families(address: tuple[str, int]) -> dict:
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/metrics", timeout=10) as answer:
        return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}


def test_what_monitoring_is_told():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    stop = metrics.serve(address, Sample)
    try:
        found = families(address)
        assert found["dp_frontier_jobs_waiting"].samples[0].value == 3
        assert found["dp_frontier_solves"].type == "counter" and found["dp_frontier_solves"].samples[0].value == 7
        assert found["dp_frontier_median_seconds"].samples[0].value == 0.25
        assert found["dp_frontier_threads"].samples[0].value >= 2
        assert found["dp_frontier_sessions"].samples[0].value == 0
        assert found["process_resident_memory_bytes"].samples[0].value > 1e7
        with pytest.raises(OSError):
            metrics.serve(address, Sample)
    finally:
        stop()
    with pytest.raises(OSError):
        families(address)


def test_no_address_no_port():
    metrics.serve(None, Sample)()


def test_the_figures_of_the_dashboard_are_numbers_with_a_word_each(capsys):
    registry = metrics.registry(compute.figures)
    named = {family.name: family for family in registry.collect()}
    told = {name.removeprefix("dp_frontier_") for name in named if name.startswith("dp_")}
    manual = (Path(__file__).parents[2] / "docs" / "operate.md").read_text().split("## Monitoring")[1]
    listed = {name.removesuffix("_total") for row in re.findall(r"^\| (`.*?) \|", manual, re.M)
              for name in re.findall(r"`(\w+)`", row)}  # fmt: skip
    assert told == listed, "every figure is in the manual"
    assert all(family.documentation and not sample.labels for name, family in named.items() if name[:3] == "dp_"
               for sample in family.samples)  # fmt: skip
