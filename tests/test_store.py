"""Results on disk: what comes back is what was kept, or nothing; never a false bound, never foreign code."""

from __future__ import annotations

import builtins
import hashlib
import json
import logging
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from dpcore import loss, provenance, store
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem
from dpcore.store import Store, canonical, topic

SETTINGS = SolverSettings(gap=0.02)
ROOT = Path(__file__).parents[1]

PROBLEMS = [
    noise_problem(1, 0.2),
    noise_problem(0.3, 0.05, 2.0, "pinball:0.8"),
    noise_problem(1, 0.1, 3.0, "table:-1=2,0=0,2=5"),
    noise_problem(1, 0.01, 1.0, "l1", budget=Budget(loss.squared(), 5.0)),
    noise_problem(1, 0.01, 1.0, "l2", second=Privacy(3, 1e-4), symmetric=True),
    noise_problem(0.5, 0.0),
    noise_problem(0.5, 0.0, 2.0, granularity=1.0),
    noise_problem(0.5, 1e-3, 3.0, "l2", granularity=1.0),
    noise_problem(0.7, 0.3, 1.0, "exceed:2", support=(-4, 9)),
]


@pytest.fixture
def kept(tmp_path) -> Store:
    return Store(tmp_path / "store")


def entries(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "store" / "results.sqlite", isolation_level=None)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.loss.spec}-{p.privacy.epsilon}-{p.privacy.delta}")
def test_a_solution_comes_back_as_it_was(kept, problem):
    solution = solve(problem, SETTINGS)
    kept.keep(solution)
    back = kept.solution(problem, SETTINGS)
    assert (back.problem, back.settings, back.trace) == (problem, SETTINGS, solution.trace)
    assert (back.source, back.cells, back.shifts) == (solution.source, solution.cells, solution.shifts)
    old, new = solution.certificate, back.certificate
    assert new.lower == old.lower and new.delta_upper <= problem.privacy.delta
    assert new.upper == pytest.approx(old.upper, rel=1e-8)
    shares = np.array([0.05, 0.3, 0.5, 0.8])
    np.testing.assert_allclose(back.noise.quantile(shares), solution.noise.quantile(shares), rtol=1e-12)


def test_the_better_answer_stays_and_serves_those_who_ask_for_less(kept):
    problem = noise_problem(1, 0.2)
    coarse, fine = (solve(problem, SolverSettings(gap=gap)) for gap in (0.2, 1e-3))
    assert coarse.certificate.gap > fine.certificate.gap
    kept.keep(coarse)
    assert kept.solution(problem, coarse.settings).certificate == coarse.certificate
    assert kept.solution(problem, fine.settings) is None, "asking for more is another question"
    kept.keep(fine)
    kept.keep(coarse)
    for asked in (fine.settings, coarse.settings, SolverSettings(gap=0.05, time_limit=1)):
        assert kept.solution(problem, asked).certificate == fine.certificate
        assert kept.solution(problem, asked).settings == asked


def test_an_answer_that_ran_out_of_time_serves_those_with_no_more_time(kept):
    problem = noise_problem(1, 0.1, support=(-2, 9))
    solution = solve(problem, SolverSettings(gap=1e-6, time_limit=0.5))
    assert solution.certificate.gap > 1e-6
    kept.keep(solution)
    assert kept.solution(problem, SolverSettings(gap=1e-6, time_limit=0.5)) is not None
    assert kept.solution(problem, SolverSettings(gap=1e-6, time_limit=5)) is None
    kept.keep(solution, effort=0.1)
    assert kept.solution(problem, SolverSettings(gap=1e-6, time_limit=0.5)) is not None, "the longer effort counts"


def test_methods_and_grids_have_answers_of_their_own(kept):
    problem = noise_problem(1, 0.2)
    certified = solve(problem, SETTINGS)
    kept.keep(certified)
    reference = SolverSettings(gap=0.5, method="reference", cells_per_sensitivity=2)
    assert kept.solution(problem, reference) is None
    kept.keep(solve(problem, reference))
    assert "cutting planes" in kept.solution(problem, reference).source
    assert kept.solution(problem, replace(reference, cells_per_sensitivity=3)) is None
    assert kept.solution(problem, SETTINGS).certificate == certified.certificate
    assert kept.solution(noise_problem(1, 0.2, 2.0), SETTINGS) is None


