"""The tabs with figures: convergence on finer grids, shapes of laws, monotone noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.data_dependent import solve as solve_data_dependent
from dpcore.figures import Law, density
from dpcore.isotropic.problem import IsotropicProblem
from dpcore.isotropic.search import solve as solve_isotropic
from dpcore.mechanisms import baselines
from dpcore.optimal.midpoint import Midpoint
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Solution
from pages.data_dependent.charts import tabulated
from pages.data_dependent.panels import law_table
from pages.data_dependent.work import nine_intervals
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live

from . import charts, data, times, work
from .controls import PAGE, PANELS, PRIVACY_NAMES, REGIMES
from .panels import CELLS, TEXT, heading, stoppable, waiting

FINER = (2, 4, 8, 16, 32, 64)
"""Cells per sensitivity of Figure 3: β from 1 to 1/32 with Δf = 2."""

SHOWN = (1, 5, 9)
"""The noise laws that Figure 5 draws."""

# Convergence -----------------------------------------------------------------------------------------


def convergence() -> None:
    """Figure 3 and the supplement's Figure 5: the reference method's bounds on finer grids, and seconds."""
    {"figure 3": figure_3, "times": times.panel, "figure 5": figure_5}[PAGE["study"]]()


def figure_3() -> None:
    heading("Figure 3, data independent", TEXT["figure 3"], study="Figure", regime="Privacy")
    regime = PAGE["regime"]
    epsilon, delta = REGIMES[regime]
    general, monotone = (noise_problem(epsilon, delta, 2.0, "l1", monotone=flag) for flag in (False, True))
    half = math.ceil(general.privacy.truncation())
    partitions = tuple((k, half) for k in CELLS[regime])
    job = compute.ask("grids general", work.Grids(general, partitions), None, task=work.on_grids)
    ladder = work.Ladder(monotone, FINER, math.ceil(2 * general.privacy.truncation()) / 2)
    curve = compute.ask("curve", ladder, None, task=work.climb)
    optimum = compute.ask("optimum", (general, monotone), 1e-3, task=work.solve_each)
    printed = data.published()["figure_3"].get(regime)

    def draw() -> None:
        compared(job.solution or (), optimum.solution or ())
        lines = [(b.name, b.key, b.loss) for b in baselines(general) if b.key in ("truncated-laplace", "gaussian")]
        best = list(optimum.solution or optimum.trace)
        names = ("certified optimum", "optimal"), ("monotone optimum", "staircase")
        lines += [(name, key, one.certificate.upper) for (name, key), one in zip(names, best)]
        bounds, midpoints = list(job.solution or job.trace), list(curve.solution or curve.trace)
        midpoints = [one for one in midpoints if isinstance(one, Midpoint)]
        places = [f"{2 / k:g}" for k in FINER]
        axis = prose.loss_axis(general.loss, "")
        figure = charts.convergence(
            bounds, midpoints, printed, lines, places=places, axis=axis, colours=drawing.colours()
        )
        alt = f"Bounds for {PRIVACY_NAMES[regime]} on grids β = {', '.join(places)}."
        drawing.draw(figure, key="chart_convergence", alt=alt,
                     table=lambda: by_grid(bounds, midpoints, printed, places, best))  # fmt: skip

    waiting("grids general", job, len(partitions))
    waiting("curve", curve, len(FINER))
    live([job, curve, optimum], draw)
    st.markdown(TEXT["figure 3 note"])


def by_grid(
    bounds: Sequence[Solution],
    midpoints: Sequence[Midpoint],
    printed: Sequence[float] | None,
    places: Sequence[str],
    best: Sequence[Solution],
) -> None:
    """The figure's numbers with the seconds that they took."""
    proved = lambda law, place, s: _row(law, place, s) | {"published upper": "", "seconds": f"{s.seconds:.2f}"}  # noqa: E731
    out = [proved("general, reference method", place, s) for place, s in zip(places, bounds)]
    for n, (place, one) in enumerate(zip(places, midpoints)):
        out.append({"law": "monotone, the paper's recipe", "β": place, "lower": f"{one.least:.5f} (none)",
                    "upper": f"{one.upper:.5f}", "published upper": f"{printed[n]:.5f}" if printed else "not recorded",
                    "seconds": f"{one.seconds:.2f}"})  # fmt: skip
    out += [proved(f"{name}, certified method", "–", s) for name, s in zip(("general", "monotone"), best)]
    st.dataframe(out, hide_index=True)


def _row(law: str, place: str, s: Solution) -> dict[str, str]:
    """A bracket in a table."""
    proof = s.certificate
    return {"law": law, "β": place, "lower": prose.at_least(proof.lower, 6), "upper": prose.at_most(proof.upper, 6)}


