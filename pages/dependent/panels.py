"""The panels of the page: headline, laws, losses, certainty, gain, release, published figures, files."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import streamlit as st

from dpcore.data_dependent import Solution, solve
from dpcore.data_dependent.channel import Channel
from dpcore.data_dependent.files import channel_to_csv, solution_to_json
from dpcore.errors import InputError
from dpcore.problem import NoiseProblem, SolverSettings
from pages.shared import actions, compute, drawing, frame, prose
from pages.shared.charts import gap
from pages.shared.inputs import explain
from pages.shared.panels import trace_table

from . import charts, work
from .controls import PAGE, Asked

TEXT = prose.sections("data_dependent")
FAIR = 0.05
"""A gap at which the picture is worth drawing before the end."""


def additive(asked: Asked) -> NoiseProblem:
    """The problem of noise that ignores the true value: what texts about losses need."""
    return NoiseProblem(asked.problem.privacy, asked.problem.sensitivity, asked.problem.loss)


def loss_axis(asked: Asked) -> str:
    """Title of an axis of losses."""
    if asked.problem.loss.spec.startswith("table"):
        return "mean loss"
    return prose.loss_axis(additive(asked), asked.unit)


def shown(job: compute.Job) -> Solution | None:
    """The answer; before the end, what there is once it is fair or took a while."""
    if job.done or job.best is None:
        return job.solution
    fair = (job.best.certificate.gap or 1.0) <= FAIR or time.monotonic() - job.asked > 4
    return job.best if fair else None


# Headline --------------------------------------------------------------------------------------------


def sentence(solution: Solution) -> str:
    """ "Any (1, 0.2)-DP release of a query between 0 and 4 errs by at least … on average; this one errs by …" """
    problem, certificate = solution.problem, solution.certificate
    low, high = problem.query_range
    lower, upper = prose.bracket(max(certificate.lower, 0.0), certificate.upper)
    errs = {"l1": "errs by", "l2": "has a mean squared error of", "exceed": "errs that far with probability"}
    verb = errs.get(problem.loss.spec.partition(":")[0], "loses")
    privacy = f"({problem.privacy.epsilon:g}, {prose.delta_text(problem.privacy.delta)})"
    plain = problem.density.constant
    return (
        f"Any {privacy}-DP release of a query between {low:g} and {high:g} {verb} at least **{lower}** on "
        f"{'' if plain else 'weighted '}average; this one {verb} **{upper}**."
    )


def headline(solution: Solution, asked: Asked) -> None:
    """The sentence with both bounds, and what it gains."""
    with st.container(key="headline"):
        st.markdown(sentence(solution))
    certificate, independent = solution.certificate, solution.independent
    words = []
    if isinstance(solution.mechanism, Channel) and math.isfinite(solution.clamped_upper):
        share = 1 - certificate.upper / solution.clamped_upper if solution.clamped_upper else 0.0
        clamped = prose.at_most(solution.clamped_upper, 4)
        words.append(
            f"The best noise that ignores the true value, its releases clamped to the range, pays {clamped}: "
            f"knowing the value saves {prose.percent(share)}."
        )
        if independent is not None:
            words.append(f"Unclamped it pays {prose.at_most(independent.certificate.upper, 4)}; clamping is free.")
    elif not isinstance(solution.mechanism, Channel):
        words.append(
            "So far the best known release is optimal noise that ignores the true value, clamped to the range."
        )
    st.caption(" ".join(words))


def going_on(job: compute.Job, drawn: bool) -> None:
    """A strip that follows the job, and Stop; runs the page again once there is more to draw."""

    @st.fragment(run_every=compute.pace(job))
    def watch() -> None:
        if job.done or (not drawn and shown(job) is not None):
            st.rerun()
        left, right = st.columns([5, 1], vertical_alignment="center")
        last = job.trace[-1] if job.trace else None
        if last is None or not math.isfinite(last.upper):
            left.markdown("Solving …")
        else:
            lower, upper = prose.bracket(max(last.lower, 0.0), last.upper)
            gap_text = f", a gap of {prose.percent_up(last.gap)}" if last.lower > 0 else ""
            left.markdown(f"Solving … the least possible loss lies between **{lower}** and **{upper}**{gap_text}")
        right.button("Stop here", key="stop", on_click=compute.stop, args=("picture",), help="Keep the best so far")

    watch()


def failure(job: compute.Job) -> None:
    """Why there is no mechanism to show."""
    if isinstance(job.error, InputError):
        st.error(explain(job.error), icon=":material/error:")
    else:
        st.error("There is no answer for these values yet. Try a longer time limit or a wider gap.")


# Pictures --------------------------------------------------------------------------------------------


def chosen_value(asked: Asked) -> float:
    """The true value looked at."""
    low, high = asked.problem.query_range
    return low + (PAGE["place"] if PAGE["place"] is not None else 0.3) * (high - low)


def laws(solution: Solution, asked: Asked) -> None:
    """All laws twice, and the one of the chosen true value."""
    table, value, colours = charts.tabulated(solution), chosen_value(asked), drawing.colours()
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("One law per true value", TEXT["ridges"])
        figure = charts.ridges(table, value, unit=asked.unit, colours=colours)
        drawing.draw(figure, key="chart_ridges", alt=laws_alt(table), table=lambda: st.dataframe(law_table(table)))
    with right:
        frame.heading("Where the release goes", TEXT["heat map"])
        figure = charts.heat_map(table, value, unit=asked.unit, colours=colours)
        alt = "Heat map of the probability of every release at every true value. " + laws_alt(table)
        drawing.draw(figure, key="chart_heat", alt=alt, table=lambda: st.dataframe(law_table(table)))
    frame.heading(f"The law at a true value of {value:.4g} {asked.unit}".rstrip(), TEXT["law"])
    st.slider(
        "True value, from the low to the high end of the range", 0.0, 1.0, step=0.01, key="place",
        format="percent", label_visibility="collapsed",
    )  # fmt: skip
    figure = charts.law(table, value, unit=asked.unit, colours=colours)
    row = table.law_of(value)
    alt = f"Law of the release at a true value of {value:.4g}: " + likeliest(table, row)
    drawing.draw(figure, key="chart_law", alt=alt, table=lambda: st.dataframe(one_law(table, row), hide_index=True))


def likeliest(table: charts.Table, row: int, count: int = 3) -> str:
    """The likeliest releases of a law in words."""
    middles = 0.5 * (table.cells[1:] + table.cells[:-1])
    best = sorted(range(len(middles)), key=lambda b: -table.masses[row, b])[:count]
    parts = [f"about {middles[b]:.4g} with {100 * table.masses[row, b]:.3g} %" for b in best]
    if table.atoms[row] > 1e-9:
        parts.append(f"the value itself with {100 * table.atoms[row]:.3g} %")
    return ", ".join(parts) + "."


def laws_alt(table: charts.Table) -> str:
    """The laws in words."""
    rows = {0: "lowest", len(table.atoms) // 2: "middle", len(table.atoms) - 1: "highest"}
    return " ".join(f"At the {name} true values: {likeliest(table, row)}" for row, name in rows.items())


def law_table(table: charts.Table) -> dict[str, list]:
    """A row for every law: its true values, its atom, its likeliest releases."""
    return {
        "true values from": [f"{v:.5g}" for v in table.ends[:-1]],
        "to": [f"{v:.5g}" for v in table.ends[1:]],
        "released as it is": [f"{100 * a:.4g} %" for a in table.atoms],
        "likeliest releases": [likeliest(table, row) for row in range(len(table.atoms))],
    }


def one_law(table: charts.Table, row: int) -> dict[str, list]:
    """Every release of one law."""
    return {
        "release about": [f"{v:.5g}" for v in 0.5 * (table.cells[1:] + table.cells[:-1])],
        "probability": [f"{100 * m:.5g} %" for m in table.masses[row]],
    }


def losses(solution: Solution, asked: Asked) -> None:
    """Loss as a function of the true value, and averages."""
    problem = solution.problem
    curves = work.solution_curves(solution)
    known = {curve.key: curve for curve in work.clamped_curves(problem)}
    curves += [known[key] for key in PAGE["overlays"] if key in known]
    left, right = st.columns([11, 9], gap="large")
    with left:
        frame.heading("Who pays", TEXT["losses"])
        figure = charts.losses(
            work.values(problem), curves, work.weights(problem), chosen=chosen_value(asked), cap=solution.cap,
            axis=loss_axis(asked), unit=asked.unit, colours=drawing.colours(),
        )  # fmt: skip
        alt = "Loss at every true value: " + "; ".join(
            f"{c.name} from {prose.number(float(c.values.min()))} to {prose.number(float(c.values.max()))}"
            for c in curves
        )
        drawing.draw(figure, key="chart_losses", alt=alt, table=lambda: st.dataframe(loss_table(problem, curves)))
        st.multiselect(
            "Clamped mechanisms drawn beside it", PAGE.options("overlays"), format_func=PAGE.label("overlays"),
            key="overlays", label_visibility="collapsed",
        )  # fmt: skip
    with right:
        frame.heading("On average", TEXT["averages"])
        st.markdown(average_table(solution, [*curves[:2], *known.values()]))
        st.caption(
            f"All clamped to the range. With the certified optimum no true value loses more than "
            f"{prose.at_most(solution.instance_upper, 5)}. The first two are certified upper bounds, averages of "
            "textbook mechanisms are numerical."
        )


def loss_table(problem, curves: Sequence[charts.Curve]) -> dict[str, list]:
    """Losses at every tenth value."""
    values = work.values(problem)[::8]
    return {"true value": [f"{v:.4g}" for v in values]} | {
        curve.name: [prose.number(float(v), 5) for v in curve.values[::8]] for curve in curves
    }


def average_table(solution: Solution, curves: Sequence[charts.Curve]) -> str:
    """Averages, and what share of each the optimum saves, as a Markdown table."""
    rows = ["| mechanism | average loss | the optimum saves |", "|---|---:|---:|"]
    upper = solution.certificate.upper
    for curve in sorted(curves, key=lambda c: (c.key != "optimal", c.average)):
        saved = (
            "" if curve.key == "optimal" or curve.average <= 0 else prose.percent(max(0.0, 1 - upper / curve.average))
        )
        text = (
            prose.at_most(curve.average, 5) if curve.key in ("optimal", "independent") else prose.number(curve.average)
        )
        rows.append(f"| {curve.name} | {text} | {saved} |")
    lower = prose.at_least(max(solution.certificate.lower, 0.0), 5)
    return "\n".join([*rows, f"| *nothing is below* | {lower} | |"])


# Tabs -------------------------------------------------------------------------------------------------


def certainty(solution: Solution, asked: Asked, job: compute.Job) -> None:
    """Both bounds closing in, and the audited facts."""
    frame.heading("How sure is this?", TEXT["sure"])
    certificate, problem = solution.certificate, solution.problem
    trace = job.trace or solution.trace
    finite = [record for record in trace if math.isfinite(record.upper)]
    left, right = st.columns(2, gap="large")
    with left:
        if len(finite) > 1:
            figure = gap(finite, axis=loss_axis(asked), colours=drawing.colours())
            lower, upper = prose.bracket(max(finite[-1].lower, 0.0), finite[-1].upper)
            alt = f"Both bounds against solving time; at the end between {lower} and {upper}."
            table = lambda: st.dataframe(trace_table(finite), hide_index=True)  # noqa: E731
            drawing.draw(figure, key="chart_gap", alt=alt, table=table)
    with right:
        rows = {
            "Lower bound (no release is better)": prose.at_least(max(certificate.lower, 0.0)),
            "Upper bound (this release)": prose.at_most(certificate.upper),
            "Relative gap": "–" if certificate.gap is None else prose.percent_up(certificate.gap),
            "Audited δ, over all pairs of true values": prose.at_most(certificate.delta_upper),
            "δ asked for": prose.number(problem.privacy.delta, 6),
            "No true value loses more than": prose.at_most(solution.instance_upper),
            "Laws, points of release": f"{solution.laws}, {solution.cells}" if solution.laws else "one law, shifted",
            "How it was found": solution.source,
        }
        st.markdown("\n".join(["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())]))


def gain(solution: Solution, asked: Asked) -> None:
    """What knowing the value is worth, in words."""
    frame.heading("What knowing the value is worth", TEXT["gain"])
    upper, clamped = solution.certificate.upper, solution.clamped_upper
    independent = solution.independent.certificate.upper if solution.independent else math.nan
    columns = st.columns(3)
    columns[0].metric("least possible, at most", prose.at_most(upper, 5))
    columns[1].metric(
        "ignoring the value, clamped", prose.at_most(clamped, 5),
        delta=f"+{prose.percent(clamped / upper - 1)}" if upper else None,
        delta_color="inverse",
    )  # fmt: skip
    columns[2].metric(
        "ignoring value and range", prose.at_most(independent, 5),
        delta=f"+{prose.percent(independent / upper - 1)}" if upper else None, delta_color="inverse",
    )  # fmt: skip
    st.markdown(TEXT["why the weight must not depend on the data"])


def release(solution: Solution, asked: Asked) -> None:
    """One exact private release."""
    frame.heading("Release one value", TEXT["release"])
    low, high = solution.problem.query_range
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    value = left.number_input("True value", value=float(low + 0.3 * (high - low)), format="%g", key="true_value")
    if right.button("Release", key="release_one", type="primary") and value is not None:
        st.metric("Released", f"{solution.mechanism.release(float(value)):.10g}")
    st.caption("Every release spends the whole (ε, δ) again: try this on made-up values only.")


def published(asked: Asked) -> None:
    """The published experiments, certified; the reference method side by side."""
    frame.heading("Published experiments, certified", TEXT["published"])
    if not st.toggle("Compute them (about a minute)", key="run_published"):
        return
    jobs = {
        name: compute.ask(f"figure 3 {name}", work.regime(name), SolverSettings(gap=0.005, time_limit=12), task=solve,
                          urgent=False, wait=0.05)
        for name in work.REGIMES
    }  # fmt: skip
    methods = {
        name: compute.ask(f"reference {name}", work.regime(name), SolverSettings(time_limit=30), task=work.published,
                          urgent=False, wait=0.05)
        for name in work.REGIMES
    }  # fmt: skip
    name = st.segmented_control("Nine laws at", list(work.REGIMES), default="(1, 0.2)", key="regime") or "(1, 0.2)"
    nine = compute.ask(
        "figure 5", work.nine_laws(name), SolverSettings(gap=0.01, time_limit=20), task=solve, urgent=False, wait=0.05
    )
    everything = [*jobs.values(), *methods.values(), nine]

    @st.fragment(run_every=None if all(job.done for job in everything) else 1.0)
    def figures() -> None:
        left, right = st.columns(2, gap="large")
        with left:
            runs = [
                (f"(ε, δ) = {key}", (job.solution.trace if job.solution else job.trace)) for key, job in jobs.items()
            ]
            figure = charts.closing(runs, axis="mean absolute error", colours=drawing.colours())
            rows = side_by_side(jobs, methods)
            alt = "Certified brackets against the number of cells. " + str(rows)
            drawing.draw(figure, key="chart_figure_3", alt=alt, table=None)
            st.dataframe(rows, hide_index=True)
        with right:
            found = nine.best
            if found is None:
                st.caption("The nine laws are being solved …")
            else:
                table = charts.tabulated(found)
                figure = charts.ridges(table, 9.0, unit="", colours=drawing.colours())
                draw_table = lambda: st.dataframe(law_table(table))  # noqa: E731
                drawing.draw(figure, key="chart_figure_5", alt=laws_alt(table), table=draw_table)
        if not all(job.done for job in everything):
            st.caption("Still at work …")

    figures()


def side_by_side(jobs: dict[str, compute.Job], methods: dict[str, compute.Job]) -> list[dict[str, str]]:
    """Our brackets and the reference method's."""
    rows = []
    for name, job in jobs.items():
        row = {"(ε, δ)": name, "here": "…", "cutting planes, β = 1/4": "…", "seconds of the processor": ""}
        if job.best is not None:
            row["here"] = "{} – {}".format(*prose.bracket(job.best.certificate.lower, job.best.certificate.upper))
        if methods[name].solution is not None:
            other = methods[name].solution
            row["cutting planes, β = 1/4"] = f"{prose.at_least(other.lower, 4)} – {prose.at_most(other.upper, 4)}"
            row["seconds of the processor"] = f"{other.seconds:.1f}"
        rows.append(row)
    return rows


