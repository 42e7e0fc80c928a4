"""Looking closer: errors against dimension and ε (the figures of Muthukrishnan and Kalyani), and why spread helps."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery, gini
from dpcore.vector.compare import rates
from pages.shared import compute, drawing, fields, frame, prose
from pages.shared.watching import live

from . import charts, work
from .controls import PAGE, Asked

TEXT = prose.sections("vector_queries")


def dimension(asked: Asked) -> None:
    """The paper's Figures 1(b), 3(b) and 4, live."""
    query, norm = asked.query, _norm(asked)
    shape, family = asked.preset or "exponential", _family(query)
    found = _along(work.Along(shape, query.privacy, query.power, norm, family))
    colours = drawing.colours()
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("Laplace against Gaussian", TEXT["flip"])
        if found:
            figure = charts.curves(found[0], "dimension K", query.power, colours, by="key")
            drawing.draw(figure, key="chart_flip", alt=_alt(found[0], f"on {shape} profiles against the dimension"),
                         table=lambda: st.dataframe(_points(found[0], "K"), hide_index=True))  # fmt: skip
            st.caption(f"{shape} profile with {NORM[norm]}; Figure 4 of Muthukrishnan and Kalyani.")
    with right:
        _by_profile(query)
        if found:
            figure = charts.curves(found[1], "dimension K", query.power, colours, by="shape")
            drawing.draw(figure, key="chart_shapes", alt=_alt(found[1], "against the dimension"),
                         table=lambda: st.dataframe(_points(found[1], "K"), hide_index=True))  # fmt: skip
            st.caption(
                f"Optimal {family.title()} scales, {NORM[norm]}; Figures 1(b) and 3(b). "
                "Identical noise errs as uniform."
            )


def epsilon(asked: Asked) -> None:
    """The paper's Figures 1(a) and 3(a), live."""
    query, norm, family = asked.query, _norm(asked), _family(asked.query)
    shape, count = asked.preset or "exponential", min(len(query.profile), 200)
    found = _along(work.Along(shape, Privacy(1.0, query.privacy.delta), query.power, norm, family, count))
    colours = drawing.colours()
    left, right = st.columns(2, gap="large")
    with left:
        _by_profile(query)
        if found:
            figure = charts.curves(found[1], "ε", query.power, colours, by="shape")
            drawing.draw(figure, key="chart_epsilon_shapes", alt=_alt(found[1], "against ε"),
                         table=lambda: st.dataframe(_points(found[1], "ε"), hide_index=True))  # fmt: skip
            st.caption(f"K = {count}, {NORM[norm]}; Figures 1(a) and 3(a) of Muthukrishnan and Kalyani.")
    with right:
        frame.heading("By mechanism", TEXT["flip"])
        if found:
            figure = charts.curves(found[0], "ε", query.power, colours, by="key")
            drawing.draw(figure, key="chart_epsilon_keys", alt=_alt(found[0], "against ε"),
                         table=lambda: st.dataframe(_points(found[0], "ε"), hide_index=True))  # fmt: skip
            st.caption(f"{shape} profile, K = {count}.")


def _along(asked: work.Along) -> tuple[list[work.Curve], list[work.Curve]] | None:
    """The curves, once they are there; until then a word."""
    job = compute.ask("along", asked, None, task=work.along)
    if not job.done:
        live([job], lambda: st.caption("Still looking at other profiles …"))
    elif job.solution is None:
        st.warning("There are no curves for these values.")
    return job.solution


NORM = {"l2": "‖λ‖₂ = 1", "l1": "‖λ‖₁ = 1"}


def _norm(asked: Asked) -> str:
    """What the named profiles are scaled to that are drawn side by side."""
    return asked.norm if asked.norm != "none" else "l2"


def _family(query: VectorQuery) -> str:
    """The family whose best scales are drawn: the one chosen, where there is a choice."""
    if query.privacy.delta == 0 or query.privacy.epsilon == 0:
        return "laplace" if query.privacy.delta == 0 else "gaussian"
    return PAGE["family"]


def _by_profile(query: VectorQuery) -> None:
    """The panel's heading with the choice of a family, where there is one."""

    def choice() -> None:
        fields.choice(PAGE, "family", "Noise")

    one = query.privacy.delta == 0 or query.privacy.epsilon == 0
    frame.heading("By profile", TEXT["profiles"], None if one else choice)


def _alt(found: Sequence[work.Curve], where: str) -> str:
    ends = [f"{one.shape} {charts.NAMES.get(one.key, one.key)} {one.error[-1]:.4g}" for one in found if one.error[-1]]
    return f"Errors {where}; at the right end: " + ", ".join(ends) + "."


def _points(found: Sequence[work.Curve], name: str) -> list[dict]:
    return [
        {name: f"{x:.4g}"}
        | {f"{one.shape}, {charts.NAMES.get(one.key, one.key)}": "–" if one.error[i] is None else f"{one.error[i]:.6g}"
           for one in found}
        for i, x in enumerate(found[0].x)
    ]  # fmt: skip


def spread(asked: Asked) -> None:
    """How unequal the profile is, and what that buys."""
    profile, colours = asked.query.profile, drawing.colours()
    known = rates(profile)
    st.markdown(TEXT["schur"] + "\n\n" + TEXT["rates"])
    for place, (name, value) in zip(
        st.columns(4),
        [("Gini coefficient", gini(profile.values)), ("ν = mean λ / largest λ", known.disparity),
         ("Gaussian error ÷ equal: ν²", known.gaussian),
         ("Laplace error ÷ equal", known.laplace)],
    ):  # fmt: skip
        place.metric(name, f"{value:.4g}")
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("How unequal this profile is", TEXT["lorenz"])
        figure = charts.lorenz(profile.array, colours)
        drawing.draw(figure, key="chart_lorenz", alt=f"Lorenz curve; Gini coefficient {gini(profile.values):.4g}.",
                     table=lambda: st.dataframe([{"Gini": gini(profile.values), "ν": known.disparity}]))  # fmt: skip
    with right:
        frame.heading("Gini coefficient by dimension", TEXT["gini"])
        found = work.ginis()
        figure = charts.ginis(found, work.DIMENSIONS, colours)
        table = [{"K": k} | {n: f"{v[i]:.4f}" for n, v in found.items()} for i, k in enumerate(work.DIMENSIONS)]
        drawing.draw(figure, key="chart_gini", alt="Gini coefficients against the dimension for five profiles.",
                     table=lambda: st.dataframe(table, hide_index=True))  # fmt: skip
        st.caption("Figure 2 of Muthukrishnan and Kalyani.")
