"""Charts of lines and bars, drawn in the browser by a small library of Plotly's (`service.library`, assets/chart.js).

Streamlit draws charts of every kind, with a library four times as large: a first visitor's controls and charts would
come a second later.
"""

from __future__ import annotations

import json
from typing import Any

import streamlit as st
from plotly.utils import PlotlyJSONEncoder

from dpcore import figures
from pages.shared import prose
from service import library

KINDS = frozenset({"scatter", "bar"})
"""Traces that are drawn so."""


def draw(figure: dict[str, Any], *, key: str, alt: str, config: dict[str, Any], colours: figures.Palette) -> None:
    """Draw a figure, given as plain data of Plotly's, as wide as its place.   config : Plotly's own, of the chart."""
    layout = figure["layout"] | {"template": {"layout": _look(colours)}}
    told = json.dumps(figure | {"layout": layout}, cls=PlotlyJSONEncoder)
    _chart(data={"figure": told, "alt": alt, "config": config, "library": f"./{library.NAME}"}, key=key)


def _look(colours: figures.Palette) -> dict[str, Any]:
    """The layout where a figure says nothing: the page's type, faint lines at heights alone."""
    words = {"family": '"Source Sans", sans-serif', "color": colours.text}
    rules = {"gridcolor": colours.rule, "zerolinecolor": colours.rule}
    return {
        "font": words,
        "margin": {"pad": 8},
        "legend": {"bordercolor": "transparent", "valign": "top"},
        "hoverlabel": {"bgcolor": colours.background, "bordercolor": colours.rule, "font": words},
        "xaxis": {"showgrid": False, "zeroline": False, "title": {"standoff": 20}, **rules},
        "yaxis": {"title": {"standoff": 24}, **rules},
    }


_chart = st.components.v2.component(
    "dp_frontier_chart", html='<div class="chart"><div role="figure"></div></div>', js=prose.asset("chart.js"),
    isolate_styles=False,
)  # fmt: skip
