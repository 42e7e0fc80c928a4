"""How close the first bracket is, before any linear program, and how soon: random (ε, δ) over the whole plane.

    python -m benchmarks.bench_atlas [--points 1000] [--seed 1]

Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

from dpcore.optimal import first_bracket
from dpcore.optimal.atlas import FILE, atlas
from dpcore.optimal.atlas_make import LOSSES
from dpcore.problem import noise_problem

EPSILONS, DELTAS = (0.005, 12.0), (1e-9, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.process_time()
    atlas()
    print(f"{FILE}: {atlas().entries} entries, read in {1e3 * (time.process_time() - began):.0f} ms")
    for loss, granularity in itertools.product(LOSSES.values(), (None, 1.0)):
        rng = np.random.default_rng(options.seed)
        logs = (rng.uniform(*np.log(ends), options.points) for ends in (EPSILONS, DELTAS))
        found = []
        first_bracket(noise_problem(1.0, 0.01, 1.0, loss, granularity=granularity))
        for epsilon, delta in zip(*(np.exp(one) for one in logs)):
            problem = noise_problem(float(f"{epsilon:.6g}"), float(f"{delta:.6g}"), 1.0, loss, granularity=granularity)
            began = time.process_time()
            solution = first_bracket(problem)
            seconds = time.process_time() - began
            proof = None if solution is None else solution.certificate
            width = proof.upper / proof.lower - 1 if proof and proof.lower else np.inf
            found.append((width, problem.privacy.epsilon, problem.privacy.delta, seconds))
        widths, _, _, seconds = np.array(found).T
        shares = "   ".join(f"{q} % within {100 * np.quantile(widths, q / 100):.2g} %" for q in (50, 75, 90, 99))
        width, epsilon, delta, _ = max(found)
        kind = ", counts" if granularity else ""
        print(f"\n{loss}{kind}: {options.points} points, ε {EPSILONS}, δ {DELTAS}\n  width: {shares}")
        print(f"  worst {100 * width:.2g} % at ε = {epsilon:g}, δ = {delta:g}")
        print("  worst five: " + ", ".join(f"{100 * w:.2g} % at ({e:g}, {d:g})" for w, e, d, _ in sorted(found)[-5:]))
        print(f"  time: median {1e3 * np.median(seconds):.0f} ms, largest {1e3 * seconds.max():.0f} ms", flush=True)


if __name__ == "__main__":
    main()
