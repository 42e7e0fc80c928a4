"""What a release does to an attacker's belief."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.accounting import attack
from dpcore.accounting.pairs import privacy_loss
from dpcore.figures import Chart, Palette
from pages.lessons import lines
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops, slider
from pages.shared import prose
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import GREY, A, percent, places, probability, window

PRIOR = Stops(
    0.5,
    (
        0.001,
        0.003,
        0.01,
        0.02,
        0.03,
        *(round(0.05 * k, 2) for k in range(1, 20)),
        0.97,
        0.98,
        0.99,
        0.995,
        0.997,
        0.999,
    ),
)
RELEASE = Stops(0.0, tuple(round(0.1 * k, 1) for k in range(-60, 71)))


def sidebar(page) -> None:
    slider(page, "prior", "Belief in A before the release", show=prose.percent)
    slider(
        page,
        "release",
        "The release",
        show=lambda y: f"{y:g}".replace("-", "−"),
        help="In sensitivities; A's true answer is 0, B's 1.",
    )


def believed(values: Values) -> float:
    """The belief in A after the release; the one before, if neither database can have made it."""
    loss = float(privacy_loss(values["law"].noise, values["release"], shift=1.0))
    return values["prior"] if math.isnan(loss) else float(attack.posterior(values["prior"], loss))


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    prior, release, epsilon = values["prior"], values["release"], law.privacy.epsilon
    loss, after = float(privacy_loss(law.noise, release, shift=1.0)), believed(values)
    low, high = attack.posterior_bounds(prior, epsilon)
    before = percent(prior)
    if math.isnan(loss):
        headline = (
            f"A release of {release:g} is impossible under both databases; before it, A was believed with **{before}**."
        )
    else:
        headline = (
            f"A release of {prose.number(release, 3)} moves the belief in A from **{before}** to "
            f"**{percent(after)}**; while the loss is "
            f"within ±ε, it stays between {percent(low)} and {percent(high)}."
        )
    outside = law.beyond(epsilon)[0]  # of A's releases by a loss above ε, as of B's by one below −ε
    note = (
        f"Exact: with probability {probability(outside)} A's release lifts the belief above that range, and B's "
        f"pushes it below."
        if outside > 1e-12
        else "Exact: no release ever leaves that range."
    )
    facts = {"prior": before, "posterior, exact": percent(after), "mechanism": f"{law.name}, {law.promise}"}
    return Picture(headline, (belief(law, prior, release, after, colours),), facts, (note,))


def belief(law: Law, prior: float, release: float, after: float, colours: Palette) -> Panel:
    """The posterior against the release, the prior, and the range that ±ε allows."""
    low, high = window(law.noise, 1.0, 0.995)
    x = places(law.noise, low, high, 1.0)
    with np.errstate(invalid="ignore"):
        y = 100 * attack.posterior(prior, privacy_loss(law.noise, x, shift=1.0))
    least, most = attack.posterior_bounds(prior, law.privacy.epsilon)
    figure = Chart()
    band = {"type": "rect", "x0": 0, "x1": 1, "xref": "x domain", "y0": 100 * least, "y1": 100 * most, "yref": "y"}
    figure.layout.shapes = ({**band, "fillcolor": GREY, "line": {"width": 0}, "layer": "below"},)
    grey = {"symbol": "square", "size": 14, "color": "rgba(127,127,127,0.4)"}
    figures.entry(
        figure, "what ±ε allows", {"mode": "markers"}, area=(None, None, 100 * least, 100 * most), **grey
    )  # fmt: skip
    figure.add_scatter(x=x, y=y, name="belief in A after the release", mode="lines", line=lines.series(colours, A),
                       hovertemplate="release %{x:.3g}<br>belief in A %{y:.3g} %<extra></extra>")  # fmt: skip
    figure.add_scatter(x=[low, high], y=[100 * prior] * 2, name="before", mode="lines", hoverinfo="skip",
                       line=lines.reference(colours))  # fmt: skip
    if low <= release <= high:
        figures.chosen(figure, release, 100 * after, "this release", colours)
    figure.update_xaxes(title="released answer (in sensitivities)", range=[low, high])
    figure.update_yaxes(title="belief in database A (%)", range=[-3, 103])
    grid = np.linspace(low, high, 13)
    losses = privacy_loss(law.noise, grid, shift=1.0)
    table = {
        "release": [prose.number(v, 3) for v in grid],
        "belief in A": ["–" if math.isnan(v) else percent(float(attack.posterior(prior, v))) for v in losses.tolist()],
    }
    alt = f"Belief in A against the release; before it {percent(prior)}, at {release:g} it is {percent(after)}."
    return Panel("Belief after a release", figures.finish(figure, colours, height=HEIGHT), alt, table)


def asked(prior: float, epsilon: float) -> Question:
    """The largest belief after a release."""
    most = lambda: 100 * attack.posterior_bounds(prior, epsilon)[1]  # noqa: E731
    return Question(
        f"An attacker believes with {100 * prior:g} % that you are in the data. Then comes a {epsilon:g}-DP release. "
        "How large can the belief be after it?",
        most,
        lambda: (
            f"Odds change by a factor of at most $e^{{{epsilon:g}}}$: {prior:g}·$e^{{{epsilon:g}}}$/"
            f"({prior:g}·$e^{{{epsilon:g}}}$ + {1 - prior:g}) = {most() / 100:.5f}."
        ),
        unit="%",
        hint="Turn the belief into odds, multiply them by the largest factor, and turn them back.",
    )


TOPIC = Topic(
    "posterior", "From prior to posterior", {"prior": PRIOR, "release": RELEASE}, sidebar, picture,
    (
        Experiment("A rare condition, a strict promise",
                   {"mechanism": "laplace", "epsilon": 0.1, "prior": 0.01, "release": -1.0}),
        Experiment("A rare condition, ε = 5", {"mechanism": "laplace", "epsilon": 5.0, "prior": 0.01, "release": -1.0}),
        Experiment("A release that proves it",
                   {"mechanism": "truncated-laplace", "epsilon": 1.0, "delta": 0.2, "prior": 0.01, "release": -1.2}),
    ),
    asked(0.05, 1.0), section="3.6", moves=Moves("prior", "belief before: {:g}"),
    guess=Guess(
        lambda values: (
            f"You believe in A with {percent(values['prior'])}; A's true answer is 0, B's 1. The release, with "
            f"{values['law'].promise} {values['law'].name} noise, is {prose.plain(values['release'])}. How sure are "
            "you of A now?"
        ),
        tuple(map(float, range(101))), lambda values: 100 * believed(values), lambda share: percent(share / 100),
    ),
    vary=lambda rng: asked(rng.choice((0.01, 0.02, 0.1, 0.2)), rng.choice((0.5, 1.5, 2.0))),
)  # fmt: skip
