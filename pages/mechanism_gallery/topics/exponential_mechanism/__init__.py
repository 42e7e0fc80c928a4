"""The exponential mechanism on two stories: a median age, and the price of pumpkins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from plotly.subplots import make_subplots

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import exponential_mechanism as core
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

STORIES = {"pumpkins": "the price of pumpkins", "ages": "a median age", "camps": "a median of two camps"}
PEOPLE = (4, 12, 40, 120, 400, 1200, 4000)
CONTROLS = {
    "epsilon": widgets.EPSILON, "em_story": Choice("pumpkins", STORIES), "em_people": Stops(400, PEOPLE),
}  # fmt: skip


@dataclass(frozen=True)
class Story:
    """What is chosen, and how good each choice is.

    outputs : (k,) in `unit`.   utilities : (k,), in `measure`.   sensitivity : of the utility.
    """

    outputs: np.ndarray
    utilities: np.ndarray
    sensitivity: float
    output: str
    measure: str
    tell: Callable[[float], str]


def story(name: str, people: int) -> Story:
    """The story's outputs and utilities for so many people, a multiple of four."""
    if name == "pumpkins":
        prices = np.arange(1, 501)
        worths = np.repeat([100, 100, 100, 401], people // 4)
        revenue = core.revenues(worths, prices) / 100
        return Story(prices / 100, revenue, 5.0, "price (\\$)", "revenue (\\$)", lambda price: f"\\${price:.2f}")
    ages = np.arange(0, 101)
    shares = (np.arange(people) + 0.5) / people
    data = np.round(18 + 60 * shares**1.6) if name == "ages" else np.where(shares < younger(people), 20, 80)
    utilities = core.rank_utilities(data, ages)
    return Story(
        ages.astype(float), utilities, 1.0, "age (years)", "minus people away from a median", lambda age: f"{age:.0f}"
    )


def younger(people: int) -> float:
    """Share of the younger camp: 49 %, of few people one less than half of them."""
    return min(math.floor(0.49 * people), people // 2 - 1) / people


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "em_story", "What is chosen")
    widgets.slider(page, "em_people", "People", show=prose.count)


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people = values["epsilon"], int(values["em_people"])
    told = story(values["em_story"], people)
    masses = core.probabilities(told.utilities, epsilon, told.sensitivity)
    best = told.utilities == told.utilities.max()
    short = core.expected_shortfall(told.utilities, epsilon, told.sensitivity)
    ends = told.outputs[best][[0, -1]]
    winner = told.tell(float(ends[0])) + (f" to {told.tell(float(ends[1]))}" if ends[1] > ends[0] else "")
    if values["em_story"] == "pumpkins":
        share = 100 * (1 - short / float(told.utilities.max()))
        result = (
            f"the random price earns **{prose.number(share, 3)}\u202f%** of what the best one ({winner}) would, and "
            f"*is* the best one with probability **{prose.percent(float(masses[best].sum()))}**"
        )
        note = (
            "Prices in cents up to \\$5, so that one buyer changes the revenue of a price by at most \\$5. Of the "
            "buyers three quarters would pay \\$1, the others \\$4.01."
        )
    else:
        result = (
            f"the age released misses being a median by **{prose.number(short, 3)}** of {prose.count(people)} people "
            f"on average; it *is* the median ({winner}) with probability **{prose.percent(float(masses[best].sum()))}**"
        )
        note = "Whole years from 0 to 100. One person replaced changes how far an age is from a median by at most 1."
        if values["em_story"] == "camps":
            few = round(people * younger(people))
            note += f" Of the people {prose.count(few)} are 20 years old, the other {prose.count(people - few)} are 80."
    headline = f"At ε = {epsilon:g}, {result}."
    facts = {
        "expected shortfall of the utility": f"{prose.number(short, 6)}, exact",
        "sensitivity": f"{told.sensitivity:g}",
    }
    return Picture(headline, (law(told, masses, colours), later(tail, told, epsilon, colours)), facts, (note,))


def law(told: Story, masses: np.ndarray, colours: Palette) -> Panel:
    """Utility above, probability below, over the same outputs."""
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.45, 0.55])
    measure, output = told.measure.replace("\\", ""), told.output.replace("\\", "")
    figure.add_scatter(
        x=told.outputs, y=told.utilities, mode="lines", name="utility", row=1, col=1,
        line=lines.series(colours, "bound", width=1.5) | {"shape": "hv"},
        hovertemplate=f"{output} %{{x:.3g}}: {measure} %{{y:.3g}}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=told.outputs, y=100 * masses, mode="lines", name="probability of being chosen", row=2, col=1, fill="tozeroy",
        fillcolor=colours.fill, line=lines.series(colours, "exponential mechanism", width=1.8) | {"shape": "hvh"},
        hovertemplate=f"{output} %{{x:.3g}}: %{{y:.3g}} %<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(title="utility", row=1, col=1)
    figure.update_yaxes(title="probability (%)", rangemode="tozero", row=2, col=1)
    figures.finish(figure, colours, height=HEIGHT)
    plain = {"size": colours.type - 1, "color": colours.text}
    figure.update_layout(
        yaxis2={
            "tickfont": plain,
            "title": {"text": "probability (%)", "font": {"color": colours.text}},
            "automargin": True,
        },
        xaxis2={"tickfont": plain, "title": {"text": output, "font": {"color": colours.text}}, "automargin": True},
    )
    order = np.argsort(-masses, kind="stable")[:15]
    likeliest = told.tell(float(told.outputs[order[0]])).replace("\\", "")
    alt = (
        f"Utility and probability of {len(masses)} outputs; the likeliest is {likeliest} with probability "
        f"{prose.percent(float(masses[order[0]]))}."
    )
    table = {
        output: [told.tell(float(told.outputs[k])).replace("\\", "") for k in order],
        measure: [prose.number(float(told.utilities[k]), 3) for k in order],
        "probability (%)": [prose.number(100 * float(masses[k]), 3) for k in order],
    }
    return Panel("What is chosen", figure, alt, table)


def tail(told: Story, epsilon: float, colours: Palette) -> Panel:
    """How often the utility falls short by so much, and the theorem's bound."""
    rate = epsilon / (2 * told.sensitivity)
    most = min((math.log(len(told.outputs)) + 10) / rate, float(np.ptp(told.utilities)) * 1.02)
    x = np.linspace(0, most, 201)
    exact = 100 * core.shortfall_tail(told.utilities, epsilon, told.sensitivity, x)
    bound = 100 * core.shortfall_bound(told.utilities, epsilon, told.sensitivity, x)
    place = int(np.argmax(bound < 5)) if (bound < 5).any() else -1
    title = f"{told.measure.replace(chr(92), '')}: short of the best by at least"
    return Plot(
        "How far from the best", Axis(title, name="short by at least"),
        Axis("probability (%)", {"rangemode": "tozero", "range": [0, 103]}), x,
        (Curve("exact", exact, exact[place]), Curve("bound of Theorem 7.2", bound, bound[place], style="bound")),
        hover="short by %{x:.3g} or more: %{y:.3g} %", here=x[place], about="tail", height=360,
    ).panel(colours)  # fmt: skip


def asked(ahead: int, epsilon: float) -> Question:
    """Odds of two conditions, one of them so many cases ahead."""
    masses = lambda: core.probabilities([20 + ahead, 20], epsilon, 1)  # noqa: E731
    odds = lambda: float(masses()[0] / masses()[1])  # noqa: E731
    return Question(
        text=f"Condition A has {20 + ahead} cases, B has 20; the utility of each is its count (sensitivity 1). At "
        f"ε = {epsilon:g}, how many times as likely is A to be named as B?",
        right=odds,
        because=lambda: (
            f"The ratio is $e^{{\\varepsilon({20 + ahead}-20)/2\\Delta}}=e^{{{epsilon * ahead / 2:g}}}$ = "
            f"{odds():.2f}: only differences of utility count."
        ),
        unit="times",
        hint="Weights are $e^{\\varepsilon u/2\\Delta}$; divide one by the other.",
    )


TOPIC = Topic(
    name="exponential_mechanism",
    title="Exponential mechanism",
    section="7",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Four buyers only: hopeless", {"em_story": "pumpkins", "em_people": 4, "epsilon": 1.0}),
        Experiment(
            "4000 buyers: two peaks that noise would miss", {"em_story": "pumpkins", "em_people": 4000, "epsilon": 1.0}
        ),
        Experiment("Two camps: is there a median at all?", {"em_story": "camps", "em_people": 120, "epsilon": 1.0}),
    ),
    question=asked(10, 0.5),
    vary=lambda rng: asked(rng.randint(4, 12), rng.choice((0.2, 0.5, 0.8))),
)
