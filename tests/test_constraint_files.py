"""A budget and a second pair on the command line, in files and beside other mechanisms."""

from __future__ import annotations

import json

import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.export import load_solution, python_snippet, solution_from_dict, solution_to_dict
from dpcore.loss import parse_loss
from dpcore.mechanisms import baselines
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem

ASKED = ("--epsilon", "1", "--delta", "0.05", "--gap", "0.02", "--budget", "exceed:1=0.35", "--second", "3:1e-3")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file that `solve` wrote."""
    path = tmp_path_factory.mktemp("files") / "noise.json"
    assert main(["solve", *ASKED, "--out", str(path)]) == 0
    return path


def test_solve_says_what_was_asked_and_what_the_law_does(written):
    found = json.loads(written.read_text())
    assert found["budget"] == {"loss": "exceed:1", "most": 0.35}
    assert found["second"] == {"epsilon": 3.0, "delta": 1e-3}
    assert found["certificate"]["budget_upper"] <= 0.35
    assert found["certificate"]["second_delta_upper"] <= 1e-3
    assert found["gap"] <= 0.02


def test_a_file_comes_back_as_it_was(written, capsys):
    solution = load_solution(written)
    again = solution_from_dict(json.loads(json.dumps(solution_to_dict(solution))))
    assert again.problem == solution.problem
    assert again.problem.second == Privacy(3, 1e-3)
    assert again.problem.budget == Budget(parse_loss("exceed:1"), 0.35)
    stated = json.loads(written.read_text())["certificate"]
    assert again.certificate.budget_upper == stated["budget_upper"]
    assert again.certificate.second_delta_upper == stated["second_delta_upper"]
    capsys.readouterr()
    assert main(["draw", "--noise", str(written), "--value", "7"]) == 0
    assert json.loads(capsys.readouterr().out)["second"] == [3.0, 1e-3]


def test_other_files_carry_the_constraints(written):
    solution = load_solution(written)
    told = " ".join(python_snippet(solution).split())
    assert "expected loss exceed:1 at most 0.35" in told and "(3.0, 0.001)-differentially private too" in told


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"budget": {"loss": "exceed:1", "most": 0.3}}, "noise"),  # the law spends more
        ({"second": {"epsilon": 2.0, "delta": 1e-6}}, "noise"),  # the law is not that private
        ({"budget": {"loss": 1, "most": 0.3}}, "budget.loss"),
        ({"budget": {"loss": "exceed:1", "most": "much"}}, "budget.most"),
        ({"budget": [1, 2]}, "budget"),
        ({"second": {"epsilon": 2.0}}, "second.delta"),
        ({"second": "3:1"}, "second"),
    ],
)
def test_a_file_that_claims_too_much_is_refused(written, change, field):
    data = json.loads(written.read_text()) | change
    with pytest.raises(InputError) as caught:
        solution_from_dict(data)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--budget", "exceed:2"), "budget = exceed:2"),
        (("--budget", "=3"), "budget = =3"),
        (("--budget", "nothing=3"), "budget loss = nothing"),
        (("--budget", "l2=much"), "budget = much"),
        (("--budget", "l2=-1"), "budget = -1"),
        (("--budget", "exceed:2=0.05"), "budget = 0.05: expected at least 0.08"),
        (("--second", "3"), "second = 3"),
        (("--second", "3:1e-3:1"), "second = 3:1e-3:1"),
        (("--second", "a:1e-3"), "second epsilon = a"),
        (("--second", "3:2"), "second delta = 2"),
        (("--second", "3:0", "--support=0:"), "support = [0, inf]"),
        (("--second", "3:1e-3", "--method", "reference"), "method = reference"),
    ],
)
def test_bad_input_is_named(capsys, options, field):
    assert main(["solve", "--epsilon", "1", "--delta", "0.05", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dpcore solve: {field}")
    assert err.count("\n") == 1


def test_a_mechanism_that_breaks_a_constraint_is_not_valid():
    budget, second = Budget(parse_loss("exceed:1"), 0.36), Privacy(3, 1e-3)
    free = {row.key: row for row in baselines(noise_problem(1, 0.05))}
    limited = {row.key: row for row in baselines(noise_problem(1, 0.05, budget=budget))}
    doubled = {row.key: row for row in baselines(noise_problem(1, 0.05, second=second))}
    assert free["laplace"].valid and free["truncated-laplace"].valid
    assert "spends 0.367879 of the budget 0.36" in limited["laplace"].reason  # e^−1
    assert not limited["laplace"].valid and limited["truncated-laplace"].valid
    assert doubled["laplace"].valid and not doubled["truncated-laplace"].valid
    assert "at epsilon = 3 its true delta is 0.05, required 0.001" in doubled["truncated-laplace"].reason


def test_every_valid_mechanism_is_above_the_lower_bound():
    problem = noise_problem(1, 0.05, budget=Budget(parse_loss("l2"), 2.0), second=Privacy(2, 1e-3))
    lower = solve(problem, SolverSettings(gap=0.02)).certificate.lower
    valid = [row for row in baselines(problem) if row.valid]
    assert valid
    assert all(row.loss >= lower for row in valid)
