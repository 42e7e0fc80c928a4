"""Private learning: the published setting beside what is printed, the curve over total ε, fits a second and memory.

python -m benchmarks.bench_learning [--paper] [--descent] [--splits N --draws M]

Without an option the curve of three sets, as the page computes it, in two processes.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor

from dpcore.learning.experiment import Asked, Protocol, closed, one_sided, simulate
from dpcore.learning.naive_bayes import RECIPES
from dpcore.learning.noises import DATA_DEPENDENT, SHORT
from dpcore.learning.published import PRINTED
from dpcore.learning.tables import BUNDLED, load
from dpcore.privacy import Privacy
from pages.private_learning.work import Curve, cells

from .bench_solve import peak_megabytes


def paper(model: str, names: list[str], protocol: Protocol, recipe: str = "published") -> None:
    """(1, .1) for every statistic, in per cent."""
    asked = Asked(model, Privacy(1.0, 0.1), "each", recipe)
    for name in names:
        table, found = load(name), {}
        print(f"\n{name}: {model}, {RECIPES[recipe]}, {protocol.splits} splits × {protocol.draws} draws")
        print(f"{'':5s} {'in':>7s} {'printed':>8s} {'out':>7s} {'printed':>8s} {'fits a second':>14s}")
        for key in ("none", *SHORT, *([DATA_DEPENDENT] if (model, recipe) == ("naive-bayes", "published") else [])):
            began = time.process_time()
            found[key] = one = simulate(table, asked, key, protocol)
            speed = len(one.inside) * (1 if key == "none" else protocol.draws) / (time.process_time() - began)
            row = [v for pair in zip(one.means, PRINTED[model][name][key]) for v in pair]
            shown = f"{100 * row[0]:7.2f} {row[1]:8.2f} {100 * row[2]:7.2f} {row[3]:8.2f}"
            print(f"{SHORT.get(key, key)[:5]:5s} {shown} {speed:14.0f}", flush=True)
        best, rival = found["optimal"], found["truncated-laplace"]
        shares = closed(best, rival, found["none"])
        tests = one_sided(best.inside, rival.inside), one_sided(best.outside, rival.outside)
        told = ", ".join(f"{100 * s:.1f} % (t = {t:.1f}, p = {p:.1e})" for s, (t, p) in zip(shares, tests))
        print(f"OPT closes of TLN's distance from no noise, in and out: {told}")


def curve(name: str) -> tuple[str, int, float, float]:
    """(set, cells, processor seconds, peak memory in MB) of a curve."""
    began = time.process_time()
    found = cells(Curve(name, "naive-bayes", 1e-5, 20, 100), lambda _: False)
    return name, len(found), time.process_time() - began, peak_megabytes()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--descent", action="store_true")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    protocol = Protocol(arguments.splits, arguments.draws)
    if arguments.paper:
        for recipe in ("published", "program"):
            paper("naive-bayes", list(BUNDLED), protocol, recipe)
    if arguments.descent:
        paper("coordinate-descent", ["ecoli"], protocol)
    if not (arguments.paper or arguments.descent):
        began = time.perf_counter()
        with ProcessPoolExecutor(2) as pool:
            for name, count, seconds, memory in pool.map(curve, BUNDLED):
                print(
                    f"{name:15s} {count} cells of 20 × 100: {seconds:.1f} s of processor, {memory:.0f} MB", flush=True
                )
        print(f"all three in {time.perf_counter() - began:.1f} s on two processes")
    print(f"peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
