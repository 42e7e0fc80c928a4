"""Random isotropic problems: no lower bound above a known law's loss, no law above its δ at any tenth of the shift.

    python -m benchmarks.check_vectors --count 1000 --seed 1
    python -m benchmarks.check_vectors --count 1000 --seed 1 --results FILE    # goes on where FILE ends

d from 1 to 200, one in fifty 1000, ε from .01 to 10 and δ from 10⁻⁹ to .3 on log scales, all four losses. A search
ends at --gap or --time-limit, in seconds of the processor, and has a first bracket in any case. The exit status is 1
where a bound is refuted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcore.isotropic import audit
from dpcore.isotropic.baselines import mechanisms
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.search import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.solution import Progress

ROUNDING = 1e-6
"""Relative error of the known laws' losses, which are floats."""

MOST, LARGE, ONE_IN = 200, 1000, 50
"""Dimensions: the largest of the usual ones, and the one of one problem in fifty."""

PATIENCE = 1.5
"""Seconds after which a search ends without a first bracket."""


def draw(seed: int, number: int) -> IsotropicProblem:
    """A problem with few digits."""
    rng = random.Random(f"{seed} {number}")

    def spread(low: float, high: float) -> float:
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")

    dimension, privacy = max(1, int(spread(1, MOST + 0.5))), Privacy(spread(0.01, 10), spread(1e-9, 0.3))
    if rng.randrange(ONE_IN) == 0:
        dimension = LARGE
    size = math.sqrt(dimension) / privacy.epsilon
    loss = rng.choice(["norm", "squared", f"power:{spread(0.5, 4)}", f"exceed:{spread(0.3 * size, size):.3g}"])
    return IsotropicProblem(dimension, privacy, parse_loss(loss), 1.0)


def refuted(problem: IsotropicProblem, gap: float, limit: float) -> tuple[list[str], float]:
    """(what is wrong, the gap) of an answer."""
    bracketed: list[Progress] = []

    def enough(record: Progress) -> bool:
        bracketed.extend([record] if record.lower > 0 else [])
        return record.seconds >= limit and bool(bracketed)

    found = solve(problem, SolverSettings(gap=gap, time_limit=PATIENCE), enough)
    wrong = []
    if not found.lower <= found.upper:
        wrong.append(f"lower {found.lower} above upper {found.upper}")
    for known in mechanisms(problem.dimension, problem.privacy, problem.loss, certify=False):
        if found.lower > known.loss * (1 + ROUNDING):
            wrong.append(f"lower {found.lower} above {known.key} {known.loss}")
    for tenth in range(1, 11):
        delta = audit.delta_upper(found.noise, problem.privacy.epsilon, float(Fraction(tenth, 10)))
        if delta > problem.privacy.delta:
            wrong.append(f"δ {delta} at shift {tenth}/10")
    return wrong, found.gap


def checked(seed: int, number: int, gap: float, limit: float) -> dict[str, Any]:
    """What came of one problem, in JSON types; a gap of none: nothing but 0 is known from below."""
    problem, began = draw(seed, number), time.process_time()
    name = f"d={problem.dimension} ({problem.privacy.epsilon:g}, {problem.privacy.delta:g}) {problem.loss.spec}"
    reached = math.inf
    try:
        wrong, reached = refuted(problem, gap, limit)
    except Exception as error:  # any is a finding
        wrong = [f"{type(error).__name__}: {error}"]
    seconds = round(time.process_time() - began, 2)
    return {
        "seed": seed, "number": number, "problem": name, "gap": reached if reached < math.inf else None,
        "seconds": seconds, "wrong": wrong,
    }  # fmt: skip


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gap", type=float, default=0.05)
    parser.add_argument("--time-limit", type=float, default=0.6)
    parser.add_argument("--results", type=Path, help="file of JSON lines; problems in it are not checked again")
    args = parser.parse_args()
    time.perf_counter = time.process_time
    lines = args.results.read_text().splitlines() if args.results and args.results.exists() else []
    known = {line["number"]: line for line in map(json.loads, lines) if line["seed"] == args.seed}
    for number in range(args.count):
        if number in known:
            continue
        known[number] = checked(args.seed, number, args.gap, args.time_limit)
        line = json.dumps(known[number], ensure_ascii=False)
        print(line, flush=True)
        if args.results:
            with args.results.open("a") as file:
                file.write(line + os.linesep)
    found = [known[number] for number in range(args.count)]
    failures = [line for line in found if line["wrong"]]
    gaps = sorted(math.inf if line["gap"] is None else line["gap"] for line in found)
    closed = {g: sum(gap <= g for gap in gaps) for g in (0.01, 0.05, 0.2, 1e9)}
    print(f"{len(failures)} of {len(gaps)} refuted; median gap {gaps[len(gaps) // 2]:.3g}; closed to a gap: {closed}")
    print(*(f"{line['number']} {line['problem']}: {line['wrong']}" for line in failures), sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
