"""What the pool works out for the page beside its picture: the ε that an error takes, slow textbook mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dpcore.errors import InputError
from dpcore.inversion import OPTIMAL, Inversion, invert
from dpcore.loss import exceedance
from dpcore.mechanisms import MECHANISMS, Baseline, baseline
from dpcore.optimal import first_bracket, solve
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings
from work.question import TICK

COVERAGE = 0.95
"""Share of cases in which an error is at most the one that can be used."""

SECONDS = 10.0
"""Time limit of the search for the best possible noise."""


@dataclass(frozen=True)
class Afforded:
    """An error that 95 % of releases are to stay within, at the problem's δ and with its constraints.

    width : ±, positive.
    """

    problem: NoiseProblem
    width: float

    @property
    def asked(self) -> NoiseProblem:
        """The problem whose loss is at most 5 % where the error is kept."""
        return replace(self.problem, loss=exceedance(self.width))


@dataclass(frozen=True)
class Unreached:
    """Why a mechanism keeps the error at no ε."""

    mechanism: str
    reason: str


def rivals(problem: NoiseProblem) -> tuple[str, ...]:
    """What people use, by the kind of query."""
    return ("laplace", "gaussian") if problem.granularity is None else ("geometric",)


def afford(asked: Afforded, settings: None, progress: Callable[[object], bool]) -> tuple[Inversion | Unreached, ...]:
    """The least ε of each mechanism, the best possible noise last; each reported when it is known."""
    found: list[Inversion | Unreached] = []
    limits = SolverSettings(time_limit=SECONDS)
    for key in (*rivals(asked.problem), OPTIMAL):
        try:
            found.append(invert(asked.asked, 1 - COVERAGE, key, settings=limits, stop=lambda: progress(None)))
        except InputError as error:
            found.append(Unreached(key, error.accepted))
        if progress(found[-1]):
            break
    return tuple(found)


def slow_baselines(problem: NoiseProblem, settings: None, progress: Callable[[object], bool]) -> tuple[Baseline, ...]:
    """The mechanisms of a query with real values that `mechanisms.baselines` leaves out where there is no time."""
    found: list[Baseline] = []
    for key in (key for key, entry in MECHANISMS.items() if entry.slow and problem.granularity is None):
        if progress(TICK):
            break
        found.append(baseline(key, problem))
    return tuple(found)


@dataclass(frozen=True)
class Along:
    """A problem at several ε."""

    problem: NoiseProblem
    epsilons: tuple[float, ...]


Bounds = tuple[float, float]
"""Below and above the least expected loss, certified."""

ROUGH = SolverSettings(gap=0.01, time_limit=0.3)
"""For problems that have no first bracket."""


def along(asked: Along, settings: None, progress: Callable[[object], bool]) -> tuple[Bounds | None, ...]:
    """What is proved at each ε; None where nothing is."""
    found: list[Bounds | None] = []
    for epsilon in asked.epsilons:
        if progress(TICK):
            break
        try:
            there = replace(asked.problem, privacy=Privacy(epsilon, asked.problem.privacy.delta))
            proof = (first_bracket(there) or solve(there, ROUGH, lambda _: progress(TICK))).certificate
        except InputError:
            found.append(None)
            continue
        found.append(None if proof.lower is None or not proof.lower > 0 else (proof.lower, proof.upper))
    return tuple(found)
