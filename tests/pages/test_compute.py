"""Background jobs: each question once, the latest wins, first brackets first, stopping keeps the best so far.

Tests wait for what must happen; none measures how long it took."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, make_dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from screens import turn
from streamlit.testing.v1 import AppTest

from dpcore import loss
from dpcore.errors import InputError
from dpcore.optimal import solve
from dpcore.problem import Budget, SolverSettings, noise_problem
from dpcore.store import Store
from pages.shared import compute
from work.job import TooMany
from work.question import Question
from work.session import Session
from work.workers import Workers

ROOT = Path(__file__).parents[2]
HARD = SolverSettings(gap=1e-6, time_limit=30)
EASY = SolverSettings(gap=0.05)
SOON = 60.0
"""Seconds that anything may take on a crowded machine before a test calls it missing."""


def asked(problem, settings, task=solve) -> Question:
    return Question(task, problem, settings)


@dataclass(frozen=True)
class One:
    number: float


@dataclass(frozen=True)
class Other:
    number: float


@dataclass(frozen=True)
class Count:
    """How far to count, and the gap to report on the way."""

    steps: int
    gap: float = 0.5
    pause: float = 0.01


@dataclass(frozen=True)
class Record:
    upper: float
    gap: float


@dataclass(frozen=True)
class Closing:
    """A bracket on its way, with the answer of its moment."""

    lower: float
    upper: float
    answer: object = None

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.inf


def close_in(problem, settings, progress) -> tuple[float, float]:
    """Reports brackets, again and again the last one, each with itself as the answer of the moment."""
    for lower, upper in (*problem, *[problem[-1]] * 10**6):
        if progress(Closing(lower, upper, partial(tuple, (lower, upper)))):
            return lower, upper
        time.sleep(0.005)


def say_class(problem, settings, progress=None) -> str:
    return type(problem).__name__


def say_number(problem, settings, progress=None) -> str:
    return repr(problem.number)


def count(problem, settings, progress) -> int:
    """Counts slowly, reporting at every step."""
    for n in range(problem.steps):
        if progress(Record(1.0, problem.gap)):
            return n
        time.sleep(problem.pause)
    return problem.steps


def fail(problem, settings, progress):
    raise {"input": InputError("number", 1, "another"), "bug": ZeroDivisionError("x"), "exit": SystemExit(1)}[problem]


RELEASE = threading.Event()


def hold(problem, settings, progress):
    """Reports once and is then deaf until released."""
    progress(Record(1.0, 0.5))
    RELEASE.wait(SOON)


def until(condition) -> None:
    """Wait for something that must come true soon."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


@pytest.fixture
def workers(tmp_path):
    workers = Workers(2, store=Store(tmp_path / "store"))
    yield workers
    workers.rest()
    assert not [t for t in threading.enumerate() if t.name == "job"], "no thread is left"
    assert workers.figures().jobs_running == workers.figures().jobs_waiting == 0


def test_one_question_one_answer(workers):
    one, other = Session(workers), Session(workers)
    question = asked(noise_problem(1, 0.2), EASY)
    job = one.ask("picture", question)
    assert job.wait(SOON)
    assert one.ask("picture", question) is job
    again = other.ask("picture", asked(noise_problem(1, 0.2), EASY))
    assert again.done and again.solution.noise is job.solution.noise, "sessions share finished answers"
    squared = one.ask("picture", asked(noise_problem(1, 0.2, 1, "l2"), EASY))
    assert squared.wait(SOON)
    assert squared.solution.problem.loss.spec == "l2"
    assert squared.solution.certificate.upper != job.solution.certificate.upper
    figures = workers.figures()
    assert (figures.jobs_started_total, figures.jobs_finished_total, figures.memory_hits_total) == (2, 2, 1)


def test_sessions_that_ask_the_same_at_once_share_the_work(workers):
    question = asked(Count(30), None, count)
    found = [Session(workers).ask("picture", question) for _ in range(20)]
    assert len({id(job) for job in found}) == 1
    assert found[0].wait(SOON)
    assert workers.figures().jobs_started_total == 1


