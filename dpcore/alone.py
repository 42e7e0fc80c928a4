"""Linear algebra on one thread: products here are small, and take several times as long when they are shared out."""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables of the environment that say on how many, read when NumPy is loaded."""


def alone() -> dict[str, str]:
    """The environment with one thread, where it does not ask for more."""
    return {**dict.fromkeys(THREADS, "1"), **os.environ}
