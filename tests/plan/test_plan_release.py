"""Shares of the budget, exact draws, files, the ledger and the command."""

from __future__ import annotations

import json
import math
import multiprocessing
import re
import tomllib
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.audit import delta_upper
from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.loss import exceedance
from dpcore.optimal import solve
from dpcore.plan import laws, ranks
from dpcore.plan.budget import split
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.plan import BY_ERROR, Line, Plan
from dpcore.plan.public import ADD_REMOVE, CHANGE_ONE, Category, Number, People
from dpcore.plan.release import Ledger, carry_out
from dpcore.plan.report import expected
from dpcore.plan.source import Source
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Proportion, Quantile, Sum

AGE = Number("age", 0, 100, step=1, edges=(0, 18, 65, 100))
SEX = Category("sex", ("f", "m"))
COLUMNS = {"age": AGE, "sex": SEX}
OLD = (Condition("age", ">", 65.0),)
MANUAL = (Path(__file__).parents[2] / "docs" / "plan.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", MANUAL, re.S)[1]


def plan(*lines, epsilon=1.0, delta=1e-6, people=People()):
    return Plan(people, COLUMNS, lines, epsilon, delta)


@pytest.fixture(scope="module")
def people_file(tmp_path_factory):
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("people") / "people.csv"
    rows = (f"{i // 2},{rng.integers(0, 101)},{'fm'[rng.integers(2)]}\n" for i in range(6000))
    path.write_text("person,age,sex\n" + "".join(rows))
    return path


# The budget ------------------------------------------------------------------------------------------


def rate(noise, total):
    """How fast the weights of Laplace noise in whole steps fall, per step."""
    return math.log(float(noise.pmf(0.0)) / float(noise.pmf(float(total.step))))


def independent(lines):
    """Joint privacy loss of all lines by dp_accounting, from above and from below."""
    bounds = []
    for pessimistic in (True, False):
        parts = []
        for one in lines:
            for total, noise in zip(one.totals, one.noises):
                if one.line.noise == "gaussian":
                    part = pld.from_gaussian_mechanism(
                        noise.sigma, pessimistic_estimate=pessimistic, sensitivity=laws.length(total),
                        value_discretization_interval=1e-4,
                    )  # fmt: skip
                else:
                    step, reach = float(total.step), 200
                    if one.line.noise == "laplace":
                        part = pld.from_discrete_laplace_mechanism(
                            rate(noise, total), total.change,
                            pessimistic_estimate=pessimistic, value_discretization_interval=1e-4,
                        )  # fmt: skip
                    else:
                        places = np.arange(-reach, reach + 1) * step
                        own, other = noise.pmf(places), noise.pmf(places - total.change * step)
                        tables = [{i: math.log(p) for i, p in enumerate(law.tolist()) if p > 0} for law in (own, other)]
                        part = pld.from_two_probability_mass_functions(
                            *tables, pessimistic_estimate=pessimistic, value_discretization_interval=1e-4
                        )
                parts.append(part.self_compose(total.moved))
        bounds.append(reduce(lambda one, other: one.compose(other), parts))
    return bounds


def test_twelve_lines_cost_what_an_independent_accountant_says():
    """Laplace in whole steps, Gaussian and certified noise, tables and sums; and less than added up."""
    lines = []
    for i in range(3):
        lines += [
            Line(Count(f"count {i}", (), OLD), weight=1 + i),
            Line(Histogram(f"table {i}", ("sex",))),
            Line(Sum(f"sum {i}", ("age",)), noise="gaussian"),
            Line(Count(f"best {i}", (), OLD), noise="optimum", full_support=False),
        ]
    made = split(plan(*lines, epsilon=2.0, delta=1e-5))
    upper, lower = (joint.get_epsilon_for_delta(1e-5) for joint in independent(made.lines))
    assert lower * (1 - 1e-3) <= made.total <= upper * (1 + 1e-3)
    assert made.total <= 2.0 < made.added


def keeps(priced):
    """The noise of one number of the first total keeps what it has to, by the audit."""
    total = priced.totals[0]
    one = laws.of_one(total, priced.part)
    return delta_upper(priced.noises[0], one.epsilon, total.sensitivity) <= one.delta


def test_a_table_of_changed_rows_counts_both_cells():
    people = People(CHANGE_ONE, 1000)
    made = split(plan(Line(Histogram("table", ("sex",))), epsilon=1.0, delta=0.0, people=people))
    (one,) = made.lines
    assert one.totals[0].moved == 2
    assert rate(one.noises[0], one.totals[0]) <= 0.5  # each cell half of ε


