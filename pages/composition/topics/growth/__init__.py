"""k releases of one mechanism: the total ε by every rule, around the certified truth."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore import figures
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.rules import NAMES, Total
from dpcore.accounting.truth import Band, Truth
from dpcore.figures import Chart, Palette
from pages.composition import work
from pages.composition.pieces import DELTA, EPSILON, LEGEND, SIGMA, between, curves, least, name, shown, truth
from pages.lessons import lines, widgets
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, Work, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import FRAME, Choice, Choices

COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30, 40, 50, 60, 70, 80, 100, 130, 160, 200, 250, 300, 400, 500, 600,
          700, 800, 1000)  # fmt: skip
"""Where the chart is computed; between them lines guide the eye."""

MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0,
         50.0, 70.0, 100.0)  # fmt: skip
"""Places for a guess of the total ε."""

EACH = Stops(1e-6, (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5))
MECHANISMS = {
    "laplace": "Laplace noise", "gaussian": "Gaussian noise", "staircase": "Staircase noise",
    "geometric": "Geometric noise (counts)", "truncated-laplace": "Truncated Laplace noise",
    "response": "Randomised response", "pure": "any ε-DP mechanism", "approximate": "any (ε, δ)-DP mechanism",
}  # fmt: skip
CONTROLS = {
    "co_mechanism": Choice("laplace", MECHANISMS), "co_epsilon": EPSILON, "co_sigma": SIGMA, "co_each": EACH,
    "delta": DELTA, "co_count": Stops(100, COUNTS),
    "co_axes": Choice("linear", {"linear": "total ε", "log": "total ε, logarithmic", "each": "ε per release"}),
    "co_rules": Choices(
        ("basic", "advanced", "optimal", "renyi", "clt"), {key: text for key, text in NAMES.items() if key != "exact"}
    ),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.pick(page, "co_mechanism", "Each release")
    if page["co_mechanism"] == "gaussian":
        widgets.slider(page, "co_sigma", "Noise σ", help="Standard deviation over the sensitivity.")
    else:
        widgets.slider(page, "co_epsilon", "ε of each release")
    if page["co_mechanism"] in ("truncated-laplace", "approximate"):
        widgets.delta(page, "co_each", "δ of each release")
    widgets.slider(page, "co_count", "Releases k", show=prose.count)
    widgets.delta(page, label="Total δ")
    widgets.pick(page, "co_axes", "Axis")
    if not FRAME["projector"]:
        st.pills("Rules to compare", page.options("co_rules"), selection_mode="multi", format_func=name, key="co_rules")


def spec(values: Values) -> str:
    """The mechanism as the command line writes it."""
    key, epsilon = values["co_mechanism"], values["co_epsilon"]
    if key == "gaussian":
        return f"gaussian:sigma={values['co_sigma']:g}"
    extra = f",delta={values['co_each']:g}" if key in ("truncated-laplace", "approximate") else ""
    return f"{key}:epsilon={epsilon:g}{extra}"


def asked(values: Values) -> work.Growth:
    """What is to be worked out."""
    return work.Growth(spec(values), int(values["co_count"]), values["delta"], COUNTS)


def picture(values: Values, colours: Palette) -> Picture:
    text, count, delta = spec(values), int(values["co_count"]), values["delta"]
    found: work.Grown = values["found"]
    here = {one.rule: one for one in found.here}
    band = Band(here["exact"].lower or 0.0, here["exact"].upper)
    what, at = MECHANISMS[values["co_mechanism"]], f"δ = {prose.delta_text(delta)}"
    what = what if what.startswith("any") else f"{what}, {parameters(values)},"
    times = "One use" if count == 1 else f"{prose.count(count)} uses"
    if math.isfinite(band.upper):
        headline = (
            f"{times} of {what} cost ε = **{between(band)}** at {at}. Adding up says **{shown(here['basic'].upper)}**"
            if count > 1
            else f"One use of {what} costs ε = **{between(band)}** at {at}"
        )
        if count > 1:
            headline += f"; knowing one pair (ε, δ) of each use proves **{shown(here['optimal'].upper)}**"
        headline += "."
    else:
        headline = (
            f"{times} of {what} have **no ε at all** at {at}: some releases give the truth away more often than that."
        )
    facts = {
        "exact ε": f"from {least(band.lower, 8)} to {shown(band.upper, 8)} at {at}", "mechanism": text,
        "releases": str(count),
    }  # fmt: skip
    notes = (
        "Computed at the marks; between them lines guide the eye, and ε lies between the values at the marks on "
        "both sides, because "
        "it grows with k. All rules are proofs but the central limit theorem.",
    )
    panels = growth(values, found.rows, band, colours), later(bars, here, count, delta, colours)
    return Picture(headline, panels, facts, notes)


def parameters(values: Values) -> str:
    """ "ε = 1 each"."""
    if values["co_mechanism"] == "gaussian":
        return f"σ = {values['co_sigma']:g} sensitivities"
    each = f", δ = {prose.delta_text(values['co_each'])}" if values["co_mechanism"] == "truncated-laplace" else ""
    return f"ε = {values['co_epsilon']:g}{each} each"


def growth(values: Values, found: dict[str, list[Total]], band: Band, colours: Palette) -> Panel:
    """Total ε against the number of releases."""
    rules = [rule for rule in LEGEND if rule in values["co_rules"]]
    bands = [Band(one.lower or 0.0, one.upper) for one in found["exact"]]
    proved = {rule: [one.upper for one in found[rule]] for rule in rules}
    axes = values["co_axes"]
    part = np.array(COUNTS) if axes == "each" else np.ones(len(COUNTS))
    figure, hover = (
        Chart(),
        "k = %{x}: " + ("%{y:.3~r} per release" if axes == "each" else "ε at most %{y:.3~r}"),
    )
    curves(figure, COUNTS, {rule: (np.array(y) / part).tolist() for rule, y in proved.items()}, colours, hover=hover)
    drawn = [Band(one.lower / n, one.upper / n) for one, n in zip(bands, part.tolist())]
    truth(figure, COUNTS, drawn, colours, hover=hover)
    count = int(values["co_count"])
    if math.isfinite(band.upper):
        figures.chosen(figure, count, band.upper / (count if axes == "each" else 1), f"k = {count}", colours)
    scale(
        figure,
        axes,
        [one.upper for one in drawn],
        [y for one in proved.values() for y in (np.array(one) / part).tolist()],
    )
    rows = [i for i, k in enumerate(COUNTS) if k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)]
    table = {"k": [prose.count(COUNTS[i]) for i in rows]}
    table |= {"exact, at least": [least(bands[i].lower, 3) for i in rows]}
    table |= {"exact, at most": [shown(bands[i].upper, 3) for i in rows]}
    table |= {name(rule): [shown(proved[rule][i], 3) for i in rows] for rule in rules}
    last = f"{shown(bands[-1].upper)} at k = 1000"
    alt = f"Total ε against the number of releases: exact {last}; " + ", ".join(
        f"{name(rule)} {shown(proved[rule][-1])}" for rule in rules
    )
    return Panel("Total ε against k", figures.finish(figure, colours, height=HEIGHT), alt, table)


def scale(figure: go.Figure, axes: str, exact: list[float], others: list[float]) -> None:
    """Axes on which the exact curve can be read, and rules that promise little are cut off."""
    exact, others = ([y for y in values if 0 < y < math.inf] for values in (exact, others))
    if not exact:
        return
    logarithmic = figures.log_ticks(1, 1000)
    if axes == "log":
        low, high = min(exact) / 1.5, min(4 * max(exact), 1.3 * max(exact + others))
        figure.update_yaxes(title="total ε", **figures.log_ticks(low, high) | {"range": list(np.log10([low, high]))})
    else:
        top = min(1.05 * max(exact + others), (3.0 if axes == "each" else 2.3) * max(exact))
        figure.update_yaxes(title="ε per release" if axes == "each" else "total ε", range=[0, top])
    figure.update_xaxes(title="releases k", **({"range": [0, 1010]} if axes == "linear" else logarithmic))


def bars(here: dict[str, Total], count: int, delta: float, colours: Palette) -> Panel:
    """Every rule at the chosen number of releases."""
    rows = sorted((one for one in here.values() if math.isfinite(one.upper)), key=lambda one: -one.upper)
    best, figure = between(Band(here["exact"].lower or 0.0, here["exact"].upper)), Chart()
    figure.add_bar(
        y=[name(one.rule) for one in rows], x=[one.upper for one in rows], orientation="h", showlegend=False,
        marker={
            "color": [lines.colour(colours, one.rule) for one in rows],
            "pattern": {"shape": ["" if one.certified else "/" for one in rows], "solidity": 0.25},
        },
        text=[best if one.rule == "exact" else prose.at_most(one.upper, 3) for one in rows], textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{x:.3~r}<extra></extra>",
    )  # fmt: skip
    if rows:
        figure.update_xaxes(title=f"total ε at δ = {prose.delta_text(delta)}", range=[0, 1.2 * rows[0].upper])
    every = list(here.values())
    table = {
        "rule": [name(one.rule) for one in every], "ε at most": [shown(one.upper, 3) for one in every],
        "proved": ["yes" if one.certified else "no: an approximation" for one in every],
        "remark": [f"at least {least(one.lower, 3)}" if one.lower is not None else one.note for one in every],
    }  # fmt: skip
    alt = f"Total ε of {count} releases: " + ", ".join(
        f"{name(one.rule)} {best if one.rule == 'exact' else shown(one.upper)}" for one in every
    )
    return Panel(
        f"Every rule at k = {prose.count(count)}", figures.finish(figure, colours, height=320), alt, table, "rules"
    )


@lru_cache(maxsize=16)
def fitting(each: float, delta: float) -> int:
    """Uses of Laplace noise with so much ε each that stay below ε = 1 at δ."""
    low, high = round(1 / each), round(10 / each)
    made = Truth((Release(parse_mechanism(f"laplace:epsilon={each:g}")),), times=high, points=1 << 13, delta=delta)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if made.epsilon_upper(delta, times=middle) <= 1 else (low, middle)
    return low


def how_many(each: float, delta: float) -> Question:
    """Releases that fit into ε = 1."""
    at = prose.delta_text(delta)
    return Question(
        text=f"You answer counting queries with Laplace noise, ε = {each:g} each. Adding up allows {1 / each:.0f} of "
        f"them under a total of ε = 1. How many does exact accounting allow, if δ = {at} is granted? (Try it above: "
        "within 10 % is right.)",
        right=lambda: float(fitting(each, delta)),
        because=lambda: (
            f"{fitting(each, delta)}: the privacy losses of different releases go up and down and partly cancel, so "
            "their sum grows with √k as long as it is small. Adding up assumes the worst of every single release."
        ),
        unit="queries",
        hint=f"Set ε = {each:g} and δ = {at} on the left and raise k until the exact curve reaches 1.",
        tolerance=0.1,
    )


TOPIC = Topic(
    name="growth",
    title="Composition",
    section="10.2",
    start={"co_epsilon": 0.1},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    work=Work(work.grow, asked),
    moves=Moves("co_count", "k = {:g}"),
    guess=Guess(
        lambda values: (
            f"{prose.count(values['co_count'])} uses of {MECHANISMS[values['co_mechanism']]}, {parameters(values)}: "
            f"which ε {'per use do they come to' if values['co_axes'] == 'each' else 'do they have together'}, at δ = "
            f"{prose.delta_text(values['delta'])}?"
        ),
        MARKS,
        lambda values: (
            next(one.upper for one in values["found"].here if one.rule == "exact")
            / (values["co_count"] if values["co_axes"] == "each" else 1)
        ),
        partial(prose.number, digits=3),
    ),
    experiments=(
        Experiment(
            "A hundred Laplace releases at ε = 1",
            {"co_mechanism": "laplace", "co_epsilon": 1.0, "co_count": 100, "delta": 1e-5},
        ),
        Experiment(
            "Small steps: ε = 0.1, a thousand times",
            {"co_mechanism": "laplace", "co_epsilon": 0.1, "co_count": 1000, "delta": 1e-5},
        ),
        Experiment(
            "Bounded noise: Rényi has nothing to say",
            {"co_mechanism": "truncated-laplace", "co_epsilon": 0.1, "co_each": 1e-8, "co_count": 200, "delta": 1e-5},
        ),
    ),
    question=how_many(0.01, 1e-6),
    vary=lambda rng: how_many(rng.choice((0.01, 0.02)), rng.choice((1e-5, 1e-6, 1e-8))),
)
