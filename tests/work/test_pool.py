"""Processes that compute: the same answers, stopping, sketches, errors, and what happens when one of them is killed."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import InputError
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from work.pool import Lost, Pool, _Process
from work.question import Question
from work.session import Session
from work.workers import Workers

ROOT = Path(__file__).parents[2]
PROBLEM = noise_problem(1, 0.2)
HARD = SolverSettings(gap=1e-6, time_limit=30)
SOON = 60.0
"""Seconds that a start may take on a crowded machine."""


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def two() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:  # tasks of this module are found by those processes, too
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.setattr("work.pool.LONGEST", 0.1)  # the tests below kill often
        found = Pool(2)
        yield found
        found.close()


@pytest.fixture
def pool(two) -> Pool:
    """With two processes, whatever the test before has done to them."""
    until(lambda: two.ready == 2 and all(process._process.poll() is None for process in two._processes))
    return two


def outcome(act: Callable[[], Any]) -> Any:
    """What it returns or raises, at last: waiting for ever would be a failure, too."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(act())
        except BaseException as error:
            found.append(error)

    threading.Thread(target=run, daemon=True).start()
    until(lambda: found)
    return found[0]


@dataclass(frozen=True)
class Record:
    upper: float = 1.0
    answer: Any = None
    gap: float = 0.0


class Awkward(Exception):
    """Can be sent and not be received."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def test_a_process_with_other_source_does_not_compute(monkeypatch, capfd):
    """What it found would be filed as this process's own."""
    monkeypatch.setattr("work.pool.PROVENANCE", "another digest")
    with pytest.raises(Lost):
        _Process.start()
    assert "source has changed" in capfd.readouterr().err


def where(problem, settings, progress) -> int:
    return os.getpid()


def at_work(problem, settings, progress) -> int:
    """Threads that work on some question."""
    return sum(thread.name == "work" for thread in threading.enumerate())


def go_wrong(problem, settings, progress):
    if problem == "sketch":
        while not progress(Record(answer=lambda: 1 / 0)):
            time.sleep(0.01)
    if problem == "record":
        progress(stranger())
    raise {"exit": SystemExit(3), "error": Awkward("this", "that")}[problem]


def die(problem, settings, progress) -> None:
    os._exit(1)


def count_up(problem, settings, progress) -> None:
    """Reports its steps."""
    for step in range(problem):
        time.sleep(0.05)
        progress(step)


def report_where(problem, settings, progress) -> None:
    """Reports once, and computes until a file is there."""
    progress(os.getpid())
    while not os.path.exists(problem):
        time.sleep(0.01)


def close_in(problem, settings, progress) -> None:
    """The gap closes from below: the upper bound stays."""
    gap = 1.0
    while not progress(Record(answer=partial(float, gap), gap=gap)):
        time.sleep(0.01)
        gap = max(gap / 2, problem)


def stranger() -> object:
    """Something that can be sent and not be received."""
    return type("Stranger", (), {"__reduce__": lambda self: (__import__, ("nowhere_at_all",))})()


def complain(problem, settings, progress):
    raise InputError("epsilon", problem, "a number above 0")


def unsendable(problem, settings, progress):
    return threading.Lock()


def wait_for_word(problem, settings, progress) -> str:
    """Works until it is told to stop."""
    while not progress("working"):
        time.sleep(0.01)
    return "stopped"


def test_an_answer_is_the_same_elsewhere(pool):
    records = []
    there = pool.answer(solve, PROBLEM, SolverSettings(gap=0.001), lambda record: records.append(record) or False)
    here = solve(PROBLEM, SolverSettings(gap=0.001))
    assert there.certificate == here.certificate and (there.noise.masses == here.noise.masses).all()
    assert (records[-1].lower, records[-1].upper) == (there.certificate.lower, there.certificate.upper)
    assert pool.answer(where, None, None, print) in pool.pids and os.getpid() not in pool.pids


def test_the_answer_of_the_moment_and_the_word_to_stop(pool):
    seen = []

    def report(record) -> bool:
        if record.upper < float("inf"):
            seen.append((record.upper, record.answer()))
        return len(seen) == 2

    last = pool.answer(solve, PROBLEM, HARD, report)
    assert [answer.certificate.upper for _, answer in seen] == [upper for upper, _ in seen]
    assert last.certificate.upper <= seen[-1][0] and last.certificate.gap > HARD.gap


def test_errors_come_back_as_they_are(pool):
    with pytest.raises(InputError, match="a number above 0") as caught:
        pool.answer(complain, -1, None, print)
    assert (caught.value.field, caught.value.value) == ("epsilon", -1)
    with pytest.raises(RuntimeError, match="pickle"):
        pool.answer(unsendable, None, None, print)


def test_a_task_that_is_not_known_there_is_an_error_and_no_more(pool):
    with pytest.raises(ModuleNotFoundError):
        pool.answer(where, stranger(), None, print)
    assert pool.answer(where, None, None, print) in pool.pids


@pytest.mark.parametrize(
    ("what", "error"),
    [("sketch", ZeroDivisionError), ("record", ModuleNotFoundError), ("exit", SystemExit), ("error", RuntimeError)],
)
def test_whatever_goes_wrong_there_is_told_here_and_goes_on_nowhere(pool, what, error):
    def report(record) -> bool:
        return record.answer() is None

    found = outcome(lambda: pool.answer(go_wrong, what, None, report))
    assert isinstance(found, error) and (what != "error" or str(found) == "Awkward: this and that")
    until(lambda: pool.answer(at_work, None, None, print) == 1)


