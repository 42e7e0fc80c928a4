"""Finished results on disk: what one process proved, every other one and every later one may use.

An SQLite database of byte strings (JSON, npz) in one folder, shared by any number of processes on one machine and safe
to kill at any moment. Nothing in it is ever unpickled or run. Every entry carries a checksum of its key and its bytes,
so that of a damaged one nothing is shown at all; a solution is, besides, rebuilt and audited again when it is read.
Against somebody who can write into the folder a checksum is no defence, and neither would a key be that lies beside the
file: what is forged there is audited as an uploaded file is, and at most its lower bound could be false. What other
source of this package or other libraries proved (`dpcore.provenance`) is never read and makes room first; then what was
not used for longest. A folder that cannot be used costs one line in the log, and everything works without.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import platformdirs

from .errors import InputError
from .export import solution_to_dict
from .isotropic.problem import IsotropicProblem
from .problem import NoiseProblem, SolverSettings
from .provenance import PROVENANCE
from .reload import MAX_BYTES, solution_from_dict
from .solution import Progress, Solution

if TYPE_CHECKING:
    from .isotropic.solution import IsotropicSolution

FOLDER = "DP_FRONTIER_STORE"
"""Environment variable that names the folder; `off`: keep nothing."""

LIMIT = 256 << 20
"""Bytes of entries that a store keeps unless told otherwise; its files may be a few per cent larger."""

FORMAT = 3
"""Number of the table's format; grows when older ones would be misread. Theirs are dropped."""

PATIENCE = 2.0
"""Seconds to wait for another process that writes."""

_TABLE = """
CREATE TABLE IF NOT EXISTS answers
  (key BLOB PRIMARY KEY, used REAL NOT NULL, size INTEGER NOT NULL, checksum BLOB NOT NULL,
   value BLOB NOT NULL, made_by TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS answers_by_use ON answers (used, size);
"""

_EVICT = """
DELETE FROM answers WHERE key IN
  (SELECT key FROM
    (SELECT key, SUM(size) OVER (ORDER BY made_by = ? DESC, used DESC, key) AS total FROM answers) WHERE total > ?)
"""

Result = TypeVar("Result")
Problem = NoiseProblem | IsotropicProblem
Answer = TypeVar("Answer", Solution, "IsotropicSolution")

log = logging.getLogger(__name__)


def canonical(value: object) -> str:
    """A value as text that no different value shares: 1, 1.0 and True differ, and so do equal fields of two classes.

    Raises
    ------
    TypeError : the value is not made of data classes, functions at the top of a module, tuples and plain values.
    """
    if value is None or type(value) in (bool, int, float, str, bytes):
        return repr(value)
    if type(value) is tuple:
        return f"({', '.join(canonical(item) for item in value)},)"
    named = value if isinstance(value, type) or (callable(value) and not is_dataclass(value)) else type(value)
    name = f"{getattr(named, '__module__', '<none>')}.{getattr(named, '__qualname__', '<none>')}"
    if "<" in name:
        raise TypeError(f"{name} is not at the top of a module")
    if named is value:
        return name
    if not is_dataclass(value):
        raise TypeError(f"{name} is no data class, tuple or plain value")
    return f"{name}({', '.join(canonical(getattr(value, part.name)) for part in fields(value) if part.compare)})"


def default_folder() -> Path | None:
    """The folder that the environment names, None for `off`; else one in the user's cache folder."""
    named = os.environ.get(FOLDER, "").strip()
    if named == "off":
        return None
    return Path(named) if named else Path(platformdirs.user_cache_dir("dp-frontier")) / "results"


