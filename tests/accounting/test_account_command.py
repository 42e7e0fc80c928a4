"""`python -m dpcore account`: JSON out, one line about bad input."""

from __future__ import annotations

import json

import pytest

from dpcore.cli import main


def run(capsys, *words: str) -> tuple[int, str, str]:
    status = main(["account", *words])
    told = capsys.readouterr()
    return status, told.out, told.err


def answer(capsys, *words: str) -> dict:
    status, out, err = run(capsys, *words)
    assert status == 0 and not err
    return json.loads(out)


def test_the_published_example(capsys):
    found = answer(capsys, "--mechanism", "laplace:epsilon=1", "--count", "100", "--delta", "1e-5")
    rules = {row["rule"]: row for row in found["totals"]}
    assert rules["basic"]["epsilon"] == 100 and found["delta"] == 1e-5
    assert round(rules["exact"]["epsilon"], 3) == round(rules["exact"]["epsilon_lower"], 3) == 68.253
    assert [name for name, row in rules.items() if not row["certified"]] == ["clt"]
    assert found["releases"] == [{"mechanism": "laplace:epsilon=1", "count": 100, "sampling": None}]


def test_counts_and_samples_belong_to_the_mechanism_before_them(capsys):
    found = answer(
        capsys, "--mechanism", "gaussian:sigma=1", "--count", "50", "--sampling", "poisson:0.01",
        "--mechanism", "pure:epsilon=0.1", "--epsilon", "1",
    )  # fmt: skip
    assert [one["count"] for one in found["releases"]] == [50, 1]
    assert [one["sampling"] for one in found["releases"]] == ["poisson:0.01", None]
    exact = found["totals"][-1]
    assert 0 <= exact["delta_lower"] <= exact["delta"] < 1 and found["neighbours"] == "one more or one less"
    assert found["totals"][0]["delta"] is None or found["totals"][0]["delta"] >= exact["delta_lower"]


def test_a_solved_law_from_its_file(capsys, tmp_path):
    law = tmp_path / "law.json"
    words = ["solve", "--epsilon", "1", "--delta", "0.01", "--gap", "0.05", "--out", str(law)]
    assert main(words) == 0
    capsys.readouterr()
    found = answer(capsys, "--mechanism", f"file:{law}", "--count", "10", "--delta", "0.2")
    rules = {row["rule"]: row for row in found["totals"]}
    assert (
        rules["basic"]["epsilon"] == 10
        and 0 < rules["exact"]["epsilon_lower"] <= rules["exact"]["epsilon"] <= rules["optimal"]["epsilon"]
    )
    assert rules["renyi"]["epsilon"] is None and "impossible" in rules["renyi"]["note"]
    assert found["releases"][0]["mechanism"] == "file:law.json"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "mechanism = (missing): expected"),
        (("--delta", "1e-5"), "mechanism = (missing): expected"),
        (("--count", "3"), "expected after a --mechanism"),
        (("--mechanism", "pure:epsilon=1"), "delta = (missing): expected a number from 1e-15 to 0.5"),
        (("--mechanism", "pure:epsilon=1", "--delta", "1e-5", "--epsilon", "1"), "delta = 1e-5: expected"),
        (("--mechanism", "pure:epsilon=1", "--delta", "0"), "delta = 0: expected a number from 1e-15 to 0.5"),
        (("--mechanism", "pure:epsilon=1", "--epsilon", "-1"), "epsilon = -1: expected a number from 0 to 600"),
        (
            ("--mechanism", "pure:epsilon=1", "--count", "0", "--delta", "1e-5"),
            "count = 0: expected a whole number from 1 to 10000000",
        ),
        (
            ("--mechanism", "pure:epsilon=1", "--sampling", "poisson:2", "--delta", "1e-5"),
            "sampling = poisson:2: expected",
        ),
        (("--mechanism", "lap:epsilon=1", "--delta", "1e-5"), "mechanism = lap:epsilon=1: expected"),
        (
            ("--mechanism", "file:nothing.json", "--delta", "1e-5"),
            "noise file = nothing.json: expected a readable file",
        ),
        (
            ("--mechanism", "pure:epsilon=1", "--delta", "1e-5", "--out", "/nowhere/x.json"),
            "out = /nowhere/x.json: expected",
        ),
    ],
)
def test_bad_input_is_one_line_with_field_value_and_range(capsys, words, told):
    status, out, err = run(capsys, *words)
    assert status == 2 and not out and told in err and err.count("\n") == 1
