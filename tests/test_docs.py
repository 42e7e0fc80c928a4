"""The manuals: their commands run, their program checks a certificate, their links and file names exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dpcore.cli import main
from dpcore.loss import FAMILIES
from dpcore.problem_fields import LISTS

ROOT = Path(__file__).parents[1]
FIRST = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "dpcore/README.md")]
MANUALS = [*FIRST, *sorted((ROOT / "docs").glob("*.md"))]


def commands(text: str) -> list[list[str]]:
    """Every `python -m dpcore …` in a sh block that is meant to be typed."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    typed = [line.split(">")[0] for line in lines if line.startswith("python -m dpcore") and "[options]" not in line]
    return [shlex.split(line)[3:] for line in typed if "FILE" not in line]


def test_the_readme_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = commands((ROOT / "README.md").read_text())
    assert len(examples) >= 4
    answers = []
    for arguments in examples:
        assert main(arguments) == 0, arguments
        answers.append(json.loads(capsys.readouterr().out))
    compared, one_sided = answers[0], answers[1]
    by_key = {row["key"]: row for row in compared}
    assert by_key["optimal"]["loss"] == pytest.approx(0.06198, abs=1e-4)
    assert by_key["laplace"]["lower_bound_ratio"] == pytest.approx(3.23, abs=0.01)
    assert one_sided["lower"] >= 2.78 and one_sided["upper"] <= 2.83


def test_the_certificate_is_rechecked_as_the_manual_says(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    manual = (ROOT / "docs" / "certificate.md").read_text()
    (arguments,) = commands(manual)
    assert main(arguments) == 0
    capsys.readouterr()
    exec("\n".join(re.findall(r"```python\n(.*?)```", manual, re.S)), {})
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[1] for line in lines if line] == ["True", "True"]


def test_the_program_of_the_core_manual_runs(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "dpcore" / "README.md").read_text(), re.S)
    exec(program, {})
    assert "Certificate(lower=0.558" in capsys.readouterr().out


@pytest.mark.parametrize("manual", ["README.md", "docs/api.md"])
def test_the_programs_of_the_python_interface_run(manual, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / manual).read_text(), re.S)
    exec(program, {})
    assert "0.558" in capsys.readouterr().out


@pytest.mark.parametrize("manual", MANUALS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_names_exist(manual):
    text = manual.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (manual.parent / target).exists(), f"{manual.name} links to {target}"
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).exists(), f"{manual.name} names {name}"


def test_the_table_of_equations_names_what_exists():
    import importlib

    text = (ROOT / "docs" / "method.md").read_text().split("## Equation ↔ function")[1].split("## Rounding")[0]
    classes = {"Loss": "loss", "Privacy": "privacy", "PiecewiseNoise": "noise.piecewise"}
    for name in re.findall(r"`([\w.]+)`", text):
        head, *rest = name.split(".")
        place = f"{classes[head]}.{head}".split(".") + rest if head in classes else [head, *rest]
        for cut in range(len(place), 0, -1):
            try:
                found = importlib.import_module("dpcore." + ".".join(place[:cut]))
                break
            except ModuleNotFoundError:
                continue
        else:
            pytest.fail(f"method.md names {name}")
        for part in place[cut:]:
            assert hasattr(found, part), f"method.md names {name}"
            found = getattr(found, part)


SECTIONS = {"2", "2.1", "2.2", "3", "3.1", "3.2", "4", "4.1", "4.2", "5", "5.1", "5.2", "5.3", "6"}
"""Sections of [SLW], as printed."""


def test_cited_sections_of_the_paper_exist():
    for folder in ("dpcore", "pages", "docs", "tests", "assets"):
        for path in [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md"), *(ROOT / folder).rglob("*.json")]:
            for cited in re.findall(r"\[SLW[^\]]*\]", path.read_text()):
                wrong = set(re.findall(r"§(\d+(?:\.\d+)*)", cited)) - SECTIONS
                assert not wrong, f"{path.relative_to(ROOT)} cites {cited}"


def test_every_citation_is_listed():
    listed = set(re.findall(r"\*\*\[([\w-]+)\]\*\*", (ROOT / "dpcore" / "README.md").read_text()))
    pattern = re.compile(r"\[(SLW(?:-S)?|GV\d\d|G\d\d|BW\d\d|MSVV|CKS\d\d|MK|DMNS\w*|Awan)[\],;]")
    for path in [*(ROOT / "dpcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        missing = set(pattern.findall(path.read_text())) - listed
        assert not missing, f"{path.relative_to(ROOT)} cites {missing}"


@pytest.mark.parametrize("key", FAMILIES)
def test_every_loss_is_in_the_manual_of_the_command_line(key):
    assert re.search(rf"^\| `{key}[:`]", (ROOT / "docs" / "cli.md").read_text(), re.M)


@pytest.mark.parametrize(("command", "name"), [(command, name) for command in LISTS for name in LISTS[command]])
def test_every_field_of_a_problem_is_in_the_manual_of_the_command_line(command, name):
    """As an option in the command's own section, and as a key of what it prints, if it prints its problem."""
    manual, flag = (ROOT / "docs" / "cli.md").read_text(), LISTS[command][name].flagged
    section = "".join(re.findall(rf"^## [^\n]*`{command}`.*?(?=^## |\Z)", manual, re.M | re.S))
    assert re.search(rf"^\|[^|]*`--{flag}[ =`]", section, re.M)
    assert command == "profile" or re.search(rf"^\|[^|]*`{name}`|^The JSON has[^\n]*`{name}`", section, re.M)
