"""What the page lets compute in the background: bounds that never meet, grid by grid, and those of relatives; how often
intervals hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpcore.gallery import never_meet as core
from dpcore.optimal import solve
from dpcore.plan.coverage import simulated
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.solution import Solution
from dpcore.store import Store
from service import configuration
from work.question import TICK

CELLS = (1, 2, 4, 8)
"""Per sensitivity, of the grids."""

WELLS = (0.5, 0.25, 0.125, 0.0625)
"""Widths to which the point is widened that the loss spares."""

SECONDS = 3.0
"""Time limit of one bound."""


@dataclass(frozen=True)
class Asked:
    """One example at one privacy level."""

    example: str
    privacy: Privacy


@dataclass(frozen=True)
class Bound:
    """Certified bounds of one program. at : cells per sensitivity; width of the well; half-width of the support."""

    at: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Bounds:
    """grids : the published programs, each with the best bounds up to its grid.   relatives : this project's solver on
    losses or supports whose bounds do meet."""

    grids: tuple[Bound, ...]
    relatives: tuple[Bound, ...]


def bounds(asked: Asked, settings: None, *, progress: Callable[[Any], bool]) -> Bounds:
    """All grids, then all relatives; a stop in between leaves what is known so far.

    A grid that refines another one inherits its bounds: the coarse law is a law on the fine grid, a proof is a proof.
    """
    found = Bounds((), ())
    tick = lambda _: progress(TICK)  # noqa: E731
    for k in CELLS:
        proof = core.on_grid(asked.example, asked.privacy, k, time_limit=SECONDS, progress=tick).certificate
        found = Bounds((*found.grids, _refined(found.grids, k, proof.lower, proof.upper)), ())
        if progress(TICK):
            return found
    for amount in WELLS if asked.example == "jump" else supports(asked.privacy):
        limits = SolverSettings(gap=1e-3, time_limit=SECONDS)
        solution: Solution = solve(core.widened(asked.example, asked.privacy, amount), limits, tick)
        one = Bound(amount, solution.certificate.lower, solution.certificate.upper)
        found = Bounds(found.grids, (*found.relatives, one))
        if progress(TICK):
            break
    return found


def supports(privacy: Privacy) -> tuple[int, ...]:
    """Half-widths of supports to try, from the least whole one that surely holds a private law."""
    least = math.ceil(privacy.truncation())
    return tuple(least + step for step in (0, 1, 2, 4))


def _refined(before: tuple[Bound, ...], k: int, lower: float, upper: float) -> Bound:
    return Bound(k, max(lower, *(b.lower for b in before), 0.0), min(upper, *(b.upper for b in before), math.inf))


RELEASES = 4000
"""Whose intervals are counted."""

AT_ONCE = 25
"""Between two reports."""


@dataclass(frozen=True)
class Counting:
    """`RELEASES` simulated releases of data of `rows` people; see `dpcore.plan.coverage`."""

    statistic: str
    kind: str
    rows: int
    epsilon: float
    seed: int


@dataclass(frozen=True)
class Tally:
    """Of so many releases, how many intervals cover the truth: of data and noise drawn again, and the textbook's."""

    releases: int
    valid: int
    naive: int


@dataclass(frozen=True)
class Counted:
    """All tallies so far, the last one of all releases unless it was stopped."""

    tallies: tuple[Tally, ...]


def count(asked: Counting, settings: None, *, progress: Callable[[Any], bool]) -> Counted:
    """Release by release; a whole count is kept on disk."""
    store = Store(configuration.current().store)
    try:
        if (raw := store.get("coverage", asked)) is not None:
            return Counted(tuple(Tally(**one) for one in json.loads(raw)))
        rng, found = np.random.default_rng(asked.seed), [Tally(0, 0, 0)]
        while found[-1].releases < RELEASES:
            one = simulated(asked.statistic, asked.kind, asked.rows, asked.epsilon, AT_ONCE, rng, ends=False)
            before, naive = found[-1], one.textbook.covers(one.truth)
            found.append(
                Tally(before.releases + AT_ONCE, before.valid + int(one.holds.sum()), before.naive + int(naive.sum()))
            )
            if progress(found[-1]):
                return Counted(tuple(found[1:]))
        store.put("coverage", asked, json.dumps([asdict(one) for one in found[1:]]).encode())
        return Counted(tuple(found[1:]))
    finally:
        store.close()
