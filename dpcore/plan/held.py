"""A file in memory, as DuckDB opens files: no path of the machine leads to it, and nothing is copied."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

PLACE = "held://people"
"""The one file there is."""


class Held(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system with one file, whose bytes these are."""

    protocol = "held"
    cachable = False

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self._raw = raw

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BytesIO:
        if mode != "rb":
            raise PermissionError(mode)
        return io.BytesIO(self._raw)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": len(self._raw), "type": "file"}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        return [self.info(path) if detail else path]

    def modified(self, path: str) -> datetime:
        return datetime.now(UTC)
