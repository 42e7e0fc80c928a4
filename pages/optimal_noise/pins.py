"""Problems kept to compare: pinned in the address, solved again wherever the link is opened, seen side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from dpcore import figures
from dpcore.errors import InputError
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.solution import Solution
from pages.shared import compute, drawing, frame, prose
from pages.shared.messages import explain
from pages.shared.watching import when_done

from . import inputs, textbooks, verdict
from .inputs import HOME
from .panels import TEXT, escape, quantiles
from .view import View

MOST = 3
"""Pins beside the current problem."""


@dataclass(frozen=True)
class Pin:
    """A problem that was pinned, as its part of the address and as what that says."""

    text: str
    problem: NoiseProblem
    settings: SolverSettings
    unit: str


def side_by_side(solution: Solution, view: View) -> None:
    """The current problem and the pinned ones: numbers and pictures."""
    frame.heading("Side by side", TEXT["pins"])
    pins, faults = read(HOME["pins"])
    for fault in faults:
        st.info(f"A pinned problem in the link was not understood: {fault}")
    here = text_of(HOME.values())
    with st.container(horizontal=True):
        full = len(pins) >= MOST or any(pin.text == here for pin in pins)
        st.button("Pin this problem", key="pin", icon=":material/keep:", on_click=_pin, args=(here,), disabled=full)
        st.button("Remove all pins", key="unpin", on_click=HOME.choose, args=({"pins": ""},), disabled=not HOME["pins"])
    if not pins:
        st.caption("Nothing is pinned yet. Pin this problem, then change it: both stay in view and in the link.")
        return
    others = [pin for pin in pins if pin.text != here]
    jobs = [
        compute.ask(f"pin {number}", pin.problem, pin.settings, urgent=False, wait=0.0)
        for number, pin in enumerate(others)
    ]
    when_done(jobs, lambda: _columns(solution, view, others, jobs))


def read(text: str | None) -> tuple[list[Pin], list[str]]:
    """(pins, what was not understood) of the control's text: queries with ";" between them; at most `MOST` are read."""
    pins, faults = [], []
    for part in [part for part in (text or "").split(";") if part][:MOST]:
        values, malformed = HOME.read(dict(parse_qsl(part, keep_blank_values=True, max_num_fields=64)))
        try:
            if malformed:
                raise InputError(*next(iter(malformed.items())), "a value of this control")
            unit = inputs.read_unit(values)
            pins.append(Pin(part, inputs.read_problem(values), inputs.read_settings(values), unit))
        except InputError as error:
            faults.append(explain(error))
    return pins, faults


def text_of(values: inputs.Values) -> str:
    """The part of the address that says the problem, its unit and how it is solved; never empty."""
    query = HOME.query(values)
    asked = {key: query[key] for key in inputs.ASKED if key in query}
    return urlencode({"epsilon": HOME.controls["epsilon"].write(values["epsilon"]), **asked})


def _pin(text: str) -> None:
    HOME.choose({"pins": ";".join(filter(None, [HOME["pins"], text]))})


def _columns(solution: Solution, view: View, pins: Sequence[Pin], jobs: Sequence[compute.Job]) -> None:
    shown = [("Now", solution, view.unit, None)]
    shown += [(f"Pin {number}", job.solution, pin.unit, pin) for number, (pin, job) in enumerate(zip(pins, jobs), 1)]
    for column, (title, one, unit, pin) in zip(st.columns(len(shown), gap="medium"), shown):
        with column:
            st.markdown(f"**{title}**")
            if one is None:
                st.caption("No usable answer for this problem.")
                continue
            _one(one, unit, key=title.lower().replace(" ", "_"))
            if pin is not None:
                values = inputs.values_of(pin.problem) | {"unit": pin.unit}
                st.button("Take these settings", key=f"take_{title}", on_click=HOME.choose, args=(values,))
    solved = [(title, one, unit) for title, one, unit, _ in shown if one is not None]
    st.markdown(table(solved))


def _one(solution: Solution, unit: str, *, key: str) -> None:
    laws = [figures.Law("optimal", solution.title, solution.noise)]
    laws += [
        figures.Law(bar.key, bar.name, bar.noise)
        for bar in compute.baselines(solution.problem)
        if bar.noise is not None and bar.key in ("laplace", "geometric")
    ]
    figure = figures.density(laws, unit=unit, colours=drawing.colours())
    figure.update_layout(height=300)
    st.caption(escape(f"{prose.promise(solution.problem)}, {prose.loss_axis(solution.problem.loss, unit)}"))
    low, high = solution.noise.interval(0.9)
    alt = f"Density of the optimal noise: 90 % of it between {low:.3g} and {high:.3g} {unit}."
    drawing.draw(figure, key=f"chart_{key}", alt=alt, table=lambda: quantiles(laws, unit))


def table(shown: Sequence[tuple[str, Solution, str]]) -> str:
    """Numbers of several problems as a Markdown table, one column each."""
    rows: dict[str, list[str]] = {}
    for _, solution, unit in shown:
        proof, problem = solution.certificate, solution.problem
        best = verdict.best_plain(verdict.fitting(textbooks.known(problem)))
        textbook = "–" if best is None else f"{best.name}: {prose.number(best.loss)}"
        low, high = solution.noise.interval(0.9)
        lower, upper = prose.bracket(proof.lower or 0.0, proof.upper)
        cells = {
            "error": prose.loss_axis(problem.loss, unit),
            "lower bound": "nothing proved" if proof.lower is None else lower,
            "upper bound": upper,
            "relative gap": "–" if proof.gap is None else prose.percent_up(proof.gap),
            "best textbook noise of unbounded support": textbook,
            "90 % of the noise": f"{prose.number(low)} to {prose.number(high)} {unit}".strip(),
        }
        for name, cell in cells.items():
            rows.setdefault(name, []).append(escape(cell))
    titles = " | ".join(title for title, *_ in shown)
    lines = [f"| figure | {titles} |", "|---|" + "--:|" * len(shown)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])
