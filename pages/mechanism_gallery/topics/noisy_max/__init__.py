"""Report noisy max: three noises, against the number of candidates and against the leader's lead."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy.optimize import brentq

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import noisy_max as core
from pages.lessons import widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

COUNTS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
LEADS = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0)
NOISES = {"exponential": 1, "laplace": "laplace", "gumbel": "exponential mechanism"}
"""The noises in the order of their curves, each with its role."""

CONTROLS = {
    "epsilon": widgets.EPSILON, "nm_shape": Choice("leader", core.SHAPES | {"worst": "one leader, the worst lead"}),
    "nm_candidates": Stops(1000, COUNTS), "nm_lead": Stops(10.0, LEADS),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "nm_shape", "Scores")
    widgets.slider(page, "nm_candidates", "Candidates k", show=prose.count)
    if page["nm_shape"] != "worst":
        widgets.slider(page, "nm_lead", "Lead", help="How far each step is behind the one before, in people.")


def lead(values: Values, count: int, noise: str) -> float:
    """The chosen lead; the worst one depends on the noise."""
    if values["nm_shape"] == "worst":
        return core.worst_lead(count, values["epsilon"], noise)
    return float(values["nm_lead"])


def scores(values: Values, count: int, ahead: float) -> list[tuple[float, int]]:
    """Groups of scores of the chosen shape, with this lead."""
    return core.scores("leader" if values["nm_shape"] == "worst" else values["nm_shape"], count, ahead)


def gap(values: Values, count: int, noise: str) -> float:
    """Expected gap to the best score, at the chosen lead of so many candidates."""
    return core.expected_gap(scores(values, count, lead(values, count, noise)), values["epsilon"], noise)


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, count = values["epsilon"], int(values["nm_candidates"])
    leads = {noise: lead(values, count, noise) for noise in core.NOISES}
    gaps = {noise: core.expected_gap(scores(values, count, leads[noise]), epsilon, noise) for noise in core.NOISES}
    best = min(gaps, key=gaps.__getitem__)
    groups = scores(values, count, leads[best])  # the same for all: only then do probabilities compare
    wins = {noise: float(core.probabilities(groups, epsilon, noise)[0]) for noise in core.NOISES}
    said = at_worst(leads, gaps, best) if values["nm_shape"] == "worst" else at_this_lead(values, wins, gaps, best)
    headline = f"Among {prose.count(count)} candidates, {core.NOISES[best]} noise {said}"
    facts = {f"{core.NOISES[noise]}": f"expected gap {prose.number(gap, 6)}" for noise, gap in gaps.items()}
    note = (
        "Each person changes every score by at most 1, up or down. Gumbel noise in closed form (it is the exponential "
        "mechanism); the others by numerical integration, right to the digits shown."
    )
    return Picture(
        headline,
        (against_count(values, gaps, colours), later(against_lead, values, leads[best], wins, colours)), facts, (note,),
    )  # fmt: skip


def at_worst(leads: dict[str, float], gaps: dict[str, float], best: str) -> str:
    """What every noise loses at its own worst lead; how often the leader wins there does not compare."""
    rest = "; ".join(
        f"{core.NOISES[noise]} {prose.number(gaps[noise], 3)}, at {prose.number(leads[noise], 3)}"
        for noise in core.NOISES if noise != best
    )  # fmt: skip
    return (
        f"is at worst **{prose.number(gaps[best], 3)}** people short on average, at a lead of "
        f"**{prose.number(leads[best], 3)}** ({rest})."
    )


def at_this_lead(values: Values, wins: dict[str, float], gaps: dict[str, float], best: str) -> str:
    """How often every noise names the leader, all at the same scores."""
    rest = "; ".join(f"{core.NOISES[noise]} {prose.percent(wins[noise])}" for noise in core.NOISES if noise != best)
    return (
        f"names {'a' if values['nm_shape'] == 'pair' else 'the'} leader with probability "
        f"**{prose.percent(wins[best])}** ({rest}), and is **{prose.number(gaps[best], 3)}** people short on average."
    )


def against_count(values: Values, gaps: dict[str, float], colours: Palette) -> Panel:
    """Expected gap against the number of candidates, and the theorem's bound."""
    epsilon, worst = values["epsilon"], values["nm_shape"] == "worst"
    k = np.unique(np.geomspace(2, 100_000, 12 if worst else 33).round()).astype(int)
    curves = [
        Curve(
            core.NOISES[noise],
            np.array([gap(values, int(n), noise) for n in k]),
            gaps[noise],
            noise == "exponential",
            role,
        )
        for noise, role in NOISES.items()
    ]
    bound = np.array([core.gap_bound(int(n), epsilon) for n in k])
    curves.append(Curve("bound for Laplace", bound, style="bound", hover="k = %{x}: at most %{y:.3~r}", drawn=worst))
    return Plot(
        "Error against k", Axis("number of candidates k", figures.log_ticks(2, 1e5), prose.count, "candidates"),
        Axis("mean gap to the best score (people)", {"rangemode": "tozero"}), k, tuple(curves),
        hover="k = %{x}: %{y:.3~r} people", here=int(values["nm_candidates"]),
    ).panel(colours)  # fmt: skip


