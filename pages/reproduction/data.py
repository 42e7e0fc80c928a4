"""What the paper prints, and the same quantities from a certified bracket. Pure.

The paper's figures rest on O, the midpoint of its own bounds, and are divided by max(1, O):

    upper suboptimality (B_UB − O)/max(1, O),  lower one (O − B_LB)/max(1, O),  their sum (B_UB − B_LB)/max(1, O)

with B_UB the loss of truncated Laplace noise and B_LB the lower bound of the literature [SLW, §5.1 and e-companion D].
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from dpcore.literature import even_lower
from dpcore.noise import TruncatedLaplace
from dpcore.sweeps import Outcome
from pages.shared.prose import ASSETS

STATED = {"l1": 0.01, "l2": 0.05}
"""Relative gap, normalised by max(1, O), that the published midpoints may have."""

HALF = 0.5
"""From this δ on the published lower bound is 0 and truncated Laplace noise is not defined in the paper."""

PRINTED = 5e-5
"""Half of the last printed digit, of a share."""


@dataclass(frozen=True)
class Table:
    """A published table: percentages by ε (rows) and δ (columns)."""

    key: str
    title: str
    where: str
    loss: str
    measures: str
    percent: tuple[tuple[float, ...], ...]


@cache
def published() -> dict:
    """The data file."""
    return json.loads((ASSETS / "selvi_liu_wiesemann.json").read_text(encoding="utf-8"))


@cache
def tables() -> dict[str, Table]:
    """The published tables by their keys."""
    return {
        key: Table(key, one["title"], one["where"], one["loss"], one["measures"], tuple(map(tuple, one["percent"])))
        for key, one in published()["tables"].items()
    }


def share(key: str, epsilon: float, delta: float) -> float:
    """A published figure as a share."""
    data = published()
    return tables()[key].percent[data["epsilons"].index(epsilon)][data["deltas"].index(delta)] / 100


def benchmark(outcome: Outcome) -> tuple[float, float]:
    """(B_UB, B_LB): the exact loss of truncated Laplace noise and the literature's lower bound in a rigorous form."""
    problem = outcome.problem
    noise = TruncatedLaplace.calibrate(problem.privacy, problem.sensitivity)
    return noise.expected_loss(problem.loss), even_lower(problem.privacy, problem.sensitivity, problem.loss)


def midpoint(outcome: Outcome) -> float:
    """The published O: from the upper suboptimality and the exact B_UB; for δ ≥ ½, where B_LB = 0, it is the lower
    suboptimality itself (or solves O/max(1, O) = it)."""
    privacy, loss = outcome.problem.privacy, outcome.problem.loss.spec
    if privacy.delta >= HALF:
        return share("5" if loss == "l1" else "S2", privacy.epsilon, privacy.delta)
    gap, upper = share("4" if loss == "l1" else "S1", privacy.epsilon, privacy.delta), benchmark(outcome)[0]
    return upper / (1 + gap) if upper / (1 + gap) >= 1 else upper - gap


def distance(outcome: Outcome) -> float:
    """How far the published O lies from the certified bracket, divided by max(1, O); negative below it, 0 inside."""
    proof, middle = outcome.certificate, midpoint(outcome)
    off = middle - proof.upper if middle > proof.upper else min(middle - proof.lower, 0.0)
    return off / max(1.0, middle)


def agrees(outcome: Outcome) -> bool:
    """The published O is within its stated error, and its rounding, of the bracket."""
    return abs(distance(outcome)) <= STATED[outcome.problem.loss.spec] + PRINTED


def recomputed(outcome: Outcome, measures: str) -> tuple[float, float]:
    """(least, largest) value of a published quantity for any O inside the certified bracket."""
    upper, lower = benchmark(outcome)
    proof = outcome.certificate

    def value(middle: float) -> float:
        size = max(1.0, middle)
        return {"upper": upper - middle, "lower": middle - lower, "both": upper - lower}[measures] / size

    ends = value(proof.lower), value(proof.upper)
    return min(ends), max(ends)


def implied_lower(outcome: Outcome) -> float:
    """The published B_LB: from O and the lower suboptimality."""
    privacy, loss = outcome.problem.privacy, outcome.problem.loss.spec
    middle = midpoint(outcome)
    return middle - share("5" if loss == "l1" else "S2", privacy.epsilon, privacy.delta) * max(1.0, middle)
