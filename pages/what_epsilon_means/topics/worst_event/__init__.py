"""Two neighbouring databases' releases, and the event that tells them apart best."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.audit import delta_upper
from dpcore.figures import Palette
from dpcore.noise import Gaussian
from dpcore.noise.gaussian import gaussian_delta
from pages.lessons import lines
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, slider
from pages.shared import prose
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import PROBE, B, densities, event, probability, told


def sidebar(page) -> None:
    slider(
        page, "probe", "Look for an event at ε′", show=lambda share: f"{share:g} ε",
        help="The event that gains most over $e^{\\varepsilon'}$ times its probability under the other database.",
    )  # fmt: skip


DIGITS = 4
"""Of the difference that is shown: with three it would not come out."""


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    epsilon = values["probe"] * law.privacy.epsilon
    shift, delta = law.worst_shift(epsilon), law.delta(epsilon)
    own, other = law.beyond(epsilon, shift)
    if own > 0:
        headline = (
            f"The most telling event happens with probability **{probability(own)}** under database A and "
            f"**{probability(other)}** under B. Beyond {prose.number(math.exp(epsilon), 3)} times as "
            f"often, δ = **{told(law, delta)}** is left."
        )
    else:
        headline = (
            f"No event is more than **{prose.number(math.exp(epsilon), 3)}** times as probable under A as under "
            f"B: δ({epsilon:.3g}) = **0**."
        )
    facts = {
        "mechanism": f"{law.name}, {law.promise}",
        "δ(ε′)": ("at most " if law.solved else "") + told(law, delta, 6),
        "ε′": f"{epsilon:g}",
    }
    notes: tuple[str, ...] = ()
    if law.noise.atoms:
        notes = ("A stem is a point of positive probability: it counts in full, for the neighbour never releases it.",)
    if shift < 1 - 1e-9:
        notes += (
            f"Drawn at the worst change, {shift:.3g} of the sensitivity: the largest change is not always the worst.",
        )
    return Picture(headline, (overlap(law, epsilon, shift, own, other, delta, colours),), facts, notes)


def overlap(law: Law, epsilon: float, shift: float, own: float, other: float, delta: float, colours: Palette) -> Panel:
    """Both densities, the second one also e^ε′ times as high, and between them the area δ(ε′)."""
    figure, x, top = densities(law, shift, colours)
    here, there = law.noise.density(x), law.noise.density(x - shift)
    raised = math.exp(epsilon) * there
    style = lines.series(colours, B, width=1.2)
    figure.add_scatter(x=x, y=np.where(raised > 1.5 * top, np.nan, raised), name="e<sup>ε′</sup> × B", mode="lines",
                       line=style,
                       opacity=0.7, hoverinfo="skip")  # fmt: skip
    edge_x, edge_y = event(x, here, np.minimum(raised, 1e300))
    figure.add_scatter(
        x=edge_x, y=edge_y, fill="toself", fillcolor=colours.fill, mode="lines", line={"width": 0},
        name=f"area δ(ε′) = {told(law, delta)}", hoverinfo="skip",
    )  # fmt: skip
    if edge_x:
        sum_ = f"{probability(own, DIGITS)} − {prose.number(math.exp(epsilon), DIGITS)} × {probability(other, DIGITS)}"
        sign = "≤" if law.solved else "="
        figure.layout.annotations = [
            {
                "text": f"{sum_} {sign} <b>{told(law, delta, DIGITS)}</b>", "x": 0.99,
                "xref": "paper", "xanchor": "right",
                "y": 0.97, "yref": "paper", "yanchor": "top", "showarrow": False,
                "font": {"size": colours.type + 1, "color": colours.text}, "bgcolor": colours.background,
            }
        ]  # fmt: skip
    alt = (
        f"Densities of releases of {law.name} noise for two databases {shift:.3g} sensitivities apart. The event "
        f"where A is "
        f"more than e^{epsilon:.3g} times as likely has probability {own:.3g} under A and {other:.3g} under B."
    )
    grid = np.linspace(x[0], x[-1], 13)
    table = {
        "release": [prose.number(v, 3) for v in grid],
        "density under A": [probability(float(v)) for v in law.noise.density(grid)],
        "density under B": [probability(float(v)) for v in law.noise.density(grid - shift)],
    }
    return Panel("Releases of two neighbours", figures.finish(figure, colours, height=HEIGHT), alt, table)


def asked(sigma: float) -> Question:
    """δ at ε = 1 of Gaussian noise."""
    return Question(
        f"Gaussian noise with standard deviation {sigma:g}, sensitivity 1: what is δ at ε = 1? (Two digits are "
        "enough.)",
        lambda: gaussian_delta(1.0, sigma),
        lambda: (
            f"Φ(1/(2σ) − σ) − e·Φ(−1/(2σ) − σ) = {delta_upper(Gaussian(sigma), 1.0, 1.0):.8f} for σ = {sigma:g}: a "
            "promise with ε = 1 needs a δ no smaller than that."
        ),
        tolerance=0.03,
        hint="A rises above e·B where (x − ½)/σ² < −1. What is the probability of that under each of them?",
    )


TOPIC = Topic(
    "worst-event", "The worst event", {"probe": PROBE}, sidebar, picture,
    (
        Experiment("Laplace noise: no event at ε", {"mechanism": "laplace", "probe": 1.0}),
        Experiment("The edges of bounded noise",
                   {"mechanism": "truncated-laplace", "epsilon": 1.0, "delta": 0.1, "probe": 1.0}),
        Experiment("The certified optimum, where it is best",
                   {"mechanism": "optimal", "epsilon": 5.0, "delta": 0.2, "probe": 1.0}),
    ),
    asked(1.0), section="3.1", moves=Moves("probe", "ε′ = {:g} ε"),
    vary=lambda rng: asked(rng.choice((0.7, 0.8, 1.2, 1.5, 2.0))),
)  # fmt: skip