class Store:
    """Bytes by kind and key, and solutions by problem and settings.

    Parameters
    ----------
    folder : made if it is missing, for its owner alone; None keeps nothing.
    limit : bytes of entries to keep.

    No method raises on account of the disk: what cannot be read is absent, what cannot be written is dropped.
    """

    def __init__(self, folder: str | Path | None, limit: int = LIMIT) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._connection: sqlite3.Connection | None = None
        if folder is None:
            return
        self._path = Path(folder) / "results.sqlite"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = _connected(self._path)
        except (OSError, ValueError, sqlite3.Error) as error:
            log.warning("results are not kept on disk: %s cannot be used (%s)", folder, error)

    @property
    def usable(self) -> bool:
        """Entries are kept."""
        return self._connection is not None

    def get(self, kind: str, key: object) -> bytes | None:
        """The bytes put under a key; None if there are none, or not as they were put."""
        digest, now = _digest(kind, key), time.time()

        def look(connection: sqlite3.Connection) -> bytes | None:
            query = "SELECT value, checksum, used FROM answers WHERE key = ? AND length(value) <= ?"
            found = connection.execute(query, (digest, MAX_BYTES)).fetchone()
            if found is None:
                return None
            value, checksum, used = found
            if not isinstance(value, bytes) or checksum != _checksum(digest, value):
                log.warning("an entry of the store is damaged and is removed")
                connection.execute("DELETE FROM answers WHERE key = ?", (digest,))
                return None
            if type(used) is not float or not now - 60 < used <= now:
                connection.execute("UPDATE answers SET used = ? WHERE key = ?", (now, digest))
            return value

        return self._try(look)

    def put(self, kind: str, key: object, value: bytes) -> None:
        """Keep bytes under a key, in place of what is there. Entries of another provenance make room first, then those
        used longest ago; what would fill a quarter of the store is not kept."""
        if len(value) > min(self._limit // 4, MAX_BYTES):
            return
        digest = _digest(kind, key)

        def write(connection: sqlite3.Connection) -> None:
            row = (digest, time.time(), len(value), _checksum(digest, value), value, PROVENANCE)
            with _transaction(connection):
                connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)
                (total,) = connection.execute("SELECT TOTAL(size) FROM answers").fetchone()
                if total > self._limit:
                    connection.execute(_EVICT, (PROVENANCE, 0.9 * self._limit))
            if total > self._limit:
                connection.execute("PRAGMA incremental_vacuum")

        self._try(write)

    @overload
    def solution(self, problem: NoiseProblem, settings: SolverSettings) -> Solution | None: ...

    @overload
    def solution(self, problem: IsotropicProblem, settings: SolverSettings) -> IsotropicSolution | None: ...

    def solution(self, problem: Problem, settings: SolverSettings) -> Solution | IsotropicSolution | None:
        """The best solution kept for a problem, audited again, if it is what a solve with these settings would aim at:
        its gap is as small, or as much time was spent on it."""
        found = self._solution(problem, settings)
        return found[0] if found is not None and suffices(*found, settings) else None

    def keep(self, solution: Solution | IsotropicSolution, *, effort: float | None = None) -> None:
        """Keep a solution unless a better one is there.

        effort : seconds spent on it; default: what `spent` says.
        """
        if not self.usable:
            return
        effort = spent(solution) if effort is None else effort
        before = self._solution(solution.problem, solution.settings)
        if before is not None:
            effort = max(effort, before[1])
            solution = min(before[0], solution, key=width)
        data = {"effort": effort, "source": solution.source, "shifts": int(solution.shifts)}
        write, _ = _format(solution.problem)
        text = json.dumps(data | {"solution": write(solution)}, allow_nan=False)
        self.put("solution", topic(solution.problem, solution.settings), zlib.compress(text.encode(), 1))

    def close(self) -> None:
        """Release the files; nothing is kept from now on."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    # Inside ------------------------------------------------------------------------------------------

    def _solution(self, problem: Problem, settings: SolverSettings) -> tuple[Any, float] | None:
        """(solution, effort) as kept."""
        raw = self.get("solution", topic(problem, settings))
        if raw is None:
            return None
        try:
            data = json.loads(_inflated(raw))
            _, read = _format(problem)
            solution = read(data["solution"])
            if solution.problem != problem:
                raise InputError("problem", "another one", "the one asked for")
            return _restored(solution, settings, data), float(data["effort"])
        except (ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
            log.warning("an entry of the store cannot be used (%s)", type(error).__name__)
            return None

    def _try(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """What `work` returns, one thread at a time; None when the disk or another process is in the way."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                return work(self._connection)
            except sqlite3.OperationalError as error:  # busy for too long, disk full: it may pass
                log.info("the store was not available (%s)", error)
            except sqlite3.DatabaseError as error:
                log.warning("the store is damaged (%s)", error)
                self._connection.close()
                self._connection = None
                with contextlib.suppress(OSError, sqlite3.Error):
                    self._connection = _afresh(self._path)
            return None


