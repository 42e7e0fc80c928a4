"""DP Frontier: the dashboard's frame. Pages do the rest."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

ASSETS = Path(__file__).parent / "assets"

st.set_page_config(page_title="DP Frontier", page_icon=str(ASSETS / "icon.svg"), layout="wide")
st.logo(str(ASSETS / "logo.svg"), icon_image=str(ASSETS / "icon.svg"), size="large")
st.html(ASSETS / "style.css")

page = st.navigation(
    {"Explore": [st.Page("pages/optimal_noise.py", title="Optimal noise", icon=":material/area_chart:", default=True)]},
    position="top",
)
page.run()
