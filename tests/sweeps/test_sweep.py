"""Sweeps: every problem answered, bit by bit the same whoever works on it; kept, resumed, stopped; as tables."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from dpcore import lp
from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.loss import parse_loss
from dpcore.optimal import solve, solve_many
from dpcore.problem import SolverSettings, noise_problem
from dpcore.store import Store
from dpcore.sweeps import chains, grid, read_axis, row, solve_chain, sweep, write_table
from dpcore.sweeps.chains import LONGEST, Outcome

PATIENT = SolverSettings(gap=5e-3, time_limit=120)
"""No search ends by its time limit, not even on a busy machine."""


def outcomes(problems, settings=PATIENT, **options) -> list[Outcome]:
    found = {one.index: one.outcome for one in sweep(problems, settings, **options)}
    assert sorted(found) == list(range(len(problems)))
    return [found[i] for i in range(len(problems))]


@pytest.fixture(scope="module")
def problems():
    return grid(noise_problem(1, 0.2), (0.2, 1.0, 5.0), (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5))[0]


@pytest.fixture(scope="module")
def expected(problems):
    return outcomes(problems)


def test_chains_hold_neighbours_only():
    problem = noise_problem(1, 0.2)
    problems, _ = grid(problem, (0.5, 1.0), (0.01, 0.02, 0.05, 0.1, 0.2, 0.3), [parse_loss("l1"), parse_loss("l2")])
    assert len(problems) == 24
    parts = chains(problems)
    assert [p for part in parts for p in part] == problems
    assert max(map(len, parts)) == LONGEST
    for part in parts:
        assert len({(p.privacy.epsilon, p.loss) for p in part}) == 1
        assert [p.privacy.delta for p in part] == sorted({p.privacy.delta for p in part})
    shuffled = problems[::-1]
    assert all(len(part) == 1 for part in chains(shuffled)), "falling δ are no chain"
    other = replace(problem, monotone=True)
    assert len(chains([problem, replace(other, privacy=replace(other.privacy, delta=0.3))])) == 2


def test_chains_of_problems_with_different_supports():
    """The second support holds no law at the first one's δ; comparing the two does not make that a problem."""
    mixed = [noise_problem(1, 0.1, support=(-6, 6)), noise_problem(1, 0.3, support=(-1.2, 1.2))]
    assert chains(mixed) == [(mixed[0],), (mixed[1],)]


def test_every_outcome_is_a_bracket_of_the_same_value_as_a_solve_alone(problems, expected):
    for problem, outcome in list(zip(problems, expected))[::3]:
        alone = solve(problem, PATIENT).certificate
        proof = outcome.certificate
        assert outcome.problem == problem
        assert proof.lower <= alone.upper and alone.lower <= proof.upper
        assert proof.gap <= PATIENT.gap
        assert proof.delta_upper <= problem.privacy.delta
        assert all(loss >= proof.lower for _, loss in outcome.mechanisms)


def test_two_processes_find_the_same_bits(problems, expected):
    assert outcomes(problems, workers=2) == expected


def test_progress_counts_up_and_estimates(problems):
    found = list(sweep(problems[:7], PATIENT))
    assert [one.done for one in found] == list(range(1, 8))
    assert {one.total for one in found} == {7}
    assert found[-1].seconds_left == 0.0
    assert all(one.seconds_left >= 0 for one in found)


def test_a_sweep_is_taken_up_where_it_was_left(problems, expected, tmp_path):
    store = Store(tmp_path)
    running = sweep(problems, PATIENT, store=store)
    left = [next(running) for _ in range(9)]
    running.close()
    found = list(sweep(problems, PATIENT, store=store))
    kept = [one for one in found if one.cached]
    assert len(kept) == 7, "two finished chains; the third was cut short"
    assert {one.index for one in kept} <= {one.index for one in left}
    assert [one.outcome for one in sorted(found, key=lambda one: one.index)] == expected
    assert all(one.cached for one in sweep(problems, PATIENT, store=store))
    other = replace(PATIENT, gap=6e-3)
    assert not any(one.cached for one in sweep(problems[:1], other, store=store)), "other settings, another answer"


def test_what_is_not_ours_in_the_store_is_computed_again(problems, expected, tmp_path):
    store = Store(tmp_path)
    part = chains(problems)[0]
    from dpcore.sweeps.run import _topic

    for junk in (
        b"",
        b"[]",
        b"[1,2,3,4,5]",
        b"null",
        json.dumps([{"certificate": {"lower": 2, "upper": 1}}] * 5).encode(),
    ):
        store.put("sweep", _topic(part, PATIENT), junk)
        assert outcomes(list(part), store=store) == expected[: len(part)]
        store.put("sweep", _topic(part, PATIENT), junk)


def test_stopping_ends_it_and_keeps_what_is_finished(problems):
    seen = []

    def stop() -> bool:
        return len(seen) >= 3

    for one in sweep(problems, PATIENT, stop=stop):
        seen.append(one)
    assert len(seen) == 3
    assert list(sweep(problems, PATIENT, stop=lambda: True)) == []


def test_an_infeasible_problem_does_not_end_its_chain():
    problem = noise_problem(1, 0.2, support=(-2.0, 2.0))
    problems, refused = grid(problem, (1.0,), (0.01, 0.2, 0.3))
    assert [one.delta for one in refused] == [0.01]
    assert "support" in refused[0].reason
    assert all(one.certificate is not None for one in outcomes(problems))
    assert row(refused[0])["lower"] is None


