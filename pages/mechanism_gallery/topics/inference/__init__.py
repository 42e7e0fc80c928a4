"""Intervals for the population behind a private release: the textbook's, and one that draws data and noise again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.plan import coverage as core
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.mechanism_gallery.work import RELEASES, Counted, Counting, Tally, count
from pages.shared import prose
from pages.shared.address import Choice

STATISTICS = {
    "proportion": "a share of yes and no", "mean": "a mean, values bell-shaped", "skewed": "a mean of skewed values",
    "slope": "the slope of a line",
}  # fmt: skip
MEANT = {
    "proportion": ("mean", "Bernoulli"), "mean": ("mean", "normal"), "skewed": ("mean", "log-normal"),
    "slope": ("slope", "normal"),
}  # fmt: skip
"""What the names stand for: statistic and population of `dpcore.plan.coverage`."""

NAMES = {"proportion": "share", "mean": "mean", "skewed": "mean", "slope": "slope"}
PEOPLE = (100, 200, 500, 1000, 2000, 5000)
CONTROLS = {
    "epsilon": widgets.EPSILON, "in_statistic": Choice("proportion", STATISTICS), "in_people": Stops(500, PEOPLE),
    "seed": widgets.SEED,
}  # fmt: skip
SHOWN, GAP = 50, 6
"""Releases in the picture, and the room between its halves."""

GRID = np.geomspace(0.05, 10, 60)


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "in_statistic", "What is released")
    widgets.slider(page, "in_people", "People n", show=prose.count)
    widgets.seed(page)


@lru_cache(maxsize=64)
def drawn(statistic: str, people: int, epsilon: float, seed: int) -> core.Simulated:
    """The releases of the picture; the same people and the same noise, only scaled, at every ε."""
    return core.simulated(*MEANT[statistic], people, epsilon, SHOWN, np.random.default_rng(seed))


def picture(values: Values, colours: Palette) -> Picture:
    statistic, people, epsilon = values["in_statistic"], int(values["in_people"]), values["epsilon"]
    seed = int(values["seed"])
    found = drawn(statistic, people, epsilon, seed)
    naive, valid = int(found.textbook.covers(found.truth).sum()), int(found.holds.sum())
    headline = (
        f"{prose.count(people)} people, ε = {epsilon:g}: of {SHOWN} textbook 95\u202f% intervals **{naive}** hold the "
        f"true {NAMES[statistic]}; drawing data *and* noise again, **{valid}** do."
    )
    facts = {"intervals that hold": f"simulated, {SHOWN} releases, seed {seed}", "truth": prose.number(found.truth, 6)}
    notes = [
        f"Simulated with seed {seed}: {SHOWN} data sets of n people, each released once with Laplace noise. Neighbours "
        "change one row. Below, 4000 releases are counted.",
    ]
    panels = [halves(statistic, found, naive, valid, colours)]
    if statistic == "skewed":
        notes.append(
            "Values are clamped to [0, 10]. Covered is the mean of the clamped values, "
            f"{prose.number(found.truth, 3)}; that of the values themselves is {prose.number(found.unclamped, 3)}, of "
            "which no interval made of clamped sums knows."
        )
    if statistic == "slope":
        notes.append("Where the noise hides how much x varies, the right interval has no end.")
    else:
        panels.append(by_epsilon(statistic, people, epsilon, colours))
    return Picture(headline, tuple(panels), facts, tuple(notes))


def halves(statistic: str, found: core.Simulated, naive: int, valid: int, colours: Palette) -> Panel:
    """All intervals: the textbook's on the left, on the right those of the same releases that hold."""
    truth = found.truth
    wide = np.abs(np.concatenate([found.interval.low, found.interval.high]) - truth)
    far = 1.3 * float(np.quantile(wide[np.isfinite(wide)], 0.9)) if np.isfinite(wide).any() else 10.0
    figure = Chart()
    sides = (
        (0, found.textbook, found.textbook.covers(truth)), (SHOWN + GAP, found.interval, found.holds),
    )  # fmt: skip
    styles = (("holds the truth", True, 0, 1.6, "circle"), ("misses it", False, 1, 3.0, "x"))
    for name, held, role, width, symbol in styles:
        lines_x, lines_y, x, y, told = [], [], [], [], []
        for left, interval, holds in sides:
            for k in np.flatnonzero(holds == held):
                ends = np.clip([interval.low[k], interval.high[k]], truth - 3 * far, truth + 3 * far)
                lines_x += [left + k + 1, left + k + 1, None]
                lines_y += [*ends.tolist(), None]
                x.append(left + k + 1)
                y.append(float(found.estimate[k]))
                told.append(f"release {k + 1}: {ends_of(interval.low[k], interval.high[k])}")
        figure.add_scatter(x=lines_x, y=lines_y, mode="lines", name=name, hoverinfo="skip", showlegend=False,
                           line=lines.series(colours, role, width=width))  # fmt: skip
        figure.add_scatter(
            x=x, y=y, mode="markers", name=name, text=told, hovertemplate="%{text}<extra></extra>",
            marker={"color": lines.colour(colours, role), "size": 4 if held else 9, "symbol": symbol},
        )  # fmt: skip
    end = 2 * SHOWN + GAP + 1
    figure.add_scatter(x=[0, end], y=[truth, truth], mode="lines", name=f"the true {NAMES[statistic]}",
                       line=lines.reference(colours), hoverinfo="skip")  # fmt: skip
    words = ((0.5 * SHOWN, "textbook", naive), (1.5 * SHOWN + GAP, "data and noise again", valid))
    figure.layout.annotations = [
        {"x": x, "y": 1.0, "yref": "y domain", "yanchor": "top", "showarrow": False, "align": "center",
         "text": f"<b>{name}</b><br>{held} of {SHOWN} hold", "bgcolor": colours.background,
         "font": {"size": colours.type, "color": colours.text}}
        for x, name, held in words
    ]  # fmt: skip
    figure.update_xaxes(title="the same releases twice, one beside the other", range=[0, end])
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False)
    figure.update_yaxes(title=f"{NAMES[statistic]}", range=[truth - far, truth + 1.5 * far], zeroline=False)
    alt = (
        f"{SHOWN} simulated releases with two 95 % intervals each: {naive} textbook intervals hold the truth "
        f"{prose.number(truth, 3)}, {valid} of those that draw data and noise again."
    )
    rows = range(0, SHOWN, 4)
    table = {
        "release": [k + 1 for k in rows], "estimate": [prose.number(float(found.estimate[k]), 3) for k in rows],
        "textbook": [ends_of(found.textbook.low[k], found.textbook.high[k]) for k in rows],
        "data and noise again": [ends_of(found.interval.low[k], found.interval.high[k]) for k in rows],
    }  # fmt: skip
    title = f"{SHOWN} releases, two intervals of each, simulated"
    return Panel(title, figures.finish(figure, colours, height=HEIGHT), alt, table)


