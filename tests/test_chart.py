"""Figures that are drawn unchecked are what Plotly's own would be."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.figures import Chart


def drawn(figure: go.Figure) -> go.Figure:
    figure.add_scatter(x=np.arange(3.0), y=[1, None, 2], name="a", line=None, marker={"size": 4}, line_width=2)
    figure.add_bar(x=["b", "c"], y=[1.5, 2.5], text=("one", "two"))
    figure.add_heatmap(z=np.eye(2), colorscale=[[0, "white"], [1, "black"]])
    figure.update_xaxes(title="first", range=[0, 1], tickfont={"size": 9})
    figure.update_xaxes(title="then", tickfont={"color": "red"}, range=None)
    figure.update_yaxes({"type": "log", "title": {"text": "up"}}, showgrid=False)
    figure.update_yaxes(title={"font": {"size": 8}})
    figure.add_annotation(x=0, y=0, text="here")
    figure.add_vline(x=0.5, line={"width": 1})
    figure.add_hline(y=0.5, annotation_text="half")
    figure.update_layout(barmode="group", legend={"x": 1}, margin_t=7, yaxis2={"overlaying": "y"})
    figure.update_layout(legend={"y": 1})
    figure.layout.height = 300
    figure.layout.shapes = (*figure.layout.shapes, {"type": "rect", "x0": 0, "x1": 1})
    return figure


def told(figure: go.Figure) -> dict:
    return json.loads(figure.to_json())


def test_it_is_what_plotly_makes():
    unchecked, own = drawn(Chart()), drawn(go.Figure())
    assert told(unchecked) == told(own) == told(unchecked.checked())
    assert unchecked.data[0].marker.size == 4 and unchecked.layout.xaxis.title.text == "then"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda figure: pickle.loads(pickle.dumps(figure))])
def test_a_copy_is_plotly_s_own(copied):
    figure = drawn(Chart())
    again = copied(figure)
    assert type(again) is go.Figure and told(again) == told(figure)


def test_nonsense_is_found_where_it_is_checked():
    with pytest.raises(ValueError, match="colr"):
        Chart().add_scatter(x=[1], y=[1], line={"colr": "red"}).checked()
    with pytest.raises(ValueError, match="titel"):
        Chart().update_xaxes(titel="x").checked()
