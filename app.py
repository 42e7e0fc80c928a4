"""DP Frontier: the dashboard's frame. Pages do the rest."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared import compute, frame
from pages.shared.address import FRAME

ASSETS = Path(__file__).parent / "assets"

st.set_page_config(page_title="DP Frontier", page_icon=str(ASSETS / "icon.svg"), layout="wide")
st.logo(str(ASSETS / "logo.svg"), icon_image=str(ASSETS / "icon.svg"), size="large")

FRAME.open()
page = st.navigation(
    {
        "Explore": [
            st.Page("pages/optimal_noise.py", title="Optimal noise", icon=":material/area_chart:", default=True),
            st.Page("pages/tradeoff_maps.py", title="Trade-off maps", icon=":material/grid_on:"),
            st.Page("pages/data_dependent.py", title="Data-dependent noise", icon=":material/stacked_line_chart:"),
            st.Page("pages/vector_queries.py", title="Vector queries", icon=":material/stacked_bar_chart:"),
            st.Page("pages/reproduction.py", title="Published figures", icon=":material/fact_check:"),
        ],
        "Apply": [
            st.Page("pages/private_optimisation.py", title="Private optimisation", icon=":material/local_shipping:"),
        ],
        "Learn": [
            st.Page("pages/what_epsilon_means.py", title="What ε and δ mean", icon=":material/balance:"),
            st.Page("pages/composition.py", title="Composition", icon=":material/stacks:"),
            st.Page("pages/mechanism_gallery.py", title="Mechanism gallery", icon=":material/museum:"),
        ],
    },
    position="top",
)
with compute.PAGE_LOCK.taken():
    frame.bar(tour=not page.url_path)
    compute.turn_to(page.url_path)
    page.run()
    FRAME.close()
