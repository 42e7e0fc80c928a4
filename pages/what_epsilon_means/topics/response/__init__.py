"""Randomised response: what an answer proves about its giver, and what the sum of answers says."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.accounting import attack
from dpcore.figures import Palette
from dpcore.gallery import randomised_response as core
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import Stops, slider
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
    yes, no = (lambda e, sign=sign: 100 * attack.posterior(share, sign * e) for sign in (1, -1))
    dotted = {"color": colours.muted, "width": 1.5, "dash": "dot"}
    return Plot(
        "What one answer gives away", Axis("ε", figures.log_ticks(0.05, 10), three_digits),
        Axis("belief in a true yes (%)", {"range": [-3, 103]}, lambda v: percent(v / 100)), EPSILONS,
        (
            Curve("after “yes”", yes(EPSILONS), float(yes(epsilon)), ringed=True),
            Curve("after “no”", no(EPSILONS), float(no(epsilon))),
            Curve("before", np.full(EPSILONS.shape, 100 * share), 100 * share, style=dotted),
        ),
        hover="ε = %{x:.3g}: %{y:.4g} %", here=epsilon, label="here",
    ).panel(colours)  # fmt: skip


def three_digits(value: float) -> str:
    return prose.number(value, 3)


def error(epsilon: float, share: float, people: int, colours: Palette) -> Panel:
    """Both parts of the estimator's variance, as standard errors."""

    def errors(e: float) -> list[float]:
        """All of it, the coin's part and the sample's, in points."""
        lies, sample = core.variance(float(e), share, people)
        return [100 * math.sqrt(part) for part in (lies + sample, lies, sample)]

    along, here = np.array([errors(e) for e in EPSILONS]).T, errors(epsilon)
    ticks = figures.log_ticks(float(along[0].min()) / 5, float(along[0].max()) * 1.5)
    return Plot(
        "What all answers say", Axis("ε", figures.log_ticks(0.05, 10), three_digits),
        Axis("standard error (points)", ticks), EPSILONS,
        tuple(
            Curve(name, y, at, ringed=name == "all")
            for name, y, at in zip(("all", "the coin's part", "the sample's part"), along, here)
        ),
        hover="ε = %{x:.3g}: ±%{y:.4g} points", here=epsilon, label="here", about="error", height=300,
    ).panel(colours)  # fmt: skip


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
