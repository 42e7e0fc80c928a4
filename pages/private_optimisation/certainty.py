"""What is sure: proved statements about the mechanism in focus, and why nobody can do much better."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.private_optimization import Bound, Quality
from pages.shared import drawing, prose

from . import charts, takeaway, work
from .controls import Asked

TEXT = prose.sections("private_optimisation")


def certainty(asked: Asked, found: Sequence[work.Released]) -> None:
    """Proved statements about the mechanism in focus."""
    known = (one for one in found if one.key == asked.mechanism and one.noise is not None and one.run is not None)
    one = next(known, None)
    if one is None:
        st.caption("Nothing to say yet.")
        return
    program, optimum = asked.program, one.run.optimum
    lines = [f"Neighbouring data sets change the private limits by at most {program.sensitivity:g} in total (ℓ1)."]
    if one.noise.keeps:
        promise = f"({program.epsilon:g}, {prose.delta_text(program.delta)})-DP"
        most = prose.at_most(one.noise.largest, 5)
        lines.append(
            f"The {_joint(len(program.rows))} is {promise}; the plan depends on the data through it alone. Every limit "
            "holds exactly, checked row by row."
        )
        lines.append(f"Mean shift of a limit: {shift_text(one)}; never more than {most}.")
    if optimum.best is not None:
        lines.append(_optimum(optimum.objective, optimum.best, program.model.maximise))
    if one.sure is not None:
        lines += _quality(one.sure)
    st.markdown("\n".join(f"* {line}" for line in lines))
    takeaway.release(asked, one)


def _joint(count: int) -> str:
    return "release of the limit" if count == 1 else f"joint release of {count} limits"


def _optimum(objective: float, best: float, maximise: bool) -> str:
    """The optimum and its proved bound, which is rounded outwards."""
    side, proved = ("above", prose.at_most(best, 9)) if maximise else ("below", prose.at_least(best, 9))
    return (
        f"Optimum for the true limits: {prose.number(objective, 9)}; nothing {side} {proved} is possible (weak "
        "duality, rounded outwards)."
    )


def _quality(sure: Quality) -> list[str]:
    """Bounds of what releases lose."""
    lines = []
    if sure.worst is not None:
        lines.append(
            f"The optimum for released limits loses at most {prose.at_most(sure.worst, 5)}: what the smallest limits "
            "in reach cost."
        )
    if sure.bounds:
        lines.append(_theorem(sure.bounds[0]))
    elif sure.missing:
        lines.append(f"Theorem 3.4 does not apply: {sure.missing}.")
    if sure.lower is not None:
        least = prose.at_least(sure.lower, 5)
        lines.append(
            f"Theorem 3.7: every private mechanism that keeps the limits loses at least {least} on average on some "
            "data set."
        )
    return lines


def _theorem(bound: Bound) -> str:
    return (
        f"Theorem 3.4: at most {prose.at_most(bound.value, 5)} (L = {bound.lipschitz:.4g} in {bound.norm}, "
        f"α = {bound.condition:.4g}: {bound.method})."
    )


def shift_text(one: work.Released) -> str:
    """The mean shift with its bracket."""
    noise = one.noise
    if noise is None:
        return "–"
    if noise.shift_lower < noise.shift_upper:
        lower, upper = prose.bracket(noise.shift_lower, noise.shift_upper)
        return lower if lower == upper else f"{upper} (none below {lower})"
    return prose.number(noise.shift_upper, 5)


def explanation() -> None:
    """Figure 2: why nobody can do much better."""
    drawing.draw(
        charts.figure_2(drawing.colours()),
        key="chart_figure_2",
        alt="Two limits; strips of width Δ next to one of them hold at most δ, δe^ε, … of the plans, so half of the "
        "plans stay t·Δ away.",
        table=None,
    )
    st.markdown(TEXT["figure 2"])
