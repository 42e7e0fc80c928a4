"""Processor seconds of every mechanism for queries with several coordinates, by dimension, from CSV text on.

python -m benchmarks.bench_vector
python -m benchmarks.bench_vector --descent    # tuned coordinate descent beside [MK, Figs. 5, 6] instead
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery
from dpcore.vector.compare import LP, MECHANISMS, MIXED, allocation, allocations
from dpcore.vector.files import profile_from_csv
from dpcore.vector.tuned import PEOPLE, simulated, tuned_descent

DIMENSIONS = (2, 20, 1000, 10_000, 100_000)


PRINTED = {"lasso": {"iid": 1.88, "optimal": 0.45}, "logistic": {"iid": 0.22, "optimal": 0.13}}
"""Relative errors in per cent after 50 passes [MK, §VI-A]."""


def descent() -> None:
    """The best of tuned settings by rule and passes, beside what is printed."""
    privacy = Privacy(1.0, 1 / PEOPLE**2)
    for model, printed in PRINTED.items():
        start = time.process_time()
        print(f"\n{model}, (ε, δ) = (1, {privacy.delta:g}), five trials")
        for one in tuned_descent(simulated(model), model, privacy):
            beside = f", printed {printed[one.rule]} %" if one.passes == 50 and one.rule in printed else ""
            print(
                f"{one.passes:3d} passes  {one.rule:8s} {100 * one.error:.3f} ± {100 * one.spread:.3f} %{beside}; "
                f"without noise {100 * one.quiet:.4f} %, step {one.step:g}, clipping {one.clip:g}"
            )
        print(
            f"{time.process_time() - start:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--descent", action="store_true", help="tuned coordinate descent")
    if parser.parse_args().descent:
        descent()
        return
    privacy, rng = Privacy(0.5, 1e-6), np.random.default_rng(0)
    closed = [key for key in MECHANISMS if key not in (LP, MIXED)]
    allocations(VectorQuery(privacy, profile_from_csv("1\n2\n3")))  # load the libraries
    print(f"(ε, δ) = ({privacy.epsilon}, {privacy.delta:g}), squared error; processor seconds\n")
    head = f"{'K':>7} {'read':>6} {'closed':>7} {'all':>7} | slowest closed form"
    print(head + "\n" + "-" * len(head))
    for dimension in DIMENSIONS:
        text = "\n".join(map(repr, rng.random(dimension).tolist()))
        start = time.process_time()
        query = VectorQuery(privacy, profile_from_csv(text))
        read = time.process_time() - start
        each = {}
        for key in closed:
            start = time.process_time()
            allocation(query, key)
            each[key] = time.process_time() - start
        start = time.process_time()
        allocations(query)
        slowest = max(each, key=each.get)
        print(
            f"{dimension:7d} {read:6.2f} {sum(each.values()):7.2f} {time.process_time() - start:7.2f} "
            f"| {slowest} {each[slowest]:.2f}"
        )


if __name__ == "__main__":
    main()
