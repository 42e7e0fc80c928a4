"""A process that computes for the dashboard, started and told what to do by work/pool.py."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from dpcore.provenance import PROVENANCE

from .packing import packed
from .warm import warm

NEWS = 0.02
"""Seconds within which a second report without news is not passed on."""


class Leave(Exception):
    """Raised through a task whose answer nobody waits for any more."""


def serve(line: Connection) -> None:
    """Take questions until the line is cut."""
    lock, inboxes = threading.Lock(), {}

    def say(number: int, kind: str, what: Any) -> None:
        said = packed(what)
        with lock:
            line.send((number, kind, said))

    with contextlib.suppress(EOFError, OSError):
        while True:
            number, kind, what = line.recv()
            if kind == "ask":
                inboxes[number] = inbox = queue.SimpleQueue()
                work = _Work(number, what, say, inbox, lambda number=number: inboxes.pop(number, None))
                try:
                    threading.Thread(target=work.run, name="work", daemon=True).start()
                except RuntimeError as error:  # no more threads to be had
                    work.end("error", error)
            elif (inbox := inboxes.get(number)) is not None:
                inbox.put(kind)


@dataclass(eq=False)
class _Work:
    """One conversation, as the one who computes sees it.

    word : the last one heard.   told : when that was.
    """

    number: int
    asked: bytes
    say: Callable[[int, str, Any], None]
    inbox: queue.SimpleQueue
    close: Callable[[], object]
    word: str = "on"
    told: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        try:
            task, problem, settings = ForkingPickler.loads(self.asked)
            answer = "value", task(problem, settings, progress=self.report)
        except BaseException as error:  # whatever it is, who asked is told, unless that one has left
            answer = "error", error
        self.end(*answer)

    def report(self, record: Any) -> bool:
        """Tell who asked, and wait for the word to go on."""
        with self.lock:  # a task may have threads of its own
            news = getattr(record, "upper", 0.0) != float("inf")
            if self.word != "leave" and (news or time.monotonic() - self.told >= NEWS):
                self._tell(record)
        if self.word == "leave":
            raise Leave
        return self.word == "stop"

    def _tell(self, record: Any) -> None:
        make = getattr(record, "answer", None)
        plain = record if make is None else replace(record, answer=None)
        self.say(self.number, "record", (plain, make is not None))
        while (word := self.inbox.get()) == "sketch":
            self.say(self.number, "sketch", make())
        self.word, self.told = word, time.monotonic()

    def end(self, kind: str, what: Any) -> None:
        """The last word."""
        self.close()
        with contextlib.suppress(OSError):
            try:
                if kind == "error":
                    ForkingPickler.loads(packed(what))
                self.say(self.number, kind, what)
            except Exception as error:  # it cannot be sent: a bug of the task, and no reason to leave who asked waiting
                told = what if kind == "error" else error
                self.say(self.number, "error", RuntimeError(f"{type(told).__name__}: {told}"))


def main() -> None:
    """Load what tasks need, connect to the address on standard input, and compute at a low priority until the line is
    cut. Where the source has changed meanwhile nothing is computed: the dashboard would file it as its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows: Ctrl-C is for the dashboard, which then cuts the line
    if hasattr(os, "nice"):
        os.nice(5)
    address, secret, made_by, modules = (sys.stdin.readline().strip() for _ in range(4))
    if made_by != PROVENANCE:
        sys.exit("The source has changed since the dashboard was started: start it again.")
    warm()
    for module in modules.split():
        import_module(module)
    with contextlib.suppress(OSError, EOFError):  # the dashboard has ended before this was up
        serve(Client(address, authkey=bytes.fromhex(secret)))
    os._exit(0)  # tasks under way need not be waited for


if __name__ == "__main__":
    main()
