"""What follows work under way: panels drawn again by themselves, and the strip with the button that ends it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import streamlit as st

from . import compute, prose

Jobs = Mapping[str, compute.Job]
"""By slot."""

Draw = Callable[[], object]


class Ending(Protocol):
    """A job, or something else that ends."""

    @property
    def done(self) -> bool: ...


def under_way(jobs: Jobs) -> dict[str, compute.Job]:
    """The jobs that have not ended; asked before their results are read: what ends later is then still followed."""
    return {slot: job for slot, job in jobs.items() if not job.done}


def draw_again() -> None:
    """Draw the whole page again, from a fragment that the browser runs by itself."""
    st.empty()  # a request that came meanwhile, like the browser's Back, is served first: it would be lost below
    st.rerun()


def live(jobs: Iterable[Ending | None], draw: Draw, *, every: float = 0.6) -> None:
    """A panel that is drawn again by itself while jobs are under way; once all have ended, the page runs again.

    Not for buttons: see `strip`.
    """
    _repeated([job for job in jobs if job is not None and not job.done], draw, every)


def when_done(jobs: Sequence[compute.Job], draw: Draw) -> None:
    """Draw when all jobs are done; until then a word that says how many are missing."""
    missing = [job for job in jobs if not job.done]
    if missing:
        _repeated(missing, lambda: st.caption(f"Solving {sum(not job.done for job in jobs)} more …"), 0.4)
    else:
        draw()


def _repeated(waited_for: Sequence[Ending], draw: Draw, every: float) -> None:
    @st.fragment(run_every=every if waited_for else None)
    def panel() -> None:
        if waited_for and all(job.done for job in waited_for):
            draw_again()
        draw()

    panel()


def strip(
    jobs: Jobs,
    say: Draw,
    *,
    label: str = "Stop here",
    key: str = "stop",
    help: str | None = None,
    more: Callable[[], bool] = lambda: False,
) -> None:
    """What `say` writes as long as jobs are under way, beside a button that ends them all with what they have.

    The button is not part of what runs by itself: a click there comes to nothing if the page runs again just then.

    Parameters
    ----------
    jobs : those that were `under_way`; nothing is drawn if there are none.
    more : there is more to draw; like the end of a job, it has the page run again.
    """
    if not jobs:
        return
    left, right = st.columns([5, 1], vertical_alignment="center")
    right.button(label, key=key, on_click=_end, args=(list(jobs),), help=help)

    @st.fragment(run_every=max(map(compute.pace, jobs.values())))
    def watch() -> None:
        if more() or any(job.done or compute.current(slot) is not job for slot, job in jobs.items()):
            draw_again()
        say()

    with left:
        watch()


def closing(slot: str, job: compute.Job, waited_for: Jobs, *, more: Callable[[], bool] = lambda: False) -> None:
    """The strip of the job in a slot that looks for the least possible loss: what that lies between so far."""

    def say() -> None:
        last = job.trace[-1] if job.trace else None
        if last is None or not math.isfinite(last.upper):
            st.markdown(job.doing)
        else:
            lower, upper = prose.bracket(max(last.lower, 0.0), last.upper)
            gap = f", a gap of {prose.percent_up(last.gap)}" if last.lower > 0 else ""
            st.markdown(f"{job.doing} the least possible loss lies between **{lower}** and **{upper}**{gap}")

    go_on({slot: job})
    strip(waited_for, say, help="Keep the best so far", more=more)


def go_on(jobs: Jobs, *, key: str = "resume") -> None:
    """Where a visitor ended jobs early: a button that takes them up again."""
    halted = [slot for slot, job in jobs.items() if job.done and job.over]
    if halted:
        st.button("Stopped early: go on", key=key, on_click=_again, args=(halted,))


SILENT = 0.1
"""Seconds that jobs which are to end have for a last answer; then what they have counts."""


def _end(slots: Iterable[str]) -> None:
    for slot in slots:
        compute.stop(slot)
    until = time.monotonic() + SILENT
    for slot in slots:
        if (job := compute.current(slot)) is not None and not job.wait(max(0.0, until - time.monotonic())):
            compute.stop(slot)


def _again(slots: Iterable[str]) -> None:
    for slot in slots:
        compute.forget(slot)
