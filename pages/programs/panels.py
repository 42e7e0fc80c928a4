"""The panels of the page: headline, the story's picture, clouds, price over ε, what is sure, published figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dpcore.errors import InputError
from pages.shared import compute, drawing, frame, prose
from pages.shared.address import FRAME
from pages.shared.inputs import explain

from . import charts, work
from .controls import PROGRAMS, Asked

TEXT = prose.sections("private_optimisation")
COSTS = {
    "picture": ("value 3x + 2y", ""),
    "transport": ("transport cost", "units × distance"),
    "portfolio": ("variance", "squared currency"),
    "advertising": ("revenue", "$"),
    "own": ("objective", ""),
}
PHRASES = {
    "optimal": "Optimal one-sided noise",
    "tight": "Tight truncated Laplace noise",
    "truncated-laplace": "Truncated Laplace noise as published",
    "laplace-shifted": "Shifted Laplace noise",
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
}
SLOTS = {"cloud": "simulated releases", "price": "price over ε", "published": "published figure"}


def axis(asked: Asked) -> str:
    title, unit = COSTS[asked.story.kind]
    return f"{title} ({unit})" if unit else title


# Headline and progress ----------------------------------------------------------------------------------


def headline(asked: Asked, clouds: Sequence[work.Cloud]) -> str:
    """What keeping every limit costs, and what happens to those who do not; returned without its marks."""
    text = sentence(asked, clouds)
    with st.container(key="headline"):
        st.markdown(text)
    return text.replace("**", "")


def sentence(asked: Asked, clouds: Sequence[work.Cloud]) -> str:
    """ "Keeping every limit with certainty costs 11.8 on average, 13 % of the optimum 89.46; …" """
    known = {cloud.key: cloud for cloud in clouds if cloud.run is not None and len(cloud.run.objectives)}
    first = known.get(asked.mechanism)
    if first is None or not np.isfinite(first.run.losses).any():
        return "Simulating releases …"
    title = COSTS[asked.story.kind][0]
    best = first.run.optimum.objective
    if asked.delta == 0:
        return (
            f"With δ = 0 the plan must not depend on the data at all: "
            f"{title} **{prose.number(first.run.objectives[0], 5)}** "
            f"instead of {prose.number(best, 5)}."
        )
    loss = float(np.nanmean(first.run.losses))
    verb = "keeps every limit with certainty and" if first.noise.keeps else "does not keep the limits and"
    worse = "less" if asked.program.model.maximise else "more"
    text = f"{PHRASES[asked.mechanism]} {verb} costs **{prose.number(loss, 4)}** {worse} {title} "
    text += f"than the optimum {prose.number(best, 5)}"
    text += f" on average ({prose.percent(abs(loss / best))})" if best else " on average"
    other = known.get("truncated-laplace")
    if other is not None and other is not first:
        text += f"; published noise costs {prose.number(float(np.nanmean(other.run.losses)), 4)}"
    for key in ("laplace", "gaussian", "laplace-shifted"):
        if key in known and key != asked.mechanism:
            share = float((known[key].run.violated > 0).mean())
            text += f". {PHRASES[key]} breaks a limit in **{_share_of(share)}** of the releases"
            break
    return text + "."


def _share_of(share: float) -> str:
    """A share that is not all or nothing is never written as if it were."""
    return "more than 99 %" if 0.99 < share < 1 else prose.percent(share)


def failed(error: Exception) -> None:
    """Why there are no releases."""
    if isinstance(error, InputError):
        st.error(explain(error), icon=":material/error:")
    elif isinstance(error, TimeoutError):
        st.error("No plan was found in time; a smaller program helps.", icon=":material/timer:")
    else:
        st.error("This program could not be solved.", icon=":material/error:")


def going_on(jobs: dict[str, compute.Job]) -> None:
    """How far the work is, and Stop; the page runs again while something is under way."""
    under_way = {slot: job for slot, job in jobs.items() if not job.done}
    halted = [slot for slot, job in jobs.items() if job.done and job.halt.is_set()]
    if halted:
        st.button("Stopped early: go on", key="resume", on_click=_forget, args=(halted,))
    if not under_way:
        return
    seen = {slot: _news(job) for slot, job in under_way.items()}

    @st.fragment(run_every=0.4)
    def watch() -> None:
        if any(job.done or _news(job) >= seen[slot] + 6 for slot, job in under_way.items()):
            st.rerun()
        left, right = st.columns([6, 1], vertical_alignment="center")
        words = [f"{SLOTS[slot]}{_share(job)}" for slot, job in under_way.items()]
        left.markdown("At work: " + ", ".join(words) + " …")
        right.button("Stop", key="stop", on_click=_stop, args=(list(under_way),), help="What is there stays.")

    watch()


def _news(job: compute.Job) -> int:
    return sum(not isinstance(record, work.Tick) for record in job.trace)


def _share(job: compute.Job) -> str:
    ticks = [record for record in job.trace if isinstance(record, work.Tick)]
    return f" ({ticks[-1].text})" if ticks and ticks[-1].share < 1 else ""


def _stop(slots: Sequence[str]) -> None:
    for slot in slots:
        compute.stop(slot)


def _forget(slots: Sequence[str]) -> None:
    for slot in slots:
        compute.forget(slot)


# Pictures -----------------------------------------------------------------------------------------------


def picture(asked: Asked, clouds: Sequence[work.Cloud]) -> None:
    """The story's own picture."""
    kind, colours = asked.story.kind, drawing.colours()
    known = [cloud for cloud in clouds if cloud.run is not None and len(cloud.run.objectives)]
    frame.heading(
        {
            "picture": "The feasible region and its private versions",
            "transport": "Where the drug goes",
            "portfolio": "What is held",
            "advertising": "Released budgets",
            "own": "Released limits",
        }[kind],
        TEXT[f"picture of {kind}"],
    )
    if not known:
        st.caption("Nothing to show yet.")
        return
    first = known[0]
    at = min(int(PROGRAMS["shown"]), len(first.run.objectives)) - 1
    if kind == "picture":
        figure = charts.region(asked.program, known, colours, at + 1)
        drawing.draw(
            figure, key="chart_region", alt=_region_alt(asked, known), table=lambda: _clouds_table(known, asked)
        )
    elif kind == "transport" and first.run.plans is not None and np.isfinite(first.run.plans[at]).all():
        figure = charts.flow_map(asked.map, first.run.plans[at], colours)
        cost = prose.number(float(first.run.objectives[at]), 5)
        places = f"{len(asked.map.supplies)} pharmacies to {len(asked.map.demands)} hospitals"
        alt = f"Map of flows from {places}, cost {cost}."
        drawing.draw(figure, key="chart_map", alt=alt, table=lambda: _flows_table(asked, first, at))
    elif kind == "portfolio" and first.run.plans is not None:
        figure = charts.holdings(asked.program, known, colours)
        drawing.draw(
            figure,
            key="chart_holdings",
            alt="Amounts held in the optimal and in the mean released portfolio.",
            table=lambda: _clouds_table(known, asked),
        )
    else:
        figure = charts.margins(asked.program, known, colours)
        drawing.draw(
            figure,
            key="chart_margins",
            alt="How far released limits are from the true ones, row by row.",
            table=lambda: _clouds_table(known, asked),
        )
    if kind in ("picture", "transport") and len(first.run.objectives) > 1:
        st.slider("Release shown", 1, int(PROGRAMS["draws"]), key="shown")


