"""What leaves the program is safe where it arrives: spreadsheets, Python, web pages, file systems."""

from __future__ import annotations

import ast
import csv
import io
import json
import re

import pytest
from hostile import MARKUP, TEXTS
from hypothesis import given, settings
from strategies import losses
from test_uploads import GOOD

from dpcore import export as files
from dpcore.cli import main
from dpcore.data_dependent import data_dependent_problem
from dpcore.data_dependent import solve as solve_dependent
from dpcore.data_dependent.files import channel_to_csv
from dpcore.data_dependent.script import script as dependent_script
from dpcore.errors import InputError
from dpcore.isotropic.problem import IsotropicProblem
from dpcore.isotropic.script import script as isotropic_script
from dpcore.isotropic.search import solve as solve_isotropic
from dpcore.loss import parse_loss
from dpcore.noise import Gaussian
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.snippet import noise_script
from dpcore.vector import SensitivityProfile, VectorQuery
from dpcore.vector.compare import allocations
from dpcore.vector.profile import plain_name
from dpcore.vector.script import script as vector_script
from pages.vector_queries import takeaway

NUMBER = re.compile(r"[-+]?(\d+\.?\d*(e[-+]?\d+)?)?")
ARITHMETIC = re.compile(r"[-+0-9.e=,]*")
"""Numbers and signs: a spreadsheet that takes "-1=0.5" for a formula can call nothing and send nothing."""


@pytest.fixture(scope="module")
def solutions() -> dict:
    return {name: solve(problem, SolverSettings(gap=0.05)) for name, problem in GOOD.items()}


def cells(text: str) -> list[str]:
    """The cells as a spreadsheet cuts them."""
    return [cell for separator in ",;\t" for row in csv.reader(io.StringIO(text), delimiter=separator) for cell in row]


def harmless(cell: str) -> bool:
    """No spreadsheet runs this cell: it starts no formula, or is made of numbers."""
    return not re.match(r"[\s]*[=+\-@|%\t\r]", cell) or bool(ARITHMETIC.fullmatch(cell.strip()))


def test_no_cell_of_a_csv_file_is_a_formula(solutions):
    for solution in solutions.values():
        text = files.noise_to_csv(solution)
        assert all(map(harmless, cells(text)))
        body = text.splitlines()
        assert re.fullmatch(r"[a-z]+(,[a-z]+)+", body[0])
        assert all(NUMBER.fullmatch(cell) for line in body[1:] for cell in line.split(","))


def test_a_hostile_name_in_a_file_does_not_travel_on(solutions):
    """The only free text of a solution file is the name of its law."""
    data = files.solution_to_dict(solutions["plain"])
    for name in ['=HYPERLINK("x")', '"""\nimport os\n"""', "</script><script>", "x\n=1+1", "\r=1", "a,=1+1"]:
        data["noise"]["name"] = name
        try:
            again = files.solution_from_json(json.dumps(data))
        except InputError:
            continue
        assert all(map(harmless, cells(files.noise_to_csv(again))))
        only_data(files.python_snippet(again))


def test_a_snippet_is_data_and_the_program_that_draws_from_it(solutions):
    for solution in solutions.values():
        only_data(files.python_snippet(solution))


def test_scripts_and_tables_of_other_pages_are_data_too():
    """Also where a file gave the coordinates names."""
    query = VectorQuery(Privacy(1, 1e-3), SensitivityProfile((3.0, 2.0), names=("age", "=visits")))
    for one in allocations(query, ("gaussian-optimal", "blocks-optimal", "planar-staircase")):
        program = vector_script(query, one)
        only_data(program)
        assert "visits" not in program and all(map(harmless, cells(takeaway.samples_csv(one))))
    for shape in ("points", "spread", "clamped"):
        problem = data_dependent_problem(
            1, 0.2, 1, "l1", query_range=(0, 60 if shape == "clamped" else 3), monotone=shape == "spread"
        )
        solution = solve_dependent(problem, SolverSettings(gap=0.5, time_limit=2))
        only_data(dependent_script(solution))
        assert all(map(harmless, cells(channel_to_csv(solution))))
    only_data(noise_script(Gaussian(2.0), ["Gaussian noise"], {}, {}))
    radial = IsotropicProblem(2, Privacy(1, 0.1))
    only_data(isotropic_script(solve_isotropic(radial, SolverSettings(gap=0.5, time_limit=5))))


