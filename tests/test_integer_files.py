"""Whole-number queries on the command line and in files."""

from __future__ import annotations

import copy
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.export import (
    load_solution,
    noise_to_csv,
    python_snippet,
    solution_from_dict,
    solution_from_json,
    solution_to_dict,
    solution_to_json,
)
from dpcore.noise import LatticeNoise
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem

SOLUTIONS = [
    solve(noise_problem(1, 0.1, 3, granularity=1)),
    solve(noise_problem(1, 0.05, 0.3, "pinball:0.9", granularity=0.1, monotone=True)),
    solve(noise_problem(1, 0.05, 2, "l2", granularity=1, symmetric=True, support=(-9.0, 9.0))),
    solve(noise_problem(1, 0, 1, granularity=1)),
    solve(noise_problem(2, 0, 0.3, "asym:1:3", granularity=0.1)),
]


def answer(capsys, *arguments: str):
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.mark.parametrize("delta", ["0.1", "0"])
def test_solve_compare_and_draw(capsys, tmp_path, delta):
    file = str(tmp_path / "noise.json")
    found = answer(
        capsys, "solve", "--epsilon", "1", "--delta", delta, "--sensitivity", "3", "--integer", "--out", file
    )
    assert found["granularity"] == 1.0 and found["gap"] <= 1e-9
    assert found["noise"]["family"] == ("lattice" if delta == "0.1" else "discrete-staircase")
    compared = answer(capsys, "compare", "--epsilon", "1", "--delta", delta, "--sensitivity", "3", "--integer")
    assert [row["key"] for row in compared] == ["optimal", "geometric", "discrete-staircase"]
    assert compared[2]["lower_bound_ratio"] == pytest.approx(2.8608324896 / found["lower"], rel=1e-9)
    drawn = answer(capsys, "draw", "--noise", file, "--value", "413")
    assert drawn["release"] == int(drawn["release"]) and abs(drawn["release"] - 413) < 200
    assert drawn["lattice_step"] == 1.0


