"""Which columns matter? A linear model chosen by noisy max: how often the right one is named, against n and ε."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import model_selection as core
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

PEOPLE = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
RESPONSE = 1.0
"""r: answers are within ±r."""
SHOWN = 10
"""Models in the chart of names."""

CONTROLS = {
    "epsilon": widgets.EPSILON, "ms_people": Stops(100_000, PEOPLE), "ms_columns": Stops(6, (2, 3, 4, 5, 6)),
    "ms_penalty": Choice("bic", core.PENALTIES), "ms_radius": Stops(1.0, (0.25, 0.5, 1.0, 2.0, 5.0)),
    "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(page, "ms_people", "People n", show=prose.count)
    widgets.slider(page, "ms_columns", "Columns d", help="The first two matter.")
    widgets.pick(page, "ms_penalty", "Price of a column")
    widgets.slider(page, "ms_radius", "Coefficients add up to at most R", help="In absolute values.")
    widgets.seed(page)


@lru_cache(maxsize=64)
def choices(columns: int, penalty: str, radius: float, seed: int) -> tuple[core.Choice, ...]:
    """The choices of the first 100, 200, … people of one made-up table."""
    x, y = core.example(PEOPLE[-1], columns, np.random.default_rng(seed))
    sums = (core.Sums.of(x[:n], y[:n], response=RESPONSE) for n in PEOPLE)
    return tuple(core.Choice(one, RESPONSE, radius, core.penalty(penalty, one.people)) for one in sums)


@lru_cache(maxsize=256)
def named(choice: core.Choice, epsilon: float) -> np.ndarray:
    """The probability of every model."""
    return choice.probabilities(epsilon)


def hits(choice: core.Choice, epsilon: float) -> tuple[float, float]:
    """P(exactly the columns that matter are named), P(at least they are)."""
    shares, wanted = named(choice, epsilon), set(range(len(core.COEFFICIENTS)))
    exactly = shares[[set(model) == wanted for model in choice.models]]
    return float(exactly.sum()), float(shares[[wanted <= set(model) for model in choice.models]].sum())


def name(model: tuple[int, ...]) -> str:
    """The columns of a model, from x₁ on."""
    return " ".join(f"x{'₁₂₃₄₅₆'[column]}" for column in model) or "no column"


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people = values["epsilon"], int(values["ms_people"])
    every = choices(int(values["ms_columns"]), values["ms_penalty"], values["ms_radius"], int(values["seed"]))
    here = every[PEOPLE.index(people)]
    exactly, found = hits(here, epsilon)
    gap, bound = float(named(here, epsilon) @ here.excess), here.gap_bound(epsilon)
    headline = (
        f"{prose.count(people)} people, ε = {epsilon:g}: of {len(here.models)} models exactly the right one is named "
        f"with probability **{prose.percent(exactly)}**, both columns that matter with **{prose.percent(found)}**. The "
        f"score is **{prose.number(gap, 3)}** above the least on average, at most {prose.number(bound, 3)}."
    )
    best = name(here.models[int(here.scores.argmin())])
    facts = {
        "the right model": f"{prose.number(100 * exactly, 6)} %, exact for the data of seed {int(values['seed'])}",
        "mean excess of the score": f"{prose.number(gap, 6)}, exact", "its bound": prose.number(bound, 6),
        "least score": best,
    }  # fmt: skip
    note = (
        f"Without privacy: {best}. Only x₁ and x₂ matter, with coefficients 0.6 and −0.3. Noise of scale "
        f"{prose.number(here.scale(epsilon), 3)} on every score; one column costs {prose.number(here.penalty, 3)}. "
        f"Data: made up, seed {int(values['seed'])}; probabilities exact for them."
    )
    panels = (against_people(values, every, (exactly, found), colours), later(names, here, epsilon, colours),
              later(excess, values, every, gap, colours))  # fmt: skip
    return Picture(headline, panels, facts, (note,))


def against_people(
    values: Values, every: tuple[core.Choice, ...], here: tuple[float, float], colours: Palette
) -> Panel:
    """Probabilities of naming what matters, against n."""
    found = 100 * np.array([hits(choice, values["epsilon"]) for choice in every]).T
    curves = zip(("both that matter, and perhaps others", "exactly the right model"), found[::-1], here[::-1])
    return Plot(
        "What is named", people_axis(), Axis("probability (%)", {"range": [0, 103]}), np.array(PEOPLE, float),
        tuple(Curve(called, y, 100 * one, ringed=True, style=1 - k) for k, (called, y, one) in enumerate(curves)),
        hover="n = %{x}: %{y:.3~r} %", here=values["ms_people"],
    ).panel(colours)  # fmt: skip


def people_axis() -> Axis:
    return Axis("people n", figures.log_ticks(PEOPLE[0], PEOPLE[-1]), prose.count)


def names(choice: core.Choice, epsilon: float, colours: Palette) -> Panel:
    """The likeliest models with their probabilities."""
    shares = named(choice, epsilon)
    order = np.argsort(-shares, kind="stable")[:SHOWN]
    shown = [name(choice.models[one]) for one in order]
    wanted = set(range(len(core.COEFFICIENTS)))
    figure = Chart()
    kinds = (
        ("the right one", lambda model: model == wanted, 0), ("too many", lambda model: model > wanted, 1),
        ("something is missing", lambda model: not model >= wanted, 2),
    )  # fmt: skip
    for label, fits, style in kinds:
        rows = [k for k, one in enumerate(order) if fits(set(choice.models[one]))]
        if rows:
            figure.add_scatter(
                x=100 * shares[order[rows]], y=[shown[k] for k in rows], name=label, mode="markers",
                marker={"size": 12, "symbol": ("circle", "square", "x")[style],
                        "color": lines.colour(colours, style)},
                hovertemplate="%{y}: %{x:.3~r} %<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(title="probability (%)", rangemode="tozero")
    figure.update_yaxes(categoryorder="array", categoryarray=shown[::-1])
    alt = "The likeliest models: " + ", ".join(f"{one} {100 * shares[k]:.3g} %" for one, k in zip(shown, order))
    table = {
        "model": shown, "probability (%)": [prose.number(100 * float(v), 3) for v in shares[order]],
        "score above the least": [prose.number(float(v), 3) for v in choice.excess[order]],
    }  # fmt: skip
    return Panel("The likeliest models", figures.finish(figure, colours, height=360), alt, table, "names")


def excess(values: Values, every: tuple[core.Choice, ...], gap: float, colours: Palette) -> Panel:
    """Mean excess of the named model's score against n, and the theorem's bound."""
    epsilon = values["epsilon"]
    mean = np.array([named(choice, epsilon) @ choice.excess for choice in every])
    bound = np.array([choice.gap_bound(epsilon) for choice in every])
    return Plot(
        "Score above the least", people_axis(),
        Axis("mean excess", figures.log_ticks(float(mean.min()) / 2, 2 * float(bound.max()))), np.array(PEOPLE, float),
        (Curve("private choice", mean, gap, ringed=True), Curve("bound, whatever the data", bound, style="bound")),
        hover="n = %{x}: %{y:.3~r}", here=values["ms_people"], about="excess", height=360,
    ).panel(colours)  # fmt: skip


def asked(radius: float, epsilon: float) -> Question:
    """Scale of the noise on every score."""
    table = core.Sums.of([[0.0]], [0.0], response=RESPONSE)
    scale = lambda: core.Choice(table, RESPONSE, radius, 0.0).scale(epsilon)  # noqa: E731
    return Question(
        text=f"Answers y lie within ±1, columns within ±1, and the coefficients' absolute values add up to at most "
        f"{radius:g}. Which scale does the Laplace noise on every score need at ε = {epsilon:g}?",
        right=scale,
        because=lambda: (
            f"A residual is at most 1 + {radius:g} in size, so one row moves a sum of squares by at most "
            f"{(1 + radius) ** 2:g}; noisy max takes twice that over ε: {prose.plain(scale())}."
        ),
        hint="How large can one squared residual be? Noisy max needs twice the sensitivity over ε.",
    )


TOPIC = Topic(
    name="model_selection",
    title="Private model selection",
    section="5.3",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("AIC: idle columns are cheap", {"ms_penalty": "aic", "ms_people": 100_000, "epsilon": 1.0}),
        Experiment("Too few people: 500", {"ms_penalty": "bic", "ms_people": 500, "epsilon": 1.0}),
        Experiment("A wide range of coefficients, R = 5", {"ms_penalty": "bic", "ms_radius": 5.0, "epsilon": 1.0}),
    ),
    question=asked(2.0, 0.5),
    vary=lambda rng: asked(rng.choice((0.5, 1.5, 3.0, 4.0)), rng.choice((0.4, 0.8, 1.6, 2.0))),
)
