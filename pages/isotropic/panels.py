"""The panels with pictures: laws, what they pay, the map over the dimension, how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.figures import Bar, gap, losses
from dpcore.isotropic.baselines import KnownLaw
from dpcore.isotropic.solution import IsotropicSolution
from pages.shared import compute, drawing, fields, frame, prose, watching

from . import charts, headline, work
from .controls import PAGE, PRESETS, Asked

TEXT = prose.sections("isotropic")


def laws_of(job: compute.Job) -> tuple[KnownLaw, ...]:
    """The known mechanisms as far as they are known: estimates, later proved ones."""
    found = job.solution or next((one for one in reversed(job.trace) if isinstance(one, work.Known)), None)
    return found.laws if found else ()


# Laws ------------------------------------------------------------------------------------------------


def views() -> bool:
    """The choice of a view of the laws; whether there is such a picture."""
    frame.heading("The laws", TEXT["laws"])
    if fields.choice(PAGE, "view", "View") != "picture" or PAGE["dimension"] in (2, 3):
        return True
    st.caption(f"With {prose.count(PAGE['dimension'])} number{'s' * (PAGE['dimension'] > 1)} there is no such picture.")
    with st.container(horizontal=True):
        for count in (2, 3):
            st.button(
                f"Look at {count} dimensions", key=f"look_{count}", on_click=PAGE.choose, args=({"dimension": count},)
            )
    return False


def laws(asked: Asked, best: IsotropicSolution | None, known: Sequence[KnownLaw]) -> None:
    """The chosen view of the laws."""
    problem, colours, unit = asked.problem, drawing.colours(), asked.unit
    noise, curves = best.noise if best else None, [charts.curve_of(one, problem) for one in known]
    if noise is None and (PAGE["view"] == "picture" or not curves):
        st.caption("The first law is being computed …")
        return
    alone = PAGE["view"] == "picture"
    curves = [] if alone else curves
    words = laws_alt(noise, curves)
    if not alone:
        draw, name = (charts.density, "density") if PAGE["view"] == "density" else (charts.radial, "radius")
        figure, alt = draw(noise, curves, unit=unit, colours=colours), f"{PAGE.label('view')(PAGE['view'])}. {words}"
    elif problem.dimension == 2:
        figure, name = charts.plane(noise, unit=unit, colours=colours), "plane"
        alt = f"Heat map of the density in the plane. {words}"
    else:
        figure, name = charts.cloud(noise, unit=unit, colours=colours), "cloud"
        alt = f"{charts.DROPS} draws of the noise in space. {words}"
    drawing.draw(
        figure, key=f"chart_{name}", alt=alt, table=lambda: st.dataframe(law_table(noise, curves), hide_index=True)
    )
    if name == "cloud":
        st.caption(f"{charts.DROPS} floating-point draws of the noise, for looking.")


SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def law_table(noise, curves: Sequence[charts.Curve]) -> dict[str, list[str]]:
    """Lengths that the noise stays within with some probabilities."""
    rows = {"stays within, with probability": [prose.percent(share) for share in SHARES]}
    if noise is not None:
        rows["certified law, at most"] = [prose.at_most(charts.quantile(noise, share), 4) for share in SHARES]
    return rows | {one.name: [prose.number(one.quantile(share)) for share in SHARES] for one in curves}


def laws_alt(noise, curves: Sequence[charts.Curve]) -> str:
    """The laws in words."""
    words = [f"{one.name}: half of the probability within {prose.number(one.quantile(0.5))}" for one in curves]
    if noise is not None:
        words.insert(0, f"certified law: half within {prose.at_most(charts.quantile(noise, 0.5), 4)}")
        if noise.atom_mass > 1e-9:
            words.insert(1, f"no noise at all with probability {prose.percent(noise.atom_mass)}")
    return "; ".join(words) + "."


# What they pay ---------------------------------------------------------------------------------------


def bars(asked: Asked, best: IsotropicSolution | None, known: Sequence[KnownLaw]) -> None:
    """Losses over the region that is provably impossible."""
    problem = asked.problem
    shown = [Bar(charts.key_of(one.key), name_of(one), one.loss) for one in known]
    if not known:
        shown = [Bar("gaussian", charts.SHORT["gaussian"], work.gaussian_loss(problem))]
    if best is not None:
        shown.append(Bar("optimal", "certified law", best.upper))
    lower = best.lower if best is not None and best.lower > 0 else None
    what = headline.paid(problem)
    axis = prose.axis(what, headline.paid_unit(problem, asked.unit))
    figure = losses(shown, lower=lower, axis=axis, colours=drawing.colours())
    ordered = sorted(shown, key=lambda one: one.loss)
    alt = f"{what}: " + "; ".join(f"{one.name} {prose.number(one.loss)}" for one in ordered)
    alt += f". Nothing private is below {prose.at_least(lower, 4)}." if lower else "."
    drawing.draw(
        figure, key="chart_losses", alt=alt, table=lambda: st.dataframe(loss_table(shown, lower), hide_index=True)
    )


def name_of(one: KnownLaw) -> str:
    """A mechanism's short name; an estimate says so."""
    return f"{charts.short(one)} (estimate)" if one.estimated else charts.short(one)


