"""The sentence with the numbers, the facts behind it, why there is none, and how far the work is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dpcore.errors import InputError
from pages.shared import compute, frame, prose, watching
from pages.shared.messages import explain

from . import charts, work
from .certainty import shift_text
from .controls import PAGE, Asked

COSTS = {
    "picture": ("value 3x + 2y", ""),
    "transport": ("transport cost", "units × distance"),
    "portfolio": ("variance", "squared currency"),
    "advertising": ("revenue", "$"),
    "own": ("objective", ""),
}
"""What a story's objective is called, and its unit."""

PHRASES = {
    "optimal": "Optimal one-sided noise",
    "tight": "Tight truncated Laplace noise",
    "truncated-laplace": "Truncated Laplace noise as published",
    "laplace-shifted": "Shifted Laplace noise",
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
}
SLOTS = {"releases": "simulated releases", "price": "price over ε", "published": "published figure"}


def axis(asked: Asked) -> str:
    """Title of an axis of objectives."""
    title, unit = COSTS[asked.story.kind]
    return f"{title} ({unit})" if unit else title


def headline(asked: Asked, found: Sequence[work.Released]) -> str:
    """What keeping every limit costs, and what happens to those who do not; returned without its marks."""
    text = sentence(asked, found)
    frame.headline(text)
    return text.replace("**", "")


def sentence(asked: Asked, found: Sequence[work.Released]) -> str:
    """ "Keeping every limit with certainty costs 11.8 on average, 13 % of the optimum 89.46; …" """
    known = {one.key: one for one in found if one.run is not None and len(one.run.objectives)}
    first = known.get(asked.mechanism)
    if first is None or not np.isfinite(first.run.losses).any():
        return "Simulating releases …"
    title = COSTS[asked.story.kind][0]
    best = first.run.optimum.objective
    if asked.delta == 0:
        return (
            f"With δ = 0 the plan must not depend on the data at all: {title} "
            f"**{prose.number(first.run.objectives[0], 5)}** instead of {prose.number(best, 5)}."
        )
    loss = float(np.nanmean(first.run.losses))
    verb = "keeps every limit with certainty and" if first.noise.keeps else "does not keep the limits and"
    worse = "less" if asked.program.model.maximise else "more"
    text = f"{PHRASES[asked.mechanism]} {verb} costs **{prose.number(loss, 4)}** {worse} "
    text += f"than the optimum on average, a {title} of {prose.number(best, 5)}"
    text += f" ({prose.percent(abs(loss / best))})" if best else ""
    other = known.get("truncated-laplace")
    if other is not None and other is not first:
        text += f"; published noise costs {prose.number(float(np.nanmean(other.run.losses)), 4)}"
    for key in ("laplace", "gaussian", "laplace-shifted"):
        if key in known and key != asked.mechanism:
            share = float((known[key].run.violated > 0).mean())
            text += f". {PHRASES[key]} breaks a limit in **{share_of(share)}** of the releases"
            break
    return text + "."


def share_of(share: float) -> str:
    """A share that is not all or nothing is never written as if it were."""
    return "more than 99\u202f%" if 0.99 < share < 1 else prose.percent(share)


def facts(asked: Asked, found: Sequence[work.Released]) -> dict[str, str]:
    """What the citation proves the claim with."""
    known = {"privacy": f"({asked.epsilon:g}, {asked.delta:g})-DP", "simulated releases": str(PAGE["draws"])}
    for one in found:
        if one.noise is not None and one.noise.keeps:
            known[f"mean shift, {charts.name(one.key)}"] = shift_text(one)
    return known


def failed(error: Exception) -> None:
    """Why there are no releases."""
    if isinstance(error, InputError):
        st.error(explain(error), icon=":material/error:")
    elif isinstance(error, TimeoutError):
        st.error("No plan was found in time; a smaller program helps.", icon=":material/timer:")
    else:
        st.error("This program could not be solved.", icon=":material/error:")


# How far the work is ------------------------------------------------------------------------------------


def going_on(jobs: watching.Jobs, waited_for: watching.Jobs) -> None:
    """How far the work is, and Stop; the page runs again now and then while something is under way."""
    watching.go_on(jobs)
    seen = {slot: _news(job) for slot, job in waited_for.items()}

    def say() -> None:
        words = [f"{SLOTS[slot]}{_share(job)}" for slot, job in waited_for.items()]
        st.markdown("At work: " + ", ".join(words) + " …")

    more = lambda: any(_news(job) >= seen[slot] + 6 for slot, job in waited_for.items())  # noqa: E731
    watching.strip(waited_for, say, label="Stop", help="What is there stays.", more=more)


def _news(job: compute.Job) -> int:
    return sum(not isinstance(record, work.Tick) for record in job.trace)


def _share(job: compute.Job) -> str:
    ticks = [record for record in job.trace if isinstance(record, work.Tick)]
    return f" ({ticks[-1].text})" if ticks and ticks[-1].share < 1 else ""
