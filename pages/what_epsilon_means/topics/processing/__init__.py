"""Post-processing: rounding and clamping a release never makes neighbours easier to tell apart."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.accounting.pairs import FinitePair
from dpcore.accounting.processing import binned_pair, rounding_edges
from dpcore.audit import delta_upper
from dpcore.figures import Chart, Palette
from dpcore.noise import Laplace
from pages.lessons import lines
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops, slider
from pages.shared import prose
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import success, told

STEP = Stops(2.0, (0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0))
WIDTH = Stops(10.0, (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0))
"""Half-width of the interval to which releases are clamped; the last one means not at all."""

COMPARE = Stops(0.5, tuple(round(0.05 * k, 2) for k in range(41)))
"""Where the curves are compared, in multiples of ε."""


WAYS = ("0 against 1", "1 against 0")


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
    raw = float(laws.at(law.noise, 1.0).delta(epsilon))
    ways = [shown(law, min(float(pair.delta(epsilon)), raw)) for pair in both(after)]
    if ways[0] == ways[1]:
        left = f"**{ways[0]}**"
    else:
        left = " and ".join(f"**{one}** ({way})" for one, way in zip(ways, WAYS))
    tv = float(laws.at(law.noise, 1.0).delta(0.0)), float(after.delta(0.0))
    headline = (
        f"Clamped and rounded, δ({epsilon:.3g}) goes from **{shown(law, raw)}** to {left}, the best attacker from "
        f"**{success(law, tv[0])}** to **{success(law, min(tv[1], tv[0]))}**: never up."
    )
    facts = {"outcomes left": str(len(after.losses)), "mechanism": f"{law.name}, {law.promise}"}
    return Picture(headline, (profile(law, after, epsilon, colours), later(errors, law, after, colours)), facts)


def both(pair: FinitePair) -> tuple[FinitePair, FinitePair]:
    """Answer 0 against 1, and 1 against 0: after clamping and rounding they need not be mirror images."""
    return pair, pair.swapped


def shown(law: Law, delta: float) -> str:
    """δ for people; rounding of sums is not a δ."""
    return told(law, delta) if delta > 1e-13 else "0"


def profile(law: Law, after: FinitePair, epsilon: float, colours: Palette) -> Panel:
    """δ(ε) before, and after in both directions: the mechanism's is the larger one."""
    reach = 2 * law.privacy.epsilon
    finite = np.abs(after.losses[np.isfinite(after.losses)])
    x = np.unique(np.concatenate([np.linspace(0, reach, 161), finite[finite < reach]]))
    curves = {"as released": laws.at(law.noise, 1.0)} | {f"after, {way}": pair for way, pair in zip(WAYS, both(after))}
    figure, rows = Chart(), np.linspace(0, reach, 13)
    table = {"ε": [prose.number(v, 3) for v in rows]}
    for number, (name, pair) in enumerate(curves.items()):
        figure.add_scatter(x=x, y=pair.delta(x), name=name, mode="lines", line=lines.series(colours, number),
                           hovertemplate=f"<b>{name}</b><br>δ(%{{x:.3g}}) = %{{y:.3g}}<extra></extra>")  # fmt: skip
        table[name] = [shown(law, float(v)) for v in pair.delta(rows)]
    figures.upright(figure, epsilon, line=lines.reference(colours))
    figure.update_xaxes(title="ε", range=[0, reach])
    figure.update_yaxes(title="δ(ε) between answers 0 and 1", rangemode="tozero")
    alt = (
        f"δ(ε) of {law.name} noise before clamping and rounding, and after, of answer 0 against 1 and of 1 against 0: "
        "neither is anywhere above the first curve."
    )
    return Panel("δ(ε) before and after", figures.finish(figure, colours, height=HEIGHT), alt, table)


def errors(law: Law, after: FinitePair, colours: Palette) -> Panel:
    """Trade-off functions before and after: the second one is nowhere below."""
    x, here = np.linspace(0, 1, 301), 0.2
    pairs = {"as released": laws.at(law.noise, 1.0), "after clamping and rounding": after}
    return Plot(
        "Errors before and after",
        Axis("type I error: says 1, was 0", {"range": [0, 1]}, "{:.2f}".format, "type I error"),
        Axis("least type II error: says 0, was 1", {"range": [0, 1]}), x,
        tuple(Curve(name, pair.tradeoff(x), float(pair.tradeoff(here))) for name, pair in pairs.items()),
        hover="%{x:.3g}, %{y:.3g}", here=here, about="errors", height=300, remark="Errors can only grow.", most=11,
        square=True,
    ).panel(colours)  # fmt: skip


def _lost(cut: float) -> float:
    """δ(0) of 1-DP Laplace noise, of which only the side of a cut is told, less that of the whole release."""
    noise = Laplace(1.0)
    return float(binned_pair(noise, [cut], shift=1.0).delta(0.0)) - delta_upper(noise, 0.0, 1.0)


def one_bit(cut: float) -> Question:
    """The best attacker who is told one bit."""
    return Question(
        f"Of a release with Laplace noise only one bit is told: is it above {cut:g}? (The true answer is 0 or 1.) How "
        "does the best attacker fare?",
        lambda: 1.0 if abs(_lost(cut)) < 1e-12 else 0.0,
        lambda: (
            f"The difference is {abs(_lost(cut)):.3g}: the likelier database depends on the side of ½ alone. "
            + ("That bit tells it, so nothing is lost at ε = 0; at other ε something is." if cut == 0.5 else
               "That bit leaves the side open for some releases.")
        ),
        ("worse than with the whole release", "as well as with the whole release",
         "better than with the whole release"),
        hint="Which database does the best attacker name, and what does that choice depend on?",
    )  # fmt: skip


TOPIC = Topic(
    "processing", "Post-processing", {"step": STEP, "width": WIDTH, "compare": COMPARE}, sidebar, picture,
    (
        Experiment("Rounding to whole sensitivities", {"step": 1.0, "width": 10.0}),
        Experiment("Clamped to the possible answers", {"step": 0.1, "width": 0.5}),
        Experiment("One bit", {"step": 1.0, "width": 0.5}),
    ),
    one_bit(0.5), section="3.4", vary=lambda rng: one_bit(rng.choice((0.25, 0.5, 0.75, 1.0, 1.5))),
     moves=Moves("compare", "ε′ = {:g} ε"),
)  # fmt: skip
