"""A release plan on a large file: seconds, of the clock and of the processors, and peak memory of `plan run`, of a
Parquet file made for it.

    python -m benchmarks.bench_plan
    python -m benchmarks.bench_plan --rows 1000000
    python -m benchmarks.bench_plan --session
    python -m benchmarks.bench_plan --jobs

A table, a mean, a median, a count and a sum, once with every row a person of its own, once with an identifier and one
row each; then the memory that a page's session needs for a CSV file of 20 MB (at most 250 MB). The columns are
simulated: nobody's data. `--jobs`: seconds and peak memory (at most 400 MB) of what the page lets compute in the
background, of the survey it begins with and of plans as large as they may be.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from dpcore.plan.made_up import EXAMPLE

PLAN = """
format = 1
[people]
neighbours = "add or remove one person"
{identifier}
[columns.age]
type = "number"
low = 0
high = 100
step = 1
edges = [0, 18, 65, 100]
[columns.sex]
type = "category"
values = ["f", "m"]
[[lines]]
what = "histogram"
of = ["age", "sex"]
[[lines]]
what = "mean"
of = "age"
[[lines]]
what = "quantile"
of = "age"
[[lines]]
what = "count"
where = [["age", ">", 65]]
[[lines]]
what = "sum"
of = "age"
noise = "optimum"
[budget]
epsilon = 1
delta = 1e-6
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--session", action="store_true", help="only the memory of a page's session at 20 MB")
    parser.add_argument("--jobs", action="store_true", help="only the page's jobs, in processes of their own")
    arguments = parser.parse_args()
    rows = arguments.rows
    if arguments.jobs:
        jobs()
        return
    if arguments.session:
        session()
        return
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "people.parquet"
        columns = {
            "person": rng.integers(0, max(rows * 9 // 10, 1), rows),
            "age": rng.integers(0, 101, rows),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
        }
        parquet.write_table(pyarrow.table(columns), data)
        del columns
        for title, identifier in (("a row each", ""), ("with an identifier", 'identifier = "person"')):
            plan = Path(folder) / "plan.toml"
            plan.write_text(PLAN.format(identifier=identifier), encoding="utf-8")
            start, before = time.perf_counter(), _processors()
            command = [sys.executable, "-m", "dpcore", "plan", "run", str(plan), "--data", str(data)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            taken = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            used = _processors() - before
            print(f"{rows:,} rows, {title}: {taken:.1f} s, of processors {used:.1f} s; largest so far {peak:.0f} MB")
        session()


def _processors() -> float:
    """Seconds that ended child processes have taken of all processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SESSION = """
import resource, sys, threading
from dpcore.plan import budget, files
from dpcore.plan.release import carry_out
from dpcore.plan.source import Source
from work.reading import Reading

def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

split = budget.split(files.plan_from_toml(sys.argv[1]))
split.total, [one.noises for one in split.lines if one.ranks is None]
with Source.held(b"age,sex,person\\n1,f,2\\n" * 1, "warm") as source:
    source.look()
before = megabytes()
rows = b"".join(b"%d,%s,%d\\n" % (i % 101, b"fm"[i % 2 : i % 2 + 1], i * 9 // 10) for i in range(2_000_000))
raw = b"age,sex,person\\n" + rows[: rows.rindex(b"\\n", 0, 20_000_000) + 1]
del rows
held, most, ended = megabytes(), [0.0], threading.Event()

def watch():
    while not ended.wait(0.002):
        most[0] = max(most[0], megabytes())

watcher = threading.Thread(target=watch)
watcher.start()
for task in (lambda source, _: source.look(), lambda source, tick: carry_out(split, source, tick)):
    reading = Reading(lambda: Source.held(raw, "people.csv"), task)
    reading.wait()
    assert reading.error is None, reading.error
ended.set()
watcher.join()
size = len(raw) / 2**20
print(f"{size + max(most[0] - held, 0):.0f} MB at most, of which {size:.0f} MB are the file")
"""
"""Prints what a session holds while its table is read, besides what the process needs anyway."""


def session() -> None:
    """The page's way: a CSV file of 20 MB in memory, looked at and released."""
    for title, identifier in (("a row each", ""), ("with an identifier", 'identifier = "person"')):
        print(f"a session with 20 MB of CSV, {title}: ", end="", flush=True)
        subprocess.run([sys.executable, "-c", SESSION, PLAN.format(identifier=identifier)], check=True)


JOB = """
import resource, sys, time
from dpcore.errors import InputError
from pages.release_plan import work

kind, text = sys.argv[1:]
asked = work.Repeated(text, 52) if kind == "repeat" else work.Asked(text)
start, told = time.perf_counter(), ""
try:
    getattr(work, kind)(asked, None, progress=lambda _: False)
except InputError as error:
    told = f" ({error})"
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{kind}: {time.perf_counter() - start:.1f} s, {peak:.0f} MB at most{told}", flush=True)
"""

LARGE = (
    'what = "histogram"\nof = ["c{i}", "n{i}"]', 'what = "mean"\nof = "n{i}"\nspread = true\nnoise = "optimum"',
    'what = "quantile"\nof = "n{i}"', 'what = "sum"\nof = "n{i}"\nnoise = "gaussian"',
    'what = "count"\nwhere = [["c{i}", "=", "x"]]',
)  # fmt: skip


def large(people: str) -> str:
    """Fifty lines of every kind about fifty columns of a million people."""
    columns = "".join(
        f'[columns.n{i}]\ntype = "number"\nlow = 0\nhigh = 100000\nstep = 1\nedges = [0, 10, 1000, 100000]\n'
        f'[columns.c{i}]\ntype = "category"\nvalues = ["a category of {i} with a long name", "x", "y"]\n'
        for i in range(25)
    )
    lines = "".join(f'[[lines]]\nname = "line {k}"\n{LARGE[k % 5].format(i=k % 25)}\n' for k in range(50))
    return f"format = 1\n[people]\n{people}number = 1000000\n{columns}{lines}[budget]\nepsilon = 10\ndelta = 1e-6\n"


def wide() -> str:
    """Fifty tables of 10 000 cells."""
    values = ", ".join(f'"v{i}"' for i in range(100))
    columns = "".join(f'[columns.{name}]\ntype = "category"\nvalues = [{values}]\n' for name in "ab")
    lines = "".join(f'[[lines]]\nname = "table {k}"\nwhat = "histogram"\nof = ["a", "b"]\n' for k in range(50))
    return f"format = 1\n[people]\nnumber = 1000000\n{columns}{lines}[budget]\nepsilon = 10\ndelta = 1e-6\n"


def jobs() -> None:
    """What the page lets compute, each in a process of its own."""
    identifier = 'identifier = "id"\nrows_each = 3\n'
    plans = {"the survey": EXAMPLE, "50 lines about 50 columns": large(""), "the same, 3 rows each": large(identifier),
             "50 tables of 10 000 cells": wide()}  # fmt: skip
    for title, text in plans.items():
        print(title, flush=True)
        for kind in ("price", "repeat", "rehearse", "draw"):
            subprocess.run([sys.executable, "-c", JOB, kind, text], check=True)


if __name__ == "__main__":
    main()
