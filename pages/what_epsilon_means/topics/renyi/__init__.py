"""Rényi divergences and zero-concentrated DP, where there is none, and where they disagree with testing."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpcore import figures
from dpcore.accounting.renyi import disagreement, renyi_curve, zero_concentrated
from dpcore.figures import Chart, Palette
from dpcore.noise import Laplace
from pages.lessons import lines
from pages.lessons.curves import square
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, decades, later
from pages.lessons.widgets import HEIGHT
from pages.shared import prose
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import at_most, probability

ORDERS = 1 + np.geomspace(0.02, 99, 160)
LAST = 20


def sidebar(page) -> None:
    """Nothing but mechanism, ε and δ."""


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    found = zero_concentrated(law.noise, sensitivity=1.0)
    if math.isinf(found.rho):
        low, _ = law.noise.support
        where = (
            f"the support is bounded: a release between {prose.number(low, 3)} and {prose.number(low + 1, 3)}"
            if math.isfinite(low)
            else "a point has positive probability: a release there"
        )
        headline = (
            f"ρ-zCDP: **none**, because {where} is impossible for the neighbour. The loss is infinite with probability "
            f"**{probability(found.infinite)}**, and with it every Rényi divergence."
        )
        notes = (
            "Drawn for comparison: Gaussian and Laplace noise with the same ε and δ, whose divergences are finite.",
        )
    else:
        two = float(renyi_curve(law.noise, 2.0, sensitivity=1.0))
        headline = (
            f"This noise is ρ-zCDP with ρ = **{at_most(found.rho, 3)}**; its Rényi divergence of order 2 is "
            f"**{prose.number(two, 3)}**."
        )
        notes = ()
    facts = {
        "ρ": at_most(found.rho, 6) if math.isfinite(found.rho) else "none",
        "mechanism": f"{law.name}, {law.promise}",
    }
    epsilon = min(law.privacy.epsilon, 4.0)
    return Picture(
        headline,
        (divergences(law, found.rho, colours), later(versus, epsilon, colours), later(tests, epsilon, colours)),
        facts,
        notes,
    )


def divergences(law: Law, rho: float, colours: Palette) -> Panel:
    """D_α against α, with ρα."""
    figure, table = Chart(), {"order α": [prose.number(v, 3) for v in ORDERS[::16]]}
    shown = [law]
    if math.isinf(rho):
        shown = [laws.closed_form(key, law.privacy) for key in ("gaussian", "laplace")]
    top = 0.0
    for one in shown:
        y = renyi_curve(one.noise, ORDERS, sensitivity=1.0)
        top = max(top, float(y[ORDERS <= LAST].max()))
        table[one.name] = [prose.number(float(v), 3) for v in y[::16]]
        figure.add_scatter(x=ORDERS, y=y, name=f"{one.name} noise", mode="lines", line=lines.series(colours, one.key),
                           hovertemplate=f"{one.name}<br>order %{{x:.3g}}: %{{y:.3g}}<extra></extra>")  # fmt: skip
    if math.isfinite(rho):
        table["ρα"] = [prose.number(float(v), 3) for v in rho * ORDERS[::16]]
        figure.add_scatter(x=ORDERS, y=rho * ORDERS, name=f"ρα, ρ = {at_most(rho, 3)}", mode="lines", hoverinfo="skip",
                           line=lines.reference(colours))  # fmt: skip
    else:
        table[law.name] = ["∞"] * len(table["order α"])
        figure.add_scatter(
            x=ORDERS, y=np.full(ORDERS.shape, 1.12 * top), name=f"{law.name}: ∞ at every order", mode="lines",
            line=lines.series(colours, law.key, width=7), hovertemplate="∞<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="order α", range=[1, LAST])
    figure.update_yaxes(title="Rényi divergence", range=[0, 1.2 * top])
    state = "infinite at every order" if math.isinf(rho) else f"at most {rho:.3g} times the order"
    alt = f"Rényi divergences of {law.name} noise: {state}."
    return Panel("Rényi divergence by order", figures.finish(figure, colours, height=HEIGHT), alt, table)


def versus(epsilon: float, colours: Palette) -> Panel:
    """Randomised response against N(0, 1), N(ε, 1): the former has the smaller divergence at every order."""
    found, _, _ = disagreement(epsilon)
    return Plot(
        "Rényi says: the Gaussian leaks more", Axis("order α", {"range": [1, LAST]}, lambda v: prose.number(v, 3)),
        Axis("Rényi divergence", {"range": [0, 2.2 * epsilon]}), ORDERS,
        (
            Curve(f"randomised response, ε = {epsilon:g}", found.renyi(ORDERS), style="local"),
            Curve(f"Gaussians {epsilon:g} apart", ORDERS * epsilon**2 / 2, style="gaussian"),
        ),
        hover="order %{x:.3g}: %{y:.3g}", about="disagreement", height=300,
        remark="Randomised response is below at every order.",
    ).panel(colours)  # fmt: skip


def tests(epsilon: float, colours: Palette) -> Panel:
    """The same two by their trade-off functions: neither is below the other."""
    from dpcore.accounting.tradeoff import gaussian_tradeoff

    found, easier, harder = disagreement(epsilon)
    x = np.linspace(0, 1, 301)
    figure = Chart()
    figure.add_scatter(
        x=x, y=found.tradeoff(x), name="randomised response", mode="lines", line=lines.series(colours, "local")
    )
    figure.add_scatter(
        x=x, y=gaussian_tradeoff(epsilon, x), name="Gaussians", mode="lines", line=lines.series(colours, "gaussian")
    )
    figure.update_xaxes(title="type I error", range=[0, 1])
    figure.update_yaxes(title="type II error", range=[0, 1])
    table = {
        "pair": ["randomised response", "Gaussians"],
        "total variation": [prose.number(easier, 3), prose.number(harder, 3)],
        "best guess right (%)": [prose.number(50 + 50 * easier, 3), prose.number(50 + 50 * harder, 3)],
    }
    alt = f"Trade-off functions cross: total variation {easier:.3g} of randomised response, {harder:.3g} of Gaussians."
    title = f"A test: {100 * (0.5 + easier / 2):.1f} % against {100 * (0.5 + harder / 2):.1f} %"
    title = title.replace(" %", "\u202f%")
    return Panel(title, square(figures.finish(figure, colours, height=300)), alt, table, "disagreement")


def concentrated(epsilon: float) -> Question:
    """ρ of Laplace noise."""
    right = lambda: zero_concentrated(Laplace(1 / epsilon), sensitivity=1.0).rho  # noqa: E731
    return Question(
        f"Every ε-DP mechanism is ε²/2-zCDP. Laplace noise with ε = {epsilon:g} does better: what is its ρ? (Two "
        "digits are enough.)",
        right,
        lambda: (
            f"The ratio $D_\\alpha/\\alpha$ is largest as α falls to 1, where D is the Kullback–Leibler divergence "
            f"$\\varepsilon-1+e^{{-\\varepsilon}}$ = {right():.5f}."
        ),
        hint="Where is the curve's slope seen from the origin the largest: at large orders, or at α = 1?",
    )


TOPIC = Topic(
    "renyi", "Rényi and zCDP", {}, sidebar, picture,
    (
        Experiment("Gaussian: a straight line", {"mechanism": "gaussian", "epsilon": 1.0, "delta": 0.01}),
        Experiment("Laplace: levels off at ε", {"mechanism": "laplace", "epsilon": 1.0}),
        Experiment("Certified optimum: none", {"mechanism": "optimal", "epsilon": 1.0, "delta": 0.1}),
    ),
    concentrated(1.5), section="12", vary=lambda rng: concentrated(rng.choice((0.3, 0.7, 2.0, 2.5, 3.0))),
     moves=Moves("epsilon", "ε = {:g}"), start={"mechanism": "laplace"},
    guess=Guess(
        lambda values: (
            f"{values['law'].promise} {values['law'].name} noise: what is its Rényi divergence of order 10? (The "
            "privacy loss is what order ∞ bounds, its mean what order 1 is.)"
        ),
        (*decades(range(-2, 2)), 100.0),
        lambda values: float(renyi_curve(values["law"].noise, 10.0, sensitivity=1.0)), partial(prose.number, digits=3),
    ),
)  # fmt: skip
