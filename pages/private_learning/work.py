"""What the page lets compute in the background: errors over total ε, and those of the published setting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from dpcore.errors import InputError
from dpcore.learning import noises, vectors
from dpcore.learning.bounded import DataDependent
from dpcore.learning.descent import SENSITIVITY
from dpcore.learning.experiment import Asked, Outcome, Protocol, simulate
from dpcore.learning.noises import SHORT
from dpcore.learning.tables import LearningTable, load
from dpcore.learning.vectors import Vectors
from dpcore.loss import squared
from dpcore.privacy import Privacy
from dpcore.store import Store
from service import configuration
from work.question import TICK

EPSILONS = (1.0, 0.1, 10.0, 3.0, 0.3, 5.0, 0.5, 2.0, 0.2)
"""ε of the curve, in the order in which they are worked out."""

KEYS = ("gaussian", "optimal", "truncated-laplace", "gaussian-classical")
NOTHING = "none"

ALONE = ("gaussian", "truncated-laplace", "optimal")
"""Laws of numbers that are set beside one vector."""

Report = Callable[[Any], bool]
Told = TypeVar("Told")


def table_of(name: str, model: str) -> LearningTable:
    """A table of `SETS`, for coordinate descent with two classes."""
    return load(name) if model == "naive-bayes" else load(name).binary()


Plan = tuple[tuple[str, Asked | Vectors], ...]
"""What is simulated, in this order: keys of laws and what is asked of each."""


@dataclass(frozen=True)
class Curve:
    """Errors against total ε on a table of `SETS`, or a visitor's own."""

    data: str
    model: str
    delta: float
    splits: int
    draws: int

    @property
    def plan(self) -> Plan:
        asked = lambda epsilon: Asked(self.model, Privacy(epsilon, self.delta))  # noqa: E731
        return (NOTHING, asked(1.0)), *((key, asked(epsilon)) for epsilon in EPSILONS for key in KEYS)


@dataclass(frozen=True)
class Setting:
    """Errors where every statistic gets (ε, δ), as published; recipe : of naïve Bayes, the text's or the program's."""

    data: str
    model: str
    privacy: Privacy
    splits: int
    draws: int
    recipe: str = "published"

    @property
    def plan(self) -> Plan:
        asked = Asked(self.model, self.privacy, "each", self.recipe)
        more = (noises.DATA_DEPENDENT,) if (self.model, self.recipe) == ("naive-bayes", "published") else ()
        return tuple((key, asked) for key in (NOTHING, *SHORT, *more))


