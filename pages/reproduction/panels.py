"""The tabs with tables: the 100 combinations, the earlier lower bound, Example 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.mechanisms import MECHANISMS, baseline
from dpcore.problem import noise_problem
from dpcore.solution import Certificate
from dpcore.sweeps import Outcome
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live, strip, under_way
from pages.tradeoff_maps.panels import outcomes
from pages.tradeoff_maps.work import Axes, Plane, fill

from . import charts, data, work
from .controls import PAGE

TEXT = prose.sections("reproduction")
CELLS = {"low": (2, 4, 8, 16), "medium": (2, 4, 8), "high": (2, 4)}
"""Cells per sensitivity, Δf/β with Δf = 2, that the reference method manages in a few seconds."""


def heading(title: str, text: str, **choices: str) -> None:
    """A panel's title, and beside it what is looked at: controls by their keys, with their labels."""
    left, *places = st.columns([2] + [1] * len(choices) if choices else 1, vertical_alignment="center")
    with left:
        frame.heading(title, text)
    for place, (key, label) in zip(places, choices.items()):
        place.selectbox(
            label, PAGE.options(key), format_func=PAGE.label(key), key=key, label_visibility="collapsed",
        )  # fmt: skip


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = {
        "Two figures that a law disproves": {"tab": "Tables", "table": "1"},
        "Low privacy: the grid decides": {"tab": "Convergence", "study": "figure 3", "regime": "low"},
        "Is the best noise monotone?": {"tab": "Monotone noise"},
    }
    frame.experiments(PAGE, steps.items())


def plane(loss: str) -> compute.Job:
    """The job with all 100 combinations; a wider gap for x², whose published figures are coarser, too."""
    source = data.published()
    axes = Axes(tuple(source["epsilons"]), tuple(source["deltas"]))
    asked = Plane(noise_problem(1.0, 0.2, 1.0, loss), axes, 1e-3 if loss == "l1" else 5e-3)
    return compute.ask(f"plane {loss}", asked, None, task=fill, wait=0.2)


def waiting(slot: str, job: compute.Job, total: int) -> None:
    """How far a job is, with a way to stop it."""
    if job.done and job.over:
        st.caption("Stopped early.")
    so_far = lambda: min(1.0, len(job.trace) / total)  # noqa: E731
    say = lambda: st.progress(so_far(), text=f"{len(job.trace)} of {total} …")  # noqa: E731
    strip(under_way({slot: job}), say, label="Stop", key=f"stop {slot}")


# Tables ----------------------------------------------------------------------------------------------


def tables() -> None:
    """A published table, cell by cell against the certified bracket."""
    table = data.tables()[PAGE["table"]]
    job = plane(table.loss)

    def draw() -> None:
        known = [one for one in outcomes(job) if one.certificate is not None]
        verdict(known, table)
        figure = charts.deviations(known, table, colours=drawing.colours())
        alt = f"{table.title}: {len(known)} of 100 cells; {sum(map(data.agrees, known))} within the stated error."
        drawing.draw(figure, key="chart_table", alt=alt, table=lambda: rows(known, table))

    heading(f"{table.title} ({table.where})", TEXT["tables"], table="Published table")
    waiting(f"plane {table.loss}", job, 100)
    live([job], draw)
    st.markdown(TEXT["differences"])


def verdict(known: Sequence, table: data.Table) -> None:
    """How many midpoints agree, and which do not."""
    outside = [one for one in known if not data.agrees(one)]
    so_far = "" if len(known) == 100 else " so far"
    frame.headline(
        f"**{len(known) - len(outside)} of {len(known)}** published midpoints O{so_far} lie within the stated error, "
        f"{data.STATED[table.loss]:g}·max(1, O), of the bracket proved here."
    )
    if outside:
        parts = []
        for one in outside:
            privacy = one.problem.privacy
            lower, upper = prose.bracket(one.certificate.lower, one.certificate.upper)
            place = f"({privacy.epsilon:g}, {privacy.delta:g})"
            parts.append(f"{place}: published O ≈ {data.midpoint(one):.4g}, optimum {lower} to {upper}")
        st.caption(f"{TEXT['outside']} {'; '.join(parts)}.")


