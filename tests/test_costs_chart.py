"""The chart of costs: what is drawn, in which order, and where its words stand."""

from __future__ import annotations

import math

from dpcore.figures import LIGHT, Bar, drawn, left_out, losses

BARS = [
    Bar("laplace", "Laplace", 1.0, within=3.0),
    Bar("gaussian-classical", "Gaussian, classical", 0.3, False, "its formula does not hold"),
    Bar("uniform", "Uniform with atom", 250_000.0, within=475_000.0),
    Bar("optimal", "Certified optimum", 0.5625, within=1.375),
    Bar("gaussian", "Gaussian, analytic", 0.67, within=1.64),
    Bar("multi-gaussian", "Multi-Gaussian", math.inf),
]


def test_the_best_comes_first_the_invalid_last_and_the_far_ones_are_told():
    assert [bar.key for bar in drawn(BARS)] == ["optimal", "gaussian", "laplace", "gaussian-classical"]
    assert [bar.key for bar in left_out(BARS)] == ["uniform", "multi-gaussian"]


def test_the_axis_fits_what_is_drawn_and_no_label_is_on_the_band():
    figure = losses(BARS, lower=0.5, axis="mean absolute error", colours=LIGHT)
    assert figure.layout.xaxis.range[1] <= 2.0
    (labels,) = [trace for trace in figure.data if getattr(trace, "mode", "") == "text"]
    assert min(labels.x) >= 0.5 and len(labels.text) == 4
    assert labels.text[0] == "\u00a0≤\u202f0.5625<br>\u00a0±1.38"
    assert [bar.y[0] for bar in figure.data if bar.type == "bar"][-1] == "Certified optimum", "the last is the top"


def test_a_cost_of_nothing_has_a_chart_too():
    figure = losses([Bar("optimal", "Certified optimum", 0.0, within=0.0)], lower=0.0, axis="", colours=LIGHT)
    assert figure.layout.xaxis.range[1] > 0
