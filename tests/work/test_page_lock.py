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


def page(turns: lock.PageLock, name: str, came: list[str]) -> Callable[[], None]:
    def run() -> None:
        with turns.taken():
            came.append(name)

    return run


class Replaced(Exception):
    """A newer run of the same visitor is to take this one's place."""


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


def test_a_run_that_a_newer_one_replaces_while_it_waits_leaves_its_place_to_that_one(turns):
    """Others run while it begins anew; those who came later wait."""
    came: list[str] = []

    def ready() -> None:
        if len(came) < 2:
            raise Replaced

    def visitor() -> None:
        for others in range(3):
            until(lambda others=others: len(came) == others)
            with suppress(Replaced), turns.taken(ready):
                came.append("newest")

    def other(name: str) -> Callable[[], None]:
        def run() -> None:
            with turns.taken():
                came.append(name)
                until(lambda: "newest" in came or len(turns._waiting) == 5 - len(came))

        return run

    with turns.taken():
        threads = [start(turns, run) for run in (visitor, *map(other, "abcd"))]
    for thread in threads:
        thread.join()
    assert came == ["a", "b", "newest", "c", "d"]


def test_a_place_is_kept_once(turns):
    """Whoever had a turn, and be it a short one that a newer run ended, is behind those who wait."""
    came: list[str] = []

    def visitor() -> None:
        for _ in range(2):
            with suppress(Replaced), turns.taken():
                came.append("again")
                raise Replaced

    with turns.taken():
        threads = [start(turns, visitor), start(turns, page(turns, "other", came))]
    for thread in threads:
        thread.join()
    assert came == ["again", "other", "again"]


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
