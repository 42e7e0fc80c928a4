"""The tabs with figures: convergence on finer grids, shapes of laws, monotone noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.figures import Law, density
from dpcore.mechanisms import baselines
from dpcore.problem import NoiseProblem, noise_problem
from dpcore.solution import Solution
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live

from . import charts, work
from .controls import PAGE, PRIVACY_NAMES, REGIMES
from .panels import CELLS, TEXT, heading, waiting

# Convergence -----------------------------------------------------------------------------------------


def convergence() -> None:
    """Figure 3, data independent, and the supplement's Figure 5: the reference method's bounds on finer grids."""
    figure_3() if PAGE["study"] == "figure 3" else figure_5()


def figure_3() -> None:
    heading("Figure 3, data independent", TEXT["figure 3"], study="Figure", regime="Privacy")
    regime = PAGE["regime"]
    epsilon, delta = REGIMES[regime]
    general, monotone = (noise_problem(epsilon, delta, 2.0, "l1", monotone=flag) for flag in (False, True))
    half = math.ceil(general.privacy.truncation())
    partitions = tuple((k, half) for k in CELLS[regime])
    kinds = {"general": general, "monotone": monotone}
    jobs = {
        name: compute.ask(f"grids {name}", work.Grids(one, partitions), None, task=work.on_grids)
        for name, one in kinds.items()
    }
    optimum = compute.ask("optimum", (general, monotone), 1e-3, task=work.solve_each)

    def draw() -> None:
        compared(jobs["general"].solution or (), optimum.solution or ())
        lines = [(b.name, b.key, b.loss) for b in baselines(general) if b.key in ("truncated-laplace", "gaussian")]
        best = list(optimum.solution or optimum.trace)
        lines += [("certified optimum", "optimal", best[0].certificate.upper)] if best else []
        named = [(name, list(job.solution or job.trace)) for name, job in jobs.items()]
        places = [f"{2 / k:g}" for k, _ in partitions]
        axis = prose.loss_axis(general.loss, "")
        figure = charts.grids(named, lines, over="β (Δf = 2)", places=places, axis=axis, colours=drawing.colours())
        alt = f"Reference bounds for {PRIVACY_NAMES[regime]} on grids β = {', '.join(places)}."
        drawing.draw(figure, key="chart_convergence", alt=alt, table=lambda: brackets(named, places, best))

    for name, job in jobs.items():
        waiting(f"grids {name}", job, len(partitions))
    live([*jobs.values(), optimum], draw)
    st.markdown(TEXT["figure 3 note"])


def compared(reference: Sequence[Solution], best: Sequence[Solution]) -> None:
    """The reference method's finest grid beside the certified method, once both are there."""
    if reference and best:
        ours, theirs = (prose.bracket(s.certificate.lower, s.certificate.upper) for s in (best[0], reference[-1]))
        frame.headline(
            f"On its finest grid here the reference method proves {theirs[0]} to {theirs[1]}; the certified method "
            f"proves **{ours[0]}** to **{ours[1]}**."
        )


def brackets(named: Sequence[tuple[str, Sequence[Solution]]], places: Sequence[str], best: Sequence[Solution]) -> None:
    out = [
        {
            "law": name,
            "β": place,
            "lower": prose.at_least(s.certificate.lower, 6),
            "upper": prose.at_most(s.certificate.upper, 6),
        }
        for name, solutions in named
        for place, s in zip(places, solutions)
    ]
    for name, s in zip(("general", "monotone"), best):
        out.append({"law": f"{name}, certified method", "β": "–", "lower": prose.at_least(s.certificate.lower, 6),
                    "upper": prose.at_most(s.certificate.upper, 6)})  # fmt: skip
    st.dataframe(out, hide_index=True)


def figure_5() -> None:
    heading("Supplement, Figure 5", TEXT["figure 5"], study="Figure")
    problem = noise_problem(1.0, 0.2)
    wide, fine = tuple((4, half) for half in (1, 2, 3, 4)), tuple((k, 1) for k in (1, 2, 4, 8))
    left, right = st.columns(2, gap="large")
    for column, name, partitions, over in (
        (left, "support", wide, "half-width of the support, in Δf (4 cells per Δf)"),
        (right, "cells", fine, "cells per Δf (half-width Δf)"),
    ):
        job = compute.ask(f"grids {name}", work.Grids(problem, partitions), None, task=work.on_grids)
        with column:
            places = [str(half if name == "support" else k) for k, half in partitions]

            def draw(job=job, name=name, places=places, over=over) -> None:
                named = [("reference", list(job.solution or job.trace))]
                axis = prose.loss_axis(problem.loss, "")
                figure = charts.grids(named, [], over=over, places=places, axis=axis, colours=drawing.colours())
                alt = f"Reference bounds over {over}."
                drawing.draw(figure, key=f"chart_{name}", alt=alt, table=lambda: brackets(named, places, ()))

            waiting(f"grids {name}", job, len(places))
            live([job], draw)
    st.markdown(TEXT["figure 5 note"])


# Shapes ----------------------------------------------------------------------------------------------


def shapes() -> None:
    """Figure 4 and the supplement's Figures 2 and 3: laws beside each other."""
    heading("Shapes of optimal noise", TEXT["shapes"], shape="Figure")
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
    epsilon, delta = REGIMES[shape]
    return [
        ("unconstrained", "optimal", noise_problem(epsilon, delta, 10.0)),
        ("monotone", "laplace", noise_problem(epsilon, delta, 10.0, monotone=True)),
    ]


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
