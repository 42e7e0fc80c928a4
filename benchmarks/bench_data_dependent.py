"""Data-dependent noise: gaps, times and memory, the reference method beside it, [SLW, Figures 3 and 5], noise
that intervals share.

    python benchmarks/bench_data_dependent.py [--quick]

Times are of the processor, one thread. Range 4, sensitivity 2, |x|, uniform weight unless said.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.data_dependent.reference import solve_reference
from dpcore.problem import SolverSettings

POINTS = [(1.0, 0.2), (0.2, 0.05), (5.0, 0.25)]


def problem_at(epsilon: float, delta: float):
    return data_dependent_problem(epsilon, delta, 2, query_range=(0, 4))


def timed(problem, settings: SolverSettings):
    """(solution, processor seconds until each entry of its trace, in all)."""
    began, marks = time.process_time(), []
    solution = solve(problem, settings, lambda record: marks.append((time.process_time() - began, record)))
    return solution, marks, time.process_time() - began


def gaps(limit: float) -> None:
    """When gaps of 2 % and 1 % were reached, and what the time limit leaves."""
    for epsilon, delta in POINTS:
        solution, marks, total = timed(problem_at(epsilon, delta), SolverSettings(gap=1e-4, time_limit=limit))
        reached = {
            goal: next((f"{t:.1f} s" for t, r in marks if r.gap <= goal), "-") for goal in (0.05, 0.02, 0.01, 0.005)
        }
        c = solution.certificate
        print(
            f"({epsilon:g}, {delta:g})  [{c.lower:.6f}, {c.upper:.6f}]  gap {100 * c.gap:.3f} % in {total:.1f} s;  "
            + ", ".join(f"{100 * goal:g} %: {when}" for goal, when in reached.items())
            + f";  clamped optimum {solution.clamped_upper:.6f}, "
            + f"unclamped {solution.independent.certificate.upper:.6f};  "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        )


def side_by_side() -> None:
    """The reference method at β = 1/4 (8 cells per sensitivity), and ours on the same grid and in the same time."""
    for epsilon, delta in POINTS:
        problem = problem_at(epsilon, delta)
        published = solve_reference(problem, 8)
        marks = timed(problem, SolverSettings(gap=1e-4, time_limit=30 if epsilon > 3 else 2))[1]
        width = published.upper - published.lower
        when, record = next(((t, r) for t, r in marks if r.upper - r.lower <= width / 10), marks[-1])
        print(
            f"({epsilon:g}, {delta:g})  reference [{published.lower:.4f}, {published.upper:.4f}] in "
            f"{published.seconds:.2f} s, {published.cuts} cuts;  ours [{record.lower:.4f}, {record.upper:.4f}] in "
            f"{when:.2f} s: {width / (record.upper - record.lower):.1f} times narrower"
        )


def figure_3(limit: float) -> None:
    """Certified data-dependent curves: the bracket against the number of cells."""
    for epsilon, delta in POINTS:
        _, marks, _ = timed(problem_at(epsilon, delta), SolverSettings(gap=2e-3, time_limit=limit))
        shown = {}
        for t, record in marks:
            shown[record.cells] = (t, record)
        for cells, (t, record) in shown.items():
            print(f"({epsilon:g}, {delta:g})  {cells:4d} cells  [{record.lower:.5f}, {record.upper:.5f}]  {t:.2f} s")


def figure_5() -> None:
    """Nine laws on [0, 18) at sensitivity 10: each with its average release and its three likeliest points."""
    for epsilon, delta in POINTS:
        problem = data_dependent_problem(epsilon, delta, 10, query_range=(0, 18), partition=range(2, 18, 2))
        solution = solve(problem, SolverSettings(gap=0.01, time_limit=20))
        c, channel = solution.certificate, solution.mechanism
        print(f"({epsilon:g}, {delta:g})  [{c.lower:.4f}, {c.upper:.4f}]  gap {100 * c.gap:.2f} %")
        for g, row in enumerate(channel.masses):
            best = np.argsort(-row)[:3]
            points = ", ".join(f"{channel.grid.points[b]:.2f}: {row[b]:.3f}" for b in best)
            print(f"   [{2 * g}, {2 * g + 2})  mean {row @ channel.grid.points:.3f}  {points}")


def noise_laws(limit: float) -> None:
    """Noise that intervals share [SLW-S, Alg. G.1]: nine intervals of [0, 18) at sensitivity 10, the supplement's 42 of
    (-432, 432) at sensitivity 2; beside one law for all."""
    ends = np.arange(-10, 10.25, 0.5)
    for problem in (
        data_dependent_problem(1, 0.2, 10, query_range=(0, 18), partition=range(2, 18, 2), shared="noise"),
        data_dependent_problem(1, 0.1, 2, query_range=(-432, 432), weight="normal:0:8", partition=ends, shared="noise"),
    ):
        solution, _, total = timed(problem, SolverSettings(gap=5e-3, time_limit=limit))
        c = solution.certificate
        print(
            f"{solution.laws} intervals  [{c.lower:.5f}, {c.upper:.5f}]  gap {100 * c.gap:.2f} % in {total:.1f} s;  "
            f"one law for all at least {solution.independent.certificate.lower:.5f};  "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 s per solve instead of 60")
    limit = 10.0 if parser.parse_args().quick else 60.0
    for title, run in (
        ("Gaps", lambda: gaps(limit)),
        ("Side by side", side_by_side),
        ("Figure 3, certified", lambda: figure_3(limit / 2)),
        ("Figure 5", figure_5),
        ("Noise that intervals share", lambda: noise_laws(limit)),
    ):
        print(f"\n{title}")
        run()


if __name__ == "__main__":
    main()
