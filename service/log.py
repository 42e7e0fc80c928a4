"""The log: one JSON line per event, made so that nothing a visitor typed, uploaded or is can get into it.

With `DP_FRONTIER_LOG=json` every log record of every library is stripped at birth: its text and arguments are dropped,
its exception is reduced to a class and a place in the program. What is left says what happened where, and the events
of `FIELDS` say more, in numbers and fixed words.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[1]

FIELDS: dict[str, frozenset[str]] = {
    "start": frozenset({"version", "python", "workers", "store", "metrics"}),
    "stop": frozenset({"seconds"}),
    "solve": frozenset({"task", "outcome", "seconds", "waited"}),
    "script error": frozenset({"error", "place"}),
    "refused": frozenset({"reason"}),
}
"""Events and what is said about each; docs/operate.md explains them."""

_WORD = re.compile(r"[A-Za-z0-9_.:/+ -]{0,80}")

_log = logging.getLogger("dp_frontier")


@dataclass(frozen=True)
class Event:
    """An event as the message of a log record."""

    name: str
    said: dict[str, str | int | float | bool]

    def __post_init__(self) -> None:
        unknown = self.said.keys() - FIELDS[self.name]
        if unknown:
            raise ValueError(f"the log says nothing about {sorted(unknown)} of {self.name!r}")
        if wrong := [key for key, value in self.said.items() if isinstance(value, str) and not _WORD.fullmatch(value)]:
            raise ValueError(f"{wrong} of {self.name!r} are no fixed words")

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.said.items())])


def record(event: str, *, level: int = logging.INFO, **said: str | int | float | bool) -> None:
    """Put an event of `FIELDS` into the log."""
    _log.log(level, Event(event, said))


def install() -> None:
    """Turn every record of this process, whichever library logs it, into one line of JSON on stderr."""
    logging.setLogRecordFactory(_stripped)
    bare = logging.Formatter("%(message)s")
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    for handler in [handler for log in [*loggers, logging.root] for handler in log.handlers]:
        handler.setFormatter(bare)
    if not _log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(bare)
        _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    _log.propagate = False
    logging.captureWarnings(True)
    sys.excepthook = _report
    threading.excepthook = lambda failure: _report(failure.exc_type, failure.exc_value, failure.exc_traceback)


def place(error: BaseException | None) -> str:
    """Where in this program an exception arose, as "dpcore/lp.py:70"; outside of it, the innermost file and line."""
    frames = traceback.extract_tb(error.__traceback__ if error is not None else None)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT) and ".venv" not in frame.filename]
    if not frames:
        return ""
    frame = (own or list(frames))[-1]
    path = Path(frame.filename)
    name = path.relative_to(ROOT).as_posix() if own else path.name
    return re.sub(r"[^\w./-]", "", name, flags=re.A)[-60:] + f":{frame.lineno}"


def _stripped(name, level, pathname, line, message, arguments, failure, function=None, stack=None, **more):
    """A log record whose whole text is a line of JSON without anything that was in message or arguments."""
    said: dict[str, object] = {"time": _now(), "level": logging.getLevelName(level)}
    if isinstance(message, Event):
        said |= {"event": message.name, **message.said}
    else:
        said |= {"event": "library", "logger": name, "place": f"{Path(pathname).name}:{line}"}
    error = failure[1] if isinstance(failure, tuple) else failure if isinstance(failure, BaseException) else None
    if error is not None:
        said |= {"error": type(error).__name__, "place": place(error)}
    return logging.LogRecord(name, level, pathname, line, json.dumps(said), (), None, function)


def _report(kind: type[BaseException], error: BaseException | None, _: TracebackType | None) -> None:
    if kind is not None and issubclass(kind, KeyboardInterrupt):
        return
    record("script error", level=logging.ERROR, error=kind.__name__, place=place(error))


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
