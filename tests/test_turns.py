"""What runs when slow tests take turns."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from turns import TURNS, left_out, listed, slow_in

ROOT = Path(__file__).parents[1]


@cache
def functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_all_that_is_listed_is_a_test():
    gone = [name for name in listed() for file, test in [name.split("::")] if test not in functions(ROOT / file)]
    assert listed() and not gone


def test_every_case_has_one_turn_and_quick_tests_all():
    names = sorted(listed())[:30]
    slow = [f"{name}[{case}]" for name in names for case in range(2 * TURNS)]
    quick = ["tests/test_turns.py::test_quick", "tests/test_turns.py::test_quick[case]"]
    run = [set(slow + quick) - left_out(slow + quick, turn) for turn in range(7, 7 + TURNS)]
    assert all(set(quick) <= cases for cases in run)
    assert sorted(case for cases in run for case in cases - set(quick)) == sorted(slow)
    assert all(sum(case.startswith(f"{name}[") for case in cases) == 2 for cases in run for name in names)


def test_a_test_is_slow_by_the_average_of_its_cases():
    log = (
        "0.90s setup    tests/a.py::test_shared[one two]\n0.05s call     tests/a.py::test_shared[one two]\n"
        "0.05s call     tests/a.py::test_shared[three]\n0.40s setup    tests/a.py::test_both\n"
        "0.10s teardown tests/a.py::test_both\n== 3 passed in 1.50s ==\n"
    )
    assert slow_in(log) == ["tests/a.py::test_both", "tests/a.py::test_shared"]