def test_bytes_by_kind_and_key(kept):
    kept.put("sweep", (1, "a"), b"one")
    assert kept.get("sweep", (1, "a")) == b"one"
    for kind, key in [("map", (1, "a")), ("sweep", (1.0, "a")), ("sweep", (True, "a")), ("sweep", (1, "a", None))]:
        assert kept.get(kind, key) is None
    kept.put("sweep", (1, "a"), b"two")
    assert kept.get("sweep", (1, "a")) == b"two"


# Who proved it ---------------------------------------------------------------------------------------

SERVED = """
import json, sys
from dpcore.cli import main
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from dpcore.store import Store

kept, problem = Store(sys.argv[1]), noise_problem(0.5, 0.0)
found = kept.solution(problem, SolverSettings())
if found is None:
    kept.keep(solve(problem, SolverSettings()))
sys.argv = ["dpcore", "sweep", "--epsilon", "0.5,1", "--delta", "0", "--workers", "1", "--out", "rows.csv"]
main()
print(json.dumps(found is not None))
"""


def served(package: Path, folder: Path) -> tuple[bool, int]:
    """(a solution, how many rows of a sweep) of those kept before that the package in this folder serves."""
    environment = {**os.environ, "PYTHONPATH": str(package), "DP_FRONTIER_STORE": str(folder)}
    command = [sys.executable, "-c", SERVED, str(folder)]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=True)
    summary, found = map(json.loads, done.stdout.splitlines())
    return found, summary["from_store"]


def test_what_other_source_proved_is_never_served(tmp_path):
    """One line of the solver, of the referee or of any other file: no solution and no row of a sweep survives it."""
    package, folder = tmp_path / "site-packages", tmp_path / "store"
    shutil.copytree(ROOT / "dpcore", package / "dpcore", ignore=shutil.ignore_patterns("__pycache__"))
    assert served(package, folder) == (False, 0)
    assert served(package, folder) == (True, 2), "the same source serves"
    for changed in ("optimal/additive.py", "audit/cells.py"):
        file = package / "dpcore" / changed
        before = file.read_text()
        file.write_text(before + "SLACK = 0.0\n")
        assert served(package, folder) == (False, 0), changed
        file.write_text(before)
    assert served(package, folder) == (True, 2), "and what it had proved is still its own"


def test_a_digest_knows_every_file_its_place_and_the_libraries(tmp_path, monkeypatch):
    (tmp_path / "part").mkdir()
    (tmp_path / "one.py").write_text("a = 1\n")
    (tmp_path / "part" / "two.py").write_text("b = 2\n")
    seen = [provenance.provenance(tmp_path)]
    assert provenance.provenance(tmp_path) == seen[0]
    (tmp_path / "part" / "two.py").write_text("b = 3\n")
    seen.append(provenance.provenance(tmp_path))
    (tmp_path / "part" / "two.py").rename(tmp_path / "two.py")
    seen.append(provenance.provenance(tmp_path))
    (tmp_path / "one.py").write_text("a = 1\nb = 3\n")
    (tmp_path / "two.py").write_text("")
    seen.append(provenance.provenance(tmp_path))
    for name in ("highspy", "numba", "numpy", "scipy"):
        with monkeypatch.context() as patch:
            patch.setattr(provenance, "version", lambda asked, name=name: "other" if asked == name else "1")
            seen.append(provenance.provenance(tmp_path))
    assert len(set(seen)) == len(seen)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert provenance.provenance(empty) != provenance.provenance(empty), "nothing to compare: nothing is shared"


def test_what_others_proved_makes_room_first(tmp_path, monkeypatch):
    small = Store(tmp_path / "store", limit=100_000)
    small.put("sweep", "own", bytes(20_000))
    with monkeypatch.context() as patch:
        patch.setattr(store, "PROVENANCE", "another")
        assert small.get("sweep", "own") is None
        for number in range(3):
            small.put("sweep", number, bytes(20_000))
    for number in range(2):
        small.put("sweep", f"own {number}", bytes(20_000))
    assert all(small.get("sweep", key) is not None for key in ("own", "own 0", "own 1")), "older than what went"
    with entries(tmp_path) as database:
        count = "SELECT COUNT(*) FROM answers WHERE made_by = 'another'"
        assert database.execute(count).fetchone() == (1,)


