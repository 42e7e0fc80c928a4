"""Certified gap, time, cells and memory of `solve` over a sample of the (ε, δ) plane.

    python -m benchmarks.bench_solve [--gap 0.001] [--time-limit 10] [--loss l1]

One process, one core; the peak memory is that of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys

from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem

EPSILONS = (0.005, 0.05, 0.2, 1.0, 2.0, 3.0, 5.0, 10.0)
DELTAS = (0.0, 1e-6, 0.005, 0.05, 0.2, 0.5)


def peak_megabytes() -> float:
    """Largest resident size of this process (kB on Linux, bytes on macOS)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--loss", default="l1")
    options = parser.parse_args()
    settings = SolverSettings(gap=options.gap, time_limit=options.time_limit)
    solve(noise_problem(1, 0.2, 1.0, options.loss), settings)
    head = f"{'ε':>6} {'δ':>7} | {'lower':>12} {'upper':>12} {'gap %':>8} {'s':>7} {'cells':>6} {'MB':>5}  source"
    print(f"loss {options.loss}, sensitivity 1, gap target {100 * options.gap:g} %\n\n{head}\n" + "-" * len(head))
    seconds, gaps = [], []
    for epsilon in EPSILONS:
        for delta in DELTAS:
            solution = solve(noise_problem(epsilon, delta, 1.0, options.loss), settings)
            proof = solution.certificate
            lower = "none" if proof.lower is None else f"{proof.lower:.7g}"
            gap = "none" if proof.gap is None else f"{100 * proof.gap:.4f}"
            seconds.append(solution.seconds)
            gaps.append(float("inf") if proof.gap is None else proof.gap)
            print(
                f"{epsilon:6g} {delta:7g} | {lower:>12} {proof.upper:12.7g} {gap:>8} {solution.seconds:7.3f} "
                f"{solution.cells:6d} {peak_megabytes():5.0f}  {solution.source}",
                flush=True,
            )
    reached = sum(gap <= options.gap for gap in gaps)
    print(f"\n{reached} of {len(gaps)} reach the target; median {statistics.median(seconds):.3f} s, ", end="")
    print(f"largest {max(seconds):.2f} s, peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
