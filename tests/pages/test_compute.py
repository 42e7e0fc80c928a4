"""Background jobs: latest wins, stopping keeps the best so far, answers are never mixed up."""

from __future__ import annotations

import pytest

from dpcore.problem import SolverSettings, noise_problem
from pages.shared.compute import Desk, Workers

HARD = SolverSettings(gap=1e-6, time_limit=30)
EASY = SolverSettings(gap=0.05)


@pytest.fixture(scope="module")
def workers() -> Workers:
    return Workers(threads=2)


def test_one_question_one_answer(workers):
    one, other = Desk(workers), Desk(workers)
    question = (noise_problem(1, 0.2), EASY)
    job = one.ask("picture", question)
    assert job.finished.wait(20)
    assert one.ask("picture", question) is job
    assert other.ask("picture", (noise_problem(1, 0.2), EASY)) is job, "sessions share finished answers"
    squared = one.ask("picture", (noise_problem(1, 0.2, 1, "l2"), EASY))
    assert squared.finished.wait(20)
    assert squared.solution.problem.loss.spec == "l2"
    assert squared.solution.certificate.upper != job.solution.certificate.upper


def test_a_newer_question_withdraws_the_older_one(workers):
    desk = Desk(workers)
    old = desk.ask("picture", (noise_problem(0.7, 0.03, 1, "lp:1.3"), HARD))
    new = desk.ask("picture", (noise_problem(0.8, 0.2), EASY))
    assert new.finished.wait(20)
    assert old.finished.wait(5), "the older one ends soon after it is withdrawn"
    assert old.halt.is_set()


def test_a_question_of_two_sessions_survives_one_leaving(workers):
    one, other = Desk(workers), Desk(workers)
    question = (noise_problem(0.9, 0.04, 1, "lp:1.4"), HARD)
    job = one.ask("picture", question)
    assert other.ask("picture", question) is job
    one.close()
    assert not job.halt.is_set()
    other.close()
    assert job.halt.is_set()
    assert job.finished.wait(5)


def test_stopping_keeps_the_best_so_far_and_is_not_passed_on(workers):
    desk = Desk(workers)
    question = (noise_problem(0.6, 0.05, 1, "lp:1.2"), HARD)
    job = desk.ask("picture", question)
    while not job.trace and not job.done:
        job.finished.wait(0.02)
    desk.stop("picture")
    assert job.finished.wait(5)
    assert job.solution is not None
    assert job.solution.certificate.lower <= job.solution.certificate.upper
    assert desk.ask("picture", question) is job, "this session keeps what it stopped"
    fresh = Desk(workers).ask("picture", question)
    assert fresh is not job, "another session starts afresh"
    workers.withdraw(fresh)