def compared(reference: Sequence[Solution], best: Sequence[Solution]) -> None:
    """The reference method's finest grid beside the certified method, once both are there."""
    if reference and best:
        ours, theirs = (prose.bracket(s.certificate.lower, s.certificate.upper) for s in (best[0], reference[-1]))
        frame.headline(
            f"On its finest grid here the reference method proves {theirs[0]} to {theirs[1]}; the certified method "
            f"proves **{ours[0]}** to **{ours[1]}**."
        )


def brackets(bounds: Sequence[Solution], places: Sequence[str]) -> None:
    st.dataframe([_row("reference", place, s) for place, s in zip(places, bounds)], hide_index=True)


def figure_5() -> None:
    heading("Supplement, Figure 5", TEXT["figure 5"], study="Figure")
    problem, plateau = noise_problem(1.0, 0.2, monotone=True), data.published()["supplement_figure_5"]["plateau"]
    wide, fine = tuple((8, half) for half in (1, 2, 3, 4)), tuple((k, 1) for k in (1, 2, 4, 8))
    left, right = st.columns(2, gap="large")
    for column, name, partitions, over in (
        (left, "support", wide, "half-width of the support, in Δf"),
        (right, "cells", fine, "cells per Δf (half-width Δf)"),
    ):
        job = compute.ask(f"grids {name}", work.Grids(problem, partitions), None, task=work.on_grids)
        with column:
            places = [str(half if name == "support" else k) for k, half in partitions]

            def draw(job=job, name=name, places=places, over=over) -> None:
                bounds = list(job.solution or job.trace)
                axis = prose.loss_axis(problem.loss, "")
                lines = [("published plateau", "gaussian", plateau)]
                figure = charts.grids(bounds, lines, over=over, places=places, axis=axis, colours=drawing.colours())
                alt = f"Reference bounds over {over}."
                drawing.draw(figure, key=f"chart_{name}", alt=alt, table=lambda: brackets(bounds, places))

            waiting(f"grids {name}", job, len(places))
            live([job], draw)
    st.markdown(TEXT["figure 5 note"])


# Shapes ----------------------------------------------------------------------------------------------


def shapes() -> None:
    """Figure 4 and the supplement's Figures 2 and 3: laws beside each other."""
    heading("Shapes of optimal noise", TEXT["shapes"], shape="Figure")
    if PAGE["shape"].startswith("nine"):
        nine_laws(*PANELS[PAGE["shape"].removeprefix("nine ")])
        return
    pair = shape_problems(PAGE["shape"])
    job = compute.ask("shapes", tuple(problem for _, _, problem in pair), 2e-3, task=work.solve_each)

    def draw() -> None:
        found = list(job.solution or job.trace)
        if not found:
            return
        laws = [Law(key, name, s.noise) for (name, key, _), s in zip(pair, found)]
        figure = density(laws, unit="", colours=drawing.colours())
        facts = []
        for (name, _, problem), s in zip(pair, found):
            lower, upper = prose.bracket(s.certificate.lower, s.certificate.upper)
            facts.append({"law": name, "loss": problem.loss.title, "at least": lower, "at most": upper})
        costs = (f"{row['law']} **{row['at least']}** to **{row['at most']}**" for row in facts)
        frame.headline(f"The least mean loss: {'; '.join(costs)}.")
        alt = "; ".join(f"{row['law']}: {row['at least']} to {row['at most']}" for row in facts)
        drawing.draw(
            figure, key="chart_shapes", alt=f"Densities. {alt}.", table=lambda: st.dataframe(facts, hide_index=True)
        )

    waiting("shapes", job, len(pair))
    live([job], draw)


def shape_problems(shape: str) -> list[tuple[str, str, NoiseProblem]]:
    """(name, colour's key, problem) of the laws of a figure."""
    if shape == "asymmetric":
        return [
            ("loss |x|", "optimal", noise_problem(1, 0.2)),
            ("loss |x|, doubled for x > 0", "laplace", noise_problem(1, 0.2, 1.0, "asym:1:2")),
        ]
    if shape == "losses":
        return [
            ("loss |x|", "optimal", noise_problem(1, 0.4, 10.0)),
            ("loss x²", "laplace", noise_problem(1, 0.4, 10.0, "l2")),
        ]
    epsilon, delta = (REGIMES | PANELS)[shape]
    return [
        ("unconstrained", "optimal", noise_problem(epsilon, delta, 10.0)),
        ("monotone", "laplace", noise_problem(epsilon, delta, 10.0, monotone=True)),
    ]