def test_several_rows_of_a_person_share_epsilon():
    people = People(ADD_REMOVE, None, "person", 4)
    for noise, delta in (("laplace", 0.0), ("optimum", 1e-6), ("gaussian", 1e-6)):
        line = Line(Histogram("table", ("sex",)), noise=noise, full_support=False)
        (one,) = split(plan(line, epsilon=1.0, delta=delta, people=people)).lines
        if noise == "gaussian":
            assert laws.length(one.totals[0]) == pytest.approx(4)
            continue
        cell = laws.of_one(one.totals[0], one.part)
        # four steps, each (ε, δ)-DP: δ(1 + e^ε + e^2ε + e^3ε)
        assert 4 * cell.epsilon <= one.privacy.epsilon
        assert cell.delta * sum(math.exp(i * cell.epsilon) for i in range(4)) <= one.privacy.delta
        assert keeps(one)


@settings(max_examples=15)
@given(st.sampled_from(["laplace", "gaussian", "optimum"]), st.floats(0.05, 5), st.integers(1, 3), st.booleans())
def test_the_noise_of_a_line_keeps_its_share(noise, epsilon, rows, full):
    people = People(ADD_REMOVE, None, "person", rows)
    line = Line(Sum("sum", ("age",)), noise=noise, full_support=full)
    (one,) = split(plan(line, epsilon=epsilon, delta=1e-6, people=people)).lines
    if noise != "gaussian":
        assert keeps(one)
    assert one.totals[0].sensitivity == 100 * rows


# Errors that one can afford --------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_error_gives_the_least_epsilon(noise):
    """±50 with 95 % for three lines: their ε gives it, 1 % less does not."""
    lines = [
        Line(Count("count", (), OLD), noise, within=50), Line(Histogram("table", ("sex",)), noise, within=50),
        Line(Sum("sum", ("age",)), noise, within=5000),
    ]  # fmt: skip
    made = split(plan(*lines, epsilon=None))
    for one in made.lines:
        (total,) = one.totals
        assert laws.width(one.noises[0]) <= one.line.within * (1 + 1e-9)
        # independent of `width`: P(|X| > w) by the distribution function
        beyond = float(one.noises[0].cdf(-one.line.within * (1 + 1e-9))) + float(one.noises[0].beyond(one.line.within))
        assert beyond <= 0.05 * (1 + 1e-6)
        less = type(one.privacy)(one.privacy.epsilon * 0.99, one.privacy.delta)
        assert laws.width(laws.noise_of(noise, total, less, True)) > one.line.within
    assert made.total <= made.added


def test_the_optimum_for_an_error_takes_no_more_than_the_others():
    asked = {
        noise: split(plan(Line(Count("old", (), OLD), noise, within=50, full_support=False), epsilon=None))
        for noise in ("laplace", "optimum")
    }
    assert asked["optimum"].total <= asked["laplace"].total * (1 + 2e-3)  # what `invert` aims at
    (one,) = asked["optimum"].lines
    assert laws.width(one.noises[0]) <= 50


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("statistic", [Count("old", (), OLD), Sum("sum", ("age",))], ids=lambda one: one.name)
def test_less_than_the_optimum_s_epsilon_keeps_the_error_by_no_noise(statistic, full):
    """The law solved for the ε that was found is within the error with 95 %; with 1 % less ε a certified lower bound
    says that every law is beyond it more often."""
    within = 50.0 if statistic.key == "count" else 5000.0
    (one,) = split(plan(Line(statistic, "optimum", within=within, full_support=full), epsilon=None)).lines
    (total,), (noise,) = one.totals, one.noises
    assert 1 - float(noise.cdf(within * (1 + 1e-9))) + float(noise.cdf(-within * (1 + 1e-9))) <= 0.05 * (1 + 1e-9)
    less = replace(one.privacy, epsilon=one.privacy.epsilon * 0.99)
    asked = laws.problem(total, less, full, exceedance(within))
    assert solve(asked, laws.SETTINGS).certificate.lower > 0.05


