"""What topics of the Learn pages have computed in the background: `python -m benchmarks.bench_lessons`.

For each task the seconds of processor time, the most of it between two reports, within which Stop is heard, and the
peak memory of a process that has done nothing else. Nothing comes from the store.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

from .bench_solve import peak_megabytes


def _counting(statistic: str, kind: str, rows: int) -> Callable[[], tuple[Callable[..., Any], Any]]:
    def made() -> tuple[Callable[..., Any], Any]:
        from pages.mechanism_gallery import work

        return work.count, work.Counting(statistic, kind, rows, 0.1, 1)

    return made


def _learning(rate: float, steps: int) -> Callable[[], tuple[Callable[..., Any], Any]]:
    def made() -> tuple[Callable[..., Any], Any]:
        from pages.composition import work

        return work.learn, work.Learning(rate, 4.0, 0.1, steps, 1e-5, 1)

    return made


TASKS = {
    "intervals of shares, 500 people": _counting("mean", "Bernoulli", 500),
    "intervals of means, 5000 people": _counting("mean", "log-normal", 5000),
    "intervals of slopes, 5000 people": _counting("slope", "normal", 5000),
    "five trainings, 60 epochs of 2000 rows": _learning(0.05, 1200),
    "five trainings, 400 epochs of 2000 rows": _learning(0.2, 2000),
}


def measured(name: str) -> str:
    """The row of one task, run in this process."""
    os.environ["DP_FRONTIER_STORE"] = "off"
    task, asked = TASKS[name]()
    told = [time.process_time()]
    task(asked, None, progress=lambda record: told.append(time.process_time()) or False)
    told.append(time.process_time())
    silent = max(later - sooner for sooner, later in zip(told, told[1:]))
    return f"| {name} | {told[-1] - told[0]:.2f} | {1000 * silent:.0f} | {len(told) - 2} | {peak_megabytes():.0f} |"


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print("| task | processor time (s) | longest silence (ms) | reports | peak memory (MB) |")
    print("|---|--:|--:|--:|--:|")
    for name in TASKS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measured, (name,)), flush=True)


if __name__ == "__main__":
    main()
