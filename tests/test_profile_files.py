"""Promises of more than one pair on the command line and in files."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.export import load_solution, noise_to_csv, python_snippet, solution_from_dict, solution_to_dict
from dpcore.noise.tailed import TailedNoise
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files that `solve` wrote, by promise."""
    folder = tmp_path_factory.mktemp("profiles")
    table = folder / "pairs.csv"
    table.write_text("epsilon,delta\n0.5,0.2\n1,0.1\n2,0.02\n")
    asked = {
        "gdp": ["--profile", "gdp:1"],
        "list": ["--profile", f"list:{table}"],
        "composed": ["--profile", "composed:4", "--epsilon", "4", "--delta", "1e-5"],
    }
    for name, words in asked.items():
        assert main(["solve", *words, "--gap", "0.3", "--time-limit", "20", "--out", str(folder / f"{name}.json")]) == 0
    return folder


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("gdp", GaussianProfile(1.0)),
        ("list", PairList((Privacy(0.5, 0.2), Privacy(1, 0.1), Privacy(2, 0.02)))),
        ("composed", Composed(4, Privacy(4, 1e-5))),
    ],
)
def test_a_file_comes_back_as_it_was(written, name, profile):
    stated = json.loads((written / f"{name}.json").read_text())
    solution = load_solution(written / f"{name}.json")
    assert solution.problem.profile == profile
    assert solution.certificate.profile.holds
    assert stated["certificate"]["profile"]["limits"] == list(solution.certificate.profile.limits)
    assert stated["certificate"]["profile"]["delta_upper"] == list(solution.certificate.profile.deltas)
    assert solution.certificate.upper == stated["upper"]
    again = solution_from_dict(json.loads(json.dumps(solution_to_dict(solution))))
    assert again.problem == solution.problem and again.certificate == solution.certificate


def test_draw_and_compare(written, capsys):
    assert main(["draw", "--noise", str(written / "gdp.json"), "--value", "7"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["release"] - 7) < 1000
    assert main(["compare", "--profile", "gdp:1", "--gap", "0.3"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["gaussian"]["valid"] and rows["laplace"]["valid"] and not rows["uniform"]["valid"]


def test_other_files_say_what_was_promised(written):
    solution = load_solution(written / "gdp.json")
    assert isinstance(solution.noise, TailedNoise)
    assert "the privacy profile gdp:1.0" in " ".join(python_snippet(solution).split())
    rows = [line.split(",") for line in noise_to_csv(solution).splitlines() if line[0] in "-0123456789"]
    assert sum(float(row[2]) for row in rows) == pytest.approx(1, abs=1e-12)


def test_the_script_draws_the_same_law(written, tmp_path):
    solution = load_solution(written / "gdp.json")
    path = tmp_path / "noise.py"
    path.write_text(python_snippet(solution))
    code = "import noise; print(*noise.sample(4000))"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    draws = np.array([float(word) for word in said.split()])
    for x in (-1.0, 0.0, 0.7):
        # Five standard deviations.
        assert np.mean(draws < x) == pytest.approx(float(solution.noise.cdf(x)), abs=2.5 / np.sqrt(4000))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"profile": "gdp:0.9"}, "noise"),  # the law is not that private
        ({"profile": "gdp:x"}, "mu"),
        ({"profile": 3}, "profile"),
        ({"certificate": {"lower": 0.5}}, "profile"),
        ({"certificate": {"profile": {"places": [0, 0]}}}, "certificate.profile.places"),
        ({"certificate": {"profile": {"places": "all"}}}, "certificate.profile.places"),
        ({"certificate": {"profile": {"places": [0, 3]}}}, "noise"),  # too few to prove it
    ],
)
def test_files_are_not_believed(written, change, field):
    data = json.loads((written / "gdp.json").read_text()) | change
    with pytest.raises(InputError) as raised:
        solution_from_dict(data)
    assert raised.value.field == field


@pytest.mark.parametrize("field", ["weight", "mean_cells"])
def test_bad_tails_are_named(written, field):
    data = json.loads((written / "gdp.json").read_text())
    for value in (0, -1, "x", 10**30, None):
        data["noise"]["tail"][field] = value
        with pytest.raises(InputError) as raised:
            solution_from_dict(data)
        assert raised.value.field == f"noise.tail.{field}"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--profile", "gdp:9"], "mu = 9"),
        (["--profile", "gdp:1", "--epsilon", "1"], "no --epsilon"),
        (["--profile", "list:/nowhere.csv"], "readable CSV file"),
        (["--profile", "composed:3"], "epsilon = (missing)"),
        (["--profile", "composed:0", "--epsilon", "1", "--delta", "0.1"], "releases = 0"),
        (["--profile", "other"], "profile = other"),
        (["--profile", "gdp:1", "--support", "0:"], "support = [0, inf]"),
        (["--profile", "gdp:1", "--second", "3:0.1"], "second = gdp:1.0"),
        (["--profile", "gdp:1", "--integer"], "profile = gdp:1.0"),
    ],
)
def test_bad_input_is_one_line(words, complaint, capsys):
    assert main(["solve", *words]) == 2
    said = capsys.readouterr()
    assert not said.out and complaint in said.err and said.err.count("\n") == 1


def test_tables_with_other_rows_are_named(tmp_path, capsys):
    for text in ("1,2,3\n", "0.5,x\n", "", "1,0.1\n2,0\n"):
        path = tmp_path / "pairs.csv"
        path.write_text(text)
        assert main(["solve", "--profile", f"list:{path}"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("resolution", "breaks", "mean", "field"),
    [
        (2, [-40_000, 0, 40_000], 2, "noise"),  # e^−20000: floats say 0
        (20_000, [-40_000, 0, 40_000], 50_000, "noise.breaks"),  # half an hour of sorting
    ],
)
def test_tails_out_of_reach_are_refused(written, resolution, breaks, mean, field):
    data = json.loads((written / "gdp.json").read_text())
    data["noise"] |= {"resolution": resolution, "breaks": breaks, "weights": [str(2**61)] * 2}
    data["noise"]["tail"]["mean_cells"] = mean
    with pytest.raises(InputError) as refused:
        solution_from_dict(data)
    assert refused.value.field == field
