"""The command line: answers, messages for bad input, files, interruption, memory."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dpcore.cli import main
from dpcore.cli.base import one_line

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "dpcore"]


def answer(capsys, *arguments: str):
    """Exit status 0, nothing on stderr, strict JSON on stdout."""
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_solve_prints_what_the_manual_says(capsys):
    found = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.01")
    for key in (
        "lower", "upper", "gap", "seconds", "epsilon", "delta", "sensitivity", "loss", "cells", "shifts", "version",
        "symmetric", "monotone", "support", "method", "source",
    ):  # fmt: skip
        assert key in found
    assert found["lower"] <= found["upper"]
    assert found["gap"] == pytest.approx(found["upper"] / found["lower"] - 1, abs=1e-12) and found["gap"] <= 0.01
    assert found["certificate"].keys() >= {"delta_upper", "worst_shift", "repaired"}
    assert found["certificate"]["delta_upper"] <= 0.2
    assert found["support"] == [None, None]
    check_law(found["noise"])


def check_law(noise: dict) -> None:
    edges, probabilities = noise["edges"], noise["probabilities"]
    assert len(edges) == len(probabilities) + 1
    assert all(a < b for a, b in zip(edges, edges[1:]))
    assert min(probabilities) >= 0
    assert abs(math.fsum([*probabilities, noise["atom"]["mass"]]) - 1) <= 1e-15


@pytest.mark.parametrize(
    ("arguments", "low", "high"),
    [
        ("--epsilon 1 --delta 0.2", 0.5579, 0.5592),
        ("--epsilon 0.2 --delta 0.05", 2.352, 2.357),
        ("--epsilon 0.005 --delta 0.005", 37.85, 37.93),
        ("--epsilon 3 --delta 0.3 --gap 0.01", 0.1617, 0.1645),
        ("--epsilon 1 --delta 0.2 --loss l2", 0.5113, 0.5132),
        ("--epsilon 1 --delta 0.2 --monotone", 0.568, 0.571),
    ],
)
def test_reference_values(capsys, arguments, low, high):
    """[Thm 1, published values]: brackets that contain the optimum, computed independently."""
    found = answer(capsys, "solve", *arguments.split())
    assert low <= found["lower"] <= found["upper"] <= high
    assert found["gap"] <= (0.01 if "--gap" in arguments else 0.001)


def test_tiny_delta_is_kept_without_tolerance(capsys):
    found = answer(capsys, "solve", "--epsilon", "1", "--delta", "1e-6", "--gap", "0.005")
    assert found["certificate"]["delta_upper"] <= 1e-6
    assert found["lower"] <= 0.9595066 and 0.9587 <= found["upper"]
    assert found["gap"] <= 0.005


@pytest.mark.parametrize("epsilon", [1, 2, 5])
def test_pure_privacy_is_the_staircase(capsys, epsilon):
    """[GV15]: E|X| = e^(ε/2)/(e^ε − 1). Its cells are listed out to a negligible remainder."""
    found = answer(capsys, "solve", "--epsilon", str(epsilon), "--delta", "0")
    # 2e-9: a closed form's bracket is its value ± 1e-9
    assert found["upper"] == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon), rel=2e-9)
    assert found["lower"] <= found["upper"]
    noise = found["noise"]
    check_law(noise)
    assert noise["family"] == "staircase"
    assert noise["tail"]["ratio"] == pytest.approx(math.exp(-epsilon)) and noise["tail"]["period"] == 1
    assert {"epsilon", "gamma"} <= noise["parameters"].keys()
    middles = [0.5 * (a + b) for a, b in zip(noise["edges"], noise["edges"][1:])]
    mean = math.fsum(
        p * (abs(x) if a * b >= 0 else (a * a + b * b) / (2 * (b - a)))
        for p, x, a, b in zip(noise["probabilities"], middles, noise["edges"], noise["edges"][1:])
    )
    assert mean == pytest.approx(found["upper"], rel=2e-9)


@pytest.mark.parametrize(
    "loss", ["l1", "l2", "lp:1.5", "pinball:0.8", "asym:1:3", "huber:1", "exceed:2", "table:-2=4,0=0,1=1"]
)
def test_every_loss(capsys, loss):
    found = answer(
        capsys, "solve", "--epsilon", "0.7", "--delta", "0.15", "--loss", loss, "--gap", "0.05", "--time-limit", "3"
    )
    assert 0 <= found["lower"] <= found["upper"]
    assert found["loss"] == loss or found["loss"].startswith("table:")
    check_law(found["noise"])


def test_pinball_noise_is_asymmetric(capsys):
    edges = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--loss", "pinball:0.8", "--gap", "0.02")
    noise = edges["noise"]
    right = sum(p for p, a in zip(noise["probabilities"], noise["edges"]) if a >= 0)
    left = sum(p for p, b in zip(noise["probabilities"], noise["edges"][1:]) if b <= 0)
    assert abs(right - left) > 0.02


@pytest.mark.parametrize("support", [":0", "0:", "-3:2.5"])
def test_support(capsys, support):
    low, high = (float(end) if end else None for end in support.split(":"))
    found = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--support", support, "--gap", "0.05")
    assert found["support"] == [low, high]
    assert low is None or found["noise"]["edges"][0] >= low
    assert high is None or found["noise"]["edges"][-1] <= high
    assert found["upper"] >= 0.5586  # no better than the free optimum


def test_reference_method(capsys):
    arguments = "solve --epsilon 1 --delta 0.2 --method reference --cells 4 --time-limit 20"
    found = answer(capsys, *arguments.split())
    assert found["method"] == "reference"
    assert found["lower"] <= 0.5592 and 0.5579 <= found["upper"]


def test_a_table_longer_than_a_file_name(capsys):
    rows = ",".join(f"{x / 100}={abs(x) / 100}" for x in range(-100, 101, 2))
    assert answer(capsys, "solve", "--epsilon=1", "--delta=.2", "--gap=.1", f"--loss=table:{rows}")["upper"] < 0.62


@pytest.mark.parametrize(
    "text", ["x,y\n-1,2\n0,0\n1,1\n", "-1;2\n0;0\n1;1", "# a comment\n-1\t2\n0 0\n1, 1", "[[-1, 2], [0, 0], [1, 1]]",
             '{"x": [-1, 0, 1], "y": [2, 0, 1]}', "\ufeffx,y\n-1,2\n0,0\n1,1"],
)  # fmt: skip
def test_loss_tables_from_files(capsys, tmp_path, text):
    file = tmp_path / "loss.txt"
    file.write_text(text, encoding="utf-8")
    found = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.1", "--loss", f"table:{file}")
    same = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.1", "--loss", "asym:2:1")
    assert found["lower"] <= same["upper"] and same["lower"] <= found["upper"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 breakpoints"),
        ("a,b\nc,d\n", "line 2 = c"),
        ("1,x\n2,3\n", "line 1 = x"),
        ("1,2,3\n", "line 1 = 1,2,3"),
        ("0,1\n0,1\n", "loss table breakpoint"),
        ("0,1\n1,0\n", "last slope"),
        ("0,nan\n1,0\n", "line 1 = nan"),
        ("[[1, 2], [3]]", "loss table row"),
        ("[[1, true], [3, 4]]", "loss table row"),
        ("[" * 100_000, "well-formed JSON"),
        ('{"x": [1, 2]}', "equally long"),
        ("[[1e400, 1], [2, 2]]", "loss table breakpoint"),
        ("[[1" + "0" * 400 + ", 1], [2, 2]]", "beyond 1e308"),
        ("1,1\n" * 400_000, "at most 1 MB"),
        ("".join(f"{i},1\n" for i in range(3000)), "3000 breakpoints"),
    ],
)
def test_files_that_are_no_loss(capsys, tmp_path, text, message):
    file = tmp_path / "loss.csv"
    file.write_text(text)
    refused(capsys, ["solve", "--epsilon", "1", "--delta", "0.2", "--loss", f"table:{file}"], message)


def refused(capsys, arguments: list[str], *parts: str) -> None:
    """Exit status 2, nothing on stdout, one line on stderr with all the parts."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.endswith("\n") and len(err) < 400
    assert "Traceback" not in err
    for part in parts:
        assert part in err


