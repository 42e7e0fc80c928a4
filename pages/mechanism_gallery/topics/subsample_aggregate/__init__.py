"""Subsample and aggregate: any statistic through blocks, and how many blocks are best."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from random import Random

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import subsample_aggregate as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

STATISTICS = {
    "median": "median income", "mean": "mean income", "deviation": "standard deviation", "maximum": "largest income",
}  # fmt: skip
PEOPLE = (200, 500, 1000, 2000, 5000, 10_000)
BLOCKS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)
STOPS = tuple(sorted({*range(2, 11), *range(12, 21, 2), *range(25, 101, 5), *BLOCKS}))
RANGES = (50, 100, 200, 500, 1000)
REPEATS = {"mean": 20, "median": 20, "winsorised": 5}
"""Simulated data sets behind a mean error."""
CONTROLS = {
    "epsilon": widgets.EPSILON, "sa_statistic": Choice("median", STATISTICS),
    "sa_aggregate": Choice("mean", core.AGGREGATES), "sa_blocks": Stops(50, STOPS), "sa_people": Stops(2000, PEOPLE),
    "sa_range": Stops(100, RANGES), "seed": widgets.SEED,
}  # fmt: skip


EXACT = "Given the blocks, the release's law is exact."
INTEGRATED = "Given the blocks, the release's law is integrated numerically over both private quartiles."


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "sa_statistic", "Statistic")
    widgets.pick(page, "sa_aggregate", "Aggregate")
    widgets.slider(page, "sa_blocks", "Blocks k", show=prose.count)
    widgets.slider(page, "sa_people", "People n", show=prose.count)
    widgets.slider(page, "sa_range", "Blocks' values clamped to at most", show=prose.count)
    widgets.seed(page)


def incomes(people: int, rng: np.random.Generator) -> np.ndarray:
    """Made-up yearly incomes in thousands, skewed: median 30."""
    return 30 * np.exp(0.5 * rng.standard_normal(people))


def released(values: Values) -> tuple[float, np.ndarray, float, core.Release]:
    """(the statistic of all data, of every block, what those are clamped to, the release)."""
    statistic, top = core.STATISTICS[values["sa_statistic"]], float(values["sa_range"])
    rng = np.random.default_rng(int(values["seed"]))
    data = incomes(int(values["sa_people"]), rng)
    found = statistic(core.blocks(data, int(values["sa_blocks"]), rng))
    return (
        float(statistic(data)),
        found,
        top,
        core.release(found, values["epsilon"], values["sa_aggregate"], low=0.0, high=top),
    )


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people, count = values["epsilon"], int(values["sa_people"]), int(values["sa_blocks"])
    statistic, seed = values["sa_statistic"], int(values["seed"])
    whole, found, top, release = released(values)
    error = math.sqrt(release.squared_error(whole))
    headline = (
        f"The {STATISTICS[statistic]} of {prose.count(people)} people, through {count} blocks at ε = {epsilon:g}, is "
        f"off by **{prose.number(error, 3)}** thousand (root mean square) from the "
        f"{prose.number(whole, 3)} of all data."
    )
    facts = {"root mean squared error": f"{prose.number(error, 6)} thousand, given the data of seed {seed}"}
    note = (
        f"Incomes and blocks: made up, seed {seed}. One person changes one block's value, anywhere from 0 to "
        f"{prose.count(top)} thousand. {INTEGRATED if values['sa_aggregate'] == 'winsorised' else EXACT}"
    )
    return Picture(
        headline,
        (
            law(release, found, whole, top, colours),
            later(against, values, error, colours),
            later(ranges, values, found, whole, colours),
        ),
        facts,
        (note,),
    )


def law(release: core.Release, found: np.ndarray, whole: float, top: float, colours: Palette) -> Panel:
    """Density of the release, with the blocks' values under it."""
    inner = found[found <= top] if (found <= top).any() else found
    low, high = min(float(inner.min()), release.centre, whole), max(float(inner.max()), release.centre, whole)
    spread = 3 * math.sqrt(release.squared_error(release.centre))
    beyond = top if release.scale else 0.0  # a private median stays within its range
    left, right = max(release.centre - spread, -beyond), min(release.centre + spread, top + beyond)
    x = np.linspace(min(low - 5, left), max(high + 5, right), 1201)
    y = release.density(x)
    figure = Chart()
    figure.add_scatter(
        x=x, y=y, mode="lines", name="what is released", line=lines.series(colours, "exact"),
        fill="tozeroy", fillcolor=colours.fill,
        hovertemplate="release about %{x:.3~r}: density %{y:.3~r}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=found, y=np.full(len(found), -0.06 * y.max()), mode="markers", name="the blocks' values",
        marker={
            "symbol": "line-ns", "size": 12, "color": lines.colour(colours, 1),
            "line": {"width": 1.5, "color": lines.colour(colours, 1)},
        },
        hovertemplate="a block: %{x:.3~r}<extra></extra>",
    )  # fmt: skip
    parts.upright(figure, whole, "all data, no privacy", colours)
    figure.update_xaxes(title="thousands a year", range=[float(x[0]), float(x[-1])])
    figure.update_yaxes(title="probability density", range=[-0.12 * y.max(), 1.08 * y.max()], tick0=0)
    alt = (
        f"Density of the release around {release.centre:.3g}, {len(found)} blocks' values from {found.min():.3g} to "
        f"{found.max():.3g}; the statistic of all data is {whole:.3g}."
    )
    table = {"block": list(range(1, len(found) + 1)), "value (thousands)": [prose.number(float(v), 3) for v in found]}
    return Panel("What is released", figures.finish(figure, colours, height=HEIGHT), alt, table)


