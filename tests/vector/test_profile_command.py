"""`python -m dpcore profile`: answers, files, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcore.cli import main

PAPER = ("--epsilon", "0.5", "--delta", "1e-6")


def answer(capsys, *arguments):
    status = main(["profile", *arguments])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return {row["key"]: row for row in json.loads(out, parse_constant=lambda name: pytest.fail(name))}


def test_all_mechanisms(capsys, tmp_path):
    file = tmp_path / "answer.json"
    rows = answer(capsys, *PAPER, "--profile", "exponential:20", "--normalise", "l2", "--out", str(file))
    assert len(json.loads(file.read_text())) == len(rows) == 15
    for row in rows.values():
        assert row.keys() >= {"name", "scales", "error", "reduction_db", "reduction_ratio", "guarantee"}
        assert bool(row["reason"]) == (row["error"] is None)
        if row["error"] is not None:
            assert len(row["scales"]) == 20 and sum(count for _, count in row["kinds"]) == 20
    assert rows["gaussian-optimal"]["reduction_db"] == pytest.approx(9.658, abs=6e-4)
    assert rows["gaussian-optimal"]["guarantee"] == [0.5, 1e-6]
    assert rows["laplace-optimal"]["guarantee"] == [0.5, 0]
    assert rows["mixed"]["error"] == min(row["error"] for row in rows.values() if row["error"] is not None)


def test_some_mechanisms_and_options(capsys):
    rows = answer(capsys, "--epsilon", "1", "--delta", "0", "--profile", "3,4", "--power", "1", "--weights", "2,1",
                  "--l1", "5", "--mechanism", "laplace-optimal, gaussian-optimal")  # fmt: skip
    assert list(rows) == ["gaussian-optimal", "laplace-optimal"]
    assert "delta" in rows["gaussian-optimal"]["reason"] and rows["gaussian-optimal"]["scales"] == []
    assert rows["laplace-optimal"]["error"] > 0


def test_a_column_of_a_hundred_thousand(capsys, tmp_path):
    values = np.random.default_rng(1).random(100_000)
    file = tmp_path / "profile.csv"
    file.write_text("name,bound\n" + "\n".join(f"c{i},{v!r}" for i, v in enumerate(values.tolist())))
    rows = answer(capsys, *PAPER, "--profile", f"csv:{file}:bound", "--mechanism", "gaussian-optimal,blocks-optimal")
    scales = np.array(rows["gaussian-optimal"]["scales"])
    assert len(scales) == 100_000 and np.ptp(scales**2 / values) < 1e-6 * (scales**2 / values).max()
    assert 0 < rows["blocks-optimal"]["error"]


def test_a_release(capsys):
    """The best of those that release exactly; the promise beside it."""
    arguments = ("profile", *PAPER, "--profile", "3,2,1", "--value", "100,200,300.5")
    assert main([*arguments, "--mechanism", "gaussian-optimal,laplace-optimal,blocks-optimal"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["key"] == "blocks-optimal" and found["guarantee"] == [0.5, 0] and len(found["release"]) == 3
    assert found["release"] != [100, 200, 300.5]
    assert main([*arguments, "--mechanism", "gaussian-optimal"]) == 0
    assert len(json.loads(capsys.readouterr().out)["release"]) == 3


def test_own_numbers_are_taken_as_they_are(capsys, tmp_path):
    """Scales are in proportion to the sensitivities themselves, typed or from a file; a norm for them is refused."""
    file = tmp_path / "profile.csv"
    file.write_text("sensitivity\n120\n0.5\n3\n")
    for profile in ("120,0.5,3", f"csv:{file}"):
        rows = answer(capsys, "--epsilon", "0.5", "--delta", "0", "--profile", profile, "--mechanism", "laplace-spr")
        assert rows["laplace-spr"]["scales"] == pytest.approx([720, 3, 18], rel=1e-12)
        assert main(["profile", *PAPER, "--profile", profile, "--normalise", "l2"]) == 2
        assert "normalise = l2: expected none for own numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "epsilon"),
        (("--epsilon", "1", "--delta", "0"), "profile"),
        ((*PAPER, "--profile", "1,-1"), "profile"),
        ((*PAPER, "--profile", "1,nan"), "profile"),
        ((*PAPER, "--profile", "csv:/no/such/file"), "profile"),
        ((*PAPER, "--profile", "linear:x"), "dimension"),
        ((*PAPER, "--profile", "1,2", "--normalise", "l3"), "normalise"),
        ((*PAPER, "--profile", "120,0.5,3", "--normalise", "l2"), "normalise"),
        ((*PAPER, "--profile", "1,2", "--power", "0"), "power"),
        ((*PAPER, "--profile", "1,2", "--weights", "1"), "weights"),
        ((*PAPER, "--profile", "1,2", "--weights", "1,x"), "weights"),
        ((*PAPER, "--profile", "1,2", "--l2", "1"), "l2"),
        ((*PAPER, "--profile", "1,2", "--mechanism", "laplace"), "mechanism"),
        ((*PAPER, "--profile", "1,2", "--value", "1,x"), "value"),
        ((*PAPER, "--profile", "1,2", "--mechanism", "k-norm", "--value", "1"), "value"),
        ((*PAPER, "--profile", "1,2", "--mechanism", "k-norm", "--value", "1,nan"), "value"),
        ((*PAPER, "--profile", "1,2", "--out", "/no/such/dir/x"), "out"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, named):
    assert main(["profile", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and named in err and "expected" in err
