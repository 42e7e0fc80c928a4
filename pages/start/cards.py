"""The questions of the page "Start": where each leads, what it is answered with, what its picture shows. Pure.

Every number is a closed form, rounded to the safe side; nothing is solved for this page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpcore import figures
from dpcore.noise import outline
from dpcore.noise.discrete import Geometric
from dpcore.noise.gaussian import Gaussian
from dpcore.noise.laplace import Laplace
from dpcore.noise.truncated_laplace import TruncatedLaplace
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed
from dpcore.search import smallest_passing
from pages.optimal_noise.inputs import FIRST, preset_values
from pages.release_plan.controls import SURVEY
from pages.release_plan.draft import LineDraft, unpack
from pages.reproduction import data
from pages.shared import prose

COVERAGE = 0.95
USUAL = Privacy(1.0, 1e-6)
NUMBERS, WEEKS, AFFORDED = 20, 52, 5.0
SAFE = Privacy(1.0, 1e-4)
"""Privacy that the page Private optimisation begins with."""


Marks = Sequence[figures.Mark]


@dataclass(frozen=True)
class Card:
    """A question.

    page, values : where it leads, and what the controls there are set to.
    answer : (number, rest of the sentence), Markdown.   picture : what it draws.
    """

    question: str
    page: str
    values: Mapping[str, object]
    answer: Callable[[], tuple[str, str]]
    picture: Callable[[], Marks]


# Is Laplace good enough for my count? ----------------------------------------------------------------


def _count() -> Geometric:
    return Geometric.calibrate(USUAL, 1)


def count_answer() -> tuple[str, str]:
    width = prose.plain(_count().within(COVERAGE))
    rest = f"in 95\u202f% of releases: geometric noise for a count at ε = {USUAL.epsilon:g}."
    return f"±{width}", f"{rest} See whether any noise does better."


def count_picture() -> Marks:
    x = np.arange(-6, 7, dtype=float)
    return [figures.Stems(x, _count().pmf(x))]


# What noise for 20 numbers at once? ------------------------------------------------------------------


def vector_answer() -> tuple[str, str]:
    width = prose.at_most(Gaussian.calibrate(USUAL, 1.0).within(COVERAGE), 3)
    rest = f"in 95\u202f% of releases of each, with Gaussian noise; one person moves all {NUMBERS} by 1 together."
    return f"±{width}", f"{rest} Is less possible?"


def vector_picture() -> Marks:
    """The law of the length of Gaussian noise in so many dimensions, and of one number."""
    r = np.linspace(0, 8, 160)
    with np.errstate(divide="ignore"):
        logs = (NUMBERS - 1) * np.log(r) - 0.5 * r**2
    return [figures.Line(r, np.exp(-0.5 * r**2), "muted"), figures.Line(r, np.exp(logs - logs.max()), filled=True)]


# Which ε for the error I can afford? -----------------------------------------------------------------


@cache
def afforded_epsilon(width: float = AFFORDED) -> float:
    """The least ε at which Laplace noise stays within ±width in 95 % of all releases, rounded up."""
    return smallest_passing(lambda epsilon: Laplace(1 / epsilon).within(COVERAGE) <= width, 1.0)


def error_answer() -> tuple[str, str]:
    epsilon = prose.at_most(afforded_epsilon(), 2)
    return (
        f"ε = {epsilon}",
        f"is enough for Laplace noise within ±{AFFORDED:g} in 95\u202f% of releases. Ask for your own error.",
    )


def error_picture() -> Marks:
    """The error at 95 % against ε, both on logarithmic scales in the eye: the axis of ε is."""
    epsilons = np.geomspace(0.25, 8, 80)
    widths = np.array([Laplace(1 / epsilon).within(COVERAGE) for epsilon in epsilons])
    x = np.log(epsilons)
    at = math.log(afforded_epsilon())
    marks: Marks = [
        figures.Line(x, widths, filled=True),
        figures.Line(np.array([x[0], at, at]), np.array([AFFORDED, AFFORDED, 0.0]), "text", dashed=True),
    ]
    return marks


# A release every week --------------------------------------------------------------------------------


def weekly_width(releases: int) -> float:
    """±, in 95 % of releases, of Gaussian noise that so many releases keep (1, 10⁻⁶) with together."""
    return Gaussian.on_curve(Composed(releases, USUAL).sufficient.mu, 1.0).within(COVERAGE)


def weekly_answer() -> tuple[str, str]:
    split = prose.at_most(Laplace(WEEKS / USUAL.epsilon).within(COVERAGE), 3)
    rest = f"every week for a year under one ε = {USUAL.epsilon:g}; sharing ε out costs ±{split} with Laplace noise."
    return f"±{prose.at_most(weekly_width(WEEKS), 3)}", rest


def weekly_picture() -> Marks:
    """The error against the number of releases: shared out, and accounted for together."""
    releases = np.array([1, 2, 4, 8, 13, 20, 30, 40, WEEKS])
    together = np.array([weekly_width(int(count)) for count in releases])
    split = np.array([Laplace(int(count) / USUAL.epsilon).within(COVERAGE) for count in releases])
    x = releases.astype(float)
    return [figures.Line(x, split, "muted", dashed=True), figures.Line(x, together, filled=True)]


# A budget that must never be overspent ---------------------------------------------------------------


def _reserve() -> TruncatedLaplace:
    noise = TruncatedLaplace.calibrate(SAFE, 1.0)
    return noise.at(-noise.radius)


def budget_answer() -> tuple[str, str]:
    reserve = prose.at_most(_reserve().radius, 3)
    rest = "is what a private limit gives up on average so that it is never passed, with truncated Laplace noise."
    return reserve, f"{rest} Give up less."


def budget_picture() -> Marks:
    noise = _reserve()
    x, y = outline.curve(noise, 1.05 * noise.support[0], 0.0, 160)
    end = 0.12 * abs(noise.support[0])
    return [figures.Wall(0.0, end), figures.Line(x, y, filled=True)]


# What does ε mean? -----------------------------------------------------------------------------------


def belief(prior: np.ndarray, epsilon: float) -> np.ndarray:
    """The most that an attacker can believe after a release of an (ε, 0)-DP mechanism: odds grow by e^ε at most."""
    grown = prior * math.exp(epsilon)
    return grown / (grown + 1 - prior)


def meaning_answer() -> tuple[str, str]:
    most = prose.percent(float(belief(np.array(0.5), USUAL.epsilon)))
    return most, f"is the most that an attacker who was undecided can believe after a release at ε = {USUAL.epsilon:g}."


def meaning_picture() -> Marks:
    prior = np.linspace(0, 1, 80)
    after = belief(prior, USUAL.epsilon)
    return [figures.Line(prior, after, filled=True), figures.Line(prior, prior, "muted", dashed=True)]


# Reproduce the papers --------------------------------------------------------------------------------


def papers_answer() -> tuple[str, str]:
    cells = sum(len(row) for table in data.tables().values() for row in table.percent)
    return (
        f"{prose.count(cells)} numbers",
        "printed in the tables of Selvi, Liu and Wiesemann, beside our certified ones.",
    )


def papers_picture() -> Marks:
    """A few columns of the paper's first table."""
    table = np.array(data.tables()["1"].percent)[:, ::4]
    x = np.arange(len(table), dtype=float)
    return [figures.Line(x, column, "accent" if k == 0 else "muted") for k, column in enumerate(table.T)]


