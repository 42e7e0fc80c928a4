"""A sweep: problems in, certified figures out as they are found; what was found before is not computed again."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .._validate import whole
from ..problem import NoiseProblem, SolverSettings
from ..store import Store
from . import executors
from .chains import LONGEST, Chain, Outcome, chains

CLUSTER = "DP_FRONTIER_CLUSTER"
"""Environment variable that names the scheduler of a Dask cluster."""

MOST_WORKERS = 256


@dataclass(frozen=True)
class Found:
    """One more outcome, and how far the sweep is.

    index : place of the problem in the list.   cached : it was read from the store.
    done, computed, total : problems finished, of these not read from the store, and in all.
    seconds : since the sweep began.
    """

    index: int
    outcome: Outcome
    cached: bool
    done: int
    computed: int
    total: int
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the pace so far; None before there is one."""
        if self.done == self.total:
            return 0.0
        return self.seconds / self.computed * (self.total - self.done) if self.computed else None


def sweep(
    problems: Sequence[NoiseProblem],
    settings: SolverSettings | None = None,
    *,
    workers: int = 1,
    cluster: str | None = None,
    store: Store | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Found]:
    """What can be proved about every problem, in the order in which it is found.

    Parameters
    ----------
    settings : for every search; the time limit is for each. No other clock has a say: outcomes are equal, bit by bit,
        for every number of workers, on a cluster, and when a sweep is taken up again, unless a time limit ended a
        search.
    workers : processes on this machine; 1 works in the calling thread and yields problem by problem, otherwise
        outcomes come by chains of up to five.
    cluster : scheduler of a Dask cluster, "tcp://host:8786", in place of `workers`.
    store : where finished chains are kept and looked up first; None keeps nothing.
    stop : looked at about every 0.1 s (with `workers` > 1: after each chain); True ends the sweep. So does closing the
        iterator. Finished chains are kept.

    Raises
    ------
    InputError : a number of workers out of range, or no cluster at this address.
    SolverError : processes or workers were killed again and again.
    """
    workers = whole(1, MOST_WORKERS, workers=workers)
    settings, store, stop = settings or SolverSettings(), store or Store(None), stop or (lambda: False)
    tasks = chains(problems)
    starts = [0, *itertools.accumulate(map(len, tasks))]
    began, done, missing = time.perf_counter(), 0, {}
    for number, chain in enumerate(tasks):
        kept = _kept(store, chain, settings)
        if kept is None:
            missing[number] = chain
            continue
        for place, outcome in enumerate(kept, starts[number]):
            done += 1
            yield Found(place, outcome, True, done, 0, len(problems), time.perf_counter() - began)
    if not missing or stop():
        return
    if cluster:
        running = executors.on_cluster(missing, settings, stop, cluster)
    elif workers > 1 and len(missing) > 1:
        running = executors.in_processes(missing, settings, stop, min(workers, len(missing)))
    else:
        running = executors.in_this_thread(missing, settings, stop)
    parts: dict[int, list[Outcome]] = {number: [] for number in missing}
    try:
        for computed, (number, outcome) in enumerate(running, 1):
            part = parts[number]
            place = starts[number] + len(part)
            part.append(outcome)
            if len(part) == len(tasks[number]):
                _keep(store, tasks[number], settings, part)
            seconds = time.perf_counter() - began
            yield Found(place, outcome, False, done + computed, computed, len(problems), seconds)
    finally:
        running.close()


def named_cluster() -> str | None:
    """The cluster that the environment names."""
    return os.environ.get(CLUSTER, "").strip() or None


# The store -------------------------------------------------------------------------------------------


def _topic(chain: Chain, settings: SolverSettings) -> tuple[Chain, SolverSettings, int]:
    return chain, settings, LONGEST


def _kept(store: Store, chain: Chain, settings: SolverSettings) -> list[Outcome] | None:
    """The outcomes of a chain that was finished before."""
    raw = store.get("sweep", _topic(chain, settings))
    if raw is None:
        return None
    try:
        kept = [Outcome.from_dict(problem, data) for problem, data in zip(chain, json.loads(raw), strict=True)]
    except (ValueError, KeyError, TypeError, AssertionError):  # not ours, or of another layout
        return None
    return kept


def _keep(store: Store, chain: Chain, settings: SolverSettings, found: list[Outcome]) -> None:
    text = json.dumps([outcome.as_dict() for outcome in found], allow_nan=False)
    store.put("sweep", _topic(chain, settings), text.encode())
