"""Files to take away, and one brought back."""

from __future__ import annotations

import json
from contextlib import suppress

import streamlit as st

from dpcore import export as files
from dpcore import figures
from dpcore.errors import InputError
from dpcore.numbers import read_number
from dpcore.solution import Solution
from pages.registry import PAGES, Page
from pages.shared import actions, drawing, folding, frame, prose
from pages.shared.messages import explain
from pages.shared.travel import accepted

from . import inputs
from .panels import TEXT, quantiles
from .view import View

KINDS = {"isotropic": "isotropic", "data-dependent": "data_dependent"}
"""What JSON files of other pages say of themselves → page."""


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
    folding.fold("Python script that releases", lambda: actions.show(program), key="script")
    _reload()


def origin(file: bytes) -> Page | None:
    """The other page that wrote a JSON file, None where it is not known."""
    try:
        data = json.loads(file)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    name = KINDS.get(str(data.get("kind")), "vector_queries" if "mechanisms" in data else "")
    return next((page for page in PAGES if page.name == name), None)


def contents(page: Page, file: bytes) -> dict[str, object]:
    """What the controls of the page that wrote a JSON file make of the problem in it; the rest is theirs."""
    data = json.loads(file)
    data = {**data, **data["problem"]} if isinstance(data.get("problem"), dict) else data
    told: dict[str, object] = {key: data[key] for key in page.controls.controls if key in data}
    name, _, number = str(data.get("loss", "")).partition(":")
    told |= {"loss": name}
    if number:
        with suppress(InputError):
            told |= dict.fromkeys(("power", "threshold", "exponent"), read_number(number, "loss"))
    if isinstance(ends := data.get("query_range"), list) and len(ends) == 2:
        told |= {"low": ends[0], "high": ends[1]}
    if isinstance(sizes := data.get("sensitivities"), list):
        told |= {"shape": "list", "numbers": ", ".join(map(str, sizes))}
    return {key: value for key, value in told.items() if accepted(page.controls, key, value)}


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
        if (page := origin(upload.getvalue())) is None:
            st.error(f"This file is not accepted. {explain(error)}")
            return
        st.error(f"This comes from {page.title}: open it there.")
        if st.button(f"Open {page.title} with its problem", key="go_there"):
            st.switch_page(page.script, query_params=page.controls.enter(contents(page, upload.getvalue())))
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