LOCKED = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # the range of SQLite's shared locks
    except OSError:
        print("locked")
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_second_store_of_a_process_leaves_the_first_its_locks(tmp_path):
    """Without them another process takes itself for the last one and writes over what is still in use."""
    first = Store(tmp_path)
    seen = []
    for _ in range(2):
        command = [sys.executable, "-c", LOCKED, str(tmp_path / "results.sqlite")]
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        second = Store(tmp_path)
    assert first.usable and second.usable and seen == ["locked", "locked"]


def test_a_table_of_another_layout_is_made_anew(tmp_path):
    """The one of earlier releases had no column for who proved an entry."""
    folder = tmp_path / "store"
    folder.mkdir()
    with sqlite3.connect(folder / "results.sqlite") as database:
        columns = "key BLOB PRIMARY KEY, used REAL, size INTEGER, seal BLOB, value BLOB"
        database.execute(f"CREATE TABLE answers ({columns})")
        database.execute("INSERT INTO answers VALUES (x'00', 1.0, 1, x'00', x'00')")
    database.close()
    for _ in range(2):
        fresh = Store(folder)
        fresh.put("sweep", 1, b"one")
        assert fresh.get("sweep", 1) == b"one"
        fresh.close()
    with entries(tmp_path) as database:
        assert database.execute("SELECT COUNT(*) FROM answers").fetchone() == (1,)


# Keys ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class One:
    number: float


@dataclass(frozen=True)
class Other:
    number: float


def test_different_values_have_different_texts():
    """Equal fields of two classes, equal numbers of two types, losses with the same name."""
    problem = noise_problem(1, 0.2)
    namesake = make_dataclass("One", [("number", float)], frozen=True, namespace={"__module__": "elsewhere"})
    values = [One(number) for number in (1, 1.0, True, "1", b"1", (1,), ((1,),), (), None, -0.0, 0.0, float("nan"))]
    values += [Other(1.0), namesake(1.0), (One(1.0),), "One(1.0)", solve, canonical, ("a", "b"), ("a, b",), ("a', 'b",)]
    values += [problem, replace(problem, loss=problem.loss.scaled(2.0)), replace(problem, support=(-50, 50))]
    values += [noise_problem(1, 0.2, 1, kind) for kind in (loss.squared(), loss.power(2.0), "huber:1", "exceed:1")]
    assert len({canonical(value) for value in values}) == len(values)
    assert canonical(noise_problem(1, 0.2)) == canonical(problem)


@pytest.mark.parametrize("value", [[1], {1: 2}, object(), lambda: 0, np.float64(1), (1, [2])])
def test_what_has_no_text_of_its_own_is_no_key(value):
    with pytest.raises(TypeError):
        canonical(value)


# Room ------------------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_makes_room(tmp_path, monkeypatch):
    small, clock = Store(tmp_path / "store", limit=100_000), iter(range(10**6, 10**9, 1000))
    monkeypatch.setattr(store.time, "time", lambda: float(next(clock)))
    for number in range(40):
        small.put("sweep", number, os.urandom(10_000))
        small.get("sweep", 0)
    held = [number for number in range(40) if small.get("sweep", number) is not None]
    assert held[0] == 0 and held[1:] == list(range(41 - len(held), 40)), "the one in use and the latest"
    assert 5 <= len(held) <= 10
    small.put("sweep", 99, bytes(26_000))
    assert small.get("sweep", 99) is None, "one entry does not push out all others"
    small.close()
    assert sum(file.stat().st_size for file in (tmp_path / "store").iterdir()) < 200_000


# Hostile and damaged files ---------------------------------------------------------------------------


class Trap:
    def __reduce__(self):
        return exec, ("import builtins; builtins.sprung = True",)


def test_a_planted_pickle_is_never_loaded(kept, tmp_path):
    """Whatever is written into the database, in place of an entry or of its checksum, stays bytes."""
    solution = solve(PROBLEMS[0], SETTINGS)
    for poison in (pickle.dumps(Trap()), zlib.compress(pickle.dumps(Trap()))):
        kept.keep(solution)
        with entries(tmp_path) as database:
            database.execute("UPDATE answers SET value = ?, checksum = ?", (poison, poison))
        assert kept.solution(PROBLEMS[0], SETTINGS) is None
        kept.put("solution", topic(PROBLEMS[0], SETTINGS), poison)  # even under its own checksum
        assert kept.solution(PROBLEMS[0], SETTINGS) is None
    assert not hasattr(builtins, "sprung")
    text = (ROOT / "dpcore" / "store.py").read_text() + (ROOT / "dpcore" / "reload.py").read_text()
    assert "import pickle" not in text and "diskcache" not in text and "shelve" not in text


