"""Dominating pairs: δ from the trade-off function's tangents, from the laws of the privacy loss, from the event."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.accounting.pairs import Pair, dominating_pair
from dpcore.figures import Chart, Palette
from dpcore.noise import Laplace
from pages.lessons import lines
from pages.lessons.curves import square
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, slider
from pages.shared import prose
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import PROBE, probability

FINE = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-9, 0.5, 2000)]))
"""Type I errors at which a tangent is looked for."""


def sidebar(page) -> None:
    slider(page, "probe", "Look at ε′", show=lambda share: f"{share:g} ε")


def by_upper_tangent(pair: Pair, epsilon: float) -> float:
    """1 + f*(−e^ε) = sup 1 − f(α) − e^ε α, from the curve f at `FINE`: at most the true one, by little."""
    return float(np.max(1 - pair.tradeoff(FINE) - math.exp(epsilon) * FINE))


def by_lower_tangent(pair: Pair, epsilon: float) -> float:
    """sup 1 − α − e^ε f(α): the tangent of slope −e^(−ε), in the same way."""
    return float(np.max(1 - FINE - math.exp(epsilon) * pair.tradeoff(FINE)))


def by_losses(pair: Pair, epsilon: float) -> float:
    """P{L > ε} − e^ε Q{L > ε}, the laws of the privacy loss under both."""
    own, other = pair.tails(epsilon)
    return float(own) - math.exp(epsilon) * float(other)


def as_printed(pair: Pair, epsilon: float) -> float:
    """1 − e^ε + e^ε F(ε) with F the loss's distribution function under P, as Remark 14.4 (2) has it: not δ."""
    return 1 - math.exp(epsilon) * float(pair.tails(epsilon)[0])


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    epsilon, pair = values["probe"] * law.privacy.epsilon, law.tight
    ways = by_upper_tangent(pair, epsilon), by_losses(pair, epsilon), by_lower_tangent(pair, epsilon)
    shown = [probability(max(one, 0.0) if one > 1e-12 else 0.0) for one in ways]
    headline = (
        f"At ε′ = {epsilon:.3g}: δ is **{shown[0]}** by the steep tangent, **{shown[1]}** by the privacy loss, "
        f"**{shown[2]}** by the flat tangent."
    )
    facts = {"δ by the losses": prose.number(ways[1], 8), "mechanism": f"{law.name}, {law.promise}"}
    note = (
        "The pair is the tight dominating one of all changes up to the sensitivity. Tangents are read off the curve at "
        f"{prose.count(len(FINE))} places; the losses give an exact sum. The formula printed in Remark 14.4 (2) would "
        f"say {prose.number(as_printed(pair, epsilon), 3)}."
    )
    return Picture(
        headline, (tangents(law, epsilon, ways[1], colours), later(tails, law, epsilon, colours)), facts, (note,)
    )


def tangents(law: Law, epsilon: float, delta: float, colours: Palette) -> Panel:
    """The trade-off function with both tangents; each meets an axis at 1 − δ."""
    x = np.unique(np.concatenate([np.linspace(0, 1, 241), np.geomspace(1e-5, 1, 80)]))
    y, figure, kept = law.tight.tradeoff(x), Chart(), 1 - max(delta, 0.0)
    end = kept * math.exp(-epsilon)
    for number, name, xs, ys in (
        (1, "slope −e<sup>ε</sup>", [0, end], [kept, 0]), (2, "slope −e<sup>−ε</sup>", [0, kept], [end, 0]),
    ):  # fmt: skip
        figure.add_scatter(x=xs, y=ys, mode="lines", name=name, line=lines.series(colours, number), hoverinfo="skip")
    figure.add_scatter(x=x, y=y, mode="lines", name="trade-off function T(P, Q)", line=lines.series(colours, 0),
                       hovertemplate="type I %{x:.3g}, type II %{y:.3g}<extra></extra>")  # fmt: skip
    gap = {"color": colours.text, "width": 4}
    figure.add_scatter(x=[0, 0, None, kept, 1], y=[kept, 1, None, 0, 0], mode="lines", name="δ, on both axes", line=gap,
                       hovertemplate=f"δ = {delta:.3g}<extra></extra>", cliponaxis=False)  # fmt: skip
    figure.update_xaxes(title="type I error α", range=[-0.01, 1.01])
    figure.update_yaxes(title="type II error", range=[-0.01, 1.01])
    rows = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
    table = {
        "α": [f"{row:g}" for row in rows],
        "T(P, Q)": [prose.number(float(one), 3) for one in law.tight.tradeoff(rows)],
        "steep tangent": [prose.number(max(kept - math.exp(epsilon) * row, 0.0), 3) for row in rows],
        "flat tangent": [prose.number(max(end - math.exp(-epsilon) * row, 0.0), 3) for row in rows],
    }
    alt = f"Trade-off function of {law.name} noise with two tangents at ε′ = {epsilon:.3g}; both leave δ = {delta:.3g}."
    figure = square(figures.finish(figure, colours, height=HEIGHT))
    return Panel("Two tangents, one δ", figure, alt, table, square=True)


