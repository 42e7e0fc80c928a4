"""Randomised response: the law of the estimate, its price against a trusted curator, and what one answer proves."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.accounting import attack
from dpcore.figures import Chart, Palette
from dpcore.gallery import randomised_response as core
from pages.lessons import curves as parts
from pages.lessons import lines, piles, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose

SHARES = (0.0, 0.001, *(round(0.01 * k, 2) for k in range(1, 101)))
PEOPLE = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
GRID = np.geomspace(0.05, 10, 81)
CONTROLS = {
    "epsilon": widgets.EPSILON,
    "rr_share": Stops(0.3, SHARES),
    "rr_people": Stops(500, PEOPLE),
    "seed": widgets.SEED,
}
SURVEYS = 200
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(page, "rr_share", "True share of “yes”", show=prose.percent)
    widgets.slider(page, "rr_people", "People asked", show=prose.count)
    widgets.seed(page)


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, share, people = values["epsilon"], values["rr_share"], int(values["rr_people"])
    lies, drawing = core.variance(epsilon, share, people)
    total, central = math.sqrt(lies + drawing), math.sqrt(drawing + 2 / (people * epsilon) ** 2)
    truth = core.truth_probability(epsilon)
    headline = (
        f"Every answer is the truth with probability **{prose.number(100 * truth, 3)}\u202f%**; {prose.count(people)} "
        f"of them give the share with a standard error of **{points(total)}** "
        f"({prose.number(100 * math.sqrt(drawing), 3)} without lies)."
    )
    facts = {"standard error": f"{prose.number(100 * total, 6)} percentage points, exact", "ε": f"{epsilon:g}"}
    note = (
        f"The coin answers with probability p = {prose.number(200 * (1 - truth), 3)}\u202f%, right half of the time. "
        f"A trusted curator who adds Laplace noise to the count would be off by ±{points(central)}."
    )
    panels = (
        law(epsilon, share, people, colours), later(surveys, values, colours),
        later(error, epsilon, share, people, colours), later(belief, epsilon, share, colours),
    )  # fmt: skip
    return Picture(headline, panels, facts, (note,))


def points(share: float) -> str:
    """A share as percentage points."""
    return f"{prose.number(100 * share, 3)} points"


def law(epsilon: float, share: float, people: int, colours: Palette) -> Panel:
    """Probabilities of the estimate, per percentage point, so that laws on different grids compare."""
    figure = Chart()
    truth = core.truth_probability(epsilon)
    stretch = 1 / (2 * truth - 1)
    lied, honest = core.answers(people, share, epsilon), core.binomial(people, share)
    grid = np.arange(people + 1) / people
    sides = ("share from the answers", 100 * core.estimate(grid, epsilon), lied, stretch), (
        "if everybody told the truth", 100 * grid, honest, 1.0
    )  # fmt: skip
    for number, (name, x, mass, wide) in enumerate(sides):
        step = 100 * wide / people
        keep = mass > 1e-7 * mass.max()
        style = (lines.reference(colours) if number else lines.series(colours, "local")) | {"shape": "hvh"}
        figure.add_scatter(
            x=x[keep], y=mass[keep] / step, name=name, mode="lines", line=style,
            fill=None if number else "tozeroy", fillcolor=colours.fill, customdata=100 * mass[keep],
            hovertemplate=f"{name}<br>%{{x:.3g}} %: probability %{{customdata:.3g}} %<extra></extra>",
        )  # fmt: skip
    parts.upright(figure, 100 * share, "true share", colours)
    figure.update_xaxes(title="estimated share (%)", range=[0, 100])
    highest = honest.max() * people / 100
    figure.update_yaxes(title="probability per percentage point", range=[0, 1.04 * highest])
    total = math.sqrt(sum(core.variance(epsilon, share, people)))
    alt = f"Law of the estimate around the true share {100 * share:g} %, with standard deviation {points(total)}."
    table = quantiles(100 * core.estimate(grid, epsilon), lied) | {
        "true answers (%)": quantiles(100 * grid, honest)["estimate (%)"]
    }
    return Panel("The estimate", figures.finish(figure, colours, height=HEIGHT), alt, table)


def quantiles(x: np.ndarray, mass: np.ndarray) -> dict[str, list]:
    """Quantiles of a law on points."""
    places = np.minimum(np.searchsorted(np.cumsum(mass), LEVELS), len(x) - 1)
    return {
        "quantile": [prose.percent(level) for level in LEVELS],
        "estimate (%)": [prose.number(float(x[place]), 3) for place in places],
    }


def highest(epsilon: float, share: float, people: int) -> float:
    """The least share, in per cent, at or below which 95 % of the estimates lie."""
    place = int(np.searchsorted(np.cumsum(core.answers(people, share, epsilon)), 0.95))
    return 100 * float(core.estimate(place / people, epsilon))


def surveys(values: Values, colours: Palette) -> Panel:
    """The same question asked again and again: one dot for each estimate, over the number expected in its column."""
    epsilon, share, people = values["epsilon"], values["rr_share"], int(values["rr_people"])
    at, masses = 100 * core.estimate(np.arange(people + 1) / people, epsilon), core.answers(people, share, epsilon)
    draws = at[np.random.default_rng(int(values["seed"])).choice(people + 1, SURVEYS, p=masses / masses.sum())]
    edges, parts = piles.cells(at, masses)
    x, height = piles.heights(draws, edges)
    middles, wide = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    top = 1.1 * max(np.nanmax(height), SURVEYS * parts.max())
    figure = Chart()
    figure.add_bar(
        x=middles, y=SURVEYS * parts, width=[float(wide)] * len(middles), name="expected, exact",
        marker={"color": colours.fill, "line": {"width": 0}},
        hovertemplate="%{x:.3g} %: %{y:.3g} expected<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=height - 0.5, mode="markers", name="one survey",
        marker={"color": colours.accent, "size": colours.type // 2, "line": {"width": 0}},
        hovertemplate="estimate %{x:.3g} %<extra></extra>",
    )  # fmt: skip
    figures.upright(figure, 100 * share, line=lines.reference(colours))
    figure.update_xaxes(title="estimated share (%)", range=[float(edges[0] - wide), float(edges[-1] + wide)])
    figure.update_yaxes(title="surveys", range=[0, float(top)])
    figures.finish(figure, colours, height=360)
    growing = {
        0: lambda fallen: {"y": fallen * parts},
        1: lambda fallen: {"x": x[:fallen], "y": height[:fallen] - 0.5},
    }
    piles.one_by_one(figure, SURVEYS, growing, "{} surveys", colours)
    off, exact = (
        float(np.sqrt(np.mean((draws / 100 - share) ** 2))),
        math.sqrt(sum(core.variance(epsilon, share, people))),
    )
    alt = (
        f"{SURVEYS} simulated surveys as dots that pile up around the true share {100 * share:g} %: they are off by "
        f"{points(off)} (root mean square), {points(exact)} are expected."
    )
    table = quantiles(at, masses) | {
        "simulated (%)": [prose.number(float(v), 3) for v in np.quantile(draws, LEVELS, method="inverted_cdf")]
    }
    return Panel(f"{SURVEYS} surveys, one by one", figure, alt, table, "surveys")


def error(epsilon: float, share: float, people: int, colours: Palette) -> Panel:
    """Standard errors against ε."""
    drawing = share * (1 - share) / people
    lies = lambda e: core.variance(float(e), share, people)[0]  # noqa: E731
    local = lambda e: 100 * math.sqrt(lies(e) + drawing)  # noqa: E731
    central = lambda e: 100 * math.sqrt(drawing + 2 / (people * e) ** 2)  # noqa: E731
    true = 100 * math.sqrt(drawing)
    return Plot(
        "Standard error", Axis("ε", figures.log_ticks(0.05, 10), "{:.3g}".format),
        Axis("standard error (percentage points)", figures.log_ticks(0.01, 1e3)), GRID,
        (
            Curve("randomised response", np.array([local(e) for e in GRID]), local(epsilon), ringed=True),
            Curve("central, Laplace noise", np.array([central(e) for e in GRID]), central(epsilon), style="curator"),
            Curve("true answers", np.full(GRID.shape, true), true, style=lines.reference(colours)),
        ),
        hover="ε = %{x:.3g}: ±%{y:.3g} points", here=epsilon, about="error", height=360,
    ).panel(colours)  # fmt: skip


def belief(epsilon: float, share: float, colours: Palette) -> Panel:
    """What one answer says about its giver, against ε."""
    yes, no = (lambda e, sign=sign: 100 * attack.posterior(share, sign * e) for sign in (1, -1))
    return Plot(
        "What one answer gives away", Axis("ε", figures.log_ticks(0.05, 10), "{:.3g}".format),
        Axis("belief in a true yes (%)", {"range": [-3, 103]}, lambda v: prose.percent(v / 100)), GRID,
        (
            Curve("after “yes”", yes(GRID), float(yes(epsilon)), ringed=True),
            Curve("after “no”", no(GRID), float(no(epsilon))),
            Curve("before", np.full(GRID.shape, 100 * share), 100 * share, style=lines.reference(colours)),
        ),
        hover="ε = %{x:.3g}: %{y:.3g} %", here=epsilon, about="belief", height=360,
    ).panel(colours)  # fmt: skip


def asked(yes: float) -> Question:
    """The share behind so many answers "yes"."""
    share = lambda: 100 * core.estimate(yes, core.epsilon_of(0.75))  # noqa: E731
    return Question(
        text=f"Every answer is the truth with probability 3/4. In all, {100 * yes:g} % of the answers are “yes”. What "
        "is the unbiased estimate of the true share?",
        right=share,
        because=lambda: (
            "Of the answers, 25 % would be “yes” even if nobody's truth were: "
            f"({100 * yes:g} − 25) / (75 − 25) = {share():.0f} %."
        ),
        unit="%",
        hint="How many answers would be “yes” if nobody's truth were, and how many if everybody's were?",
    )


TOPIC = Topic(
    name="randomised_response",
    title="Randomised response",
    section="3.2",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"{prose.count(values['rr_people'])} people answer at ε = {values['epsilon']:g}; "
            f"{prose.percent(values['rr_share'])} would truly say yes. Below which share do 95\u202f% of the estimates "
            "lie?"
        ),
        tuple(map(float, range(101))),
        lambda values: highest(values["epsilon"], values["rr_share"], int(values["rr_people"])),
        lambda share: prose.percent(share / 100),
        along="x",
    ),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("The classroom's coins: truth 3 times in 4", {"epsilon": 1.1}),
        Experiment("A rare trait: 2 % of 500 people at ε = 0.5", {"epsilon": 0.5, "rr_share": 0.02, "rr_people": 500}),
        Experiment("ε = 5: an answer is a confession", {"epsilon": 5.0, "rr_share": 0.1, "rr_people": 1000}),
    ),
    question=asked(0.6),
    vary=lambda rng: asked(rng.choice((0.35, 0.4, 0.45, 0.5, 0.55, 0.65))),
)