def ends_of(low: float, high: float) -> str:
    """ "0.28 … 0.35"."""
    ends = (prose.number(float(end), 3) if np.isfinite(end) else "no end" for end in (low, high))
    return " … ".join(ends)


def by_epsilon(statistic: str, people: int, epsilon: float, colours: Palette) -> Panel:
    """How often the textbook's interval holds, by the formula for many people."""
    share = lambda e: 100 * core.textbook_share(deviation(statistic, people), scales(statistic, people, e))  # noqa: E731
    level = Curve("what it says: 95 %", np.full(len(GRID), 95.0), style=lines.reference(colours))
    return Plot(
        "How often the textbook's interval holds (formula for many people)",
        Axis("ε", figures.log_ticks(0.05, 10)), Axis("releases (%)", {"range": [0, 102]}), GRID,
        (Curve("textbook (estimate)", share(GRID), float(share(epsilon)), True, lines.estimate(colours, 1)), level),
        hover="ε = %{x:.3g}: %{y:.3g} %", here=epsilon, about="formula", height=330,
    ).panel(colours)  # fmt: skip


def deviation(statistic: str, people: int) -> float:
    """Standard error of the sample's mean."""
    return core.KINDS[MEANT[statistic][1]].deviation / people**0.5


def scales(statistic: str, people: int, epsilon: float | np.ndarray) -> np.ndarray:
    """Scales of the noise in the released mean."""
    return core.released_scale(MEANT[statistic][1], people, 1.0) / np.asarray(epsilon)


# Four thousand releases, counted while one looks on ---------------------------------------------------


