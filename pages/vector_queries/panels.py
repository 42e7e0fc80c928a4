"""The panels of the page: headline, errors and budgets, next steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpcore.privacy import Privacy
from dpcore.vector import Allocation, VectorQuery
from dpcore.vector.compare import decibels, flip_dimension
from pages.shared import compute, drawing, frame, prose

from . import charts
from .controls import MOST_SHOWN, PAGE, Asked

TEXT = prose.sections("vector_queries")
SHARED = ("gaussian-spr", "gaussian-optimal", "laplace-optimal", "blocks-optimal")
SHOWN = ("gaussian-optimal", "laplace-optimal", "blocks-optimal", "mixed")


def table_of(found: Sequence[Allocation], job: compute.Job) -> list[Allocation]:
    """The closed forms, and what the job adds to them."""
    return list(job.solution) if job.solution is not None else list(found)


# Headline --------------------------------------------------------------------------------------------


def headline(asked: Asked, found: Sequence[Allocation], *, done: bool) -> str:
    """Write the sentence with the numbers and return it."""
    sentence = said(asked, found, shown=prose.literal)
    frame.headline(sentence)
    st.caption(verdict(asked, found) + ("" if done else " Still looking for something better …"))
    return sentence


def said(asked: Asked, found: Sequence[Allocation], *, shown: Callable[[str], str] = str) -> str:
    """ "20 coordinates, 0.5-DP: mean squared error 39.3 with …"; shown : how the coordinates' names are written."""
    query, known = asked.query, {one.key: one for one in found if not one.reason}
    best = min(known.values(), key=lambda one: one.error)
    plain = min((known[key] for key in ("gaussian-iid", "laplace-iid") if key in known), key=lambda one: one.error)
    rivals = [known[key] for key in ("gaussian-optimal", "laplace-optimal") if key in known]
    rival = min(rivals, key=lambda one: one.error)
    names = {1.0: "mean absolute error", 2.0: "mean squared error"}
    measure = names.get(query.power, f"mean {query.power:g}-th power error")
    count, names = len(query.profile), shown(_some_names(query))
    text = (
        f"{count} coordinate{'s' * (count > 1)}{names}, {charts.guarantee(best)}: {measure} **{best.error:.4g}** with "
        f"{KINDS.get(best.key, best.name)}"
    )
    if rival.error > best.error * (1 + 1e-6):
        text += f", **{rival.error:.4g}** with the best scale per coordinate"
    text += f", **{plain.error:.4g}** with the same noise everywhere"
    ratio = plain.error / best.error
    return text + (f": **{decibels(ratio):.1f} dB** saved." if ratio > 1 + 1e-6 else ".")


def _some_names(query: VectorQuery, longest: int = 60) -> str:
    """The first coordinates' names in brackets, as many as fit; "" without names."""
    names = query.profile.names
    fitting = [name for i, name in enumerate(names) if len(", ".join(names[: i + 1])) <= longest or i == 0]
    return f" ({', '.join(filter(None, fitting))}{' …' * (len(fitting) < len(names))})" if any(fitting) else ""


KINDS = {
    "mixed": "the best mixture found", "blocks-optimal": "optimal blocks", "staircase-optimal": "staircases",
    "k-norm": "the K-norm law", "gaussian-optimal": "optimal Gaussian scales",
    "laplace-optimal": "optimal Laplace scales", "lp-optimal": "solved laws on every coordinate",
}  # fmt: skip


def verdict(asked: Asked, found: Sequence[Allocation]) -> str:
    """Laplace or Gaussian, and the dimension at which that changes."""
    known = {one.key: one for one in found if not one.reason}
    if not {"gaussian-optimal", "laplace-optimal"} <= known.keys():
        if "gaussian-optimal" not in known:
            return "With δ = 0 there is no Gaussian noise."
        return "With ε = 0 there is no Laplace noise that does without δ."
    ratio = known["laplace-optimal"].error / known["gaussian-optimal"].error
    winner = "Laplace" if ratio < 1 else "Gaussian"
    text = f"{winner} noise wins here, by a factor of {max(ratio, 1 / ratio):.3g} in error (optimal scales)"
    if ratio < 1:
        text += ", although its promise is the stronger one (δ = 0)"
    if asked.preset and asked.preset != "one-hot" and not asked.query.coupled:
        flip = _flip(asked.preset, asked.query.privacy, asked.query.power, "laplace-optimal")
        later = _flip(asked.preset, asked.query.privacy, asked.query.power, "blocks-optimal")
        text += f". On {asked.preset} profiles Gaussian noise overtakes "
        if flip is None and later is None:
            text += "neither Laplace noise nor optimal blocks up to K = 300"
        else:
            where, after = (f"from K = {one} on" if one else "not up to K = 300" for one in (flip, later))
            text += f"Laplace noise {where}, optimal blocks {after}"
    return text + "."


