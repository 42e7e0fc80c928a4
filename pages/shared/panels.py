"""The first screen of the page "Optimal noise": headline, progress, densities, losses, next steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from dpcore import literature
from dpcore.errors import InputError
from dpcore.mechanisms import INTEGER_MECHANISMS
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.solution import Progress, Solution

from . import charts, compute, inputs, prose
from .controls import Controls

TEXT = prose.sections("optimal_noise")
OPTIMUM = "Certified optimum"


@dataclass(frozen=True)
class View:
    """What is looked at: a valid problem and how to show it."""

    problem: NoiseProblem
    settings: SolverSettings
    unit: str
    overlays: tuple[str, ...]

    @property
    def colours(self) -> charts.Palette:
        return charts.palette(dark())


def dark() -> bool:
    """The visitor looks at a dark page."""
    return st.context.theme.type == "dark"


def last_good(asked: Controls) -> View | None:
    """The view that the controls describe or, while one of them is wrong, the one before, with a word about it."""
    if asked.problem is not None:
        st.session_state["last_good"] = View(asked.problem, asked.settings, asked.unit, asked.overlays)
        return st.session_state["last_good"]
    view = st.session_state.get("last_good")
    tail = "The picture below still shows the last accepted values." if view else "Correct it on the left."
    st.error(" ".join([*asked.complaints, tail]), icon=":material/error:")
    return view


def headline(solution: Solution, view: View, bars: Sequence) -> None:
    """The sentence with both bounds, and how the textbooks do."""
    with st.container(key="headline"):
        st.markdown(escape(prose.headline(view.problem, solution.certificate, view.unit)))
    against = prose.comparison(solution.certificate, comparable(bars))
    if against:
        st.markdown(escape(against))
    if solution.certificate.lower is None:
        st.info(TEXT["unproved"])


def escape(text: str) -> str:
    """Markdown in which a user's unit cannot start a formula or a tag."""
    for character in "$<>[]`":
        text = text.replace(character, "\\" + character)
    return text


def comparable(bars: Sequence) -> list[charts.Bar]:
    """Baselines with a finite loss."""
    return [charts.Bar(b.key, b.name, b.loss, b.valid, b.reason) for b in bars if b.loss is not None]


def rough(settings: SolverSettings) -> SolverSettings:
    """Settings for a first picture within about a second; its bounds are as valid as any."""
    return replace(settings, gap=max(settings.gap, 0.01), time_limit=min(settings.time_limit, 1.0))


@contextmanager
def first_sight(view: View, bars: Sequence) -> Iterator[None]:
    """Draw the textbook mechanisms while a session's first problem is solved, and take them away afterwards.

    The browser fetches the drawing library meanwhile, which takes longer than solving.
    """
    slot = st.empty()
    laws = overlaid(view, bars)
    if laws and "visited" not in st.session_state:
        figure = charts.density(laws, unit=view.unit, colours=view.colours)
        slot.plotly_chart(figure, key="chart_first", alt="Densities of the textbook mechanisms; the optimum follows.")
    st.session_state["visited"] = True
    yield
    slot.empty()


def waiting(job: compute.Job, first: compute.Job, view: View, bars: Sequence) -> None:
    """What is known before there is any noise to draw: the bounds so far and the textbook mechanisms."""
    _watch([one for one in (job, first) if not one.done], job, view, chart=True)
    laws = overlaid(view, bars)
    if laws:
        figure = charts.density(laws, unit=view.unit, colours=view.colours)
        st.plotly_chart(figure, key="chart_waiting", alt="Densities of the textbook mechanisms; the optimum follows.")


def sharpening(job: compute.Job, view: View) -> None:
    """The bounds while the solver goes on and a first picture is already there."""
    _watch([job], job, view, chart=False)


def _watch(awaited: Sequence[compute.Job], job: compute.Job, view: View, *, chart: bool) -> None:
    """A strip that follows a job, offers to stop it, and runs the page again once one of the awaited is done."""

    @st.fragment(run_every=0.25)
    def watch() -> None:
        if any(one.done for one in awaited):
            st.rerun()
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(_so_far(job, view))
        right.button("Stop here", key="stop", on_click=compute.stop, args=("picture",), help="Keep the best so far")
        if chart and job.trace:
            closing(job.trace, view)

    watch()


def closing(trace: Sequence[Progress], view: View) -> None:
    """Both bounds against solving time."""
    figure = charts.gap(trace, axis=prose.loss_axis(view.problem, view.unit), colours=view.colours)
    st.plotly_chart(figure, key="chart_gap", alt="Upper and lower bound against solving time.")


def _so_far(job: compute.Job, view: View) -> str:
    if not job.trace:
        return "Solving …"
    last = job.trace[-1]
    lower, upper = prose.bracket(max(last.lower, 0.0), last.upper)
    unit = escape(prose.loss_unit(view.problem, view.unit))
    return f"Solving … the least possible cost lies between **{lower}** and **{upper}** {unit}"


def failure(job: compute.Job, asked: Controls) -> None:
    """Why there is no noise to show."""
    if isinstance(job.error, InputError):
        asked.complain(job.error)
        st.error(inputs.explain(job.error), icon=":material/error:")
    elif job.halt.is_set():
        st.info("Stopped before the first noise was found.")
        stopped_early()
    else:
        st.error("The solver gave no usable answer for these values. Try a wider gap or other constraints.")


def stopped_early() -> None:
    """Say that the bracket could be narrower, and offer to go on."""
    st.button("Stopped early: solve on", key="resume", on_click=compute.forget, args=("picture",))


