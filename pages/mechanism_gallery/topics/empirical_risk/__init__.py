"""Three private minimisers of one empirical risk: exponential mechanism, K-norm gradient, objective perturbation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery import empirical_risk as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose

NAMES = {
    "exponential": "exponential mechanism", "norm_gradient": "K-norm gradient", "perturbed": "objective perturbation",
}  # fmt: skip
ROLES = {"exponential": "exponential mechanism", "norm_gradient": "gradient", "perturbed": "objective"}
CONTROLS = {
    "epsilon": widgets.EPSILON, "er_people": Stops(400, (100, 200, 400, 1000, 2000)),
    "er_bound": Stops(5, (3, 4, 5, 6, 8, 10)),
    "er_share": Stops(0.5, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(page, "er_people", "People n", show=prose.count)
    widgets.slider(page, "er_bound", "Bound B", help="θ is known to lie in [−B, B].")
    widgets.slider(page, "er_share", "Share q of ε for the noise", help="Of objective perturbation; the rest pays γ.")
    widgets.seed(page)


@lru_cache(maxsize=32)
def risk(people: int, bound: float, seed: int) -> core.Risk:
    return core.Risk(core.example(people, np.random.default_rng(seed)), bound)


def laws(found: core.Risk, epsilon: float, share: float) -> dict[str, core.Law]:
    """The three exact laws."""
    return {
        "exponential": found.exponential(epsilon), "norm_gradient": found.norm_gradient(epsilon),
        "perturbed": found.perturbed(epsilon, share=share),
    }  # fmt: skip


@lru_cache(maxsize=1024)
def errors(people: int, bound: float, seed: int, share: float, epsilon: float) -> dict[str, float]:
    """E|θ̃ − θ̂| of each."""
    return {name: law.mean_error() for name, law in laws(risk(people, bound, seed), epsilon, share).items()}


def picture(values: Values, colours: Palette) -> Picture:
    chosen = int(values["er_people"]), float(values["er_bound"]), int(values["seed"] or 0), float(values["er_share"])
    people, bound, seed, share = chosen
    epsilon, found = values["epsilon"], risk(people, bound, seed)
    missed = errors(*chosen, epsilon)
    told = {name: prose.number(error, 3) for name, error in missed.items()}
    headline = (
        f"{prose.count(people)} people, ε = {epsilon:g}: the exponential mechanism misses the minimiser by "
        f"**{told['exponential']}** on average, the K-norm gradient by **{told['norm_gradient']}**, objective "
        f"perturbation by **{told['perturbed']}**."
    )
    facts = {NAMES[name]: f"mean error {prose.number(error, 6)}, exact" for name, error in missed.items()}
    perturbed = found.perturbed(epsilon, share=share)
    note = (
        f"Table drawn with seed {seed}; the laws are exact. Sensitivity of the loss {bound:g}, of its derivative "
        f"{prose.number(core.gradient_sensitivity(bound), 3)}. Objective perturbation: γ = "
        f"{prose.number(perturbed.spent.ridge, 3)}; it is cut off at ±{bound:g}, where it ends with probability "
        f"{prose.number(perturbed.cut_off, 2)}."
    )
    panels = (
        densities(found, laws(found, epsilon, share), missed, colours),
        later(by_epsilon, chosen, epsilon, colours),
    )
    return Picture(headline, panels, facts, (note,))


def densities(found: core.Risk, drawn: dict[str, core.Law], missed: dict[str, float], colours: Palette) -> Panel:
    """The three densities around the minimiser, as wide as the widest of them."""
    best, bound = found.minimiser, found.bound
    reach = min(3.5 * missed["exponential"], 2 * bound)
    low, high = max(best - reach, -bound), min(best + reach, bound)
    even = np.linspace(low, high, 301)
    near = best + min(reach, 8 * missed["norm_gradient"]) * np.linspace(-1, 1, 161)
    at = np.unique([*even, *near[(low <= near) & (near <= high)], best])
    curves = tuple(Curve(NAMES[name], np.exp(law.log_density(at)), style=ROLES[name]) for name, law in drawn.items())
    plot = Plot(
        "The released θ", Axis("released θ", {"range": [low, high]}),
        Axis("probability density", {"rangemode": "tozero"}), at, curves, hover="θ = %{x:.3g}: density %{y:.3g}",
        remark=f"The minimiser without privacy is {prose.number(best, 3)}. Mean errors: "
        + ", ".join(f"{NAMES[name]} {prose.number(error, 3)}" for name, error in missed.items()),
    )  # fmt: skip
    panel = plot.panel(colours)
    parts.upright(panel.figure, best, f"minimiser, {prose.number(best, 3)}", colours)
    return panel


def by_epsilon(chosen: tuple[int, float, int, float], epsilon: float, colours: Palette) -> Panel:
    """Mean errors at every ε, and what Theorem 7.10's limit says."""
    found = risk(*chosen[:3])
    every = np.array(widgets.EPSILON.stops)
    rows = [errors(*chosen, one) for one in widgets.EPSILON.stops]
    here = errors(*chosen, epsilon)
    curves = [
        Curve(name, np.array([row[key] for row in rows]), here[key], style=ROLES[key])
        for key, name in NAMES.items()
    ]  # fmt: skip
    bend = float(found.curvature(found.minimiser))
    mean = [math.sqrt(2 / math.pi) * core.limit_deviation(one, found.bound, bend) for one in (*every, epsilon)]
    told = "exponential mechanism by Theorem 7.10 (estimate)"
    curves.append(Curve(told, np.array(mean[:-1]), mean[-1], style=lines.estimate(colours, ROLES["exponential"])))
    low, high = (float(end([end(one.y) for one in curves])) for end in (min, max))
    return Plot(
        "1/√ε against 1/ε", Axis("privacy ε", figures.log_ticks(0.05, 10)),
        Axis("mean error of θ", figures.log_ticks(low, high)), every, tuple(curves),
        hover="ε = %{x:.3g}: %{y:.3g}", here=epsilon, about="errors", height=340,
    ).panel(colours)  # fmt: skip


def limit(bound: float, epsilon: float, curvature: float) -> Question:
    """The limit law's standard deviation."""
    right = lambda: core.limit_deviation(epsilon, bound, curvature)  # noqa: E731
    return Question(
        text=f"Logistic losses with |x| ≤ 1 and |θ| ≤ {bound:g}; their sum has second derivative {curvature:g} at its "
        f"minimum. Which standard deviation does the exponential mechanism have at ε = {epsilon:g}, by Theorem 7.10?",
        right=right,
        because=lambda: (
            f"The loss has sensitivity Δ = B = {bound:g}, so near the minimum the density is "
            f"∝ exp(−(ε/2Δ)·L″z²/2): variance 2Δ/(εL″), standard deviation {right():.4g}."
        ),
        hint="How much do the losses of two rows differ at θ, at most? Then write the exponent as −z²/(2σ²).",
    )


TOPIC = Topic(
    name="empirical_risk",
    title="Exponential mechanism for empirical risk",
    section="7.4",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("A vague bound, B = 10: only one of the three pays", {"er_bound": 10, "epsilon": 1.0}),
        Experiment("2000 people: the gap widens", {"er_people": 2000, "epsilon": 1.0}),
        Experiment("Nearly all of ε for the noise: the ridge is a bias", {"er_share": 0.9, "epsilon": 0.5}),
    ),
    question=limit(7.0, 0.5, 90.0),
    vary=lambda rng: limit(
        rng.choice((2.0, 9.0, 12.0)), rng.choice((0.25, 0.75, 1.6)), rng.choice((35.0, 140.0, 260.0))
    ),
)
