"""What is asked wrongly is refused by name; files say the same as the program they were made from."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.private_optimization import Model, Planner, PrivateProgram, release, row_noise, simulate, stories
from dpcore.private_optimization.files import load_model, load_rows, read_model_text, read_rows, save_program
from dpcore.private_optimization.noises import FINE, half_width
from dpcore.private_optimization.proportional import truncation_steps
from dpcore.private_optimization.release import draw_truncated_geometric, drawn_limits
from dpcore.private_optimization.stories import market


def model(**changes) -> Model:
    values = {"costs": [1.0, 2.0], "matrix": [[1.0, 1.0], [1.0, -1.0]], "row_lower": [-math.inf, 0.0],
              "row_upper": [4.0, math.inf], "maximise": False}  # fmt: skip
    return Model(**(values | changes))


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"costs": [1.0, math.nan]}, "costs[1]"),
        ({"costs": ["a", 1.0]}, "costs"),
        ({"costs": [1.0]}, "matrix"),
        ({"matrix": [[1.0, math.nan], [0, 1.0]]}, "matrix"),
        ({"matrix": [[1.0, math.inf], [0, 1.0]]}, "matrix"),
        ({"row_lower": [0.0]}, "row_lower"),
        ({"row_upper": [-math.inf, 0.0]}, "row_upper[0]"),
        ({"row_lower": [5.0, 0.0]}, "row_lower[0]"),
        ({"lower": 3.0, "upper": 2.0}, "lower[0]"),
        ({"quadratic": [[1.0, 0.0], [0.0, -1.0]]}, "quadratic"),
        ({"quadratic": [[1.0, 3.0], [0.0, 1.0]]}, "quadratic"),
        ({"quadratic": [[1.0]]}, "quadratic"),
        ({"quadratic": [[1.0, 0.0], [0.0, 1.0]], "maximise": True}, "quadratic"),
        ({"row_names": ("a",)}, "row_names"),
    ],
)
def test_models_are_checked(changes, field):
    with pytest.raises(InputError) as refused:
        model(**changes)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"rows": [5]}, "private rows"),
        ({"rows": [0, 0]}, "private rows"),
        ({"rows": []}, "private rows"),
        ({"guaranteed": [1.0, 2.0, 3.0]}, "guaranteed limits"),
        ({"guaranteed": [math.nan]}, "guaranteed limit of row row 1"),
        ({"guaranteed": [-math.inf]}, "guaranteed limit of row row 1"),
        ({"guaranteed": [5.0]}, "guaranteed limit of row row 1"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.7}, "delta"),
        ({"granularity": 0.3}, "granularity"),
        ({"sensitivity": 3.0, "granularity": 3.0}, "limit of row row 1"),
    ],
)
def test_programs_are_checked(changes, field):
    values = {"model": model(), "rows": [0], "guaranteed": [1.0], "sensitivity": 1.0, "epsilon": 1.0, "delta": 0.1}
    with pytest.raises(InputError) as refused:
        PrivateProgram(**(values | changes))
    assert refused.value.field == field


def test_equalities_cannot_be_private():
    with pytest.raises(InputError, match="noise cannot keep an equality"):
        PrivateProgram(model(row_lower=[4.0, 0.0]), [0], [1.0], 1.0, 1.0, 0.1)


def test_mechanisms_are_checked():
    with pytest.raises(InputError, match="mechanism = best"):
        row_noise(stories.two_products(), "best")
    with pytest.raises(InputError, match="granularity"):
        row_noise(stories.two_products(), "optimal")
    with pytest.raises(InputError, match="delta"):
        row_noise(replace(stories.two_products(), delta=0.0), "tight")


# Exact releases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 10), Fraction(1, 10**9)])
def test_exact_draws_have_their_law(rate):
    """Steep, and so flat that geometric draws would hardly ever lie within."""
    n, count = 7, 6000
    for length in (n, n + 1):
        masses = np.exp(-float(rate) * np.abs(np.arange(length + 1) - length / 2))
        masses /= masses.sum()
        seen = np.bincount([draw_truncated_geometric(rate, length) for _ in range(count)], minlength=length + 1)
        error = np.abs(seen / count - masses)
        assert (error <= 5 * np.sqrt(masses / count)).all()


@pytest.mark.parametrize("story", [lambda: stories.transport(2, 3).program, stories.two_products, stories.portfolio])
@pytest.mark.parametrize("key", ["tight", "truncated-laplace"])
def test_exact_releases_keep_the_limits(story, key):
    program = story()
    noise = row_noise(program, key)
    drawn = np.array([drawn_limits(program, noise) for _ in range(40)])
    assert (program.signs * drawn <= program.signs * program.limits).all()
    assert (program.signs * drawn >= program.signs * program.guaranteed).all()
    sampled = np.abs(program.limits - drawn).mean()
    if key == "tight" and program.granularity:
        assert np.all(drawn == np.round(drawn))
    assert sampled == pytest.approx(noise.shift_upper, rel=0.35)
    limits, plan = release(program, noise)
    assert plan is not None and Planner(program).checker.keeps(plan.x, *program.row_limits(limits))


@pytest.mark.parametrize("granularity", [1.0, 0.5, None])
@pytest.mark.parametrize("key", ["tight", "truncated-laplace"])
def test_exact_releases_stay_within_the_largest_shift(key, granularity):
    """The longest draw there is, not a sample, from a limit that rounding takes nearly a step off."""
    limit = 100.0 if granularity else 100 - 1e-9
    program = PrivateProgram(
        model(row_upper=[limit, math.inf], row_lower=[-math.inf, 0.0]), [0], [1.0], 1.0, 1.0, 0.01, granularity
    )
    noise = row_noise(program, key)
    k, n = noise.steps
    step = Fraction(granularity or 1.0 / FINE)
    assert Fraction(limit) - (Fraction(limit) // step - n) * step <= Fraction(noise.largest)
    assert noise.largest <= 2 * half_width(program, published=key != "tight") * (1 + 1e-5)
    assert n >= truncation_steps(program.epsilon, program.delta, k)


@pytest.mark.parametrize("limit, granularity", [(0.7999999999999999, 0.1), (1e9 + 0.5, 1.0), (1e14, 1e-3)])
def test_limits_are_the_floats_of_their_multiples(limit, granularity):
    """Otherwise the cap b̄ ≤ b would release the last digits of the true limit."""
    with pytest.raises(InputError, match="limit of row"):
        limits = {"row_upper": [limit, math.inf], "row_lower": [-math.inf, 0.0]}
        PrivateProgram(model(**limits), [0], [0.0], granularity, 1.0, 0.4, granularity)


def test_releases_with_violating_noise_are_refused():
    program = stories.two_products()
    with pytest.raises(InputError, match="keeps the limits"):
        release(program, row_noise(program, "laplace"))


def test_the_plan_of_a_release_knows_the_released_limits_only():
    """Two data sets, the same released limits: the same plan to the last bit."""
    one = stories.two_products()
    two = replace(one, model=replace(one.model, row_upper=np.array([500.0, 900.0])))
    private = np.array([50.0, 40.0])
    plans = [Planner(program, like=private).solve(private).x for program in (one, two)]
    assert (plans[0] == plans[1]).all()


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [lambda: stories.transport(3, 4).program, stories.portfolio, stories.two_products])
def test_files_come_back(story, tmp_path):
    program = story()
    paths = tmp_path / "p.mps", tmp_path / "p.csv"
    save_program(program, *paths)
    again = load_model(paths[0])
    rows, guaranteed = load_rows(paths[1], again)
    assert (rows == program.rows).all() and (guaranteed == program.guaranteed).all()
    assert again.maximise == program.model.maximise
    assert abs(again.matrix - program.model.matrix).max() <= 1e-14 * abs(program.model.matrix).max()
    other = replace(program, model=again)
    first, second = (simulate(p, row_noise(p, "tight"), draws=5).objectives for p in (program, other))
    assert first == pytest.approx(second, rel=1e-6)


def test_lp_text_is_read():
    text = b"maximize\n obj: 3 x + 2 y\nsubject to\n c1: x + y <= 4\n c2: x - y >= -2\nend\n"
    read = read_model_text(text, ".lp")
    assert read.maximise and read.row_names == ("c1", "c2") and read.row_upper[0] == 4


@pytest.mark.parametrize("text", [b"", b"garbage", b"NAME\nROWS\n N obj\nENDATA\n", b"\xff\xfe\x00"])
def test_files_that_are_no_models(text):
    with pytest.raises(InputError):
        read_model_text(text)


def test_whole_number_variables_are_refused():
    text = b"minimize\n obj: x\nsubject to\n c1: x >= 1.5\ngeneral\n x\nend\n"
    with pytest.raises(InputError, match="whole-number"):
        read_model_text(text, ".lp")


@pytest.mark.parametrize(
    "text, message",
    [
        ("row 9,1", "limits line 1, row = row 9"),
        ("row 1", "(missing)"),
        ("row 1,nan", "finite"),
        ("row 1,inf", "finite"),
        ("row 1,1\nrow 1,1", "every row once"),
        ("# nothing\n", "no line"),
    ],
)
def test_rows_are_checked(text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        read_rows(text, model())


def test_rows_with_header_and_comments():
    rows, limits = read_rows("row,limit\n# a comment\nrow 1, 2.5\n", model())
    assert rows.tolist() == [0] and limits.tolist() == [2.5]


# Stories ----------------------------------------------------------------------------------------------------


def test_the_simulated_market_has_the_ranges_of_appendix_d():
    """Not binding, binding and infeasible return targets for 500, 1000 and 1500 investors."""
    for investors, targets in ((500, (1.0, 1.2, 1.4)), (1000, (2.1, 2.5, 2.8)), (1500, (3.2, 3.8, 4.3))):
        kinds = []
        for target in targets:
            try:
                program = stories.portfolio(investors, target, epsilon=1.0, delta=investors**-2.0)
            except InputError:
                kinds.append("infeasible")
                continue
            run = simulate(program, row_noise(program, "truncated-laplace"), draws=5)
            kinds.append("free" if run.objectives.mean() < run.optimum.objective * 1.002 else "binding")
        assert kinds == ["free", "binding", "infeasible"], (investors, kinds)


def test_figure_3_in_shape():
    """At ε = 0.5, δ = 2.5e-4 a per cent or a few; falling in ε and in δ."""
    ratios = {}
    for epsilon, delta in ((0.5, 1e-6), (0.5, 2.5e-4), (0.5, 2e-3), (2.5, 2.5e-4)):
        program = stories.portfolio(epsilon=epsilon, delta=delta)
        run = simulate(program, row_noise(program, "truncated-laplace"), draws=20)
        ratios[epsilon, delta] = run.objectives.mean() / run.optimum.objective
    assert 1 < ratios[2.5, 2.5e-4] < ratios[0.5, 2e-3] < ratios[0.5, 2.5e-4] < ratios[0.5, 1e-6] < 1.2


def test_figure_4_in_shape():
    """The same revenue as the baseline's, which breaks a large share of the budgets at small ε."""
    shares = []
    for epsilon in (1e-5, 1e-4, 1e-3, 0.1):
        program = stories.advertising(20, 10, epsilon=epsilon)
        ours, theirs = (
            simulate(program, row_noise(program, key), draws=60) for key in ("truncated-laplace", "laplace-shifted")
        )
        assert not ours.violated.any()
        if epsilon >= 1e-4:
            assert ours.objectives.mean() == pytest.approx(theirs.objectives.mean(), rel=0.03)
        shares.append(theirs.violated.mean() / 10)
    assert shares[0] > 0.15 > shares[1] > 0.01 > shares[2] >= shares[3]


