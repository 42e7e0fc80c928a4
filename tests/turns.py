"""Slow tests take turns on CI, where a change is to be judged within minutes: an eighth of them runs with each commit,
another eighth with the next; of a test with many cases every eighth. Elsewhere, and with TURN unset, all tests run.

    TURN=$(git rev-list --count HEAD) make test                          # what CI runs
    make test ARGS="--durations=0 --durations-min=0.05 -vv" | tee log
    python tests/turns.py log                                            # lists the slow ones anew, in slow.txt
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

SLOW = Path(__file__).with_name("slow.txt")
TURNS = 8

SECONDS = 0.5
"""A test is slow from so many on, on the average of its cases, with what is set up for it."""


def listed() -> frozenset[str]:
    """The slow tests, without cases."""
    return frozenset(SLOW.read_text(encoding="utf-8").split())


def left_out(cases: Iterable[str], turn: int) -> set[str]:
    """Of all cases those of slow tests whose turn it is not."""
    slow = listed()
    mine = sorted(case for case in cases if _function(case) in slow)
    return {case for number, case in enumerate(mine) if (number - turn) % TURNS}


def _function(case: str) -> str:
    return case.partition("[")[0]


def slow_in(log: str) -> list[str]:
    """The slow tests of a run with all its durations."""
    spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for seconds, case in re.findall(r"^([\d.]+)s (?:setup|call|teardown) +(tests/\S+::.*\S)\s*$", log, re.M):
        spent[_function(case)][case] += float(seconds)
    return sorted(name for name, cases in spent.items() if sum(cases.values()) >= SECONDS * len(cases))


if __name__ == "__main__":
    SLOW.write_text("\n".join(slow_in(Path(sys.argv[1]).read_text(encoding="utf-8"))) + "\n", encoding="utf-8")
