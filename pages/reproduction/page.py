"""Published figures: the tables and figures of the paper beside what is proved here."""

from __future__ import annotations

import streamlit as st

from pages.reproduction import controls, figures, others, panels
from pages.shared import folding, prose
from pages.shared.address import FRAME

TEXT = prose.sections("reproduction")

controls.PAGE.open()
st.title("Published figures", anchor=False)
controls.PAGE.note()
shown = (panels.tables, panels.earlier, panels.example, figures.convergence, figures.shapes, figures.monotone,
         figures.plane, others.others)  # fmt: skip
if not FRAME["projector"]:
    st.caption(TEXT["lead"])
for tab, draw in zip(st.tabs(controls.TABS, key="tab", on_change="rerun"), shown):
    if tab.open:
        with tab:
            draw()
panels.next_steps()
folding.explanation(
    "What is not reproduced, and why; references", TEXT["left out"], "**References**", TEXT["references"]
)
