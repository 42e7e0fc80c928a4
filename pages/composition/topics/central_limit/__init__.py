"""The central limit theorem of composition: the total privacy loss of k small releases becomes a bell."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette
from dpcore.gallery.converging_losses import Responses
from dpcore.noise.gaussian import gaussian_delta
from pages.lessons import widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 50, 60, 70, 80, 100, 120, 150, 200,
          250, 300, 400, 500, 700, 1000)  # fmt: skip
CONTROLS = {"cl_total": Stops(1.0, (0.5, 0.7, 1.0, 1.5, 2.0, 3.0)), "cl_count": Stops(4, COUNTS)}
"""The limit's μ, √k times the ε of each; how many releases."""


def sidebar(page) -> None:
    widgets.slider(page, "cl_count", "Releases k", show=prose.count)
    widgets.slider(page, "cl_total", "μ of the limit", help="Each release is a randomised response with ε = μ/√k.")


def together(values: Values) -> Responses:
    return Responses(values["cl_total"] / math.sqrt(values["cl_count"]), int(values["cl_count"]))


def picture(values: Values, colours: Palette) -> Picture:
    found, total = together(values), values["cl_total"]
    off = found.distance()
    headline = (
        f"{prose.count(found.count)} randomised response{'s' * (found.count > 1)} of ε = "
        f"{prose.number(found.epsilon, 3)}: the total loss is within **{prose.number(off, 3)}** of a bell; δ(1) is "
        f"**{prose.number(found.delta(1.0), 3)}**, the bell says {prose.number(gaussian_delta(1 / total, 1.0), 3)}."
    )
    facts = {"distance": prose.number(off, 6), "δ(1)": f"{prose.number(found.delta(1.0), 6)}, exact binomial sum"}
    note = (
        f"Distance: the largest difference of distribution functions, exact. μ of these k is {prose.number(found.mu)}, "
        f"in the limit {total:g}. Theorem 13.5 allows errors of γ = {prose.number(found.error, 3)}"
        + (", which says nothing (γ < ½ is needed)." if found.error >= 0.5 else ".")
    )
    return Picture(headline, (losses(found, total, colours), later(profiles, found, total, colours)), facts, (note,))


def losses(found: Responses, total: float, colours: Palette) -> Panel:
    """Every possible total loss with its probability, as a density, and the bell of the limit."""
    at, masses = found.law()
    width = 2 * found.epsilon
    centre, reach = total**2 / 2, 4.2 * total
    near = np.abs(at - centre) <= reach + width
    x = np.linspace(centre - reach, centre + reach, 241)
    bell = np.exp(-0.5 * ((x - centre) / total) ** 2) / (total * math.sqrt(2 * math.pi))
    figure = go.Figure()
    figure.add_bar(
        x=at[near], y=masses[near] / width, width=[0.92 * width] * int(near.sum()), name="k releases, exact",
        marker={"color": colours.accent, "opacity": 0.55}, customdata=masses[near],
        hovertemplate="total loss %{x:.4g}<br>probability %{customdata:.4g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=bell, mode="lines", name="the limit: N(μ²/2, μ²)", line=figures.series(colours, 1),
        hovertemplate="%{x:.3g}: %{y:.4g}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="total privacy loss", range=[centre - reach, centre + reach])
    figure.update_yaxes(title="probability per unit of loss", range=[0, 0.62 / total])
    rows = np.flatnonzero(near)[:: max(1, int(near.sum()) // 12)]
    table = {
        "total loss": [prose.number(float(at[row])) for row in rows],
        "probability": [prose.number(float(masses[row])) for row in rows],
    }  # fmt: skip
    alt = (
        f"Probabilities of the {found.count + 1} possible total losses as bars, and the bell that they tend to; the "
        f"distribution functions differ by at most {found.distance():.3g}."
    )
    return Panel("What all releases reveal together", figures.finish(figure, colours, height=HEIGHT), alt, table)


def profiles(found: Responses, total: float, colours: Palette) -> Panel:
    """δ(ε) of all together, and of the Gaussian in the limit."""
    x = np.linspace(0, 4 * total, 81)
    exact = np.array([found.delta(float(one)) for one in x])
    limit = np.array([gaussian_delta(1 / total, float(one)) for one in x])
    low = max(float(limit[-1]) / 3, 1e-9)
    return Plot(
        "δ(ε) of all together", Axis("ε", show=lambda v: prose.number(v, 3)),
        Axis("δ", {**figures.log_ticks(low, 1), "range": [math.log10(low), 0]}), x,
        (Curve("k releases, exact", exact), Curve("Gaussian of the limit", limit)), hover="δ(%{x:.3g}) = %{y:.4g}",
        about="profile", height=330,
    ).panel(colours)  # fmt: skip


def asked(count: int, epsilon: float) -> Question:
    """μ of so many responses."""
    mu = lambda: Responses(epsilon, count).mu  # noqa: E731
    return Question(
        text=f"{prose.count(count)} randomised responses with ε = {epsilon:g} each: which μ does the central limit "
        "theorem give?",
        right=mu,
        because=lambda: (
            f"Each loss is ±ε with mean ε tanh(ε/2) and deviation ε/cosh(ε/2), so μ = 2√k sinh(ε/2) = {mu():.4g}: "
            f"about √k·ε, and not k·ε = {count * epsilon:g}."
        ),
        hint="μ is twice the mean of the total loss over its standard deviation.",
    )


TOPIC = Topic(
    name="central_limit",
    title="Losses become a bell",
    section="13.9",
    moves=Moves("cl_count", "k = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("One release: two possible losses", {"cl_count": 1, "cl_total": 1.0}),
        Experiment("A hundred: a bell", {"cl_count": 100, "cl_total": 1.0}),
        Experiment("Large losses converge late", {"cl_count": 20, "cl_total": 3.0}),
    ),
    question=asked(49, 0.2),
    vary=lambda rng: asked(rng.choice((25, 36, 64, 81, 225)), rng.choice((0.05, 0.3, 0.6, 1.4))),
)
