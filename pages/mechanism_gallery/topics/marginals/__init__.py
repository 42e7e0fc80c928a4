"""All one-way marginals: people needed against the number of columns, for purely private and (ε, δ)-private noise."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import marginals as core
from dpcore.privacy import Privacy
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

COLUMNS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 30, 50, 80, 100, 200, 300, 500, 1000, 2000, 5000, 10_000)
PEOPLE = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
DELTAS = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
ERRORS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
MEASURES = {"mean": "an average column", "largest": "the worst column"}
NAMES = {"laplace": "Laplace, ε-DP", "gaussian": "Gaussian, (ε, δ)-DP"}
SHOWN = 60
CONTROLS = {
    "epsilon": widgets.EPSILON, "mg_delta": Stops(1e-6, DELTAS), "mg_columns": Stops(100, COLUMNS),
    "mg_people": Stops(2000, PEOPLE), "mg_error": Stops(0.05, ERRORS), "mg_measure": Choice("mean", MEASURES),
    "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.delta(page, "mg_delta", "δ of the Gaussian")
    widgets.slider(page, "mg_columns", "Columns d", show=prose.count)
    widgets.slider(page, "mg_people", "People n", show=prose.count)
    widgets.slider(page, "mg_error", "Error α that the noise may add")
    widgets.pick(page, "mg_measure", "Error of")
    widgets.seed(page)


def picture(values: Values, colours: Palette) -> Picture:
    privacy, columns = Privacy(values["epsilon"], values["mg_delta"]), int(values["mg_columns"])
    alpha, measure = values["mg_error"], values["mg_measure"]
    need = {law: core.people_needed(law, columns, privacy, error=alpha, measure=measure) for law in core.LAWS}
    best = min(need, key=need.__getitem__)
    other = next(law for law in core.LAWS if law != best)
    headline = (
        f"To publish {prose.count(columns)} column means with an error of {alpha:g} in {MEASURES[measure]}, "
        f"{short(best)} noise takes **{prose.count(math.ceil(need[best]))}** people, {short(other)} noise "
        f"**{prose.count(math.ceil(need[other]))}**."
    )
    facts = {NAMES[law]: f"n = {prose.number(n, 6)}, exact" for law, n in need.items()}
    start = core.gaussian_wins_from(privacy, measure=measure)
    notes = (
        f"At ε = {privacy.epsilon:g} and δ = {prose.delta_text(privacy.delta)} Gaussian noise errs less from "
        f"d = {prose.count(start)} on. Neighbours differ in one row; every column mean lies between −1 and 1. "
        f"The table of coins: simulated, seed {int(values['seed'])}.",
    )
    panels = (needed(values, colours), later(against_people, values, colours), later(one_table, values, colours))
    return Picture(headline, panels, facts, notes)


def short(law: str) -> str:
    """The law's name in a sentence."""
    return {"laplace": "Laplace", "gaussian": "Gaussian"}[law]


def needed(values: Values, colours: Palette) -> Panel:
    """People needed against the number of columns: for an error, and for noise below the sampling error."""
    privacy, measure, alpha = Privacy(values["epsilon"], values["mg_delta"]), values["mg_measure"], values["mg_error"]
    d, at = np.unique(np.geomspace(1, COLUMNS[-1], 41).round().astype(int)), int(values["mg_columns"])
    need = lambda law, k: core.people_needed(law, int(k), privacy, error=alpha, measure=measure)  # noqa: E731
    free = lambda law, k: core.free_from(law, int(k), privacy, measure=measure)  # noqa: E731
    kinds = ((need, "", 2.5), (free, ": below chance", 1.2))
    curves = tuple(
        Curve(
            short(law) + tail if tail else NAMES[law], np.array([people(law, k) for k in d]), people(law, at),
            style=lines.series(colours, law, width=width),
        )
        for people, tail, width in kinds
        for law in core.LAWS
    )  # fmt: skip
    return Plot(
        "People it takes", Axis("columns d", figures.log_ticks(1, COLUMNS[-1]) | {"range": [-0.1, 4.2]}),
        Axis("people n", figures.log_ticks(1, 1e9) | {"range": [0.5, 8.5]}), d, curves,
        hover="d = %{x:,}: n = %{y:,.3~r}", here=at, label="your table",
        point=int(values["mg_people"]), remark=f"For an error of {alpha:g}.",
    ).panel(colours)  # fmt: skip


def against_people(values: Values, colours: Palette) -> Panel:
    """Errors against n at the chosen number of columns."""
    privacy, measure = Privacy(values["epsilon"], values["mg_delta"]), values["mg_measure"]
    columns, people = int(values["mg_columns"]), int(values["mg_people"])
    n = np.geomspace(PEOPLE[0], PEOPLE[-1], 41)
    error = lambda law, k: core.error(law, k, columns, privacy, measure=measure)  # noqa: E731
    chance = lambda k: core.sampling_error(k, columns, measure=measure)  # noqa: E731
    curves = (
        *(
            Curve(
                NAMES[law], np.array([error(law, k) for k in n]), error(law, people), ringed=True,
                style=law,
            )
            for law in core.LAWS
        ),
        Curve("chance (normal approximation)", np.array([chance(k) for k in n]), chance(people),
              style=lines.estimate(colours, "bound")),
    )  # fmt: skip
    low, high = min(float(one.y.min()) for one in curves), max(float(one.y.max()) for one in curves)
    return Plot(
        "Error for your columns", Axis("people n", figures.log_ticks(100, PEOPLE[-1]) | {"range": [1.65, 6.25]}),
        Axis(f"mean absolute error of {MEASURES[measure]}", figures.log_ticks(low, high)), n, curves,
        hover="n = %{x:,.0f}: %{y:.3~r}", here=people, label="your table", about="people", height=340,
        remark=f"For d = {columns}.",
    ).panel(colours)  # fmt: skip