def test_market_is_a_covariance():
    assert np.linalg.eigvalsh(market().covariance)[0] > 0


# Command line -----------------------------------------------------------------------------------------------


def run(capsys, *arguments: str) -> tuple[int, dict, str]:
    status = main(["private-lp", *arguments])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else {}, captured.err


def test_private_lp(capsys):
    status, answer, _ = run(capsys, "example:transport", "--epsilon", "1", "--delta", "1e-4", "--draws", "50")
    assert status == 0 and answer["mechanism"] == "optimal" and answer["draws"] == 50
    assert answer["violations"] == {"draws": 0, "rows": 0, "share_of_private_rows": 0.0, "largest": 0.0}
    assert answer["shift"]["lower"] <= answer["shift"]["upper"] < 9
    assert answer["loss"]["max"] <= answer["bounds"]["worst_loss"] * (1 + 1e-6)
    proved = answer["optimum"]["no_plan_is_better_than"]
    assert proved <= answer["optimum"]["objective"] <= proved + 1e-6
    _, theirs, _ = run(
        capsys, "example:transport", "--epsilon", "1", "--delta", "1e-4", "--draws", "50", "--mechanism", "laplace"
    )
    assert theirs["violations"]["share_of_private_rows"] > 0.3 and not theirs["shift"]["never_violates"]


