"""Differential privacy as a test: errors of both kinds, supporting lines, Gaussian guarantees."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpcore import figures
from dpcore.accounting.tradeoff import gaussian_guarantee, gaussian_tradeoff, guarantee_tradeoff
from dpcore.figures import Chart, Palette
from dpcore.noise import Laplace
from pages.lessons import lines
from pages.lessons.curves import square
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Sketch, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops, slider
from pages.shared import prose
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import PROBE, at_most, percent, probability, told

ALPHA = Stops(0.05, (0.001, 0.01, 0.02, *(round(0.05 * k, 2) for k in range(1, 20))))

SKETCHED = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Where a visitor sketches the curve."""


def sidebar(page) -> None:
    slider(page, "alpha", "False alarms allowed, α", show=percent, help="Probability of saying B although it was A.")
    slider(page, "probe", "Supporting line at ε′", show=lambda share: f"{share:g} ε")


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    alpha, epsilon = values["alpha"], values["probe"] * law.privacy.epsilon
    missed = max(float(law.tight.tradeoff(alpha)) - 1e-12, 0.0)  # less what sums of probabilities may round
    guarantee = gaussian_guarantee(law.noise, sensitivity=1.0)
    if guarantee.mu is None:
        gdp = "no μ-GDP holds"
        note = (
            f"No μ: $G_\\mu(\\alpha)$ is positive for every α below 1, but releases of probability "
            f"{probability(guarantee.infinite)} are "
            "impossible under the other database, so this curve reaches 0 before α = 1."
        )
    else:
        gdp = f"the noise is **{at_most(guarantee.mu, 3)}**-GDP"
        if law.noise.gaussian_mu(1.0) is not None:
            where = "is the curve itself, μ being the sensitivity in standard deviations"
        else:
            where = "lies nowhere above the curve and touches it"
        note = f"$G_\\mu$ with μ = {at_most(guarantee.mu, 3)} {where}; no smaller μ will do."
    headline = (
        f"A test that raises a false alarm in {percent(alpha)} of the cases misses the change in at least "
        f"**{prose.at_least(100 * missed, 3)}\u202f%**; {gdp}."
    )
    facts = {"type II error": prose.at_least(missed, 6), "α": f"{alpha:g}", "mechanism": f"{law.name}, {law.promise}"}
    panels = (errors(law, alpha, missed, epsilon, guarantee.mu, colours), later(profile, law, epsilon, colours))
    return Picture(headline, panels, facts, (note,))


def errors(law: Law, alpha: float, missed: float, epsilon: float, mu: float | None, colours: Palette) -> Panel:
    """f, the promise f_(ε,δ), a supporting line, G_μ, and guessing."""
    x = np.unique(np.concatenate([np.linspace(0, 1, 301), np.geomspace(1e-5, 1, 120), 1 - np.geomspace(1e-5, 1, 60)]))
    y = law.tight.tradeoff(x)
    promise = guarantee_tradeoff(law.privacy.epsilon, law.privacy.delta, x)
    delta = law.delta(epsilon)
    figure = Chart()
    figure.add_scatter(x=[0, 1], y=[1, 0], name="guessing", mode="lines", hoverinfo="skip",
                       line=lines.reference(colours))  # fmt: skip
    figure.add_scatter(x=x, y=promise, name=law.promise, mode="lines", fill="tozeroy",
                       fillcolor=colours.impossible,
                       line=lines.reference(colours), hoverinfo="skip")  # fmt: skip
    end = min((1 - delta) * math.exp(-epsilon), 1.0)
    figure.add_scatter(x=[0, end], y=[1 - delta, max(1 - delta - math.exp(epsilon) * end, 0.0)], mode="lines",
                       name="slope −e<sup>ε′</sup>", line=lines.series(colours, 1),
                       hoverinfo="skip")  # fmt: skip
    figure.add_scatter(x=x, y=y, name="trade-off function", mode="lines", line=lines.series(colours, 0),
                       hovertemplate="false alarms %{x:.3g}<br>misses at least %{y:.3g}<extra></extra>")  # fmt: skip
    if mu is not None:  # upon the curve, which it touches or is
        figure.add_scatter(x=x, y=gaussian_tradeoff(mu, x), name="G<sub>μ</sub>", mode="lines",
                           line=lines.series(colours, "gaussian"), hoverinfo="skip")  # fmt: skip
    figures.chosen(figure, alpha, missed, "your test", colours)
    figure.data[-1].showlegend = False  # the headline is about it
    figure.update_xaxes(title="type I error α: says B, was A", range=[-0.01, 1.01])
    figure.update_yaxes(title="type II error: says A, was B", range=[-0.01, 1.01])
    rows = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0])
    table = {
        "type I error": [f"{v:g}" for v in rows],
        "type II error": [prose.number(float(v), 3) for v in law.tight.tradeoff(rows)],
        "what the promise alone says": [
            prose.number(float(v), 3) for v in guarantee_tradeoff(law.privacy.epsilon, law.privacy.delta, rows)
        ],
    }
    alt = f"Trade-off function of {law.name} noise: at type I error {alpha:g} type II error {missed:.3g} or more."
    figure = square(figures.finish(figure, colours, height=HEIGHT))
    return Panel("Errors of the best test", figure, alt, table, square=True)