def test_granularity_option(capsys):
    found = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.1", "--sensitivity", "0.3", "--granularity", "0.1")
    whole = SOLUTIONS[0].certificate
    assert found["upper"] == pytest.approx(0.1 * whole.upper, rel=1e-12)
    assert found["noise"]["points"] == [round(x, 1) for x in found["noise"]["points"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--granularity", "0.3"], "granularity = 0.3: expected a whole part of the sensitivity 1"),
        (["--granularity", "none"], "granularity = none: expected a number"),
        (["--integer", "--granularity", "1"], "not allowed with"),
        (["--integer", "--method", "reference"], "method = reference"),
        (["--integer", "--budget", "l2=3"], "budget = 3"),
        (["--integer", "--second", "0.5:0.01"], "second"),
        (["--integer", "--sensitivity", "0.5"], "granularity = 1"),
    ],
)
def test_bad_input_is_named(capsys, options, words):
    assert main(["solve", "--epsilon", "1", "--delta", "0.1", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_reads_back_exactly(solution, tmp_path):
    text = solution_to_json(solution)
    (tmp_path / "noise.json").write_text(text)
    for again in (solution_from_json(text), load_solution(tmp_path / "noise.json")):
        assert again.problem == solution.problem
        one, two = solution.certificate, again.certificate
        assert (one.lower, one.upper, one.delta_upper) == (two.lower, two.upper, two.delta_upper)
        assert abs(one.worst_shift) == abs(two.worst_shift)
        assert solution_to_dict(solution)["noise"] == solution_to_dict(again)["noise"]
    noise = json.loads(text)["noise"]
    assert math.fsum(noise["probabilities"]) == pytest.approx(1, abs=1e-15)
    assert noise["probabilities"] == pytest.approx(solution.noise.pmf(np.array(noise["points"])), rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_csv_lists_the_points(solution):
    rows = [line.split(",") for line in noise_to_csv(solution).splitlines()]
    assert rows[0] == ["point", "probability"]
    mean = math.fsum(float(p) * float(solution.problem.loss.value(float(x))) for x, p in rows[1:])
    assert mean == pytest.approx(solution.certificate.upper, rel=1e-8)


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_the_script_samples_the_law(solution, tmp_path):
    script = tmp_path / "noise.py"
    script.write_text(python_snippet(solution))
    tail = "import noise; print(noise.sample(4000)); print(noise.release(0.6))"
    done = subprocess.run([sys.executable, "-c", tail], capture_output=True, text=True, cwd=tmp_path, check=True)
    draws, release = (json.loads(line) for line in done.stdout.splitlines())
    step, noise = solution.problem.granularity, solution.noise
    assert all(abs(x / step - round(x / step)) < 1e-9 for x in [*draws, release])
    # Dvoretzky–Kiefer–Wolfowitz: beyond this distance with probability 1e-9
    limit = math.sqrt(math.log(2e9) / (2 * len(draws)))
    x = np.unique(draws)
    assert np.abs(noise.cdf(x) - [np.mean(np.array(draws) <= v) for v in x]).max() <= limit


@pytest.mark.parametrize(("granularity", "point"), [(1.0, ""), (10.0, ""), (0.5, ".")])
def test_a_release_of_counts_is_a_whole_number(granularity, point, tmp_path, capsys):
    """From the command line and from the script: 1234, not 1234.0."""
    for delta in (0.0, 1e-3):
        solution = solve(noise_problem(1, delta, 10.0, granularity=granularity), SolverSettings(gap=0.1))
        path = tmp_path / "noise.json"
        path.write_text(solution_to_json(solution))
        assert main(["draw", "--noise", str(path), "--value", "1230"]) == 0
        released = re.search(r'"release": (-?[0-9.]+)', capsys.readouterr().out)[1]
        space = {"__name__": "script"}
        exec(python_snippet(solution), space)
        texts = [released, repr(space["release"](1230)), *map(repr, space["sample"](3))]
        assert all(("." in text) == bool(point) for text in texts), texts


def changed(number: int, path: str, value: object) -> dict:
    data = copy.deepcopy(solution_to_dict(SOLUTIONS[number]))
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place[key]
    place[last] = value
    return data


@pytest.mark.parametrize(
    ("number", "path", "value", "field"),
    [
        (0, "granularity", None, "noise.family"),
        (0, "granularity", 3.0, "noise.step"),
        (0, "granularity", 0.7, "granularity"),
        (0, "granularity", "1", "granularity"),
        (0, "noise.family", "piecewise", "noise.family"),
        (0, "noise.step", 0.5, "noise.step"),
        (0, "noise.first", 0.5, "noise.first"),
        (0, "noise.first", None, "noise.first"),
        (0, "noise.weights", ["1"], "noise.weights"),
        (0, "noise.weights", [], "noise.weights"),
        (0, "epsilon", 0.5, "noise"),
        (0, "delta", 0.01, "noise"),
        (0, "sensitivity", 4.0, "noise"),
        (1, "noise.first", -1, "noise.weights"),
        (2, "noise.first", -8, "noise.weights"),
        (2, "support", [-1.0, 1.0], "support"),
        (2, "support", [-5.0, 5.0], "noise.edges"),
        (3, "noise.parameters.rate", 1.5, "noise"),
        (3, "noise.parameters.rate", 0, "noise.parameters"),
        (3, "noise.parameters.period", 0, "noise.parameters.period"),
        (4, "noise.parameters.rise", 4, "noise.parameters"),
        (4, "noise.parameters.location", 0.5, "noise.parameters.location"),
        (4, "symmetric", True, "noise.parameters.location"),
        (4, "noise.parameters", [], "parameters"),
    ],
)
def test_files_that_lie_are_refused(number, path, value, field):
    with pytest.raises(InputError) as caught:
        solution_from_dict(changed(number, path, value))
    assert caught.value.field == field


def test_laws_come_back_as_what_they_were():
    for solution in SOLUTIONS:
        again = solution_from_json(solution_to_json(solution)).noise
        assert type(again) is type(solution.noise)
        assert isinstance(again, LatticeNoise) or again == solution.noise
