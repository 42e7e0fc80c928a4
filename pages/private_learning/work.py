"""What the page lets compute in the background: errors over total ε, and those of the published setting."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from dpcore.errors import InputError
from dpcore.learning import noises
from dpcore.learning.experiment import Asked, Outcome, Protocol, simulate
from dpcore.learning.noises import SHORT
from dpcore.learning.tables import LearningTable, load
from dpcore.privacy import Privacy
from dpcore.store import Store
from service import configuration
from work.question import TICK

EPSILONS = (1.0, 0.1, 10.0, 3.0, 0.3, 5.0, 0.5, 2.0, 0.2)
"""Of the curve, in the order in which they are worked out."""

KEYS = ("gaussian", "optimal", "truncated-laplace", "gaussian-classical")
NOTHING = "none"

Report = Callable[[Any], bool]


def table_of(name: str, model: str) -> LearningTable:
    """A table of `SETS`, for coordinate descent with two classes."""
    found = load(name)
    two = model == "naive-bayes" or len(found.classes) == 2
    return found if two else found.against(found.majority)


@dataclass(frozen=True)
class Curve:
    """Errors against total ε on a table of `SETS`."""

    data: str
    model: str
    delta: float
    splits: int
    draws: int


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


def curve(asked: Curve, settings: None, *, progress: Report) -> Cells:
    """Every law at every ε, each reported when it is known and kept on disk."""
    return Cells(tuple(cells(asked, progress)))


def cells(asked: Curve, progress: Report) -> list[Cell]:
    """As `curve`, as a list."""
    table = table_of(asked.data, asked.model)
    plans = [(NOTHING, 1.0), *((key, epsilon) for epsilon in EPSILONS for key in KEYS)]
    found = []
    protocol = Protocol(asked.splits, asked.draws)
    store = Store(configuration.current().store)
    try:
        for key, epsilon in plans:
            what = Asked(asked.model, Privacy(epsilon, asked.delta))
            cell = _cell(asked.data, table, what, key, protocol, store, progress)
            if cell is None or (found.append(cell) or progress(cell)):
                break
    finally:
        store.close()
    return found


@dataclass(frozen=True)
class Setting:
    """Every statistic (ε, δ), as published."""

    data: str
    model: str
    privacy: Privacy
    splits: int
    draws: int


def setting(asked: Setting, settings: None, *, progress: Report) -> Cells:
    """Every law with a budget for each statistic."""
    table, found = table_of(asked.data, asked.model), []
    store = Store(configuration.current().store)
    try:
        for key in (NOTHING, *SHORT):
            what = Asked(asked.model, asked.privacy, "each", "published")
            cell = _cell(asked.data, table, what, key, Protocol(asked.splits, asked.draws), store, progress)
            if cell is None or (found.append(cell) or progress(cell)):
                break
    finally:
        store.close()
    return Cells(tuple(found))


def _cell(
    data: str, table: LearningTable, asked: Asked, key: str, protocol: Protocol, store: Store, progress: Report
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

    epsilon = asked.privacy.epsilon
    try:
        outcome = None if stop() else simulate(table, asked, key, protocol, stop)
    except InputError as error:
        return Cell(key, epsilon, reason=str(error))
    if stopped or outcome is None:
        return None
    law = asked.law(key, table)
    size = 0.0 if law is None else noises.amplitude(law)
    cell = Cell(key, epsilon, outcome.inside, outcome.outside, size)
    store.put("learning", place, json.dumps(asdict(cell)).encode())
    return cell


@dataclass(frozen=True)
class Promise:
    """What a law keeps together: δ at k·ε, and ε at a δ (infinite where there is none), both rounded up."""

    key: str
    delta: float
    epsilon: float


@dataclass(frozen=True)
class Promised:
    promises: tuple[Promise, ...]


def promised(asked: Setting, settings: float, *, progress: Report) -> Promised:
    """The account of a setting with corrected sensitivities, by law; settings : the δ at which ε is told."""
    table, found = table_of(asked.data, asked.model), []
    what = Asked(asked.model, asked.privacy, "each", "corrected")
    cases = what.cases(table)
    added = asked.privacy.epsilon * max(sum(shift * count for shift, count in case) for case in cases)
    for key in SHORT:
        if progress(TICK):
            break
        try:
            law = what.law(key, table, noises.Watch(lambda: progress(TICK)))
        except InputError:
            continue
        except noises.StoppedError:
            break
        assert law is not None
        found.append(Promise(key, noises.delta_of(law, added, cases), noises.epsilon_of(law, settings, cases)))
    return Promised(tuple(found))
