"""Pages take turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from work import lock


def at_once(pages: int, seconds: float) -> int:
    """The most pages that were under way at once."""
    turns, under_way, most = lock.PageLock(), [0], [0]

    def page() -> None:
        with turns.taken():
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            time.sleep(seconds)
            under_way[0] -= 1

    threads = [threading.Thread(target=page) for _ in range(pages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most[0]


@pytest.fixture
def turns() -> lock.PageLock:
    return lock.PageLock()


def start(turns: lock.PageLock, run: Callable[[], None]) -> threading.Thread:
    """A thread with a run that waits for its turn by now."""
    before = len(turns._waiting)
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: len(turns._waiting) > before)
    return thread


def until(met: Callable[[], bool]) -> None:
    """Wait for something that is to come within five seconds."""
    over = time.monotonic() + 5
    while not met():
        assert time.monotonic() < over
        time.sleep(0.001)


class Replaced(Exception):
    """A newer page of the same visitor is to take this one's place."""


def page(
    turns: lock.PageLock, name: str, came: list[str], visitor: str | None = None, *, wanted: bool = True
) -> Callable[[], None]:
    """A page that says when it has come, if it is still wanted by then."""

    def ready() -> None:
        if not wanted:
            raise Replaced

    def run() -> None:
        with suppress(Replaced), turns.taken(visitor, ready):
            came.append(name)

    return run


def test_pages_that_wait_long_still_wait_for_their_turn():
    assert at_once(6, 0.15) == 1


def test_many_short_turns_do_not_hang_on_one_long_wait(monkeypatch):
    """What counts is how long a page has its turn, not how long others have waited for theirs."""
    monkeypatch.setattr(lock, "PATIENCE", 0.3)
    assert at_once(6, 0.15) == 1


def test_a_page_that_hangs_does_not_hold_up_the_others_for_ever(monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.05)
    assert at_once(2, 0.5) == 2


def test_only_the_page_that_hangs_is_out_of_turn(turns, monkeypatch):
    """The others go on one at a time, also once it has ended."""
    monkeypatch.setattr(lock, "PATIENCE", 0.2)
    came: list[str] = []

    def run(name: str) -> Callable[[], None]:
        def body() -> None:
            with turns.taken():
                came.append(f"{name} in")
                time.sleep(0.1)
                came.append(f"{name} out")

        return body

    with turns.taken():
        threads = [start(turns, run(name)) for name in "ab"]
        time.sleep(0.25)
    for thread in threads:
        thread.join()
    assert came == ["a in", "a out", "b in", "b out"]


def test_a_page_that_waits_lets_others_run(turns):
    inside = threading.Event()

    def other() -> None:
        with turns.taken():
            inside.set()

    with turns.taken():
        thread = threading.Thread(target=other)
        thread.start()
        assert not inside.wait(0.1)
        with turns.left():
            assert inside.wait(2)
    thread.join()


def test_whoever_came_first_is_next(turns):
    came: list[str] = []
    with turns.taken():
        threads = [start(turns, page(turns, name, came)) for name in "abcdefgh"]
    for thread in threads:
        thread.join()
    assert came == list("abcdefgh")


def test_a_newer_page_of_a_visitor_takes_the_place_of_the_one_that_waits(turns):
    """That one ends at once, without a turn."""
    came: list[str] = []
    with turns.taken():
        older = start(turns, page(turns, "older", came, "visitor", wanted=False))
        others = [start(turns, page(turns, name, came)) for name in "ab"]
        newer = threading.Thread(target=page(turns, "newer", came, "visitor"))
        newer.start()
        older.join(5)
        assert not older.is_alive() and not came
    for thread in (newer, *others):
        thread.join()
    assert came == ["newer", "a", "b"]


def test_a_page_whose_turn_comes_before_the_newer_one_is_there_keeps_the_place_for_it(turns):
    came: list[str] = []
    running, there = threading.Event(), threading.Event()

    def first_of_the_others() -> None:
        with turns.taken():
            came.append("a")
            running.set()
            there.wait(5)

    with turns.taken():
        threads = [start(turns, page(turns, "older", came, "visitor", wanted=False)), start(turns, first_of_the_others)]
        threads.append(start(turns, page(turns, "b", came)))
    assert running.wait(5)
    threads.append(start(turns, page(turns, "newer", came, "visitor")))
    there.set()
    for thread in threads:
        thread.join()
    assert came == ["a", "newer", "b"]


def test_a_page_that_is_wanted_all_the_same_waits_anew(turns):
    came: list[str] = []
    with turns.taken():
        threads = [start(turns, page(turns, "one", came, "visitor")), start(turns, page(turns, "a", came))]
        threads.append(threading.Thread(target=page(turns, "two", came, "visitor")))
        threads[-1].start()
        until(lambda: len(turns._waiting) == 3)
    for thread in threads:
        thread.join()
    assert came == ["two", "a", "one"]


def test_a_place_is_kept_until_its_turn(turns):
    """Whoever had one, and be it a short one that a newer page ended, is behind those who wait."""
    came: list[str] = []

    def visitor() -> None:
        for _ in range(2):
            with suppress(Replaced), turns.taken("visitor"):
                came.append("again")
                raise Replaced

    with turns.taken():
        threads = [start(turns, visitor), start(turns, page(turns, "other", came))]
    for thread in threads:
        thread.join()
    assert came == ["again", "other", "again"] and not turns._places


def test_a_page_that_left_the_lock_is_still_the_one_that_came_first(turns):
    came: list[str] = []
    left, back = threading.Event(), threading.Event()

    def first() -> None:
        with turns.taken():
            with turns.left():
                left.set()
                back.wait(2)
            came.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    assert left.wait(2)
    with turns.taken():
        others = [start(turns, page(turns, name, came)) for name in "ab"]
        back.set()
        until(lambda: len(turns._waiting) == 3)
    for one in (thread, *others):
        one.join()
    assert came == ["first", "a", "b"]
