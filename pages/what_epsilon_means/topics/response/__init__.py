"""Randomised response: what an answer proves about its giver, and what the sum of answers says."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.accounting import attack
from dpcore.figures import Palette
from dpcore.gallery import randomised_response as core
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops, slider
from pages.shared import prose
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import percent

SHARE_YES = Stops(0.1, (0.001, 0.01, *(round(0.05 * k, 2) for k in range(1, 20))))
PEOPLE = Stops(1000, (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000))
EPSILONS = np.geomspace(0.05, 10, 121)


def sidebar(page) -> None:
    slider(page, "yes", "True share of “yes”", show=prose.percent)
    slider(page, "people", "People asked", show=prose.count)


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    epsilon, share, people = law.privacy.epsilon, values["yes"], int(values["people"])
    lies, sample = core.variance(epsilon, share, people)
    after = float(attack.posterior(share, epsilon))
    headline = (
        f"An answer “yes” moves the belief in a true yes from {percent(share)} to **{percent(after)}**; "
        f"{prose.count(people)} answers "
        f"give the share to within **±{prose.number(100 * math.sqrt(lies + sample), 3)} points** (standard error)."
    )
    facts = {
        "variance by the coin": prose.number(lies, 6),
        "by the sample": prose.number(sample, 6),
        "ε": f"{epsilon:g}",
    }
    noun = prose.number(100 * core.truth_probability(epsilon), 4)
    note = (
        "Each answer is true with probability $e^\\varepsilon/(1+e^\\varepsilon)$ = "
        f"{noun}\u202f%. All numbers are exact."
    )
    return Picture(headline, (belief(epsilon, share, colours), error(epsilon, share, people, colours)), facts, (note,))


def belief(epsilon: float, share: float, colours: Palette) -> Panel:
    """What one answer says about its giver, against ε."""
    yes, no = (100 * attack.posterior(share, sign * EPSILONS) for sign in (1, -1))
    figure = go.Figure()
    for number, name, y in ((0, "after “yes”", yes), (1, "after “no”", no)):
        figure.add_scatter(x=EPSILONS, y=y, name=name, mode="lines", line=figures.series(colours, number),
                           hovertemplate=f"<b>{name}</b><br>ε = %{{x:.3g}}: %{{y:.4g}} %<extra></extra>")  # fmt: skip
    figure.add_scatter(x=[EPSILONS[0], EPSILONS[-1]], y=[100 * share] * 2, name="before", mode="lines",
                       hoverinfo="skip",
                       line={"color": colours.muted, "width": 1.5, "dash": "dot"})  # fmt: skip
    figures.chosen(figure, epsilon, 100 * float(attack.posterior(share, epsilon)), "here", colours)
    figure.update_xaxes(title="ε", **figures.log_ticks(0.05, 10))
    figure.update_yaxes(title="belief in a true yes (%)", range=[-3, 103])
    rows = EPSILONS[::12]
    table = {
        "ε": [prose.number(v, 3) for v in rows],
        "after yes": [percent(float(v)) for v in attack.posterior(share, rows)],
        "after no": [percent(float(v)) for v in attack.posterior(share, -rows)],
    }
    after = percent(float(attack.posterior(share, epsilon)))
    alt = f"Belief in a true yes after an answer, against ε; at {epsilon:g} it is {after} after a yes."
    return Panel("What one answer gives away", figures.finish(figure, colours, height=HEIGHT), alt, table)


def error(epsilon: float, share: float, people: int, colours: Palette) -> Panel:
    """Both parts of the estimator's variance, as standard errors."""
    parts = np.array([core.variance(float(e), share, people) for e in EPSILONS])
    figure = go.Figure()
    curves = {"all": parts.sum(axis=1), "the coin's part": parts[:, 0], "the sample's part": parts[:, 1]}
    for number, (name, y) in enumerate(curves.items()):
        style = figures.series(colours, number)
        figure.add_scatter(x=EPSILONS, y=100 * np.sqrt(y), name=name, mode="lines", line=style)
    lies, sample = core.variance(epsilon, share, people)
    figures.chosen(figure, epsilon, 100 * math.sqrt(lies + sample), "here", colours)
    figure.update_xaxes(title="ε", **figures.log_ticks(0.05, 10))
    values = 100 * np.sqrt(parts.sum(axis=1))
    figure.update_yaxes(
        title="standard error (points)", **figures.log_ticks(float(values.min()) / 5, float(values.max()) * 1.5)
    )
    rows = range(0, len(EPSILONS), 12)
    table = {"ε": [prose.number(float(EPSILONS[k]), 3) for k in rows]} | {
        f"standard error, {name} (points)": [prose.number(100 * math.sqrt(float(y[k]))) for k in rows]
        for name, y in curves.items()
    }
    here = 100 * math.sqrt(lies + sample)
    alt = f"Standard error of the estimated share among {people} people against ε: {here:.3g} points at {epsilon:g}."
    return Panel("What all answers say", figures.finish(figure, colours, height=300), alt, table, "error")


def _people() -> float:
    return 1 / core.variance(1.0, 0.5, 1)[1] * core.variance(1.0, 0.5, 1)[0] + 1


QUESTION = Question(
    "Half of the people would truly say yes, ε = 1. How many times as many people must be asked to estimate the "
    "share as well as with true answers?",
    _people,
    lambda: (
        f"$1+4e/(e-1)^2$ = {_people():.4f}: the coin's variance $e^\\varepsilon/(e^\\varepsilon-1)^2$ comes on top "
        f"of $\\theta(1-\\theta)$."
    ),
)
TOPIC = Topic(
    "response", "Randomised response", {"yes": SHARE_YES, "people": PEOPLE}, sidebar, picture,
    (
        Experiment("A rare answer, ε = 1", {"epsilon": 1.0, "yes": 0.01, "people": 1000}),
        Experiment("ε = 5: an answer is a confession", {"epsilon": 5.0, "yes": 0.1, "people": 1000}),
        Experiment("ε = 0.1 and a hundred thousand people", {"epsilon": 0.1, "yes": 0.1, "people": 100_000}),
    ),
    QUESTION, place=90,
)  # fmt: skip
