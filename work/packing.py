"""What goes from one process to another, as bytes."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

TRIES = 20


def packed(what: Any) -> bytes:
    """The object as bytes, which `ForkingPickler.loads` reads.

    Problems and laws keep what was once asked of them (`cached_property`). Where another thread asks for the first time
    while they are packed, Python gives up ("dictionary changed size during iteration"): then it is begun anew.
    """
    for _ in range(TRIES - 1):
        try:
            return bytes(ForkingPickler.dumps(what))
        except RuntimeError:
            continue
    return bytes(ForkingPickler.dumps(what))
