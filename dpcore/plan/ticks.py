"""Where work on a plan may end before it is done: `tick` is called every moment of it, and what it does is up to who
asked for the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EVERY = 0.05
"""Seconds between two calls, at least."""


def _nothing() -> None:
    pass


_tick: ContextVar[Callable[[], object]] = ContextVar("tick", default=_nothing)


def tick(*_: object) -> bool:
    """Call what `ticking` was given, which ends the work by raising. Also fit as a solver's callback: it never asks to
    stop with what there is."""
    _tick.get()()
    return False


@contextmanager
def ticking(call: Callable[[], object]) -> Iterator[None]:
    """In what is done inside, in this thread, `tick` calls this, not too often."""
    last = -EVERY

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            call()
            last = time.monotonic()

    before = _tick.set(now_and_then)
    try:
        yield
    finally:
        _tick.reset(before)
