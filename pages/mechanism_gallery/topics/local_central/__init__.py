"""Local against central privacy: errors against the number of people, releases side by side, minimax rates."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import local_and_central as core
from pages.lessons import curves as parts
from pages.lessons import lines, piles, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

PEOPLE = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
SHARES = tuple(round(0.05 * k, 2) for k in range(21))
MOMENTS = {"2": "k = 2 (finite variance)", "3": "k = 3", "4": "k = 4", "8": "k = 8", "inf": "k = ∞ (bounded)"}
NAMES = {
    "response": "randomised response", "local-laplace": "local Laplace noise", "central": "trusted curator",
}  # fmt: skip
ROLES = {"response": "local", "local-laplace": "laplace", "central": "curator"}
DRAWS = 400
GOLDEN = 0.5 * (math.sqrt(5) - 1)
CONTROLS = {
    "epsilon": widgets.EPSILON, "lc_people": Stops(1000, PEOPLE), "lc_share": Stops(0.3, SHARES),
    "lc_moments": Choice("2", MOMENTS), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(page, "lc_people", "People n", show=prose.count)
    widgets.slider(page, "lc_share", "True share of ones", show=lambda share: f"{100 * share:.0f}\u202f%")
    widgets.pick(page, "lc_moments", "Minimax rates: which moments are bounded")
    widgets.seed(page)


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people = values["epsilon"], int(values["lc_people"])
    local, central = (math.sqrt(core.variance(model, people, epsilon)) for model in ("response", "central"))
    needed = core.price_of_distrust(people, epsilon)
    headline = (
        f"{prose.count(people)} people at ε = {epsilon:g}: without trust the noise makes the share wrong by "
        f"**±{points(local)}**, with a trusted curator by **±{points(central)}**. To match that locally takes "
        f"**{prose.number(needed, 3)}** people."
    )
    facts = {
        "local, standard error": f"{prose.number(100 * local, 6)} percentage points, exact",
        "central, standard error": f"{prose.number(100 * central, 6)} percentage points, exact",
    }
    free = core.free_from(epsilon, values["lc_share"])
    from_on = (
        f"from n = {prose.count(math.ceil(free))} on" if math.isfinite(free) else "for no n: all answers are alike"
    )
    note = (
        f"The curator's noise is smaller than the chance in drawing people {from_on}. Releases below: simulated, seed "
        f"{int(values['seed'])}."
    )
    panels = (errors(values, colours), later(releases, values, colours), later(rates, values, colours))
    return Picture(headline, panels, facts, (note,))


def points(share: float) -> str:
    """A share as percentage points."""
    return f"{prose.number(100 * share, 3)} points"


def errors(values: Values, colours: Palette) -> Panel:
    """Standard errors of the noise against n, exact."""
    epsilon, share, people = values["epsilon"], values["lc_share"], int(values["lc_people"])
    grid = np.geomspace(PEOPLE[0], PEOPLE[-1], 61)
    error = lambda model, n: 100 * math.sqrt(core.variance(model, n, epsilon))  # noqa: E731
    chance = lambda n: 100 * math.sqrt(core.sampling_variance(n, share))  # noqa: E731
    curves = [
        Curve(name, np.array([error(model, n) for n in grid]), error(model, people), model != "local-laplace",
              ROLES[model])
        for model, name in NAMES.items()
    ]  # fmt: skip
    drawing = Curve(
        "chance of drawing", np.array([chance(n) for n in grid]), chance(people), style=lines.reference(colours)
    )
    return Plot(
        "Error of the noise", people_axis(),
        Axis("standard error (percentage points)", figures.log_ticks(1e-5, 100) | {"range": [-4.7, 2.1]}), grid,
        (*curves, drawing), hover="n = %{x:,.0f}: ±%{y:.3g} points", here=people,
        remark="Local errors fall like 1/√n, the curator's like 1/n.",
    ).panel(colours)  # fmt: skip


def people_axis() -> Axis:
    """Numbers of people."""
    return Axis("people n", figures.log_ticks(PEOPLE[0], PEOPLE[-1]) | {"range": [0.9, 6.25]})


def releases(values: Values, colours: Palette) -> Panel:
    """Simulated releases of either kind for the same table, one after another."""
    epsilon, people, seed = values["epsilon"], int(values["lc_people"]), int(values["seed"])
    ones = round(values["lc_share"] * people)
    rng = np.random.default_rng(seed)
    found = {
        model: 100 * core.simulate(model, people, ones, epsilon=epsilon, draws=DRAWS, rng=rng)
        for model in ("response", "central")
    }
    truth = 100 * ones / people
    figure, table, growing = Chart(), {"share of releases below": ["5 %", "25 %", "50 %", "75 %", "95 %"]}, {}
    for row, (model, draws) in enumerate(found.items()):
        y = 1 - row + 0.6 * (np.arange(1, DRAWS + 1) * GOLDEN % 1 - 0.5)  # evenly spread, however many there are
        figure.add_scatter(
            x=draws, y=y, mode="markers", name=NAMES[model],
            marker={"color": lines.colour(colours, ROLES[model]), "size": 5, "opacity": 0.7, "line": {"width": 0}},
            hovertemplate=f"{NAMES[model]}: %{{x:.3g}} %<extra></extra>",
        )  # fmt: skip
        growing[row] = lambda fallen, x=draws, y=y: {"x": x[:fallen], "y": y[:fallen]}
        table[f"{NAMES[model]} (%)"] = [
            prose.number(float(x), 3) for x in np.quantile(draws, (0.05, 0.25, 0.5, 0.75, 0.95))
        ]
    reach = 1.05 * max(float(np.abs(draws - truth).max()) for draws in found.values())
    parts.upright(figure, truth, f"true share {truth:g} %", colours)
    figure.update_xaxes(title="released share (%)", range=[truth - reach, truth + reach])
    figure.update_yaxes(range=[-0.5, 1.5], showticklabels=False, showgrid=False, zeroline=False)
    figures.finish(figure, colours, height=340)
    piles.one_by_one(figure, DRAWS, growing, "{} releases of each", colours)
    spread = {model: np.quantile(draws, (0.05, 0.95)) for model, draws in found.items()}
    alt = f"{DRAWS} simulated releases, true share {truth:g} %. 90 % of them: " + "; ".join(
        f"{NAMES[model]} from {low:.3g} to {high:.3g} %" for model, (low, high) in spread.items()
    )
    title = f"{prose.count(DRAWS)} releases, one by one"
    return Panel(title, figure, alt, table, "releases")


def rates(values: Values, colours: Palette) -> Panel:
    """Minimax rates, up to constants."""
    epsilon, moments = values["epsilon"], float(values["lc_moments"])
    grid = np.geomspace(PEOPLE[0], PEOPLE[-1], 49)
    found = np.sqrt([core.minimax_rates(n, epsilon, moments) for n in grid]).T
    name = "∞" if math.isinf(moments) else f"{moments:g}"
    kinds = (
        ("local model", found[2], ROLES["response"]), ("central model", found[1], ROLES["central"]),
        ("no privacy", found[0], lines.reference(colours)),
    )  # fmt: skip
    return Plot(
        f"What nobody can beat, k = {name}", people_axis(),
        Axis("root mean squared error, up to a constant", figures.log_ticks(float(found.min()), float(found.max()))),
        grid, tuple(Curve(*told, style=style) for *told, style in kinds),
        hover="n = %{x:,.0f}: of order %{y:.3g}", about="rates", height=340,
        remark=f"For means with E|X|^{name} at most 1.",
    ).panel(colours)  # fmt: skip


def asked(people: int) -> Question:
    """How many people randomised response needs to match a curator who has so many."""
    needed = lambda: core.price_of_distrust(people, 1.0)  # noqa: E731
    return Question(
        text=f"A trusted curator has the answers of {people} people. How many people does randomised response need, at "
        "the same ε, for noise of the same size?",
        right=needed,
        because=lambda: (
            "Its variance is $e^\\varepsilon/((e^\\varepsilon-1)^2n)$, the curator's "
            "$2e^\\varepsilon/((e^\\varepsilon-1)^2n^2)$: the factor n/2 between them does "
            f"not depend on ε, and {people}²/2 = {prose.count(round(needed()))}."
        ),
        unit="people",
        hint="Local noise falls like 1/√n, the curator's like 1/n. Set them equal; the figure has both.",
    )


TOPIC = Topic(
    name="local_central",
    title="Local against central",
    section="4.2",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"{prose.count(values['lc_people'])} people answer by randomised response at ε = {values['epsilon']:g}. By "
            "how many percentage points do their lies put the share off (standard error)?"
        ),
        (
            1e-3,
            2e-3,
            5e-3,
            0.01,
            0.02,
            0.05,
            0.1,
            0.2,
            0.5,
            1.0,
            2.0,
            3.0,
            4.0,
            5.0,
            7.0,
            10.0,
            15.0,
            20.0,
            30.0,
            50.0,
            100.0,
        ),
        lambda values: 100 * math.sqrt(core.variance("response", int(values["lc_people"]), values["epsilon"])),
        partial(prose.number, digits=3),
    ),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("A class of 20", {"epsilon": 1.0, "lc_people": 20}),
        Experiment("A million phones at ε = 0.5", {"epsilon": 0.5, "lc_people": 1_000_000, "lc_share": 0.05}),
        Experiment("Means of bounded numbers: k = ∞", {"lc_moments": "inf"}),
    ),
    question=asked(300),
    vary=lambda rng: asked(rng.choice((40, 80, 600, 3000))),
)
