"""Groups of k people: the formula, and the exact curve."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from dpcore.accounting.curves import group_privacy
from dpcore.accounting.pairs import Pair
from dpcore.noise import Noise
from dpcore.privacy import Privacy
from pages.meaning import laws
from pages.meaning.laws import Law
from pages.meaning.pieces import at_most, probability
from pages.shared import charts, prose
from pages.shared.charts import Palette
from pages.shared.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.shared.widgets import HEIGHT, Stops, slider

SIZE = Stops(2, tuple(range(1, 21)))
SIZES = tuple(range(1, 11))


def sidebar(page) -> None:
    slider(
        page, "size", "People in the group, k", help="A family answers together: the query moves by k sensitivities."
    )


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    size = int(values["size"])
    total, bound = group_privacy(law.privacy, size)
    exact = law.delta(total, size)
    people = "1 person" if size == 1 else f"a group of {size}"
    formula = (
        f"({total:g}, {at_most(bound, 4) if bound else '0'})-DP" if bound < 1 else f"δ = 1 at ε = {total:g}: nothing"
    )
    truth = at_most(exact) if exact else "0"
    headline = f"For {people} the formula promises **{formula}**; exactly, δ({total:g}) is **{truth}**."
    facts = {
        "δ for the group, exact": at_most(exact, 6) if exact else "0",
        "mechanism": f"{law.name}, {law.promise}",
    }
    return Picture(headline, (curves(law, size, total, bound, colours), spent(law, size, colours)), facts)


def curves(law: Law, size: int, total: float, bound: float, colours: Palette) -> Panel:
    """δ(ε) for one person, for half the group, for all, with the formula's point."""
    reach = max(1.15 * total, 1.5 * law.privacy.epsilon)
    x = np.linspace(0, reach, 161)
    figure, table = go.Figure(), {"ε": [prose.number(v, 3) for v in x[::16]]}
    for number, k in enumerate(sorted({1, max(size // 2, 1), size}, reverse=True)):
        y, name = law.profile(x, k), "1 person" if k == 1 else f"{k} people"
        table[f"δ(ε), {name}"] = [at_most(float(v), 4) for v in y[::16]]
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=charts.series(colours, number),
                           hovertemplate=f"<b>{name}</b><br>δ(%{{x:.4g}}) = %{{y:.4g}}<extra></extra>")  # fmt: skip
    charts.chosen(figure, total, min(bound, 1.0), "the formula", colours)
    figure.update_xaxes(title="ε", range=[0, reach])
    figure.update_yaxes(title="δ(ε)", range=[-0.02, 1.04])
    alt = f"Privacy profiles of {law.name} noise for groups up to {size}; by formula δ({total:g}) = {bound:.4g}."
    return Panel("δ(ε) by size of the group", charts.finish(figure, colours, height=HEIGHT), alt, table)


@lru_cache(maxsize=256)
def least_epsilon(noise: Noise, size: int, delta: float) -> float:
    """The least ε at which a group has at most this δ; ∞ if none has."""
    found = laws.group(noise, float(size))
    return inverse(found, delta)


def inverse(found: Pair, delta: float) -> float:
    """The least ε ≥ 0 with H(ε) ≤ δ by bisection, rounded up; ∞ if there is none."""
    if found.infinite > delta:
        return math.inf
    low, high = 0.0, 1.0
    while float(found.delta(high)) > delta and high < 600:
        low, high = high, 2 * high
    if float(found.delta(0.0)) <= delta:
        return 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(found.delta(middle)) <= delta else (middle, high)
    return high if high < 600 else math.inf


def spent(law: Law, size: int, colours: Palette) -> Panel:
    """ε at an unchanged δ, against the size."""
    delta = law.privacy.delta
    exact = [least_epsilon(law.noise, k, delta + 1e-12) for k in SIZES]
    plain = [k * law.privacy.epsilon for k in SIZES]
    figure = go.Figure()
    figure.add_scatter(
        x=SIZES, y=plain, name="kε, at the formula's larger δ", mode="lines", line=charts.series(colours, 1)
    )
    figure.add_scatter(x=SIZES, y=[e if math.isfinite(e) else None for e in exact], name="exact ε at the same δ",
                       line=charts.series(colours, 0),
                       mode="lines+markers", marker={"size": 7})  # fmt: skip
    lost = [k for k, e in zip(SIZES, exact) if math.isinf(e)]
    figure.update_xaxes(title="people in the group", dtick=1)
    figure.update_yaxes(title="ε", rangemode="tozero")
    table = {
        "people": list(SIZES), "kε": [prose.number(v) for v in plain],
        "δ by formula at kε": [at_most(group_privacy(law.privacy, k)[1], 4) for k in SIZES],
        "exact ε at the same δ": ["none" if math.isinf(e) else prose.number(e) for e in exact],
    }  # fmt: skip
    title = "ε at the same δ" if not lost else f"ε at the same δ: none from {lost[0]} people on"
    alt = f"ε that a group has at δ = {delta:g}, by its size: {table['exact ε at the same δ']}."
    return Panel(title, charts.finish(figure, colours, height=300), alt, table, "spent")


def _three() -> float:
    return group_privacy(Privacy(1.0, 0.01), 3)[1]


QUESTION = Question(
    "A (1, 0.01)-DP release: which δ does the formula promise to families of three, at ε = 3?",
    _three,
    lambda: f"0.01·(1 + e + e²) = {probability(_three())}: each step costs $e^\\varepsilon$ times the one before.",
)
TOPIC = Topic(
    "groups", "Groups", {"size": SIZE}, sidebar, picture,
    (
        Experiment("A family of four, Laplace", {"mechanism": "laplace", "epsilon": 0.5, "size": 4}),
        Experiment("A class of twenty, Gaussian", {"mechanism": "gaussian", "epsilon": 0.5, "delta": 1e-5, "size": 20}),
        Experiment("Bounded noise and large groups",
                   {"mechanism": "truncated-laplace", "epsilon": 0.5, "delta": 0.01, "size": 10}),
    ),
    QUESTION,
)  # fmt: skip