def nine_laws(epsilon: float, delta: float) -> None:
    """Figure 5: noise laws #1, #5 and #9 of a query with nine intervals of true values."""
    problem = nine_intervals(epsilon, delta)
    limits = SolverSettings(gap=0.01, time_limit=2 * work.LIMIT)
    job = compute.ask("nine laws", problem, limits, task=solve_data_dependent)

    def draw() -> None:
        found = job.best
        if found is None:
            return
        lower, upper = prose.bracket(found.certificate.lower, found.certificate.upper)
        frame.headline(f"Nine laws together: the mean absolute error lies between **{lower}** and **{upper}**.")
        table = tabulated(found)
        figure = charts.noise_laws(table, SHOWN, colours=drawing.colours())
        named = ", ".join(f"#{n}" for n in SHOWN)
        alt = f"Densities of the noise for intervals {named} of nine; error {lower} to {upper}."
        drawing.draw(figure, key="chart_nine", alt=alt, table=lambda: st.dataframe(law_table(table)))

    stoppable("nine laws", job, lambda: st.caption("Solving nine laws …"))
    live([job], draw)
    st.markdown(TEXT["nine"])


def monotone() -> None:
    """The supplement's counter-example (3, 0.3)."""
    heading("Monotone noise is not always optimal", TEXT["monotone"])
    problems = (noise_problem(3, 0.3), noise_problem(3, 0.3, monotone=True))
    job = compute.ask("monotone", problems, 1e-3, task=work.solve_each)

    def draw() -> None:
        if job.solution and len(job.solution) == len(problems):
            free, bound = (solution.certificate for solution in job.solution)
            frame.headline(
                f"At (3, 0.3) some noise errs by at most **{prose.at_most(free.upper, 4)}**; all monotone noise errs "
                f"by at least **{prose.at_least(bound.lower, 4)}**."
            )
        out = []
        names = ("any noise", "monotone noise"), ("0.1705 (upper bound)", "0.1830 (lower bound)")
        for name, printed, solution in zip(*names, job.solution or job.trace):
            lower, upper = prose.bracket(solution.certificate.lower, solution.certificate.upper)
            out.append({"": name, "published": printed, "proved here": f"{lower} to {upper}"})
        if out:
            st.dataframe(out, hide_index=True)

    waiting("monotone", job, 2)
    live([job], draw)
    st.markdown(TEXT["monotone note"])


# Two dimensions --------------------------------------------------------------------------------------


def plane() -> None:
    """The supplement's Figure 6: E‖X‖₁ in the plane under ℓ2-sensitivity."""
    heading("Supplement, Figure 6: two dimensions", TEXT["plane"], plane="Privacy")
    printed, epsilon = data.published()["supplement_figure_6"][PAGE["plane"]], float(PAGE["plane"])
    problem = IsotropicProblem(2, Privacy(epsilon, 0.2))
    limits = SolverSettings(gap=0.01, time_limit=2 * work.LIMIT)
    job = compute.ask("plane", problem, limits, task=solve_isotropic)
    below = compute.ask("plane below", problem.privacy, None, task=work.from_below)

    def draw() -> None:
        found = job.best
        if found is None:
            return
        upper, least = IN_THE_PLANE * found.certificate.upper, found.certificate.lower or 0.0
        grids = [one for one in below.solution or below.trace if isinstance(one, work.Below)]
        lower = max([least, *(one.value for one in grids)])
        none = printed["2D optimization, lower"]
        words = (
            f"**below the published lower bound {none:g}**"
            if upper < none
            else f"the published lower bound is {none:g}"
        )
        frame.headline(
            f"A radial law, audited, has E‖X‖₁ = 4/π·E|X| ≤ **{prose.at_most(upper, 4)}**: {words}. "
            f"Every law has E‖X‖₁ ≥ **{prose.at_least(lower, 4)}**, and E|X| ≥ {prose.at_least(least, 4)}."
        )
        ours = {"Radial law, audited": upper, "Lower bound for every law": lower}
        text = (prose.at_most(upper, 4), prose.at_least(lower, 4))
        rows = [{"law": name, "E‖X‖₁": value, "from": "here"} for name, value in zip(ours, text)]
        rows += [
            {"law": name, "E‖X‖₁": f"{value:.4g}", "from": "read off the paper"} for name, value in printed.items()
        ]
        figure = charts.plane(ours, printed, colours=drawing.colours())
        alt = "; ".join(f"{row['law']} ({row['from']}): {row['E‖X‖₁']}" for row in rows)
        drawing.draw(figure, key="chart_plane", alt=alt, table=lambda: st.dataframe(rows, hide_index=True))

    stoppable("plane", job, lambda: st.caption("Solving for the radius …"))
    stoppable("plane below", below, lambda: st.caption("Bounding every law from below, on grids in the plane …"))
    live([job, below], draw)
    st.markdown(TEXT["plane note"])


IN_THE_PLANE = math.nextafter(4 / math.pi, 2)
"""E‖X‖₁/E|X| of radial laws in the plane, the mean of |cos| + |sin|; rounded up."""
