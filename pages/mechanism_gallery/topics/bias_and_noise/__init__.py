"""Objective perturbation: the ridge that privacy asks for is a bias, the linear term is noise."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import objective_perturbation as core
from pages.lessons import widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Picture, Question, Topic, Values
from pages.lessons.widgets import Stops
from pages.shared import prose

RIDGES = tuple(float(f"{ridge:.2g}") for ridge in np.geomspace(0.05, 200, 37))
CONTROLS = {
    "epsilon": widgets.EPSILON, "bn_ridge": Stops(RIDGES[16], RIDGES), "bn_people": Stops(1000, (300, 500, 1000)),
    "seed": widgets.SEED,
}  # fmt: skip
DRAWS = 100


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(page, "bn_ridge", "Ridge γ, at least", help="Weight of ‖θ‖²/2 against the sum of n losses.")
    widgets.slider(page, "bn_people", "People n", show=prose.count)
    widgets.seed(page)


@lru_cache(maxsize=8)
def table(people: int, seed: int) -> core.Table:
    return core.example(people, np.random.default_rng(seed))


@lru_cache(maxsize=256)
def parts(people: int, seed: int, epsilon: float) -> list[core.Parts]:
    """At every one of `RIDGES`."""
    return core.parts(table(people, seed), epsilon, ridges=RIDGES)


def best(people: int, seed: int, epsilon: float) -> float:
    """Of `RIDGES` the one with the least distance in all, to first order."""
    return RIDGES[int(np.argmin([one.total for one in parts(people, seed, epsilon)]))]


@lru_cache(maxsize=8)
def plain(people: int, seed: int) -> np.ndarray:
    """The best answer, without ridge and noise: (2,)."""
    best: np.ndarray = core.minimise(table(people, seed), [core.UNRIDGED], np.zeros((1, 2)))[0]
    return best


def drawn(people: int, seed: int, epsilon: float, ridge: float) -> float:
    """√ of the mean of ‖θ̃ − θ̂‖² over draws."""
    data, spent = table(people, seed), core.split(epsilon, ridge=ridge)
    theta = core.perturbed_objective(
        data,
        np.full(DRAWS, spent.noise),
        np.full(DRAWS, spent.ridge),
        np.random.default_rng([seed, 1]),
        start=plain(people, seed),
    )
    return float(np.sqrt(np.mean(((theta - plain(people, seed)) ** 2).sum(axis=1))))


def picture(values: Values, colours: Palette) -> Picture:
    people, seed, epsilon = int(values["bn_people"]), int(values["seed"] or 0), values["epsilon"]
    ridge = values["bn_ridge"]
    rows = parts(people, seed, epsilon)
    here, real = rows[RIDGES.index(ridge)], drawn(people, seed, epsilon, ridge)
    used = core.split(epsilon, ridge=ridge).ridge
    headline = (
        f"{prose.count(people)} people, ε = {epsilon:g}, γ = {prose.plain(used, 3)}: the ridge pulls θ off by "
        f"**{prose.number(here.bias, 3)}**, the noise by about **{prose.number(here.noise, 3)}**; together they are "
        f"least near γ = {best(people, seed, epsilon):g}."
    )
    facts = {"bias": prose.number(here.bias, 6), "together, drawn": f"{real:.4g}, {DRAWS} draws, seed {seed}"}
    note = (
        f"Bias: exact for these simulated data (seed {seed}). Noise: first order, root mean square. {DRAWS} draws are "
        f"off by {prose.number(real, 3)} in all, the formula says {prose.number(here.total, 3)}. A ridge below "
        f"λ/(e^(ε/2) − 1) = {prose.number(core.split(epsilon).ridge, 3)} is raised to it. Where the noise is large the "
        "first order is too small."
    )
    curves = tuple(
        Curve(name, np.array([getattr(one, key) for one in rows]), getattr(here, key), ringed=key == "total",
              style=style)
        for name, key, style in (("both", "total", "objective"), ("bias: the ridge", "bias", 0), ("noise", "noise", 2))
    )  # fmt: skip
    panel = Plot(
        "What separates the private answer from the best one", Axis("ridge γ", figures.log_ticks(0.05, 200)),
        Axis("distance in θ", figures.log_ticks(0.003, 10) | {"range": [-2.5, 1]}), np.array(RIDGES), curves,
        hover="γ = %{x:.3g}: %{y:.3g}", here=ridge, point=real, label="chosen, and drawn",
    ).panel(colours)  # fmt: skip
    return Picture(headline, (panel,), facts, (note,))


def asked(epsilon: float, dimension: int) -> Question:
    """Mean length of the noise vector."""
    rate = epsilon / core.GRADIENT_CHANGE
    length = lambda: dimension / rate  # noqa: E731
    return Question(
        text=f"V has density ∝ exp(−(ε_V/Δ)‖v‖) in {dimension} dimensions, with ε_V = {epsilon:g} and Δ = 2. How long "
        "is V on average?",
        right=length,
        because=lambda: (
            f"Its length is a Gamma variable of shape m = {dimension}: mΔ/ε_V = {length():.4g}. So the noise in θ "
            "grows with m/(εn), while the ridge's bias only depends on γ/n."
        ),
        hint="In polar coordinates the length r has density ∝ r^(m−1) e^(−rε_V/Δ).",
    )


TOPIC = Topic(
    name="bias_and_noise",
    title="Bias and noise",
    section="6.2",
    moves=Moves("epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"{prose.count(values['bn_people'])} people, ε = {values['epsilon']:g}. A small ridge γ leaves much noise, "
            "a large one is a bias. At which γ is the private answer nearest to the best one?"
        ),
        RIDGES,
        lambda values: best(int(values["bn_people"]), int(values["seed"] or 0), values["epsilon"]),
        lambda ridge: f"near {prose.plain(ridge, 3)}",
        along="x",
    ),
    start={"epsilon": 0.5},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("A large ridge: mostly bias", {"bn_ridge": RIDGES[30], "epsilon": 1.0}),
        Experiment("A small ridge: mostly noise", {"bn_ridge": RIDGES[2], "epsilon": 0.5}),
        Experiment("A third of the people", {"bn_people": 300, "epsilon": 0.5}),
    ),
    question=asked(0.25, 7),
    vary=lambda rng: asked(rng.choice((0.1, 0.8, 1.6)), rng.choice((3, 11, 40))),
)
