"""Principal components, coordinate descent and clipping per layer under each kind of noise."""

from __future__ import annotations

from collections.abc import Sequence

import pandas  # noqa: F401  (scikit-learn would load it in a job, and a chart drawn meanwhile finds half of it)
import streamlit as st

from dpcore.errors import InputError
from dpcore.vector.layers import LAYERS, layer_noise
from dpcore.vector.scales import gaussian_family, laplace_family
from pages.shared import compute, drawing, fields, prose
from pages.shared.messages import explain
from pages.shared.watching import live

from . import charts, work
from .controls import PAGE, Asked

TEXT = prose.sections("vector_queries")


def applications(asked: Asked) -> None:
    """Principal components, coordinate descent, clipping per layer."""
    left, middle, right = st.columns([2, 2, 1])
    left.selectbox("Task", PAGE.options("application"), format_func=PAGE.label("application"), key="application")
    task = PAGE["application"]
    if task == "layers":
        _layers(asked)
        return
    middle.selectbox("Data", PAGE.options("data"), format_func=PAGE.label("data"), key="data")
    if task == "components":
        with right:
            fields.number(PAGE, "rank", "Rank", step=1)
    st.caption(TEXT[task])
    text = ""
    if PAGE["data"] == "upload":
        file = st.file_uploader(
            "CSV of numbers, target last", type=["csv", "txt"], key="vector_table", max_upload_size=2
        )
        if file is None:
            st.info("Upload a table, or choose another data set.")
            return
        text = file.getvalue().decode("utf-8-sig", errors="replace")
        st.warning("The ranges of the columns are read from the file; the promise below does not cover that reading.")
    data = PAGE["data"]
    if task != "components" and data == "synthetic":
        data = "diabetes" if task == "lasso" else "breast-cancer"
        st.caption(f"The synthetic subspace has no target: {PAGE.label('data')(data)} stands in.")
    asks = work.Experiment(task, data, asked.query.privacy, PAGE["rank"], PAGE["trials"], text)
    job = compute.ask("application", asks, None, task=work.run, urgent=False, wait=0.3)
    live([job], lambda: _outcomes(task, job))


def _outcomes(task: str, job: compute.Job) -> None:
    if not job.done:
        st.caption(f"Kinds of noise tried so far: {len(job.trace)} …")
        return
    if job.error is not None:
        st.error(explain(job.error) if isinstance(job.error, InputError) else "The experiment failed.")
        return
    found, colours = job.solution, drawing.colours()
    titles = (("explained variance (1: best)", "subspace recovery error")
              if task == "components" else ("relative error of the objective", ""))  # fmt: skip
    places = st.columns(2, gap="large") if titles[1] else [st.container()]
    for number, (place, title) in enumerate(zip(places, titles)):
        with place:
            figure = charts.outcomes(found, number, title, colours)
            words = ", ".join(f"{one.name} {one.values[number]:.3g}" for one in found)
            drawing.draw(figure, key=f"chart_outcome_{number}", alt=f"{title}: {words}.",
                         table=lambda n=number: st.dataframe(_outcome_rows(found, n), hide_index=True))  # fmt: skip
    tail = "" if task == "components" else f" Without any noise the same descent ends at {found[0].values[1]:.3g}."
    st.caption("Means over trials with fixed seeds; whiskers are two standard errors." + tail)


def _outcome_rows(found: Sequence, number: int) -> list[dict]:
    return [
        {"noise": one.name, "promise": charts.guarantee(one), "mean": f"{one.values[number]:.5g}",
         "standard error": f"{one.errors[number]:.2g}"}
        for one in found
    ]  # fmt: skip


def _layers(asked: Asked) -> None:
    st.caption(TEXT["layers"])
    privacy = asked.query.privacy
    families = [gaussian_family(privacy)] * (privacy.delta > 0) + [laplace_family(privacy)] * (privacy.epsilon > 0)
    names = [f"{name.replace('convolution', 'conv.')}<br>{count:,}".replace(",", "\u202f") for name, count in LAYERS]
    for place, family in zip(st.columns(2, gap="large"), families):
        with place:
            found = layer_noise(family)
            st.markdown(f"**{family.name} noise**, {charts.promise(family.guarantee)} per step")
            totals = "; ".join(f"{one.rule}: {one.total:.4g}" for one in found)
            table = [
                {"rule": one.rule} | dict(zip((n for n, _ in LAYERS), (f"{d:.4g}" for d in one.deviations)))
                | {"Σ variance": f"{one.total:.5g}"}
                for one in found
            ]  # fmt: skip
            drawing.draw(charts.layers(found, names, drawing.colours()), key=f"chart_layers_{family.key}",
                         alt=f"Noise per layer. Sum of variances: {totals}.",
                         table=lambda t=table: st.dataframe(t, hide_index=True))  # fmt: skip
            st.caption(f"Mean squared error over all parameters: {totals}.")
