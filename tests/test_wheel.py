"""The bare wheel in an empty environment solves, with nothing but the core's own dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from dpcore import __version__

ROOT = Path(__file__).parents[1]
EXTRA = (
    "streamlit", "dask", "distributed", "sklearn", "plotly", "pandas", "pyarrow", "clarabel", "dp_accounting", "joblib",
)  # fmt: skip


def pip(python: Path | str, *words: str) -> str:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy: setuptools leaves folders of its own where it builds."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "dpcore", source / "dpcore", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(out), str(source))
    (found,) = out.glob("dp_frontier-*.whl")
    return found


def test_the_wheel_has_the_core_only(wheel):
    archive = ZipFile(wheel)
    names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    (info,) = tops - {"dpcore"}
    assert info == f"dp_frontier-{__version__}.dist-info" and {"dpcore/py.typed", "dpcore/optimal/atlas.npz"} <= set(
        names
    )
    told = message_from_bytes(archive.read(f"{info}/METADATA"))
    needed = [line for line in told.get_all("Requires-Dist") if "extra ==" not in line]
    assert {re.split(r"\W", line)[0] for line in needed} == {"numpy", "scipy", "numba", "highspy", "platformdirs"}
    assert {"plot", "accounting", "cluster", "dashboard", "all"} <= set(told.get_all("Provides-Extra"))


@pytest.mark.timeout(300)
def test_the_bare_wheel_solves_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    (tmp_path / "constraints.txt").write_text("\n".join(pins))  # the versions whose wheels pip has already seen
    constraints = ("--constraint", str(tmp_path / "constraints.txt"), "--only-binary", ":all:", "--no-compile")
    pip(sys.executable, "--python", str(python), "install", *constraints, str(wheel))
    code = "import dpcore as dp; print(dp.solve(epsilon=1, delta=.2))"
    look = f"from importlib.util import find_spec; print([m for m in {EXTRA} if find_spec(m)])"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "PATH": "/usr/bin"}
    where = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "check": False}
    done = subprocess.run([python, "-c", code], **where)
    assert done.returncode == 0, done.stderr
    lower, upper = re.search(r"([\d.]+) ≤ least expected loss ≤ ([\d.]+)", done.stdout).groups()
    assert 0.558 < float(lower) <= float(upper) < 0.5595
    assert subprocess.run([python, "-c", look], **where).stdout == "[]\n", "and nothing else came along"
    plot = "import dpcore as dp; dp.solve(epsilon=2, delta=.3, gap=.1).plot()"
    failed = subprocess.run([python, "-c", plot], **where)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].endswith('plotly is not installed: pip install "dp-frontier[plot]"')
