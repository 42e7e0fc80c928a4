"""Private optimisation: large stories, the mean shift of every noise, violations.

    python benchmarks/bench_private_optimization.py [--quick]

Times are of the processor, one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dpcore.private_optimization import Planner, row_noise, simulate, stories
from dpcore.private_optimization.noises import half_width


def timed(name: str, program, draws: int) -> None:
    """One story with the tight noise: planner, draws, what was kept."""
    began = time.process_time()
    planner = Planner(program, time_limit=600)
    ready = time.process_time() - began
    run = simulate(program, row_noise(program, "tight"), draws=draws, planner=planner)
    seconds = time.process_time() - began
    gap = abs(run.optimum.objective - run.optimum.best) / abs(run.optimum.objective)
    rows, columns = program.model.matrix.shape
    print(
        f"{name:28s} {rows:4d} rows {columns:5d} columns  planner {ready:5.2f} s"
        f"  {draws} draws {seconds:6.2f} s  broken {int(run.violated.sum())}  optimum proved to {gap:.1e}"
    )


def shifts(epsilons, deltas) -> None:
    """Mean shift in units of the sensitivity: published, tight, optimal with its bracket."""
    for m in (1, 10):
        for epsilon in epsilons:
            for delta in deltas:
                program = stories.transport(3, m, epsilon=epsilon, delta=delta).program
                best = row_noise(program, "optimal")
                tight, published = (half_width(program, published=p) for p in (False, True))
                print(
                    f"m = {m:2d}  ε = {epsilon:3g}  δ = {delta:5g}  published {published:9.4f}  tight {tight:9.4f}"
                    f"  optimal [{best.shift_lower:9.4f}, {best.shift_upper:9.4f}]  saves"
                    f" {1 - best.shift_upper / tight:6.2%} of tight,"
                    f" {1 - best.shift_upper / published:6.2%} of published"
                )


def violations(draws: int) -> None:
    """Share of budgets that baselines break (advertising, δ = 10⁻⁴)."""
    for epsilon in (1e-5, 1e-4, 1e-3, 0.1, 1.0):
        program = stories.advertising(epsilon=epsilon)
        planner = Planner(program, time_limit=600)
        runs = {key: simulate(program, row_noise(program, key), draws=draws, planner=planner)
                for key in ("tight", "truncated-laplace", "laplace-shifted", "laplace")}  # fmt: skip
        shares = {key: float(np.mean(run.violated) / 10) for key, run in runs.items()}
        revenue = runs["truncated-laplace"].objectives.mean() / runs["laplace-shifted"].objectives.mean()
        print(f"ε = {epsilon:g}: revenue of published / of its baseline {revenue:.5f};", shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    timed("transport 50 × 50", stories.transport(50, 50).program, 40 if quick else 400)
    timed("advertising 200 × 10", stories.advertising(), 40 if quick else 400)
    timed("portfolio 28", stories.portfolio(), 40 if quick else 400)
    shifts((1.0,) if quick else (0.1, 0.5, 1.0, 2.0), (1e-2,) if quick else (1e-6, 1e-4, 1e-2))
    violations(20 if quick else 400)


if __name__ == "__main__":
    main()