def against_lead(values: Values, here: float, wins: dict[str, float], colours: Palette) -> Panel:
    """Probability of naming the best against its lead, and `wins` of all noises at the one that is ringed."""
    epsilon, count = values["epsilon"], int(values["nm_candidates"])
    x = np.linspace(0, max(2 / epsilon * (np.log(count) + 8), 1.1 * here), 61)
    win = lambda ahead, noise: core.probabilities(scores(values, count, float(ahead)), epsilon, noise)[0]  # noqa: E731
    return Plot(
        "Who is named", Axis("lead of the best (people)", name="lead"),
        Axis("probability of naming it (%)", {"range": [0, 103]}), x,
        tuple(
            Curve(
                core.NOISES[noise], np.array([100 * float(win(ahead, noise)) for ahead in x]), 100 * wins[noise],
                noise == "exponential", role,
            )
            for noise, role in NOISES.items()
        ),
        hover="lead %{x:.3~r}: %{y:.3~r} %", here=here, about="lead", height=360,
    ).panel(colours)  # fmt: skip


@lru_cache(maxsize=16)
def more(epsilon: float, times: int) -> float:
    """People that the lead must grow by when so many times as many rivals compete, with Gumbel noise."""
    wins = lambda rivals, lead: core.probabilities([(0.0, 1), (-lead, rivals)], epsilon, "gumbel")[0]  # noqa: E731
    start = 10 / epsilon
    return float(brentq(lambda extra: wins(100 * times, start + extra) - wins(100, start), 0, 50 / epsilon))


def rivals(epsilon: float, times: int) -> Question:
    """What a lead is worth against more rivals."""
    many = prose.count(times)
    return Question(
        text=f"With Gumbel noise at ε = {epsilon:g}, one leader stands before k − 1 level rivals. How many people must "
        f"its lead grow by to keep its chances, when there are {many} times as many rivals?",
        right=lambda: more(epsilon, times),
        because=lambda: (
            "The rivals' total weight is $(k-1)\\,e^{-\\varepsilon\\,\\mathrm{lead}/2}$: "
            f"{many} times as many cost (2/ε)·ln {many} = {more(epsilon, times):.1f} people. Error grows with ln k, "
            "not with k."
        ),
        unit="people",
        hint="So many more rivals weigh as much more. Which lead makes each weigh that much less?",
    )


TOPIC = Topic(
    name="noisy_max",
    title="Report noisy max",
    section="5",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"Each of {prose.count(values['nm_candidates'])} scores gets Gumbel noise at ε = {values['epsilon']:g}, "
            "and the largest wins. How many people is the winner's score short of the best, on average"
            f"{' at the worst lead' if values['nm_shape'] == 'worst' else ''}?"
        ),
        (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 200.0, 500.0, 1000.0),
        lambda values: gap(values, int(values["nm_candidates"]), "gumbel"),
        partial(prose.number, digits=3),
        side="start",
    ),
    start={"nm_shape": "worst"},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment(
            "100 cases against 90, 1000 diagnoses",
            {"nm_shape": "leader", "nm_candidates": 1000, "nm_lead": 10.0, "epsilon": 1.0},
        ),
        Experiment("Only two candidates", {"nm_shape": "leader", "nm_candidates": 2, "nm_lead": 3.0, "epsilon": 1.0}),
        Experiment(
            "The worst scores: error grows like ln k", {"nm_shape": "worst", "nm_candidates": 1000, "epsilon": 1.0}
        ),
    ),
    question=rivals(0.5, 1000),
    vary=lambda rng: rivals(rng.choice((0.2, 0.5, 1.0)), rng.choice((10, 100, 10_000))),
)