def tails(law: Law, epsilon: float, colours: Palette) -> Panel:
    """P{L > ℓ} and e^ℓ Q{L > ℓ}: δ is what lies between them."""
    reach = 3 * law.privacy.epsilon
    x = np.unique(np.append(np.linspace(-reach / 3, reach, 241), epsilon))
    own, other = law.tight.tails(x)
    here = [float(one) for one in law.tight.tails(epsilon)]
    return Plot(
        "From the laws of the loss", Axis("ε", show=lambda v: prose.number(v, 3)),
        Axis("probability", {"range": [-0.02, 1.02]}), x,
        (Curve("P{L > ε}", own, here[0], ringed=True),
         Curve("e<sup>ε</sup>·Q{L > ε}", np.exp(x) * other, math.exp(epsilon) * here[1], ringed=True),
         Curve("δ, the difference", own - np.exp(x) * other, by_losses(law.tight, epsilon), ringed=True)),
        hover="ε = %{x:.3g}: %{y:.3g}", here=epsilon, label="ε′", about="losses", height=330,
    ).panel(colours)  # fmt: skip


def asked(epsilon: float, at: float) -> Question:
    """δ of Laplace noise from both tails."""
    delta = lambda: by_losses(dominating_pair(Laplace(1 / epsilon), 1.0), at)  # noqa: E731
    own, other = 1 - 0.5 * math.exp((at - epsilon) / 2), 0.5 * math.exp(-(at + epsilon) / 2)
    return Question(
        f"Laplace noise with scale 1/{epsilon:g}, sensitivity 1. Its privacy loss exceeds ℓ = {at:g} with probability "
        f"{own:.4f} under P and {other:.4f} under Q. What is δ({at:g})?",
        delta,
        lambda: (
            f"$P\\{{L>\\ell\\}}-e^\\ell Q\\{{L>\\ell\\}}$ = {own:.4f} − {math.exp(at):.4f} · {other:.4f} = "
            f"{delta():.4f}: both laws of the loss are needed, or one and Lemma 14."
        ),
        tolerance=0.02,
        hint="The event is where the loss is large. How probable is it under P, and under Q?",
    )


TOPIC = Topic(
    "three-ways", "Three ways to δ", {"probe": PROBE}, sidebar, picture,
    (
        Experiment("Gaussian: every tangent touches", {"mechanism": "gaussian", "epsilon": 1.0, "probe": 1.0}),
        Experiment("Laplace: beyond ε nothing is left", {"mechanism": "laplace", "epsilon": 1.0, "probe": 1.2}),
        Experiment("Bounded noise: δ never vanishes",
                   {"mechanism": "truncated-laplace", "epsilon": 1.0, "delta": 0.1, "probe": 3.0}),
    ),
    asked(1.0, 0.5), section="14.1", moves=Moves("probe", "ε′ = {:g} ε"),
    vary=lambda rng: asked(rng.choice((0.8, 1.5, 2.0)), rng.choice((0.2, 0.4, 0.6))),
)  # fmt: skip
