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


TOPIC = '''"""A fair die, thrown until a six falls."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore import figures
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic
from pages.lessons.widgets import HEIGHT, Stops, slider

SIDES = Stops(6, (4, 6, 20))


def picture(values, colours):
    sides = int(values["di_sides"])
    chances = [(1 - 1 / sides) ** throws / sides for throws in range(10)]
    figure = go.Figure().add_bar(x=list(range(1, 11)), y=chances)
    table = {"throws": list(range(1, 11)), "chance": chances}
    alt = f"Chance of every number of throws; it takes {sides} on average."
    panel = Panel("Throws", figures.finish(figure, colours, height=HEIGHT), alt, table)
    return Picture(f"It takes **{sides}** throws on average.", (panel,), {"throws": f"{sides}, exact"})


TOPIC = Topic(
    name="dice", title="Dice", section="2", controls={"di_sides": SIDES},
    sidebar=lambda page: slider(page, "di_sides", "Sides"), picture=picture,
    experiments=tuple(Experiment(f"{sides} sides", {"di_sides": sides}) for sides in SIDES.stops),
    question=Question(
        "How many throws does a six take on average?", lambda: 6.0,
        lambda: "Every throw is a six with probability 1/6, so it takes 1/(1/6) = 6.",
    ),
)
'''
SEE_TOPIC = """
from pathlib import Path
from screens import AppTest, ROOT, settle, turn
from pages.mechanism_gallery.topics import TOPICS

page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "mechanism_gallery")
page.query_params["topic"], page.query_params["di_sides"] = "dice", "20"
settle(page.run())
words = " ".join(one.value for one in page.markdown)
assert page.title[0].value == "2 Dice" and "**20** throws" in words and "Throw, and count." in words, words
names = [one.name for one in TOPICS]
place = names.index("dice")
assert names[place - 1 : place + 2] == ["all_questions", "dice", "reconstruction"]
page.button(key="step_0").click().run()
assert page.query_params["di_sides"][0] == "4" and not page.exception
"""


def test_a_new_topic(tree):
    """Its folder, and nothing else: the page finds it, in its place, with controls, link, text and experiments."""
    assert "pages/<page>/topics/<name>" in recipe("Add a topic")
    folder, sections = (
        "pages/mechanism_gallery/topics/dice",
        ("claim", "in 60 seconds", "picture", "theorem", "references"),
    )
    tree.write(f"{folder}/__init__.py", TOPIC)
    words = "\n".join(f"## {section}\nThrow, and count." for section in sections)
    tree.write(f"{folder}/text.md", f"{words}\n## prediction\nHow many throws?\n* six\n* more")
    tree.run("-c", SEE_TOPIC)
    tests = ["tests/pages/test_mechanism_gallery.py", "-k", "dice or keys", "-p", "no:cacheprovider", "-n", "0", "-q"]
    assert " passed" in tree.run("-m", "pytest", *tests)
    assert len(tree.touched()) <= 2


PAGE = '''"""Primes: how many there are up to a number."""

import streamlit as st

from pages.primes import work
from pages.shared import compute, frame
from pages.shared.address import Address, Number
from pages.shared.watching import live

PAGE = Address("primes", most=Number(1000, 2, 10**6, whole=True))
PAGE.open()
st.title("Primes", anchor=False)
job = compute.ask("primes", work.Asked(PAGE["most"]), None, task=work.count)
live([job], lambda: frame.headline(f"There are **{job.solution}**." if job.done else "Counting …"))
'''
WORK = '''"""What the page lets compute in the background."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from work.question import TICK


@dataclass(frozen=True)
class Asked:
    most: int


def count(asked: Asked, settings: None, *, progress: Callable) -> tuple[int, int]:
    """(how many primes, the process that counted them)."""
    progress(TICK)
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, asked.most + 1)), os.getpid()
'''
SEE_PAGE = """
import os, re, time
from screens import AppTest, ROOT, settle, turn
from pages.registry import PAGES
from pages.shared import compute

assert PAGES[-1].tasks == "pages.primes.work"
compute.open_pool()
while not compute.figures().processes:  # until then tasks run here
    time.sleep(0.1)
page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "primes")
page.query_params["most"] = "100"
page.run()
for _ in range(100):
    words = " ".join(one.value for one in page.markdown)
    if found := re.search(r"[*][*][(](\\d+),\\s(\\d+)[)]", words):
        break
    time.sleep(0.1)
    page.run()
assert not page.exception and page.title[0].value == "Primes", page.exception
assert int(found[1]) == 25 and int(found[2]) != os.getpid(), words
compute.rest()
"""


