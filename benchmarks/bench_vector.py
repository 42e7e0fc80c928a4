"""Processor seconds of every mechanism for queries with several coordinates, by dimension, from CSV text on.

python -m benchmarks.bench_vector
"""

from __future__ import annotations

import time

import numpy as np

from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery
from dpcore.vector.compare import LP, MECHANISMS, MIXED, allocation, allocations
from dpcore.vector.files import profile_from_csv

DIMENSIONS = (2, 20, 1000, 10_000, 100_000)


def main() -> None:
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
