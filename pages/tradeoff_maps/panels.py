"""The panels of the page: headline with the ε that an error takes, map, curves, frontier."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.inversion import OPTIMAL, Inversion
from dpcore.mechanisms import MECHANISMS
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem
from dpcore.sweeps import Outcome
from pages.optimal_noise.inputs import HOME, values_of
from pages.shared import compute, drawing, folding, frame, prose, seen, watching
from pages.shared.address import FRAME

from . import cells, charts, work
from .controls import PAGE, Asked

TEXT = prose.sections("tradeoff_maps")
HOME_PAGE = "pages/optimal_noise/page.py"

FIRST_CELLS = 0.3
"""Seconds after the map was asked for within which its first cells are waited for."""


def escape(text: str) -> str:
    """Markdown in which a user's unit cannot start a formula or a tag."""
    for character in "$<>[]`":
        text = text.replace(character, "\\" + character)
    return text


# Headline --------------------------------------------------------------------------------------------


def needs(found: Sequence[work.Inversion | work.Unreached]) -> dict[str, Inversion]:
    """What is known so far, by mechanism."""
    return {one.mechanism: one for one in found if isinstance(one, Inversion)}


def headline(asked: Asked, job: compute.Job | None) -> None:
    """ "To err by at most 0.5 people on average at δ = 0.1, Laplace noise needs ε = 2, the optimum 1.62." """
    if job is None:
        st.info(TEXT["no target"])
        return
    found = job.solution or job.trace
    known, total = needs(found), len(MECHANISMS) + 1
    frame.headline(escape(sentence(asked, known, done=job.done)))
    if not job.done:
        st.caption(f"Asking {len(found)} of {total} …")
    elif FRAME["projector"]:
        return
    elif lost := [one for one in found if isinstance(one, work.Unreached)]:
        short = (f"{name(one.mechanism)} ({one.reason.partition(', which')[0]})" for one in lost)
        st.caption(escape(f"Out of reach at any ε: {'; '.join(short)}."))


def sentence(asked: Asked, known: dict[str, Inversion], *, done: bool) -> str:
    """The headline in Markdown: the mechanisms that come nearest and the certified interval of the optimum."""
    verb, tail = prose.errs(asked.problem.loss, asked.unit)
    aim = verb.replace("errs", "err").replace("has", "have").replace("costs", "cost")
    start = (
        f"To {aim} at most **{asked.wanted:g}** {tail}".rstrip()
        + f" at δ = {prose.delta_text(asked.problem.privacy.delta)}"
    )
    parts = []
    closed = sorted((one.epsilon_upper, key) for key, one in known.items() if key != OPTIMAL)
    chosen = [key for _, key in closed[:1]]
    if "laplace" in known and "laplace" not in chosen:
        chosen.insert(0, "laplace")
    for key in chosen:
        parts.append(f"{name(key)} noise needs ε = **{prose.at_most(known[key].epsilon_upper, 4)}**")
    if OPTIMAL in known:
        parts.append(f"the best possible noise {interval(known[OPTIMAL])}")
    if not parts:
        return start + (", no accepted ε is enough." if done else " …")
    return f"{start}, {', '.join(parts[:-1]) + ' and ' if len(parts) > 1 else ''}{parts[-1]}" + ("." if done else " …")


def interval(found: Inversion) -> str:
    """The optimum's ε: proved on both sides."""
    if found.epsilon_upper == 0:
        return "needs no ε at all"
    lower, upper = prose.bracket(found.epsilon_lower, found.epsilon_upper)
    return f"between **{lower}** and **{upper}**"


def name(key: str) -> str:
    """A mechanism's name inside a sentence."""
    if key in ("truncated-laplace", "staircase", "uniform"):
        return MECHANISMS[key].name[0].lower() + MECHANISMS[key].name[1:]
    return "the optimum" if key == OPTIMAL else MECHANISMS[key].name


# The map ---------------------------------------------------------------------------------------------


def outcomes(job: compute.Job) -> list[Outcome]:
    """What is known of a plane so far."""
    return list(job.solution) if job.solution is not None else [one for one in job.trace if isinstance(one, Outcome)]


def first_cells(job: compute.Job) -> None:
    """Wait a moment until there is something to see: what is drawn now is on screen before the browser is busy for
    seconds with the library that draws pictures."""
    with compute.PAGE_LOCK.left():
        while not (job.done or outcomes(job)) and time.monotonic() < job.asked + FIRST_CELLS:
            job.wait(0.01)


