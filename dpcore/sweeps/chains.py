"""The unit of work: a chain of neighbouring problems, each search starting from the one before it.

Who follows whom is decided by the problems' places in the list alone, never by who is free or what is already known;
and the search has no clock in its schedule. So a chain gives the same figures, bit by bit, in whichever process, on
whichever machine of one kind, as long as no time limit ends a search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..errors import InputError
from ..mechanisms import baselines
from ..optimal import solve_many
from ..problem import NoiseProblem, SolverSettings
from ..provenance import PROVENANCE
from ..solution import Certificate

LONGEST = 5
"""Problems in a chain: most of what warm starts save is saved by five, and a killed worker loses no more."""


@dataclass(frozen=True)
class Outcome:
    """What is known about one problem of a sweep.

    certificate : the bracket and the figures of the law that attains its upper end; None where there is no law.
    source : how the upper bound arose, or why there is none.
    mechanisms : (key, exact expected loss) of every textbook mechanism that meets the problem.
    cells : of the law's grid.   seconds : spent; not part of what makes outcomes equal.
    """

    problem: NoiseProblem
    certificate: Certificate | None
    source: str
    mechanisms: tuple[tuple[str, float], ...]
    cells: int
    seconds: float = field(compare=False)

    def as_dict(self) -> dict[str, Any]:
        """JSON types, without the problem."""
        parts = {name: getattr(self, name) for name in ("source", "mechanisms", "cells", "seconds")}
        return parts | {"certificate": None if self.certificate is None else asdict(self.certificate)}

    @classmethod
    def from_dict(cls, problem: NoiseProblem, data: dict[str, Any]) -> Outcome:
        """What `as_dict` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError : it did not write this.
        """
        certificate = None if data["certificate"] is None else Certificate(**data["certificate"])
        mechanisms = tuple((str(key), float(loss)) for key, loss in data["mechanisms"])
        return cls(problem, certificate, str(data["source"]), mechanisms, int(data["cells"]), float(data["seconds"]))

    @property
    def best(self) -> tuple[str, float] | None:
        """The textbook mechanism with the least loss."""
        return min(self.mechanisms, key=lambda pair: pair[1], default=None)


Chain = tuple[NoiseProblem, ...]


def chains(problems: Sequence[NoiseProblem]) -> list[Chain]:
    """The problems cut into chains: neighbours in the list at one ε with growing δ, `LONGEST` at most. In the atom
    regime one search then serves all larger δ [Thm 6]."""
    out: list[list[NoiseProblem]] = []
    for problem in problems:
        before = out[-1][-1] if out else None
        joined = before is not None and len(out[-1]) < LONGEST and _follows(problem, before)
        if not joined:
            out.append([])
        out[-1].append(problem)
    return [tuple(chain) for chain in out]


def _follows(problem: NoiseProblem, before: NoiseProblem) -> bool:
    one, other = before.privacy, problem.privacy
    alike = all(getattr(problem, f.name) == getattr(before, f.name) for f in fields(problem) if f.name != "privacy")
    return alike and one.epsilon == other.epsilon and one.delta < other.delta


def solve_chain(
    chain: Chain, settings: SolverSettings, stop: Callable[[], bool] | None = None, made_by: str = PROVENANCE
) -> list[Outcome]:
    """The outcomes of a chain, in its order; fewer when `stop()` became true."""
    return list(outcomes(chain, settings, stop, made_by))


def outcomes(
    chain: Chain, settings: SolverSettings, stop: Callable[[], bool] | None = None, made_by: str = PROVENANCE
) -> Iterator[Outcome]:
    """As `solve_chain`, one after the other. A search that was stopped is not among them.

    Raises
    ------
    InputError : this process runs other code than the one that asks, so that figures would not agree.
    """
    if made_by != PROVENANCE:
        accepted = "the same dpcore, HiGHS, Numba, NumPy and SciPy as the process that asks"
        raise InputError("workers", "one that runs other code", accepted)
    stopped = stop or (lambda: False)
    done = 0
    while done < len(chain) and not stopped():
        found = solve_many(itertools.islice(chain, done, None), settings, lambda _: stopped())
        try:
            for solution in found:
                if stopped():
                    return
                done += 1
                yield Outcome(
                    solution.problem, solution.certificate, solution.source, _losses(solution.problem),
                    int(solution.cells), solution.seconds,
                )  # fmt: skip
        except InputError as error:  # no law meets this one; the next ones start afresh
            yield Outcome(chain[done], None, str(error), _losses(chain[done]), 0, 0.0)
            done += 1


def _losses(problem: NoiseProblem) -> tuple[tuple[str, float], ...]:
    return tuple(
        (b.key, float(b.loss)) for b in baselines(problem) if b.valid and b.loss is not None and b.loss < math.inf
    )