def _region_alt(asked: Asked, known: Sequence[work.Cloud]) -> str:
    parts = [
        f"{charts.name(c.key)}: {int((c.run.violated > 0).sum())} of {len(c.run.violated)} break a limit" for c in known
    ]
    return "Feasible region of two variables with clouds of released plans. " + "; ".join(parts) + "."


def _flows_table(asked: Asked, cloud: work.Cloud, at: int) -> None:
    flows = asked.map.flows(cloud.run.plans[at])
    rows = [
        {
            "hospital": j + 1,
            "patients (private)": float(d),
            "released demand": float(cloud.run.limits[at, j]),
            "receives": float(flows[:, j].sum()),
        }
        for j, d in enumerate(asked.map.demands.tolist())
    ]
    st.dataframe(rows, hide_index=True)


def clouds(asked: Asked, found: Sequence[work.Cloud]) -> None:
    """Objectives of all releases, mechanism by mechanism."""
    frame.heading("What releases are worth", TEXT["clouds"])
    figure = charts.objectives(found, drawing.colours(), axis(asked))
    known = [cloud for cloud in found if cloud.run is not None]
    drawing.draw(figure, key="chart_clouds", alt=_clouds_alt(asked, known), table=None)


def numbers(asked: Asked, found: Sequence[work.Cloud]) -> None:
    """The numbers behind the clouds; why a mechanism is not among them."""
    _clouds_table(found, asked)
    for cloud in found:
        if cloud.reason:
            st.caption(f"{charts.name(cloud.key)} {cloud.reason}.")