def heat_map(asked: Asked, job: compute.Job) -> None:
    """The map with its quantity and rival, first as a table; a click on a cell opens it on the first page."""
    known = outcomes(job)
    axis = prose.loss_axis(asked.problem.loss, asked.unit)
    shown = charts.quantity(PAGE["quantity"], PAGE["rival"], axis)
    st.caption(escape(f"{shown.title[:1].upper()}{shown.title[1:]}. Click a cell to open it."))
    with st.container(key="map_place"):
        st.html(cells.html(asked.plane.axes, known, shown, colours=drawing.colours()))
        figure = charts.heat_map(asked.plane.axes, known, shown, colours=drawing.colours())
        seen.picture(figure, map_alt(asked, known))
        chosen = st.plotly_chart(
            figure, key="chart_map", on_select="rerun", selection_mode="points", alt=map_alt(asked, known),
            config={"displayModeBar": False},
        )  # fmt: skip
    points = [point for point in chosen["selection"]["points"] if "customdata" in point]
    if points:
        open_cell(asked.problem, *points[0]["customdata"][:2])
    _table(known, asked.unit)


def map_choices() -> None:
    """What the map shows, and against whom."""
    frame.heading("The map", TEXT["map"])
    left, right = st.columns([3, 2])
    left.selectbox(
        "Shown", PAGE.options("quantity"), format_func=PAGE.label("quantity"), key="quantity",
        label_visibility="collapsed",
    )  # fmt: skip
    if PAGE["quantity"] == "gain":
        right.selectbox(
            "Against", PAGE.options("rival"), format_func=PAGE.label("rival"), key="rival", label_visibility="collapsed"
        )


def open_cell(problem: NoiseProblem, epsilon: float, delta: float) -> None:
    """Go to the first page with this cell's problem."""
    problem = replace(problem, privacy=Privacy(epsilon, delta))
    values = HOME.read({})[0] | values_of(problem) | {"unit": PAGE["unit"] or ""}
    st.switch_page(HOME_PAGE, query_params=HOME.enter(values))


def map_alt(asked: Asked, known: Sequence[Outcome]) -> str:
    """The map in words."""
    axes = asked.plane.axes
    text = (
        f"Heat map over ε from {axes.epsilons[0]:g} to {axes.epsilons[-1]:g} and δ from {axes.deltas[0]:g} to "
        f"{axes.deltas[-1]:g}: {len(known)} of {asked.plane.cells} cells"
    )
    gains = [(gain, one.problem.privacy) for one in known if one.certificate and (gain := charts.gain(one, "best"))]
    if gains:
        most, where = max(gains, key=lambda pair: pair[0])
        text += f"; the optimum saves most, {100 * most:.0f} %, at ε = {where.epsilon:g}, δ = {where.delta:g}"
    return text + "."


def _table(known: Sequence[Outcome], unit: str) -> None:
    def draw() -> None:
        st.dataframe(table(known), hide_index=True)
        st.caption(escape(f"Losses in the unit of the loss{f' ({unit})' if unit else ''}; bounds rounded outwards."))

    folding.fold("Numbers", draw, key="map_numbers")


def table(known: Sequence[Outcome]) -> list[dict]:
    """A row for every outcome, ε first."""
    rows = []
    for one in sorted(known, key=lambda o: (o.problem.privacy.epsilon, o.problem.privacy.delta)):
        privacy, proof = one.problem.privacy, one.certificate
        lower, upper = ("–", one.source) if proof is None else prose.bracket(proof.lower or 0.0, proof.upper)
        best = (
            {}
            if one.best is None
            else {"best textbook": MECHANISMS[one.best[0]].name, "its loss": prose.number(one.best[1])}
        )
        rows.append(
            {"ε": f"{privacy.epsilon:g}", "δ": f"{privacy.delta:g}", "at least": lower, "at most": upper, **best}
        )
    return rows


# Curves ----------------------------------------------------------------------------------------------


def along(asked: Asked, job: compute.Job, target: compute.Job | None) -> None:
    """Loss over ε at fixed δ, with the required error and the ε it takes."""
    frame.heading(f"Over ε, at δ = {prose.delta_text(asked.problem.privacy.delta)}", TEXT["curves"])
    found, known = needs((target.solution or target.trace) if target else ()), outcomes(job)
    marks = {key: one.epsilon_upper for key, one in found.items() if one.epsilon_upper > 0}
    axis = prose.loss_axis(asked.problem.loss, asked.unit)
    low, high = ends = asked.along.axes.epsilons[0], asked.along.axes.epsilons[-1]
    figure = charts.curves(
        known, "epsilon", ends=ends, axis=axis, colours=drawing.colours(), wanted=asked.wanted, marks=marks,
    )  # fmt: skip
    alt = f"Loss of every mechanism for ε from {low:g} to {high:g}. " + marks_text(found)
    drawing.draw(figure, key="chart_along", alt=alt, table=lambda: _needs_table(found, known))


