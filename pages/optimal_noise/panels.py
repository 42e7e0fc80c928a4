"""The first screen of the page "Optimal noise": headline, progress, densities, losses, next steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from dpcore import figures, literature
from dpcore.errors import InputError
from dpcore.mechanisms import INTEGER_MECHANISMS
from dpcore.problem import TIME_LIMIT
from dpcore.solution import Progress, Solution
from pages.shared import compute, drawing, frame, prose, watching
from pages.shared.messages import explain

from . import inputs, matters, textbooks, verdict
from .controls import Controls
from .view import View, view_of

TEXT = prose.sections("optimal_noise")
FAIR, LONG = 0.02, 1.0
"""A first picture is drawn at this relative gap, or after so many seconds."""

MOMENT = 0.06
"""Seconds in which a browser draws what it has."""

LONGER = 3
"""A search that its time limit ended is offered so many times as long."""


def known(view: View) -> Solution | None:
    """The answer where it is there without a solve: somebody has asked before, or a first bracket."""
    return compute.known(view.problem, view.settings) or compute.first(view.problem, view.settings)


def last_good(asked: Controls) -> View | None:
    """The view that the controls describe or, while one of them is wrong, the one before, with a word about it."""
    if asked.view is not None:
        st.session_state["last_good"] = asked.view
        return asked.view
    view = st.session_state.get("last_good")
    tail = "The picture below still shows the last accepted values." if view else "Correct it on the left."
    st.error(" ".join([*asked.complaints, tail]), icon=":material/error:")
    return view


def at_once() -> frame.Told | None:
    """On a visitor's first look at the page verdict and bounds, where they are known, before the controls are drawn:
    the browser shows at once what has come when for a moment nothing more does."""
    if "last_good" in st.session_state:
        return None
    try:
        view = view_of(inputs.HOME.values())
    except InputError:
        return None
    if (solution := known(view)) is None:
        return None
    told = _told(solution, view, textbooks.known(view.problem))
    compute.pause(MOMENT)
    return told


def _told(solution: Solution, view: View, bars: Sequence, over: frame.Told | None = None) -> frame.Told:
    proof = solution.certificate
    judged = verdict.verdict(view.problem, proof, bars, view.unit, view.people)
    return frame.headline(escape(prose.headline(view.problem, proof, view.unit)), verdict=escape(judged), over=over)


def headline(
    solution: Solution, view: View, bars: Sequence, below: Callable[[], object], over: frame.Told | None = None
) -> None:
    """The verdict, the sentence with both bounds and what is drawn below it, how the textbooks do, what a release gives
    away, and where optimal noise matters.   over : what has been told before."""
    proof = solution.certificate
    _told(solution, view, bars, over)
    below()
    with st.container(key="behind"):
        left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown(escape(f"{verdict.errors(solution.noise, bars, view.unit)} {verdict.comparison(proof, bars)}"))
        given, much = verdict.exposure(view.problem, solution.noise, view.unit)
        if given:
            st.markdown((":orange[:material/warning:] " if much else "") + escape(given))
    with right:
        matters.table(view.problem)
    if proof.lower is None:
        st.info(TEXT["unproved"])


def claim(solution: Solution, view: View) -> tuple[str, dict[str, str]]:
    """What may be cited: the headline, and the certificate behind it."""
    proof, problem = solution.certificate, view.problem
    facts = {
        "lower bound": "none" if proof.lower is None else prose.at_least(proof.lower),
        "upper bound": prose.at_most(proof.upper),
        "loss": problem.loss.spec,
        "sensitivity": f"{prose.plain(problem.sensitivity)} {view.unit}".strip(),
        "δ of the noise, audited,": f"at most {prose.at_most(proof.delta_upper, 6)}",
        "worst shift": prose.plain(proof.worst_shift),
        "source": solution.source,
    }
    return prose.headline(problem, proof, view.unit).replace("**", ""), facts


def escape(text: str) -> str:
    """Markdown in which a user's unit cannot start a formula or a tag."""
    for character in "$<>[]`":
        text = text.replace(character, "\\" + character)
    return text


def comparable(bars: Sequence) -> list[figures.Bar]:
    """Baselines with a finite loss."""
    return [
        figures.Bar(b.key, b.name, b.loss, b.valid, b.reason, b.noise and verdict.within(b.noise))
        for b in bars
        if b.loss is not None
    ]


def asked_for(view: View) -> compute.Job:
    """The job that looks for the best noise, under way; waited for only a little where there is something to show."""
    job = compute.ask("picture", view.problem, view.settings, wait=0.0)
    if job.done:
        return job
    wait = compute.PATIENCE if compute.first(view.problem, view.settings) is None else compute.GLANCE
    return compute.ask("picture", view.problem, view.settings, wait=wait)