def _clouds_alt(asked: Asked, known: Sequence[work.Cloud]) -> str:
    parts = [
        f"{charts.name(c.key)} mean {prose.number(float(np.nanmean(c.run.objectives)), 5)}"
        for c in known
        if np.isfinite(c.run.objectives).any()
    ]
    return f"Strips of {axis(asked)} of simulated releases. " + "; ".join(parts) + "."


def _clouds_table(found: Sequence[work.Cloud], asked: Asked) -> None:
    rows = []
    for cloud in found:
        run = cloud.run
        if run is None or not len(run.objectives):
            continue
        losses = run.losses[np.isfinite(run.losses)]
        rows.append(
            {
                "noise": charts.name(cloud.key),
                "mean shift of a limit": charts.shift_text(cloud),
                "mean loss": prose.number(float(losses.mean()), 4) if len(losses) else "–",
                "worst case": prose.at_most(cloud.worst, 4) if cloud.worst is not None else "–",
                "releases that break a limit": prose.percent(float((run.violated > 0).mean())),
                "largest break": prose.number(float(run.excess.max()), 4),
                "no plan at all": run.infeasible,
            }
        )
    if rows:
        st.dataframe(rows, hide_index=True)


def price(asked: Asked, job: compute.Job) -> None:
    """Mean loss and broken limits over ε."""
    found = [record for record in (job.solution or job.trace) if isinstance(record, work.Price)]
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("The price of feasibility", TEXT["price"])
        figure = charts.prices(found, drawing.colours(), asked.epsilon, f"mean loss of {COSTS[asked.story.kind][0]}")
        drawing.draw(figure, key="chart_price", alt=_price_alt(found), table=lambda: _price_table(found))
    with right:
        frame.heading("The price of not paying it", TEXT["violations"])
        figure = charts.violations(found, drawing.colours(), asked.epsilon)
        drawing.draw(
            figure,
            key="chart_violations",
            alt="Share of private limits that plans break, over ε.",
            table=lambda: _price_table(found),
        )


def _price_alt(found: Sequence[work.Price]) -> str:
    tight = sorted((p for p in found if p.key == "tight"), key=lambda p: p.epsilon)
    ends = [f"{prose.number(p.loss)} at ε = {p.epsilon:g}" for p in (tight[:1] + tight[-1:])]
    return "Mean loss of plans that keep every limit, over ε; tight truncated Laplace: " + ", ".join(ends) + "."


def _price_table(found: Sequence[work.Price]) -> None:
    st.dataframe(
        [
            {
                "ε": p.epsilon,
                "noise": charts.name(p.key),
                "mean shift": prose.number(p.shift, 5),
                "mean loss": prose.number(p.loss, 5),
                "worst case": prose.at_most(p.worst, 5) if p.worst is not None else "–",
                "limits broken": prose.percent(p.violated),
            }
            for p in sorted(found, key=lambda p: (p.epsilon, p.key))
        ],
        hide_index=True,
    )


# What is sure -------------------------------------------------------------------------------------------


def certainty(asked: Asked, found: Sequence[work.Cloud]) -> None:
    """Proved statements about the mechanism in focus."""
    cloud = next(
        (one for one in found if one.key == asked.mechanism and one.noise is not None and one.run is not None), None
    )
    if cloud is None:
        st.caption("Nothing to say yet.")
        return
    run, noise, program = cloud.run, cloud.noise, asked.program
    lines = [f"* Neighbouring data sets change the private limits by at most {program.sensitivity:g} in total (ℓ1)."]
    if noise.keeps:
        lines.append(
            f"* The {_joint(len(program.rows))} is "
            f"({program.epsilon:g}, {prose.delta_text(program.delta)})-DP; the plan "
            "depends on the data through it alone. Every limit holds exactly, checked row by row."
        )
        lines.append(
            f"* Mean shift of a limit: {charts.shift_text(cloud)}; never more than {prose.number(noise.largest, 5)}."
        )
    best = run.optimum.best
    if best is not None:
        side = "above" if program.model.maximise else "below"
        lines.append(
            f"* Optimum for the true limits: {prose.number(run.optimum.objective, 9)}; "
            f"nothing {side} {prose.number(best, 9)} "
            "is possible (weak duality, rounded outwards)."
        )
    if cloud.worst is not None:
        lines.append(
            f"* The optimum for released limits loses at most {prose.at_most(cloud.worst, 5)}: "
            "what the smallest limits in reach cost."
        )
    if cloud.bounds:
        bound = cloud.bounds[0]
        lines.append(
            f"* Theorem 3.4: at most {prose.at_most(bound.value, 5)} (L = {bound.lipschitz:.4g} in {bound.norm}, "
            f"α = {bound.condition:.4g}: {bound.method})."
        )
    elif cloud.missing:
        lines.append(f"* Theorem 3.4 does not apply: {cloud.missing}.")
    if cloud.lower is not None:
        lines.append(
            "* Theorem 3.7: every private mechanism that keeps the limits loses at least "
            f"{prose.at_least(cloud.lower, 5)} "
            "on average on some data set."
        )
    st.markdown("\n".join(lines))
    st.caption("Samples are for looking at; a real release is made by `python -m dpcore private-lp FILE --release`.")