def overlaid(view: View, bars: Sequence) -> list[charts.Law]:
    """The baselines to draw, those with a law and switched on."""
    shown = (*view.overlays, *INTEGER_MECHANISMS)
    return [charts.Law(b.key, b.name, b.noise) for b in bars if b.noise is not None and b.key in shown]


def pictures(solution: Solution, view: View, bars: Sequence) -> None:
    """Density and losses side by side."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        _density(solution, view, bars)
    with right:
        _losses(solution, view, bars)


def title_row():
    """A row of fixed height for a title and a switch, so that pictures beside each other start level."""
    return st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", height=48, border=False
    )


def heading(title: str, section: str) -> None:
    """A panel's title with its "?"."""
    st.subheader(title, anchor=False, help=TEXT[section], width="content")


def _density(solution: Solution, view: View, bars: Sequence) -> None:
    with title_row():
        heading("The noise", "density")
        log_y = st.toggle("Logarithmic density", key="log_y", bind="query-params")
    laws = [charts.Law("optimal", OPTIMUM, solution.noise), *overlaid(view, bars)]
    figure = charts.density(laws, unit=view.unit, colours=view.colours, log_y=log_y)
    st.plotly_chart(figure, key="chart_density", alt=density_alt(solution, view))
    with st.expander("Numbers", key="density_numbers", on_change="rerun") as box:
        if box.open:
            st.dataframe(quantile_table(laws), hide_index=True)
            st.caption(f"Quantiles of the noise{' in ' + view.unit if view.unit else ''}.")


def density_alt(solution: Solution, view: View) -> str:
    """The density chart in words."""
    low, high = solution.noise.interval(0.9)
    if view.problem.granularity is not None:
        name = f"Probabilities of the optimal noise: at least 90 % of it from {low:g} to {high:g} {view.unit}"
        return name + ". Geometric noise and the discrete staircase as dashed lines."
    atoms = "; ".join(f"{prose.percent(mass)} exactly {x:g}" for x, mass in solution.noise.atoms)
    return (
        f"Density of the optimal noise: 90 % of it lies between {low:.3g} and {high:.3g} {view.unit}"
        + (f"; {atoms}" if atoms else "")
        + ". Textbook mechanisms as dashed lines."
    )


def quantile_table(laws: Sequence[charts.Law]) -> dict[str, list]:
    """Quantiles of several laws, one column each."""
    shares = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
    table: dict[str, list] = {"quantile": [f"{100 * share:g} %" for share in shares]}
    for law in laws:
        table[law.name] = [float(f"{x:.5g}") for x in law.noise.quantile(np.array(shares))]
    return table


def _losses(solution: Solution, view: View, bars: Sequence) -> None:
    with title_row():
        heading("What it costs", "losses")
    lower = solution.certificate.lower
    rows = [charts.Bar("optimal", OPTIMUM, solution.certificate.upper), *comparable(bars)]
    earlier = None
    real = view.problem.granularity is None
    if real and view.problem.loss.spec == "l1" and view.problem.privacy.epsilon > 0:
        earlier = literature.amplitude_lower(view.problem.privacy, view.problem.sensitivity)
    figure = charts.losses(
        rows, lower=lower, axis=prose.loss_axis(view.problem, view.unit), colours=view.colours, earlier=earlier
    )
    st.plotly_chart(figure, key="chart_losses", alt="; ".join(f"{bar.name} {charts.shown_loss(bar)}" for bar in rows))
    with st.expander("Numbers", key="loss_numbers"):
        st.markdown(loss_table(rows, lower, bars, earlier))


def loss_table(rows: Sequence[charts.Bar], lower: float | None, bars: Sequence, earlier: float | None) -> str:
    """The loss chart as a Markdown table, with the mechanisms that cannot be drawn and why."""
    lines = ["| mechanism | mean loss | over the lower bound | |", "|---|--:|--:|---|"]
    for bar in sorted(rows, key=lambda row: row.loss):
        ratio = f"{bar.loss / lower:.4f}" if lower and math.isfinite(bar.loss) else "–"
        lines.append(f"| {bar.name} | {charts.shown_loss(bar, 6)} | {ratio} | {'' if bar.valid else bar.reason} |")
    lines += [f"| {b.name} | – | – | {b.reason} |" for b in bars if b.loss is None]
    if earlier:
        lines.append(f"| earlier lower bound | {prose.number(earlier, 6)} | – | from the literature, for this loss |")
    return "\n".join(lines)


def next_steps(solution: Solution, bars: Sequence) -> None:
    """Three experiments, one click each."""
    problem = solution.problem
    privacy = problem.privacy
    steps = [
        ("Forbid bumps: monotone noise", {"monotone": True, "panel": "Price of a constraint"})
        if not problem.monotone
        else ("Allow bumps again", {"monotone": False}),
        ("Punish large errors: x²", {"loss": "l2"})
        if problem.loss.spec != "l2"
        else ("Absolute error |x|", {"loss": "l1"}),
        ("Where it matters: ε = 5, δ = 0.25", {"epsilon": 5.0, "delta": 0.25})
        if (privacy.epsilon, privacy.delta) != (5.0, 0.25)
        else ("Where it does not: ε = 0.5, δ = 10⁻⁶", {"epsilon": 0.5, "delta": 1e-6}),
    ]
    st.subheader("What to try next", anchor=False)
    with st.container(horizontal=True):
        for number, (label, values) in enumerate(steps):
            st.button(label, key=f"step_{number}", on_click=inputs.choose, args=(values,))
