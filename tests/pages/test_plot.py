"""One description of curves: the figure, the table and the words say the same."""

from __future__ import annotations

import numpy as np

from dpcore import figures
from pages.lessons.plot import Axis, Curve, Plot

X = np.linspace(1, 100, 50)


def plot(**changes) -> Plot:
    curves = Curve("square", X**2, 25.0, ringed=True), Curve("nothing", np.zeros(50)), Curve("told", X, drawn=False)
    known = {
        "title": "Growth", "x": Axis("side (m)", show="{:.0f}".format, name="side"),
        "y": Axis("area (m²)", figures.log_ticks(1, 1e4)), "at": X, "curves": curves, "hover": "%{x}: %{y}",
    }  # fmt: skip
    return Plot(**known | {"here": 5.0} | changes)


def test_figure_table_and_words_say_the_same():
    panel = plot(remark="It grows.").panel(figures.LIGHT)
    assert panel.alt == "area (m²) against side (m); at 5: square 25.0. It grows."
    assert list(panel.table) == ["side", "square", "nothing", "told"]
    assert panel.table["side"][0] == "1" and panel.table["square"][-1] == "10\u202f000"
    assert {len(column) for column in panel.table.values()} == {13}
    assert [trace.name for trace in panel.figure.data] == ["square", "chosen"]
    assert (panel.figure.data[1].x, panel.figure.data[1].y) == ((5.0,), (25.0,))


def test_a_logarithmic_axis_leaves_out_what_is_not_above_zero():
    gone = np.where(X < 50, X, -1.0)
    drawn = plot(curves=(Curve("half", gone),)).panel(figures.DARK).figure.data
    assert np.isnan(drawn[0].y).sum() == (gone < 0).sum() > 0
    linear = plot(y=Axis("area"), curves=(Curve("half", gone),)).panel(figures.DARK).figure.data
    assert not np.isnan(linear[0].y).any()


def test_without_a_chosen_place_both_ends_are_told():
    words = plot(curves=(Curve("square", X**2),), here=None).words()
    assert words == "area (m²) against side (m); from 1 to 100: square from 1.00 to 10\u202f000."


def test_a_ring_on_no_curve_and_what_is_unknown():
    made = plot(curves=(Curve("square", np.append(X[:-1], np.inf), np.nan),), point=7.0, label="yours", most=3)
    assert made.table()["square"][-1] == "–" and made.words().endswith("at 5: square –; yours: 7.00.")
    assert made.figure(figures.LIGHT).data[-1].y == (7.0,)
