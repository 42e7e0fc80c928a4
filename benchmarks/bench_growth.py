"""How time, program size and memory grow with 1/gap: log-log slopes.

python -m benchmarks.bench_growth [--loss l1] [--time-limit 20]
"""

from __future__ import annotations

import argparse
import tracemalloc

import numpy as np

from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem

GAPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
PAIRS = ((1.0, 0.2), (0.2, 0.05), (2.0, 0.01), (5.0, 0.25))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loss", default="l1")
    parser.add_argument("--time-limit", type=float, default=20.0)
    options = parser.parse_args()
    print(f"{'(ε, δ)':>14} | " + " ".join(f"{gap:>22g}" for gap in GAPS) + " | slopes of s, pairs, Python MB")
    for epsilon, delta in PAIRS:
        problem = noise_problem(epsilon, delta, 1.0, options.loss)
        rows, cells = [], []
        for gap in GAPS:
            solution = solve(problem, SolverSettings(gap=gap, time_limit=options.time_limit))
            tracemalloc.start()
            solve(problem, SolverSettings(gap=gap, time_limit=options.time_limit))
            megabytes = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            pairs, reached = solution.trace[-1].pairs, solution.certificate.gap
            rows.append((max(reached, 1e-9), solution.seconds, pairs, megabytes))
            cells.append(f"{solution.seconds:7.3f} s {pairs:7d}{'' if reached <= gap else ' *':5}")
        reached, *growth = (np.log(column) for column in np.array(rows).T)
        slopes = [float(np.polyfit(-reached, column, 1)[0]) for column in growth]
        print(f"({epsilon:g}, {delta:g})".rjust(14), "|", " ".join(f"{c:>22}" for c in cells), "|",
              "  ".join(f"{s:5.2f}" for s in slopes), flush=True)  # fmt: skip
    print("* the target was not reached in the time limit; slopes are taken against the gap that was")


if __name__ == "__main__":
    main()
