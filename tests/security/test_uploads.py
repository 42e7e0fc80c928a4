"""Files from anywhere: solutions and loss tables. What is accepted is audited, what is not is named in one line, and
neither takes long.

THOROUGH=n reads 500·n fuzzed files through the page's readers instead of 150.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
from itertools import islice

import pytest
from hostile import RAW, TABLES, broken, random_text
from hypothesis import given, settings
from hypothesis import strategies as st
from visits import ROOT

from dpcore.errors import InputError
from dpcore.export import noise_to_csv, solution_from_json, solution_to_dict, solution_to_json
from dpcore.loss import Loss, parse_loss, read_table
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem
from dpcore.solution import Solution

COUNT = 500 * int(os.environ.get("THOROUGH", "0")) or 150

GOOD = {
    "plain": noise_problem(1, 0.2),
    "shaped": noise_problem(1, 0.2, 2.0, "pinball:0.8", monotone=True, support=(-4.0, 9.0)),
    "staircase": noise_problem(1, 0),
    "counts": noise_problem(1, 0.05, 3.0, granularity=1.0),
    "counts, pure": noise_problem(1, 0, 3.0, granularity=1.0),
    "more": noise_problem(
        1, 0.1, 1.0, "l2", budget=Budget(parse_loss("exceed:2"), 0.3), second=Privacy(3.0, 0.05)
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def good() -> dict[str, dict]:
    """What the program writes for each kind of law."""
    return {name: solution_to_dict(solve(problem, SolverSettings(gap=0.05))) for name, problem in GOOD.items()}


def read(raw: bytes) -> Solution | None:
    """The solution in a file, if it is one; a complaint must be fit for a page."""
    try:
        solution = solution_from_json(raw)
    except InputError as error:
        fit_for_a_page(error)
        return None
    certificate, problem = solution.certificate, solution.problem
    assert 0 <= certificate.delta_upper <= problem.privacy.delta
    assert certificate.lower is None or certificate.lower <= certificate.upper
    noise_to_csv(solution)
    solution_to_json(solution)
    return solution


def fit_for_a_page(error: InputError) -> None:
    assert len(str(error)) < 600 and error.field and error.accepted


def test_what_the_program_writes_is_read(good):
    for name, data in good.items():
        found = read(json.dumps(data).encode())
        assert found is not None and found.problem == GOOD[name]


@pytest.mark.parametrize("name", GOOD)
def test_fuzzed_solution_files(good, name):
    refused = 0
    files = broken(random.Random(name), good[name])
    for raw in islice(files, COUNT // len(GOOD) + 1):
        refused += read(raw) is None
    assert refused > COUNT // len(GOOD) // 4, "most broken files are refused"


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: repr(raw[:12]))
def test_no_solution_in_a_strange_file(raw):
    assert read(raw) is None


def test_a_solution_of_every_kind_of_wrong_type(good):
    """Each field by each kind of JSON value."""
    for name, data in good.items():
        for key in data:
            for value in (None, True, -1, 1e308, 10**400, "x", [], {}, [[1]], {"a": 1}):
                read(json.dumps({**data, key: value}).encode())
        for key in data["noise"]:
            for value in (None, True, -1, 1e308, 10**400, "x", [], {}, [[1]], {"a": 1}):
                found = read(json.dumps({**data, "noise": {**data["noise"], key: value}}).encode())
                assert found is None or found.problem == GOOD[name]


def test_a_name_twice_is_the_last_one_and_is_audited(good):
    """JSON readers differ in which of two equal names counts; whichever it is, the law is checked against it."""
    text = json.dumps(good["plain"])
    assert read((text[:-1] + ', "delta": 0.001}').encode()) is None
    assert read(('{"delta": 0.001, ' + text[1:]).encode()) is not None


@pytest.mark.parametrize("text", TABLES, ids=lambda text: repr(text[:16]))
def test_strange_loss_tables(text):
    table_or_complaint(text)


def table_or_complaint(text: str) -> Loss | None:
    try:
        return read_table(text)
    except InputError as error:
        fit_for_a_page(error)
        return None


def test_fuzzed_loss_tables():
    rng = random.Random(7)
    for _ in range(COUNT):
        rows = [[rng.choice(["0", "1", "-1", "1e3", "nan", random_text(rng, 6)]) for _ in range(2)] for _ in range(4)]
        separator = rng.choice([",", ";", "\t", " ", ", "])
        table_or_complaint("\n".join(separator.join(row) for row in rows))


@given(st.one_of(st.text(), st.binary().map(lambda raw: raw.decode("utf-8", "replace"))))
@settings(max_examples=100)
def test_any_text_as_a_loss_table(text):
    table_or_complaint(text)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner)
                    | st.dictionaries(st.text(), inner), max_leaves=20))  # fmt: skip
@settings(max_examples=100)
def test_any_json_as_a_solution_or_a_table(data):
    text = json.dumps(data)
    assert read(text.encode()) is None
    table_or_complaint(text)


MILLION = {
    "rows": "'\\n'.join(f'{i},{i}' for i in range(1_000_000))",
    "one line": "','.join(['0'] * 1_000_000)",
    "JSON": "'[' + ','.join(['[0,0]'] * 1_000_000) + ']'",
    "comments": "'#\\n' * 1_000_000",
}


@pytest.mark.parametrize("kind", MILLION)
def test_a_million_rows_are_refused_with_little_time_and_memory(kind):
    """In a process that is killed above 10 s of processor time or 1.5 GB."""
    program = f"""
from dpcore.errors import InputError
from dpcore.loss import read_table
text = {MILLION[kind]}
try:
    read_table(text)
except InputError as error:
    print(str(error)[:200])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, preexec_fn=_bounded, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert re.search(r"loss table.*expected", done.stdout)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    resource.setrlimit(resource.RLIMIT_AS, (1536 << 20, 1536 << 20))


def test_a_file_above_the_limit_is_refused_before_it_is_read_as_a_whole(tmp_path, capsys):
    from dpcore.cli import main

    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(40 << 30)  # sparse: forty gigabytes that take no room
    assert main(["draw", "--noise", str(large), "--value", "1"]) == 2
    assert "at most 32 MB" in capsys.readouterr().err
    assert main(["solve", "--epsilon", "1", "--delta", "0.2", "--loss", f"table:{large}"]) == 2
    assert "at most 1 MB" in capsys.readouterr().err