def across(asked: Asked, job: compute.Job) -> None:
    """Loss over δ at fixed ε."""
    frame.heading(f"Over δ, at ε = {asked.problem.privacy.epsilon:g}", TEXT["curves"])
    axis, known = prose.loss_axis(asked.problem.loss, asked.unit), outcomes(job)
    low, high = ends = asked.across.axes.deltas[0], asked.across.axes.deltas[-1]
    figure = charts.curves(known, "delta", ends=ends, axis=axis, colours=drawing.colours(), wanted=asked.wanted)
    alt = f"Loss of every mechanism for δ from {low:g} to {high:g}."
    drawing.draw(figure, key="chart_across", alt=alt, table=lambda: st.dataframe(table(known), hide_index=True))


def marks_text(found: dict[str, Inversion]) -> str:
    """ "Laplace needs 1.9, the optimum 1.62" """
    parts = [f"{name(key)} needs {prose.at_most(one.epsilon_upper, 4)}" for key, one in found.items()]
    return "; ".join(parts) + "." if parts else ""


def _needs_table(found: dict[str, Inversion], known: Sequence[Outcome]) -> None:
    if found:
        rows = [
            {"mechanism": name(key), "ε needed": prose.at_most(one.epsilon_upper, 5),
             "not enough": prose.at_least(one.epsilon_lower, 5) if one.epsilon_lower else "–"}
            for key, one in sorted(found.items(), key=lambda pair: pair[1].epsilon_upper)
        ]  # fmt: skip
        st.dataframe(rows, hide_index=True)
    st.dataframe(table(known), hide_index=True)


# Frontier --------------------------------------------------------------------------------------------


def frontier(asked: Asked, job: compute.Job | None) -> None:
    """The least loss against the limit on a second one."""
    frame.heading("Two losses", TEXT["frontier"])
    if job is None:
        st.info("Choose a second loss that is not the first one.")
        return
    found = job.solution or job.trace
    if job.error is not None:
        st.error("There is no frontier for these values.")
    elif not found:
        st.caption("The loosest limit is being solved …")
    elif job.done and len(found) == 1:
        st.info(TEXT["no conflict"])
    else:
        limited = prose.loss_axis(asked.frontier.second, asked.unit)
        axes = prose.loss_axis(asked.problem.loss, asked.unit), f"limit on: {limited}"
        figure = charts.frontier(found, axes=axes, colours=drawing.colours())
        rows = [_point(solution) for solution in sorted(found, key=lambda one: one.problem.budget.most)]
        alt = f"Certified frontier with {len(found)} points: " + "; ".join(
            f"{row['second loss at most']}: {row['at least']} to {row['at most']}" for row in rows
        )
        drawing.draw(figure, key="chart_frontier", alt=alt, table=lambda: st.dataframe(rows, hide_index=True))
        if not job.done:
            st.caption("Tighter limits are being solved …")


def _point(solution) -> dict[str, str]:
    lower, upper = prose.bracket(solution.certificate.lower or 0.0, solution.certificate.upper)
    return {"second loss at most": prose.at_most(solution.problem.budget.most, 5), "at least": lower, "at most": upper}


# What is going on ------------------------------------------------------------------------------------

SLOTS = {"map": "the map", "target": "the ε needed", "along": "the curve over ε", "across": "the curve over δ",
         "frontier": "the frontier"}  # fmt: skip


def going_on(asked: Asked, jobs: dict[str, compute.Job]) -> None:
    """How far the map is, an estimate of the time left, and Stop."""
    watching.go_on(jobs)
    say = lambda: st.markdown(so_far(asked, jobs))  # noqa: E731
    watching.strip(watching.under_way(jobs), say, label="Stop", help="What is there stays.")


def so_far(asked: Asked, jobs: dict[str, compute.Job]) -> str:
    """Progress in words, with an estimate of the time left."""
    job = jobs["map"]
    cells, done = asked.plane.cells, len(outcomes(job))
    if job.done:
        return "Still at work: " + ", ".join(SLOTS[slot] for slot, one in jobs.items() if not one.done) + " …"
    spent = sum(one.seconds for one in outcomes(job))
    left = f", about {spent / done * (cells - done):.0f} s left" if done >= 5 else ""
    return f"{done} of {cells} cells{left} …"


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        (
            "Where optimal noise matters most",
            {"low_epsilon": 1.0, "high_epsilon": 10.0, "quantity": "gain", "rival": "best"},
        ),
        ("Tiny δ, as deployed", {"low_delta": 1e-9, "high_delta": 1e-3, "at_delta": 1e-6, "quantity": "best"}),
        ("Squared error instead", {"loss": "l2", "second": "l1", "wanted": 1.0}),
    ]
    frame.experiments(PAGE, steps)