def test_a_budget_is_shared_so_that_relative_errors_are_alike():
    """To 1 %, or to a step where the errors of whole numbers are few; a guess of how large a number is counts."""
    people = People(ADD_REMOVE, 20_000)
    lines = (
        Line(Count("old", (), OLD), about=40.0), Line(Sum("sum", ("age",)), noise="gaussian"),
        Line(Mean("mean", ("age",))), Line(Histogram("table", ("age", "sex"))), Line(Quantile("median", ("age",))),
        Line(Count("asked", (), OLD), within=50.0),
    )  # fmt: skip
    even = split(Plan(people, COLUMNS, lines, 1.0, 1e-6, split=BY_ERROR))
    errors = {one.line.name: one.relative_error(even.plan) for one in even.lines}
    asked = errors.pop("asked")
    middle = float(stats.gmean(list(errors.values())))
    assert asked != pytest.approx(middle, rel=0.2)
    for one in even.lines[:-1]:
        step = laws.width(one.noises[0]) and (float(one.totals[0].step) / one.widths[0]) if one.noises else 0.0
        assert errors[one.line.name] == pytest.approx(middle, rel=0.011 + step)
    assert even.total <= 1.0
    # by hand: ±width of 40, of half of 100 times 20 000, of half of 100, of a sixth of 20 000, of 20 000 ranks
    old, total, mean, table, median, _ = even.lines
    assert errors["old"] == pytest.approx(old.widths[0] / 40)
    assert errors["sum"] == pytest.approx(total.widths[0] / (50 * 20_000))
    assert errors["mean"] == pytest.approx(mean.widths[0] / 20_000 / 50)
    assert errors["table"] == pytest.approx(table.widths[0] / (20_000 / 6))
    assert errors["median"] == pytest.approx(median.rank_width / 20_000)
    with pytest.raises(InputError, match=r"people\.number"):
        split(Plan(People(), COLUMNS, lines[1:], 1.0, 1e-6, split=BY_ERROR))


def test_a_budget_that_does_not_suffice_is_named():
    with pytest.raises(InputError, match=r"budget.epsilon = 0.01: expected at least 0.05"):
        split(plan(Line(Count("old", (), OLD), within=50), epsilon=0.01))
    with pytest.raises(InputError, match="the error depends on the data"):
        split(plan(Line(Mean("mean", ("age",)), within=1)))


# Draws -----------------------------------------------------------------------------------------------


def test_choices_by_rank_have_the_exponential_mechanism_s_law():
    values = np.array([2, 5, 5, 9])
    runs = ranks.runs(0, 10, [2, 5, 9], [1, 2, 1], Fraction(1, 2))
    penalty = [abs((values < c).sum() - (values > c).sum()) / 2 for c in range(11)]
    expected = np.exp(-0.7 * np.array(penalty))
    found = Counter(ranks.draw(*runs, Fraction(7, 20)) for _ in range(8000))
    counts = np.array([found[c] for c in range(11)])
    assert counts.sum() == 8000
    assert stats.chisquare(counts, 8000 * expected / expected.sum()).pvalue > 1e-6


def test_the_same_bits_choose_the_same_however_many_are_drawn_at_once(monkeypatch):
    runs, drawn = ranks.runs(0, 999, [300, 700], [5, 9], Fraction(1, 4)), []
    for guard in (1, 32, 200):
        monkeypatch.setattr(ranks, "GUARD", guard)
        rng = np.random.default_rng(5)
        drawn.append([ranks.draw(*runs, Fraction(1, 40), lambda n, r=rng: int(r.integers(0, 1 << 32)) << n >> 32)
                     for _ in range(50)])  # fmt: skip
    assert drawn[0] == drawn[1] == drawn[2]


@given(st.fractions(0, 60), st.integers(8, 200))
def test_exponentials_are_enclosed(rate, digits):
    import mpmath

    low, high = ranks.exponential(rate, digits)
    with mpmath.workdps(120):
        true = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator) * mpmath.mpf(2) ** digits
        assert low <= true <= high and high - low <= 3


def test_a_release_is_near_the_truth(people_file):
    lines = [
        Line(Histogram("table", ("age", "sex")), non_negative=True), Line(Mean("mean", ("age",)), "optimum"),
        Line(Quantile("median", ("age",))), Line(Proportion("women", ("sex",), is_="f")),
        Line(Sum("sum", ("age",)), "gaussian"), Line(Mean("old", ("age",), OLD)),
    ]  # fmt: skip
    made = split(plan(*lines, epsilon=10.0))
    with Source.file(people_file) as source:
        found = {one.name: one for one in carry_out(made, source)}
    rows = [line.split(",") for line in people_file.read_text().split()[1:]]
    ages = np.array([int(row[1]) for row in rows])
    assert found["mean"].values[0] == pytest.approx(ages.mean(), abs=0.5)
    assert found["median"].values[0] == pytest.approx(np.median(ages), abs=2)
    assert found["sum"].values[0] == pytest.approx(ages.sum(), abs=2000)
    assert found["old"].values[0] == pytest.approx(ages[ages > 65].mean(), abs=1)
    assert found["women"].values[0] == pytest.approx(np.mean([row[2] == "f" for row in rows]), abs=0.02)
    table = dict(zip(found["table"].labels, found["table"].values))
    assert len(table) == 6 and min(table.values()) >= 0 and {type(count) for count in table.values()} == {int}
    assert table["65 to 100", "m"] == pytest.approx(sum(a >= 65 and r[2] == "m" for a, r in zip(ages, rows)), abs=30)


