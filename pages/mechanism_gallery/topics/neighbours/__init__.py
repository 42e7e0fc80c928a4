"""Bounded against unbounded neighbours: what parallel composition promises, and what one replaced row really costs."""

from __future__ import annotations

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import neighbours as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

BUDGETS = tuple(round(0.1 * k, 1) for k in range(1, 31))
CELLS = ("under 30", "30 to 59", "60 and over")
COUNTS = (41, 58, 23)
RELEASES = {"counts": "noisy counts", "sizes": "exact sizes of the groups"}
WORDS = {"unbounded": "a row is added or removed", "bounded": "a row is replaced"}
CONTROLS = {
    "nb_release": Choice("counts", RELEASES), "nb_first": Stops(1.0, BUDGETS), "nb_second": Stops(1.0, BUDGETS),
    "nb_third": Stops(1.0, BUDGETS),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.pick(page, "nb_release", "Released of every age group")
    if page["nb_release"] == "counts":
        for key, cell in zip(("nb_first", "nb_second", "nb_third"), CELLS):
            widgets.slider(page, key, f"ε of the count “{cell}”")


def picture(values: Values, colours: Palette) -> Picture:
    if values["nb_release"] == "sizes":
        return sizes(colours)
    budgets = core.budgets([values["nb_first"], values["nb_second"], values["nb_third"]])
    one, two = (core.exact_epsilon(budgets, relation) for relation in core.RELATIONS)
    headline = (
        f"Three counts, each with noise of its own. If {WORDS['unbounded']}, all together are **{one:g}**-DP, as "
        f"parallel composition promises; if {WORDS['bounded']}, they are **{two:g}**-DP and no better."
    )
    facts = {WORDS["unbounded"]: f"ε = {one:g}, exact", WORDS["bounded"]: f"ε = {two:g}, exact"}
    panels = (losses(budgets, colours), later(profiles, budgets, colours), later(by_cells, max(budgets), colours))
    note = "Two-sided geometric noise, $P(j)\\propto e^{-\\varepsilon|j|}$, on every count. All numbers are exact."
    return Picture(headline, panels, facts, (note,))


def sizes(colours: Palette) -> Picture:
    """Exact sizes: two neighbouring tables and what is published of them."""
    moved = (COUNTS[0] - 1, COUNTS[1] + 1, COUNTS[2])
    headline = (
        "A group of *known* size may publish its size: that is 0-DP. Done in **three** groups of one table, it tells "
        "which group a replaced row went to, with certainty: ε = **∞**, not 0."
    )
    figure = Chart()
    for name, y, key, pattern in (
        ("table X", COUNTS, "A", ""),
        ("X with one row replaced", moved, "B", "/"),
    ):
        figure.add_bar(
            x=CELLS, y=y, name=name, text=[str(count) for count in y], textposition="outside", cliponaxis=False,
            marker={"color": lines.colour(colours, key), "pattern": {"shape": pattern}},
            hovertemplate=f"{name}, %{{x}}: %{{y}} rows<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(title="rows published", range=[0, 1.2 * max(COUNTS)])
    figure.update_xaxes(title="age group")
    figures.finish(figure, colours, height=HEIGHT).update_layout(barmode="group")
    alt = f"Sizes of three groups: {COUNTS} against {moved} after one row moved; the two publications differ surely."
    table = {"age group": list(CELLS), "table X": list(COUNTS), "one row replaced": list(moved)}
    panel = Panel("What is published of two neighbours", figure, alt, table, "sizes")
    note = (
        "Under added or removed rows the size of a group was never 0-DP to begin with, so that parallel composition is "
        "not contradicted there."
    )
    return Picture(headline, (panel,), {"bounded neighbours": "ε = ∞", "one group alone": "ε = 0"}, (note,))


def losses(budgets: tuple[float, ...], colours: Palette) -> Panel:
    """The exact law of the privacy loss for the worst neighbour of either kind."""
    figure, table, words = Chart(), {"neighbours": [], "privacy loss": [], "probability": []}, []
    worst = {relation: max(core.touched(len(budgets), relation), key=lambda cells: sum(budgets[cell] for cell in cells))
             for relation in core.RELATIONS}  # fmt: skip
    laws = {relation: np.array(core.loss_law(budgets, cells)).T for relation, cells in worst.items()}
    places, span = np.concatenate([loss for loss, _ in laws.values()]), 2 * core.exact_epsilon(budgets, "bounded")
    for relation, key, pattern, shift in (("unbounded", 0, "", -1), ("bounded", 1, "/", 1)):
        loss, mass = laws[relation]
        wide = min(0.06 * span, float(np.diff(loss).min()))
        figure.add_bar(
            x=loss + 0.5 * shift * wide, y=mass, width=wide, name=WORDS[relation], customdata=loss,
            marker={"color": lines.colour(colours, key), "pattern": {"shape": pattern}},
            hovertemplate=f"{WORDS[relation]}<br>loss %{{customdata:.3g}}: probability %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
        for x, p in zip(loss, mass):
            if p == mass[np.abs(loss - x) < 0.1 * span].max():  # of a crowd of one kind the highest has its number
                side = free_side(x, places, 0.12 * span, shift)
                figure.add_annotation(
                    x=x + 0.5 * (shift - side) * wide, y=p, text=f"{p:.3f}", showarrow=False, yanchor="bottom",
                    xanchor=("center", "left", "right")[side], yshift=2, borderpad=0, bgcolor=colours.background,
                    font={"color": colours.text},
                )  # fmt: skip
        table["neighbours"] += [WORDS[relation]] * len(loss)
        table["privacy loss"] += [prose.number(float(x), 3) for x in loss]
        table["probability"] += [prose.number(float(p), 3) for p in mass]
        words.append(f"{WORDS[relation]}: up to {loss[-1]:g} with probability {mass[-1]:.3f}")
    parts.upright(figure, max(budgets), f"parallel composition: ε = {max(budgets):g}", colours)
    figure.update_xaxes(title="privacy loss ln P(z)/P′(z) of the release z")
    figure.update_yaxes(title="probability", range=[0, 1.08])
    alt = "Law of the privacy loss. " + "; ".join(words) + "."
    return Panel("What a release says about the row", figures.finish(figure, colours, height=HEIGHT), alt, table)


def free_side(x: float, places: np.ndarray, reach: float, otherwise: int) -> int:
    """On which side of a bar at x its number goes: 0 above it, −1 left or 1 right of other bars within reach."""
    others = places[(np.abs(places - x) < reach) & (places != x)]
    if not len(others):
        return 0
    away = x - others.mean()
    return otherwise if abs(away) < 1e-9 else int(np.sign(away))


def profiles(budgets: tuple[float, ...], colours: Palette) -> Panel:
    """δ against ε under both relations."""
    grid, at = np.linspace(0, 1.1 * core.exact_epsilon(budgets, "bounded"), 121), max(budgets)
    delta = lambda relation, epsilon: core.exact_delta(budgets, relation, float(epsilon))  # noqa: E731
    return Plot(
        "Privacy profiles", Axis("ε"), Axis("least δ", {"rangemode": "tozero"}), grid,
        tuple(Curve(WORDS[r], np.array([delta(r, e) for e in grid]), delta(r, at)) for r in core.RELATIONS),
        hover="ε = %{x:.3g}: δ = %{y:.3g}", here=at, about="profiles", height=340,
    ).panel(colours)  # fmt: skip


def by_cells(epsilon: float, colours: Palette) -> Panel:
    """The ε of k counts of ε each, by three ways of counting."""
    k = np.arange(1, core.MOST_CELLS + 1)
    exact = {r: np.array([core.exact_epsilon([epsilon] * int(n), r) for n in k]) for r in core.RELATIONS}
    curves = {
        WORDS["unbounded"]: exact["unbounded"], WORDS["bounded"]: exact["bounded"],
        "basic composition, ε k": epsilon * k,
    }  # fmt: skip
    return Plot(
        "Any number of groups", Axis("number of groups k", {"dtick": 1}, "{:g}".format, "groups"),
        Axis("ε of all counts together", {"rangemode": "tozero"}), k,
        tuple(Curve(name, y, style=style, marks={}) for (name, y), style in zip(curves.items(), (0, 1, "basic"))),
        hover="%{x} groups: ε = %{y:.3g}", about="cells", height=340, most=len(k),
    ).panel(colours)  # fmt: skip


def together(groups: int, epsilon: float) -> Question:
    """ε of the counts of all groups if a row is replaced."""
    right = lambda: core.exact_epsilon([epsilon] * groups, "bounded")  # noqa: E731
    return Question(
        text=f"A table is split into {groups} groups, and each count gets noise for ε = {epsilon:g}. Neighbours "
        f"replace one row. What is the least ε of the {groups} counts together?",
        right=right,
        because=lambda: (
            f"The old row leaves one count and the new one enters another: ε = {epsilon:g} + {epsilon:g} = "
            f"{right():g}. The other {groups - 2} groups do not change, so that it is not {epsilon * groups:g} either."
        ),
        hint=f"How many of the {groups} counts can one replaced row change?",
    )


TOPIC = Topic(
    name="neighbours",
    title="Who is a neighbour?",
    section="4.1",
    moves=Moves("nb_first", "ε of the first group: {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Equal budgets: ε becomes 2ε",
                   {"nb_release": "counts", "nb_first": 1.0, "nb_second": 1.0, "nb_third": 1.0}),
        Experiment("One careless group: ε = 3, 0.1, 0.1",
                   {"nb_release": "counts", "nb_first": 3.0, "nb_second": 0.1, "nb_third": 0.1}),
        Experiment("Publish the sizes instead: ε = ∞", {"nb_release": "sizes"}),
    ),
    question=together(10, 0.3),
    vary=lambda rng: together(rng.choice((5, 8, 12, 20)), rng.choice((0.2, 0.4, 0.7))),
)  # fmt: skip
