"""Random isotropic problems: no lower bound above a known law's loss, no law above its δ at any tenth of the shift.

    python -m benchmarks.check_vectors --count 1000 --seed 1 --time-limit 1

d from 1 to 300, ε from .01 to 10 and δ from 10⁻⁹ to .3 on log scales, all four losses. Time is that of the
processor. The exit status is 1 where a bound is refuted.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from fractions import Fraction

from dpcore.isotropic import audit
from dpcore.isotropic.baselines import mechanisms
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.search import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings

ROUNDING = 1e-6
"""Of the known laws' losses, in floats."""


def draw(rng: random.Random) -> IsotropicProblem:
    """A problem with few digits."""

    def spread(low: float, high: float) -> float:
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")

    dimension, privacy = max(1, int(spread(1, 300))), Privacy(spread(0.01, 10), spread(1e-9, 0.3))
    size = math.sqrt(dimension) / privacy.epsilon
    loss = rng.choice(["norm", "squared", f"power:{spread(0.5, 4)}", f"exceed:{spread(0.3 * size, size):.3g}"])
    return IsotropicProblem(dimension, privacy, parse_loss(loss), 1.0)


def refuted(problem: IsotropicProblem, limit: float) -> tuple[list[str], float]:
    """(what is wrong, the gap) of an answer."""
    found = solve(problem, SolverSettings(gap=0.01, time_limit=limit))
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


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=1.0)
    args = parser.parse_args()
    time.perf_counter = time.process_time
    rng, gaps, failures = random.Random(args.seed), [], 0
    for number in range(args.count):
        problem = draw(rng)
        name = f"d={problem.dimension} ({problem.privacy.epsilon:g}, {problem.privacy.delta:g}) {problem.loss.spec}"
        try:
            wrong, gap = refuted(problem, args.time_limit)
        except Exception as error:  # any is a finding
            wrong, gap = [f"{type(error).__name__}: {error}"], math.inf
        gaps.append(gap)
        failures += bool(wrong)
        print(number, name, f"gap {gap:.3g}", *wrong, flush=True)
    gaps.sort()
    closed = {g: sum(gap <= g for gap in gaps) for g in (0.01, 0.05, 0.2)}
    print(f"{failures} of {len(gaps)} refuted; median gap {gaps[len(gaps) // 2]:.3g}; closed to a gap: {closed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
