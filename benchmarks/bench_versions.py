"""Processor seconds of `bench_solve`'s problems in two versions of the tree, turn by turn.

    git worktree add ../before COMMIT
    python -m benchmarks.bench_versions ../before [--rounds 3] [--gap 0.001] [--time-limit 10] [--loss l1]

A process per version, only one of which computes at a time; each problem goes to both before the next one, in changing
order, so that what else the machine does weighs on both alike. Of several rounds the fastest one counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.bench_solve import DELTAS, EPSILONS

ANSWERS = """
import json, sys, time
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
time.perf_counter = time.process_time  # the clock of every time limit
gap, limit, loss = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
solve(noise_problem(1, 0.2, 1.0, loss), SolverSettings(gap=0.1))  # what is loaded or compiled once
for line in sys.stdin:
    problem = noise_problem(*json.loads(line), 1.0, loss)
    began = time.process_time()
    proof = solve(problem, SolverSettings(gap=gap, time_limit=limit)).certificate
    print(json.dumps([time.process_time() - began, proof.lower, proof.upper]), flush=True)
"""
"""What a version is asked: a line with ε and δ, answered by seconds, lower and upper bound."""


class Version:
    """A tree that solves one problem after the other."""

    def __init__(self, tree: Path, options: argparse.Namespace) -> None:
        numbers = [str(options.gap), str(options.time_limit), options.loss]
        command = [sys.executable, "-c", ANSWERS, *numbers]
        self._process = subprocess.Popen(command, cwd=tree, stdin=-1, stdout=-1, text=True)

    def ask(self, epsilon: float, delta: float) -> tuple[float, float | None, float]:
        """Processor seconds, lower and upper bound."""
        said, heard = self._process.stdin, self._process.stdout
        print(json.dumps([epsilon, delta]), file=said, flush=True)
        seconds, lower, upper = json.loads(heard.readline())
        return seconds, lower, upper


def reaches(lower: float | None, upper: float, gap: float) -> bool:
    return lower is not None and upper - lower <= gap * lower


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the tree of the other version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--loss", default="l1")
    options = parser.parse_args()
    versions = [Version(options.before, options), Version(Path(__file__).parents[1], options)]
    problems = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
    seconds = [[float("inf")] * len(problems) for _ in versions]
    reached, wider = [0, 0], 0
    for turn in range(options.rounds):
        for place, problem in enumerate(problems):
            brackets = {}
            for which in (0, 1) if (turn + place) % 2 else (1, 0):
                took, *brackets[which] = versions[which].ask(*problem)
                seconds[which][place] = min(seconds[which][place], took)
                reached[which] += turn == 0 and reaches(*brackets[which], options.gap)
            wider += turn == 0 and not reaches(*brackets[1], options.gap) and reaches(*brackets[0], options.gap)
        print(f"round {turn + 1}: ", end="")
        for name, of in (("median", statistics.median), ("largest", max), ("sum", sum)):
            old, new = map(of, seconds)
            print(f"{name} {old:.3f} → {new:.3f} s ({new / old:.3f} times)", end="; " if name != "sum" else "\n")
        sys.stdout.flush()
    ratios = sorted(new / old for old, new in zip(*seconds, strict=True))
    print(f"reach the target: {reached[0]} → {reached[1]} of {len(problems)}; {wider} no longer")
    print(f"one problem: median {statistics.median(ratios):.3f} times, largest {ratios[-1]:.3f} times")


if __name__ == "__main__":
    main()