def test_an_answer_that_comes_while_it_is_asked_for_is_not_worked_out_again(workers, monkeypatch):
    recall, question = workers.cache.recall, asked(Count(5), None, count)

    def slowly(question: Question):
        found = recall(question)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(workers.cache, "recall", slowly)
    one, other = (Session(workers).ask("picture", question) for _ in range(2))
    assert one.wait(SOON) and other.wait(SOON) and other.solution == 5
    assert workers.figures().jobs_started_total == 1


def test_questions_that_look_alike_never_share_an_answer(workers):
    """Other tasks, other classes with the same fields, other types of the same number, losses with the same text."""
    problem = noise_problem(1, 0.2)
    scaled = replace(problem, loss=problem.loss.scaled(2.0))
    assert scaled.loss.spec == problem.loss.spec
    namesake = make_dataclass("One", [("number", float)], frozen=True, namespace={"__module__": "elsewhere"})
    numbers = (1, 1.0, True, "1", (1,), ((1,),), None, float("nan"), -0.0, 0.0)
    questions = [Question(say_number, One(number), EASY) for number in numbers]
    questions += [Question(say_class, kind(1.0), EASY) for kind in (One, Other, namesake)]
    questions += [asked(problem, EASY), asked(scaled, EASY), asked(problem, EASY, say_class)]
    questions += [asked(noise_problem(1, 0.2, 1, spec), EASY) for spec in (loss.squared(), loss.power(2.0))]
    assert len(set(questions)) == len(questions)
    assert len({question.topic for question in questions}) == len(questions)
    assert Question(say_number, One(float("nan")), EASY) in questions, "and equal ones are found"
    for _ in range(2):  # worked out, then remembered
        for question in questions:
            job = Session(workers).ask("picture", question)
            assert job.wait(SOON)
            if question.task in (say_class, say_number):
                assert job.solution == question.task(question.problem, None)
            else:
                assert job.solution.problem == question.problem
    assert workers.figures().memory_hits_total == len(questions)


# Two levels of memory --------------------------------------------------------------------------------


def test_a_better_answer_serves_those_who_ask_for_less(workers):
    problem, session = noise_problem(1, 0.2), Session(workers)
    fine = session.ask("picture", asked(problem, SolverSettings(gap=1e-3)))
    assert fine.wait(SOON)
    coarse = SolverSettings(gap=0.1, time_limit=1)
    job = session.ask("picture", asked(problem, coarse))
    assert job.done and job.solution.certificate == fine.solution.certificate
    assert job.solution.settings == coarse and job.trace
    finer = session.ask("picture", asked(problem, SolverSettings(gap=1e-4)))
    assert finer.wait(SOON)
    assert finer.solution.certificate.gap < fine.solution.certificate.gap
    assert workers.figures().jobs_started_total == 2


def test_answers_outlive_the_process(tmp_path):
    question = asked(noise_problem(1, 0.2), EASY)
    first = Workers(store=Store(tmp_path / "store"))
    before = Session(first).ask("picture", question)
    assert before.wait(SOON)
    first.rest()
    second = Workers(store=Store(tmp_path / "store"))
    after = Session(second).ask("picture", question)
    assert after.wait(SOON)
    assert after.solution.certificate == before.solution.certificate
    assert after.solution is not before.solution and after.trace == list(before.solution.trace)
    assert (second.figures().disk_hits_total, second.figures().jobs_started_total) == (1, 0)
    Session(second).ask("picture", question)
    assert second.figures().memory_hits_total == 1
    second.rest()


KILLED = """
import sys
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from dpcore.store import Store
from work.question import Question
from work.session import Session
from work.workers import Workers

workers = Workers(store=Store(sys.argv[1]))
session = Session(workers)
for number in range(4):
    job = session.ask(f"slot {number}", Question(solve, noise_problem(1, 0.2 + number / 100), SolverSettings(gap=0.05)))
    job.wait(60)
while len(workers._threads):
    job.wait(0.01)
long = session.ask("long", Question(solve, noise_problem(1, 0.1, 1, support=(-2, 9)), SolverSettings(gap=1e-6)))
while not long.trace:
    long.wait(0.01)
print("in the middle", flush=True)
long.wait(60)
"""


