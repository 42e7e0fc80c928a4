"""Post-processing: rounding and clamping a release never makes neighbours easier to tell apart."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpcore.accounting.pairs import FinitePair
from dpcore.accounting.processing import binned_pair, rounding_edges
from dpcore.noise import Laplace
from pages.meaning import laws
from pages.meaning.laws import Law
from pages.meaning.pieces import tidy
from pages.shared import charts, prose
from pages.shared.charts import Palette
from pages.shared.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.shared.widgets import HEIGHT, Stops, slider

STEP = Stops(2.0, (0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0))
WIDTH = Stops(10.0, (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0))
"""Half-width of the interval to which releases are clamped; the last one means not at all."""

COMPARE = Stops(0.5, tuple(round(0.1 * k, 1) for k in range(21)))
"""Where the curves are compared, in multiples of ε."""


def sidebar(page) -> None:
    slider(page, "step", "Round to multiples of", help="In sensitivities. The true answers are 0 and 1.")
    slider(page, "width", "Clamp to ½ ±", show=lambda width: "not at all" if width == WIDTH.stops[-1] else f"{width:g}")
    slider(page, "compare", "Compare at ε′", show=lambda share: f"{share:g} ε")


def processed(law: Law, step: float, width: float) -> FinitePair:
    """The pair after clamping and rounding."""
    limit = math.inf if width == WIDTH.stops[-1] else width
    edges = rounding_edges(law.noise, shift=1.0, step=step, low=0.5 - limit, high=0.5 + limit)
    return binned_pair(law.noise, edges, shift=1.0)


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    after = processed(law, values["step"], values["width"])
    epsilon = values["compare"] * law.privacy.epsilon
    raw, left = (float(one.delta(epsilon)) for one in (laws.at(law.noise, 1.0), after))
    tv = float(laws.at(law.noise, 1.0).delta(0.0)), float(after.delta(0.0))
    headline = (
        f"Clamped and rounded, δ({epsilon:.3g}) goes from **{shown(raw)}** to **{shown(min(left, raw))}**, "
        f"the best attacker from **{percent(tv[0])}** to **{percent(min(tv[1], tv[0]))}**: never up."
    )
    facts = {"outcomes left": str(len(after.losses)), "mechanism": f"{law.name}, {law.promise}"}
    return Picture(headline, (profile(law, after, epsilon, colours), errors(law, after, colours)), facts)


def shown(delta: float) -> str:
    """δ for people; rounding of sums is not a δ."""
    return tidy(prose.number(delta)) if delta > 1e-13 else "0"


def percent(variation: float) -> str:
    """Success of the best attacker."""
    return f"{prose.number(50 + 50 * variation, 4)}\u202f%"


def profile(law: Law, after: FinitePair, epsilon: float, colours: Palette) -> Panel:
    """δ(ε) before and after."""
    reach = 2 * law.privacy.epsilon
    finite = [loss for loss, _, _ in after.atoms if abs(loss) < reach]
    x = np.unique(np.concatenate([np.linspace(-reach, reach, 241), finite]))
    before = laws.at(law.noise, 1.0).delta(x)
    figure = go.Figure()
    for number, name, y in ((0, "as released", before), (1, "after clamping and rounding", after.delta(x))):
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=charts.series(colours, number),
                           hovertemplate=f"<b>{name}</b><br>δ(%{{x:.4g}}) = %{{y:.5g}}<extra></extra>")  # fmt: skip
    charts.upright(figure, epsilon, line={"color": colours.text, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title="ε", range=[-reach, reach])
    figure.update_yaxes(title="δ(ε) between answers 0 and 1", rangemode="tozero")
    rows = np.linspace(-reach, reach, 13)
    table = {
        "ε": [prose.number(v, 3) for v in rows],
        "as released": [shown(float(v)) for v in laws.at(law.noise, 1.0).delta(rows)],
        "after": [shown(float(v)) for v in after.delta(rows)],
    }
    alt = (
        f"δ(ε) of {law.name} noise before and after clamping and rounding: the second curve is nowhere above the first."
    )
    return Panel("δ(ε) before and after", charts.finish(figure, colours, height=HEIGHT), alt, table)


def errors(law: Law, after: FinitePair, colours: Palette) -> Panel:
    """Trade-off functions before and after: the second one is nowhere below."""
    x = np.linspace(0, 1, 301)
    figure = go.Figure()
    for number, name, y in (
        (0, "as released", laws.at(law.noise, 1.0).tradeoff(x)), (1, "after clamping and rounding", after.tradeoff(x)),
    ):  # fmt: skip
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=charts.series(colours, number))
    figure.update_xaxes(title="type I error", range=[0, 1])
    figure.update_yaxes(title="least type II error", range=[0, 1])
    table = {
        "type I error": [f"{v:.1f}" for v in x[::30]],
        "as released": [prose.number(float(v)) for v in laws.at(law.noise, 1.0).tradeoff(x[::30])],
        "after": [prose.number(float(v)) for v in after.tradeoff(x[::30])],
    }
    alt = "Trade-off functions before and after processing: errors can only grow."
    return Panel("Errors before and after", charts.finish(figure, colours, height=300), alt, table, "errors")


def _sign() -> float:
    """δ(0) of 1-DP Laplace noise, of which only the side of ½ is told, less that of the whole release."""
    noise = Laplace(1.0)
    return float(binned_pair(noise, [0.5], shift=1.0).delta(0.0)) - noise.shortfall(0.0, 1.0)


QUESTION = Question(
    "Of a release with Laplace noise only one bit is told: is it above ½? (The true answer is 0 or 1.) How does the "
    "best attacker fare?",
    lambda: 1.0 if abs(_sign()) < 1e-12 else 0.0,
    lambda: (
        f"The difference is {abs(_sign()):.1g}: the likelier database depends on that bit alone, so it loses "
        f"nothing at ε = 0. "
        "At other ε it does."
    ),
    ("worse than with the whole release", "as well as with the whole release", "better than with the whole release"),
)
TOPIC = Topic(
    "processing", "Post-processing", {"step": STEP, "width": WIDTH, "compare": COMPARE}, sidebar, picture,
    (
        Experiment("Rounding to whole sensitivities", {"step": 1.0, "width": 10.0}),
        Experiment("Clamped to the possible answers", {"step": 0.1, "width": 0.5}),
        Experiment("One bit", {"step": 1.0, "width": 0.5}),
    ),
    QUESTION,
)  # fmt: skip