# Plan a release from my data -------------------------------------------------------------------------


def _lines() -> list[LineDraft]:
    return unpack(LineDraft, str(SURVEY["lines"]))


def plan_answer() -> tuple[str, str]:
    return (
        f"{len(_lines())} results",
        f"of a survey under one budget of ε = {SURVEY['epsilon']:g}: errors before any data are touched.",
    )


def plan_picture() -> Marks:
    """The shares of ε that the lines of the example take."""
    shares = np.array([float(line.amount) if line.ask == "weight" else 1.0 for line in _lines()])
    return [figures.Stems(np.arange(len(shares), dtype=float), shares, wide=True)]


CARDS = (
    Card("Is Laplace good enough for my count?", "optimal_noise", preset_values(FIRST), count_answer, count_picture),
    Card(
        "What noise for 20 numbers at once?", "isotropic", {"dimension": NUMBERS, "epsilon": 1.0, "loss": "norm"},
        vector_answer, vector_picture,
    ),
    Card(
        "Which ε for the error I can afford?", "optimal_noise", {"delta": 1e-6, "people": 20_000, "afford": AFFORDED},
        error_answer, error_picture,
    ),
    Card(
        "A release every week", "optimal_noise",
        {"promise": "composed", "releases": WEEKS, "delta": USUAL.delta, "people": 20_000}, weekly_answer,
        weekly_picture,
    ),
    Card(
        "A budget that must never be overspent", "private_optimisation", {"story": "advertising"}, budget_answer,
        budget_picture,
    ),
    Card(
        "What does ε mean?", "what_epsilon_means", {"topic": "posterior", "mechanism": "laplace"}, meaning_answer,
        meaning_picture,
    ),
    Card("Reproduce the papers", "reproduction", {"tab": "Tables", "table": "1"}, papers_answer, papers_picture),
    Card("Plan a release from my data", "release_plan", SURVEY, plan_answer, plan_picture),
)  # fmt: skip