def loss_table(shown: Sequence[Bar], lower: float | None) -> dict[str, list[str]]:
    """Losses, and how far they are above the certified lower bound."""
    ordered = sorted(shown, key=lambda one: one.loss)
    text = lambda bar: prose.at_most(bar.loss, 5) if bar.key == "optimal" else prose.number(bar.loss, 5)  # noqa: E731
    rows = {"mechanism": [one.name for one in ordered], "pays": [text(one) for one in ordered]}
    if lower:
        rows["above the lower bound"] = [prose.percent_up(one.loss / lower - 1) for one in ordered]
        rows = {name: [first, *cells] for (name, cells), first in zip(
            rows.items(), ("nothing is below", prose.at_least(lower, 5), "")
        )}  # fmt: skip
    return rows


# The map ---------------------------------------------------------------------------------------------


def over_dimensions(asked: Asked) -> None:
    """Every mechanism's excess over the certified lower bound, dimension by dimension, as they are worked out."""
    problem = asked.problem
    frame.heading("Over the dimension", TEXT["map"])
    axis = work.Over(problem.privacy, problem.loss, problem.sensitivity)
    job = compute.ask("dimensions", axis, None, task=work.over_dimensions, urgent=False, wait=0.05)
    jobs = {"dimensions": job}
    waited_for = watching.under_way(jobs)

    def say() -> None:
        done, total = len(points_of(job)), len(work.DIMENSIONS)
        st.markdown(f"{done} of {total} dimensions are done; a few seconds each the first time.")

    watching.go_on(jobs, key="resume_map")
    watching.strip(waited_for, say, label="Stop the map", key="stop_map", help="Keep the dimensions so far")
    watching.live([job], lambda: _map(problem.dimension, job))


def _map(chosen: int, job: compute.Job) -> None:
    points = points_of(job)
    if not any(point.lower > 0 for point in points):
        st.caption("The first dimension is being computed …" if not job.done else "No lower bound was found.")
        return
    figure = charts.dimensions(points, chosen=chosen, colours=drawing.colours())
    drawing.draw(
        figure, key="chart_dimensions", alt=map_alt(points),
        table=lambda: st.dataframe(map_table(points), hide_index=True),
    )  # fmt: skip


def points_of(job: compute.Job) -> list[work.Point]:
    """What is known so far."""
    found = job.solution if job.solution is not None else [one for one in job.trace if isinstance(one, work.Point)]
    return sorted(found, key=lambda point: point.dimension)


def map_alt(points: Sequence[work.Point]) -> str:
    """The map in words: the Gaussian's excess and the bracket in the first, a middle and the last dimension."""
    proved = [point for point in points if point.lower > 0]
    words = []
    for point in (proved[0], proved[len(proved) // 2], proved[-1]):
        gaussian = next((one.loss for one in point.known if one.key == "gaussian"), math.nan)
        words.append(
            f"{point.dimension} numbers: the Gaussian pays {prose.percent(max(gaussian / point.lower - 1, 0.0))} more "
            f"than the lower bound, the certified law {prose.percent_up(point.best / point.lower - 1)}"
            if math.isfinite(point.best) else f"{point.dimension} numbers: no law yet"
        )  # fmt: skip
    return "Excess over the certified lower bound. " + "; ".join(dict.fromkeys(words)) + "."


def map_table(points: Sequence[work.Point]) -> dict[str, list[str]]:
    """A row for every dimension."""
    rows = {
        "dimension": [str(point.dimension) for point in points],
        "at least": [prose.at_least(point.lower, 4) for point in points],
        "certified law, at most": [
            prose.at_most(point.best, 4) if math.isfinite(point.best) else "–" for point in points
        ],
    }  # fmt: skip
    for key, name in charts.names_of(points).items():
        if key != "optimal":
            known = [{one.key: one for one in point.known}.get(key) for point in points]
            rows[name] = [prose.number(one.loss) if one else "–" for one in known]
    return rows


# How sure --------------------------------------------------------------------------------------------


def sure(asked: Asked, best: IsotropicSolution, job: compute.Job) -> None:
    """Both bounds closing in, and the audited facts."""
    frame.heading("How sure is this?", TEXT["sure"])
    trace = [record for record in job.trace or best.trace if math.isfinite(record.upper)]
    left, right = st.columns(2, gap="large")
    with left:
        if len(trace) > 1:
            axis = prose.axis(headline.paid(asked.problem), headline.paid_unit(asked.problem, asked.unit))
            lower, upper = prose.bracket(max(trace[-1].lower, 0.0), trace[-1].upper)
            drawing.draw(
                gap(trace, axis=axis, colours=drawing.colours()), key="chart_gap",
                alt=f"Both bounds against solving time; at the end between {lower} and {upper}.",
                table=lambda: st.dataframe(prose.trace_table(trace), hide_index=True),
            )  # fmt: skip
        else:
            st.caption("Both bounds were there at once.")
    with right:
        st.markdown(facts_table(best))


def facts_table(best: IsotropicSolution) -> str:
    """The audited facts, as Markdown."""
    certificate, noise = best.certificate, best.noise
    shifts = ", ".join(f"{one.shift:g}" for one in best.multipliers)
    rows = {
        "Lower bound (no law is better)": prose.at_least(best.lower),
        "Upper bound (this law)": prose.at_most(best.upper),
        "Relative gap": "–" if certificate.gap is None else prose.percent_up(certificate.gap),
        "Audited δ, over all shifts": prose.at_most(certificate.delta_upper),
        "δ asked for": prose.number(best.problem.privacy.delta, 6),
        "Shells of the law": prose.count(len(noise.weights)),
        "Probability of no noise at all": prose.percent(noise.atom_mass),
        "Shifts behind the lower bound, in sensitivities": shifts or "–",
        "How the law was found": best.source,
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def next_steps() -> None:
    """Presets, one click each."""
    frame.experiments(PAGE, list(PRESETS.items()))
