"""A copy of the tree in which a recipe of CONTRIBUTING.md is followed, and a count of the files that it took."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from numba.core.caching import _CacheLocator

ROOT = Path(__file__).parents[1]
COPIED = (
    "app.py", "server.py", "pyproject.toml", ".streamlit", "assets", "docs", "dpcore", "pages", "service", "work",
    "tests",
)  # fmt: skip
UNFINISHED = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")
"""What another process is just compiling."""


class Tree:
    """A copy of the product's files in an empty folder.

    `read`, `write` and `insert` follow a recipe; `touched` says which files that took; `run` runs Python in the copy.
    """

    def __init__(self, folder: Path) -> None:
        self.root, self._compiled = folder, folder / "__pycache__"
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=UNFINISHED)
            else:
                shutil.copy(ROOT / name, folder)
        self._keep_kernels()
        self._before = self._files()

    def _keep_kernels(self) -> None:
        """What Numba compiled of a folder is kept by the folder's path; sources keep their dates in the copy."""
        place, kernels = _CacheLocator.get_suitable_cache_subpath, "dpcore/kernels/any.py"
        kept = Path(os.environ["NUMBA_CACHE_DIR"], place(str(ROOT / kernels)))
        if kept.exists():
            shutil.copytree(kept, self._compiled / place(str(self.root / kernels)), ignore=UNFINISHED)

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
        environment["NUMBA_CACHE_DIR"] = str(self._compiled)
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