def forged(solution, **changes) -> bytes:
    data = {"effort": 1e9, "source": "linear program", "shifts": 1, "solution": store.solution_to_dict(solution)}
    data["solution"] |= changes
    data["solution"]["certificate"] |= changes
    return zlib.compress(json.dumps(data).encode())


def test_a_forged_bound_is_not_believed(kept, tmp_path):
    """What is changed in place is gone; under a checksum of its own the upper bound and delta are audited."""
    solution = solve(PROBLEMS[0], SETTINGS)
    kept.keep(solution)
    with entries(tmp_path) as database:
        database.execute("UPDATE answers SET value = ?", (forged(solution, lower=solution.certificate.upper),))
    assert kept.solution(PROBLEMS[0], SETTINGS) is None
    with entries(tmp_path) as database:
        assert database.execute("SELECT COUNT(*) FROM answers").fetchone() == (0,), "and it is gone"
    key = topic(PROBLEMS[0], SETTINGS)
    kept.put("solution", key, forged(solution, upper=0.0, delta_upper=0.0, gap=0.0))
    back = kept.solution(PROBLEMS[0], SETTINGS).certificate
    assert (back.upper, back.delta_upper) == (solution.certificate.upper, solution.certificate.delta_upper)
    kept.put("solution", key, forged(solution, delta=0.19))
    assert kept.solution(PROBLEMS[0], SETTINGS) is None, "an answer to another problem"
    kept.put("solution", key, forged(solution, epsilon=0.9))
    assert kept.solution(PROBLEMS[0], SETTINGS) is None


def test_an_entry_moved_to_another_key_is_not_believed(kept, tmp_path):
    kept.put("sweep", 1, b"one")
    kept.put("sweep", 2, b"two")
    with entries(tmp_path) as database:
        (one, checksum), (two, _) = database.execute("SELECT key, checksum FROM answers ORDER BY rowid").fetchall()
        database.execute("UPDATE answers SET value = 'one', checksum = ? WHERE key = ?", (checksum, two))
        assert kept.get("sweep", 2) is None
        database.execute("UPDATE answers SET key = ? WHERE key = ?", (two, one))
        assert kept.get("sweep", 2) is None


@pytest.mark.parametrize("value", ["text", 7, 1.5, None, b"", bytes(50)], ids=str)
@pytest.mark.parametrize("column", ["value", "checksum", "used", "size", "made_by"])
def test_a_cell_of_any_type_in_any_column_does_no_harm(kept, tmp_path, column, value):
    kept.put("sweep", 1, b"one")
    with entries(tmp_path) as database:
        database.execute("DROP INDEX answers_by_use")
        try:
            database.execute(f"UPDATE answers SET {column} = ?", (value,))
        except sqlite3.IntegrityError:
            return
    assert kept.get("sweep", 1) == (b"one" if column in ("used", "size", "made_by") else None)
    kept.put("sweep", 1, b"two")
    assert kept.get("sweep", 1) == b"two"


def test_a_bomb_is_not_unpacked(kept):
    kept.put("solution", topic(PROBLEMS[0], SETTINGS), zlib.compress(bytes(100 << 20)))
    assert kept.solution(PROBLEMS[0], SETTINGS) is None


@pytest.mark.parametrize("junk", [b"no database at all" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_damaged_file_is_replaced(tmp_path, junk):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "results.sqlite").write_bytes(junk)
    fresh = Store(folder)
    fresh.put("sweep", 1, b"one")
    assert fresh.get("sweep", 1) == b"one"


def test_damage_under_way_costs_the_entries_and_nothing_else(tmp_path):
    kept = Store(tmp_path / "store")
    for number in range(50):
        kept.put("sweep", number, os.urandom(5000))
    kept.close()
    file = tmp_path / "store" / "results.sqlite"
    content = bytearray(file.read_bytes())
    rng = np.random.default_rng(1)
    for place in rng.integers(100, len(content), 3000):
        content[place] ^= int(rng.integers(1, 256))
    file.write_bytes(content)
    again = Store(tmp_path / "store")
    for number in range(50):
        value = again.get("sweep", number)
        assert value is None or len(value) == 5000
        again.put("sweep", number, b"new")
    assert Store(tmp_path / "store").get("sweep", 49) == b"new"


def test_only_the_owner_reads(tmp_path):
    Store(tmp_path / "store")
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "store").iterdir())


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv(store.FOLDER, str(tmp_path))
    assert store.default_folder() == tmp_path
    monkeypatch.setenv(store.FOLDER, "off")
    assert store.default_folder() is None
    monkeypatch.delenv(store.FOLDER)
    assert store.default_folder().is_absolute() and "dp-frontier" in str(store.default_folder())