def more(page) -> None:
    """The count, while it goes on, and a button that ends it."""
    import streamlit as st

    from pages.shared import compute, drawing, frame, watching

    texts = prose.sections("mechanism_gallery/topics/inference")
    people, seed = int(page["in_people"]), int(page["seed"] or 0)
    asked = Counting(*MEANT[page["in_statistic"]], people, float(page["epsilon"]), seed)
    job = compute.ask("coverage", asked, None, task=count, urgent=False, wait=0.05)
    waited_for = watching.under_way({"coverage": job})
    frame.heading(f"{prose.count(RELEASES)} releases, counted", texts["counted"])

    def tallies() -> list[Tally]:
        found: Counted | None = job.solution
        return list(job.trace) if found is None else list(found.tallies)

    def say() -> None:
        done = tallies()[-1].releases if tallies() else 0
        told = f"{prose.count(done)} of {prose.count(RELEASES)} releases …"
        st.progress(done / RELEASES, text=told)

    def draw() -> None:
        if found := tallies():
            st.markdown(counted(found[-1]))
            panel = running(found, drawing.colours())
            table = lambda: st.dataframe(panel.table, hide_index=True)  # noqa: E731
            drawing.draw(panel.figure, key="chart_inference_counted", alt=panel.alt, table=table)
        elif job.done:
            st.warning("Nothing was counted.")

    watching.strip(waited_for, say, label="Stop", key="stop_coverage")
    watching.go_on({"coverage": job}, key="resume_coverage")
    watching.live([job], draw, every=0.4)


def counted(last: Tally) -> str:
    """What the count has come to."""
    valid, naive = (100 * one / last.releases for one in (last.valid, last.naive))
    return (
        f"Over {prose.count(last.releases)} simulated releases the interval of data and noise held in "
        f"**{valid:.1f}\u202f%**, the textbook's in **{naive:.1f}\u202f%**."
    )


def running(found: list[Tally], colours: Palette) -> Panel:
    """Both shares as the count goes on."""
    x = np.array([one.releases for one in found], dtype=float)
    named = (("data and noise again", "valid", 0), ("textbook", "naive", 1))
    curves = tuple(
        Curve(name, 100 * np.array([getattr(one, key) for one in found]) / x, style=number)
        for name, key, number in named
    )
    level = Curve("95 %", np.full(len(x), 95.0), style=lines.reference(colours))
    low = min(90.0, *(float(one.y[len(x) // 4 :].min()) - 2 for one in curves))
    return Plot(
        "", Axis("releases counted", {"range": [0, RELEASES]}, show=lambda v: prose.count(int(v))),
        Axis("intervals that hold (%)", {"range": [low, 101]}), x, (*curves, level), hover="%{x}: %{y:.3g} %",
        height=300,
    ).panel(colours)  # fmt: skip


def asked(epsilon: float) -> Question:
    """From how many people on the sample errs more than the noise."""
    people = lambda: core.rows_alike(epsilon, 0.5)  # noqa: E731
    return Question(
        text=f"Half of all people would say yes. You ask n of them and release the share with Laplace noise at "
        f"ε = {epsilon:g}; one changed row changes the count by 1. At which n do the sample and the noise have the "
        "same standard deviation?",
        right=people,
        because=lambda: (
            f"√(¼/n) = √2/(nε) at n = 8/ε² = {people():.4g}. With fewer people most of the error is noise, of which "
            "the textbook's interval knows nothing."
        ),
        unit="people",
        hint="The sample's share has standard deviation √(¼/n), Laplace noise of scale b has √2·b.",
    )


TOPIC = Topic(
    name="inference",
    title="Intervals that hold",
    section="",
    moves=Moves("epsilon", "ε = {:g}"),
    start={"epsilon": 0.1},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    more=more,
    experiments=(
        Experiment("Strong privacy: mostly noise", {"in_statistic": "proportion", "in_people": 500, "epsilon": 0.05}),
        Experiment("A slope: five noisy sums", {"in_statistic": "slope", "in_people": 2000, "epsilon": 1.0}),
        Experiment(
            "Many people: the noise hardly matters", {"in_statistic": "mean", "in_people": 5000, "epsilon": 4.0}
        ),
    ),
    question=asked(0.2),
    vary=lambda rng: asked(rng.choice((0.05, 0.125, 0.25, 0.4, 0.8))),
)
