"""What every command shares: the parser, reading words, writing answers, ending well."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from ..errors import InputError

MISSING = "(missing)"
"""Given to the validators in place of an option that was left out, so that they say what it should have been."""

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line and does not guess abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {one_line(message)} (see {self.prog} --help)\n")


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Callable[[object], bool]]:
    """A progress callback that asks to stop after Ctrl-C. A second Ctrl-C does not wait for the solver."""
    asked: list[object] = []

    def note(*_: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    if threading.current_thread() is not threading.main_thread():
        yield lambda _: False  # signals belong to the main thread
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda _: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def refuse_unwritable(path: str, name: str = "out") -> None:
    """Found out before the work, not after it."""
    target = Path(path)
    try:
        fits = not target.is_dir() and os.access(target if target.exists() else target.parent, os.W_OK)
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise InputError(name, path, "a file that can be written")


def write_file(text: str, path: str, name: str = "out") -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(name, path, f"a file that can be written ({reason})") from None


def write_out(text: str, path: str | None) -> None:
    if path is not None:
        write_file(text, path)
    sys.stdout.write(text)
    sys.stdout.flush()


def ended(name: str, interrupted: bool) -> int:
    if interrupted:
        return complain(name, "interrupted: this is the best certified answer so far", EXIT_INTERRUPTED)
    return 0


def complain(name: str, message: str, status: int) -> int:
    print(f"{name}: {one_line(message)}", file=sys.stderr)
    return status


def one_line(text: str) -> str:
    """The text in one printable line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def clipped(value: object, length: int = 80) -> str:
    text = str(value)
    return text if len(text) <= length else text[:length] + "…"