@st.cache_data(max_entries=256, show_spinner=False)
def _flip(preset: str, privacy: Privacy, power: float, pure: str) -> int | None:
    return flip_dimension(preset, privacy, power=power, pure=pure, most=300)


# Pictures --------------------------------------------------------------------------------------------


def pictures(asked: Asked, found: Sequence[Allocation]) -> None:
    """Error by mechanism, and where it and the budget go."""
    query, colours = asked.query, drawing.colours()
    left, right = st.columns([4, 3], gap="large")
    with left:
        frame.heading("Error by mechanism", TEXT["errors"])
        bars = charts.errors(found, query, colours)
        best = min((one for one in found if not one.reason), key=lambda one: one.error)
        alt = f"Bars of the error of {len(found)} mechanisms; the least is {best.name} with {best.error:.4g}."
        drawing.draw(bars, key="chart_errors", alt=alt,
                     table=lambda: st.dataframe(rows(found), hide_index=True))  # fmt: skip
        if absent := missing(found):
            st.caption(absent)
    with right:
        shown = [one for one in found if one.key in SHOWN and not one.reason]
        frame.heading("Where the error goes", TEXT["coordinates"])
        moment = charts.moment(query.power)
        names = query.profile.names
        figure = charts.by_coordinate(shown, "errors", moment, colours, names=names, height=bars.layout.height)
        alt = "Error of every coordinate under " + ", ".join(one.name for one in shown) + "."
        drawing.draw(figure, key="chart_coordinates", alt=alt,
                     table=lambda: st.dataframe(columns(query, shown), hide_index=True))  # fmt: skip
    frame.heading("Where the privacy budget goes", TEXT["budget"])
    shared = [one for one in found if one.key in SHARED and not one.reason]
    figure = charts.by_coordinate(shared, "shares", "share of the budget", colours, names=query.profile.names)
    alt = "Share of the budget of every coordinate under " + ", ".join(one.name for one in shared) + "."
    drawing.draw(figure, key="chart_budget", alt=alt,
                 table=lambda: st.dataframe(columns(query, shared, "shares"), hide_index=True))  # fmt: skip


def missing(found: Sequence[Allocation]) -> str:
    """Which mechanisms are not there, under the reason they share; "" if all are."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.reason:
            reasons.setdefault(one.reason, []).append(one.name)
    parts = [f"{' · '.join(names)} ({reason})" for reason, names in reasons.items()]
    return "Not here: " + "; ".join(parts) + "." if parts else ""


def rows(found: Sequence[Allocation]) -> list[dict]:
    """One line per mechanism."""
    known = {one.key: one for one in found}
    out = []
    for one in found:
        if one.reason:
            continue
        base = known.get(one.reference)
        has = base is not None and not base.reason
        out.append(
            {
                "mechanism": one.name,
                "promise": charts.guarantee(one),
                "error": f"{one.error:.6g}",
                "saved": f"{decibels(base.error / one.error):.3f} dB".replace("-", "−") if has else "–",
                "over": base.name if has else "–",
                "why it is private": one.proof,
            }
        )
    return out


def columns(query: VectorQuery, found: Sequence[Allocation], values: str = "scales") -> list[dict]:
    """One line per coordinate: name, sensitivity, then scale (or share) and kind of every mechanism."""
    out, names = [], query.profile.names
    for i, value in enumerate(query.profile.values[:MOST_SHOWN]):
        line = {"i": i + 1} | ({"name": names[i]} if names else {}) | {"λᵢ": f"{value:.6g}"}
        for one in (one for one in found if not one.reason):
            number = getattr(one, values)[i]
            line[one.name] = f"{number:.6g}" if values == "scales" else f"{100 * number:.4g} %"
            if values == "scales" and one.key in ("mixed", "blocks-optimal"):
                line[f"{one.name}: kind"] = one.kinds[i]
        out.append(line)
    return out


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        ("Two coordinates, pure ε", {"shape": "list", "numbers": "0.85, 0.15", "epsilon": 3.0,
                                     "delta": 0.0, "power": 1.0}),
        ("Nine equal coordinates: Gaussian catches up", {"shape": "uniform", "dimension": 9, "norm": "l2",
                                                          "epsilon": 0.5, "delta": 1e-6, "power": 2.0}),
        ("Two coordinates, low privacy", {"shape": "list", "numbers": "0.85, 0.15", "epsilon": 2.0,
                                          "delta": 0.1, "power": 1.0}),
    ]  # fmt: skip
    frame.experiments(PAGE, steps)