def facts(asked: Asked, found: Sequence[work.Cloud]) -> dict[str, str]:
    """What the citation proves the claim with."""
    known = {"privacy": f"({asked.epsilon:g}, {asked.delta:g})-DP", "simulated releases": str(PROGRAMS["draws"])}
    for cloud in found:
        if cloud.noise is not None and cloud.noise.keeps:
            known[f"mean shift, {charts.name(cloud.key)}"] = charts.shift_text(cloud)
    return known


def _joint(count: int) -> str:
    return "release of the limit" if count == 1 else f"joint release of {count} limits"


# Published figures --------------------------------------------------------------------------------------


def figure_job() -> compute.Job | None:
    """The published figure that the visitor wants computed."""
    if PROGRAMS["figure"] in (None, "none"):
        return None
    number = int(PROGRAMS["figure"])
    asked = work.Published(number, {3: 50, 4: 400, 5: 50}[number])
    return compute.ask("published", asked, None, task=work.reproduce, urgent=False, wait=0.1)


def published(job: compute.Job | None) -> None:
    """Figures of the paper in their settings."""
    st.selectbox("Compute", PROGRAMS.options("figure"), format_func=PROGRAMS.label("figure"), key="figure")
    if job is None:
        st.caption(TEXT["published"])
        return
    number = job.question.problem.figure
    points = [record for record in (job.solution or job.trace) if isinstance(record, work.Point)]
    st.caption(TEXT[f"figure {number}"])
    rows = [
        {
            "series": p.series,
            {3: "δ", 4: "ε", 5: "least return"}[number]: f"{p.x:g}",
            "ratio": "–" if p.ratio is None else f"{p.ratio:.5f}",
            "limits the baseline breaks": "" if p.violated is None else prose.percent(p.violated),
            "": p.note,
        }
        for p in points
    ]
    if number in (3, 4) and points:
        draw = charts.figure_3 if number == 3 else charts.figure_4
        drawing.draw(
            draw(points, drawing.colours()),
            key=f"chart_figure_{number}",
            alt=f"Figure {number} of the paper, recomputed.",
            table=lambda: st.dataframe(rows, hide_index=True),
        )
    elif points:
        st.dataframe(rows, hide_index=True)


def explanation() -> None:
    """Figure 2: why nobody can do much better."""
    figure = charts.figure_2(drawing.colours())
    drawing.draw(
        figure,
        key="chart_figure_2",
        alt="Two limits; strips of width Δ next to one of them hold at most δ, δe^ε, … "
        "of the plans, so half of the plans stay t·Δ away.",
        table=None,
    )
    st.markdown(TEXT["figure 2"])


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        (
            "See it with two variables",
            {"story": "picture", "epsilon": 1.0, "delta": 1e-3, "rivals": ["truncated-laplace", "laplace"]},
        ),
        (
            "Ten advertisers, real-valued budgets",
            {
                "story": "advertising",
                "cents": "none",
                "epsilon": 0.1,
                "rivals": ["truncated-laplace", "laplace-shifted", "laplace"],
            },
        ),
        (
            "A portfolio that must not be overspent",
            {"story": "portfolio", "epsilon": 0.5, "rivals": ["truncated-laplace", "laplace"]},
        ),
    ]
    st.subheader("What to try next", anchor=False)
    with st.container(horizontal=True):
        for number, (label, values) in enumerate(steps):
            st.button(label, key=f"step_{number}", on_click=PROGRAMS.choose, args=(values,))


def about() -> None:
    with st.expander("What is computed here, and where it comes from", expanded=bool(FRAME["explain"])):
        st.markdown(TEXT["about"] + "\n\n" + TEXT["formulas"] + "\n\n**References**\n\n" + TEXT["references"])
