"""`import dpcore as dp`: a short list of stable names, light to import, with answers that a notebook can show."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpcore as dp
from dpcore import display
from dpcore.interface import Asked
from dpcore.noise import Uniform
from dpcore.problem_fields.noise import FIELDS

ROOT = Path(__file__).parents[1]
PROBLEMS = {
    "even": {"epsilon": 1, "delta": 0.2},
    "counts": {"epsilon": 1, "delta": 0.1, "granularity": 1},
    "pure": {"epsilon": 1, "delta": 0},
    "one-sided": {"epsilon": 1, "delta": 0.2, "support": (-4.0, 0.0), "gap": 0.05},
    "curve": {"profile": "gdp:1", "gap": 0.2},
    "table": {"epsilon": 2, "delta": 0.3, "loss": "table:-1=1,0=0,3=1", "gap": 0.05},
}


@pytest.fixture(scope="module")
def found() -> dict[str, dp.Solution]:
    return {name: dp.solve(**asked) for name, asked in PROBLEMS.items()}


def test_the_manual_lists_the_stable_names():
    listed = (ROOT / "docs" / "api.md").read_text().split("## Stable names")[1]
    cells = [line.split("|")[1] for line in listed.splitlines() if line.startswith("| `dp.")]
    assert sorted(name for cell in cells for name in re.findall(r"`dp\.(\w+)`", cell)) == sorted(dp.__all__)


@pytest.mark.parametrize("name", dp.__all__)
def test_every_stable_name_is_there_and_says_what_it_is(name):
    value = getattr(dp, name)
    assert len(inspect.getdoc(value) or "") > 15
    if inspect.isfunction(value) and value.__module__ == "dpcore.interface" and name != "save":
        assert "Returns\n" in value.__doc__ or value.__doc__.startswith("The ")
        assert "Raises\n" in value.__doc__


def test_a_name_stays_what_it_is_whatever_is_imported():
    """A submodule of the same name would take its place."""
    modules = {module.name for module in pkgutil.iter_modules(dp.__path__)}
    same = {"mechanisms", "data_dependent", "private_optimization", "vector"}  # these are the submodules
    assert modules & set(dp.__all__) == same


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        dp.no_such_name  # noqa: B018
    assert set(dp.__all__) <= set(dir(dp))


def test_importing_costs_nothing():
    """Less than 0.3 s, by the interpreter's own clock; and no library is loaded."""
    heavy = ("numpy", "scipy", "numba", "highspy", "plotly")
    code = f"import dpcore, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    (line,) = [line for line in done.stderr.splitlines() if line.endswith("| dpcore")]
    assert int(line.split("|")[1]) < 300_000 and done.stdout.strip() == "[]"


def test_keywords_and_a_ready_problem_ask_the_same(found):
    again = dp.solve(dp.noise_problem(1, 0.2))
    assert again.certificate == found["even"].certificate and again.problem == found["even"].problem
    with pytest.raises(TypeError, match="another one: delta"):
        dp.solve(again.problem, delta=0.1)
    told = dp.solve(epsilon=1, delta=0.2, budget=("exceed:2", 0.05), second=(2, 0.1), gap=0.2).problem
    assert told.budget == dp.Budget(dp.losses.exceedance(2), 0.05) and told.second == dp.Privacy(2, 0.1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"epsilon": 1}, "delta = (missing): expected 0 or a number"),
        ({"epsilon": -1, "delta": 0.1}, "epsilon = -1: expected"),
        ({"epsilon": 1, "delta": 0.1, "loss": "l3"}, "loss = l3: expected"),
        ({"epsilon": 1, "delta": 1e-6, "support": (0, 1)}, "support = [0, 1]: expected"),
    ],
)
def test_what_is_wrong_is_said_as_everywhere(asked, message):
    with pytest.raises(dp.InputError) as caught:
        dp.solve(**asked)
    assert str(caught.value).startswith(message)
    with pytest.raises(TypeError, match="epsilom"):
        dp.solve(epsilom=1, delta=0.1)


def test_the_keywords_are_the_fields_of_a_problem():
    assert tuple(Asked.__annotations__) == tuple(FIELDS)
    assert all(re.search(rf"^ +(\w+, )?{name}\b.* :", inspect.getsource(Asked), re.M) for name in FIELDS)


def test_signatures_show_the_keywords_of_the_problem():
    for function in (dp.solve, dp.compare, dp.sweep, dp.invert, dp.frontier):
        assert FIELDS.keys() <= inspect.signature(function).parameters.keys()


def test_a_sweep_is_sorted_and_says_what_was_refused(tmp_path):
    rows = dp.sweep(epsilon=[2, 0], delta=[0.3, 0], loss=["l1", "l2"], gap=0.05, out=tmp_path / "rows.csv")
    solved = [one for one in rows if isinstance(one, dp.Outcome)]
    assert [(o.problem.loss.spec, o.problem.privacy.epsilon, o.problem.privacy.delta) for o in solved] == [
        (loss, *pair) for loss in ("l1", "l2") for pair in ((0, 0.3), (2, 0), (2, 0.3))
    ]
    assert [type(one) for one in rows[len(solved) :]] == [dp.Refused] * 2
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 1 + len(rows)
    assert len(dp.sweep(epsilon=[1, 2], delta=0.3, gap=0.05, progress=lambda _: True)) == 1