def test_a_wrong_public_number_is_named_before_anything_is_drawn(people_file):
    made = split(plan(Line(Mean("mean", ("age",))), people=People(CHANGE_ONE, 5000)))
    with pytest.raises(InputError, match=r"people.number = 5000"), Source.file(people_file) as source:
        carry_out(made, source)


# Files and the command -------------------------------------------------------------------------------


def test_the_plan_of_the_manual_is_read_and_written():
    made = plan_from_toml(EXAMPLE)
    assert plan_from_toml(plan_to_toml(made)) == made
    even = plan_from_toml(EXAMPLE.replace('"weights"', '"relative error"'))
    assert plan_from_toml(plan_to_toml(even)) == even != made
    assert [line.statistic.key for line in made.lines] == ["histogram", "mean", "quantile", "count", "mean", "mean"]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("format = 1", "format = 2", "format"),
        ("low = 0 ", "low = 200 ", "columns.age.high"),
        ("high = 100\n", "", "columns.age.high"),
        ("step = 1 ", "step = 0 ", "step"),
        ("edges = [0, 18, 65, 100]", "edges = [0, 0]", "columns.age.edges"),
        ('type = "category"', 'type = "word"', "columns.sex.type"),
        ('values = ["f", "m"]', 'values = ["f", "f"]', "columns.sex.values"),
        ('what = "count"', 'what = "mode"', "lines 4.what"),
        ('noise = "optimum"', 'noise = "white"', "lines.mean age of women.noise"),
        ("weight = 2", "weight = 0", "lines.median age.weight"),
        ("weight = 2", "wieght = 2", "lines 3"),
        ("q = 0.5", "q = 1", "lines.median age.q"),
        ('["sex", "=", "f"]', '["sex", "<", "f"]', "lines.mean age of women.where"),
        ('["sex", "=", "f"]', '["sex", "=", "x"]', "lines.mean age of women.where"),
        ('["age", ">", 65]', '["height", ">", 65]', "lines.people over 65.where"),
        ('["age", ">", 65]', '["age", ">", "(SELECT 1)"]', "lines.people over 65.where"),
        ("within = 50", "within = 0", "lines.people over 65.within"),
        ('of = ["age", "sex"]', 'of = ["age", "age"]', "lines.by age and sex.of"),
        ("rows_each = 1 ", "rows_each = 0 ", "rows_each"),
        ('identifier = "person"  ', "rows_each = 2  # ", "people.rows_each"),
        ('neighbours = "add or remove one person"', 'neighbours = "some"', "people.neighbours"),
        ("epsilon = 1 ", "epsilon = 0 ", "budget.epsilon"),
        ("delta = 1e-6", "delta = 2", "delta"),
        ('"weights"', '"even"', "budget.split"),
        ('"weights"', "2", "budget.split"),
        ("weight = 2", "about = 0", "lines.median age.about"),
    ],
)
def test_mistakes_are_named(old, new, field):
    assert old in EXAMPLE
    text = EXAMPLE.replace(old, new, 1)
    if field == "people.rows_each":
        text = text.replace("rows_each = 1 ", "# ", 1)
    with pytest.raises(InputError) as caught:
        plan_from_toml(text)
    assert caught.value.field == field


