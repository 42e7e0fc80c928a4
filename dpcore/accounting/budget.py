"""Splitting one total (ε, δ) over several queries: how much noise each gets, by every rule of composition.

Queries keep their proportions: one with twice the weight gets twice the ε (half the noise, in units of its sensitivity)
at every use. A rule then says how large the common factor may be; a sharper rule leaves less noise for the same
promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from .._validate import above, in_range, whole
from ..errors import InputError
from ..noise import Gaussian, Laplace
from .curves import epsilon_at
from .mechanisms import Additive, Release
from .rules import NAMES, RULES
from .truth import Truth

MOST_QUERIES = 20
MOST_QUERY_USES = 10_000
EPSILON_RANGE = (0.01, 50.0)
DELTA_RANGE = (1e-12, 0.1)
FAMILIES = {"laplace": "Laplace", "gaussian": "Gaussian"}

COARSE, CLOSE = 1 << 12, 1 << 15
"""Grid points while the factor is looked for, and when it is certified."""


@dataclass(frozen=True)
class Query:
    """A query of some sensitivity, asked `uses` times with a share of the budget in proportion to `weight`."""

    name: str
    sensitivity: float = 1.0
    uses: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", above(0, 1e9, sensitivity=self.sensitivity))
        object.__setattr__(self, "uses", whole(1, MOST_QUERY_USES, uses=self.uses))
        object.__setattr__(self, "weight", in_range(1e-3, 1e3, weight=self.weight))


@dataclass(frozen=True)
class Plan:
    """A budget split by one rule.

    rule : which; "exact" is by composed privacy-loss distributions.
    factor : ε of a use per weight (Laplace), or sensitivity/σ per weight (Gaussian).
    scales : of each query's noise, b (Laplace) or σ (Gaussian), in its own unit.
    errors : E|noise| of each query, in its own unit.
    total : ε at δ that all uses together are certain to have, by composed privacy-loss distributions; rounded up.
    """

    rule: str
    factor: float
    scales: tuple[float, ...]
    errors: tuple[float, ...]
    total: float

    @property
    def name(self) -> str:
        return NAMES[self.rule]


def rules_for(family: str) -> tuple[str, ...]:
    """The rules that fit a family of noise, the exact one last."""
    return (
        ("basic", "advanced-tight", "optimal", "renyi", "exact") if family == "laplace" else ("basic", "renyi", "exact")
    )


def plans(
    queries: tuple[Query, ...], epsilon: float, delta: float, family: str, tick: Callable[[], object] | None = None
) -> tuple[Plan, ...]:
    """The split by every rule that fits the family; each total is certified to be at most ε.

    tick : called again and again while the splits are worked out; what it raises ends the work.

    Raises
    ------
    InputError : no queries or too many, an unknown family, ε or δ out of range.
    """
    epsilon, delta = in_range(*EPSILON_RANGE, epsilon=epsilon), in_range(*DELTA_RANGE, delta=delta)
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise InputError("queries", f"{len(queries)} of them", f"from 1 to {MOST_QUERIES}")
    if family not in FAMILIES:
        raise InputError("family", family, f"one of {', '.join(FAMILIES)}")
    total_of = partial(_total, delta=delta, family=family, tick=tick or (lambda: None))
    return tuple(_plan(rule, queries, epsilon, delta, family, total_of) for rule in rules_for(family))


def releases(queries: Sequence[Query], factor: float, family: str) -> tuple[Release, ...]:
    """The uses at a factor; sensitivities are 1 here, since only the ratio to the noise counts."""
    return tuple(Release(_mechanism(factor * one.weight, family), one.uses) for one in queries)


@lru_cache(maxsize=4096)
def _mechanism(ratio: float, family: str) -> Additive:
    if family == "gaussian":
        return Additive(f"gaussian:sigma={1 / ratio!r}", Gaussian(1 / ratio), 1.0)
    return Additive(f"laplace:epsilon={ratio!r}", Laplace.pure(ratio, 1.0), 1.0, (ratio, 0.0))


def _plan(
    rule: str, queries: tuple[Query, ...], epsilon: float, delta: float, family: str, total_of: Callable[..., float]
) -> Plan:
    factor = _factor(rule, queries, epsilon, delta, family, total_of)
    while (total := total_of("exact", queries, factor, points=CLOSE)) > epsilon:
        factor *= 1 - 1e-6 if total < epsilon * (1 + 1e-5) else 1 - 2e-4
    ratios = [factor * one.weight for one in queries]
    scales = tuple(one.sensitivity / ratio for one, ratio in zip(queries, ratios))
    mean = 1.0 if family == "laplace" else math.sqrt(2 / math.pi)
    return Plan(rule, factor, scales, tuple(mean * scale for scale in scales), total)


def _factor(
    rule: str, queries: tuple[Query, ...], epsilon: float, delta: float, family: str, total_of: Callable[..., float]
) -> float:
    """The largest factor at which a rule promises at most ε, to a few hundred-thousandths."""
    from scipy.optimize import brentq

    if rule == "basic" and family == "laplace":
        return epsilon / math.fsum(one.weight * one.uses for one in queries) * (1 - 1e-14)
    if rule == "exact" and family == "gaussian":
        squares = math.fsum(one.uses * one.weight**2 for one in queries)
        mu = brentq(lambda x: epsilon_at(Gaussian(math.exp(-x)), delta, sensitivity=1.0) - epsilon, -30, 5, xtol=1e-10)
        return math.exp(mu) / math.sqrt(squares) * (1 - 1e-8)
    promised: Callable[[float], float] = lambda x: total_of(rule, queries, math.exp(x), points=COARSE)  # noqa: E731
    low = math.log(epsilon / math.fsum(one.weight * one.uses for one in queries)) - 1e-9
    if family == "gaussian":
        low -= 4
    high = low
    while promised(high) < epsilon:
        low, high = high, high + 0.7
    while promised(low) > epsilon:
        low -= 0.7
    goal: Callable[[float], float] = lambda x: min(promised(x), 1e6) - epsilon  # noqa: E731
    return math.exp(brentq(goal, low, high, xtol=2e-5)) * (1 - 4e-5) if high > low else math.exp(low)


def _total(
    rule: str,
    queries: tuple[Query, ...],
    factor: float,
    *,
    delta: float,
    family: str,
    points: int,
    tick: Callable[[], object],
) -> float:
    """ε at δ of all uses by a rule, rounded up."""
    tick()
    made = releases(queries, factor, family)
    if rule == "exact":
        return Truth(made, points=points, delta=delta).epsilon_upper(delta)
    return RULES[rule][0](made, delta)[0]
