"""The privacy loss as a function of the released answer, and its exact distribution."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.accounting.pairs import privacy_loss
from dpcore.figures import Chart, Palette
from dpcore.noise import Gaussian, Laplace, Noise
from dpcore.privacy import Privacy
from pages.lessons import lines
from pages.lessons.curves import upright
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, slider
from pages.shared import prose
from pages.what_epsilon_means import laws
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import GREY, SHARE, A, B, places, probability, window

PEOPLE, LOWEST, HIGHEST, OWN, MEAN = 194, 120.0, 190.0, 170.0, 165.65
"""[SLW, Example 1], thousands of rupees: 194 salaries between 120 and 190, mean 165.65; the attacker looks for the last
one, 170."""
SENSITIVITY, APART = (HIGHEST - LOWEST) / PEOPLE, (OWN - LOWEST) / PEOPLE


def sidebar(page) -> None:
    slider(page, "apart", "The neighbour's answer is off by", show=lambda share: f"{share:g} sensitivity",
           help="Privacy must hold for every change up to one sensitivity.")  # fmt: skip


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    found, epsilon = laws.at(law.noise, values["apart"]), law.privacy.epsilon
    beyond, under_b = law.beyond(epsilon, values["apart"])
    finite = [loss for loss, _, _ in found.atoms if math.isfinite(loss)]
    notes: tuple[str, ...] = ()
    if beyond > 1e-15:
        infinite = f", and is infinite with probability **{probability(found.infinite)}**" if found.infinite else ""
        headline = f"The privacy loss exceeds ε = {epsilon:g} with probability **{probability(beyond)}**{infinite}."
        factor, delta = prose.number(math.exp(epsilon), 4), float(found.delta(epsilon))
        notes = (
            f"That probability is not δ. These releases have the probability {probability(under_b, 4)} under B; δ is "
            "how much more probable they are under A beyond the factor $e^\\varepsilon$: "
            f"{probability(beyond, 4)} − {factor} · {probability(under_b, 4)} = {probability(delta, 4)}.",
        )
    else:
        largest = max(finite) if finite else 0.0
        headline = f"Whatever is released, the privacy loss is at most **{probability(largest)}** (ε = {epsilon:g})."
    facts = {"P{loss > ε}": probability(beyond), "P{loss = ∞}": probability(found.infinite), "mechanism": law.name}
    panels = (
        by_output(law, values["apart"], colours), later(laplace_salary, epsilon, colours),
        later(gaussian_salary, epsilon, colours), later(distribution, law, found, colours),
    )  # fmt: skip
    return Picture(headline, panels, facts, notes)


def by_output(law: Law, shift: float, colours: Palette) -> Panel:
    """L(y), clipped to a window around ±ε; where one database is impossible, a strip at the rim."""
    low, high = window(law.noise, 1.0, 0.995)  # also for smaller changes: the axes stay
    x = places(law.noise, low, high, shift)
    y, epsilon = privacy_loss(law.noise, x, shift=shift), law.privacy.epsilon
    finite, widest = (np.abs(one[np.isfinite(one)]) for one in (y, privacy_loss(law.noise, x, shift=1.0)))
    rim = 1.25 * max(min(float(widest.max(initial=0.0)), 4 * epsilon), epsilon)
    figure = Chart()
    band = {"type": "rect", "x0": 0, "x1": 1, "xref": "x domain", "y0": -epsilon, "y1": epsilon, "yref": "y"}
    figure.layout.shapes = ({**band, "fillcolor": GREY, "line": {"width": 0}, "layer": "below"},)
    figures.entry(
        figure, "between −ε and ε", {"mode": "markers"}, area=(None, None, -epsilon, epsilon), symbol="square", size=14,
        color="rgba(127,127,127,0.4)",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=np.where(np.isfinite(y) & (np.abs(y) <= 1.4 * rim), y, np.nan), name="privacy loss", mode="lines",
        line=lines.series(colours, law.key), hovertemplate="release %{x:.3g}<br>privacy loss %{y:.3g}<extra></extra>",
    )  # fmt: skip
    for sign, name, side in ((1, "loss ∞: only A can release this", A), (-1, "loss −∞: only B can", B)):
        strip = np.isposinf(sign * y)
        if strip.any():
            figure.add_scatter(
                x=np.where(strip, x, np.nan), y=np.where(strip, sign * rim, np.nan), name=name, mode="lines",
                line=lines.series(colours, side, width=7), hoverinfo="name+x",
            )  # fmt: skip
    far = np.isfinite(y) & (np.abs(y) > 1.12 * rim)
    if far.any() and law.noise.gaussian_mu(1.0) is None:
        figure.add_scatter(
            x=np.where(far, x, np.nan), y=np.where(far, np.sign(y) * rim, np.nan), name="finite, beyond the axis",
            mode="lines", line=lines.series(colours, 2, width=7), customdata=y,
            hovertemplate="release %{x:.3g}<br>privacy loss %{customdata:.3g}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="released answer (in sensitivities)", range=[low, high])
    figure.update_yaxes(title="privacy loss ln p<sub>A</sub>/p<sub>B</sub>", range=[-1.12 * rim, 1.12 * rim])
    grid = np.linspace(low, high, 13)
    values = privacy_loss(law.noise, grid, shift=shift)
    table = {"release": [prose.number(v, 3) for v in grid], "privacy loss": [shown(float(v)) for v in values]}
    alt = (
        f"Privacy loss of {law.name} noise against the release, for answers {shift:g} sensitivities apart, with the "
        f"band of "
        f"±{epsilon:g}; the largest finite loss drawn is {float(finite.max(initial=0.0)):.3g}."
    )
    return Panel("Privacy loss of a release", figures.finish(figure, colours, height=HEIGHT), alt, table)


def shown(loss: float) -> str:
    """A privacy loss for people."""
    if math.isnan(loss):
        return "impossible under both"
    if math.isinf(loss):
        return "∞" if loss > 0 else "−∞"
    return prose.number(loss, 3)


def distribution(law: Law, found, colours: Palette) -> Panel:
    """P{L > ε} under both databases, exact; jumps are atoms."""
    epsilon = law.privacy.epsilon
    atoms = np.array([loss for loss, _, _ in found.atoms if math.isfinite(loss) and abs(loss) < 50])
    reach = max(1.6 * epsilon, min(4 * epsilon, 1.2 * float(np.abs(atoms).max(initial=0.0))))
    x = np.unique(np.concatenate([np.linspace(-reach, reach, 401), atoms - 1e-9, atoms]))
    figure = Chart()
    for side, name, y in zip((A, B), ("under A", "under B"), found.tails(x)):
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=lines.series(colours, side),
                           hovertemplate=f"P{{loss > %{{x:.3g}}}} = %{{y:.3g}} {name}<extra></extra>")  # fmt: skip
    upright(figure, epsilon, "ε", colours)
    figure.update_xaxes(title="privacy loss ℓ", range=[-reach, reach])
    figure.update_yaxes(title="P{loss > ℓ}", range=[-0.02, 1.02])
    rows = sorted({*np.linspace(-reach, reach, 9).tolist(), epsilon})
    own, other = found.tails(np.array(rows))
    table = {
        "ℓ": [prose.number(v, 3) for v in rows], "P{loss > ℓ} under A": [probability(float(v)) for v in own],
        "under B": [probability(float(v)) for v in other],
    }  # fmt: skip
    alt = f"Exact distribution of the privacy loss: above ε with probability {law.beyond(epsilon)[0]:.3g} under A."
    figure = figures.finish(figure, colours, height=330)
    return Panel("Its exact distribution", figure, alt, table, "distribution")


def laplace_salary(epsilon: float, colours: Palette) -> Panel:
    """The published example with Laplace noise of three scales."""
    scales = {
        "scale half as large": 0.5 * APART / epsilon,
        "scale for this pair": APART / epsilon,
        "scale for every pair": SENSITIVITY / epsilon,
    }
    return salary("A salary, Laplace noise", {name: Laplace(scale) for name, scale in scales.items()}, epsilon, colours)


def gaussian_salary(epsilon: float, colours: Palette) -> Panel:
    """The published example with Gaussian noise for three δ."""
    noises = {f"δ = {d:g}": Gaussian.calibrate(Privacy(epsilon, d), SENSITIVITY) for d in (0.2, 0.05, 0.01)}
    return salary("A salary, Gaussian noise", noises, epsilon, colours)


def salary(title: str, noises: dict[str, Noise], epsilon: float, colours: Palette) -> Panel:
    """Losses between last salaries of 170 and 120 [SLW-S, Figure 1]."""
    x = np.linspace(MEAN - 4 * SENSITIVITY, MEAN + 4 * SENSITIVITY, 401)
    figure, table = Chart(), {"released average (thousand INR)": [prose.number(v, 3) for v in x[::40]]}
    between(figure, epsilon)
    for number, (name, noise) in enumerate(noises.items()):
        losses = privacy_loss(noise, x - MEAN, shift=-APART)
        table[name] = [prose.number(float(v), 3) for v in losses[::40]]
        figure.add_scatter(x=x, y=losses, name=name, mode="lines", line=lines.series(colours, number),
                           hovertemplate=f"<b>{name}</b><br>%{{x:.3g}}: %{{y:.3g}}<extra></extra>")  # fmt: skip
    figure.update_xaxes(title="released average salary (thousand INR)")
    figure.update_yaxes(title="privacy loss, 170 against 120", range=[-2.3 * epsilon, 2.3 * epsilon])
    alt = f"{title}: privacy loss between last salaries of 170 and 120 thousand rupees, and ±{epsilon:g}."
    return Panel(title, figures.finish(figure, colours, height=330), alt, table, "salary")


def between(figure: go.Figure, epsilon: float) -> None:
    """The band of losses from −ε to ε, in grey, with its entry in the legend."""
    band = {"type": "rect", "x0": 0, "x1": 1, "xref": "x domain", "y0": -epsilon, "y1": epsilon, "yref": "y"}
    figure.layout.shapes = ({**band, "fillcolor": GREY, "line": {"width": 0}, "layer": "below"},)
    figures.entry(figure, "±ε", {"mode": "markers"}, area=(None, None, -epsilon, epsilon), symbol="square", size=14,
                  color="rgba(127,127,127,0.4)")  # fmt: skip


def _largest(release: float) -> tuple[float, float]:
    """(the likeliest last salary after a release, ln of how much likelier it is than the highest one)."""
    best = release * PEOPLE - (MEAN * PEOPLE - OWN)
    return best, float(privacy_loss(Laplace(SENSITIVITY), 0.0, shift=(HIGHEST - best) / PEOPLE))


def last_salary(release: float) -> Question:
    """How much likelier the likeliest last salary is than the highest one."""
    best, loss = _largest(release)
    return Question(
        f"An average of {PEOPLE} salaries between 120 and 190 (thousand) is released as {release:g} with 1-DP Laplace "
        f"noise. An attacker who knows the {PEOPLE - 1} others finds {best:.1f} the likeliest last salary. By which "
        "factor is it likelier than 190?",
        lambda: math.exp(loss),
        lambda: (
            f"The averages differ by (190 − {best:.1f})/194, the scale is 70/194: $e^{{{loss:.3f}}}$ = "
            f"{math.exp(loss):.3f}, below $e^\\varepsilon=e$, as for every pair of salaries."
        ),
        hint="How far apart are the averages of the two data sets, in scales of the noise?",
        tolerance=0.05,
    )


TOPIC = Topic(
    "privacy-loss", "Privacy loss", {"apart": SHARE}, sidebar, picture,
    (
        Experiment("Gaussian noise: no bound, but rarely large",
                   {"mechanism": "gaussian", "delta": 0.01, "apart": 1.0}),
        Experiment("Bounded noise: infinite at the edges",
                   {"mechanism": "truncated-laplace", "delta": 0.1, "apart": 1.0}),
        Experiment("A neighbour half as far", {"apart": 0.5}),
    ),
    last_salary(165.5), section="9.1", vary=lambda rng: last_salary(rng.choice((165.42, 165.45, 165.55, 165.6, 165.7))),
     moves=Moves("apart", "answers {:g} sensitivities apart"),
)  # fmt: skip