def test_a_new_page(tree):
    """A folder of two modules and a line of the registry: in the menu, at its address, computing in the pool."""
    text = recipe("Add a page")
    assert "pages/registry.py" in text and "work.py" in text
    tree.write("pages/primes/page.py", PAGE)
    tree.write("pages/primes/work.py", WORK)
    end = "\n)  # fmt: skip\n"  # of the list of pages
    old = tree.read("pages/registry.py")
    assert old.endswith(end)
    line = '\n    Page("primes", "Primes", "calculate", "Explore", "How many primes there are below a number."),'
    tree.write("pages/registry.py", old.removesuffix(end) + line + end)
    tree.run("-c", SEE_PAGE)
    assert len(tree.touched()) <= 3


NEW_MECHANISM = """
import json

import numpy as np
import pytest
from screens import visit
from scipy.integrate import quad

from dpcore import audit, figures
from dpcore.accounting.curves import privacy_profile
from dpcore.accounting.mechanisms import parse_mechanism
from dpcore.accounting.pairs import dominating_pair
from dpcore.cli import main
from dpcore.mechanisms import MECHANISMS, baselines
from dpcore.problem import noise_problem

problem = noise_problem(1.0, 0.2, 1.0, "l2")
found = {one.key: one for one in baselines(problem)}["logistic"]
assert found.valid and found.loss == pytest.approx(np.pi**2 / 3) and found.noise.scale == 1.0
assert audit.delta_upper(found.noise, 1.0, 1.0) == 0 < audit.delta_upper(found.noise, 0.99, 1.0)
steps = np.linspace(-40, 40, 400001)
excess = np.maximum(found.noise.density(steps) - np.exp(0.3) * found.noise.density(steps - 1), 0)
assert audit.delta_upper(found.noise, 0.3, 1.0) == pytest.approx(excess.sum() * (steps[1] - steps[0]), rel=1e-6)

asked = ["--epsilon", "1", "--delta", "0.2", "--loss", "l2", "--gap", "0.05", "--out", "compared.json"]
assert main(["compare", *asked]) == 0
(row,) = [row for row in json.load(open("compared.json")) if row["key"] == "logistic"]
assert row["loss"] == found.loss and row["valid"] and row["lower_bound_ratio"] > 1

line = figures.line("logistic", figures.LIGHT)
assert line["color"] in figures.LIGHT.hues.values()
dashes = [figures.line(key, figures.LIGHT)["dash"] for key in MECHANISMS]
assert len(set(dashes)) == len(dashes)

named = parse_mechanism("logistic:epsilon=1")
assert named.noise == found.noise and named.guarantee == (1.0, 0.0)
assert privacy_profile(named.noise, [0.3], sensitivity=1.0)[0] == audit.delta_upper(found.noise, 0.3, 1.0)
divergence = dominating_pair(named.noise, 1.0).renyi(np.array([1.0, 2.0, 8.0]))
density = lambda x: float(named.noise.density(x))
for order, bound in zip((2.0, 8.0), divergence[1:]):
    exact = np.log(quad(lambda x: density(x) ** order * density(x - 1) ** (1 - order), -40, 40)[0]) / (order - 1)
    assert exact <= bound <= exact * 1.001
asked = ["--mechanism", "logistic:epsilon=1", "--count", "10", "--delta", "1e-5", "--out", "composed.json"]
assert main(["account", *asked]) == 0
totals = {total["rule"]: total["epsilon"] for total in json.load(open("composed.json"))["totals"]}
assert 5 < totals["exact"] < totals["renyi"] < totals["basic"] == 10

page = visit(overlays="logistic,laplace")
assert page.multiselect(key="overlays").value == ["logistic", "laplace"]
drawn = [one.proto for one in page.get("bidi_component") if "chart_" in one.proto.id]
(chart,) = [one for one in drawn if "Logistic" in one.json and "2px,2px" in one.json]
print(chart.id)
"""


def test_a_new_mechanism(tree):
    """Compared in Python, by the command line and on the page, drawn with its own line, composed by the accountant."""
    module, import_line, entry = re.findall(r"```python\n(.*?)```", recipe("Add a mechanism"), re.S)
    tree.write("dpcore/noise/logistic.py", module)
    tree.insert("dpcore/mechanisms.py", import_line, before="from .noise.staircase import")
    tree.insert("dpcore/mechanisms.py", entry, before='    "uniform": Entry(')
    assert tree.touched() == ["dpcore/mechanisms.py", "dpcore/noise/logistic.py"]
    tree.run("-c", NEW_MECHANISM)
