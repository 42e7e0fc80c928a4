"""The reconstruction attack that asks about all subsets, and keeps every database that fits the answers."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import reconstruction as core
from pages.lessons import curves as parts
from pages.lessons import widgets
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

KINDS = {"random": "random, uniform within ±E", "wary": "chosen to protect this database"}
CONTROLS = {
    "aq_rows": Stops(10, tuple(range(4, core.MOST_EXHAUSTED + 1))),
    "aq_error": Stops(1.5, tuple(round(0.1 * k, 1) for k in range(31))),
    "aq_noise": Choice("wary", KINDS), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.slider(page, "aq_rows", "Rows n", show=prose.count)
    widgets.slider(page, "aq_error", "No answer is off by more than E")
    widgets.pick(page, "aq_noise", "Noise")
    widgets.seed(page)


def left_over(rows: int, most: float, noise: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(databases at distance 0, 1, …, rows of the truth; those of them that fit all answers)."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(rows) % 2)
    answers = core.wary_answers(truth, most) if noise == "wary" else core.bounded_answers(truth, most, rng)
    distances = (core.all_subsets(rows) != truth).sum(axis=1)
    return tuple(np.bincount(d, minlength=rows + 1) for d in (distances, distances[core.consistent(answers, most)]))


def picture(values: Values, colours: Palette) -> Picture:
    rows, most, seed = int(values["aq_rows"]), float(values["aq_error"]), int(values["seed"])
    everyone, fitting = left_over(rows, most, values["aq_noise"], seed)
    worst, bound = int(np.flatnonzero(fitting).max()), min(math.floor(4 * most), rows)
    headline = (
        f"Of {prose.count(2**rows)} databases, **{prose.count(int(fitting.sum()))}** fit all {prose.count(2**rows)} "
        f"answers; whichever the attacker picks, at most **{worst} of {rows}** rows are wrong. The theorem allows "
        f"{bound}."
    )
    figure = Chart()
    x = np.arange(rows + 1)
    for name, y, symbol, colour in (
        ("all databases", everyone, "circle-open", colours.muted),
        ("fit all answers", fitting, "circle", colours.accent),
    ):  # fmt: skip
        figure.add_scatter(
            x=x, y=np.where(y > 0, y, np.nan), name=name, mode="markers+text", cliponaxis=False,
            marker={"size": 0.9 * colours.type, "symbol": symbol, "color": colour, "line": {"width": 2}},
            text=[str(v) if v and name != "all databases" else "" for v in y], textposition="middle right",
            hovertemplate=f"{name}, %{{x}} rows wrong: %{{y}}<extra></extra>",
        )  # fmt: skip
    if 4 * most < rows + 0.5:
        parts.upright(figure, 4 * most + 0.47, f"Theorem 2.1: 4E = {4 * most:g}", colours)
    figure.update_xaxes(title="rows that differ from the true database", dtick=1)
    figure.update_yaxes(title="databases", range=[-0.3, math.log10(max(everyone)) + 0.35], **figures.log_ticks(1, 1000))
    alt = f"{int(fitting.sum())} of {2**rows} databases fit all answers; at most {worst} rows of any of them are wrong."
    table = {"rows wrong": x.tolist(), "all databases": everyone.tolist(), "fit all answers": fitting.tolist()}
    panel = Panel("Who is not ruled out", figures.finish(figure, colours, height=HEIGHT), alt, table)
    kind = f"{'noise' if values['aq_noise'] == 'random' else 'true database'} of seed {seed}"
    note = f"Counted by going through all {prose.count(4**rows)} pairs of question and database; {kind}."
    return Picture(headline, (panel,), {"fitting databases": f"{int(fitting.sum())}, {kind}"}, (note,))


def complement(rows: int) -> Question:
    """The error of answers that leaves the attacker with nothing but wrong rows."""
    sizes = rows / 8, rows / 4, rows / 2
    fits = lambda most: int(left_over(rows, most, "wary", 1)[1][-1])  # noqa: E731
    return Question(
        text=f"n = {rows} rows, half of them 1. How large must E be at least, so that answers within ±E *can* leave "
        "the attacker with a database in which every row is wrong?",
        options=tuple(f"E = {size:g}" for size in sizes),
        right=lambda: next(i for i, size in enumerate(sizes) if fits(size) > 0),
        because=lambda: (
            f"Theorem 2.1 allows 4E wrong rows, so E = n/4 = {rows / 4:g} is needed, and answers halfway between the "
            f"database and its complement do it: {fits(rows / 4)} database with all {rows} rows wrong still fits."
        ),
        hint="Whatever fits all answers differs from the truth in at most 4E rows.",
    )


TOPIC = Topic(
    name="all_questions",
    title="Attack: ask everything",
    section="2",
    moves=Moves("aq_error", "E = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Off by 1, as protective as can be", {"aq_rows": 10, "aq_error": 1.0, "aq_noise": "wary"}),
        Experiment("Off by 2, at random", {"aq_rows": 10, "aq_error": 2.0, "aq_noise": "random"}),
        Experiment("Off by 2, as protective as can be", {"aq_rows": 10, "aq_error": 2.0, "aq_noise": "wary"}),
    ),
    question=complement(8),
    vary=lambda rng: complement(rng.choice((4, 6, 10, 12))),
)