# Solutions -------------------------------------------------------------------------------------------


def topic(problem: Problem, settings: SolverSettings) -> tuple[Problem, str, int]:
    """What decides an answer apart from how long and how far to go."""
    reference = settings.method == "reference"
    cells = settings.cells_per_sensitivity if reference else settings.max_cells_per_sensitivity
    return problem, settings.method, cells


def width(solution: Solution | IsotropicSolution) -> float:
    """The relative gap, infinite where there is none."""
    gap = solution.certificate.gap
    return math.inf if gap is None else gap


def spent(solution: Solution | IsotropicSolution) -> float:
    """Seconds of work in a solution that nobody stopped. A solver that gave up before its gap and before its time
    would not do better in all of it."""
    limit = solution.settings.time_limit
    gave_up = width(solution) > solution.settings.gap and solution.seconds < 0.95 * limit
    return limit if gave_up else solution.seconds


def suffices(solution: Solution | IsotropicSolution, effort: float, settings: SolverSettings) -> bool:
    """A solve with these settings would aim no higher."""
    return width(solution) <= settings.gap or effort >= 0.95 * settings.time_limit


def _format(problem: Problem) -> tuple[Callable[[Any], dict[str, Any]], Callable[[Any], Any]]:
    """How answers to a problem are written, as JSON types, and read back with an audit."""
    if isinstance(problem, NoiseProblem):
        return solution_to_dict, solution_from_dict
    from .isotropic import files

    return files.solution_to_dict, files.solution_from_dict


def _restored(solution: Answer, settings: SolverSettings, data: dict[str, Any]) -> Answer:
    """The reloaded solution with what `dpcore.reload` leaves out: how it came about."""
    stated = data["solution"]
    trace = tuple(
        Progress(float(seconds), float(lower), math.inf if upper is None else float(upper), int(cells), int(pairs))
        for seconds, lower, upper, cells, pairs in stated["trace"]
    )
    certificate = replace(solution.certificate, repaired=stated["certificate"]["repaired"] is True)
    return replace(
        solution, settings=settings, certificate=certificate, trace=trace, cells=int(stated["cells"]),
        shifts=int(data["shifts"]), source=str(data["source"]),
    )  # fmt: skip


def _inflated(raw: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(raw, MAX_BYTES)
    if not unpacker.eof:
        raise InputError("entry", f"more than {MAX_BYTES} bytes", "no more than that")
    return text


# Files -----------------------------------------------------------------------------------------------


def _digest(kind: str, key: object) -> bytes:
    return sha256(canonical((PROVENANCE, kind, key)).encode(errors="surrogatepass")).digest()


def _checksum(digest: bytes, value: bytes) -> bytes:
    """Checksum of an entry's bytes under its key: moved to another key they are damaged, too."""
    return sha256(digest + value).digest()


def _connected(path: Path) -> sqlite3.Connection:
    """The database, ready to be written to, made afresh if the file is damaged."""
    try:
        return _open(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        log.warning("the store is damaged (%s)", error)
        return _afresh(path)


def _afresh(path: Path) -> sqlite3.Connection:
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    # Made by SQLite itself it would be readable by everybody. One that exists is not touched: closing any descriptor of
    # a file ends all locks of the process on it, those of its other connections, too.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
        with _transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                connection.execute("DROP TABLE IF EXISTS answers")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in _TABLE.split(";"):
                connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
