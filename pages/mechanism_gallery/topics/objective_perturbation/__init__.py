"""Private logistic regression: a random linear term in the objective beside noise on the answer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import objective_perturbation as core
from pages.lessons import lines, widgets
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose

PEOPLE = (50, 100, 200, 300, 500)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
RIDGES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 10.0)
DRAWS, SHOWN, FRESH = 60, 40, 2000
CONTROLS = {
    "epsilon": widgets.EPSILON, "op_share": Stops(0.5, SHARES), "op_ridge": Stops(2.0, RIDGES),
    "op_people": Stops(300, PEOPLE), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.slider(
        page, "op_share", "Share q of ε for the noise, at least",
        help="The rest of ε pays for the curvature; what the ridge makes unnecessary goes to the noise as well.",
    )  # fmt: skip
    widgets.slider(
        page,
        "op_ridge",
        "Ridge γ, at least",
        help="Weight of ‖θ‖²/2 against the sum of n losses, chosen before looking.",
    )
    widgets.slider(page, "op_people", "People n", show=prose.count)
    widgets.seed(page)


@lru_cache(maxsize=32)
def tables(people: int, seed: int) -> tuple[core.Table, core.Table]:
    """(the table, fresh people of the same kind to be right about)."""
    rng = np.random.default_rng(seed)
    return core.example(people, rng), core.example(FRESH, rng)


@lru_cache(maxsize=32)
def plain(people: int, seed: int, ridge: float) -> tuple[np.ndarray, float]:
    """(θ without privacy at that ridge, its accuracy on fresh people)."""
    table, fresh = tables(people, seed)
    theta = core.minimise(table, [ridge], np.zeros((1, 2)))
    return theta[0], float(core.accuracy(fresh, theta)[0])


@lru_cache(maxsize=512)
def accuracies(people: int, seed: int, share: float, ridge: float, epsilon: float) -> np.ndarray:
    """Accuracies on fresh people, (2 mechanisms, draws): objective perturbation, output perturbation. The same draws,
    scaled, at every ε, so that the curves show ε and no chance between its values."""
    table, fresh = tables(people, seed)
    rng, spent = np.random.default_rng([seed, 1]), core.split(epsilon, share=share, ridge=ridge)
    objective = core.perturbed_objective(table, np.full(DRAWS, spent.noise), np.full(DRAWS, spent.ridge), rng)
    output = core.perturbed_output(table, np.full(DRAWS, epsilon), ridge, rng)
    return np.array([core.accuracy(fresh, theta) for theta in (objective, output)])


def picture(values: Values, colours: Palette) -> Picture:
    epsilon, people, seed = values["epsilon"], int(values["op_people"]), int(values["seed"])
    share, ridge = values["op_share"], values["op_ridge"]
    spent = core.split(epsilon, share=share, ridge=ridge)
    here = accuracies(people, seed, share, ridge, epsilon).mean(axis=1)
    exact = plain(people, seed, ridge)[1]
    headline = (
        f"{prose.count(people)} people at ε = {epsilon:g}: a line from a *perturbed objective* is right about "
        f"**{100 * here[0]:.1f}\u202f%** of fresh people, one from a *perturbed answer* about "
        f"**{100 * here[1]:.1f}\u202f%**, one without privacy about {100 * exact:.1f}\u202f%."
    )
    facts = {"accuracies": f"means of {DRAWS} draws, simulated with seed {seed}", "ε": f"{epsilon:g}"}
    note = (
        f"Of ε, {prose.number(spent.noise, 3)} goes to the noise and {prose.number(spent.curvature, 3)} = ln(1 + λ/γ) "
        f"to the curvature, λ = ¼, γ = {prose.number(spent.ridge, 3)}. Accuracies: means of {DRAWS} simulated draws, "
        f"seed {seed}, on {prose.count(FRESH)} fresh people."
    )
    panels = (curves(values, exact, colours), private_lines(values, colours), spending(values, spent, colours))
    return Picture(headline, panels, facts, (note,))


def curves(values: Values, exact: float, colours: Palette) -> Panel:
    """Accuracy against ε with the middle 80 % of the draws."""
    people, seed, share, ridge = int(values["op_people"]), int(values["seed"]), values["op_share"], values["op_ridge"]
    found = 100 * np.stack([accuracies(people, seed, share, ridge, e) for e in EPSILONS], axis=1)
    names, x = {"perturbed objective": "objective", "perturbed answer": "answer"}, np.array(EPSILONS)
    figure = Chart()
    for number, ((name, role), draws) in enumerate(zip(names.items(), found)):
        low, high = np.quantile(draws, (0.1, 0.9), axis=1)
        mean = draws.mean(axis=1)
        figure.add_scatter(
            x=x * (0.985, 1.015)[number], y=mean, name=name, mode="lines+markers",
            line=lines.series(colours, role), marker={"symbol": ("circle", "diamond")[number]},
            error_y={"array": np.maximum(high - mean, 0), "arrayminus": np.maximum(mean - low, 0), "thickness": 1.2,
                     "width": 3},
            hovertemplate=f"<b>{name}</b><br>ε = %{{x:.3g}}: %{{y:.3g}} %<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=[EPSILONS[0], EPSILONS[-1]], y=[100 * exact] * 2, mode="lines", name="without privacy",
        line=lines.reference(colours), hovertemplate="%{y:.3g} %<extra></extra>",
    )  # fmt: skip
    here = 100 * accuracies(people, seed, share, ridge, values["epsilon"])[0].mean()
    figures.chosen(figure, values["epsilon"], float(here), "chosen", colours)
    figure.data[-1].showlegend = False  # the headline is about it
    figure.update_xaxes(title="ε", **figures.log_ticks(EPSILONS[0], EPSILONS[-1]))
    lowest = float(np.quantile(found, 0.1, axis=2).min())
    figure.update_yaxes(title="fresh people on the right side (%)", range=[max(0.0, lowest - 4), 100 * exact + 6])
    alt = f"Accuracy against ε, without privacy {100 * exact:.1f} %; at ε = 1.2: " + ", ".join(
        f"{name} {draws[EPSILONS.index(1.2)].mean():.1f} %" for name, draws in zip(names, found)
    )
    table = {"ε": [f"{e:g}" for e in EPSILONS]}
    for name, draws in zip(names, found):
        table[f"{name} (%)"] = [f"{v:.1f}" for v in draws.mean(axis=1)]
        table[f"{name}, 10 % to 90 %"] = [f"{a:.1f} to {b:.1f}" for a, b in np.quantile(draws, (0.1, 0.9), axis=1).T]
    title = "Accuracy against ε, simulated"
    return Panel(title, figures.finish(figure, colours, height=HEIGHT), alt, table)


@lru_cache(maxsize=32)
def draws(people: int, seed: int, share: float, ridge: float, epsilon: float) -> np.ndarray:
    """Draws of θ̃ by objective perturbation, (SHOWN, 2)."""
    spent = core.split(epsilon, share=share, ridge=ridge)
    rng = np.random.default_rng([seed, 2])
    return core.perturbed_objective(
        tables(people, seed)[0], np.full(SHOWN, spent.noise), np.full(SHOWN, spent.ridge), rng
    )


def private_lines(values: Values, colours: Palette) -> Panel:
    """The table, the line without privacy, and private ones."""
    people, seed, share, ridge = int(values["op_people"]), int(values["seed"]), values["op_share"], values["op_ridge"]
    table, theta = tables(people, seed)[0], draws(people, seed, share, ridge, values["epsilon"])
    figure = Chart()
    for label, symbol, key in ((1, "circle", 0), (-1, "x-thin-open", 2)):
        x = table.features[table.labels == label]
        figure.add_scatter(
            x=x[:, 0], y=x[:, 1], mode="markers", name=f"y = {'+' if label > 0 else '−'}1",
            marker={"symbol": symbol, "size": 6, "color": lines.colour(colours, key), "opacity": 0.7}, hoverinfo="skip",
        )  # fmt: skip
    xs, ys = [], []
    for one in theta:
        across = np.array([-one[1], one[0]]) / np.linalg.norm(one)
        xs += [-across[0], across[0], None]
        ys += [-across[1], across[1], None]
    figure.add_scatter(x=xs, y=ys, mode="lines", name=f"{SHOWN} private lines", hoverinfo="skip",
                       line=lines.series(colours, "objective", width=1))  # fmt: skip
    best = plain(people, seed, ridge)[0]
    across = np.array([-best[1], best[0]]) / np.linalg.norm(best)
    figure.add_scatter(
        x=[-across[0], across[0]], y=[-across[1], across[1]], mode="lines", name="without privacy", hoverinfo="skip",
        line=lines.reference(colours) | {"width": 3},
    )  # fmt: skip
    figure.update_xaxes(title="x₁", range=[-1.3, 1.3], constrain="domain")
    figure.update_yaxes(title="x₂", range=[-1.05, 1.05], scaleanchor="x")
    angle = np.degrees(np.arccos(np.clip(theta @ best / np.linalg.norm(theta, axis=1) / np.linalg.norm(best), -1, 1)))
    alt = (
        f"{SHOWN} private lines through the table; half of them are turned by less than {np.median(angle):.1f} degrees "
        f"against the one without privacy, nine in ten by less than {np.quantile(angle, 0.9):.1f}."
    )
    shown = {
        "θ₁": [prose.number(float(v), 3) for v in theta[:, 0]], "θ₂": [prose.number(float(v), 3) for v in theta[:, 1]],
        "turned by (degrees)": [f"{v:.1f}" for v in angle],
    }  # fmt: skip
    title = "Private lines, simulated"
    return Panel(title, figures.finish(figure, colours, height=360), alt, shown, "lines")


def spending(values: Values, spent: core.Split, colours: Palette) -> Panel:
    """The two parts of the exact privacy loss at drawn outcomes, for a neighbour whose first row is turned around."""
    people, seed = int(values["op_people"]), int(values["seed"])
    table, theta = (
        tables(people, seed)[0],
        draws(people, seed, values["op_share"], values["op_ridge"], values["epsilon"]),
    )
    features, labels = table.features.copy(), table.labels.copy()
    one, other = features.copy(), features.copy()
    one[0], other[0] = [1.0, 0.0], [0.0, 0.0]
    labels[0] = 1.0
    flipped = labels.copy()
    flipped[0] = -1.0
    pairs = {
        "label flipped": (core.Table.clipped(one, labels), core.Table.clipped(one, flipped)),
        "row moved to the middle": (core.Table.clipped(one, labels), core.Table.clipped(other, labels)),
    }
    figure, shown = Chart(), {"neighbour": [], "noise": [], "curvature": []}
    for (name, (here, there)), symbol, key in zip(pairs.items(), ("circle", "diamond-open"), (0, 2)):
        noise, curvature = core.privacy_loss(here, there, theta, spent)
        figure.add_scatter(
            x=noise, y=curvature, mode="markers", name=name,
            marker={"symbol": symbol, "size": 8, "color": lines.colour(colours, key)},
            hovertemplate="noise %{x:.3g}, curvature %{y:.3g}<extra></extra>",
        )  # fmt: skip
        shown["neighbour"] += [name] * len(noise)
        shown["noise"] += [prose.number(float(v), 3) for v in noise]
        shown["curvature"] += [prose.number(float(v), 3) for v in curvature]
    box = {"type": "rect", "x0": -spent.noise, "x1": spent.noise, "y0": -spent.curvature, "y1": spent.curvature}
    figure.layout.shapes = ({**box, "line": lines.reference(colours)},)
    figures.entry(
        figure, "all that ε allows", {"mode": "lines", "line": lines.reference(colours)},
        area=(-spent.noise, spent.noise, spent.curvature, spent.curvature),
    )  # fmt: skip
    figure.update_xaxes(title="privacy loss from the noise", range=[-1.15 * spent.noise, 1.15 * spent.noise])
    figure.update_yaxes(title="from the curvature", range=[-1.3 * spent.curvature, 1.3 * spent.curvature])
    far = max(map(abs, map(float, figure.data[0].x)))
    alt = (
        f"Privacy loss of {len(theta)} draws in two parts, for two neighbours: all within ±{spent.noise:.3g} (noise, "
        f"largest {far:.3g}) and ±{spent.curvature:.3g} (curvature)."
    )
    return Panel("Where ε goes", figures.finish(figure, colours, height=360), alt, shown, "spending")


def ridge_needed(epsilon: float, share: float) -> Question:
    """γ where so large a share of ε is for the noise."""
    right, left = lambda: core.split(epsilon, share=share).ridge, (1 - share) * epsilon
    part = {0.5: "half", 0.25: "a quarter", 0.75: "three quarters"}[share]
    return Question(
        text=f"Logistic losses have curvature at most λ = ¼ per person. At ε = {epsilon:g}, {part} of it for the "
        "noise: how large must the ridge γ be?",
        right=right,
        because=lambda: (
            f"The determinant may change by $e^{{{left:g}}}$: 1 + λ/γ is that, so γ = $0.25/(e^{{{left:g}}}-1)$ = "
            f"{right():.4f}, whatever n is."
        ),
        hint="What is left of ε for the determinant: by which factor may it change?",
    )


TOPIC = Topic(
    name="objective_perturbation",
    title="Objective perturbation",
    section="6",
    start={"op_ridge": 0.2},
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Little privacy budget: ε = 0.3", {"epsilon": 0.3, "op_people": 300}),
        Experiment("A strong ridge, γ = 20: more bias, less noise", {"op_ridge": 20.0, "epsilon": 0.3}),
        Experiment("Nearly everything for the noise: q = 0.9", {"op_share": 0.9, "op_ridge": 0.1, "epsilon": 1.0}),
    ),
    question=ridge_needed(2.0, 0.5),
    vary=lambda rng: ridge_needed(rng.choice((1.0, 3.0, 4.0)), rng.choice((0.25, 0.5, 0.75))),
)
