"""A copy of the tree in which a recipe of CONTRIBUTING.md is followed, and a count of the files that it took."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = (
    "app.py", "server.py", "pyproject.toml", ".streamlit", "assets", "docs", "dpcore", "pages", "service", "work",
    "tests",
)  # fmt: skip


class Tree:
    """A copy of the product's files in an empty folder.

    `read`, `write` and `insert` follow a recipe; `touched` says which files that took; `run` runs Python in the copy.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
            else:
                shutil.copy(ROOT / name, folder)
        self._before = self._files()

    def _files(self) -> dict[str, bytes]:
        found = (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """A new file, or another text in an old one; folders are made."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, text: str, *, before: str) -> None:
        """A text before a mark that stands once in a file."""
        old = self.read(path)
        assert old.count(before) == 1, f"{path} has {old.count(before)} times {before!r}"
        self.write(path, old.replace(before, text + before))

    def touched(self) -> list[str]:
        """Files that are new, changed or gone, as `git diff --stat` would list them."""
        now = self._files()
        return sorted(path for path in self._before | now if self._before.get(path) != now.get(path))

    def run(self, *words: str) -> str:
        """What Python prints in the copy: `run("-m", "dpcore", …)`, `run("-c", code)`. Code finds tests/pages/screens
        as the tests of pages do."""
        paths = os.pathsep.join([str(self.root), str(self.root / "tests" / "pages")])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stderr[-4000:]}"
        return done.stdout


def recipe(title: str) -> str:
    """The text of a section of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n## {title}\n")
    assert rest, f"no section {title!r}"
    return rest.partition("\n## ")[0]