def test_a_question_goes_to_a_process_that_computes_for_nobody(pool, tmp_path):
    pids, go, done = [], threading.Event(), tmp_path / "done"

    def hold(pid: int) -> bool:
        pids.append(pid)
        return bool(go.wait(SOON))

    def note(pid: int) -> bool:
        pids.append(pid)
        return False

    first = threading.Thread(target=pool.answer, args=(report_where, str(done), None, note))
    second = threading.Thread(target=pool.answer, args=(report_where, str(done), None, hold))
    for thread in (first, second):
        before = len(pids)
        thread.start()
        until(lambda before=before: len(pids) > before)
    assert pool.answer(where, None, None, print) == pids[1] != pids[0]
    done.touch()
    go.set()
    first.join()
    second.join()


def test_who_leaves_in_the_middle_leaves_nothing_behind(pool):
    def report(record) -> bool:
        raise KeyError("gone")

    with pytest.raises(KeyError):
        pool.answer(wait_for_word, None, None, report)
    assert pool.answer(wait_for_word, None, None, lambda _: True) == "stopped"
    assert all(member.busy == (0, 0) for member in pool._processes)


def test_a_killed_process_is_replaced_and_those_who_wait_are_told(pool):
    def report(record) -> bool:
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
        return False

    old = set(pool.pids)
    with pytest.raises(Lost):
        pool.answer(wait_for_word, None, None, report)
    until(lambda: pool.ready == 2 and not old & set(pool.pids))
    assert pool.answer(where, None, None, print) in pool.pids


def test_a_job_outlives_the_process_that_worked_on_it(pool):
    workers = Workers(2, pool=pool)
    job = workers.ask(Question(solve, PROBLEM, SolverSettings(gap=0.0005, time_limit=60)), Session(workers))
    until(lambda: job.trace)
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
    assert job.wait(SOON) and job.error is None and job.solution.certificate.gap <= 0.0005
    until(lambda: pool.ready == 2)


def test_what_a_job_had_found_is_there_until_there_is_as_much_again(pool):
    workers = Workers(2, pool=pool)
    job = workers.ask(Question(count_up, 60, None), Session(workers))
    until(lambda: len(job.trace) >= 20)
    before = list(job.trace)
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
    until(lambda: job.anew)
    assert job.trace[: len(before)] == before and "anew" in job.doing
    assert job.wait(SOON) and job.trace == list(range(60)) and job.anew is None
    until(lambda: pool.ready == 2)


def test_a_job_that_was_stopped_when_its_process_died_has_the_best_so_far(pool):
    workers = Workers(2, pool=pool)
    session = Session(workers)
    job = session.ask("picture", Question(solve, noise_problem(1, 0.1, 1, support=(-2, 9)), HARD))
    until(lambda: job.sketch is not None)
    for pid in pool.pids:
        os.kill(pid, signal.SIGSTOP)
    session.stop("picture")
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
    assert job.wait(SOON) and job.error is None
    assert job.solution is job.sketch and job.trace[-1].upper <= job.sketch.certificate.upper


def test_the_answer_of_the_moment_comes_from_there_whichever_bound_moves(pool, monkeypatch):
    monkeypatch.setattr("work.job.AGAIN", 0.0)
    workers = Workers(2, pool=pool)
    session = Session(workers)
    job = session.ask("picture", Question(close_in, 0.125, None))
    until(lambda: job.sketch == 0.125)
    session.stop("picture")
    assert job.wait(SOON)


def test_a_question_that_kills_is_an_error_and_does_not_come_here(pool):
    workers = Workers(2, pool=pool)
    job = workers.ask(Question(die, None, None), Session(workers))
    assert job.wait(SOON) and isinstance(job.error, Lost) and job.solution is None
    pool.wait()
    assert pool.answer(where, None, None, print) in pool.pids
    assert workers.figures().jobs_running == 0 and workers.figures().jobs_failed_total == 1


def test_many_at_once_in_few_processes(pool):
    answers: list[float] = []

    def one(epsilon: float) -> None:
        problem = noise_problem(epsilon, 0.1)
        answers.append(pool.answer(solve, problem, SolverSettings(gap=0.02), lambda _: False).certificate.upper)

    threads = [threading.Thread(target=one, args=(0.5 + 0.1 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert len(set(answers)) == 8


def test_without_any_process_up_tasks_run_here():
    pool = Pool(0)
    assert pool.answer(where, None, None, print) == os.getpid()


def test_processes_that_do_not_start_are_replaced_and_none_is_left(monkeypatch):
    """One may not start, one dies at once, one dies in the middle of the first words."""
    start, started, numbers = subprocess.Popen, [], itertools.count()
    mute = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.stdin.readline().strip())"

    def popen(command, **how) -> subprocess.Popen:
        number = next(numbers)
        if number == 0:
            raise PermissionError
        process = start([sys.executable, "-c", ("", mute)[number - 1]] if number < 3 else command, **how)
        started.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    pool = Pool(3)
    until(lambda: pool.ready == 3)
    os.kill(pool.pids[0], signal.SIGSTOP)
    pool.close()
    until(lambda: pool.ready == 0 and all(process.poll() is not None for process in started))
    assert len(started) == 5
    with pytest.raises(Lost):
        pool.answer(where, None, None, print)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_they_end_with_the_dashboard():
    script = "import time; from work.pool import Pool; c = Pool(1)\nwhile not c.ready: time.sleep(.05)\n"
    script += "print(*c.pids, flush=True); time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])
    parent.stdout.close()
