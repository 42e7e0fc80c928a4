"""What the plan publishes, how far off it will be and what it costs, in a verdict and a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.errors import InputError
from dpcore.plan.public import ADD_REMOVE
from dpcore.plan.rehearsal import Rehearsed
from pages.shared import compute, frame, prose

from . import draft, work
from .draft import Reading
from .work import Cost, Costs

MOST_TOLD = 3
"""Lines of which the sentence speaks."""


def headline(
    found: Reading, costs: Costs | None, rehearsed: Sequence[Rehearsed] | None, job: compute.Job | None
) -> None:
    """Verdict and sentence, or what is missing."""
    if found.plan is None:
        unready(found)
        return
    if costs is None:
        if job is not None and isinstance(job.error, InputError):
            st.error(f"This cannot be kept: {told(job.error)}", icon=":material/error:")
        elif job is not None and job.done:
            frame.headline(
                f"The computation was stopped, or took {work.LIMIT.time_limit:g} s.",
                verdict="**What the plan costs is not known**",
            )
        else:
            frame.headline("Sensitivities, shares and errors are being worked out …", verdict="**Working it out …**")
        return
    frame.headline(sentence(costs, rehearsed), verdict=verdict(costs))
    st.caption(promise(costs))
    for warning in warnings(costs):
        st.warning(warning, icon=":material/warning:")


def told(error: InputError) -> str:
    """What a plan is refused for, with the line it is about."""
    about = ".".join(error.field.split(".")[1:-1])
    return draft.in_words(error) + (f" ({prose.literal(about, 60)})" if about else "")


def unready(found: Reading) -> None:
    """How much is to be put right before anything can be said."""
    count = len(found.complaints)
    if not found.statistics:
        frame.headline(
            "Say which columns you have and which statistics you want; what they cost and how far off they will be "
            "is then shown here.", verdict="**Nothing to publish yet**",
        )  # fmt: skip
        return
    entries = "one entry" if count == 1 else f"{count} entries"
    told = [one.rstrip(".") for one in list(found.complaints.values())[:2]]
    frame.headline(
        f"{'. '.join(one[:1].upper() + one[1:] for one in told)}.", verdict=f"**{entries.capitalize()} to put right**"
    )


def verdict(costs: Costs) -> str:
    """What everything costs together."""
    count = len(costs.lines)
    what = "This statistic costs" if count == 1 else f"These {count} statistics cost"
    return f"**{what} every person at most ε = {up(costs.split.total)}**"


def up(value: float, digits: int = 4) -> str:
    """An upper bound, without zeros at its end."""
    return trimmed(prose.at_most(value, digits))


def trimmed(number: str) -> str:
    """The number without zeros at its end."""
    mantissa, times, power = number.partition(" × ")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + times + power


def sentence(costs: Costs, rehearsed: Sequence[Rehearsed] | None) -> str:
    """How far off the first lines will be."""
    parts = []
    for number, cost in enumerate(costs.lines[:MOST_TOLD]):
        name, error = prose.literal(cost.expected.name, 60), cost.error
        if error is None and rehearsed is not None:
            error = max(rehearsed[number].width)
        parts.append(f"“{name}” by at most **±{up(error, 3)}**" if error is not None else f"“{name}” by …")
    more = len(costs.lines) - len(parts)
    parts += [f"{more} more"] * bool(more)
    listed = ", ".join(parts[:-1]) + " and " * bool(parts[1:]) + parts[-1]
    return f"Noise will move {listed}, with 95 % probability."


def promise(costs: Costs) -> str:
    """What ε means here, in words."""
    made = costs.split
    factor, delta = prose.at_most(math.exp(made.total), 3), made.plan.delta
    rest = f", plus at most δ = {prose.delta_text(delta)}" if delta else ""
    without = "without them" if made.plan.people.neighbours == ADD_REMOVE else "with any other in their place"
    told = f"Whatever comes out is at most {factor} times as probable with one person’s data as {without}{rest}."
    if any(cost.error is None for cost in costs.lines):
        told += " Errors that depend on the data are those on made-up people."
    return told


def warnings(costs: Costs) -> list[str]:
    """What to think over."""
    plan, found = costs.split.plan, []
    if plan.warnings and plan.people.number:
        found.append(prose.large_delta(plan.delta, plan.people.number))
    if costs.split.total > 5:
        found.append(
            f"ε = {prose.number(costs.split.total, 3)} is a weak promise: what one person’s row is like may well show."
        )
    return found


def table(costs: Costs, rehearsed: Sequence[Rehearsed] | None) -> list[dict[str, str]]:
    """Every line with its share, sensitivity and error."""
    return [row(cost, rehearsed[i] if rehearsed else None) for i, cost in enumerate(costs.lines)]


def row(cost: Cost, seen: Rehearsed | None) -> dict[str, str]:
    """The row of a line's cost."""
    priced = cost.expected.priced
    return {
        "statistic": cost.expected.name, "ε": up(priced.privacy.epsilon),
        "± at 95 %": error(cost, seen),
        "relative, typically": relative(cost, seen),
    }  # fmt: skip


def error(cost: Cost, seen: Rehearsed | None) -> str:
    """± at 95 %; of what depends on the data that on made-up people, marked by ≈."""
    if cost.error is not None:
        return f"±{up(cost.error)}"
    return "…" if seen is None else f"≈ ±{up(max(seen.width), 3)}"


def relative(cost: Cost, seen: Rehearsed | None) -> str:
    """± as a share of the number itself, on made-up people; of a table the middle one of its cells."""
    if seen is None:
        return "…"
    shares = sorted(
        (cost.error if cost.error is not None else width) / abs(true)
        for width, true in zip(seen.width, seen.true) if true
    )  # fmt: skip
    return prose.percent(shares[len(shares) // 2]) if shares else "–"
