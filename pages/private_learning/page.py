"""Private learning: what optimal noise buys a classifier, and what the whole of it promises."""

from __future__ import annotations

import pandas  # noqa: F401  (scikit-learn would load it in a job, and a chart drawn meanwhile finds half of it)
import streamlit as st

from pages.private_learning import controls, panels, work
from pages.shared import compute, frame, prose
from pages.shared.address import FRAME
from pages.shared.watching import live

TEXT = prose.sections("private_learning")

controls.PAGE.open()
st.title("Private learning", anchor=False)
asked = controls.sidebar()
if asked.table is None:
    st.error(asked.complaint, icon=":material/error:")
    st.stop()

job = compute.ask("curve", asked.curve(), None, task=work.curve)
panels.progress(job)
live([job], lambda: panels.headline(asked, job))
frame.heading("Error against the total ε", TEXT["curve"])
st.segmented_control(
    "Rows", controls.PAGE.options("rows"), format_func=controls.PAGE.label("rows"), key="rows",
    label_visibility="collapsed", required=True,
)  # fmt: skip
live([job], lambda: panels.curve(asked, job))
parts = {
    "paper": panels.paper, "promise": panels.promise, "sensitivities": panels.sensitivities, "vector": panels.vector,
}  # fmt: skip
st.segmented_control(
    "Look closer", controls.PAGE.options("panel"), format_func=controls.PAGE.label("panel"), key="panel",
    label_visibility="collapsed", required=True,
)  # fmt: skip
parts[controls.PAGE["panel"]](asked)
panels.next_steps()
with st.expander("What is computed here, and where it comes from", expanded=bool(FRAME["explain"])):
    st.markdown(TEXT["about"] + "\n\n**References**\n\n" + TEXT["references"])
if job.done and job.solution is not None:
    facts = {"simulated": f"{asked.curve().splits} splits, {asked.curve().draws} draws"}
    frame.cite(panels.sentence(asked, panels.cells_of(job)).replace("*", ""), facts)
