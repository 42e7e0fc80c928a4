"""Four noises for one count: their laws, and their errors against ε."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import additive_noise as core
from dpcore.loss import FAMILIES
from pages.lessons import widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice, Switch

DELTAS = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2)
LOSSES = {key: FAMILIES[key].mean for key in ("l1", "l2")}
CONTROLS = {
    "epsilon": widgets.EPSILON, "an_delta": Stops(1e-6, DELTAS), "an_loss": Choice("l1", LOSSES), "an_log": Switch(),
}  # fmt: skip
GRID = np.geomspace(0.05, 10, 17)


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.delta(page, "an_delta", "δ of the Gaussian")
    widgets.pick(page, "an_loss", "Error that counts")
    st.toggle("Logarithmic density", key="an_log")


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, delta, loss = values["epsilon"], values["an_delta"], values["an_loss"]
    costs = core.errors(epsilon, delta, loss)
    shown = {name: prose.number(cost, 3) for name, cost in costs.items()}
    best = min(costs, key=costs.__getitem__)
    others = ", ".join(f"{shown[name]} ({core.NAMES[name]})" for name in sorted(costs, key=costs.get) if name != best)
    headline = (
        f"At ε = {epsilon:g}, {core.NAMES[best]} noise gives a count a {LOSSES[loss]} of **{shown[best]}**, against "
        f"{others}."
    )
    facts = {core.NAMES[name]: f"{prose.number(cost, 6)}, exact" for name, cost in costs.items()}
    address = f"optimal_noise?epsilon={epsilon:g}&delta={delta:g}" + ("" if loss == "l1" else f"&loss={loss}")
    notes = (
        "One person changes the count by at most 1. Laplace, geometric and staircase noise promise δ = 0; the "
        f"Gaussian is the smallest that is (ε, {prose.delta_text(delta)})-DP. [What no noise can beat at this ε and δ "
        f"→]({address})",
    )
    return Picture(headline, (laws(values, colours), later(errors, values, costs, colours)), facts, notes)


def laws(values: Values, colours: Palette) -> Panel:
    """The four laws over each other; probabilities of whole numbers compare with densities, one per unit."""
    noises = core.laws(values["epsilon"], values["an_delta"], values["an_loss"])
    drawn = [
        figures.Law(name, core.NAMES[name].capitalize(), noise) for name, noise in noises.items() if name != "geometric"
    ]
    log_y = bool(values["an_log"])
    figure = figures.density(drawn, unit="people", colours=colours, log_y=log_y)
    reach = max(noise.interval(0.998)[1] for name, noise in noises.items() if name != "gaussian")
    low, high = (max(end, -reach) if end < 0 else min(end, reach) for end in figure.layout.xaxis.range)
    for trace in figure.data:  # a wide Gaussian does not squeeze the others
        seen = (trace.x >= low) & (trace.x <= high)
        trace.x, trace.y, trace.line.dash = trace.x[seen], trace.y[seen], "solid"
        trace.hovertemplate = trace.hovertemplate.replace(".4g", ".3g")
    figure.layout.xaxis.range = None  # the axes follow what is drawn, in half the time that told ends take
    whole = np.arange(np.ceil(low), np.floor(high) + 1)
    stride = max(1, len(whole) // 80)
    whole = whole[whole % stride == 0]
    masses = noises["geometric"].pmf(whole)
    figure.add_scatter(
        x=whole, y=masses, mode="markers", name="Geometric (whole numbers)",
        marker={"color": colours.accent, "size": 8, "symbol": "circle"},
        hovertemplate="<b>Geometric</b><br>exactly %{x:.0f} people<br>probability %{y:.3~r}<extra></extra>",
    )  # fmt: skip
    if not log_y:
        figure.layout.yaxis.update(range=None, rangemode="tozero")
    figure.layout.height = HEIGHT
    ranges = {name: noise.interval(0.9) for name, noise in noises.items()}
    alt = "Laws of four noises; 90 % of each within " + "; ".join(
        f"{core.NAMES[name]} ±{prose.number(high, 3)}" for name, (_, high) in ranges.items()
    )
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999])
    table = {"quantile": [prose.percent(level) for level in levels]} | {
        core.NAMES[name]: [prose.number(float(x), 3) for x in noise.quantile(levels)] for name, noise in noises.items()
    }
    return Panel("The noise", figure, alt, table)


def errors(values: Values, costs: dict[str, float], colours: Palette) -> Panel:
    """Errors of the four against ε."""
    rows = [core.errors(float(e), values["an_delta"], values["an_loss"]) for e in GRID]
    curves = tuple(
        Curve(
            core.NAMES[name], np.array([row[name] for row in rows]), cost, ringed=True,
            style=name,
        )
        for name, cost in costs.items()
    )  # fmt: skip
    low, high = min(one.y.min() for one in curves), max(one.y.max() for one in curves)
    unit = "people" if values["an_loss"] == "l1" else "people²"
    return Plot(
        "Error against ε", Axis("ε", figures.log_ticks(0.05, 10)),
        Axis(f"{LOSSES[values['an_loss']]} ({unit})", figures.log_ticks(max(low, 1e-5), high)), GRID, curves,
        hover="ε = %{x:.3~r}: %{y:.3~r}", here=values["epsilon"], about="errors", height=360,
    ).panel(colours)  # fmt: skip


def asked(epsilon: float) -> Question:
    """What whole numbers save."""
    costs = lambda: core.errors(epsilon, 1e-6)  # noqa: E731
    saved = lambda: 100 * (1 - costs()["geometric"] / costs()["laplace"])  # noqa: E731
    return Question(
        text=f"At ε = {epsilon:g}, by how much is the mean absolute error of a count smaller with geometric noise than "
        "with Laplace noise?",
        right=saved,
        because=lambda: (
            f"Laplace noise errs by 1/ε = {1 / epsilon:.4g} on average, geometric noise by 1/sinh ε = "
            f"{costs()['geometric']:.4f}: it does not waste anything on fractions, {saved():.1f} % less."
        ),
        unit="%",
        hint="Laplace noise errs by 1/ε on average, geometric noise by 1/sinh ε.",
    )


TOPIC = Topic(
    name="additive_noise",
    title="Additive noise",
    section="3.3",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Strong privacy: all pure noises alike", {"epsilon": 0.1, "an_loss": "l1"}),
        Experiment("Weak privacy: the staircase's steps", {"epsilon": 4.0, "an_loss": "l1", "an_log": True}),
        Experiment("A generous δ = 0.1 for the Gaussian", {"epsilon": 0.5, "an_delta": 0.1, "an_loss": "l2"}),
    ),
    question=asked(1.5),
    vary=lambda rng: asked(rng.choice((0.5, 0.8, 2.0, 3.0))),
)
