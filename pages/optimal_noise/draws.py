"""Draws from the noise, beside those of another mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dpcore import figures
from dpcore.noise.lattice import released
from dpcore.solution import Solution
from pages.shared import drawing, fields, frame, prose

from . import inputs
from .panels import TEXT, escape
from .view import View

DRAWS = 1000


def try_it(solution: Solution, view: View, bars: Sequence) -> None:
    """One release and a thousand, for two mechanisms side by side."""
    frame.heading("Try it", TEXT["try"])
    laws = {"optimal": figures.Law("optimal", solution.title, solution.noise)}
    laws |= {b.key: figures.Law(b.key, b.name, b.noise) for b in bars if b.noise is not None and b.valid}
    first, second, third = st.columns(3, vertical_alignment="bottom")
    with first:
        fields.number(inputs.HOME, "truth", prose.axis("True value", view.unit), name="true value")
    truth = inputs.HOME["truth"]
    rivals = [key for key in laws if key != "optimal"]
    if rivals and inputs.HOME["rival"] not in rivals:
        inputs.HOME.choose({"rival": rivals[0]})
    rival = second.selectbox(
        "Beside the optimum", rivals, format_func=lambda key: laws[key].name, key="rival", disabled=not rivals
    )
    style = third.segmented_control("Show as", inputs.HOME.options("style"), key="style", required=True)
    shown = [laws["optimal"], *([laws[rival]] if rival else [])]
    if view.problem.granularity is not None:
        truth = released(truth, view.problem.granularity, 0)
    playing = bool(st.session_state.get("play"))
    st.fragment(_draws, run_every=1.0 if playing else None)(shown, truth, style or "dots", view, playing)
    st.caption(TEXT["try"])


def _draws(laws: Sequence[figures.Law], truth: float, style: str, view: View, playing: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Draw again", key="again", icon=":material/casino:")
        if st.toggle("Play: new draws every second", key="play") != playing:
            st.rerun()
        if style == "dots":
            st.caption("Each dot stands for 4 % of the draws.", width="content")
    rng = np.random.default_rng()
    spans = [law.noise.interval(0.98) for law in laws]
    low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    margin = 0.15 * (high - low) or 1.0
    span = (truth + low - margin, truth + high + margin)
    draw = figures.histogram if style == "histogram" else figures.dots
    for column, law in zip(st.columns(len(laws), gap="large"), laws):
        one = truth + float(law.noise.sample(rng, 1)[0])
        many = truth + law.noise.sample(rng, DRAWS)
        with column:
            inside = prose.percent(law.noise.inside(view.problem.sensitivity))
            st.markdown(
                escape(f"**{law.name}** releases **{_shown(one, counted=isinstance(truth, int))}** {view.unit}")
                + f"  \n{inside} of releases are within one sensitivity of the truth"
            )
            draws = figures.Draws(law.key, one, many, truth)
            figure = draw(draws, span=span, unit=view.unit, colours=view.colours)
            middle = np.quantile(many, (0.05, 0.95))
            alt = (
                f"{DRAWS} releases of {law.name} around {truth:g}, 90 % of them from {middle[0]:.4g} to {middle[1]:.4g}"
            )
            table = lambda many=many: st.dataframe(draws_table(many), hide_index=True)  # noqa: E731
            drawing.draw(figure, key=f"chart_draws_{law.key}", alt=alt, table=table)


def _shown(value: float, *, counted: bool) -> str:
    """A released value; where values are counts, as a whole number."""
    return prose.plain(round(value), 15) if counted else prose.number(value, 6)


def draws_table(many: np.ndarray) -> dict[str, list[str]]:
    """Quantiles of the draws."""
    shares = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    values = [prose.number(float(value), 5) for value in np.quantile(many, shares)]
    return {"share of draws below": [prose.percent(share) for share in shares], "released value": values}
