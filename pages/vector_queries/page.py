"""Vector queries: coordinates with their own sensitivities, and the noise that makes use of that."""

from __future__ import annotations

import streamlit as st

from pages.shared import compute, fields, folding, frame, prose
from pages.shared.watching import live
from pages.vector_queries import applications, charts, closer, controls, euclidean, panels, takeaway, work

TEXT = prose.sections("vector_queries")

controls.PAGE.open()
st.title("Vector queries", anchor=False)
asked = controls.sidebar()
if asked.query is None:
    st.error(" ".join(asked.complaints), icon=":material/error:")
    st.stop()

closed = work.closed(asked.query)
job = compute.ask("mixed", asked.query, None, task=work.compare, wait=0.3)


def picture() -> None:
    """Headline and pictures from what is known so far."""
    found = panels.table_of(closed, job)
    panels.headline(asked, found, done=job.done)
    panels.pictures(asked, found)


live([job], picture)
found = panels.table_of(closed, job)
euclidean.beside(asked.query, found)
parts = {
    "dimension": closer.dimension, "epsilon": closer.epsilon, "spread": closer.spread,
    "applications": applications.applications, "export": lambda asked: takeaway.takeaway(asked, found),
}  # fmt: skip
parts[fields.choice(controls.PAGE, "panel", "Look closer")](asked)
panels.next_steps()
folding.about(TEXT)

best = min((one for one in found if not one.reason), key=lambda one: one.error)
facts = {"promise": charts.guarantee(best), "proof": best.proof}
frame.cite(panels.said(asked, found).replace("**", ""), facts)
