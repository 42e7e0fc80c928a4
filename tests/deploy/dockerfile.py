"""A Dockerfile read into steps, and its steps done without Docker: in a folder, by an ordinary user."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOBODY = 65_534
PYTHONS = [f"/usr/{where}bin/python3{minor}" for where in ("local/", "") for minor in (".13", ".12", ".11", "")]


@dataclass(frozen=True)
class Step:
    """One instruction: its name in capitals, its words, the options before them."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        return [word for word in shlex.split(self.text) if not word.startswith("--")]

    @property
    def options(self) -> dict[str, str]:
        found = (word.removeprefix("--").partition("=") for word in shlex.split(self.text) if word.startswith("--"))
        return {name: value for name, _, value in found}

    @property
    def command(self) -> list[str]:
        """The words of CMD in its JSON form."""
        return json.loads(self.text[self.text.index("[") :])


@dataclass
class Stage:
    """The steps from one FROM to the next."""

    image: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def named(self, name: str) -> list[Step]:
        return [step for step in self.steps if step.name == name]

    @property
    def environment(self) -> dict[str, str]:
        pairs = (word.partition("=") for step in self.named("ENV") for word in step.words)
        return {name: value for name, _, value in pairs}


def stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile; what stands before the first FROM is left out."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    found: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            found.append(Stage(image, alias))
        elif found:
            found[-1].steps.append(Step(name, rest.strip()))
    return found


class Sandbox:
    """A folder that stands for the image's file system, as far as these steps use it."""

    FOLDERS = ("/app", "/opt/venv", "/data")

    def __init__(self, root: Path) -> None:
        self.root, self.environment = root, {}
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self.python = next(filter(self._fits, [getattr(sys, "_base_executable", ""), *PYTHONS]), sys.executable)

    def _fits(self, python: str) -> bool:
        """The user of the image may run this Python, and it is new enough."""
        check = [python, "-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"]
        try:
            return subprocess.run(check, capture_output=True, cwd="/", **self.user).returncode == 0
        except OSError:
            return False

    def place(self, text: str) -> str:
        """The text with the image's folders replaced by those below the root."""
        for folder in self.FOLDERS:
            text = re.sub(rf"(?<![\w/]){re.escape(folder)}(?![\w])", str(self.root) + folder, text)
        return text

    def copy(self, sources: list[str], target: str, ignored: set[str]) -> None:
        """COPY from the project; `.dockerignore` must let every source through."""
        where = Path(self.place(target))
        for name in sources:
            source = ROOT / name
            assert name in ignored, f"{name} is not let through by .dockerignore"
            if source.is_dir():
                shutil.copytree(source, where, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                shutil.copy2(source, where / name)

    def run(self, command: str, *, home: Path) -> None:
        """RUN, with a Python of this machine where the image says python."""
        bare = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        indexes = {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
        command = re.sub(r"(?<!\S)python(?= -m pip)", sys.executable, self.place(command))
        command = re.sub(r"(?<!\S)python(?= )", self.python, command)
        subprocess.run(command, shell=True, cwd=self.root / "app", env=bare | indexes | self.environment, check=True)
