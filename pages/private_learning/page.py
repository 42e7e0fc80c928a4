"""Private learning: what optimal noise buys a classifier, and what the whole of it promises."""

from __future__ import annotations

import pandas  # noqa: F401  (scikit-learn would load it in a job, and a chart drawn meanwhile finds half of it)
import streamlit as st

from pages.private_learning import controls, own, panels
from pages.shared import fields, folding, frame, prose
from pages.shared.watching import live

TEXT = prose.sections("private_learning")


def results(asked: controls.Asked) -> None:
    """Everything about a table that is there."""
    assert asked.table is not None and asked.privacy is not None
    job = panels.simulation("curve", asked, asked.curve())
    panels.progress(job)
    live([job], lambda: panels.headline(asked, job))
    if asked.privacy.delta * (rows := len(asked.table.labels)) > 1:
        st.warning(prose.large_delta(asked.privacy.delta, rows), icon=":material/warning:")
    frame.heading("Error against the total ε", TEXT["curve"])
    fields.choice(controls.PAGE, "rows", "Rows")
    live([job], lambda: panels.curve(asked, job))
    parts = {
        "paper": panels.paper, "promise": panels.promise, "sensitivities": panels.sensitivities,
        "vector": panels.vector,
    }  # fmt: skip
    parts[fields.choice(controls.PAGE, "panel", "Look closer")](asked)
    panels.next_steps()
    folding.about(TEXT)
    if job.done and job.solution is not None:
        facts = {"simulated": f"{asked.curve().splits} splits, {asked.curve().draws} draws"}
        frame.cite(panels.sentence(asked, panels.cells_of(job)).replace("*", ""), facts)


controls.PAGE.open()
st.title("Private learning", anchor=False)
asked = controls.sidebar()
if asked.complaint:
    st.error(asked.complaint, icon=":material/error:")
elif asked.own:
    asked.table = own.table(asked.model)
if asked.table is not None:
    results(asked)
elif not asked.complaint:
    panels.next_steps()  # no early end of the script: the framework would keep what the run before drew, with its table