def export(solution: Solution, asked: Asked) -> None:
    """Files to take away."""
    frame.heading("Take it away", TEXT["export"])
    problem = solution.problem
    name = f"data_dependent_{problem.privacy.epsilon:g}_{problem.privacy.delta:g}"
    with st.container(horizontal=True):
        record = solution_to_json(solution)
        st.download_button("JSON", record, f"{name}.json", "application/json", on_click="ignore")
        st.download_button("CSV", channel_to_csv(solution), f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button("Python", snippet(solution), f"{name}.py", "text/x-python", on_click="ignore")
    actions.row(
        [
            actions.link(),
            *(
                actions.figure(f"{title} as {form.upper()}", chart=f"chart_{chart}", form=form, name=f"{name}_{chart}")
                for title, chart in (("Laws", "ridges"), ("Heat map", "heat"), ("Losses", "losses"))
                for form in ("png", "svg")
            ),
        ],
        key="figures",
    )
    with st.expander("Python snippet"):
        st.code(snippet(solution), language="python")


def snippet(solution: Solution) -> str:
    """A program that solves the same problem and releases one value."""
    problem = solution.problem
    low, high = problem.query_range
    options = [f"query_range=({low!r}, {high!r})", f"weight={problem.weight.spec!r}"]
    if problem.instance_cap is not None:
        options.append(f"instance_cap={problem.instance_cap!r}")
    options += [f"{flag}=True" for flag in ("monotone", "ordered") if getattr(problem, flag)]
    if problem.partition:
        options.append(f"partition={problem.partition!r}")
    privacy = problem.privacy
    lines = "".join(f"    {option},\n" for option in options)
    return (
        "from dpcore.data_dependent import data_dependent_problem, solve\n\n"
        f"problem = data_dependent_problem(\n    {privacy.epsilon!r}, {privacy.delta!r}, {problem.sensitivity!r}, "
        f"{problem.loss.spec!r},\n{lines})\n"
        "solution = solve(problem)\n"
        "print(solution.certificate)\n"
        f"print(solution.mechanism.release({low + 0.3 * (high - low):.6g}))  # one exact private release\n"
    )


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        ("Stronger privacy: (0.2, 0.05)", {"epsilon": 0.2, "delta": 0.05}),
        ("Middle values count most", {"weight": "triangular"}),
        ("Nobody may lose more than 0.8", {"cap": "number", "cap_value": 0.8, "weight": "uniform"}),
    ]
    st.subheader("What to try next", anchor=False)
    with st.container(horizontal=True):
        for number, (label, values) in enumerate(steps):
            st.button(label, key=f"step_{number}", on_click=PAGE.choose, args=(values,))
