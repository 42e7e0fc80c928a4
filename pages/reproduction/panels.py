"""The tabs with tables: the 100 combinations, the earlier lower bound, Example 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from dpcore.mechanisms import MECHANISMS, baseline
from dpcore.optimal.midpoint import Match
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, noise_problem
from dpcore.solution import Certificate
from dpcore.sweeps import Outcome
from pages.optimal_noise.inputs import HOME, values_of
from pages.shared import compute, drawing, fields, frame, prose
from pages.shared.watching import live, strip, under_way
from pages.tradeoff_maps.panels import HOME_PAGE, outcomes
from pages.tradeoff_maps.work import Axes, Plane, fill

from . import charts, data, work
from .controls import PAGE

TEXT = prose.sections("reproduction")
Matches = Mapping[Privacy, Match | None]
CELLS = {"low": (2, 4, 8, 16), "medium": (2, 4, 8), "high": (2, 4)}
"""Cells per sensitivity, Δf/β with Δf = 2, that the reference method manages in a few seconds."""


def heading(title: str, text: str, **choices: str) -> None:
    """A panel's title, and beside it what is looked at: controls by their keys, with their labels."""
    left, *places = st.columns([2] + [1] * len(choices) if choices else 1, vertical_alignment="center")
    with left:
        frame.heading(title, text)
    for place, (key, label) in zip(places, choices.items()):
        with place:
            fields.pick(PAGE, key, label, label_visibility="collapsed")


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = {
        "Cells that a law disproves": {"tab": "Tables", "table": "1", "error": "relative"},
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


def waiting(slot: str, job: compute.Job, total: int, what: str = "") -> None:
    """How far a job is, with a way to stop it."""
    so_far = lambda: min(1.0, len(job.trace) / total)  # noqa: E731
    say = lambda: st.progress(so_far(), text=" ".join(f"{len(job.trace)} of {total} {what} …".split()))  # noqa: E731
    stoppable(slot, job, say)


def stoppable(slot: str, job: compute.Job, say: Callable[[], object]) -> None:
    """What is said about a job under way, with a way to stop it; a stopped one says so."""
    if job.done and job.over:
        st.caption("Stopped early.")
    strip(under_way({slot: job}), say, label="Stop", key=f"stop {slot}")


# Tables ----------------------------------------------------------------------------------------------


def printed(loss: str) -> work.Printed:
    """The 100 published midpoints of a loss."""
    source = data.published()
    problems = [noise_problem(e, d, 1.0, loss) for d in source["deltas"][::-1] for e in source["epsilons"][::-1]]
    return work.Printed(tuple((problem, *data.printed_midpoint(problem)) for problem in problems))


def tables() -> None:
    """A published table, cell by cell against the certified bracket, with the grid behind each figure."""
    table = data.tables()[PAGE["table"]]
    job = plane(table.loss)
    recipes = compute.ask(f"recipes {table.loss}", printed(table.loss), None, task=work.recipes, urgent=False, wait=0.1)

    def draw() -> None:
        known = [one for one in outcomes(job) if one.certificate is not None]
        found = matches(recipes)
        verdict(known, table, found)
        figure = charts.deviations(known, table, found, relative=PAGE["error"] == "relative", colours=drawing.colours())
        alt = f"{table.title}: {len(known)} of 100 cells; {sum(map(data.agrees, known))} within the stated error."
        picked = drawing.draw(
            figure, key="chart_table", alt=alt, clicks=True,
            table=lambda: st.dataframe(rows(known, table, found), hide_index=True, column_config=WIDTHS),
        )  # fmt: skip
        if picked is not None:
            open_cell(noise_problem(*picked[:2], 1.0, table.loss))

    heading(f"{table.title} ({table.where})", TEXT["tables"], table="Published table", error="Colour")
    waiting(f"plane {table.loss}", job, 100)
    waiting(f"recipes {table.loss}", recipes, 100, "of the paper's grids")
    live([job, recipes], draw)
    st.markdown(TEXT["differences"])


def matches(job: compute.Job) -> dict[Privacy, Match | None]:
    """The grids of the recipe found so far."""
    records = job.solution if job.solution is not None else job.trace
    return {one.problem.privacy: one.match for one in records if isinstance(one, work.Recomputed)}


def verdict(known: Sequence[Outcome], table: data.Table, found: Matches) -> None:
    """How many midpoints agree, how many the recipe reproduces, and which a law disproves."""
    outside = [one for one in known if not data.agrees(one)]
    so_far = "" if len(known) == 100 else " so far"
    exact = sum(match is not None and match.exact for match in found.values())
    causes = {one: data.cause(one, found.get(one.problem.privacy)) for one in known}
    frame.headline(
        f"**{exact} of {len(found)}** published midpoints O{'' if len(found) == 100 else ' tried so far'} follow to "
        f"the printed digit from the paper's recipe; **{len(known) - len(outside)} of {len(known)}**{so_far} lie "
        f"within the stated error, {data.STATED[table.loss]:g}·max(1, O), of the bracket proved here."
    )
    disproved = sorted((one for one in known if causes[one].impossible), key=data.relative, reverse=True)
    if disproved:
        parts = [f"{place(one)} {100 * data.relative(one):.1f}\u202f%" for one in disproved]
        st.caption(f"{TEXT['disproved']} {', '.join(parts)}.")
    unexplained = [place(one) for one in known if causes[one].key == "unexplained"]
    if unexplained:
        st.caption(f"{TEXT['unexplained']} {', '.join(unexplained)}.")


def open_cell(problem: NoiseProblem) -> None:
    """Go to the first page with a problem."""
    st.switch_page(HOME_PAGE, query_params=HOME.enter(HOME.read({})[0] | values_of(problem)))


def place(one: Outcome) -> str:
    """ "(1, 0.2)", ε first."""
    return f"({one.problem.privacy.epsilon:g}, {one.problem.privacy.delta:g})"


WIDTHS = {
    "cause": st.column_config.TextColumn(width=380),
    "by the paper's recipe": st.column_config.TextColumn(width=400),
}
"""Widths, in pixels, of columns whose first rows say less than others."""


def percent(share: float) -> str:
    """Two decimals, without a sign before 0.00."""
    return f"{100 * share:z.2f}"


def rows(known: Sequence[Outcome], table: data.Table, found: Matches) -> list[dict[str, str]]:
    """The table behind the picture."""
    out = []
    for one in sorted(known, key=lambda o: (o.problem.privacy.epsilon, o.problem.privacy.delta)):
        privacy, (low, high) = one.problem.privacy, data.recomputed(one, table.measures)
        lower, upper = prose.bracket(one.certificate.lower, one.certificate.upper)
        match = found.get(privacy)
        out.append({
            "ε": f"{privacy.epsilon:g}", "δ": f"{privacy.delta:g}", "cause": data.cause(one, match).text,
            "published, %": f"{100 * data.share(table.key, privacy.epsilon, privacy.delta):.2f}",
            "here, %": f"{percent(low)} to {percent(high)}", "published O": f"{data.midpoint(one):.5g}",
            "optimum": f"{lower} to {upper}", "error/max(1, O), %": percent(data.distance(one)),
            "relative error, %": percent(data.relative(one)),
            "by the paper's recipe": recipe_text(match),
        })  # fmt: skip
        if table.loss == "l1":
            out[-1]["implied β, 4 (V − O)"] = f"{4 * (one.certificate.upper - data.midpoint(one)):z.3f}"
            out[-1]["earlier bound, terms rounded"] = data.rounded(one)
    return out


def recipe_text(match: Match | None) -> str:
    """A grid with what it gives."""
    if match is None:
        return ""
    one = match.found
    return f"β {one.width:g}, ±{one.half_width}: UB {one.upper:.5g}, Σ p·min {one.least:.5g}, O {one.middle:.5g}" + (
        "" if match.exact else " (not as printed)"
    )


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