def test_a_server_killed_in_the_middle_of_a_solve_keeps_what_was_finished(tmp_path):
    """Its successor finds the finished answers, sound, and works the other one out afresh."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "store")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"in the middle\n"
        server.kill()
    workers = Workers(store=Store(tmp_path / "store"))
    for number in range(4):
        question = asked(noise_problem(1, 0.2 + number / 100), SolverSettings(gap=0.05))
        job = Session(workers).ask("picture", question)
        assert job.wait(SOON)
        assert job.solution.problem == question.problem and job.solution.certificate.gap <= 0.05
    assert (workers.figures().disk_hits_total, workers.figures().jobs_started_total) == (4, 0)
    unfinished = Session(workers).ask("picture", asked(noise_problem(1, 0.1, 1, support=(-2, 9)), HARD))
    until(lambda: unfinished.trace)
    assert workers.figures().jobs_started_total == 1
    workers.rest()


def test_what_was_given_up_is_begun_afresh_when_it_is_asked_for_again(workers):
    session, question = Session(workers), asked(noise_problem(1, 0.1, 1, support=(-2, 9)), HARD)
    before = session.ask("picture", question)
    until(lambda: before.trace)
    workers.rest()
    assert before.done and before.solution is None
    after = session.ask("picture", question)
    assert after is not before
    until(lambda: len(after.trace) > 1)


def test_a_stopped_answer_of_a_task_without_a_gap_is_not_kept(workers):
    session, question = Session(workers), asked(Count(10_000), None, count)
    job = session.ask("picture", question)
    until(lambda: job.trace)
    session.stop("picture")
    assert job.wait(SOON) and job.solution < 10_000
    assert not Session(workers).ask("picture", question).done


# Latest wins -----------------------------------------------------------------------------------------


def test_a_newer_question_withdraws_the_older_one(workers):
    session = Session(workers)
    old = session.ask("picture", asked(noise_problem(0.7, 0.03, 1, "lp:1.3"), HARD))
    new = session.ask("picture", asked(noise_problem(0.8, 0.2), EASY))
    assert new.wait(SOON)
    assert old.wait(SOON), "the older one ends soon after it is withdrawn"
    assert old.over
    assert workers.figures().jobs_given_up_total == 1


@pytest.mark.parametrize("pause", [0.0, 0.1, 0.3])
def test_five_quick_steps_of_a_slider_start_at_most_two_solves(workers, pause):
    session, steps, slow = Session(workers), [], 0
    for n in range(5):
        began = time.monotonic()
        steps.append(session.ask("picture", asked(noise_problem(0.6 + 0.1 * n, 0.03, 1, "lp:1.3"), HARD)))
        time.sleep(pause)
        slow += 0 < n < 4 and time.monotonic() - began > 0.4  # the machine stood still, and so did the slider
    until(lambda: steps[-1].trace)
    for job in steps[:-1]:
        assert job.wait(SOON)
    assert workers.figures().jobs_started_total <= 2 + slow
    session.close()


def test_a_question_of_two_sessions_survives_one_leaving(workers):
    one, other = Session(workers), Session(workers)
    question = asked(noise_problem(0.9, 0.04, 1, "lp:1.4"), HARD)
    job = one.ask("picture", question)
    assert other.ask("picture", question) is job
    one.close()
    assert not job.over
    other.close()
    assert job.over
    assert job.wait(SOON)


def test_a_session_may_want_the_same_in_two_slots(workers):
    session, question = Session(workers), asked(Count(10_000), None, count)
    job = session.ask("one", question)
    assert session.ask("other", question) is job
    session.forget("one")
    assert not job.over
    session.forget("other")
    assert job.over


def test_closing_a_session_leaves_nothing(workers):
    session = Session(workers)
    found = [session.ask(f"slot {n}", asked(noise_problem(0.5 + n / 10, 0.04, 1, "lp:1.4"), HARD)) for n in range(6)]
    until(lambda: any(job.trace for job in found))
    session.close()
    until(lambda: not [t for t in threading.enumerate() if t.name == "job"])
    assert all(job.done for job in found)


# Stopping --------------------------------------------------------------------------------------------


def test_stopping_keeps_the_best_so_far_and_is_not_passed_on(workers):
    session = Session(workers)
    question = asked(noise_problem(0.6, 0.05, 1, "lp:1.2"), HARD)
    job = session.ask("picture", question)
    until(lambda: job.trace and job.trace[-1].gap < 0.5)
    session.stop("picture")
    assert job.wait(SOON)
    assert job.solution.certificate.lower <= job.solution.certificate.upper
    assert session.ask("picture", question) is job, "this session keeps what it stopped"
    fresh = Session(workers).ask("picture", question)
    assert fresh is not job and not fresh.done, "another session gets all of it"
    less = Session(workers).ask("picture", replace(question, settings=SolverSettings(gap=0.5)))
    assert less.done, "but for less it is good enough"
    session.forget("picture")
    assert session.ask("picture", question) is fresh, "solve on"


def test_one_session_stops_what_another_waits_for(workers):
    one, other = Session(workers), Session(workers)
    question = asked(noise_problem(0.6, 0.05, 1, "lp:1.2"), HARD)
    job = one.ask("picture", question)
    assert other.ask("picture", question) is job
    until(lambda: job.sketch is not None)
    one.stop("picture")
    mine = one.ask("picture", question)
    assert mine.done and mine.over and mine.solution.problem == question.problem
    assert not job.over and other.ask("picture", question) is job
    one.forget("picture")
    assert one.ask("picture", question) is job, "solve on"


def test_a_second_stop_waits_for_nothing():
    """Neither for the answer nor, if somebody else wants to compute, for the place."""
    alone = Workers(1)
    session, question = Session(alone), asked(0, None, hold)
    job = session.ask("picture", question)
    until(lambda: job.met)
    session.stop("picture")
    other = Session(alone).ask("picture", asked(Count(3), None, count))
    assert other.wait(SOON) and other.solution == 3 and not job.done
    session.stop("picture")
    assert session.current("picture").done and session.current("picture").over
    RELEASE.set()
    assert job.wait(SOON)
    alone.rest()


PHASES = {
    "lattices": asked(noise_problem(1, 0.1, 1, support=(-2, 9)), HARD),
    "second loss": asked(noise_problem(0.3, 1e-4, 1, "l1", budget=Budget(loss.parse_loss("asym:1:3"), 40.0)), HARD),
    "whole numbers": asked(noise_problem(0.05, 1e-5, 1000, "lp:1.5", granularity=1.0), HARD),
    "reference": asked(noise_problem(0.2, 0.05), replace(HARD, method="reference", cells_per_sensitivity=32)),
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("way", ["stop", "forget"])
@pytest.mark.parametrize("moment", [0.0, 0.15, 0.6])
def test_every_phase_of_a_solve_can_be_ended(workers, phase, way, moment):
    session = Session(workers)
    job = session.ask("picture", PHASES[phase])
    job.wait(moment)
    getattr(session, way)("picture")
    assert job.wait(SOON) and job.error is None
    if job.solution is not None:
        assert job.solution.certificate.lower <= job.solution.certificate.upper


def press(page: AppTest, key: str) -> AppTest:
    """Click and let the page settle: timers of fragments do not fire under AppTest."""
    page.button(key=key).click().run()
    for _ in range(40):
        if not any(button.key == "stop" for button in page.button):
            break
        page.run()
    assert not page.exception
    return page


def test_the_page_shows_bounds_while_it_solves_and_what_was_found_when_stopped(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    hard = {"delta": "0.1", "support": "interval", "low": "-2", "high": "9", "gap": "0.0001", "seconds": "55"}
    for key, value in hard.items():
        page.query_params[key] = value
    page.run()

    def solving() -> bool:
        page.run()
        return any("lies between" in block.value for block in page.markdown)

    until(solving)
    press(page, "stop")
    headline = next(block.value for block in page.markdown if "-DP noise" in block.value)
    assert "−2, 9" in headline and "within" in headline
    page.button(key="resume").click().run()
    assert any(button.key == "stop" for button in page.button), "it goes on where it was asked to"
    press(page, "stop")
    compute.rest()


def figures_in(page: AppTest, words: str) -> list[str]:
    """The numbers in bold of what says these words; none if nothing does."""
    said = next((block.value for block in page.markdown if words in block.value), "")
    return re.findall(r"\*\*([\d.\u202f]+)\*\*", said)


def test_headline_and_strip_of_a_page_that_solves_say_the_same_and_the_newest(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "optimal_noise")
    page.query_params.update({"delta": "0.07", "support": "interval", "low": "-2", "high": "9", "gap": "0.0001"})
    page.query_params["seconds"] = "55"
    seen = set()

    def twice_anew() -> bool:
        page.run()
        strip, headline = figures_in(page, "lies between"), figures_in(page, "-DP noise")
        assert not headline or not strip or headline == strip
        if headline and strip:
            seen.add(tuple(headline))
        return len(seen) >= 3

    until(twice_anew)
    compute.rest()


# Turns -----------------------------------------------------------------------------------------------


def test_first_brackets_come_before_refinements(workers):
    """Two long refinements hold both places; twenty sessions get their first brackets, and the two go on afterwards."""
    busy = [Session(workers).ask("picture", asked(Count(10_000 + n), None, count)) for n in range(2)]
    until(lambda: all(job.met for job in busy))
    quick = [
        Session(workers).ask("picture", asked(Count(5, gap=math.inf, pause=0.001 * n), None, count)) for n in range(20)
    ]
    for job in quick:
        assert job.wait(SOON) and job.solution == 5
    assert not any(job.done for job in busy)
    seen = [len(job.trace) for job in busy]
    until(lambda: all(len(job.trace) > n for job, n in zip(busy, seen)))


def test_refinements_take_turns(workers):
    found = [Session(workers).ask("picture", asked(Count(100_000 + n), None, count)) for n in range(6)]
    until(lambda: all(len(job.trace) > 10 for job in found))
    assert workers.figures().jobs_running <= 2
    assert all(job.worked > 0 or len(job.trace) > 10 for job in found)


def test_a_session_with_many_questions_does_not_keep_others_waiting():
    workers, order = Workers(1), []

    def ended(name):
        return lambda: order.append(name)

    greedy, modest = Session(workers), Session(workers)
    block = Session(workers).ask("picture", asked(Count(10_000, gap=math.inf), None, count))
    until(lambda: block.trace)
    many = [greedy.ask(f"slot {n}", asked(Count(4 + n, gap=math.inf), None, count)) for n in range(5)]
    few = modest.ask("picture", asked(Count(20, gap=math.inf), None, count))
    block.stop()
    for job in [*many, few]:
        assert job.wait(SOON)
    assert sum(job.began < few.began for job in many) == 1, "the second turn of one comes after the first of the other"
    workers.rest()


def test_what_is_beside_the_picture_waits_for_first_brackets():
    workers = Workers(1)
    block = Session(workers).ask("picture", asked(Count(10_000, gap=math.inf), None, count))
    until(lambda: block.trace)
    beside = Session(workers).ask("price", asked(Count(1), None, count), urgent=False)
    time.sleep(0.02)
    picture = Session(workers).ask("picture", asked(Count(2, gap=math.inf), None, count))
    block.stop()
    assert beside.wait(SOON) and picture.wait(SOON)
    assert picture.began < beside.began
    workers.rest()


def test_a_time_budget_ends_a_task_that_knows_none(workers):
    job = Session(workers).ask("picture", asked(Count(10**6), SolverSettings(time_limit=0.2), count))
    assert job.wait(SOON)
    assert 0 < job.solution < 10**6 and not job.over


def test_no_job_takes_longer_than_the_server_allows():
    workers = Workers(longest=0.2)
    job = Session(workers).ask("picture", asked(Count(10**6), SolverSettings(time_limit=3000), count))
    assert job.wait(SOON) and 0 < job.solution < 10**6
    workers.rest()


def test_time_is_up_even_for_those_who_wait_for_a_turn():
    workers = Workers(1)
    slow = Session(workers).ask("picture", asked(Count(10**6), SolverSettings(time_limit=0.3), count))
    until(lambda: slow.met)
    stubborn = Session(workers).ask("picture", asked(Count(10**6, gap=math.inf), None, count))
    assert slow.wait(SOON) and not stubborn.done
    workers.rest()
    until(lambda: stubborn.done)
    again = Session(workers).ask("picture", slow.question)
    assert not again.done, "half an answer, for want of turns, is nobody's answer"
    workers.rest()


def test_answers_of_the_moment_come_with_the_first_bracket(workers):
    question = asked(noise_problem(1, 0.1, 1, support=(-2, 9)), HARD)
    session = Session(workers)
    job = session.ask("picture", question)
    until(lambda: job.best is not None)
    assert not job.done and job.solution is None and job.best.problem == question.problem
    first = job.best.certificate
    assert math.isfinite(first.gap) and first.delta_upper <= 0.1
    assert all(record.answer is None for record in job.trace), "no search is kept alive by its trace"
    until(lambda: job.best.certificate.upper < first.upper)
    session.close()


BRACKETS = {
    "the lower bound rises": ((0.0, 9.0), (1.0, 9.0), (2.0, 9.0), (8.9, 9.0)),
    "the upper bound falls": ((1.0, 9.0), (1.0, 4.0), (1.0, 2.0)),
    "both move": ((1.0, 9.0), (1.5, 9.0), (1.5, 4.0), (3.9, 4.0)),
}


@pytest.mark.parametrize("way", BRACKETS)
def test_the_answer_of_the_moment_is_the_one_with_the_closest_bracket(workers, monkeypatch, way):
    """Whichever of the bounds moved: what is shown is what is known."""
    monkeypatch.setattr("work.job.AGAIN", 0.0)
    job = Session(workers).ask("picture", asked(BRACKETS[way], None, close_in))
    until(lambda: len(job.trace) > len(BRACKETS[way]) + 5)
    assert not job.done and job.sketch == BRACKETS[way][-1]


def test_an_answer_of_the_moment_never_gives_way_to_a_wider_bracket(workers, monkeypatch):
    """As when the work is begun anew, in another process."""
    monkeypatch.setattr("work.job.AGAIN", 0.0)
    job = Session(workers).ask("picture", asked(((3.0, 4.0), (1.0, 3.9), (0.0, 3.8)), None, close_in))
    until(lambda: len(job.trace) > 8)
    assert job.sketch == (3.0, 4.0)


# Limits and failures ---------------------------------------------------------------------------------


def test_a_session_has_so_many_jobs_and_a_word_about_it(workers):
    session = Session(workers, most=3)
    held = [session.ask(f"slot {n}", asked(Count(10_000 + n), None, count)) for n in range(3)]
    refused = session.ask("one more", asked(Count(7), None, count))
    assert refused.done and isinstance(refused.error, TooMany) and "at most 3" in str(refused.error)
    assert Session(workers, most=3).ask("slot", asked(Count(8), None, count)).error is None, "other sessions are free"
    session.forget("slot 0")
    assert held[0].wait(SOON)
    assert session.ask("one more", asked(Count(7), None, count)).error is None, "and so is this one once there is room"
    assert workers.figures().jobs_refused_total == 1


@pytest.mark.parametrize(("kind", "error"), [("input", InputError), ("bug", ZeroDivisionError)])
def test_an_error_in_a_task_reaches_the_page_and_harms_nobody(workers, kind, error):
    for _ in range(5):
        job = Session(workers).ask("picture", asked(kind, None, fail))
        assert job.wait(SOON) and isinstance(job.error, error) and job.solution is None
    job = Session(workers).ask("picture", asked(Count(3), None, count))
    assert job.wait(SOON) and job.solution == 3
    assert workers.figures().jobs_failed_total == 5


def test_many_sessions_coming_going_and_changing_their_minds(workers, monkeypatch):
    """Eight threads, each a session after another, at random: every job ends, shared ones once, none is left."""
    monkeypatch.setattr("work.session.QUICK", 0.0)
    numbers, seen = itertools.count(), []

    def visit(seed: int) -> None:
        state = seed
        for _ in range(12):
            session = Session(workers, most=4)
            for _ in range(6):
                state = (state * 1103515245 + 12345) % 2**31
                choice, slot = state // 7 % 5, f"slot {state // 97 % 3}"
                if choice == 0:
                    session.stop(slot)
                elif choice == 1:
                    session.forget(slot)
                else:
                    task = Count(state // 31 % 40, (0.5, math.inf)[choice % 2], 0.0005)
                    job = session.ask(slot, asked(task, None, count), urgent=choice != 2)
                    seen.append(job)
                    if choice == 4:
                        job.wait(0.01)
                next(numbers)
            session.close()

    visitors = [threading.Thread(target=visit, args=(seed,)) for seed in range(8)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(60)
    for job in seen:
        assert job.wait(SOON)
        assert job.error is None or isinstance(job.error, TooMany)
        if job.solution is not None and not job.over:
            assert job.solution == job.question.problem.steps
