"""Private linear regression by noisy sums: lines, errors against n, and intervals that leave the noise out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import regression as core
from dpcore.privacy import Privacy
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

LINE = core.Line(30.0, 2.5, 10.0, 0.0, 20.0)
"""Exam score against hours of study."""

PEOPLE = (50, 100, 200, 500, 1000, 2000)
GRID = (50, 100, 200, 400, 800, 1600)
RULES = {
    "joint": "Laplace, all four sums together", "separate": "Laplace, sum by sum", "gaussian": "Gaussian, together",
}  # fmt: skip
HUES = {"joint": "laplace", "separate": "answer", "gaussian": "gaussian"}
DELTAS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
SHARES = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WIDTHS = (0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
SHOWN, TABLES, INTERVALS = 40, 120, 40
CONTROLS = {
    "epsilon": widgets.EPSILON, "pr_delta": Stops(1e-6, DELTAS), "pr_rule": Choice("joint", RULES),
    "pr_share": Stops(0.35, SHARES), "pr_width": Stops(1.0, WIDTHS), "pr_people": Stops(500, PEOPLE),
    "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "pr_rule", "Noise")
    if page["pr_rule"] == "gaussian":
        widgets.delta(page, "pr_delta", "δ of the Gaussian")
    if page["pr_rule"] != "separate":
        widgets.slider(
            page,
            "pr_share",
            "Weight of Σx and Σy in the budget",
            help="The rest goes to Σx² and Σxy, which decide the slope.",
        )
    widgets.slider(
        page, "pr_width", "Bounds, as a multiple of the usual range",
        help="1: hours 0 to 20, scores 0 to 100. Rows beyond are clipped; wider bounds need more noise.",
    )  # fmt: skip
    widgets.slider(page, "pr_people", "People n", show=prose.count)
    widgets.seed(page)


def bounds_of(width: float) -> core.Bounds:
    """The bounds of hours and scores, around the middle of their usual ranges."""
    return core.Bounds((10 - 10 * width, 10 + 10 * width), (50 - 50 * width, 50 + 50 * width))


def release_of(rule: str, privacy: Privacy, share: float) -> core.Release:
    """The noise by one of the three rules."""
    if rule == "separate":
        return core.separately(privacy)
    return core.calibrate("gaussian" if rule == "gaussian" else "laplace", privacy, share=share)


@lru_cache(maxsize=256)
def repeated(privacy: Privacy, share: float, width: float, people: int, seed: int) -> dict[str, core.Repeated]:
    """Simulated tables, each released once by every rule."""
    releases = [release_of(rule, privacy, share) for rule in RULES]
    rng = np.random.default_rng([seed, people])
    return dict(zip(RULES, core.repeat(LINE, people, releases, bounds_of(width), tables=TABLES, rng=rng)))


def picture(values: Values, colours: Palette) -> Picture:
    privacy, rule, people = Privacy(values["epsilon"], values["pr_delta"]), values["pr_rule"], int(values["pr_people"])
    share, width, seed = values["pr_share"], values["pr_width"], int(values["seed"])
    found = repeated(privacy, share, width, people, seed)[rule]
    ordinary, private = found.errors
    promised = f"ε = {privacy.epsilon:g}"
    if rule == "gaussian":
        promised += f", δ = {prose.delta_text(privacy.delta)}"
    headline = (
        f"{prose.count(people)} people at {promised}: the private slope errs by about "
        f"**{prose.number(private, 3)}** points per hour, ordinary least squares by about {prose.number(ordinary, 3)}; "
        f"textbook 95\u202f% intervals around the private slope hold the truth in "
        f"**{100 * found.coverage:.0f}\u202f%** of {TABLES} simulated tables."
    )
    release = release_of(rule, privacy, share)
    facts = {
        "errors and coverage": f"{TABLES} tables, simulated with seed {seed}",
        "noise": f"standard deviations {prose.number(release.deviations[0])} and {prose.number(release.deviations[1])}",
    }
    note = (
        f"True slope {LINE.slope:g}. In units of half a range, Σx and Σy get noise of standard deviation "
        f"{prose.number(release.deviations[0], 3)}, Σx² and Σxy {prose.number(release.deviations[1], 3)} (exact). "
        f"Intervals would have to be {prose.number(found.stretch, 3)} times as wide ({TABLES} tables, simulated, seed "
        f"{seed}). Laplace noise promises δ = 0, Gaussian noise δ = {prose.delta_text(privacy.delta)}."
    )
    return Picture(
        headline, (fan(values, colours), by_people(values, colours), intervals(found, colours)), facts, (note,)
    )


def fan(values: Values, colours: Palette) -> Panel:
    """One table, its least squares line, private lines, and the bounds."""
    privacy, people, seed = (
        Privacy(values["epsilon"], values["pr_delta"]),
        int(values["pr_people"]),
        int(values["seed"]),
    )
    release, bounds = release_of(values["pr_rule"], privacy, values["pr_share"]), bounds_of(values["pr_width"])
    rng = np.random.default_rng(seed)
    rows = LINE.rows((people,), rng)
    exact = core.sums(bounds.unit(rows))
    found, raised = core.solve(exact + release.noise(SHOWN, rng), people, floor=core.floor_of(release))
    private, (intercept, slope) = bounds.line(found), core.solve(core.sums(rows), people, floor=1e-300)[0]
    figure, ends = Chart(), np.array([LINE.low, LINE.high])
    shown = rows[:: max(1, people // 500)]
    figure.add_scatter(
        x=shown[:, 0], y=shown[:, 1], mode="markers", name="people", hoverinfo="skip",
        marker={"size": 5, "color": colours.muted, "opacity": 0.6},
    )  # fmt: skip
    xs, ys = [], []
    for alpha, beta in private:
        xs += [*ends.tolist(), None]
        ys += [*(alpha + beta * ends).tolist(), None]
    figure.add_scatter(x=xs, y=ys, mode="lines", name=f"{SHOWN} private lines", hoverinfo="skip", opacity=0.6,
                       line=lines.series(colours, HUES[values["pr_rule"]], width=1))  # fmt: skip
    figure.add_scatter(
        x=ends, y=intercept + slope * ends, mode="lines", name="least squares",
        line=lines.reference(colours) | {"width": 3},
        hovertemplate="least squares<br>%{x:.3g} h: %{y:.3g} points<extra></extra>",
    )  # fmt: skip
    (a, b), (c, d) = bounds.x, bounds.y
    box = {
        "type": "rect",
        "x0": a,
        "x1": b,
        "y0": c,
        "y1": d,
        "line": lines.reference(colours),
    }
    figure.layout.shapes = (box,)
    figures.entry(figure, "bounds", {"mode": "lines", "line": lines.reference(colours)},
                  area=(a, b, d, d))  # fmt: skip
    seen = 1.06 * min(max(values["pr_width"], 1.0), 2.0)  # wider bounds than this would leave the table a dot
    figure.update_xaxes(title="study (hours)", range=[10 - 10 * seen, 10 + 10 * seen])
    figure.update_yaxes(title="exam (points)", range=[50 - 50 * seen, 50 + 50 * seen])
    low, high = np.quantile(private[:, 1], (0.05, 0.95))
    alt = (
        f"{people} people, least squares slope {slope:.3g} points per hour; nine in ten of {SHOWN} private slopes are "
        f"between {low:.3g} and {high:.3g}."
    )
    table = {
        "intercept": [prose.number(float(v), 3) for v in private[:, 0]],
        "slope": [prose.number(float(v), 3) for v in private[:, 1]],
        "raised": ["yes" if r else "no" for r in raised],
    }
    title = f"One table, {SHOWN} releases, simulated"
    return Panel(title, figures.finish(figure, colours, height=HEIGHT), alt, table)


def by_people(values: Values, colours: Palette) -> Panel:
    """Errors of the slope against n by each rule, simulated, beside the formula without privacy."""
    privacy, share, width = Privacy(values["epsilon"], values["pr_delta"]), values["pr_share"], values["pr_width"]
    seed, chosen = int(values["seed"]), values["pr_rule"]
    curves = tuple(
        Curve(
            RULES[rule], np.array([repeated(privacy, share, width, k, seed)[rule].errors[1] for k in GRID]),
            style=lines.series(colours, hue, width=3 if rule == chosen else 1.5),
            marks={"size": 7 if rule == chosen else 5},
        )
        for rule, hue in HUES.items()
    )  # fmt: skip
    plain = Curve("no privacy (formula)", np.array([LINE.slope_error(k) for k in GRID]), style=lines.reference(colours))
    low, high = min(one.y.min() for one in (plain, *curves)), max(one.y.max() for one in curves)
    ticks = {"type": "log", "tickvals": list(GRID), "ticktext": [prose.count(k) for k in GRID]}
    return Plot(
        "Error against n, simulated", Axis("people n", ticks),
        Axis("error of the slope (points per hour)", figures.log_ticks(low / 1.2, high * 1.2)),
        np.array(GRID, dtype=float), (*curves, plain), hover="n = %{x:,}: %{y:.3g} points per hour", about="people",
        height=360,
    ).panel(colours)  # fmt: skip


def intervals(found: core.Repeated, colours: Palette) -> Panel:
    """Textbook intervals around private slopes, table by table."""
    errors, half = found.private[:INTERVALS], found.half[:INTERVALS]
    holds, x = np.abs(errors) <= half, np.arange(1, len(errors) + 1)
    figure = Chart()
    for name, here, symbol, key in (
        ("holds the truth", holds, "circle", 0),
        ("misses it", ~holds, "x", 1),
    ):
        figure.add_scatter(
            x=x[here], y=(LINE.slope + errors)[here], mode="markers", name=name,
            marker={"symbol": symbol, "size": 8, "color": lines.colour(colours, key)},
            error_y={"array": half[here], "thickness": 1.5, "width": 0},
            hovertemplate="table %{x}: %{y:.3g} ± %{error_y.array:.2g}<extra></extra>",
        )  # fmt: skip
    parts.level(figure, LINE.slope, "true slope", colours)
    far = 1.2 * max(float(np.quantile(np.abs(errors) + half, 0.95)), float(half.max()))
    figure.update_xaxes(title=f"table (first {len(errors)} of {len(found.private)})")
    figure.update_yaxes(title="slope (points per hour)", range=[LINE.slope - far, LINE.slope + far])
    alt = f"{int(holds.sum())} of {len(errors)} textbook 95 % intervals hold the true slope {LINE.slope:g}."
    table = {
        "table": x.tolist(), "private slope": [prose.number(float(v), 3) for v in LINE.slope + errors],
        "± textbook": [prose.number(float(v), 3) for v in half],
        "holds the truth": ["yes" if h else "no" for h in holds],
    }  # fmt: skip
    title = "Textbook intervals, simulated"
    return Panel(title, figures.finish(figure, colours, height=360), alt, table, "intervals")


def together(p: float, q: float) -> Question:
    """The ℓ1-sensitivity of the four sums, with weights for the two pairs."""
    way = ", from (1, 1) to (0, −1): 1 + 2 + 1 + 1" if p == q == 1 else ""
    weighted = "" if p == q == 1 else f" Before that Σx and Σy are multiplied by {p:g}, Σx² and Σxy by {q:g}."
    return Question(
        text="Rows (x, y) lie in [−1, 1]². Replacing one row can change Σx by 2, Σy by 2, Σx² by 1, Σxy by 2. By how "
        f"much can it change all four together, in absolute values added up?{weighted}",
        right=lambda: core.change_l1(p, q),
        because=lambda: (
            f"By {core.change_l1(p, q):.4g}{way}. They cannot all reach their largest change at once, so the noise "
            f"need not be made for {4 * p + 3 * q:g}."
        ),
        hint="Moving Σx by 2 takes x = 1 and x′ = −1. What does Σx² do then?",
    )


TOPIC = Topic(
    name="private_regression",
    title="Private linear regression",
    section="3.8",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Sum by sum: noise of scale 7/ε on each", {"pr_rule": "separate", "pr_width": 1.0}),
        Experiment("Careful bounds, five times too wide", {"pr_width": 5.0, "pr_rule": "joint"}),
        Experiment("Bounds too narrow: a flat line", {"pr_width": 0.5, "pr_rule": "joint", "pr_people": 2000}),
    ),
    question=together(1.0, 1.0),
    vary=lambda rng: together(*rng.choice(((2.0, 1.0), (3.0, 1.0), (1.0, 2.0), (1.0, 3.0)))),
)
