"""Where chains are solved: in this thread, in a pool of processes, on a Dask cluster.

Each is a function (chains, settings, stop, …) → iterator of (number of the chain, outcome), in the order in which they
are found; outcomes of one chain keep their order. Ending the iterator early ends the work.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping

from ..errors import InputError, SolverError
from ..extras import needs
from ..problem import SolverSettings
from ..provenance import PROVENANCE
from .chains import Chain, Outcome, outcomes, solve_chain

Found = Generator[tuple[int, Outcome], None, None]
Stop = Callable[[], bool]

ATTEMPTS = 3
"""Times that a pool is started again after one of its processes was killed."""

LOOK = 0.05
"""Seconds between two looks at what a cluster has finished."""


def in_this_thread(tasks: Mapping[int, Chain], settings: SolverSettings, stop: Stop) -> Found:
    """One chain after the other; stops within a tenth of a second or so."""
    for number, chain in tasks.items():
        for outcome in outcomes(chain, settings, stop):
            yield number, outcome


def in_processes(tasks: Mapping[int, Chain], settings: SolverSettings, stop: Stop, workers: int) -> Found:
    """A pool of processes (joblib). If the system kills one of them, the chains still missing are started again."""
    with needs("cluster"):
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

    missing = dict(tasks)
    for attempt in range(ATTEMPTS):
        pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
        running = pool(delayed(_numbered)(number, chain, settings, PROVENANCE) for number, chain in missing.items())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                for number, found in running:
                    del missing[number]
                    yield from ((number, outcome) for outcome in found)
                    if stop():
                        return
                return
        except TerminatedWorkerError as error:
            if attempt == ATTEMPTS - 1:
                raise SolverError("processes of the pool were killed again and again (out of memory?)") from error
        finally:
            running.close()


def _numbered(number: int, chain: Chain, settings: SolverSettings, made_by: str) -> tuple[int, list[Outcome]]:
    return number, solve_chain(chain, settings, None, made_by)


def on_cluster(tasks: Mapping[int, Chain], settings: SolverSettings, stop: Stop, address: str) -> Found:
    """An existing Dask cluster, by the address of its scheduler. When a worker is lost, Dask gives its chains to the
    others.

    Dask's own transport pickles what travels between its processes: scheduler and workers must trust each other (see
    docs/cli.md).

    Raises
    ------
    InputError : no scheduler answers at this address, or its workers run other code than this process.
    SolverError : the scheduler went away, or a chain killed several workers.
    """
    with needs("cluster"):
        from distributed import Client
        from distributed.scheduler import KilledWorker

    try:
        client = Client(address, timeout=5, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        accepted = "the address of a running Dask scheduler, such as tcp://127.0.0.1:8786"
        raise InputError("cluster", address, accepted) from error
    futures = {}
    try:
        for number, chain in tasks.items():
            future = client.submit(solve_chain, chain, settings, None, PROVENANCE, pure=False, priority=-number)
            futures[future] = number
        waiting = set(futures)
        while waiting and not stop():
            finished = {future for future in waiting if future.done()}
            for future in sorted(finished, key=futures.__getitem__):
                try:
                    yield from ((futures[future], outcome) for outcome in future.result())
                except KilledWorker as error:
                    raise SolverError(f"a chain of problems killed several workers of {address}") from error
            waiting -= finished
            if client.status not in ("running", "connecting"):
                raise SolverError(f"the Dask scheduler at {address} went away")
            if not finished:
                time.sleep(LOOK)
    finally:
        client.cancel(list(futures), force=True)
        client.close()
