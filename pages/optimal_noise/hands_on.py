"""Panels to touch: draws from the noise, files to take away and to bring back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dpcore import export as files
from dpcore import figures
from dpcore.errors import InputError
from dpcore.noise.lattice import released
from dpcore.solution import Solution
from pages.shared import actions, drawing, fields, frame, inputs, prose
from pages.shared.panels import TEXT, View, escape, quantiles

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
            inside = np.mean(np.abs(many - truth) <= view.problem.sensitivity)
            st.markdown(
                escape(f"**{law.name}** releases **{_shown(one, counted=isinstance(truth, int))}** {view.unit}")
                + f"  \n{prose.percent(float(inside))} of {DRAWS} draws are within one sensitivity of the truth"
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


def export(solution: Solution, view: View) -> None:
    """Files to take away, and a file brought back."""
    frame.heading("Take it away", TEXT["export"])
    name, program = files.file_stem(solution.problem), files.python_snippet(solution)
    with st.container(horizontal=True):
        st.download_button(
            "CSV", files.noise_to_csv(solution), f"{name}.csv", "text/csv", on_click="ignore", help=actions.ABOUT_CSV
        )
        record = files.solution_to_json(solution)
        st.download_button("JSON", record, f"{name}.json", "application/json", on_click="ignore")
        st.download_button("Python", program, f"{name}.py", "text/x-python", on_click="ignore")
        st.download_button(
            "Figure (HTML)", lambda: figure_file(solution, view), f"{name}.html", "text/html", on_click="ignore"
        )
    actions.row(
        [
            actions.figure("Noise as PNG", chart="chart_density", form="png", name=name),
            actions.figure("Noise as SVG", chart="chart_density", form="svg", name=name),
            actions.figure("Costs as PNG", chart="chart_losses", form="png", name=f"{name}_costs"),
            actions.figure("Costs as SVG", chart="chart_losses", form="svg", name=f"{name}_costs"),
        ],
        key="figures",
    )
    with st.expander("Python script that releases"):
        actions.show(program)
    _reload()


def figure_file(solution: Solution, view: View) -> str:
    """The density chart as a web page that works offline, with problem, certificate and version inside."""
    laws = [figures.Law("optimal", solution.title, solution.noise)]
    figure = figures.density(laws, unit=view.unit, colours=figures.LIGHT)
    sentence = prose.headline(view.problem, solution.certificate, view.unit).replace("**", "").replace("<", "&lt;")
    figure.update_layout(title={"text": sentence, "font": {"size": 14}}, paper_bgcolor="white", margin={"t": 90})
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    data = files.solution_to_json(solution).replace("<", "\\u003c")
    return page.replace("</body>", f'<script type="application/json" id="solution">{data}</script></body>')


def _reload() -> None:
    """A JSON file from here, read again: its law is audited afresh and its problem can be restored."""
    upload = st.file_uploader("Open a JSON file saved here", type="json", key="reload", max_upload_size=5)
    if upload is None:
        return
    try:
        saved = files.solution_from_json(upload.getvalue())
    except InputError as error:
        st.error(f"This file is not accepted. {inputs.explain(error)}")
        return
    delta, cost = (prose.at_most(bound, 6) for bound in (saved.certificate.delta_upper, saved.certificate.upper))
    epsilon = f"{saved.problem.privacy.epsilon:g}"
    kept = f" It keeps its whole promise: {prose.whole_promise(saved.problem)}." if saved.problem.profile else ""
    st.success(f"The law in the file was audited again: it is ({epsilon}, {delta})-DP and costs at most {cost}.{kept}")
    law = figures.Law("optimal", "Noise in the file", saved.noise)
    figure = figures.density([law], unit="", colours=drawing.colours())
    low, high = saved.noise.interval(0.9)
    alt = f"Density of the noise in the file: 90 % of it lies between {low:.3g} and {high:.3g}."
    drawing.draw(figure, key="chart_reloaded", alt=alt, table=lambda: quantiles([law], ""))
    st.button(
        "Set the controls to its problem",
        on_click=inputs.HOME.choose,
        args=(inputs.values_of(saved.problem),),
        key="restore",
    )