def test_the_other_functions_answer(found, tmp_path):
    turned = dp.invert(error=0.6, delta=0.2, mechanism="gaussian")
    assert turned.epsilon_lower < turned.epsilon_upper and turned.loss_upper <= 0.6
    budgets = dp.frontier(epsilon=1, delta=0.2, against="exceed:1", count=2, gap=0.05)
    assert [one.problem.budget.loss.spec for one in budgets] == ["exceed:1"] * len(budgets)
    dp.save(found["even"], tmp_path / "noise.json")
    again = dp.load(tmp_path / "noise.json")
    assert again.certificate.upper == pytest.approx(found["even"].certificate.upper, rel=1e-12)
    assert dp.delta_upper(again.noise, 1.0, 1.0) == again.certificate.delta_upper
    assert isinstance(dp.release(found["counts"], 10), int) and isinstance(dp.release(again.noise, 10), float)
    with pytest.raises(dp.InputError, match="exact samplers"):
        dp.release(Uniform(1.0), 10)


def test_an_account_takes_texts_solutions_and_counts(found):
    *_, exact = dp.account(("laplace:epsilon=0.5", 2), found["even"], delta=0.3)
    assert exact.rule == "exact" and 1.0 < exact.lower <= exact.upper < 2.0, "less than by adding up"
    sampled = dp.account(("gaussian:sigma=2", 10, "poisson:0.01"), delta=1e-5)[-1]
    assert 0 < sampled.upper < dp.account(("gaussian:sigma=2", 10), delta=1e-5)[-1].lower
    for wrong in ((), (3.5,)):
        with pytest.raises(dp.InputError, match="mechanism"):
            dp.account(*wrong, delta=0.1)


# What is shown ---------------------------------------------------------------------------------------


def shown_bounds(text: str) -> tuple[float, float]:
    lower, upper = re.search(r"([\d.]+) ≤ least expected loss ≤ ([\d.]+)", text).groups()
    return float(lower), float(upper)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solution_says_bracket_and_certificate_in_one_line(found, name):
    solution, text = found[name], repr(found[name])
    assert "\n" not in text and solution.source in text and f"loss {solution.problem.loss.spec}" in text
    lower, upper = shown_bounds(text)
    proof = solution.certificate
    assert lower <= proof.lower <= proof.upper <= upper, "each bound is rounded to its safe side"
    assert upper - lower <= 1.6 * (proof.upper - proof.lower) + 1e-6 * upper
    delta = float(re.search(r"certified δ ≤ ([\d.]+)", text)[1])
    assert proof.delta_upper <= delta <= proof.delta_upper * (1 + 1e-8)


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str] = {}
        self.texts = ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.texts += data


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_notebook_shows_a_small_drawing_without_scripts(found, name):
    page = Elements()
    page.feed(text := found[name]._repr_html_())
    assert {"svg", "table"} <= set(page.tags) and len(text) < 40_000
    assert not {"script", "style", "img", "link", "iframe", "foreignobject", "a"} & set(page.tags)
    assert not [key for key in page.attributes if key.startswith("on") or key in ("href", "src", "xlink:href")]
    assert shown_bounds(page.texts) == shown_bounds(repr(found[name]))
    drawn = re.findall(r'points="([^"]+)"', text) + re.findall(r"M([\d. ]+)V([\d.]+)", text)
    assert drawn and "nan" not in text and "inf" not in text.replace("infinite", "")


def test_texts_are_escaped(found):
    from dataclasses import replace

    wicked = replace(found["even"], source="<script>alert(1)</script>")
    assert "<script" not in wicked._repr_html_() and "&lt;script" in wicked._repr_html_()
    compared = dp.Comparison.of(found["even"])
    one = replace(compared.mechanisms[0], name="<b onload=x>")
    assert "<b onload" not in replace(compared, mechanisms=(one,))._repr_html_()


def test_the_drawing_has_the_laws_shape(found):
    """The highest place of the outline is over the highest density, and an atom is a stem."""
    noise = found["even"].noise
    (points,) = re.findall(r'points="([^"]+)"', display.svg(noise))
    places = [tuple(map(float, pair.split(","))) for pair in points.split()]
    top = min(y for _, y in places)
    low, high = display.window([noise])
    peaks = [low + (x - 4) / (display.WIDTH - 8) * (high - low) for x, y in places if y == top]
    assert noise.density(sum(peaks) / len(peaks)) == pytest.approx(max(noise.density([0.0, 0.5, 1.0])), rel=1e-6)
    assert "<circle" in display.svg(dp.solve(epsilon=5, delta=0.3, gap=0.1).noise)
    assert display.svg(found["counts"].noise).count("<circle") >= 3


def test_a_comparison_has_rows_and_says_what_is_not_valid(found):
    compared = dp.compare(epsilon=5, delta=0.25, gap=0.05)
    rows = {row["key"]: row for row in compared.rows()}
    assert rows["laplace"]["loss"] == 0.2 and not rows["gaussian-classical"]["valid"]
    assert "gaussian-classical" in repr(compared) and "(not valid)" in repr(compared)
    assert "Laplace" in compared._repr_html_()


def test_plots_are_figures_of_the_pages(found):
    pytest.importorskip("plotly")
    figure = found["even"].plot(unit="people", against=("laplace",))
    assert {trace.name for trace in figure.data if trace.name} == {"Certified optimum", "Laplace"}
    assert "people" in figure.layout.xaxis.title.text.replace("<br>", " ")
    assert len(dp.Comparison.of(found["even"]).plot(dark=True).data) >= 6
    assert found["counts"].plot().data


def test_without_plotly_a_plot_names_the_line_that_installs_it():
    code = (
        "import sys; sys.modules['plotly'] = None\nimport dpcore as dp\n"
        "try: dp.solve(epsilon=2, delta=.3, gap=.1).plot()\nexcept dp.MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == 'plotly is not installed: pip install "dp-frontier[plot]"\n'
