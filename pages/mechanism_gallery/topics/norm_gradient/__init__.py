"""The K-norm gradient mechanism beside the exponential mechanism: a kink against a parabola."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import norm_gradient as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

TARGETS = {
    "mean": core.Mean(), "median": core.Quantile(0.5), "decile": core.Quantile(0.9), "slope": core.Slope(2.0),
}  # fmt: skip
WORDS = {"mean": "mean", "median": "median", "decile": "0.9-quantile", "slope": "regression slope"}
PEOPLE = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
NAMES = {"norm_gradient": "K-norm gradient", "exponential": "exponential mechanism"}
ROLES = {"norm_gradient": "gradient", "exponential": "exponential mechanism"}
CONTROLS = {
    "epsilon": widgets.EPSILON, "kg_target": Choice("median", {key: word.capitalize() for key, word in WORDS.items()}),
    "kg_people": Stops(200, PEOPLE), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "kg_target", "Wanted")
    widgets.slider(page, "kg_people", "People n", show=prose.count)
    widgets.seed(page)


@lru_cache(maxsize=64)
def data(target: str, people: int, seed: int) -> np.ndarray:
    """The table to show: numbers in [0, 1] with a long right tail, or points around y = 0.7 x, clipped to bounds."""
    rng = np.random.default_rng(seed)
    if target == "slope":
        x = rng.uniform(-1, 1, people)
        rows = np.column_stack([x, 0.7 * x + 0.2 * rng.standard_normal(people)])
    else:
        rows = rng.beta(2, 3, people)
    rows = TARGETS[target].clip(rows)
    rows.setflags(write=False)
    return rows


@lru_cache(maxsize=64)
def laws(target: str, people: int, seed: int, epsilon: float) -> dict[str, core.Law]:
    """The two exact laws for that table."""
    rows = data(target, people, seed)
    return {name: getattr(TARGETS[target], name)(rows, epsilon) for name in NAMES}


def picture(values: Values, colours: Palette) -> Picture:
    key, people, seed, epsilon = values["kg_target"], int(values["kg_people"]), int(values["seed"]), values["epsilon"]
    best = TARGETS[key].estimate(data(key, people, seed))
    errors = {name: law.mean_distance(best) for name, law in laws(key, people, seed, epsilon).items()}
    headline = (
        f"{prose.count(people)} people, ε = {epsilon:g}: the K-norm gradient mechanism misses the {WORDS[key]} of the "
        f"table by **{prose.number(errors['norm_gradient'], 3)}** on average, the exponential mechanism by "
        f"**{prose.number(errors['exponential'], 3)}**."
    )
    facts = {NAMES[name]: f"mean error {prose.number(error, 6)}, exact" for name, error in errors.items()}
    where = "x and y clipped to [−1, 1], slope in [−2, 2]" if key == "slope" else "numbers clipped to [0, 1]"
    note = (
        f"Table drawn with seed {seed} ({where}); both densities are exact. Neighbours differ in one row, n is public. "
        f"Sensitivity of the loss {prose.number(TARGETS[key].loss_sensitivity, 3)}, of its gradient "
        f"{prose.number(TARGETS[key].gradient_sensitivity, 3)}."
    )
    panels = (
        densities(values, best, errors, colours),
        later(exponents, values, best, colours),
        later(by_people, values, colours),
    )
    return Picture(headline, panels, facts, (note,))


def _window(found: dict[str, core.Law], best: float) -> tuple[float, float]:
    """Where both laws have 99 % of their mass, and the estimate."""
    ends = np.concatenate([law.quantile(np.array([0.005, 0.995])) for law in found.values()])
    low, high = min(ends.min(), best), max(ends.max(), best)
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def densities(values: Values, best: float, errors: dict[str, float], colours: Palette) -> Panel:
    """The two densities around the estimate."""
    key, people, seed = values["kg_target"], int(values["kg_people"]), int(values["seed"])
    target, found = TARGETS[key], laws(key, people, seed, values["epsilon"])
    low, high = _window(found, best)
    figure, table = Chart(), {"quantile": ["1 %", "5 %", "25 %", "50 %", "75 %", "95 %", "99 %"]}
    for name, hue in ROLES.items():
        x = _grid(found[name], low, high, target)
        y = np.exp(found[name].log_density(x))
        figure.add_scatter(
            x=x, y=y, mode="lines", name=NAMES[name], line=lines.series(colours, hue),
            fill="tozeroy" if name == "norm_gradient" else None, fillcolor=lines.tint(colours, hue),
            hovertemplate=f"<b>{NAMES[name]}</b><br>%{{x:.3g}}: density %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
        levels = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
        table[NAMES[name]] = [prose.number(float(v), 3) for v in found[name].quantile(levels)]
    parts.upright(figure, best, f"{WORDS[key]} of the table, {prose.number(best, 3)}", colours)
    figure.update_xaxes(title=f"released {WORDS[key]}", range=[low, high])
    figure.update_yaxes(title="probability density", rangemode="tozero")
    alt = f"Densities around the table's {WORDS[key]}, {prose.number(best, 3)}. Mean errors: " + ", ".join(
        f"{NAMES[name]} {prose.number(error, 3)}" for name, error in errors.items()
    )
    return Panel("The released value", figures.finish(figure, colours, height=HEIGHT), alt, table)


def _grid(law: core.Law, low: float, high: float, target: core.Target) -> np.ndarray:
    """Points to draw a density at: both sides of every knot in the window, evenly spread ones, the ends."""
    x = np.linspace(max(low, target.low), min(high, target.high), 401)
    knots = getattr(law, "knots", np.array([]))
    knots = knots[(low < knots) & (knots < high)]
    if len(knots) > 400:
        knots = knots[:: len(knots) // 400]
    near = 1e-9 * (target.high - target.low)
    return np.unique(np.clip(np.concatenate([x, knots - near, knots]), target.low, target.high))


def exponents(values: Values, best: float, colours: Palette) -> Panel:
    """What stands in the exponent of either density, lowered to 0 at its best θ."""
    key, people, seed, epsilon = values["kg_target"], int(values["kg_people"]), int(values["seed"]), values["epsilon"]
    target, rows = TARGETS[key], data(key, people, seed)
    found = laws(key, people, seed, epsilon)
    low, high = _window(found, best)
    theta = np.unique([*_grid(found["norm_gradient"], low, high, target), best])
    loss, gradient = target.loss(theta, rows), np.abs(target.gradient(theta, rows))
    curves = {
        "|gradient| (K-norm gradient)": epsilon / (2 * target.gradient_sensitivity) * gradient,
        "loss (exponential mechanism)": epsilon / (2 * target.loss_sensitivity) * (loss - loss.min()),
    }
    top = max(2.0, min(float(max(y.max() for y in curves.values())), 12.0))
    return Plot(
        "Kink against parabola", Axis("θ", {"range": [low, high]}),
        Axis("−ln density, up to a constant", {"range": [0, top]}), theta,
        tuple(Curve(name, y, style=role) for (name, y), role in zip(curves.items(), ROLES.values())),
        hover="θ = %{x:.3g}: −%{y:.3g} in the exponent", about="kink", height=340,
        remark=(
            f"Around θ = {prose.number(best, 3)} the gradient's absolute value has a kink, the loss is a parabola. "
            "Each unit makes a θ e times as unlikely."
        ),
    ).panel(colours)  # fmt: skip


@lru_cache(maxsize=32)
def error_curves(target: str, epsilon: float) -> dict[str, np.ndarray]:
    """Mean errors at every n of `PEOPLE`, for tables without randomness."""
    found = {name: [] for name in NAMES}
    for people in PEOPLE:
        rows = TARGETS[target].clip(core.evenly_sloped(people) if target == "slope" else core.evenly_spread(people))
        best = TARGETS[target].estimate(rows)
        for name, errors in found.items():
            errors.append(getattr(TARGETS[target], name)(rows, epsilon).mean_distance(best))
    return {name: np.array(errors) for name, errors in found.items()}


def by_people(values: Values, colours: Palette) -> Panel:
    """Mean errors against n, exact, for tables whose rows are spread evenly."""
    found, powers = error_curves(values["kg_target"], values["epsilon"]), [10, 100, 1000, 10_000]
    low, high = min(y.min() for y in found.values()), max(y.max() for y in found.values())
    ticks = {"type": "log", "tickvals": powers, "ticktext": [prose.count(p) for p in powers]}
    return Plot(
        "1/n against 1/√n", Axis("people n", ticks),
        Axis(f"mean error of the {WORDS[values['kg_target']]}", figures.log_ticks(float(low), float(high))),
        np.array(PEOPLE, dtype=float),
        tuple(Curve(NAMES[name], y, style=ROLES[name], marks={}) for name, y in found.items()),
        hover="n = %{x:,.0f}: %{y:.3g}", about="people", height=340,
    ).panel(colours)  # fmt: skip


def gains(few: int, many: int) -> tuple[float, float]:
    """By what factor the errors of the mean fall with more people at ε = 1: (K-norm gradient, exponential)."""
    found = error_curves("mean", 1.0)
    return tuple(float(found[name][PEOPLE.index(few)] / found[name][PEOPLE.index(many)]) for name in NAMES)


def larger(few: int, many: int) -> Question:
    """What more people do to both errors."""
    times = many / few
    root, said = math.sqrt(times), f"{prose.count(few)} to {prose.count(many)}"
    ways = ((times, times), (root, root), (times, root))
    return Question(
        text=f"From {said} people: how much more accurate do the two mechanisms for the mean become, at ε = 1?",
        options=(
            f"both {times:g} times", f"both {root:.2g} times",
            f"K-norm gradient {times:g} times, exponential mechanism {root:.2g} times",
        ),
        right=lambda: float(
            min(range(3), key=lambda i: sum(abs(math.log(g / w)) for g, w in zip(gains(few, many), ways[i])))
        ),
        because=lambda: (
            f"From {said} people at ε = 1 the errors fall {gains(few, many)[0]:.3g} and {gains(few, many)[1]:.3g} "
            "times: a kink of slope n has width 1/n, a parabola of curvature n has width 1/√n."
        ),
        hint="How wide is a kink of slope n, and how wide a parabola of curvature n?",
    )  # fmt: skip


TOPIC = Topic(
    name="norm_gradient",
    title="K-norm gradient",
    section="7.5",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("The mean: Laplace against normal", {"kg_target": "mean", "kg_people": 200, "epsilon": 1.0}),
        Experiment("The median of 1000 at ε = 0.5", {"kg_target": "median", "kg_people": 1000, "epsilon": 0.5}),
        Experiment("A regression slope", {"kg_target": "slope", "kg_people": 500, "epsilon": 1.0}),
    ),
    question=larger(100, 10_000),
    vary=lambda rng: larger(*rng.choice(((200, 5000), (50, 5000), (500, 2000), (100, 1000)))),
)
