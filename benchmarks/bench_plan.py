"""A release plan on a large file: seconds and peak memory of `plan run`, of a Parquet file made for it.

    python -m benchmarks.bench_plan
    python -m benchmarks.bench_plan --rows 1000000

A table, a mean, a median, a count and a sum, once with every row a person of its own, once with an identifier and one
row each. The columns are simulated: nobody's data.
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
    rows = parser.parse_args().rows
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
            start = time.perf_counter()
            command = [sys.executable, "-m", "dpcore", "plan", "run", str(plan), "--data", str(data)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            taken = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"{rows:,} rows, {title}: {taken:.1f} s; largest process so far {peak:.0f} MB")


if __name__ == "__main__":
    main()