def profile(law: Law, epsilon: float, colours: Palette) -> Panel:
    """δ(ε), the same information: each point is a supporting line."""
    reach = 3 * law.privacy.epsilon
    x = np.unique(np.append(np.linspace(-reach / 3, reach, 161), [0.0, law.privacy.epsilon]))
    return Plot(
        "The same as δ(ε)", Axis("ε", show=lambda v: prose.number(v, 3)),
        Axis("δ(ε)", {"rangemode": "tozero"}, lambda v: told(law, v, 3)), x,
        (Curve("δ(ε)", law.profile(x), float(law.profile(epsilon)), ringed=True),),
        hover="δ(%{x:.3g}) = %{y:.3g}", here=epsilon, label="ε′", about="profile", height=300,
        remark=f"At ε = 0 it is {told(law, float(law.profile(0.0)), 3)}.",
    ).panel(colours)  # fmt: skip


def asked(epsilon: float) -> Question:
    """The least μ of Laplace noise."""
    mu = lambda: float(gaussian_guarantee(Laplace(1 / epsilon), sensitivity=1.0).mu or math.nan)  # noqa: E731
    return Question(
        f"Laplace noise with ε = {epsilon:g}: what is the smallest μ for which it is μ-GDP? (Two digits are enough.)",
        mu,
        lambda: (
            f"$2\\Phi^{{-1}}(1-e^{{-\\varepsilon/2}}/2)$ = {mu():.5f}: $G_\\mu$ touches the curve at "
            "$\\alpha=e^{-\\varepsilon/2}/2$, where both errors are equal."
        ),
        tolerance=0.03,
        hint="Look where both errors are equal: there $G_\\mu$ has $\\alpha=\\Phi(-\\mu/2)$.",
    )


TOPIC = Topic(
    "tradeoff", "Errors of the best test", {"alpha": ALPHA, "probe": PROBE}, sidebar, picture,
    (
        Experiment("Laplace: corners and a curve", {"mechanism": "laplace", "epsilon": 1.0, "probe": 1.0}),
        Experiment("Staircase: closer to the promise", {"mechanism": "staircase", "epsilon": 1.0, "probe": 0.0}),
        Experiment("Bounded noise: no μ",
                   {"mechanism": "truncated-laplace", "epsilon": 1.0, "delta": 0.1, "probe": 1.0}),
    ),
    asked(1.0), section="13", moves=Moves("probe", "ε′ = {:g} ε"),
    guess=Sketch(
        lambda values: (
            f"{values['law'].name} noise with {values['law'].promise}: sketch how often the best test misses the "
            "change, against the false alarms it may raise. (Pure guessing is the straight line from 1 down to 0.)"
        ),
        places=SKETCHED,
        stops=tuple(round(0.05 * k, 2) for k in range(21)),
        truth=lambda values: values["law"].tight.tradeoff(np.array(SKETCHED)).tolist(),
        where=lambda alpha: f"α = {alpha:g}",
        show=partial(prose.number, digits=3),
    ),
    vary=lambda rng: asked(rng.choice((0.5, 0.8, 1.5, 2.0, 3.0))),
)  # fmt: skip