def test_a_worker_with_other_code_is_refused(problems):
    with pytest.raises(InputError, match="the same dpcore"):
        solve_chain(tuple(problems[:1]), PATIENT, made_by="another digest")


def test_no_cluster_and_no_workers_are_bad_input(problems):
    with pytest.raises(InputError, match=r"cluster = tcp://127\.0\.0\.1:9"):
        list(sweep(problems[:1], cluster="tcp://127.0.0.1:9"))
    with pytest.raises(InputError, match="workers = 0"):
        list(sweep(problems[:1], workers=0))


def test_slices_of_the_linear_programs_have_no_clock(monkeypatch):
    """Where the solver is interrupted decides the last digits; so that must not depend on the machine's load."""
    problem = noise_problem(2, 0.2)
    found = []
    for delay in (0.0, 0.002):
        run = lp.highspy.Highs.run

        def slow(self, run=run, delay=delay):
            lp.time.sleep(delay)
            return run(self)

        monkeypatch.setattr(lp.highspy.Highs, "run", slow)
        found.append(solve(problem, PATIENT).certificate)
        monkeypatch.undo()
    assert found[0] == found[1]


def test_outcomes_survive_json(expected):
    for outcome in expected:
        assert Outcome.from_dict(outcome.problem, json.loads(json.dumps(outcome.as_dict()))) == outcome


def test_warm_starts_are_part_of_the_answer(problems, expected):
    """The chain is what `solve_many` makes of it: nothing else is hidden in the outcome."""
    part = chains(problems)[0]
    assert [s.certificate for s in solve_many(part, PATIENT)] == [o.certificate for o in expected[: len(part)]]


# Words and tables ------------------------------------------------------------------------------------


def test_lists_of_numbers():
    assert read_axis("0.1,1,5", "epsilon") == [0.1, 1.0, 5.0]
    assert read_axis("0.01:1:3", "epsilon") == [0.01, 0.1, 1.0]
    assert read_axis("0,1e-6:1e-4:3", "delta") == [0.0, 1e-6, 1e-5, 1e-4]
    for bad in ("", "a", "1:2", "2:1:5", "0:1:5", "1:2:1", "1:2:99999", "1:inf:3", "1,,2", "1:2:3:4"):
        with pytest.raises(InputError, match="epsilon"):
            read_axis(bad, "epsilon")


def test_grids_check_their_values():
    with pytest.raises(InputError, match="epsilon = 21"):
        grid(noise_problem(1, 0.2), (1, 21), (0.1,))
    problems, refused = grid(noise_problem(1, 0.2), (0.0, 1.0), (0.0, 0.1))
    assert len(problems) == 3 and [(r.epsilon, r.delta) for r in refused] == [(0.0, 0.0)]


def test_tables_hold_the_figures(expected, tmp_path):
    rows = [row(outcome) for outcome in expected]
    write_table(rows, str(tmp_path / "t.csv"))
    with open(tmp_path / "t.csv", newline="") as file:
        back = list(csv.DictReader(file))
    assert [float(r["upper"]) for r in back] == [o.certificate.upper for o in expected]
    assert [float(r["lower"]) for r in back] == [o.certificate.lower for o in expected]
    write_table(rows, str(tmp_path / "t.parquet"))
    from pyarrow import parquet

    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [r["upper"] for r in table] == [o.certificate.upper for o in expected]
    assert [r["best_mechanism"] for r in table] == [o.best[0] for o in expected]
    with pytest.raises(InputError, match=r"csv or \.parquet"):
        write_table(rows, str(tmp_path / "t.xls"))
    with pytest.raises(InputError, match="out"):
        write_table(rows, str(tmp_path / "no" / "t.csv"))


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "dpcore", *words], capture_output=True, text=True, timeout=100)


def test_command_line(tmp_path):
    words = [
        "sweep",
        "--epsilon",
        "1",
        "--delta",
        "0.1,0.2",
        "--loss",
        "l1",
        "--loss",
        "l2",
        "--workers",
        "1",
        "--fresh",
    ]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert [(r["loss"], r["delta"]) for r in table] == [("l1", 0.1), ("l1", 0.2), ("l2", 0.1), ("l2", 0.2)]
    assert all(r["lower"] <= r["upper"] and r["gap"] <= 1e-3 for r in table)
    assert table[1]["laplace"] == 1.0 and table[1]["upper"] < 0.5592
    done = run(*words, "--out", str(tmp_path / "t.csv"))
    assert json.loads(done.stdout)["finished"] == 4
    for bad, word in ((["--epsilon", "x"], "epsilon"), (["--out", "t.xls"], "out"), (["--workers", "0"], "workers")):
        done = run(*words, *bad)
        assert done.returncode == 2 and word in done.stderr, done.stderr
        assert done.stdout == ""


def test_frontier_on_the_command_line(capsys):
    words = "frontier --epsilon 1 --delta 0.1 --against exceed:0.5 --count 3 --gap 0.02 --time-limit 1"
    assert main(words.split()) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert len(points) == 3
    assert all(p["lower"] <= p["upper"] and p["against_upper"] <= p["most"] for p in points)
    assert [p["upper"] for p in points] == sorted((p["upper"] for p in points), reverse=True)
    assert main("frontier --epsilon 1 --delta 0.1".split()) == 2
