"""Groups of k people: the formula, and the exact curve."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.accounting.curves import group_privacy, least_epsilon
from dpcore.figures import Chart, Palette
from dpcore.noise import Noise
from dpcore.privacy import Privacy
from pages.lessons import lines
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, decades, later
from pages.lessons.widgets import Stops, slider
from pages.shared import prose
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import probability, told

SIZE = Stops(2, tuple(range(1, 21)))
SIZES = tuple(range(1, 11))


def sidebar(page) -> None:
    slider(
        page, "size", "People in the group, k", help="A family answers together: the query moves by k sensitivities."
    )


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    size = int(values["size"])
    total, bound = group_privacy(law.privacy, size)
    exact = together(law, size)
    people = "1 person" if size == 1 else f"a group of {size}"
    formula = (
        f"({total:g}, {told(law, bound) if bound else '0'})-DP" if bound < 1 else f"δ = 1 at ε = {total:g}: nothing"
    )
    truth = told(law, exact) if exact else "0"
    headline = f"For {people} the formula promises **{formula}**; exactly, δ({total:g}) is **{truth}**."
    facts = {
        "δ for the group, exact": told(law, exact, 6) if exact else "0",
        "mechanism": f"{law.name}, {law.promise}",
    }
    return Picture(headline, (curves(law, size, total, bound, colours), later(spent, law, size, colours)), facts)


def together(law: Law, size: int) -> float:
    """δ of a group at so many times ε: the smaller of two certified bounds."""
    total, bound = group_privacy(law.privacy, size)
    return min(law.delta(total, size), bound)


def curves(law: Law, size: int, total: float, bound: float, colours: Palette) -> Panel:
    """δ(ε) for one person, for half the group, for all, with the formula's point."""
    epsilon, reach = law.privacy.epsilon, max(1.15 * size, 1.5)
    x = np.linspace(0, reach, 161)
    low = 0.003 * (law.privacy.delta or 1.0)
    sizes = sorted({1, max(size // 2, 1), size}, reverse=True)
    return Plot(
        "δ(ε) by size of the group", Axis("ε′ in multiples of one person's ε", {"range": [0, reach]}, name="ε′/ε"),
        Axis("δ(ε)", figures.log_ticks(low, 1) | {"range": [math.log10(low), 0.05]}, lambda v: told(law, v)), x,
        tuple(
            Curve("1 person" if k == 1 else f"{k} people", law.profile(epsilon * x, k), float(law.profile(total, k)))
            for k in sizes
        ),
        hover="δ(%{x:.3g} ε) = %{y:.3g}", here=float(size), label="the formula", point=min(bound, 1.0), most=11,
    ).panel(colours)  # fmt: skip


@lru_cache(maxsize=512)
def least(noise: Noise, size: int, delta: float) -> float:
    """The least ε ≥ 0 at which a group has at most this δ; ∞ if none has. Sums of probabilities round: by 1e-12."""
    found = laws.group(noise, float(size))
    return least_epsilon(lambda e: float(found.delta(e)), delta + 1e-12, within=1e-9)


def spent(law: Law, size: int, colours: Palette) -> Panel:
    """ε against the size: by the formula and exactly at the formula's δ, which grows, and exactly at an unchanged one.

    Only the first two have the same δ and may be compared; where the formula says nothing, its δ being 1, both end.
    """
    delta, figure = law.privacy.delta, Chart()
    by_formula = [group_privacy(law.privacy, k) for k in SIZES]
    told_any = [bound < 1 for _, bound in by_formula]
    rows = {
        "kε by the formula, at its δ": [e if any_ else math.inf for (e, _), any_ in zip(by_formula, told_any)],
        "exact ε at the formula's δ": [
            least(law.noise, k, bound) if any_ else math.inf for k, (_, bound), any_ in zip(SIZES, by_formula, told_any)
        ],
    }
    if delta:
        rows[f"exact ε at δ = {prose.delta_text(delta)}"] = [least(law.noise, k, delta) for k in SIZES]
    for number, (name, y) in zip(("bound", 0, 2), rows.items()):
        figure.add_scatter(
            x=SIZES, y=[e if math.isfinite(e) else None for e in y], name=name, mode="lines+markers",
            line=lines.series(colours, number), marker={"size": 6},
            hovertemplate=f"<b>{name}</b><br>%{{x}} people: ε = %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="people in the group", dtick=1)
    figure.update_yaxes(title="ε", rangemode="tozero")
    table = {"people": list(SIZES), "δ by the formula": [told(law, bound) if bound else "0" for _, bound in by_formula]}
    table |= {name: ["none" if math.isinf(e) else prose.number(e, 3) for e in y] for name, y in rows.items()}
    alt = "ε that a group has, by its size. " + "; ".join(f"{name}: {table[name]}" for name in rows) + "."
    return Panel("ε by size of the group", figures.finish(figure, colours, height=300), alt, table, "spent")


def families(size: int, delta: float) -> Question:
    """δ that the formula promises to families."""
    right = lambda: group_privacy(Privacy(1.0, delta), size)[1]  # noqa: E731
    steps = " + ".join(("1", "e", "e²", "e³")[:size])
    return Question(
        text=f"A (1, {delta:g})-DP release: which δ does the formula promise to families of {size}, at ε = {size}?",
        right=right,
        hint="The first person costs δ. By what factor does the next one multiply it?",
        because=lambda: (
            f"{delta:g}·({steps}) = {probability(right())}: each step costs $e^\\varepsilon$ times the one before."
        ),
    )


TOPIC = Topic(
    "groups", "Groups", {"size": SIZE}, sidebar, picture,
    (
        Experiment("A family of four, Laplace", {"mechanism": "laplace", "epsilon": 0.5, "size": 4}),
        Experiment("A class of twenty, Gaussian", {"mechanism": "gaussian", "epsilon": 0.5, "delta": 1e-5, "size": 20}),
        Experiment("Bounded noise and large groups",
                   {"mechanism": "truncated-laplace", "epsilon": 0.5, "delta": 0.01, "size": 10}),
    ),
    families(3, 0.01), section="3.6",
    vary=lambda rng: families(rng.choice((2, 3, 4)), rng.choice((0.001, 0.002, 0.005))),
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"{values['law'].name} noise is {values['law'].promise} for one person. Which δ does it have, exactly, for "
            f"a group of {values['size']:g} at {values['size']:g}ε?"
        ),
        (*decades(range(-6, 0)), 1.0),
        lambda values: together(values["law"], int(values["size"])), lambda found: probability(found) if found else "0",
    ),
)  # fmt: skip
