"""Certified gap, time, size and memory of `solve` over the (ε, δ) plane, one pair at a time and as sweeps.

    python -m benchmarks.bench_solve [--gap 0.001] [--time-limit 10] [--loss l1]
    python -m benchmarks.bench_solve --gap 1e-4 --every 4 --processor

One process, one core; the peak memory is that of the process so far. With `--processor` its own seconds count, for
limits too, so that what else the machine does hardly matters; `--every` looks at a part of the pairs, without sweeps.
"""

from __future__ import annotations

import argparse
import itertools
import math
import resource
import statistics
import sys
import time

from dpcore.optimal import solve, solve_many
from dpcore.problem import SolverSettings, noise_problem

EPSILONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (1e-6, 1e-4, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75)


def peak_megabytes() -> float:
    """Largest resident size of this process (kB on Linux, bytes on macOS)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--loss", default="l1")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth pair")
    parser.add_argument("--processor", action="store_true", help="seconds of the processor")
    options = parser.parse_args()
    if options.processor:
        time.perf_counter = time.process_time  # the clock of every time limit
    settings = SolverSettings(gap=options.gap, time_limit=options.time_limit)
    solve(noise_problem(1, 0.2, 1.0, options.loss), settings)
    head = f"{'ε':>6} {'δ':>7} | {'lower':>12} {'upper':>12} {'gap %':>8} {'s':>7} {'cells':>6} {'pairs':>6} {'MB':>5}"
    head += "  source"
    print(f"loss {options.loss}, sensitivity 1, gap target {100 * options.gap:g} %\n\n{head}\n" + "-" * len(head))
    seconds, gaps = [], []
    for epsilon, delta in list(itertools.product(EPSILONS, DELTAS))[:: options.every]:
        solution = solve(noise_problem(epsilon, delta, 1.0, options.loss), settings)
        proof = solution.certificate
        lower = "none" if proof.lower is None else f"{proof.lower:.7g}"
        gap = "none" if proof.gap is None else f"{100 * proof.gap:.4f}"
        seconds.append(solution.seconds)
        gaps.append(float("inf") if proof.gap is None else proof.gap)
        print(
            f"{epsilon:6g} {delta:7g} | {lower:>12} {proof.upper:12.7g} {gap:>8} {solution.seconds:7.3f} "
            f"{solution.cells:6d} {solution.trace[-1].pairs:6d} {peak_megabytes():5.0f}  {solution.source}",
            flush=True,
        )
    reached = sum(gap <= options.gap for gap in gaps)
    seconds.sort()
    print(
        f"\n{reached} of {len(gaps)} reach the target; median {statistics.median(seconds):.3f} s, 90 % within ", end=""
    )
    print(f"{seconds[math.ceil(0.9 * len(seconds)) - 1]:.2f} s, largest {seconds[-1]:.2f} s; ", end="")
    print(f"peak memory {peak_megabytes():.0f} MB")
    if options.every == 1:
        sweeps(options.loss, settings, sum(seconds))


def sweeps(loss: str, settings: SolverSettings, alone: float) -> None:
    """The same pairs as one sweep over δ per ε, each search starting from its neighbour."""
    began = time.perf_counter()
    for epsilon in EPSILONS:
        for _ in solve_many([noise_problem(epsilon, delta, 1.0, loss) for delta in DELTAS], settings):
            pass
    together = time.perf_counter() - began
    print(f"as sweeps over δ: {together:.1f} s instead of {alone:.1f} s, {alone / together:.1f} times faster")


if __name__ == "__main__":
    main()
