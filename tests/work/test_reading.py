"""Readings of people's data: four at a time, ended on request and by time, and nothing is kept of what they read."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

from dpcore.errors import InputError
from dpcore.plan.source import Source
from work.reading import MOST, Reading

RAW = b"age;note\n" + b"31;a\n" * 1000


def held():
    return Source.held(RAW, "people.csv")


def forever(source, tick):
    while True:
        source.look()
        tick()


def test_an_answer_and_a_refusal():
    reading = Reading(held, lambda source, _: source.look())
    assert reading.wait(30) and reading.answer == {"age": True, "note": False} and reading.error is None
    refused = Reading(lambda: Source.held(b"PK\x03\x04", "people.csv"), lambda source, _: source.look())
    assert refused.wait(30) and "a zip archive" in str(refused.error) and refused.answer is None
    assert refused.error.__traceback__ is None and refused.error.__context__ is None


def test_the_fifth_waits_for_its_turn():
    readings = [Reading(held, forever) for _ in range(MOST + 1)]
    try:
        for _ in range(200):
            if sum(not one.waiting for one in readings) == MOST:
                break
            threading.Event().wait(0.05)
        assert sum(one.waiting for one in readings) == 1
        fifth = next(one for one in readings if one.waiting)
        assert not fifth.wait(0.3) and fifth.waiting
        next(one for one in readings if not one.waiting).stop()
        for _ in range(200):
            if not fifth.waiting:
                break
            threading.Event().wait(0.05)
        assert not fifth.waiting and not fifth.done
    finally:
        for one in readings:
            one.stop()
        assert all(one.wait(30) and one.stopped and one.answer is None for one in readings)


def test_one_that_waits_can_be_stopped():
    readings = [Reading(held, forever) for _ in range(MOST + 1)]
    for one in reversed(readings):
        one.stop()
    assert all(one.wait(30) and one.stopped for one in readings)


def test_it_ends_by_itself():
    reading = Reading(held, forever, seconds=0.2)
    assert reading.wait(30) and isinstance(reading.error, InputError) and not reading.stopped
    assert "time limit = 0.2 s" in str(reading.error)


def test_what_is_forgotten_holds_no_answer():
    """Neither one that was there, nor one that comes while it is told to end."""
    reading = Reading(held, lambda source, _: source.look())
    assert reading.wait(30) and reading.answer is not None
    reading.forget()
    assert reading.answer is None
    begun, go_on = threading.Event(), threading.Event()

    def late(source, _):
        begun.set()
        go_on.wait(30)
        return source

    reading = Reading(held, late)
    assert begun.wait(30)
    reading.forget()
    go_on.set()
    assert reading.wait(30) and reading.answer is None


@pytest.mark.parametrize("how", ["answer", "refusal", "failure", "stop"])
def test_nothing_of_the_data_is_kept(how, caplog):
    raw = b"".join([RAW, b"1;2;3\n" if how == "refusal" else b"32;b\n"])
    before = sys.getrefcount(raw)

    def task(source, tick, raw=raw):
        if how == "failure":
            raise ValueError(raw[:30])
        return forever(source, tick) if how == "stop" else source.look()

    failures: list[Exception] = []
    told = lambda error: failures.append(type(error)("…"))  # noqa: E731
    reading = Reading(lambda raw=raw: Source.held(raw, "people.csv"), task, failed=told)
    del task
    if how == "stop":
        reading.stop()
    assert reading.wait(30) and (reading.error is not None) == (how in ("refusal", "failure"))
    for thread in threading.enumerate():
        if thread.name == "reading":
            thread.join(30)
    gc.collect()
    assert sys.getrefcount(raw) == before
    assert [type(error) for error in failures] == [ValueError] * (how == "failure")
    assert "31;a" not in caplog.text and "31;a" not in str(reading.error)