def one_table(values: Values, colours: Palette) -> Panel:
    """True and released means of one simulated table, columns in the order of their true means."""
    privacy, seed = Privacy(values["epsilon"], values["mg_delta"]), int(values["seed"])
    columns, people = int(values["mg_columns"]), int(values["mg_people"])
    found = {law: core.simulate(law, people, columns, privacy, rng=np.random.default_rng(seed)) for law in core.LAWS}
    means = found["laplace"][0][:SHOWN]
    order = np.argsort(means)
    x = np.arange(1, len(order) + 1)
    figure, table = (
        Chart(),
        {"column": x.tolist(), "true mean": [prose.number(float(v), 3) for v in means[order]]},
    )
    for law, symbol in (("laplace", "circle-open"), ("gaussian", "cross-thin-open")):
        y = found[law][1][:SHOWN][order]
        figure.add_scatter(
            x=x, y=y, mode="markers", name=f"{short(law)} release",
            marker={"symbol": symbol, "size": 7, "color": lines.colour(colours, law)},
            hovertemplate=f"{short(law)}: %{{y:.3~r}}<extra></extra>",
        )  # fmt: skip
        table[f"{short(law)} release"] = [prose.number(float(v), 3) for v in y]
    figure.add_scatter(x=x, y=means[order], mode="lines", name="true mean", line=lines.reference(colours))
    figure.update_xaxes(title="column, sorted by true mean" + (f" (first {SHOWN})" if columns > SHOWN else ""))
    figure.update_yaxes(title="column mean")
    off = {law: float(np.abs(r - m).mean()) for law, (m, r) in found.items()}
    alt = f"One simulated table of fair coins; mean error of the {columns} releases: " + ", ".join(
        f"{short(law)} {prose.number(value, 3)}" for law, value in off.items()
    )
    title = "One table of coins, simulated"
    return Panel(title, figures.finish(figure, colours, height=340), alt, table, "table")


@lru_cache(maxsize=16)
def crossing(epsilon: float, delta: float) -> int:
    """From how many columns on Gaussian noise errs less."""
    return core.gaussian_wins_from(Privacy(epsilon, delta))


GUESSES = (2, 12, 120, 1200)


def overtaking(epsilon: float, delta: float) -> Question:
    """From where on Gaussian noise is better, at a δ that the page does not show at first."""
    sigma = lambda: prose.number(core.scale("gaussian", 2, 1, Privacy(epsilon, delta)) * epsilon, 3)  # noqa: E731
    return Question(
        text=f"At ε = {epsilon:g} and δ = {prose.delta_text(delta)}: from about how many columns on does Gaussian "
        "noise err less than Laplace noise?",
        options=tuple(f"about {guess}" for guess in GUESSES),
        right=lambda: int(np.argmin(np.abs(np.log(np.array(GUESSES) / crossing(epsilon, delta))))),
        because=lambda: (
            f"From {crossing(epsilon, delta)} on. Laplace errors grow like d, Gaussian ones like √d, but with a factor "
            f"of {sigma()} in front, the σ at sensitivity 1 in units of 1/ε."
        ),
        hint="Laplace errors grow like d, Gaussian ones like √d times a factor that grows slowly as δ falls.",
    )


TOPIC = Topic(
    name="marginals",
    title="Many columns at once",
    section="10.1",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"{prose.count(values['mg_columns'])} column means are published at ε = {values['epsilon']:g}. How many "
            f"people does Gaussian noise take for an error of {values['mg_error']:g} in "
            f"{MEASURES[values['mg_measure']]}, at δ = {prose.delta_text(values['mg_delta'])}?"
        ),
        tuple(float(base * 10**power) for power in range(1, 8) for base in (1, 2, 3, 5, 7)),
        lambda values: core.people_needed(
            "gaussian",
            int(values["mg_columns"]),
            Privacy(values["epsilon"], values["mg_delta"]),
            error=values["mg_error"],
            measure=values["mg_measure"],
        ),
        partial(prose.number, digits=3),
    ),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Few columns: Laplace noise wins", {"mg_columns": 5, "mg_error": 0.05, "mg_measure": "mean"}),
        Experiment("10 000 columns: √d against d", {"mg_columns": 10_000, "mg_people": 100_000, "mg_error": 0.05}),
        Experiment("The worst column counts", {"mg_columns": 100, "mg_measure": "largest"}),
    ),
    question=overtaking(1.0, 1e-12),
    vary=lambda rng: overtaking(rng.choice((0.5, 1.0, 2.0)), rng.choice((0.1, 1e-3, 1e-9))),
)
