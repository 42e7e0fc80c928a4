"""Compiled kernels: the only import of numba.

Importing numba takes about 0.6 s, more than most solves. A kernel whose NumPy twin gives the same bits is therefore
used where numba is loaded already: in the server's workers, and after the reference method.
"""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

# Numba keeps compiled code next to the source, else in the user's cache, else it refuses to be imported. Where
# neither can be written, a private directory of this process will do; a shared one could be filled by others.
if "NUMBA_CACHE_DIR" not in os.environ and not any(
    os.access(place, os.W_OK) for place in (Path(__file__).parent, os.path.expanduser("~"))
):
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="dpcore-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)


def loaded() -> bool:
    """Whether numba is loaded, so that kernels take no time to begin with."""
    return "numba" in sys.modules


def faster(name: str, twin: ModuleType) -> ModuleType:
    """The kernels of this name if numba is loaded, else their NumPy twin."""
    return importlib.import_module(f".{name}", __name__) if loaded() else twin