def presentable(job: compute.Job, view: View) -> Solution | None:
    """What to draw of a job: its answer; before the end, the answer so far once it is a good one or took a while, and
    until then, or while it is better, what is known without solving."""
    if job.done:
        return job.solution
    known, sketch = compute.first(view.problem, view.settings), job.sketch
    if sketch is None or (gap := sketch.certificate.gap) is None:
        return known
    good = gap <= FAIR or time.monotonic() - job.asked >= LONG
    closer = known is None or known.certificate.gap is None or gap < known.certificate.gap
    return sketch if good and closer else known


def waiting(job: compute.Job, view: View, bars: Sequence) -> None:
    """What is known before there is any noise to draw: the bounds so far and the textbook mechanisms."""
    _watch(job, view, None)
    if laws := overlaid(view, bars):
        figure = figures.density(laws, unit=view.unit, colours=view.colours)
        alt = "Densities of the textbook mechanisms; the optimum follows."
        drawing.draw(figure, key="chart_waiting", alt=alt, table=lambda: quantiles(laws, view.unit))


def sharpening(job: compute.Job, view: View, drawn: Solution) -> None:
    """The bounds while the solver goes on and a first picture is already there, pale as long as it is the one that is
    known without solving."""
    if drawn is compute.first(view.problem, view.settings):
        st.html("<style>.st-key-chart_density { opacity: 0.6; transition: none; }</style>")
    _watch(job, view, drawn)


def ended(job: compute.Job, solution: Solution) -> None:
    """Of a search that is over: a button that takes it up again where a visitor stopped it; else, where the bounds are
    further apart than asked for, why, and where more time would help, a button for that."""
    watching.go_on({"picture": job})
    why = "" if job.over else verdict.why_open(solution)
    if not why:
        return
    limit = solution.settings.time_limit
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(why, width="content")
        if verdict.timed_out(solution) and limit < TIME_LIMIT.high:
            longer = min(math.ceil(LONGER * limit), int(TIME_LIMIT.high))
            more = {"seconds": longer}
            st.button(f"Search for {longer} s", key="longer", on_click=inputs.HOME.choose, args=(more,))


def _watch(job: compute.Job, view: View, drawn: Solution | None) -> None:
    """A strip that follows a job, offers to stop it, and runs the page again once there is more to draw, so that the
    strip never says more than the headline and the charts.

    drawn : what the page shows.
    """

    def say() -> None:
        bounds = _bounds(job, drawn)
        st.markdown(_so_far(job, view, bounds))
        st.progress(_progress(bounds, view))

    more = lambda: presentable(job, view) is not drawn  # noqa: E731
    watching.strip({"picture": job}, say, help="Keep the best so far", more=more)


def _bounds(job: compute.Job, drawn: Solution | None) -> tuple[float, float] | None:
    """The bracket of what is drawn, or else the newest one; None before there is any."""
    if drawn is not None:
        return drawn.certificate.lower or 0.0, drawn.certificate.upper
    return (job.trace[-1].lower, job.trace[-1].upper) if job.trace else None


def _progress(bounds: tuple[float, float] | None, view: View) -> float:
    """How far the gap has closed, from 100 % to what was asked for, on a logarithmic scale."""
    lower, upper = bounds or (0.0, math.inf)
    gap = min(upper / lower - 1, 1.0) if lower > 0 else 1.0
    goal = min(view.settings.gap, 0.5)
    return min(1.0, math.log(max(gap, goal)) / math.log(goal))


def closing(trace: Sequence[Progress], view: View) -> None:
    """Both bounds against solving time."""
    figure = figures.gap(trace, axis=prose.loss_axis(view.problem.loss, view.unit), colours=view.colours)
    lower, upper = prose.bracket(max(trace[-1].lower, 0.0), trace[-1].upper)
    alt = f"Upper and lower bound against solving time; at the end between {lower} and {upper}."
    table = lambda: st.dataframe(prose.trace_table(trace), hide_index=True)  # noqa: E731
    drawing.draw(figure, key="chart_gap", alt=alt, table=table)


def _so_far(job: compute.Job, view: View, bounds: tuple[float, float] | None) -> str:
    if bounds is None:
        return "Waiting for a free place …" if job.began is None else job.doing
    lower, upper = prose.bracket(max(bounds[0], 0.0), bounds[1])
    unit = escape(prose.loss_unit(view.problem.loss, view.unit))
    return f"{job.doing} the least possible cost lies between **{lower}** and **{upper}** {unit}"


def failure(job: compute.Job, asked: Controls) -> None:
    """Why there is no noise to show."""
    if isinstance(job.error, compute.TooMany):
        st.warning(explain(job.error))
        st.button("Try again", key="again")
    elif isinstance(job.error, InputError):
        asked.complain(job.error)
        st.error(explain(job.error), icon=":material/error:")
    elif job.over:
        st.info("Stopped before the first noise was found.")
        watching.go_on({"picture": job})
    else:
        st.error("The solver gave no usable answer for these values. Try a wider gap or other constraints.")


def overlaid(view: View, bars: Sequence) -> list[figures.Law]:
    """The baselines to draw, those with a law and switched on."""
    shown = (*view.overlays, *INTEGER_MECHANISMS)
    return [figures.Law(b.key, b.name, b.noise) for b in bars if b.noise is not None and b.key in shown]


