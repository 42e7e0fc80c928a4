"""Private quantiles of incomes: the exact laws of several at once, and what a wide range costs."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import private_quantiles as core
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

LEVELS = {"median": "the median", "quartiles": "three quartiles", "deciles": "nine deciles"}
SHARES = {"median": (0.5,), "quartiles": (0.25, 0.5, 0.75), "deciles": tuple(k / 10 for k in range(1, 10))}
PEOPLE = (20, 50, 100, 200, 500, 1000, 2000, 5000)
RANGES = (100, 150, 200, 500, 1000, 10_000, 100_000, 1_000_000)
CONTROLS = {
    "epsilon": widgets.EPSILON, "pq_levels": Choice("quartiles", LEVELS), "pq_people": Stops(200, PEOPLE),
    "pq_range": Stops(200, RANGES), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "pq_levels", "Released together")
    widgets.slider(page, "pq_people", "People", show=prose.count)
    widgets.slider(
        page, "pq_range", "Incomes clamped to at most (thousands)", show=prose.count,
        help="Chosen before looking at the data.",
    )  # fmt: skip
    widgets.seed(page)


@lru_cache(maxsize=16)
def incomes(people: int, seed: int) -> np.ndarray:
    """Made-up yearly incomes in thousands, skewed: median 30."""
    drawn = np.sort(30 * np.exp(0.5 * np.random.default_rng(seed).standard_normal(people)))
    drawn.setflags(write=False)
    return drawn


def true_quantile(data: np.ndarray, share: float) -> float:
    """The least of the data that has so large a share at or below it."""
    return float(data[max(math.ceil(share * len(data) - 1e-9) - 1, 0)])


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people, top = values["epsilon"], int(values["pq_people"]), float(values["pq_range"])
    shares = SHARES[values["pq_levels"]]
    data = incomes(people, int(values["seed"]))
    laws = [core.law(data, share, epsilon / len(shares), low=0.0, high=top) for share in shares]
    middle = laws[len(laws) // 2]
    truth = true_quantile(data, 0.5)
    error = middle.mean_error(truth)
    budget = "" if len(shares) == 1 else f" for {len(shares)} quantiles together"
    headline = (
        f"At ε = {epsilon:g}{budget}, the median of {prose.count(people)} incomes is off by "
        f"**{prose.number(error, 3)}** thousand on average; with Laplace noise, clamped to the range, it would be "
        f"{prose.number(core.laplace_error(truth, epsilon / len(shares), low=0.0, high=top), 3)}."
    )
    facts = {
        "mean error of the median": f"{prose.number(error, 6)} thousand, exact for the data of seed {values['seed']}"
    }
    note = (
        f"Incomes are made up (seed {values['seed']}); the laws of the releases are exact. The budgets add up to ε = "
        f"{epsilon:g} by basic composition. “Laplace noise on the median” has scale (range)/ε, because one person can "
        "move a median across the whole range; what comes out is clamped to the range."
    )
    return Picture(
        headline, (releases(data, shares, laws, colours), later(width, values, data, colours)), facts, (note,)
    )


def releases(data: np.ndarray, shares: tuple[float, ...], laws: list[core.Law], colours: Palette) -> Panel:
    """The distribution of the data, and for each quantile the range that holds 90 % of its releases."""
    figure = Chart()
    people = len(data)
    figure.add_scatter(
        x=data, y=100 * np.arange(1, people + 1) / people, mode="lines", name="share of people at or below",
        line=lines.reference(colours) | {"shape": "hv"},
        hovertemplate="%{y:.3~r} % earn at most %{x:.3~r}<extra></extra>",
    )  # fmt: skip
    middles = [float(law.quantile(0.5)) for law in laws]
    ends = np.array([law.quantile(np.array([0.05, 0.95])) for law in laws])
    figure.add_scatter(
        x=middles, y=[100 * share for share in shares], mode="markers", name="release: median and 90 % range",
        marker={"color": colours.accent, "size": 9, "symbol": "diamond"},
        error_x={
            "array": ends[:, 1] - middles, "arrayminus": middles - ends[:, 0], "symmetric": False,
            "color": colours.accent, "thickness": 2.5, "width": 6,
        },
        customdata=ends,
        hovertemplate="%{y:.3~r} % quantile: 90 % from %{customdata[0]:.3~r} to %{customdata[1]:.3~r}<extra></extra>",
    )  # fmt: skip
    truths = [true_quantile(data, share) for share in shares]
    figure.add_scatter(
        x=truths, y=[100 * share for share in shares], mode="markers", name="true quantile", hoverinfo="skip",
        marker={"symbol": "circle-open", "size": colours.type - 2, "color": colours.text, "line": {"width": 2}},
    )  # fmt: skip
    reach = 1.5 * max(float(data[-1]), *middles)  # an end that lies far out is told by its hover
    figure.update_xaxes(title="income (thousands a year)", range=[0, reach])
    figure.update_yaxes(title="people (%)", range=[0, 103])
    alt = "90 % of the releases: " + "; ".join(
        f"{100 * share:g} % quantile from {low:.3g} to {high:.3g} (true {truth:.3g})"
        for share, (low, high), truth in zip(shares, ends, truths)
    )
    table = {
        "quantile": [f"{100 * share:g} %" for share in shares], "true": [prose.number(t, 3) for t in truths],
        "5 % of releases below": [prose.number(float(low), 3) for low, _ in ends],
        "median release": [prose.number(m, 3) for m in middles],
        "5 % of releases above": [prose.number(float(high), 3) for _, high in ends],
        "mean error": [prose.number(law.mean_error(t), 3) for law, t in zip(laws, truths)],
        "P(rank off by more than 5 % of people)": [prose.percent(law.rank_error(0.05 * people)) for law in laws],
    }  # fmt: skip
    return Panel("What is released", figures.finish(figure, colours, height=HEIGHT), alt, table)


def width(values: Values, data: np.ndarray, colours: Palette) -> Panel:
    """Error of the median against the range that incomes are clamped to."""
    epsilon = values["epsilon"] / len(SHARES[values["pq_levels"]])
    truth, tops, here = true_quantile(data, 0.5), np.geomspace(100, 1e6, 33), float(values["pq_range"])
    error = lambda top: core.law(data, 0.5, epsilon, low=0.0, high=float(top)).mean_error(truth)  # noqa: E731
    laplace = lambda top: core.laplace_error(truth, epsilon, low=0.0, high=float(top))  # noqa: E731
    curves = (
        Curve("exponential mechanism", np.array([error(top) for top in tops]), error(here), ringed=True),
        Curve("Laplace noise on the median", np.array([laplace(top) for top in tops]), laplace(here), style="laplace"),
    )
    low, high = float(curves[0].y.min()), float(curves[1].y.max())
    return Plot(
        "The price of a wide range",
        Axis("upper end of the range (thousands)", figures.log_ticks(100, 1e6), name="range"),
        Axis("mean error (thousands)", figures.log_ticks(low, high)), tops, curves,
        hover="range %{x:.3~r}: off by %{y:.3~r}", here=here, about="range", height=360,
    ).panel(colours)  # fmt: skip


def ranks(epsilon: float) -> float:
    """Mean rank error of the median of 999 evenly spread values."""
    law = core.law(np.arange(1, 1000) / 1000, 0.5, epsilon, low=0, high=1)
    return float(law.masses @ np.abs(np.arange(1000) - law.target))


def weaker(epsilon: float, times: int) -> Question:
    """The mean rank error at ε divided by so much."""
    less = epsilon / times
    word, growth = ("halved", "it doubles, about") if times == 2 else ("divided by 4", "it grows fourfold, about")
    more = "it grows fourfold, about" if times == 2 else "it grows 16 times, about"
    return Question(
        text=f"999 values lie evenly in [0, 1]. When ε is {word}, from {epsilon:g} to {less:g}, what happens to the "
        "mean number of people between the private median and the true one?",
        options=("it stays the same", growth, more),
        right=lambda: min(range(3), key=lambda i: abs(math.log(ranks(less) / ranks(epsilon) / times**i))),
        because=lambda: (
            f"The rank's law falls by $e^{{-\\varepsilon/2}}$ per person, so its width is about 2/ε: "
            f"{ranks(epsilon):.2f} people at ε = {epsilon:g} and {ranks(less):.2f} at ε = {less:g}, whatever n is."
        ),
        hint="The probability of an income falls by $e^{-\\varepsilon/2}$ per person between it and the median.",
    )


TOPIC = Topic(
    name="private_quantiles",
    title="Private quantiles",
    section="7.3",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("One median, 1000 people", {"pq_levels": "median", "pq_people": 1000, "epsilon": 1.0}),
        Experiment("Nine deciles of 200 people", {"pq_levels": "deciles", "pq_people": 200, "epsilon": 1.0}),
        Experiment(
            "A careless range: up to a billion",
            {"pq_levels": "median", "pq_people": 200, "pq_range": 1_000_000, "epsilon": 0.5},
        ),
    ),
    question=weaker(1.0, 2),
    vary=lambda rng: weaker(rng.choice((0.4, 0.6, 0.8, 1.2, 2.0)), rng.choice((2, 4))),
)
