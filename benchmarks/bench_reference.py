"""This project's bounds against the reference method of Selvi, Liu and Wiesemann, on the same grids, in one run.

    python -m benchmarks.bench_reference [--time-limit 60] [--quick]

At k cells per sensitivity the reference method solves P(π, β) and D(π, β), β = sensitivity/k, by cutting planes
[SLW, Alg. 1]. Ours takes node values and cell means on lattices of k per sensitivity, coarse ones (1, 2, 4, …)
included in its time. Both brackets are audited by the same code. The first program is run twice, so that no
compilation is counted. Last, `solve` is asked for no more than the gap that the reference method certified on the
finest grid it finished.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

from dpcore.optimal import solve
from dpcore.optimal.lower import lower_step
from dpcore.optimal.step import Limits, Window
from dpcore.optimal.upper import upper_step
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.reference import solve_reference

CASES = [((1.0, 0.2), (4, 8, 16, 32)), ((0.2, 0.05), (2, 4, 8, 12)), ((5.0, 0.25), (8, 16, 32))]
QUICK = [((1.0, 0.2), (4, 8)), ((0.2, 0.05), (2, 4)), ((5.0, 0.25), (8,))]


def ours(problem: NoiseProblem, k: int, time_limit: float) -> tuple[float, float, float]:
    """(lower, upper, seconds) of the lattices 1, 2, 4, … up to k."""
    began = time.perf_counter()
    reach, deadline = problem.privacy.truncation() + 1.5, began + time_limit
    lower, upper = 0.0, math.inf
    seeds, windows = dict.fromkeys(("lower", 0, 1)), dict.fromkeys(("lower", 0, 1), Window(-reach, reach))
    for size in [size for size in (1 << e for e in range(10)) if size < k] + [k]:
        limits = Limits(1.0 if math.isinf(upper) else upper, 1e-4, deadline, lambda: False)
        step = lower_step(problem, size, windows["lower"], seeds["lower"], limits)
        lower, seeds["lower"], windows["lower"] = max(lower, step.bound), step.seed, step.window
        for edge in (0, 1):
            step = upper_step(problem, size, edge, windows[edge], seeds[edge], limits)
            upper, seeds[edge], windows[edge] = min(upper, step.bound), step.seed, step.window
    return lower, upper, time.perf_counter() - began


def theirs(problem: NoiseProblem, k: int, time_limit: float) -> tuple[float, float, float]:
    """(lower, upper, seconds) of the reference method at k cells per sensitivity."""
    settings = SolverSettings(gap=1e-6, time_limit=time_limit, method="reference", cells_per_sensitivity=k)
    solution = solve_reference(problem, settings)
    return solution.certificate.lower or 0.0, solution.certificate.upper, solution.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per bracket")
    parser.add_argument("--quick", action="store_true", help="coarse grids only")
    options = parser.parse_args()
    ours(noise_problem(1, 0.2), 2, 10)
    theirs(noise_problem(1, 0.2), 2, 10)
    print("loss |x|, sensitivity 1; gap = (upper − lower)/lower; a reference time at the limit is cut off there\n")
    head = f"{'ε':>5} {'δ':>5} {'k':>3} | {'our lower':>10} {'our upper':>10} {'gap %':>8} {'s':>7} | "
    head += f"{'ref lower':>10} {'ref upper':>10} {'gap %':>8} {'s':>7} | {'gap ratio':>9} {'time ratio':>10}"
    print(head + "\n" + "-" * len(head))
    gaps, times, finished = [], [], {}
    for (epsilon, delta), grids in QUICK if options.quick else CASES:
        for k in grids:
            problem = noise_problem(epsilon, delta)
            one, two = ours(problem, k, options.time_limit), theirs(problem, k, options.time_limit)
            assert one[0] <= two[1] and two[0] <= one[1], "the two brackets do not meet: one of them is wrong"
            gap = [(upper - lower) / lower if lower > 0 else math.inf for lower, upper, _ in (one, two)]
            gaps.append(gap[1] / gap[0])
            times.append(two[2] / one[2])
            if two[2] < options.time_limit and math.isfinite(gap[1]):
                finished[epsilon, delta] = (k, gap[1], two[2])
            print(
                f"{epsilon:5g} {delta:5g} {k:3d} | {one[0]:10.6f} {one[1]:10.6f} {100 * gap[0]:8.3f} {one[2]:7.3f} | "
                f"{two[0]:10.6f} {two[1]:10.6f} {100 * gap[1]:8.3f} {two[2]:7.2f} | {gaps[-1]:9.1f} {times[-1]:10.1f}",
                flush=True,
            )
    print(f"\nmedian: reference gap / our gap {statistics.median(gaps):.1f}, ", end="")
    print(f"reference time / our time {statistics.median(times):.1f}")
    print("\nat the gap of the reference method's finest grid that ended in time:")
    for (epsilon, delta), (k, gap, seconds) in finished.items():
        equal_gap(noise_problem(epsilon, delta), k, gap, seconds)


def equal_gap(problem: NoiseProblem, k: int, gap: float, seconds: float) -> None:
    """Print how long `solve` takes to certify the same gap (median of five)."""
    solutions = [solve(problem, SolverSettings(gap=gap, time_limit=60)) for _ in range(5)]
    mine = statistics.median(solution.seconds for solution in solutions)
    bounds, name = solutions[0].certificate, f"({problem.privacy.epsilon:g}, {problem.privacy.delta:g})"
    print(
        f"{name:>10}  reference k = {k:2d}: gap {100 * gap:6.3f} % in {seconds:6.2f} s | "
        f"solve: gap {100 * bounds.gap:6.3f} % in {mine:.4f} s | {seconds / mine:7.0f} times faster"
    )


if __name__ == "__main__":
    main()
