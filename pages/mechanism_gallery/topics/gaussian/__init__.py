"""Gaussian noise by the classical formula beside the least: what the formula keeps, and up to which ε."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import gaussian as core
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy
from pages.lessons import widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, decades, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

NAMES = {"1.25": "1.25 (Dwork and Roth)", "1.32": "1.32 (the notes)", "0.66": "√(e/2π) = 0.66 (one tail)"}
DELTAS = (1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1)
GRID = np.geomspace(0.05, 20, 61)
CONTROLS = {
    "epsilon": widgets.EPSILON, "gm_delta": Stops(1e-5, DELTAS), "gm_constant": Choice("1.25", NAMES),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.delta(page, "gm_delta")
    widgets.pick(page, "gm_constant", "K in √(2 ln(K/δ))/ε")


def formula(values: Values) -> tuple[float, float, str]:
    """(K, δ, what the formula with this K is called)."""
    return core.CONSTANTS[values["gm_constant"]], values["gm_delta"], f"formula with {values['gm_constant']}"


def picture(values: Values, colours: Palette) -> Picture:
    constant, delta, _ = formula(values)
    privacy = Privacy(values["epsilon"], delta)
    sigma, least = core.factor(constant, delta) / privacy.epsilon, Gaussian.calibrate(privacy, 1.0).sigma
    kept, until = core.kept_delta(constant, privacy), core.valid_until(constant, delta)
    if kept <= delta:
        told = f"**{prose.percent(sigma / least - 1)}** more than the **{prose.number(least, 3)}** that are needed"
        rest = f"It really keeps δ = **{prose.number(kept, 3)}**, not {prose.delta_text(delta)}."
    else:
        told = f"less than the **{prose.number(least, 3)}** that are needed"
        rest = f"It breaks its promise: δ is really **{prose.number(kept, 3)}**, not {prose.delta_text(delta)}."
    headline = f"At ε = {privacy.epsilon:g} the formula takes σ = **{prose.number(sigma, 3)}**, {told}. {rest}"
    facts = {
        "σ of the formula": f"{prose.number(sigma, 6)} sensitivities", "least σ": f"{prose.number(least, 6)}, exact",
        "its δ": f"{prose.number(kept, 6)}, exact", "enough up to": f"ε = {prose.number(until, 6)}, exact",
    }  # fmt: skip
    note = (
        f"The proof covers ε up to 1. The noise is in fact enough up to ε = {prose.number(until, 3)} at this δ, and "
        "too little for every ε beyond."
    )
    panels = (
        profiles(values, sigma, least, colours),
        later(constants, values, until, colours),
        later(widths, values, colours),
    )
    return Picture(headline, panels, facts, (note,))


def profiles(values: Values, sigma: float, least: float, colours: Palette) -> Panel:
    """δ against ε′ of both noises; what was promised is one point."""
    _, delta, name = formula(values)
    epsilon, share = values["epsilon"], np.linspace(0, 2, 81)
    at = np.append(share, 1.0)
    curves = []
    for called, width, role in ((name, sigma, "bound"), ("least noise", least, "gaussian")):
        found = Gaussian(width).pair(1.0).delta(epsilon * at)
        curves.append(Curve(called, found[:-1], float(found[-1]), style=role))
    low = delta * 1e-5
    axis = figures.log_ticks(low, 1.0) | {"range": [np.log10(low), 0.1]}
    return Plot(
        "What the noise keeps", Axis("ε′ in multiples of ε", {"range": [0, 2]}, name="ε′/ε"),
        Axis("δ at ε′", axis, lambda value: prose.number(value, 3)), share, tuple(curves[::-1]),
        hover="ε′ = %{x:.3g} ε: δ = %{y:.3g}", here=1.0, label="promised", point=delta,
    ).panel(colours)  # fmt: skip


def constants(values: Values, until: float, colours: Palette) -> Panel:
    """The least constant against ε, with those of the proofs."""
    constant, delta, name = formula(values)
    epsilon = values["epsilon"]
    needed = np.array([core.least_constant(Privacy(float(one), delta)) for one in GRID])
    here = core.least_constant(Privacy(epsilon, delta))
    low = min(float(needed.min()), 0.5)
    return Plot(
        "Which K is needed", Axis("ε", figures.log_ticks(GRID[0], GRID[-1])),
        Axis("least K", figures.log_ticks(low, 100.0) | {"range": [np.log10(low) - 0.1, 2]}), GRID,
        (Curve("needed", needed, here, ringed=True, style="gaussian"),
         Curve(name, np.full(len(GRID), constant), constant, style="bound")),
        hover="ε = %{x:.3g}: K = %{y:.3g}", here=epsilon, about="constants", height=360,
        remark=f"They meet at ε = {until:.3g}.",
    ).panel(colours)  # fmt: skip


def widths(values: Values, colours: Palette) -> Panel:
    """σ of the formula over the least one, against ε."""
    constant, delta, name = formula(values)
    ratio = lambda epsilon: (  # noqa: E731
        100 * (core.factor(constant, delta) / epsilon / Gaussian.calibrate(Privacy(epsilon, delta), 1.0).sigma - 1)
    )
    at = widgets.EPSILON.stops
    found = np.array([ratio(one) for one in at])
    return Plot(
        "Too much, then too little", Axis("ε", figures.log_ticks(at[0], at[-1])),
        Axis("σ above the least (%)"), np.array(at),
        (Curve("least noise", np.zeros(len(at)), style="gaussian"),
         Curve(name, found, ratio(values["epsilon"]), ringed=True, style="bound")),
        hover="ε = %{x:.3g}: %{y:.3g} %", here=values["epsilon"], about="widths", height=360,
    ).panel(colours)  # fmt: skip


OPTIONS = ("needlessly much", "exactly enough", "too little")


def asked(epsilon: float, delta: float) -> Question:
    """Whether the formula's noise is private."""
    privacy = Privacy(epsilon, delta)
    kept = lambda: core.kept_delta(1.25, privacy)  # noqa: E731
    return Question(
        text=f"Somebody uses σ = √(2 ln(1.25/δ))/ε at ε = {epsilon:g} and δ = {prose.delta_text(delta)}. This noise "
        "is …",
        right=lambda: 0 if kept() < delta else 1 if kept() == delta else 2,
        because=lambda: (
            f"Its exact δ is {prose.number(kept(), 3)}, against {prose.delta_text(delta)} promised: the formula is "
            f"enough up to ε = {prose.number(core.valid_until(1.25, delta))}, whatever its proof assumes."
        ),
        options=OPTIONS,
        hint="What the proof needs and what is true differ. Where does the curve pass the promised point?",
    )


