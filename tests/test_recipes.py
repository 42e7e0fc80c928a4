"""The recipes of CONTRIBUTING.md, followed in a copy of the tree: what is added works everywhere, in so many files."""

from __future__ import annotations

import re

import pytest
from recipes import Tree, recipe


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_the_copy_knows_what_was_touched(tree):
    tree.insert("dpcore/errors.py", "NEW = 1\n", before="class InputError(")
    tree.write("pages/new/page.py", "")
    where = tree.run("-c", "import dpcore.errors, screens; print(dpcore.errors.NEW, dpcore.__file__, screens.ROOT)")
    assert where == f"1 {tree.root}/dpcore/__init__.py {tree.root}\n"
    assert tree.touched() == ["dpcore/errors.py", "pages/new/page.py"]


NEW_LOSS = """
from screens import bounds, number, visit, words

from dpcore.cli import main
from dpcore.export import load_solution
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from pages.optimal_noise.inputs import HOME, read_problem, values_of

problem = noise_problem(1.0, 0.2, 1.0, "deadzone:0.5")
proof = solve(problem, SolverSettings(gap=0.01)).certificate
assert 0.2 < proof.lower < proof.upper < 1.01 * proof.lower < 0.5

asked = ["--epsilon", "1", "--delta", "0.2", "--loss", "deadzone:0.5", "--gap", "0.01", "--out", "solved.json"]
assert main(["solve", *asked]) == 0
assert load_solution("solved.json").problem == problem

link = HOME.query(HOME.read({})[0] | values_of(problem))
assert (link["loss"], link["tolerance"]) == ("deadzone", "0.5")
assert read_problem(HOME.read(link)[0]) == problem

page = visit(**link)
assert "|x| beyond a tolerance" in page.selectbox(key="loss").options
assert page.selectbox(key="loss").value == "deadzone" and number(page, "tolerance").value == "0.5"
lower, upper = bounds(page)
assert lower <= proof.upper and proof.lower <= upper
assert "error beyond 0.5" in words(page)
"""


def test_a_new_loss(tree):
    """Solved in Python and by the command line, chosen on the page, kept by a link and a file."""
    text = recipe("Add a loss")
    (entry,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (row,) = re.findall(r"```\n(\|.*?)```", text, re.S)
    tree.insert("dpcore/loss/families.py", f"{entry}\n\n", before="# Tables ---")
    tree.insert("docs/cli.md", row, before="| `table:FILE` |")
    assert tree.touched() == ["docs/cli.md", "dpcore/loss/families.py"]
    tree.run("-c", NEW_LOSS)
