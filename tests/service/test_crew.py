"""Processes that compute: the same answers, stopping, sketches, errors, and what happens when one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpcore.errors import InputError
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from pages.shared.answers import Question
from pages.shared.jobs import Desk, Workers
from service.crew import Crew, Lost

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
def crew() -> Iterator[Crew]:
    with pytest.MonkeyPatch.context() as patch:  # tasks of this module are found by those processes, too
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        found = Crew(2)
        until(lambda: found.ready == 2)
        yield found
        found.close()


def where(problem, settings, progress) -> int:
    return os.getpid()


def complain(problem, settings, progress):
    raise InputError("epsilon", problem, "a number above 0")


def unsendable(problem, settings, progress):
    return threading.Lock()


def wait_for_word(problem, settings, progress) -> str:
    """Works until it is told to stop."""
    while not progress("working"):
        time.sleep(0.01)
    return "stopped"


def test_an_answer_is_the_same_elsewhere(crew):
    records = []
    there = crew.answer(solve, PROBLEM, SolverSettings(gap=0.001), lambda record: records.append(record) or False)
    here = solve(PROBLEM, SolverSettings(gap=0.001))
    assert there.certificate == here.certificate and (there.noise.masses == here.noise.masses).all()
    assert (records[-1].lower, records[-1].upper) == (there.certificate.lower, there.certificate.upper)
    assert crew.answer(where, None, None, print) in crew.pids and os.getpid() not in crew.pids


def test_the_answer_of_the_moment_and_the_word_to_stop(crew):
    seen = []

    def report(record) -> bool:
        if record.upper < float("inf"):
            seen.append((record.upper, record.answer()))
        return len(seen) == 2

    last = crew.answer(solve, PROBLEM, HARD, report)
    assert [answer.certificate.upper for _, answer in seen] == [upper for upper, _ in seen]
    assert last.certificate.upper <= seen[-1][0] and last.certificate.gap > HARD.gap


def test_errors_come_back_as_they_are(crew):
    with pytest.raises(InputError, match="a number above 0") as caught:
        crew.answer(complain, -1, None, print)
    assert (caught.value.field, caught.value.value) == ("epsilon", -1)
    with pytest.raises(RuntimeError, match="pickle"):
        crew.answer(unsendable, None, None, print)


def test_a_task_that_is_not_known_there_is_an_error_and_no_more(crew):
    stranger = type("Stranger", (), {"__reduce__": lambda self: (__import__, ("nowhere_at_all",))})()
    with pytest.raises(ModuleNotFoundError):
        crew.answer(where, stranger, None, print)
    assert crew.answer(where, None, None, print) in crew.pids


def test_who_leaves_in_the_middle_leaves_nothing_behind(crew):
    def report(record) -> bool:
        raise KeyError("gone")

    with pytest.raises(KeyError):
        crew.answer(wait_for_word, None, None, report)
    assert crew.answer(wait_for_word, None, None, lambda _: True) == "stopped"
    assert all(member.busy == 0 for member in crew._members)


def test_a_killed_process_is_replaced_and_those_who_wait_are_told(crew):
    def report(record) -> bool:
        for pid in crew.pids:
            os.kill(pid, signal.SIGKILL)
        return False

    old = set(crew.pids)
    with pytest.raises(Lost):
        crew.answer(wait_for_word, None, None, report)
    until(lambda: crew.ready == 2 and not old & set(crew.pids))
    assert crew.answer(where, None, None, print) in crew.pids


def test_a_job_outlives_the_process_that_worked_on_it(crew):
    workers = Workers(2, crew=crew)
    job = workers.ask(Question(solve, PROBLEM, SolverSettings(gap=0.0005, time_limit=30)), Desk(workers))
    until(lambda: job.trace)
    for pid in crew.pids:
        os.kill(pid, signal.SIGKILL)
    assert job.finished.wait(SOON) and job.error is None and job.solution.certificate.gap <= 0.0005
    until(lambda: crew.ready == 2)


def test_many_at_once_in_few_processes(crew):
    answers: list[float] = []

    def one(epsilon: float) -> None:
        problem = noise_problem(epsilon, 0.1)
        answers.append(crew.answer(solve, problem, SolverSettings(gap=0.02), lambda _: False).certificate.upper)

    threads = [threading.Thread(target=one, args=(0.5 + 0.1 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert len(set(answers)) == 8


def test_without_any_process_up_tasks_run_here():
    crew = Crew(0)
    assert crew.answer(where, None, None, print) == os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_they_end_with_the_dashboard():
    script = "import time; from service.crew import Crew; c = Crew(1)\nwhile not c.ready: time.sleep(.05)\n"
    script += "print(*c.pids, flush=True); time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])
    parent.stdout.close()
