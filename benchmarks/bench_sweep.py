"""Throughput of sweeps: cold one by one, warm-started, with 1 and 2 processes, from the store.

    python -m benchmarks.bench_sweep [--gap 0.001] [--workers 2]

The 100 combinations of Table 1 of Selvi, Liu and Wiesemann (|x|, sensitivity 1). CPU seconds count this process and the
processes it has waited for; on a machine that is busy with other things only they can be compared.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable

from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from dpcore.store import Store
from dpcore.sweeps import Outcome, grid, sweep

EPSILONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DELTAS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75)


def cpu_seconds() -> float:
    """Processor seconds of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    settings = SolverSettings(gap=options.gap, time_limit=60)
    problems, _ = grid(noise_problem(1, 0.2), EPSILONS, DELTAS)
    solve(problems[77], settings)  # compiled, loaded
    print(f"{len(problems)} problems, gap {options.gap:g}\n")
    print(f"{'':>28} {'wall s':>8} {'CPU s':>8} {'problems/s':>11} {'first s':>8} {'largest gap':>12}")

    def told(name: str, run: Callable[[], list[Outcome]]) -> list[Outcome]:
        wall, cpu = time.perf_counter(), cpu_seconds()
        first: list[float] = []
        found = run(lambda: first.append(time.perf_counter() - wall))
        shut_down()
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        gap = max(outcome.certificate.gap for outcome in found)
        print(f"{name:>28} {wall:8.2f} {cpu:8.2f} {len(found) / wall:11.1f} {first[0]:8.2f} {gap:12.2e}", flush=True)
        return found

    def swept(**how) -> Callable[[], list[Outcome]]:
        def run(note) -> list[Outcome]:
            found = {}
            for one in sweep(problems, settings, **how):
                note()
                found[one.index] = one.outcome
            return [found[i] for i in range(len(problems))]

        return run

    def alone(note) -> list[Outcome]:
        found = []
        for problem in problems:
            solution = solve(problem, settings)
            note()
            found.append(Outcome(problem, solution.certificate, solution.source, (), 0, solution.seconds))
        return found

    told("cold, one by one", alone)
    one = told("warm-started, 1 process", swept())
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        many = told(f"warm-started, {options.workers} processes", swept(workers=options.workers, store=store))
        kept = told("from the store", swept(store=store))
    assert one == many == kept, "the same bits"
    print("\nall outcomes equal, bit by bit")


def shut_down() -> None:
    """End the pool, so that its CPU time is counted."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


if __name__ == "__main__":
    main()
