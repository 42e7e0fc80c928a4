"""Answers for vectors on disk: what comes back is what was written, audited again, or a word about what is wrong."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.isotropic import files, start
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.search import Search, solve
from dpcore.noise.whole import TOTAL
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.solution import Progress
from dpcore.store import Store
from work.question import Question

PROBLEM = IsotropicProblem(3, Privacy(1.0, 0.05), parse_loss("power:1.23456789"), 2.5)
SETTINGS = SolverSettings(gap=0.3, time_limit=60.0)


@pytest.fixture(scope="module")
def solution():
    return solve(PROBLEM, SETTINGS)


def test_a_solution_comes_back_from_its_text(solution):
    back = files.solution_from_json(files.solution_to_json(solution))
    assert (back.problem, back.lower, back.upper) == (PROBLEM, solution.lower, solution.upper)
    assert back.delta_upper == solution.delta_upper and back.noise.atom_weight == solution.noise.atom_weight
    np.testing.assert_array_equal(back.noise.breaks, solution.noise.breaks)
    np.testing.assert_array_equal(back.noise.weights, solution.noise.weights)
    assert 0 < back.lower < back.upper <= 1.3 * back.lower
    assert [row.count(",") for row in files.noise_to_csv(back).splitlines()] == [2] * (
        len(back.noise.weights) + 1 + (back.noise.atom_weight > 0)
    )


def test_what_the_command_writes_is_read_back(tmp_path, capsys):
    path = tmp_path / "law.json"
    words = ["--dimension", "3", "--epsilon", "1", "--delta", "0.05", "--gap", "0.5", "--out", str(path)]
    assert main(["isotropic", *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    back = files.load_solution(path)
    assert (back.lower, back.upper) == (shown["lower"], shown["upper"]) and back.problem.dimension == 3


def test_the_store_keeps_the_better_one(tmp_path, solution):
    store = Store(tmp_path)
    assert store.solution(PROBLEM, SETTINGS) is None
    store.keep(solution)
    back = store.solution(PROBLEM, SETTINGS)
    assert back.certificate == solution.certificate and back.trace == solution.trace
    assert (back.source, back.shifts, back.settings) == (solution.source, solution.shifts, SETTINGS)
    assert store.solution(PROBLEM, SolverSettings(gap=1e-6, time_limit=3600.0)) is None
    assert store.solution(IsotropicProblem(4, PROBLEM.privacy, PROBLEM.loss, 2.5), SETTINGS) is None
    assert Question(solve, PROBLEM, SETTINGS).graded


def _forged(**changes):
    def change(data):
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = data
            for name in parents:
                place = place[name]
            place[last] = value(place[last]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_forged(dimension=2), "noise.dimension"),
        (_forged(delta=1e-4), "noise = "),
        (_forged(epsilon=0.5), "noise = "),
        (_forged(loss="l7"), "loss"),
        (_forged(noise__resolution="9" * 30), "noise.resolution"),
        (_forged(noise__weights=lambda w: w[::-1]), "noise.weights"),
        (_forged(noise__weights=lambda w: [*w[:-1], str(int(w[-1]) + 1)]), "noise.weights"),
        (_forged(noise__weights=[str(TOTAL)] * 70_000), "noise.weights"),
        (_forged(noise__breaks=lambda b: [1, *b[1:]]), "noise.weights"),
        (_forged(noise__kind="piecewise"), "noise.kind"),
        (_forged(certificate__lower="much"), "certificate.lower"),
        (_forged(kind="data-dependent"), "noise file"),
        (lambda data: data.pop("sensitivity"), "sensitivity"),
    ],
)
def test_forged_files_are_refused(solution, change, named):
    data = json.loads(files.solution_to_json(solution))
    change(data)
    with pytest.raises(InputError) as refused:
        files.solution_from_dict(data)
    assert named in str(refused.value)


def test_files_hold_as_many_shells_as_the_first_law_may_have():
    assert files.MAX_SHELLS > 1.5 * start.MOST_SHELLS


def test_a_lower_bound_that_contradicts_the_audit_is_dropped(solution):
    data = files.solution_to_dict(solution)
    data["certificate"]["lower"] = data["lower"] = 2 * solution.upper
    assert files.solution_from_dict(data).lower == 0


def test_it_can_be_looked_at_and_stopped_between_any_two_steps():
    """After the n-th report, for several n: never before there is a law, then with the bracket of that moment."""
    problem = IsotropicProblem(4, Privacy(1.0, 1e-3), parse_loss("squared"))
    for most in (0, 8, 30):
        seen: list[Progress] = []

        def look(record, seen=seen, most=most):
            seen.append(record)
            return len(seen) > most and math.isfinite(record.upper)

        found = solve(problem, SolverSettings(gap=1e-6, time_limit=60.0), look)
        assert found.upper == seen[-1].upper or len(seen) > most
        assert all(a.upper >= b.upper and a.lower <= b.lower for a, b in zip(seen, seen[1:]))
    answer = seen[-1].answer()
    assert answer.upper == found.upper and answer.problem == problem


def test_who_leaves_is_let_go_before_the_first_law():
    class Left(Exception):
        pass

    def leave(record):
        raise Left

    with pytest.raises(Left):
        Search(PROBLEM, SETTINGS, leave).run()


@pytest.mark.parametrize("dimension", [2, 20])
def test_there_is_a_law_however_short_the_time(dimension):
    found = solve(IsotropicProblem(dimension, Privacy(1.0, 1e-6)), SolverSettings(gap=1e-6, time_limit=1e-6))
    assert found.certificate.delta_upper <= 1e-6 and math.isfinite(found.upper)
