"""Compiled kernels: the only import of numba."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Numba keeps compiled code next to the source, else in the user's cache, else it refuses to be imported. Where
# neither can be written, a private directory of this process will do; a shared one could be filled by others.
if "NUMBA_CACHE_DIR" not in os.environ and not any(
    os.access(place, os.W_OK) for place in (Path(__file__).parent, os.path.expanduser("~"))
):
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="dpcore-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
