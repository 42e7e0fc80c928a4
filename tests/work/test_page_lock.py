"""Pages take turns."""

from __future__ import annotations

import threading
import time

from work import lock


def run(pages: int, seconds: float, *, patience: float, monkeypatch) -> int:
    """The most pages that were under way at once."""
    monkeypatch.setattr(lock, "PATIENCE", patience)
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


def test_pages_that_wait_long_still_wait_for_their_turn(monkeypatch):
    assert run(6, 0.15, patience=lock.PATIENCE, monkeypatch=monkeypatch) == 1


def test_a_page_that_hangs_does_not_hold_up_the_others_for_ever(monkeypatch):
    assert run(2, 0.5, patience=0.05, monkeypatch=monkeypatch) == 2


def test_a_page_that_waits_lets_others_run():
    turns, inside = lock.PageLock(), threading.Event()

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
