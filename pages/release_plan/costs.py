"""The budget and the noise: shares, exact total against adding up, the same every week, the verdict on every line."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.errors import InputError
from dpcore.loss import absolute
from dpcore.loss.families import MAX_MAGNITUDE
from dpcore.plan import laws
from dpcore.plan.files import plan_to_toml
from dpcore.plan.plan import BY_ERROR
from dpcore.plan.rehearsal import Rehearsed
from pages.shared import compute, drawing, fields, frame, prose, travel, watching

from . import charts, draft, headline, work
from .controls import PAGE
from .draft import LineDraft, Reading
from .editor import next_button
from .rows import Rows
from .work import Cost, Costs

TEXT = prose.sections("release_plan")

WORTH = 0.05
"""Noise that no other could improve by more than this share of its mean error is kept."""


def budget(found: Reading, costs: Costs | None, rehearsed: Sequence[Rehearsed] | None) -> None:
    """Who gets how much, and what all of it costs."""
    frame.heading("Who gets how much of ε", TEXT["shares"])
    fields.pick(PAGE, "split", "Shares of ε go", width=360)
    rows = Rows("lines", LineDraft, found.complaints)
    for (row, one), (_, title) in zip(rows, draft.named(rows.drafts)):
        _share(rows, row, one, title, _of(costs, row), rehearsed[row] if rehearsed else None)
    if costs is None:
        return
    left, right = st.columns(2, gap="large")
    with left:
        _together(costs)
    with right:
        _repeated(costs)
    next_button("noise")


def _of(costs: Costs | None, row: int) -> Cost | None:
    return costs.lines[row] if costs is not None and row < len(costs.lines) else None


def _share(rows: Rows, row: int, one: LineDraft, title: str, cost: Cost | None, seen: Rehearsed | None) -> None:
    with st.container(border=True, key=f"share_{row}"):
        name, ask, amount, gets = st.columns([4, 3, 2, 3], vertical_alignment="center")
        name.markdown(f"**{prose.literal(title, 80)}**")
        with ask:
            rows.pick(row, "ask", "Gets", draft.ASKS)
        with amount:
            if one.ask == "within":
                rows.text(row, "amount", "± at 95 %", help="The error not exceeded with 95 %.")
            elif PAGE["split"] == BY_ERROR:
                rows.text(row, "about", "Is about", placeholder="by itself", help=TEXT["about it"])
            else:
                rows.text(row, "amount", "Weight", help="Twice the weight, twice the ε.")
        if cost is not None:
            epsilon = headline.up(cost.expected.priced.privacy.epsilon)
            gets.markdown(f"ε = **{epsilon}** · {headline.error(cost, seen)}")


def _together(costs: Costs) -> None:
    frame.heading("All of it together", TEXT["together"])
    made = costs.split
    left, right = st.columns(2)
    left.metric("ε in all, exact accounting", headline.up(made.total))
    right.metric("ε by adding up", headline.up(made.added, 4))
    most = max(map(len, made.together))
    if most < len(made.lines):
        st.caption(
            f"Filters that exclude each other keep every person out of all but {most} of the {len(made.lines)} "
            "statistics: the dearest of these count, not the sum."
        )
    if made.added > 1.005 * made.total:
        st.caption(f"Adding up would say {prose.number(made.added / made.total, 3)} times as much.")
    else:
        st.caption(TEXT["no gain"])
    names = [cost.expected.name for cost in costs.lines]
    shares = [cost.expected.priced.privacy.epsilon for cost in costs.lines]
    told = ", ".join(f"{prose.literal(name, 40)} {prose.number(share)}" for name, share in zip(names, shares))
    rows = [{"statistic": name, "ε": headline.up(share, 5)} for name, share in zip(names, shares)]
    drawing.draw(
        charts.shares(names, shares, drawing.colours()), key="chart_shares", alt=f"ε of every statistic: {told}.",
        table=lambda: st.dataframe(rows, hide_index=True),
    )  # fmt: skip


def _repeated(costs: Costs) -> None:
    frame.heading("The same again and again", TEXT["repeated"])
    fields.number(PAGE, "repeats", "Releases that share the budget", step=1, name="number of releases",
                  help="52: every week for a year.")  # fmt: skip
    plan = costs.split.plan
    job = compute.ask(
        "repeat", work.Repeated(plan_to_toml(plan), PAGE["repeats"]), work.LIMIT, task=work.repeat, urgent=False
    )
    watching.go_on({"repeat": job}, key="resume_repeat")
    watching.strip(watching.under_way({"repeat": job}), lambda: st.markdown("Working out a share for each …"),
                   label="Stop", key="stop_repeat")  # fmt: skip
    if not job.done:
        return
    if job.solution is None:
        if isinstance(job.error, InputError):
            st.error(headline.told(job.error))
        return
    told: work.Repeats = job.solution
    times = prose.count(PAGE["repeats"])
    if plan.epsilon is not None:
        st.metric(f"ε per release, {times} releases", headline.up(told.each, 3))
        st.caption(
            f"Together they then cost ε = {headline.up(told.together, 4)}; adding up the lines would say "
            f"{headline.up(told.added, 4)}."
        )  # fmt: skip
    else:
        st.metric(f"ε of {times} releases", headline.up(told.together, 4))
        st.caption(f"Each of them alone: {headline.up(told.each, 4)}. The errors stay as they were asked for.")
    rows = [
        {
            "statistic": cost.expected.name,
            "± once": f"±{headline.up(cost.error, 3)}",
            f"± each of {times}": f"±{headline.up(error, 3)}",
        }
        for cost, error in zip(costs.lines, told.errors)
        if cost.error is not None and error is not None
    ]
    if rows:
        st.dataframe(rows, hide_index=True)


# The noise --------------------------------------------------------------------------------------------


def noise(found: Reading, costs: Costs | None) -> None:
    """Every line's noise, and how far it is from the best possible."""
    frame.heading("The noise of every statistic", TEXT["noise"])
    rows = Rows("lines", LineDraft, found.complaints)
    for (row, one), (_, title) in zip(rows, draft.named(rows.drafts)):
        _law(rows, row, one, title, _of(costs, row))
    next_button("expect")