def test_the_command_checks_releases_and_refuses_to_overspend(people_file, tmp_path, capsys):
    told, ledger = tmp_path / "plan.toml", tmp_path / "ledger.db"
    told.write_text(EXAMPLE, encoding="utf-8")
    assert main(["plan", "check", str(told)]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["epsilon"] <= 1 and len(checked["lines"]) == 6
    assert checked["epsilon_added_up"] > checked["epsilon"] and checked["lines_of_one_person"] == 5
    assert checked["lines"][3]["error_95"] == 50
    run = ["plan", "run", str(told), "--data", str(people_file), "--ledger", str(ledger), "--budget", "2:1e-5"]
    for _ in range(2):
        assert main(run) == 0
        assert len(json.loads(capsys.readouterr().out)["lines"][0]["values"]) == 6
    assert main(run) == 2
    assert "at most what is left" in capsys.readouterr().err


def test_the_script_and_the_notebook_release_by_themselves(people_file, tmp_path, capsys, run_alone):
    told = tmp_path / "plan.toml"
    told.write_text(EXAMPLE, encoding="utf-8")
    assert main(["plan", "export", str(told), "--as", "script"]) == 0
    script = capsys.readouterr().out
    released = json.loads(run_alone(script.replace("sys.argv", repr(["release.py", str(people_file)]))))
    assert main(["plan", "export", str(told), "--as", "notebook"]) == 0
    cells = [cell for cell in json.loads(capsys.readouterr().out)["cells"] if cell["cell_type"] == "code"]
    *before, last = ["".join(cell["source"]) for cell in cells]
    told = "\n".join([*before, f"FILE = {str(people_file)!r}", f"print(json.dumps({last}))"])
    again = json.loads(run_alone(told))
    rows = [line.split(",") for line in people_file.read_text().split()[1:]]
    ages = np.array([int(row[1]) for row in rows])
    for one in (released, again):
        assert list(one) == [
            "by age and sex", "mean age of women", "median age", "people over 65", "mean age: f", "mean age: m",
        ]  # fmt: skip
        of_men = ages[[row[2] == "m" for row in rows]].mean()
        assert one["mean age: m"] == pytest.approx(of_men, abs=6)
        assert one["by age and sex"]["65 to 100 · m"] == pytest.approx(
            sum(a >= 65 and row[2] == "m" for a, row in zip(ages, rows)) / 2, abs=120
        )  # one of two rows of a person counts
        assert one["median age"] == pytest.approx(np.median(ages), abs=6)
        assert {type(value) for value in (one["people over 65"], *one["by age and sex"].values())} == {int}
        assert one["people over 65"] == pytest.approx((ages > 65).sum() / 2, abs=250)


def _spend(path, made, results):
    try:
        Ledger(path, 1.0, 1e-5).spend(made)
        results.put("spent")
    except InputError:
        results.put("refused")


def test_two_processes_do_not_spend_the_same_budget(tmp_path):
    made = split(plan(Line(Count("old", (), OLD)), epsilon=0.4, delta=0.0))
    results = multiprocessing.get_context("spawn").Queue()
    path = tmp_path / "ledger.db"
    processes = [
        multiprocessing.get_context("spawn").Process(target=_spend, args=(path, made, results)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    answers = Counter(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert answers == {"spent": 2, "refused": 1}
    assert Ledger(path, 1.0, 1e-5).spent[0] == pytest.approx(0.8)


NONSENSE = [
    0, -1, True, "", "0,5", "1e999", 1e308, math.inf, math.nan, [], ["a"], [["a"]], {}, {"a": 1}, "a" * 500, 10**30,
    "😀<b>&\"'$\n",
]  # fmt: skip


def places(told, here=()):
    """The path of every value in a plan."""
    inner = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    return [here, *(path for key, value in inner for path in places(value, (*here, key)))]


@pytest.mark.parametrize("path", places(tomllib.loads(EXAMPLE))[1:], ids=str)
def test_any_value_in_a_plan_is_read_and_written_or_named(path):
    for value in NONSENSE:
        told = tomllib.loads(EXAMPLE)
        parent = reduce(lambda part, key: part[key], path[:-1], told)
        parent[path[-1]] = value
        try:
            plan = plan_from_toml(tomli_w.dumps(told))
        except InputError as error:
            assert len(str(error)) < 1200
        else:
            assert plan_from_toml(plan_to_toml(plan)) == plan


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "optimum"])
def test_errors_and_bounds_beyond_the_solver_s_range_are_priced_or_named(noise):
    """Between 10¹² and 10¹⁵ Laplace and Gaussian noise know what to do; what is refused is told as it was asked."""
    people = People(CHANGE_ONE, 10**10)
    near = plan(Line(Mean("m", ("age",)), noise, within=300.0), epsilon=None, people=people)
    wide = Plan(People(), {"pay": Number("pay", 0, 1e13)}, (Line(Sum("s", ("pay",)), noise),), 1.0, 1e-6)
    if noise == "optimum":
        with pytest.raises(InputError, match=r"lines.m.within = 300: expected at most 100"):
            split(near)
        with pytest.raises(InputError, match=r"lines.s.noise = optimum: expected laplace or gaussian"):
            assert split(wide).lines[0].noises
        return
    assert split(near).total <= 1.001e-3
    (line,) = expected(split(wide))
    assert line.error > 1e13 and line.best is None and line.least is None
    with pytest.raises(InputError, match=r"lines.m.within = 1e-10: expected at least \d"):
        split(replace(near, lines=(replace(near.lines[0], within=1e-10),)))
