"""Looking closer: errors against dimension and ε (the figures of Muthukrishnan and Kalyani), and why spread helps."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.vector import VectorQuery, gini
from dpcore.vector.compare import rates
from pages.shared import drawing, frame, prose

from . import charts, work
from .controls import VECTOR, Asked

TEXT = prose.sections("vector_queries")


def dimension(asked: Asked) -> None:
    """The paper's Figures 1(b), 3(b) and 4, live."""
    query, colours = asked.query, drawing.colours()
    shape, norm = asked.preset or "exponential", VECTOR["norm"] if VECTOR["norm"] != "none" else "l2"
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("Laplace against Gaussian", TEXT["flip"])
        found = work.by_dimension(shape, query.privacy, query.power, norm)
        figure = charts.curves(found, "dimension K", query.power, colours, by="key")
        drawing.draw(figure, key="chart_flip", alt=_alt(found, f"on {shape} profiles against the dimension"),
                     table=lambda: st.dataframe(_points(found, "K"), hide_index=True))  # fmt: skip
        st.caption(f"{shape} profile with {NORM[norm]}; Figure 4 of Muthukrishnan and Kalyani.")
    with right:
        family = _family(query)
        found = [
            work.by_dimension(name, query.privacy, query.power, norm, (f"{family}-optimal",))[0] for name in work.SHAPES
        ]
        figure = charts.curves(found, "dimension K", query.power, colours, by="shape")
        drawing.draw(figure, key="chart_shapes", alt=_alt(found, "against the dimension"),
                     table=lambda: st.dataframe(_points(found, "K"), hide_index=True))  # fmt: skip
        st.caption(
            f"Optimal {family.title()} scales, {NORM[norm]}; Figures 1(b) and 3(b). Identical noise errs as uniform."
        )


def epsilon(asked: Asked) -> None:
    """The paper's Figures 1(a) and 3(a), live."""
    query, colours = asked.query, drawing.colours()
    norm = VECTOR["norm"] if VECTOR["norm"] != "none" else "l2"
    count = min(len(query.profile), 200)
    left, right = st.columns(2, gap="large")
    with left:
        family = _family(query)
        found = [
            work.by_epsilon(name, count, query.privacy.delta, query.power, norm, (f"{family}-optimal",))[0]
            for name in work.SHAPES
        ]
        figure = charts.curves(found, "ε", query.power, colours, by="shape")
        drawing.draw(figure, key="chart_epsilon_shapes", alt=_alt(found, "against ε"),
                     table=lambda: st.dataframe(_points(found, "ε"), hide_index=True))  # fmt: skip
        st.caption(f"K = {count}, {NORM[norm]}; Figures 1(a) and 3(a) of Muthukrishnan and Kalyani.")
    with right:
        frame.heading("By mechanism", TEXT["flip"])
        shape = asked.preset or "exponential"
        found_keys = work.by_epsilon(shape, count, query.privacy.delta, query.power, norm, work.CURVES)
        figure = charts.curves(found_keys, "ε", query.power, colours, by="key")
        drawing.draw(figure, key="chart_epsilon_keys", alt=_alt(found_keys, "against ε"),
                     table=lambda: st.dataframe(_points(found_keys, "ε"), hide_index=True))  # fmt: skip
        st.caption(f"{shape} profile, K = {count}.")


NORM = {"l2": "‖λ‖₂ = 1", "l1": "‖λ‖₁ = 1"}


def _family(query: VectorQuery) -> str:
    """Draw the panel's heading with the choice of a family, where there is one."""
    if query.privacy.delta == 0 or query.privacy.epsilon == 0:
        frame.heading("By profile", TEXT["profiles"])
        return "laplace" if query.privacy.delta == 0 else "gaussian"

    def choice() -> None:
        st.segmented_control(
            "Noise", VECTOR.options("family"), format_func=VECTOR.label("family"), key="family",
            label_visibility="collapsed", required=True,
        )  # fmt: skip

    frame.heading("By profile", TEXT["profiles"], choice)
    return VECTOR["family"]


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
