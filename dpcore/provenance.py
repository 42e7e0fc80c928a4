"""What proves results in this process: the code itself and the libraries it computes with."""

from __future__ import annotations

import secrets
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import __version__

LIBRARIES = ("highspy", "numba", "numpy", "scipy")
"""Whose figures are part of a proof."""


def provenance(folder: Path = Path(__file__).parent) -> str:
    """A digest of every line of source under a folder, the version of this package and those of its libraries: two
    processes share it when they prove the same things.

    Without any source to look at, no two processes share it.
    """
    digest = sha256(repr((__version__, [_version(name) for name in LIBRARIES])).encode())
    files = sorted((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*.py"))
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"\n{name} {len(content)}\n".encode() + content)
    return digest.hexdigest() if files else secrets.token_hex(32)


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


PROVENANCE = provenance()
"""The provenance of this process, computed with the first import: later the files may be those of a newer release."""