def only_data(program: str) -> None:
    """Constants, the known functions and imports, and nothing else at the top."""
    tree = ast.parse(program)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"__future__", "secrets", "bisect", "fractions", "itertools", "math", "decimal", "flint"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "open", "__import__", "getattr", "setattr"}


@pytest.mark.parametrize("text", [t for t in TEXTS if len(t) < 200], ids=repr)
def test_the_text_of_a_loss_is_made_anew_and_never_repeated(text):
    """What a loss is called in files comes from its numbers."""
    for prefix in ("", "lp:", "huber:", "table:0=0,", "asym:1:"):
        try:
            loss = parse_loss(prefix + text)
        except InputError:
            continue
        assert re.fullmatch(r"[a-z0-9:=,.e+\-]+", loss.spec)


@given(losses())
@settings(max_examples=50)
def test_no_cell_of_any_loss_is_a_formula(loss):
    assert all(map(harmless, cells(f"# Problem: epsilon = 1.0, loss {loss.spec}, more")))


@pytest.mark.parametrize("text", [t for t in TEXTS + MARKUP if plain_name(t)], ids=repr)
def test_names_of_sensitivities_are_made_plain(text):
    """Whatever a file calls a coordinate, nothing of it runs in a spreadsheet or a program."""
    query = VectorQuery(Privacy(1.0, 0.0), SensitivityProfile((2.0, 1.0), names=(text, "b")))
    (found,) = allocations(query, ("laplace-optimal",))
    table = takeaway.scales_csv(query, [found])
    assert all(map(harmless, cells(table)))
    assert plain_name(text) in next(csv.reader([table.splitlines()[-2]]))
    for name in query.profile.names:
        assert not re.search(r"""[^\w .%‰°€£¥·/()'+−…-]""", name) and len(name) <= 60


def test_json_is_strict(solutions):
    for solution in solutions.values():
        json.loads(files.solution_to_json(solution), parse_constant=lambda name: pytest.fail(name))


def test_a_figure_file_holds_one_script_of_ours_and_the_numbers_as_data(solutions):
    from pages.optimal_noise.panels import View
    from pages.optimal_noise.takeaway import figure_file

    problem = GOOD["plain"]
    evil = "</script><script>alert(1)</script>"
    page = figure_file(solutions["plain"], View(problem, SolverSettings(), evil, ()))
    assert evil not in page and "alert(1)</script>" not in page
    data = re.search(r'<script type="application/json" id="solution">(.*?)</script>', page, re.S)
    assert json.loads(data[1])["epsilon"] == 1.0


@pytest.mark.parametrize("name", ["a/../../x", "/", "\x00", "x" * 5000, "", "con\x00fig", "missing/folder/x.json"])
def test_files_are_written_where_the_command_says_or_not_at_all(name, tmp_path, monkeypatch, capsys):
    """`--out` is the user's own path; the program adds nothing to it, makes no folder and names it when it fails."""
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    status = main(["solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.5", "--out", name])
    assert status == 2 and "out = " in capsys.readouterr().err
    assert set(tmp_path.rglob("*")) == before


def test_names_of_downloads_are_made_of_numbers():
    """Every download's file name in the pages is a literal with numbers, so no text of a visitor can be a path."""
    from visits import ROOT

    found = 0
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "download_button":
                found += 1
                named = [word.value for word in node.keywords if word.arg == "file_name"]
                name = named[0] if named else node.args[2]
                texts = [part.value for part in ast.walk(name) if isinstance(part, ast.Constant)]
                assert texts and all(re.fullmatch(r"[\w. -]*", str(text)) for text in texts)
                read = {part.id for part in ast.walk(name) if isinstance(part, ast.Name)}
                assert not read & {"unit", "label", "title", "text"}, f"{path.name}: {ast.unparse(name)}"
    assert found >= 4