TOPIC = Topic(
    name="gaussian",
    title="Gaussian noise, exactly",
    section="9.3",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"The formula σ = √(2 ln({values['gm_constant']}/δ))/ε is to promise δ = "
            f"{prose.delta_text(values['gm_delta'])} at ε = {values['epsilon']:g}. Which δ does its noise really keep "
            "there?"
        ),
        decades(range(-16, 0), (1, 3)),
        lambda values: core.kept_delta(
            core.CONSTANTS[values["gm_constant"]], Privacy(values["epsilon"], values["gm_delta"])
        ),
        partial(prose.number, digits=3),
    ),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("The formula fails: ε = 10", {"epsilon": 10.0, "gm_delta": 1e-5, "gm_constant": "1.25"}),
        Experiment("A large δ: more than double the noise", {"epsilon": 1.0, "gm_delta": 0.1, "gm_constant": "1.25"}),
        Experiment("One tail is enough: K = 0.66", {"epsilon": 1.0, "gm_delta": 1e-5, "gm_constant": "0.66"}),
    ),
    question=asked(3.0, 1e-6),
    vary=lambda rng: asked(rng.choice((0.5, 2.0, 5.0, 8.5, 9.0, 10.0)), rng.choice((1e-3, 1e-5, 1e-6))),
)
