"""Still pictures: what is drawn is where the figure has it, in both palettes, and nothing in it can run."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

import dpcore as dp
from dpcore import figures
from dpcore.figures import LIGHT, still
from dpcore.figures.palette import DARK
from dpcore.figures.still import themed
from dpcore.mechanisms import baseline

WIDE = 460


def drawn(figure: go.Figure) -> ElementTree.Element:
    return ElementTree.fromstring(still(figure, WIDE, label="a picture"))


def paths(picture: ElementTree.Element) -> list[np.ndarray]:
    """Points of every path of more than two."""
    numbers = [np.array(re.findall(r"-?[\d.]+", one.get("d")), float) for one in picture.iter("path")]
    return [n.reshape(-1, 2) for n in numbers if len(n) > 4 and len(n) % 2 == 0]


def scale(picture: ElementTree.Element, horizontal: bool) -> tuple[float, float]:
    """Pixels = a + b·value, by the labels along an axis."""
    anchor, key = ("middle", "x") if horizontal else ("end", "y")
    labels = [
        (float(one.text.replace("−", "-").replace("\u202f", "")), float(one.get(key)))
        for one in picture.findall("text")
        if one.get("text-anchor") == anchor and re.fullmatch(r"[−\d.\u202f]+", one.text or "")
    ]
    values, pixels = np.array(labels).T
    slope, start = np.polyfit(values, pixels, 1)
    assert np.allclose(start + slope * values, pixels, atol=0.06), "labels stand where their numbers are"
    return start, slope


def test_a_curve_is_where_its_labels_say():
    x = np.linspace(-2, 3, 41)
    figure = go.Figure().add_scatter(x=x, y=x**2 / 10, mode="lines", line={"color": LIGHT.accent, "width": 2})
    figure.update_xaxes(range=[-2, 3])
    figure.update_yaxes(range=[0, 1])
    picture = drawn(figures.finish(figure, LIGHT))
    (a, b), (c, d) = scale(picture, True), scale(picture, False)
    (curve,) = paths(picture)
    offset = 0.35 * LIGHT.type  # of a label beside its line
    assert np.allclose((curve[:, 0] - a) / b, x, atol=0.01)
    assert np.allclose((curve[:, 1] + offset - c) / d, x**2 / 10, atol=0.005)


def test_a_solved_law_is_drawn_whole():
    law = figures.Law("optimal", "Certified optimum", dp.solve(epsilon=1, delta=0.2).noise)
    figure = figures.density([law], unit="people", colours=LIGHT)
    x, y = (np.asarray(figure.data[0][axis], float) for axis in "xy")
    picture = drawn(figure)
    line = max(paths(picture), key=len)
    (a, b), (c, d) = scale(picture, True), scale(picture, False)
    area = abs(np.trapezoid((line[:, 1] + 0.35 * LIGHT.type - c) / d, (line[:, 0] - a) / b))
    assert area == pytest.approx(np.trapezoid(y, x), rel=5e-3)


def test_bars_are_as_long_as_their_numbers():
    rows = [figures.Bar("optimal", "Certified optimum", 0.5), figures.Bar("laplace", "Laplace", 1.0)]
    picture = drawn(figures.losses(rows, lower=0.4, axis="mean absolute error", colours=LIGHT))
    bars = {
        one.get("style"): float(one.get("width"))
        for one in picture.iter("rect")
        if "fill:light-dark(#" in one.get("style")
    }
    short, long = sorted(bars.values())
    assert long / short == pytest.approx(2, rel=1e-2)
    assert {"Certified optimum", "Laplace", "≤\u202f0.5000", "1.000"} <= {
        (one.text or "").strip() for one in picture.iter("text")
    }


@pytest.mark.parametrize("log", [False, True])
def test_every_colour_has_its_pair(log):
    problem = dp.solve(epsilon=1, delta=0.1).problem
    keys = ("laplace", "truncated-laplace", "gaussian", "staircase")
    laws = [figures.Law(key, key, baseline(key, problem).noise) for key in keys]
    text = still(figures.density(laws, unit="", colours=LIGHT, log_y=log), WIDE)
    assert all(
        f"light-dark({LIGHT.hues[key]},{DARK.hues[key]})" in text for key in ("laplace", "gaussian", "staircase")
    )
    assert not re.findall(r'style="(?:fill|stroke):#', text)


def test_a_colour_cannot_end_its_declaration():
    assert themed('red;background:url("//x")') == "redbackgroundurl(x)"


def test_points_that_are_not_there_break_the_line():
    figure = figures.finish(
        go.Figure().add_scatter(x=[0, 1, None, 3, 4], y=[1, 2, 3, float("nan"), 5], mode="lines"), LIGHT
    )
    (line,) = [one.get("d") for one in drawn(figure).iter("path") if one.get("d").count("M") == 2]
    assert line.count("L") == 1


def test_texts_are_escaped_and_lose_their_tags():
    figure = go.Figure().add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="<b>a</b> & <script>")
    figure.add_scatter(x=[0, 1], y=[1, 0], mode="lines", name="b")
    texts = [one.text for one in drawn(figures.finish(figure, LIGHT)).iter("text")]
    assert "a & " in texts


def test_a_thumbnail_is_a_file_of_one_palette_without_words_inside_its_box():
    for colours in (LIGHT, DARK):
        figure = go.Figure()
        figure.add_scatter(
            x=np.linspace(0, 8, 4001), y=np.linspace(2, 4, 4001), name="a line", line={"color": colours.accent}
        )
        figure.add_scatter(x=[4], y=[3], text=["a word"], mode="markers+text", marker={"color": colours.text})
        figure.add_bar(x=[1, 2], y=[2.5, 3.5], text=["one", "two"], marker={"color": colours.muted})
        figure.update_yaxes(range=[0, 5], title="height")
        drawing = figures.thumbnail(figures.finish(figure, colours), 200, 100)
        picture = ElementTree.fromstring(drawing)
        assert picture.tag == "{http://www.w3.org/2000/svg}svg" and "light-dark" not in drawing
        assert not [one for one in picture.iter() if one.tag.endswith("text")] and "word" not in drawing
        (line,) = (one.get("d") for one in picture.iter() if one.tag.endswith("path"))
        points = np.array(re.findall(r"-?[\d.]+", line), float).reshape(-1, 2)
        assert len(points) <= 200 and points.min() >= 0 and points[:, 0].max() <= 200 and points[:, 1].max() <= 100
        assert (np.diff(points[:, 0]) > 0).all() and (np.diff(points[:, 1]) < 0).all()
        assert colours.accent in drawing and len([one for one in picture.iter() if one.tag.endswith("rect")]) == 2
