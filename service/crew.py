"""Processes that compute for the dashboard, so that its own process is free for those who look at it.

Each of them holds many conversations at once, one for every question put to it: it reports what the task reports, and
goes on only when it is told to, so that whose turn it is stays the business of whoever asked. What goes to and fro are
Python's own bytes for this project's objects, between processes that know a secret of this start; nothing from
outside is ever read.
A process that dies takes its conversations with it (`Lost`) and is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from .warm import warm

ROOT = Path(__file__).parents[1]

PATIENCE = 60.0
"""Seconds that a process has to start in."""

NEWS = 0.02
"""Seconds within which a second report without news is not passed on."""

Task = Callable[..., Any]
Report = Callable[[Any], bool]


class Lost(RuntimeError):
    """The process that worked on a question is gone."""


class Leave(Exception):
    """Raised through a task whose answer nobody waits for any more."""


# The side that asks --------------------------------------------------------------------------------------


class Crew:
    """Some processes. Starting them takes about a second, in which nobody waits: until one is up, tasks run where they
    are asked for."""

    def __init__(self, size: int) -> None:
        self._members: list[_Member] = []
        self._lock, self._open = threading.Lock(), True
        for _ in range(size):
            self._hire()
        atexit.register(self.close)

    @property
    def ready(self) -> int:
        """Processes that are up."""
        return len(self._members)

    @property
    def pids(self) -> list[int]:
        """Of those."""
        return [member.pid for member in self._members]

    def answer(self, task: Task, problem: Any, settings: Any, report: Report) -> Any:
        """What the task returns, or raises; `report` is called in this thread.

        Raises
        ------
        Lost : the process has died.
        """
        with self._lock:
            member = min(self._members, key=lambda one: one.busy, default=None)
            if member is not None:
                talk = member.begin()
        if member is None:
            return task(problem, settings, progress=report)
        try:
            return _conduct(talk, task, problem, settings, report)
        finally:
            member.end(talk)

    def close(self) -> None:
        """Dismiss all."""
        with self._lock:
            self._open, members, self._members = False, self._members, []
        for member in members:
            member.dismiss()

    def _hire(self) -> None:
        threading.Thread(target=self._start, name="crew", daemon=True).start()

    def _start(self) -> None:
        member = _Member.start()
        with self._lock:
            if self._open:
                self._members.append(member)
                threading.Thread(target=self._hear, args=(member,), name="crew", daemon=True).start()
                return
        member.dismiss()

    def _hear(self, member: _Member) -> None:
        member.hear()
        with self._lock:
            again = self._open
            self._members = [other for other in self._members if other is not member]
        member.dismiss()
        if again:
            self._hire()


@dataclass(eq=False)
class _Talk:
    """One conversation, as the one who asked sees it."""

    number: int
    say: Callable[[int, str, Any], None]
    heard: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)

    def send(self, kind: str, what: Any = None) -> None:
        self.say(self.number, kind, what)

    def receive(self) -> tuple[str, Any]:
        kind, what = self.heard.get()
        if kind == "lost":
            raise Lost("the process that worked on it is gone")
        return kind, ForkingPickler.loads(what)

    def sketch(self) -> Any:
        """The answer of the moment, between a record and the word to go on."""
        self.send("sketch")
        _, answer = self.receive()
        return answer


def _conduct(talk: _Talk, task: Task, problem: Any, settings: Any, report: Report) -> Any:
    talk.send("ask", (task, problem, settings))
    while True:
        kind, what = talk.receive()
        if kind == "value":
            return what
        if kind == "error":
            raise what
        record, has_answer = what
        try:
            stop = report(replace(record, answer=talk.sketch) if has_answer else record)
        except BaseException:
            with contextlib.suppress(Lost):
                talk.send("leave")
            raise
        talk.send("stop" if stop else "on")


class _Member:
    """One process, as this one sees it."""

    def __init__(self, process: subprocess.Popen, line: Connection) -> None:
        self.pid, self._process, self._line = process.pid, process, line
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._talks: dict[int, _Talk] = {}
        self._gone = False

    @classmethod
    def start(cls) -> _Member:
        """A process of its own, connected; at a lower priority than this one."""
        secret = secrets.token_bytes(32)
        with Listener(authkey=secret) as listener:
            process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, cwd=ROOT)
            process.stdin.write(f"{listener.address}\n{secret.hex()}\n".encode())
            process.stdin.close()

            def give_up() -> None:  # its place on the line is taken, and given up
                process.kill()
                Client(listener.address, authkey=secret).close()

            late = threading.Timer(PATIENCE, give_up)
            late.start()
            try:
                return cls(process, listener.accept())
            finally:
                late.cancel()

    @property
    def busy(self) -> int:
        return len(self._talks)

    def begin(self) -> _Talk:
        talk = _Talk(next(self._numbers), self._say)
        self._talks[talk.number] = talk
        if self._gone:
            talk.heard.put(("lost", None))
        return talk

    def end(self, talk: _Talk) -> None:
        self._talks.pop(talk.number, None)

    def hear(self) -> None:
        """Hand on what it says until it is gone."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, kind, what = self._line.recv()
                talk = self._talks.get(number)
                if talk is not None:
                    talk.heard.put((kind, what))
        self._gone = True
        for talk in list(self._talks.values()):
            talk.heard.put(("lost", None))

    def dismiss(self) -> None:
        self._line.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(2)

    def _say(self, number: int, kind: str, what: Any) -> None:
        packed = bytes(ForkingPickler.dumps(what))
        try:
            with self._lock:
                self._line.send((number, kind, packed))
        except OSError:
            raise Lost("the process that worked on it is gone") from None