def _law(rows: Rows, row: int, one: LineDraft, title: str, cost: Cost | None) -> None:
    with st.container(border=True, key=f"law_{row}"):
        left, middle, right = st.columns([4, 3, 5], vertical_alignment="center")
        left.markdown(f"**{prose.literal(title, 80)}**")
        if one.what == "quantile":
            middle.markdown("Exponential mechanism")
            right.caption(TEXT["ranks"])
            return
        with middle:
            rows.pick(row, "noise", "Noise", draft.NOISES)
        with right:
            if cost is not None:
                claim, rest = verdict(one, cost)
                st.markdown(f"**{claim}**  \n{rest}" if rest else f"**{claim}**")
            with st.container(horizontal=True, vertical_alignment="center"):
                rows.switch(row, "full_support", "Never exclude a neighbour", help=TEXT["support"])
                if cost is not None and laws.solvable(cost.expected.priced.totals[0]):
                    travel.menu(problem(cost), f"closer_{row}", origin=title)


def problem(cost: Cost) -> dict[str, object]:
    """The first total's problem, as other pages know it."""
    priced = cost.expected.priced
    total, line = priced.totals[0], priced.line
    made = laws.problem(total, priced.part, line.full_support, absolute())
    beyond = line.within is not None and line.within <= MAX_MAGNITUDE
    loss = {"loss": "exceed", "threshold": line.within} if beyond else {"loss": "l1"}
    step = {} if made.granularity is None else {"granularity": made.granularity}
    privacy = {"epsilon": made.privacy.epsilon, "delta": made.privacy.delta}
    return privacy | {"sensitivity": total.sensitivity} | loss | step


def verdict(one: LineDraft, cost: Cost) -> tuple[str, str]:
    """(the noise against the best possible, what to make of it)."""
    name = draft.NOISES[one.noise].capitalize()
    width, part = _parts(cost)[0]
    if cost.error is not None:
        width, part = cost.error, ""
    claim = f"{name}: ±{headline.up(width, 3)}{part}."
    if cost.least is not None:
        factor = width / (cost.expected.priced.widths[0] or 1.0)
        claim += f" Best possible: ±{headline.trimmed(prose.at_least(cost.least * factor, 3))}."
    if cost.best is None or not cost.verdict:
        return claim, ""
    least, mine = cost.best
    most = max(1 - least / mine, 0.0)
    share = prose.percent_up(most)
    if most <= WORTH:
        return claim, f"Keep it: {share if share.startswith('less') else f'at most {share}'} of the mean error to gain."
    return claim, f"Up to {share} less mean error may be possible: try the certified optimum."


def _parts(cost: Cost) -> list[tuple[float, str]]:
    """(± at 95 %, on what) of every total."""
    priced = cost.expected.priced
    names = ["the sum of squares" if total.squares else "the sum" if total.column and not total.counts else "the count"
             for total in priced.totals]  # fmt: skip
    return [(width, f" on {name}") for width, name in zip(priced.widths, names)]