@pytest.mark.parametrize("folder", [None, "file/below", "/proc/nowhere", "bad\0name"])
def test_a_folder_that_cannot_be_used_costs_one_line(tmp_path, caplog, folder):
    (tmp_path / "file").write_text("in the way")
    where = folder if folder is None else tmp_path / folder if "\0" not in folder else folder
    with caplog.at_level(logging.INFO):
        none = Store(where)
        none.put("sweep", 1, b"one")
        none.keep(solve(PROBLEMS[0], SETTINGS))
        assert none.get("sweep", 1) is None and none.solution(PROBLEMS[0], SETTINGS) is None
    assert not none.usable
    assert len(caplog.records) == (0 if folder is None else 1)


def test_a_folder_turned_read_only_does_no_harm(kept, tmp_path):
    kept.put("sweep", 1, b"one")
    with entries(tmp_path) as other:
        other.execute("BEGIN EXCLUSIVE")
        blocked = Store(None)
        blocked._connection = sqlite3.connect(tmp_path / "store" / "results.sqlite", timeout=0.01, isolation_level=None)
        blocked.put("sweep", 2, b"two")
        assert blocked.get("sweep", 2) is None
        other.execute("ROLLBACK")
        blocked.put("sweep", 2, b"two")
        assert blocked.get("sweep", 2) == b"two"


# Many at once ----------------------------------------------------------------------------------------


def test_threads_and_processes_share_a_folder(tmp_path):
    code = (
        "import sys; from dpcore.store import Store; store = Store(sys.argv[1])\n"
        "for n in range(60):\n"
        "    store.put('sweep', n, bytes([n]) * 3000)\n"
        "    assert store.get('sweep', n) == bytes([n]) * 3000"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "store")]
    processes = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(2)]
    kept, wrong = Store(tmp_path / "store"), []

    def read() -> None:
        while any(process.poll() is None for process in processes):
            for n in range(60):
                value = kept.get("sweep", n)
                if value not in (None, bytes([n]) * 3000):
                    wrong.append(n)
            time.sleep(0.01)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for process in processes:
        assert process.communicate()[1] == b"" and process.returncode == 0
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(kept.get("sweep", n) is not None for n in range(60))


KILLER = """
import hashlib, os, random, signal, sys, time
from dpcore.store import Store

folder, kills, rng = sys.argv[1], int(sys.argv[2]), random.Random(3)
Store(folder).put("sweep", "first", b"kept")
for kill in range(kills):
    child = os.fork()
    if not child:
        store = Store(folder, limit=2_000_000)
        for number in range(kill * 1000, kill * 1000 + 100):
            body = random.Random(number).randbytes(20_000 + number % 7000)
            store.put("sweep", number, hashlib.sha256(body).digest() + body)
        signal.pause()
    time.sleep(rng.uniform(0.001, 0.025))
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
"""


def test_killed_a_hundred_times_while_writing(tmp_path):
    """Every entry is there in full or not at all, and the file is sound."""
    kills = 100
    command = [sys.executable, "-c", KILLER, str(tmp_path / "store"), str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=100)
    assert done.returncode == 0 and done.stderr == b""
    with entries(tmp_path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (count,) = database.execute("SELECT COUNT(*) FROM answers").fetchone()
    kept, found = Store(tmp_path / "store"), 0
    for kill in range(kills):
        for number in range(kill * 1000, kill * 1000 + 100):
            value = kept.get("sweep", number)
            if value is not None:
                assert value[:32] == hashlib.sha256(value[32:]).digest() and len(value) == 20_032 + number % 7000
                found += 1
    assert found + (kept.get("sweep", "first") is not None) == count, "whatever is in the file can be read"
    assert found >= 30