def test_private_lp_on_files(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = ("--epsilon", "1", "--delta", "1e-3")
    assert run(capsys, "example:portfolio", *base, "--save", "mine")[0] == 0
    files = ("mine.mps", "--lower-limits", "mine.csv", "--sensitivity", "1")
    status, answer, _ = run(capsys, *files, *base, "--mechanism", "tight", "--draws", "5")
    assert status == 0 and answer["private_rows"] == ["budget"]
    status, answer, _ = run(capsys, *files, *base, "--mechanism", "tight", "--release")
    assert status == 0 and set(answer) >= {"release"} and not {"optimum", "loss", "violations"} & set(answer)
    status, answer, _ = run(capsys, *files, "--epsilon", "1", "--delta", "0")
    assert status == 0 and answer["mechanism"] == "none" and answer["draws"] == 1


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("none.mps",), "model file"),
        (("example:none",), "example"),
        (("example:transport", "--mechanism", "none"), "mechanism"),
        (("example:advertising",), "granularity"),
        (("example:transport", "--draws", "0"), "draws"),
        (("example:transport", "--time-limit", "x"), "time-limit"),
    ],
)
def test_private_lp_names_what_is_wrong(capsys, arguments, word):
    status, _, error = run(capsys, *arguments, "--epsilon", "1", "--delta", "1e-3")
    assert status == 2 and word in error and error.count("\n") == 1
    status, _, error = run(capsys, "example:transport", "--delta", "1e-3")
    assert status == 2 and "epsilon" in error
