"""Processes that compute for the dashboard, so that its own process is free for those who look at it.

Each of them holds many conversations at once, one for every question put to it: it reports what the task reports, and
goes on only when it is told to, so that whose turn it is stays the business of whoever asked. What goes to and fro are
Python's own bytes for this project's objects, between processes that know a secret of this start; nothing from
outside is ever read. What such a process does is in work/process.py.
A process that dies takes its conversations with it (`Lost`) and is replaced. When the dashboard ends, however it ends,
the lines are cut, and so do they.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from dpcore.alone import alone
from dpcore.provenance import PROVENANCE

from .packing import packed

ROOT = Path(__file__).parents[1]

PATIENCE = 60.0
"""Seconds that a process has to start in."""

LONGEST = 300.0
"""Seconds that pass at most before a process that keeps dying is replaced once more."""

Task = Callable[..., Any]
Report = Callable[[Any], bool]

log = logging.getLogger(__name__)


class Lost(RuntimeError):
    """The process that worked on a question is gone."""


class Pool:
    """Some processes. Starting them takes about a second, in which nobody waits: until the first one is up, tasks run
    where they are asked for; never after, for what may have cost a process its life is not to take this one's.

    modules : what each of them loads at its start: those that tasks come from, or else the first question waits.
    """

    def __init__(self, size: int, modules: Sequence[str] = ()) -> None:
        self._processes: list[_Process] = []
        self._modules = tuple(modules)
        self._change, self._open, self._began = threading.Condition(), True, False
        for _ in range(size):
            threading.Thread(target=self._keep, name="pool", daemon=True).start()

    @property
    def ready(self) -> int:
        """Processes that are up."""
        return len(self._processes)

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes that are up."""
        return [process.pid for process in self._processes]

    def answer(self, task: Task, problem: Any, settings: Any, report: Report) -> Any:
        """What the task returns, or raises; `report` is called in this thread.

        Raises
        ------
        Lost : the process has died, or there is none.
        """
        with self._change:
            process = min(self._processes, key=lambda one: one.busy, default=None)
            if process is not None:
                conversation = process.begin()
        if process is not None:
            try:
                return _answer(conversation, task, problem, settings, report)
            finally:
                process.end(conversation)
        if self._began:
            raise Lost("there is no process to work on it")
        return task(problem, settings, progress=report)

    def wait(self) -> None:
        """Until a process is up; in vain if that takes very long."""
        with self._change:
            self._change.wait_for(lambda: self._processes or not self._open, PATIENCE)

    def close(self) -> None:
        """Dismiss all."""
        with self._change:
            self._open = False
            self._change.notify_all()
            processes = list(self._processes)
        for process in processes:
            process.kill()

    def _keep(self) -> None:
        """Have a process, and another one when it is gone: at once, but the more of them go at once, the later."""
        pause = 0.0
        while self._open:
            up = math.inf
            try:
                process = _Process.start(self._modules)
            except Exception as error:  # none is to be had, or it did not come up; tasks run here meanwhile
                log.warning("a process that solves did not start (%r)", error)
            else:
                up = time.monotonic()
                self._add(process)
            if time.monotonic() - up > PATIENCE:
                pause = 0.0
            with self._change:
                self._change.wait_for(lambda: not self._open, pause)
            pause = min(2 * pause + 1, LONGEST)

    def _add(self, process: _Process) -> None:
        with self._change:
            if self._open:
                self._processes.append(process)
                self._began = True
                self._change.notify_all()
            else:
                process.kill()
        process.hear()
        with self._change:
            self._processes = [other for other in self._processes if other is not process]
        process.dismiss()


@dataclass(eq=False)
class _Conversation:
    """One conversation, as the one who asked sees it.   rests : nothing is computed for it until there is a word."""

    number: int
    say: Callable[[int, str, Any], None]
    heard: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    rests: bool = False

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
        kind, answer = self.receive()
        if kind == "error":
            raise answer
        return answer


def _answer(conversation: _Conversation, task: Task, problem: Any, settings: Any, report: Report) -> Any:
    conversation.send("ask", (task, problem, settings))
    while True:
        kind, what = conversation.receive()
        if kind == "value":
            return what
        if kind == "error":
            raise what
        record, has_answer = what
        conversation.rests = True
        stop = report(replace(record, answer=conversation.sketch) if has_answer else record)
        conversation.rests = False
        conversation.send("stop" if stop else "on")


class _Process:
    """One process of the pool, as this one sees it."""

    def __init__(self, process: subprocess.Popen, line: Connection) -> None:
        self.pid, self._process, self._line = process.pid, process, line
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._conversations: dict[int, _Conversation] = {}

    @classmethod
    def start(cls, modules: Sequence[str] = ()) -> _Process:
        """A process of its own, connected; at a lower priority than this one, and out of reach of a terminal's Ctrl-C.

        Raises
        ------
        OSError, EOFError, Lost : it cannot be started, or did not come up.
        """
        secret, connected = secrets.token_bytes(32), threading.Event()
        with Listener(authkey=secret) as listener:
            process = subprocess.Popen(
                [sys.executable, "-m", "work.process"],
                stdin=subprocess.PIPE,
                cwd=ROOT,
                process_group=0,
                env=alone(),  # there are as many processes as may compute at once
            )

            def watch() -> None:  # one that will not come any more: its place on the line is taken, and given up
                end = time.monotonic() + PATIENCE
                while process.poll() is None and time.monotonic() < end:
                    if connected.wait(0.1):
                        return
                process.kill()
                process.wait()
                with contextlib.suppress(Exception):
                    Client(listener.address, authkey=secret).close()

            try:
                with process.stdin as line:
                    line.write(f"{listener.address}\n{secret.hex()}\n{PROVENANCE}\n{' '.join(modules)}\n".encode())
                threading.Thread(target=watch, name="pool", daemon=True).start()
                started = cls(process, listener.accept())
                if process.poll() is not None:
                    raise Lost("it died at its start")
            except BaseException:
                process.kill()
                process.wait()
                raise
            finally:
                connected.set()
        return started

    @property
    def busy(self) -> tuple[int, int]:
        """Conversations for which it computes, and all of them."""
        conversations = list(self._conversations.values())
        return sum(not conversation.rests for conversation in conversations), len(conversations)

    def begin(self) -> _Conversation:
        conversation = _Conversation(next(self._numbers), self._say)
        self._conversations[conversation.number] = conversation
        return conversation

    def end(self, conversation: _Conversation) -> None:
        """No more of it; if it is still under way there, it ends there, too."""
        self._conversations.pop(conversation.number, None)
        conversation.send("leave")

    def hear(self) -> None:
        """Hand on what it says until it is gone."""
        with contextlib.suppress(Exception):  # most likely the line's end; whatever it is, no more can be heard
            while True:
                number, kind, what = self._line.recv()
                conversation = self._conversations.get(number)
                if conversation is not None:
                    conversation.heard.put((kind, what))

    def kill(self) -> None:
        """Have it gone: whoever hears it takes note."""
        self._process.kill()

    def dismiss(self) -> None:
        """Let go of it, once nobody hears it and nobody begins to talk to it; who still does is told."""
        self._process.kill()
        self._process.wait()
        with self._lock:  # nobody is in the middle of a word on this line, whose number may be another's next
            self._line.close()
        for conversation in list(self._conversations.values()):
            conversation.heard.put(("lost", None))

    def _say(self, number: int, kind: str, what: Any) -> None:
        said = packed(what)
        with contextlib.suppress(OSError), self._lock:  # whoever listens will hear that it is gone
            self._line.send((number, kind, said))