def pictures(solution: Solution, view: View, bars: Sequence) -> None:
    """Density and losses side by side."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        _density(solution, view, bars)
    with right:
        _losses(solution, view, bars)


def _density(solution: Solution, view: View, bars: Sequence) -> None:
    log_y = frame.heading("The noise", TEXT["density"], lambda: st.toggle("Logarithmic density", key="log_y"))
    laws = [figures.Law("optimal", solution.title, solution.noise), *overlaid(view, bars)]
    figure = figures.density(laws, unit=view.unit, colours=view.colours, log_y=log_y)
    alt = density_alt(solution, view)
    drawing.draw(figure, key="chart_density", alt=alt, table=lambda: quantiles(laws, view.unit))


def quantiles(laws: Sequence[figures.Law], unit: str) -> None:
    """The table behind a chart of densities."""
    st.dataframe(quantile_table(laws), hide_index=True)
    st.caption(f"Quantiles of the noise{' in ' + unit if unit else ''}.")


def density_alt(solution: Solution, view: View) -> str:
    """The density chart in words."""
    low, high = solution.noise.interval(0.9)
    if view.problem.granularity is not None:
        name = f"Probabilities of the optimal noise: at least 90 % of it from {low:g} to {high:g} {view.unit}"
        return name + ". Geometric noise and the discrete staircase as dashed lines."
    atoms = "; ".join(prose.atom(*atom) for atom in solution.noise.atoms)
    return (
        f"Density of the optimal noise: 90 % of it lies between {low:.3g} and {high:.3g} {view.unit}"
        + (f"; {atoms}" if atoms else "")
        + ". Textbook mechanisms as dashed lines."
    )


def quantile_table(laws: Sequence[figures.Law]) -> dict[str, list]:
    """Quantiles of several laws, one column each."""
    shares = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
    table: dict[str, list] = {"quantile": [f"{100 * share:g} %" for share in shares]}
    for law in laws:
        table[law.name] = [float(f"{x:.5g}") for x in law.noise.quantile(np.array(shares))]
    return table


def _losses(solution: Solution, view: View, bars: Sequence) -> None:
    frame.heading("What it costs", TEXT["losses"])
    lower = solution.certificate.lower
    best = figures.Bar(
        "optimal", solution.title, solution.certificate.upper, within=verdict.within(solution.noise)
    )  # fmt: skip
    rows = [best, *comparable(bars)]
    earlier = None
    real = view.problem.granularity is None
    if real and view.problem.profile is None and view.problem.loss.spec == "l1" and view.problem.privacy.epsilon > 0:
        earlier = literature.amplitude_lower(view.problem.privacy, view.problem.sensitivity)
    figure = figures.losses(
        rows, lower=lower, axis=prose.loss_axis(view.problem.loss, view.unit), colours=view.colours, earlier=earlier
    )
    alt = "; ".join(f"{bar.name} {figures.shown_loss(bar)}" for bar in rows)
    drawing.draw(figure, key="chart_losses", alt=alt, table=lambda: st.markdown(loss_table(rows, lower, bars, earlier)))
    st.caption(escape(f"± holds 95\u202f% of releases. {verdict.not_drawn(figures.left_out(rows))}"))


def loss_table(rows: Sequence[figures.Bar], lower: float | None, bars: Sequence, earlier: float | None) -> str:
    """The loss chart as a Markdown table, with the mechanisms that cannot be drawn and why."""
    lines = ["| mechanism | mean loss | over the lower bound | 95 % within ± | |", "|---|--:|--:|--:|---|"]
    for bar in sorted(rows, key=lambda row: (not row.valid, row.loss)):
        ratio = f"{bar.loss / lower:.4f}" if lower and math.isfinite(bar.loss) else "–"
        width = "–" if bar.within is None else prose.at_most(bar.within, 4)
        reason = "" if bar.valid else bar.reason
        lines.append(f"| {bar.name} | {figures.shown_loss(bar, 6)} | {ratio} | {width} | {reason} |")
    lines += [f"| {b.name} | – | – | – | {b.reason} |" for b in bars if b.loss is None]
    if earlier:
        lines.append(
            f"| earlier lower bound | {prose.number(earlier, 6)} | – | – | from the literature, for this loss |"
        )
    return "\n".join(lines)


def next_steps(solution: Solution) -> None:
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
        ("Bound every δ(ε′): Gaussian privacy", {"promise": "gdp", "mu": 2.0, "values": "real"})
        if problem.profile is None and (privacy.epsilon, privacy.delta) == (5.0, 0.25)
        else ("Back to one pair (ε, δ)", {"promise": "pair"})
        if problem.profile is not None
        else ("Where it matters most: ε = 5, δ = 0.25 (for teaching)", {"epsilon": 5.0, "delta": 0.25})
        if (privacy.epsilon, privacy.delta) != (5.0, 0.25)
        else ("Where it does not: ε = 0.5, δ = 10⁻⁶", {"epsilon": 0.5, "delta": 1e-6}),
    ]
    frame.experiments(inputs.HOME, steps)
