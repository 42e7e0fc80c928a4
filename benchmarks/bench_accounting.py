"""Seconds of the processor behind the page "Composition": `python -m benchmarks.bench_accounting`.

The chart of every rule for k = 1 … 1000 (limit 2 s), a budget split by every rule, private training and its inverse;
nothing is remembered from one row to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dpcore.accounting import budget, rules
from dpcore.accounting.dpsgd import Training, noise_for
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.subsampling import Sampling
from pages.composition.topics.growth import COUNTS, QUICK

LIMIT = 2.0
CHARTS = (
    "laplace:epsilon=1",
    "laplace:epsilon=0.1",
    "gaussian:sigma=10",
    "staircase:epsilon=3",
    "truncated-laplace:epsilon=1,delta=1e-9",
    "approximate:epsilon=0.3,delta=1e-9",
)


def seconds(act: Callable[[], object]) -> float:
    """Seconds of the processor that an act takes."""
    start = time.process_time()
    act()
    return time.process_time() - start


def tell(name: str, act: Callable[[], object], limit: float = LIMIT) -> None:
    """Print one row: the seconds of an act beside its limit."""
    took = seconds(act)
    print(f"{name:<62} {took:6.2f} s {'' if took <= limit else 'ABOVE THE LIMIT'}")


def main() -> None:
    rules.totals([Release(parse_mechanism("pure:epsilon=1"))], delta=1e-5)  # libraries are imported
    chart = lambda release: rules.by_count(release, COUNTS, 1e-5, points=QUICK)  # noqa: E731
    for spec in CHARTS:
        tell(f"chart k = 1 … 1000, {spec}", lambda spec=spec: chart(Release(parse_mechanism(spec))))
    sampled = Release(parse_mechanism("laplace:epsilon=1"), 1, Sampling("poisson", 0.1))
    tell("chart k = 1 … 1000, on samples of 10 %, both directions", lambda: chart(sampled))
    asked = tuple(budget.Query(str(i), 1.0, 10 * i, 1.0 + i) for i in range(1, 5))
    for family in budget.FAMILIES:
        tell(f"budget of four queries, {family}", lambda f=family: budget.plans(asked, 1.0, 1e-6, f))
    rate, steps = 256 / 60_000, 14_063
    tell("training, 14063 steps at 256 of 60000", lambda: Training(rate, 1.1, steps).epsilon(1e-5))
    tell("noise for ε = 2, the same", lambda: noise_for(2.0, 1e-5, rate=rate, steps=steps))


if __name__ == "__main__":
    main()
