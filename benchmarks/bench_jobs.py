"""Waiting for first bounds, without a browser: `python -m benchmarks.bench_jobs`.

Twenty sessions ask for another (ε, δ), at random, every few seconds, at a gap that takes longer than the pause, so that
refinements are always under way. For every question the time is taken until its first bracket and until it was shown
or withdrawn. Nothing comes from a cache.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time

from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from work.job import Job
from work.question import Question
from work.session import Session
from work.workers import Workers

LOSSES = ("l1", "l1", "l1", "l2", "pinball:0.8", "lp:1.5", "huber:1")


def live(session: Session, rng: random.Random, until: float, pause: float, seen: list[Job]) -> None:
    """One session: ask, wait, ask something else, leave."""
    time.sleep(rng.uniform(0, pause))
    while time.monotonic() < until:
        epsilon, delta = round(rng.uniform(0.1, 3), 3), float(f"{10 ** rng.uniform(-6, -0.7):.3g}")
        problem = noise_problem(epsilon, delta, 1, rng.choice(LOSSES))
        seen.append(session.ask("picture", Question(solve, problem, SolverSettings(gap=1e-4, time_limit=10))))
        time.sleep(rng.uniform(0.5, 1.5) * pause)
    session.close()


def main() -> None:
    """Print the waits."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=4, help="seconds between two questions of a session, on average")
    options = parser.parse_args()
    solve(noise_problem(1, 0.2), SolverSettings(gap=0.02))  # compiles
    threads, workers, seen = threading.active_count(), Workers(2), []
    busy, until = time.process_time(), time.monotonic() + options.seconds
    visitors = [
        threading.Thread(target=live, args=(Session(workers), random.Random(n), until, options.pause, seen))
        for n in range(options.sessions)
    ]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    workers.rest()
    busy = time.process_time() - busy
    waits = sorted(job.met - job.asked for job in seen if job.met is not None)
    turns = sorted(job.began - job.asked for job in seen if job.began is not None)
    late = int(0.95 * (len(waits) - 1))
    print(f"{len(seen)} questions of {options.sessions} sessions; {busy:.0f} s of processor time")
    print(f"first turn      median {1000 * statistics.median(turns):6.0f} ms   95 % {1000 * turns[late]:6.0f} ms")
    print(f"first bracket   median {1000 * statistics.median(waits):6.0f} ms   95 % {1000 * waits[late]:6.0f} ms")
    print(f"never           {len(seen) - len(waits)} questions; {threading.active_count() - threads} threads left")


if __name__ == "__main__":
    main()
