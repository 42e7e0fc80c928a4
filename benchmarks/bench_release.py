"""Processor seconds of exact releases: vectors with the certified radial law, and with Gaussian noise.

    python -m benchmarks.bench_release
    python -m benchmarks.bench_release --count 1000 --time-limit 5

Of every law 10 000 releases, of long vectors as many as make 200 000 numbers; the mean squared error, which is in the
bracket's unit, with three standard errors beside what is proved.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np

from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.release import extra_error, release
from dpcore.isotropic.search import solve
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.vector.joint import JointNoise, Normal

from .bench_solve import peak_megabytes

PROBLEMS = ((2, 1.0, 0.01), (20, 4.0, 1e-6), (100, 1.0, 1e-6))
NUMBERS = 200_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--time-limit", type=float, default=10.0)
    options = parser.parse_args()
    head = (
        f"{'d':>4} {'(ε, δ)':>12} {'law':>9} {'vectors':>8} {'seconds':>8} {'for 10 000':>10} | squared error, proved"
    )
    print(head + "\n" + "-" * len(head))
    for dimension, epsilon, delta in PROBLEMS:
        privacy = Privacy(epsilon, delta)
        problem = IsotropicProblem(dimension, privacy, parse_loss("squared"))
        found = solve(problem, SolverSettings(time_limit=options.time_limit))
        sigma = Gaussian.calibrate(privacy, 1.0).sigma
        normal = JointNoise(dimension, (Normal(np.arange(dimension), np.full(dimension, sigma)),))
        count = min(options.count, NUMBERS // dimension)
        zeros = [Fraction(0)] * dimension
        for name, draw, proved in (
            ("radial", lambda: np.array(release(found.noise, zeros), dtype=float), found.upper),  # noqa: B023
            ("Gaussian", lambda: normal.release(np.zeros(dimension)), dimension * sigma**2),  # noqa: B023
        ):
            start = time.process_time()
            squares = np.array([float((draw() ** 2).sum()) for _ in range(count)])
            taken = time.process_time() - start
            print(
                f"{dimension:4d} {f'({epsilon:g}, {delta:g})':>12} {name:>9} {count:8d} {taken:8.2f} "
                f"{taken / count * 1e4:10.2f} | {squares.mean():.4g} "
                f"± {3 * squares.std() / count**0.5:.2g}, {proved:.4g}"
            )
        print(f"{'':4} rounding adds at most {extra_error(found.noise):.2g} to the root of it")
    print(f"peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
