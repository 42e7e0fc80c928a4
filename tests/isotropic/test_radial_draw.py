"""Vectors released by the command line and by exported scripts, and what they say where python-flint is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from test_rounded import Fixed, fix

from dpcore.cli import main
from dpcore.isotropic import files
from dpcore.isotropic import release as radial
from dpcore.isotropic.audit import delta_upper, loss_upper
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.script import PACKAGE, script
from dpcore.isotropic.solution import IsotropicSolution
from dpcore.numbers import read_exactly
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.solution import Certificate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def solution() -> IsotropicSolution:
    """A law made by hand and audited."""
    breaks = np.arange(0, 41)
    heights = np.exp(-1.5 * breaks[:-1] / 8)
    masses = heights * np.diff((breaks / 40) ** 3)
    noise = RadialNoise.from_masses(
        dimension=3, sensitivity=0.3, resolution=8, breaks=breaks, masses=0.95 * masses / masses.sum(), atom=0.05
    )
    loss, delta = parse_loss("norm"), delta_upper(noise, 1.0)
    problem = IsotropicProblem(3, Privacy(1.0, delta), loss, 0.3)
    certificate = Certificate(0.0, loss_upper(noise, loss), delta, 0.3)
    return IsotropicSolution(problem, SolverSettings(), noise, certificate, (), (), 0.0, 40, 0, "by hand")


@pytest.fixture
def file(tmp_path, solution) -> str:
    path = tmp_path / "law.json"
    path.write_text(files.solution_to_json(solution))
    return str(path)


def test_a_vector_is_drawn(capsys, file, solution):
    assert main(["draw", "--noise", file, "--value", "0.1,−7, 1e-3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["release", "lattice_step", "extra_error", "dimension", "epsilon", "delta", "delta_upper",
                           "sensitivity", "version"]  # fmt: skip
    assert np.linalg.norm(np.array(found["release"]) - [0.1, -7, 1e-3]) <= solution.noise.edges[-1]
    step = found["lattice_step"]
    assert step == 2.0**-42 and all(one / step == int(one / step) for one in found["release"])
    assert found["extra_error"] == pytest.approx(step * 3**0.5 / 2)
    assert (found["dimension"], found["epsilon"], found["sensitivity"]) == (3, 1.0, 0.3)
    assert found["delta_upper"] <= found["delta"] == solution.problem.privacy.delta


@pytest.mark.parametrize(("value", "said"), [
    ("1,2", "value = 2 numbers: expected 3 numbers"), ("1,2,3,4", "expected 3 numbers"), ("1,x,3", "value = x"),
    ("1,nan,3", "value"), ("1,,3", "value"), (None, "value = (missing): expected the numbers of the vector"),
])  # fmt: skip
def test_values_that_are_refused(capsys, file, value, said):
    assert main(["draw", "--noise", file, *(["--value", value] if value else [])]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_claims_more_is_refused(capsys, file):
    text = Path(file).read_text()
    delta = json.loads(text)["delta"]
    Path(file).write_text(text.replace(f'"delta": {delta!r}', f'"delta": {delta / 2!r}'))
    assert main(["draw", "--noise", file, "--value", "1,2,3"]) == 2
    assert "a law with delta" in capsys.readouterr().err


def test_numbers_are_read_as_they_are_written():
    digits = "0.1234567890123456789012345678901234567890"
    assert read_exactly(f"{digits},-1e-300;  −2 5.", "value") == [
        Fraction(digits), Fraction(-1, 10**300), Fraction(-2), Fraction(5),
    ]  # fmt: skip


def test_the_script_releases_what_the_package_releases(monkeypatch, solution):
    text = script(solution)
    space: dict = {"__name__": "script"}
    exec(compile(text, "script", "exec"), space)
    value = [0.1, 0.2, -5.0]
    for number in range(5):
        fix(monkeypatch, number)
        monkeypatch.setattr(radial, "Uniform", Fixed)
        ours = [float(one) for one in radial.release(solution.noise, value)]
        fix(monkeypatch, number)
        space["Uniform"] = Fixed
        assert space["release"](value) == ours
    assert space["CERTIFICATE"]["delta_upper"] == solution.delta_upper and space["PROBLEM"]["dimension"] == 3
    with pytest.raises(ValueError, match="3 numbers"):
        space["release"]([1.0])


def test_the_script_runs_without_this_package(tmp_path, solution):
    """With python-flint and nothing of ours."""
    (tmp_path / "script.py").write_text(script(solution), encoding="utf-8")
    code = "import sys; sys.modules['dpcore'] = sys.modules['numpy'] = None; import runpy; " + (
        "runpy.run_path('script.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    said = done.stdout.splitlines()
    assert done.returncode == 0 and len(said) == 5 and said[1] == "One release of zeros, made-up values:"
    assert np.linalg.norm([float(one) for one in said[2:]]) <= solution.noise.edges[-1]


def test_without_the_library_scripts_and_the_command_say_what_to_install(tmp_path, file, solution):
    (tmp_path / "script.py").write_text(script(solution), encoding="utf-8")
    without = "import sys; sys.modules['flint'] = None; "
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "DP_FRONTIER_STORE": str(tmp_path / "store")}

    def run(code: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-c", without + code], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
        )

    done = run("import runpy; runpy.run_path('script.py', run_name='__main__')")
    assert done.returncode == 1 and f'pip install "{PACKAGE}"' in done.stderr.splitlines()[-1]
    words = ["draw", "--noise", file, "--value", "1,2,3"]
    done = run(f"from dpcore.cli import main; sys.exit(main({words!r}))")
    assert done.returncode == 1
    assert done.stderr == 'dpcore draw: flint is not installed: pip install "dp-frontier[release]"\n'
    done = run("import dpcore as dp; from dpcore.noise import Gaussian; print(dp.release(Gaussian(1.0), 5))")
    assert done.returncode == 0 and abs(float(done.stdout) - 5) < 40, "Gaussian noise needs no library"


def test_the_package_named_is_the_one_of_the_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["release"] == [PACKAGE]
