"""How often intervals for the population cover the truth: simulated data and releases, beside the textbook's interval.

    python -m benchmarks.bench_intervals
    python -m benchmarks.bench_intervals --releases 400

Nominal 95 %. "bounds" is the interval of a mean whose spread was not released. "unclamped" is how often the interval
covers the mean of log-normal values as they are, of which 1.1 % lie beyond the bound: nothing promises that. A slope's
interval has no end where the noise hides how much the regressor varies.
"""

from __future__ import annotations

import argparse
import time

from dpcore.plan.coverage import KINDS, coverage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=4000)
    releases = parser.parse_args().releases
    print("| statistic | data | n | ε | covers | textbook | bounds | unclamped | width, median | endless |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    start, found = time.process_time(), []
    for statistic in ("mean", "slope"):
        for kind in KINDS:
            for n in (200, 2000):
                for epsilon in (0.2, 1.0):
                    one = coverage(statistic, kind, n, epsilon, releases)
                    spread = statistic == "mean" and kind != "Bernoulli"
                    bounds = coverage(statistic, kind, n, epsilon, releases, squares=False).valid if spread else None
                    found.append(one.valid)
                    name = "proportion" if statistic == "mean" and kind == "Bernoulli" else statistic
                    numbers = one.valid, one.naive, bounds, one.unclamped if kind == "log-normal" and spread else None
                    told = " | ".join("–" if number is None else f"{100 * number:.1f} %" for number in numbers)
                    setting = f"{name} | {kind} | {n} | {epsilon:g}"
                    print(f"| {setting} | {told} | {one.width:.3g} | {100 * one.endless:.0f} % |")
    print(f"\ncoverage from {100 * min(found):.1f} to {100 * max(found):.1f} % over {releases} releases each; "
          f"{time.process_time() - start:.0f} s of processor time")  # fmt: skip


if __name__ == "__main__":
    main()