@dataclass(frozen=True)
class Sweeps:
    """Errors of coordinate descent beside those of one vector in place of an iteration's numbers, each (ε, δ)."""

    data: str
    model: str
    privacy: Privacy
    splits: int
    draws: int

    @property
    def plan(self) -> Plan:
        numbers, vector = Asked(self.model, self.privacy, "each", "published"), Vectors(self.privacy)
        return (
            *((key, numbers) for key in (NOTHING, *ALONE)), ("vector-none", vector),
            *((key, vector) for key in vectors.NAMES),
        )  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One law at one total ε; `amplitude` is E|X| of its noise for sensitivity 1. Without an outcome: `reason`."""

    key: str
    epsilon: float
    inside: tuple[float, ...] = ()
    outside: tuple[float, ...] = ()
    amplitude: float = 0.0
    reason: str = ""

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.key, self.inside, self.outside)


@dataclass(frozen=True)
class Cells:
    """All of a curve, or of a setting, as far as it was worked out."""

    cells: tuple[Cell, ...]


Asking = Curve | Setting | Sweeps


def errors(asked: Asking, settings: None, *, progress: Report) -> Cells:
    """All that is asked for, each cell reported when it is known and kept on disk."""
    return Cells(tuple(cells(asked, progress)))


def cells(asked: Asking, progress: Report) -> list[Cell]:
    """The cells of `errors` as a list."""
    table, found = table_of(asked.data, asked.model), []
    protocol = Protocol(asked.splits, asked.draws)
    store = Store(configuration.current().store)
    try:
        for key, what in asked.plan:
            cell = _stored(asked.data, table, what, key, protocol, store, progress)
            if cell is None or (found.append(cell) or progress(cell)):
                break
    finally:
        store.close()
    return found


def _stored(
    data: str,
    table: LearningTable,
    asked: Asked | Vectors,
    key: str,
    protocol: Protocol,
    store: Store,
    progress: Report,
) -> Cell | None:
    """One law, from the store if it is there; None where it was stopped."""
    place = (data, asked, key, protocol)
    if (raw := store.get("learning", place)) is not None:
        told = json.loads(raw)
        return Cell(**{name: tuple(value) if isinstance(value, list) else value for name, value in told.items()})
    stopped = False

    def stop() -> bool:
        nonlocal stopped
        stopped = stopped or bool(progress(TICK))
        return stopped

    cell = None if stop() else one(table, asked, key, protocol, stop)
    if cell is None or stopped:
        return None
    if cell.inside:
        store.put("learning", place, json.dumps(asdict(cell)).encode())
    return cell


def one(
    table: LearningTable, asked: Asked | Vectors, key: str, protocol: Protocol, stop: Callable[[], Any]
) -> Cell | None:
    """One law on a table; None where it was stopped. `stop` says whether to end, or raises."""
    epsilon = asked.privacy.epsilon
    try:
        if isinstance(asked, Vectors):
            outcome = vectors.simulate(table, asked, key, protocol, stop)
        else:
            outcome = simulate(table, asked, key, protocol, stop)
    except InputError as error:
        return Cell(key, epsilon, reason=str(error))
    if outcome is None:
        return None
    law = None if isinstance(asked, Vectors) else asked.law(key, table)
    law = law.noise if isinstance(law, DataDependent) else law
    return Cell(key, epsilon, outcome.inside, outcome.outside, 0.0 if law is None else noises.amplitude(law))


@dataclass(frozen=True)
class Promise:
    """What a law keeps together: δ at k·ε, and ε at a δ (infinite where there is none), both rounded up."""

    key: str
    delta: float
    epsilon: float


@dataclass(frozen=True)
class Promised:
    promises: tuple[Promise, ...]


@dataclass(frozen=True)
class Account:
    """What is asked of each statistic, and how a person may change them: nothing of the data."""

    asked: Asked
    cases: tuple[noises.Shifts, ...]

    @classmethod
    def of(cls, setting: Setting, table: LearningTable) -> Account:
        """The account of a setting, with corrected sensitivities."""
        asked = Asked(setting.model, setting.privacy, "each", "corrected")
        return cls(asked, asked.cases(table))


def promised(account: Account, settings: float, *, progress: Report) -> Promised:
    """What every law keeps together; settings : the δ at which ε is told."""
    asked, cases = account.asked, account.cases
    added = asked.privacy.epsilon * max(sum(shift * count for shift, count in case) for case in cases)

    def told(key: str, watch: noises.Watch) -> Promise:
        law = noises.each(key, asked.privacy, watch)
        return Promise(key, noises.delta_of(law, added, cases, watch), noises.epsilon_of(law, settings, cases, watch))

    return Promised(_of_laws(SHORT, told, progress))


def _of_laws(keys: Iterable[str], told: Callable[[str, noises.Watch], Told], progress: Report) -> tuple[Told, ...]:
    """What is told of every law that exists, as far as it was worked out."""
    found, watch = [], noises.Watch(lambda: progress(TICK))
    for key in keys:
        try:
            watch.look()
            found.append(told(key, watch))
        except InputError:
            continue
        except noises.StoppedError:
            break
    return tuple(found)


@dataclass(frozen=True)
class Iterations:
    """What is asked of each number of coordinate descent on d features: nothing of the data."""

    privacy: Privacy
    features: int


@dataclass(frozen=True)
class Kept:
    """What a law keeps together, as `Promise`, in so many releases; `deviation` is that of each number."""

    key: str
    releases: int
    deviation: float
    delta: float
    epsilon: float


@dataclass(frozen=True)
class KeptTogether:
    laws: tuple[Kept, ...]


def kept(asked: Iterations, settings: float, *, progress: Report) -> KeptTogether:
    """The account of numbers and of vectors; settings : the δ at which ε is told."""
    d, vector = asked.features, Vectors(asked.privacy)
    numbers, added = vector.descent.releases(d), vector.added(d)
    cases = (((1.0, numbers),),)

    def told(key: str, watch: noises.Watch) -> Kept:
        if key in vectors.NAMES:
            return Kept(key, vector.descent.iterations, *vectors.kept(key, vector, d, settings, watch))
        law = noises.each(key, asked.privacy, watch)
        size = SENSITIVITY * math.sqrt(law.expected_loss(squared()))
        together = noises.delta_of(law, added, cases, watch), noises.epsilon_of(law, settings, cases, watch)
        return Kept(key, numbers, size, *together)

    return KeptTogether(_of_laws((*ALONE, *vectors.NAMES), told, progress))