def rows(known: Sequence, table: data.Table) -> None:
    out = []
    for one in sorted(known, key=lambda o: (o.problem.privacy.epsilon, o.problem.privacy.delta)):
        privacy, (low, high) = one.problem.privacy, data.recomputed(one, table.measures)
        lower, upper = prose.bracket(one.certificate.lower, one.certificate.upper)
        out.append({
            "ε": f"{privacy.epsilon:g}", "δ": f"{privacy.delta:g}",
            "published, %": f"{100 * data.share(table.key, privacy.epsilon, privacy.delta):.2f}",
            "here, %": f"{100 * low:.2f} to {100 * high:.2f}", "published O": f"{data.midpoint(one):.5g}",
            "optimum": f"{lower} to {upper}", "agrees": "yes" if data.agrees(one) else "no",
        })  # fmt: skip
    st.dataframe(out, hide_index=True)


def earlier() -> None:
    """The literature's lower bound as a curve."""
    heading(f"The lower bound before, at δ = {PAGE['row']}", TEXT["earlier"], row="δ")
    job = plane("l1")

    def draw() -> None:
        known = [one for one in outcomes(job) if one.certificate is not None]
        shares = [data.benchmark(one)[1] / one.certificate.lower for one in at_row(known)]
        if shares:
            low, high = (prose.percent(one) for one in (min(shares), max(shares)))
            part = f"**{low}**" if low == high else f"**{low}** to **{high}**"
            frame.headline(f"At δ = {PAGE['row']} the earlier lower bound is {part} of the one proved here.")
        figure = charts.earlier_bound(known, float(PAGE["row"]), colours=drawing.colours())
        alt = "Earlier lower bounds as shares of the certified one, over ε."
        drawing.draw(figure, key="chart_earlier", alt=alt, table=lambda: bounds(known))

    waiting("plane l1", job, 100)
    live([job], draw)


def bounds(known: Sequence[Outcome]) -> None:
    """The lower bounds of one δ as a table."""
    out = [
        {
            "ε": f"{one.problem.privacy.epsilon:g}",
            "certified": prose.at_least(one.certificate.lower, 6),
            "earlier, rigorous": prose.at_least(data.benchmark(one)[1], 6),
            "implied by the table": prose.number(data.implied_lower(one), 4),
        }
        for one in at_row(known)
    ]
    st.dataframe(out, hide_index=True)


def at_row(known: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes at the chosen δ by their ε."""
    row = [one for one in known if f"{one.problem.privacy.delta:g}" == PAGE["row"]]
    return sorted(row, key=lambda one: one.problem.privacy.epsilon)


# Example 1 -------------------------------------------------------------------------------------------


def example() -> None:
    """Figure 1: five standard deviations."""
    source = data.published()["figure_1"]
    heading("Example 1, Figure 1: five standard deviations", TEXT["example"])
    problem = noise_problem(1.0, 0.2, 1.0, "l2")
    job = compute.ask("example", (problem,), 1e-3, task=work.solve_each)

    def draw() -> None:
        proof = job.solution[0].certificate if job.done and job.solution else None
        if proof is not None:
            printed = source["standard_deviations"]["optimal"]
            low, high = _deviations(proof, source["sensitivity"]).split(" to ")
            frame.headline(
                f"The best possible standard deviation lies between **{low}** and **{high}** rupees; published: "
                f"**{printed:.2f}**."
            )
        out = []
        for key, printed in source["standard_deviations"].items():
            name, here = "Certified optimum", "…" if proof is None else _deviations(proof, source["sensitivity"])
            if key != "optimal":
                name, here = MECHANISMS[key].name, f"{_deviation(key, source):.2f}"
            out.append({"noise": name, "published, INR": f"{printed:.2f}", "here, INR": here})
        st.dataframe(out, hide_index=True)

    live([job], draw)
    st.markdown(TEXT["example note"])


def _deviation(key: str, source: dict) -> float:
    """A mechanism's standard deviation at the paper's sensitivity; Laplace noise at δ = 0 has one of its own."""
    pure = key == "laplace"
    problem = noise_problem(1.0, 0.0 if pure else 0.2, source["sensitivity_laplace" if pure else "sensitivity"], "l2")
    return math.sqrt(baseline(key, problem).loss)


def _deviations(proof: Certificate, sensitivity: float) -> str:
    lower, upper = (sensitivity * math.sqrt(value) for value in (proof.lower, proof.upper))
    return " to ".join(prose.bracket(lower, upper))
