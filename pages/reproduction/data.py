"""What the paper prints, and the same quantities from a certified bracket. Pure.

The paper's figures rest on O, the midpoint of its own bounds, and are divided by max(1, O):

    upper suboptimality (B_UB − O)/max(1, O),  lower one (O − B_LB)/max(1, O),  their sum (B_UB − B_LB)/max(1, O)

with B_UB the loss of truncated Laplace noise and B_LB the lower bound of the literature [SLW, §5.1 and e-companion D].
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpcore.literature import even_lower
from dpcore.noise import TruncatedLaplace
from dpcore.optimal.midpoint import Match
from dpcore.problem import NoiseProblem
from dpcore.sweeps import Outcome
from pages.shared import prose
from pages.shared.prose import ASSETS

STATED = {"l1": 0.01, "l2": 0.05}
"""Relative gap, normalised by max(1, O), that the published midpoints may have."""

PRINTED = 5e-5
"""Half of the last printed digit, of a share."""

ROUNDING = 1.05 * PRINTED
"""Half of the last printed digit with room for what the solver's tolerance and the sums add."""


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


def upper_benchmark(problem: NoiseProblem) -> float:
    """B_UB: the exact loss of truncated Laplace noise with the half-width (D/ε) ln(1 + (e^ε − 1)/(2δ)) of [G20], for
    every δ. From ½ on that is not the narrowest private law, but it is the one behind the published figures."""
    D, privacy = problem.sensitivity, problem.privacy
    return TruncatedLaplace(D / privacy.epsilon, D * privacy.truncation()).expected_loss(problem.loss)


def benchmark(outcome: Outcome) -> tuple[float, float]:
    """(B_UB, B_LB): the exact loss of truncated Laplace noise and the literature's lower bound in a rigorous form."""
    problem = outcome.problem
    return upper_benchmark(problem), even_lower(problem.privacy, problem.sensitivity, problem.loss)


def printed_midpoint(problem: NoiseProblem) -> tuple[float, float]:
    """(the published O, half of its last digit): from the upper suboptimality and the exact B_UB."""
    privacy, upper = problem.privacy, upper_benchmark(problem)
    gap = share("4" if problem.loss.spec == "l1" else "S1", privacy.epsilon, privacy.delta)
    middle = upper / (1 + gap) if upper / (1 + gap) >= 1 else upper - gap
    return middle, ROUNDING * max(1.0, middle)


def midpoint(outcome: Outcome) -> float:
    """The published O."""
    return printed_midpoint(outcome.problem)[0]


def relative(outcome: Outcome) -> float:
    """How far the published O lies from the certified bracket, as a share of the nearer end; 0 inside."""
    proof, middle = outcome.certificate, midpoint(outcome)
    if middle > proof.upper:
        return middle / proof.upper - 1
    return min(middle / proof.lower - 1, 0.0) if proof.lower > 0 else 0.0


def earlier_sum(problem: NoiseProblem, terms: int) -> float:
    """2a Σ_{i < terms} c(iD) e^(−εi), a = (δ + (e^ε − 1)/2) e^(−ε): the earlier lower bound as printed, a bound if
    `terms` is at most A/D [G20]."""
    privacy, i = problem.privacy, np.arange(1, max(terms, 1))
    a = (privacy.delta + 0.5 * math.expm1(privacy.epsilon)) * math.exp(-privacy.epsilon)
    return 2 * a * float(problem.loss.value(i * problem.sensitivity) @ np.exp(-privacy.epsilon * i))


def rounded(outcome: Outcome) -> str:
    """How the published B_LB rounds its number of terms, A/D: "down", "up" where it is no bound, or "unknown"."""
    problem, printed = outcome.problem, implied_lower(outcome)
    room = 2 * printed_midpoint(problem)[1]
    terms = math.floor(problem.privacy.truncation() + 1e-9)
    found = [name for name, n in (("down", terms), ("up", terms + 1)) if abs(earlier_sum(problem, n) - printed) <= room]
    return found[0] if found else "unknown"


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


@dataclass(frozen=True)
class Cause:
    """Why a published figure differs from what is proved. key : "support", "grid", "unexplained" or "" (it agrees, or
    nothing is known yet).   impossible : a law exists that costs less by more than the stated error.   text : in
    words."""

    key: str
    impossible: bool
    text: str


def cause(outcome: Outcome, match: Match | None) -> Cause:
    """Why there is a distance between a published O and the bracket, by the recipe's grid that gives O, if one does."""
    middle, proof = midpoint(outcome), outcome.certificate
    impossible = middle > proof.upper * (1 + STATED["l1"])
    law = f"impossible: a law costs {prose.at_most(proof.upper, 4)}" if impossible else ""
    if match is None:
        return Cause("", impossible, law)
    if not match.exact:
        text = "unexplained" if abs(relative(outcome)) > STATED["l1"] else "no grid tried gives the last digit"
        key = "unexplained" if text == "unexplained" else ""
        return Cause(key, impossible, "; ".join(part for part in (text, law) if part))
    found = match.found
    # Its law costs more than the optimum by what support and grid forbid; O is half of upper − least below that.
    if found.upper - proof.upper > 0.5 * (found.upper - found.least):
        key, text = "support", f"support ±{found.half_width} Δf"
    else:
        key, text = "grid", f"coarse grid, β = {found.width:g}"
    return Cause(key, impossible, "; ".join(part for part in (text, law) if part))