@pytest.mark.parametrize(
    ("arguments", "field", "accepted"),
    [
        ("--epsilon 0 --delta 0", "delta = 0", "a positive number when epsilon = 0"),
        ("--epsilon 1 --delta 1", "delta = 1", "1e-12 to 0.999"),
        ("--epsilon 1 --delta 1e-30", "delta = 1e-30", "1e-12 to 0.999"),
        ("--epsilon 1 --delta -0.1", "delta = -0.1", "1e-12 to 0.999"),
        ("--epsilon 1e6 --delta 0.1", "epsilon = 1e6", "0.001 to 20"),
        ("--epsilon nan --delta 0.1", "epsilon = nan", "0.001 to 20"),
        ("--epsilon inf --delta 0.1", "epsilon = inf", "0.001 to 20"),
        ("--epsilon one --delta 0.1", "epsilon = one", "0.001 to 20"),
        ("--delta 0.1", "epsilon = (missing)", "0.001 to 20"),
        ("--epsilon 1", "delta = (missing)", "1e-12 to 0.999"),
        ("--epsilon 1 --delta 0.1 --sensitivity -1", "sensitivity = -1", "1e-09 to 1e+12"),
        ("--epsilon 1 --delta 0.1 --sensitivity 0", "sensitivity = 0", "1e-09 to 1e+12"),
        ("--epsilon 1 --delta 0.1 --loss l3", "loss = l3", "pinball:TAU"),
        ("--epsilon 1 --delta 0.1 --loss lp:9", "exponent = 9", "1 to 4"),
        ("--epsilon 1 --delta 0.1 --loss table:", "loss = table:", "CSV or JSON"),
        ("--epsilon 1 --delta 0.1 --loss table:/no/such/file", "/no/such/file", "a readable file"),
        ("--epsilon 1 --delta 0.1 --loss table:\0", "loss table:FILE", "a readable file"),
        ("--epsilon 1 --delta 0.1 --support 3", "support = 3", "LO:HI"),
        ("--epsilon 1 --delta 0.1 --support 1:2:3", "support = 1:2:3", "LO:HI"),
        ("--epsilon 1 --delta 0.1 --support 2:-2", "support = [2, -2]", "LO < HI"),
        ("--epsilon 1 --delta 0.1 --support nan:1", "support = nan", "LO < HI"),
        ("--epsilon 1 --delta 0.01 --support -1:1", "support = [-1, 1]", "width"),
        ("--epsilon 1 --delta 0 --support -50:50", "support = [-50, 50]", "delta = 0"),
        ("--epsilon 1 --delta 0.1 --support 0:9 --symmetric", "support = [0, 9]", "middle at 0"),
        ("--epsilon 1 --delta 0.1 --support 1:19 --monotone", "support = [1, 19]", "contains 0"),
        ("--epsilon 1 --delta 0.1 --gap 0", "gap = 0", "1e-06 to 1"),
        ("--epsilon 1 --delta 0.1 --time-limit 0", "time-limit = 0", "above 0"),
        ("--epsilon 1 --delta 0.1 --method guess", "method = guess", "certified or reference"),
        ("--epsilon 1 --delta 0.1 --method reference --cells 0", "cells = 0", "1 to 64"),
        ("--epsilon 1 --delta 0.1 --out /no/such/folder/file", "out = /no/such/folder/file", "can be written"),
        ("--epsilon 1 --delta 0.1 --colour red", "--colour red", "--help"),
        ("--eps 1 --delta 0.1", "--eps 1", "--help"),
        ("--epsilon", "--epsilon", "--help"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "compare"])
def test_bad_input(capsys, command, arguments, field, accepted):
    refused(capsys, [command, *arguments.split(" ")], field, accepted)


def test_bad_commands(capsys):
    refused(capsys, [], "solve|compare|draw")
    refused(capsys, ["guess"], "guess", "solve")
    refused(capsys, ["solve", "--epsilon", "1", "--delta", "x" * 5000], "delta = xxx")
    refused(capsys, ["solve", "--epsilon", "1", "--delta", "1\n2\r\x1b[31m"], "delta = 1 2")
    assert one_line("a\n\tb\x00c") == "a b c"


def test_compare(capsys):
    rows = answer(capsys, "compare", "--epsilon", "2", "--delta", "0.05", "--gap", "0.01")
    assert {"name", "loss", "lower_bound_ratio", "valid", "parameters", "reason"} <= rows[0].keys()
    by_key = {row["key"]: row for row in rows}
    assert by_key.keys() >= {"optimal", "laplace", "truncated-laplace", "gaussian", "gaussian-classical", "staircase"}
    for row in rows:
        if row["valid"] and row["loss"] is not None:
            assert row["lower_bound_ratio"] >= 1, f"{row['name']} beats the proved bound"
    assert by_key["optimal"]["lower_bound_ratio"] <= 1.01
    assert by_key["laplace"]["loss"] == pytest.approx(0.5)
    assert not by_key["gaussian-classical"]["valid"] and by_key["gaussian-classical"]["reason"]  # epsilon > 1


def test_draw(capsys, tmp_path):
    file = tmp_path / "noise.json"
    solved = answer(capsys, "solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.05", "--out", str(file))
    assert json.loads(file.read_text()) == solved
    drawn = answer(capsys, "draw", "--noise", str(file), "--value", "-1000.25")
    edges = solved["noise"]["edges"]
    assert edges[0] - 1e-6 <= drawn["release"] + 1000.25 <= edges[-1] + 1e-6
    assert drawn["delta_upper"] <= drawn["delta"] == 0.2
    assert "value" not in drawn
    refused(capsys, ["draw", "--noise", str(file), "--value", "nan"], "value = nan", "finite")
    refused(capsys, ["draw", "--noise", str(file), "--value", "0,13"], "value = 0,13", "; write 0.13\n")
    refused(capsys, ["draw", "--noise", str(file)], "value = (missing)")
    refused(capsys, ["draw", "--value", "1"], "noise = (missing)")
    refused(capsys, ["draw", "--noise", str(tmp_path), "--value", "1"], str(tmp_path), "a readable file")
    file.write_text(file.read_text().replace('"delta": 0.2', '"delta": 0.1'))
    refused(capsys, ["draw", "--noise", str(file), "--value", "1"], "noise = a law with delta", "at most delta = 0.1")
    file.write_text("{")
    refused(capsys, ["draw", "--noise", str(file), "--value", "1"], str(file), "JSON")


def test_draw_with_a_known_mechanism(capsys, tmp_path):
    """Calibrated to the problem; what does not keep it or has no exact sampler is refused."""
    problem = ["--epsilon", "2", "--delta", "1e-5", "--sensitivity", "3"]
    drawn = answer(capsys, "draw", "--mechanism", "gaussian", *problem, "--value", "12.5")
    sigma = drawn["parameters"]["sigma"]
    assert sigma == pytest.approx(3 * 1.99381, rel=1e-4) and drawn["lattice_step"] == 2.0**-38
    assert abs(drawn["release"] - 12.5) < 20 * sigma and drawn["release"] * 2**38 % 1 == 0
    assert 0.99e-5 < drawn["delta_upper"] <= 1e-5 and (drawn["delta"], drawn["sensitivity"]) == (1e-5, 3)
    drawn = answer(capsys, "draw", "--mechanism", "laplace", *problem, "--value", "12.5")
    assert drawn["parameters"]["scale"] == 1.5 and drawn["delta_upper"] == 0
    counted = ["--epsilon", "2", "--delta", "0", "--integer", "--value", "12"]
    assert isinstance(answer(capsys, "draw", "--mechanism", "geometric", *counted)["release"], int)
    draw = ["draw", "--value", "1", "--mechanism"]
    refused(capsys, [*draw, "gaussian"], "epsilon = (missing)")
    refused(capsys, [*draw, "uniform", *problem], "noise = Uniform", "exact samplers")
    refused(
        capsys, [*draw, "gaussian-classical", *problem], "expected one that keeps the problem: laplace", "true delta"
    )
    refused(capsys, [*draw, "gauss", *problem], "mechanism = gauss: expected one that keeps")
    refused(capsys, [*draw, "gaussian", *problem, "--noise", "law.json"], "no file with noise")
    refused(
        capsys,
        ["draw", "--noise", "law.json", "--value", "1", "--sensitivity", "3"],
        "sensitivity = 3: expected nothing",
    )


def test_draw_from_a_staircase(capsys, tmp_path):
    file = tmp_path / "noise.json"
    answer(capsys, "solve", "--epsilon", "1", "--delta", "0", "--out", str(file))
    drawn = answer(capsys, "draw", "--noise", str(file), "--value", "7")
    assert drawn["delta_upper"] == 0
    assert abs(drawn["release"] - 7) < 100


def test_process_is_small():
    """≤ 400 MB with the kernels compiled."""
    arguments = ["solve", "--epsilon", "1", "--delta", "0.2"]
    subprocess.run([*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    # VmHWM is the program's own peak; ru_maxrss of a child starts with that of the process it was forked from.
    script = "import sys; from dpcore.cli import main; main(sys.argv[1:])"
    script += "; print(open('/proc/self/status').read(), file=sys.stderr)"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stderr)
    assert int(peak[1]) <= 400 * 1024


def test_interrupt_gives_the_best_answer_so_far():
    arguments = ["solve", "--epsilon", "2", "--delta", "0.25", "--gap", "1e-6", "--time-limit", "100"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while sum(psutil.Process(process.pid).cpu_times()[:2]) < 4:  # its start takes one or two
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert err.count("\n") == 1 and "interrupted" in err
    found = json.loads(out)
    assert found["lower"] <= found["upper"] and found["certificate"]["delta_upper"] <= 0.25


def test_a_reader_that_goes_away():
    pipeline = f"{' '.join(COMMAND)} solve --epsilon 1 --delta 0.2 --gap 0.1 | head -c 5"
    done = subprocess.run(["sh", "-c", pipeline], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_help_and_version(capsys):
    for arguments in (["--help"], ["solve", "--help"], ["draw", "--help"], ["--version"]):
        assert main(arguments) == 0
        assert "dpcore" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "field", "write"),
    [
        ("solve --epsilon 0,5 --delta 0.1", "epsilon = 0,5", "0.5"),
        ("solve --epsilon 1_0 --delta 0.1", "epsilon = 1_0", ""),
        ("solve --epsilon ١ --delta 0.1", "epsilon = ١", "1"),
        ("solve --epsilon 1 --delta 1/5", "delta = 1/5", "0.2"),
        ("solve --epsilon 1 --delta 0.1 --sensitivity 2,5", "sensitivity = 2,5", "2.5"),
        ("solve --epsilon 1 --delta 0.1 --loss exceed:0,5", "loss exceed = 0,5", "0.5"),
        ("solve --epsilon 1 --delta 0.1 --loss table:-1,5=1,2=3", "loss table = -1", ""),
        ("solve --epsilon 1 --delta 0.1 --support -0,5:2", "support = -0,5", "-0.5"),
        ("solve --epsilon 1 --delta 0.1 --granularity ½", "granularity = ½", "0.5"),
        ("solve --epsilon 1 --delta 0.1 --budget exceed:2=0,05", "budget = 0,05", "0.05"),
        ("solve --epsilon 1 --delta 0.1 --second 3:0,01", "second delta = 0,01", "0.01"),
        ("solve --epsilon 1 --delta 0.1 --profile gdp:1,5", "profile", ""),
        ("solve --profile gdp:1,5", "mu = 1,5", "1.5"),
        ("solve --epsilon 1 --delta 0.1 --gap 0,1", "gap = 0,1", "0.1"),
        ("solve --epsilon 1 --delta 0.1 --cells 8,0", "cells = 8,0", "8"),
        ("invert --error 0,5 --delta 0.1", "error = 0,5", "0.5"),
        ("sweep --epsilon 1 --delta 1_0", "delta = 1_0", ""),
        ("profile --epsilon 1 --delta 0.1 --profile 1,2 --power 2,5", "power = 2,5", "2.5"),
        ("account --mechanism gaussian:sigma=2 --delta 1e-5 --count 5٫0", "count = 5٫0", "5"),
        ("account --mechanism gaussian:sigma=½ --delta 1e-5", "sigma = ½", "0.5"),
        ("account --mechanism gaussian:sigma=2 --delta 1e-5 --sampling poisson:0,01", "sampling = 0,01", "0.01"),
        ("data-dependent --epsilon 1 --delta 0.1 --range 0,5:4", "range = 0,5", "0.5"),
        ("data-dependent --epsilon 1 --delta 0.1 --range 0:4 --weight normal:1,5:1", "weight_mean = 1,5", "1.5"),
        ("private-lp example:transport --epsilon 0,5 --delta 1e-4", "epsilon = 0,5", "0.5"),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_are_not_written_as_numbers_are(capsys, words, field, write):
    refused(capsys, words.split(" "), field, *([f"; write {write}\n"] if write else []))


def test_digits_that_only_python_reads_are_refused_in_files(capsys, tmp_path):
    path = tmp_path / "loss.csv"
    path.write_text("½;1\n1;2\n", encoding="utf-8")
    refused(capsys, ["solve", "--epsilon", "1", "--delta", "0.2", "--loss", f"table:{path}"], "line 1 = ½", "write 0.5")
    path.write_text("-1,5;1\n0;0\n1,5;1\n")
    refused(capsys, ["solve", "--epsilon", "1", "--delta", "0.2", "--loss", f"table:{path}"], "line 1 = -1,5", "-1.5")
    path.write_text("0,5;0,2\n")
    refused(capsys, ["solve", "--profile", f"list:{path}"], "epsilon = 0,5", "write 0.5")