# The side that computes ----------------------------------------------------------------------------------


def serve(line: Connection) -> None:
    """Take questions until the line is cut."""
    lock, inboxes = threading.Lock(), {}

    def say(number: int, kind: str, what: Any) -> None:
        packed = bytes(ForkingPickler.dumps(what))
        with lock:
            line.send((number, kind, packed))

    with contextlib.suppress(EOFError, OSError):
        while True:
            number, kind, what = line.recv()
            if kind == "ask":
                inboxes[number] = inbox = queue.SimpleQueue()
                work = _Work(number, what, say, inbox, lambda number=number: inboxes.pop(number, None))
                threading.Thread(target=work.run, name="work", daemon=True).start()
            elif number in inboxes:
                inboxes[number].put(kind)


@dataclass(eq=False)
class _Work:
    """One conversation, as the one who computes sees it."""

    number: int
    asked: bytes
    say: Callable[[int, str, Any], None]
    inbox: queue.SimpleQueue
    close: Callable[[], object]
    told: tuple[float, bool] = (0.0, False)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        try:
            task, problem, settings = ForkingPickler.loads(self.asked)
            answer = "value", task(problem, settings, progress=self.report)
        except Leave:
            return
        except Exception as error:  # whatever it is, who asked is told
            answer = "error", error
        finally:
            self.close()
        self._reply(*answer)

    def report(self, record: Any) -> bool:
        """Tell who asked, and wait for the word to go on."""
        with self.lock:  # a task may have threads of its own
            when, stop = self.told
            if getattr(record, "upper", 0.0) == float("inf") and time.monotonic() - when < NEWS:
                return stop
            make = getattr(record, "answer", None)
            plain = record if make is None else replace(record, answer=None)
            self.say(self.number, "record", (plain, make is not None))
            word = self.inbox.get()
            while word == "sketch":
                self.say(self.number, "sketch", make())
                word = self.inbox.get()
            self.told = time.monotonic(), word == "stop"
        if word == "leave":
            raise Leave
        return word == "stop"

    def _reply(self, kind: str, what: Any) -> None:
        with contextlib.suppress(OSError):
            try:
                self.say(self.number, kind, what)
            except Exception as error:  # it cannot be sent: a bug of the task, and no reason to leave who asked waiting
                self.say(self.number, "error", RuntimeError(f"{type(error).__name__}: {error}"))


def main() -> None:
    """Load what tasks need, connect to the address on standard input, and compute at a low priority until the line is
    cut."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the dashboard, which then cuts the line
    if hasattr(os, "nice"):
        os.nice(5)
    address, secret = (sys.stdin.readline().strip() for _ in range(2))
    warm()
    for place in sorted(ROOT.glob("pages/*/work.py")):  # the tasks of the pages: else the first visitor of each waits
        import_module(f"pages.{place.parent.name}.work")
    serve(Client(address, authkey=bytes.fromhex(secret)))
    os._exit(0)  # tasks under way need not be waited for


if __name__ == "__main__":
    main()
