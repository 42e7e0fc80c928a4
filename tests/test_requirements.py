"""requirements.txt pins one version of everything that pyproject.toml asks for by ranges, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
RANGES = [Requirement(line) for lines in (PROJECT["dependencies"], *EXTRAS.values()) for line in lines]
OURS = canonicalize_name(PROJECT["name"])
LIBRARIES = {canonicalize_name(one.name): one for one in RANGES if canonicalize_name(one.name) != OURS}


LARGE = {"opendp"}
"""Extras that the dashboard does without: 265 MB unpacked. Development pins them."""


def pins(file: str = "requirements.txt") -> dict[str, str]:
    """Name → version of every line of a file."""
    lines = (line.split("#")[0].strip() for line in (ROOT / file).read_text().splitlines())
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in found}


def test_the_same_libraries_are_pinned_and_ranged():
    assert pins().keys() == LIBRARIES.keys() - LARGE and pins("requirements-dev.txt").keys() >= LARGE


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_a_pin_lies_in_its_range(name):
    pin = pins("requirements-dev.txt" if name in LARGE else "requirements.txt")[name]
    assert LIBRARIES[name].specifier.contains(pin) and "==" not in str(LIBRARIES[name].specifier)


def test_all_is_everything():
    """`[dashboard]` takes every other extra in but the large ones, and `[all]` is another name for it."""
    (dashboard,) = [Requirement(line) for line in EXTRAS["dashboard"] if Requirement(line).name == PROJECT["name"]]
    assert dashboard.extras == EXTRAS.keys() - {"dashboard", "all"} - LARGE
    assert EXTRAS["all"] == [f"{PROJECT['name']}[dashboard]"]


def test_every_extra_that_the_code_names_exists():
    named = {
        line.split('needs("')[1].split('"')[0]
        for path in (ROOT / "dpcore").rglob("*.py") for line in path.read_text().splitlines() if 'with needs("' in line
    }  # fmt: skip
    assert named and named <= EXTRAS.keys() - {"dashboard", "all"}