@lru_cache(maxsize=64)
def errors(
    statistic: str, aggregate: str, people: int, epsilon: float, top: float, seed: int
) -> tuple[tuple[int, float, float], ...]:
    """(blocks, root mean squared error without noise, with noise) over simulated data sets."""
    function, rows = core.STATISTICS[statistic], []
    data = [incomes(people, np.random.default_rng((seed, repeat))) for repeat in range(REPEATS[aggregate])]
    for count in (c for c in BLOCKS if c <= people // 2):
        plain, noisy = [], []
        for repeat, one in enumerate(data):
            whole = float(function(one))
            found = function(core.blocks(one, count, np.random.default_rng((seed, repeat, count))))
            release = core.release(found, epsilon, aggregate, low=0.0, high=top)
            plain.append((release.centre - whole) ** 2)
            noisy.append(release.squared_error(whole))
        rows.append((count, math.sqrt(np.mean(plain)), math.sqrt(np.mean(noisy))))
    return tuple(rows)


def against(values: Values, error: float, colours: Palette) -> Panel:
    """Error against the number of blocks."""
    rows = errors(
        values["sa_statistic"], values["sa_aggregate"], int(values["sa_people"]), values["epsilon"],
        float(values["sa_range"]), int(values["seed"]),
    )  # fmt: skip
    k, plain, noisy = (np.array(column, float) for column in zip(*rows))
    best = rows[int(np.argmin(noisy))]
    return Plot(
        f"How many blocks? ({REPEATS[values['sa_aggregate']]} simulated data sets)",
        Axis("number of blocks k", figures.log_ticks(2, 200), name="blocks"),
        Axis("root mean squared error (thousands)", figures.log_ticks(float(plain.min()), float(noisy.max()))), k,
        (Curve("with noise", noisy, error, ringed=True),
         Curve("without noise: blocks alone", plain, style=lines.reference(colours))),
        hover="%{x} blocks: off by %{y:.3~r}", here=values["sa_blocks"], label="this data set", about="blocks",
        height=360, remark=f"Least with noise at {best[0]} blocks, {prose.number(best[2], 3)}.",
    ).panel(colours)  # fmt: skip


def ranges(values: Values, found: np.ndarray, whole: float, colours: Palette) -> Panel:
    """Errors of all aggregates of these blocks against the range that they are clamped to."""
    epsilon, tops, here = values["epsilon"], np.geomspace(50, 1e6, 9), float(values["sa_range"])
    off = lambda kind, top: core.release(found, epsilon, kind, low=0.0, high=top).squared_error(whole) ** 0.5  # noqa: E731
    kinds = {"mean": "clamped mean", "median": "private median", "winsorised": core.AGGREGATES["winsorised"]}
    curves = [
        Curve(name, np.array([off(kind, float(top)) for top in tops]), off(kind, here), kind == values["sa_aggregate"])
        for kind, name in kinds.items()
    ]
    low, high = min(one.y.min() for one in curves), max(one.y.max() for one in curves)
    return Plot(
        "A range that is not known", Axis("clamped to at most (thousands)", figures.log_ticks(50, 1e6), prose.count),
        Axis("root mean squared error (thousands)", figures.log_ticks(float(low), float(high))), tops, tuple(curves),
        hover="up to %{x:,.0f}: off by %{y:.3~r}", here=here, label="this range", about="ranges", height=360,
    ).panel(colours)  # fmt: skip


def asked(count: int) -> Question:
    """Scale of the Laplace noise on the mean of so many blocks."""
    scale = lambda: core.release(np.full(count, 30.0), 1.0, "mean", low=0.0, high=100.0).scale  # noqa: E731
    return Question(
        text=f"The values of {count} blocks are clamped to 0 … 100 and averaged. Which scale does the Laplace noise "
        "need at ε = 1?",
        right=scale,
        because=lambda: (
            f"One person is in one block, which moves the mean by at most 100/{count}: scale {scale():.3g}, whatever "
            "was computed in the blocks."
        ),
        hint="How many blocks can one person spoil, and how far does that move the average?",
    )


def asked_of_a_range_found(count: int, apart: int) -> Question:
    """Scale of the noise of Algorithm 2."""
    epsilon, width = 2.0, lambda: core.width(count, apart)
    return Question(
        text=f"Nobody knows a range. Half of ε = {epsilon:g} buys two private quartiles of {count} blocks' values: "
        f"they come out {apart} apart. Algorithm 2 clamps the values to a range 8·k^(13/30) times as wide. Which scale "
        "does the noise on their mean need?",
        right=lambda: 2 * width() / (count * epsilon),
        because=lambda: (
            f"The range is {width():.4g} wide, one person moves the mean by {width() / count:.4g}, and half of ε is "
            f"left: scale {width() / count:.4g}/{epsilon / 2:g}."
        ),
        hint="How much of ε is left after the quartiles?",
    )  # fmt: skip


def another(rng: Random) -> Question:
    """By turns of chance about a range that is given and one that is found."""
    if rng.random() < 0.5:
        return asked(rng.choice((10, 20, 25, 40, 80)))
    return asked_of_a_range_found(rng.choice((32, 64, 100, 200)), rng.choice((2, 5, 10)))


TOPIC = Topic(
    name="subsample_aggregate",
    title="Subsample & aggregate",
    section="8",
    moves=Moves("sa_blocks", "{:g} blocks"),
    guess=Guess(
        lambda values: (
            f"Each of {prose.count(values['sa_blocks'])} blocks of "
            f"{prose.count(values['sa_people'] // values['sa_blocks'])} people reports its "
            f"{STATISTICS[values['sa_statistic']]} in thousands; "
            "half of all people earn more than 30. Around which value does what is released lie?"
        ),
        tuple(map(float, range(0, 251, 5))),
        lambda values: released(values)[3].centre,
        partial(prose.number, digits=3),
        along="x",
    ),
    start={"sa_statistic": "maximum", "sa_range": 500},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment(
            "A range that nobody knows: Algorithm 2",
            {
                "sa_statistic": "median",
                "sa_aggregate": "winsorised",
                "sa_blocks": 200,
                "sa_people": 10_000,
                "sa_range": 1000,
                "epsilon": 5.0,
            },
        ),
        Experiment(
            "Median instead of mean",
            {"sa_statistic": "median", "sa_aggregate": "median", "sa_blocks": 50, "epsilon": 1.0},
        ),
        Experiment(
            "A statistic that blocks cannot see: the largest",
            {"sa_statistic": "maximum", "sa_range": 500, "sa_blocks": 50, "epsilon": 1.0},
        ),
    ),
    question=asked(50),
    vary=another,
)
