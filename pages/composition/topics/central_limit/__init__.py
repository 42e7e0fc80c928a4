"""The central limit theorem of composition: the total privacy loss of k small releases becomes a bell."""

from __future__ import annotations

import math

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import randomised_response
from dpcore.gallery.converging_losses import Responses
from dpcore.noise.gaussian import gaussian_delta
from pages.lessons import lines, piles, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 50, 60, 70, 80, 100, 120, 150, 200,
          250, 300, 400, 500, 700, 1000)  # fmt: skip
CONTROLS = {
    "cl_total": Stops(1.0, (0.5, 0.7, 1.0, 1.5, 2.0, 3.0)), "cl_count": Stops(4, COUNTS), "seed": widgets.SEED,
}  # fmt: skip
"""The limit's μ, √k times the ε of each; how many releases."""
WALKS = 100
PLACES = 24
"""Most places of a walk that are drawn."""


def sidebar(page) -> None:
    widgets.slider(page, "cl_count", "Releases k", show=prose.count)
    widgets.slider(page, "cl_total", "μ of the limit", help="Each release is a randomised response with ε = μ/√k.")
    widgets.seed(page)


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
        f"Distance: the largest difference of distribution functions, exact. μ of these k is "
        f"{prose.number(found.mu, 3)}, in the limit {total:g}. Theorem 13.5 allows errors of γ = "
        f"{prose.number(found.error, 3)}" + (", which says nothing (γ < ½ is needed)." if found.error >= 0.5 else ".")
    )
    panels = (
        losses(found, total, colours), later(walks, found, total, int(values["seed"]), colours),
        later(profiles, found, total, colours),
    )  # fmt: skip
    return Picture(headline, panels, facts, (note,))


def losses(found: Responses, total: float, colours: Palette) -> Panel:
    """Every possible total loss with its probability, as a density, and the bell of the limit."""
    at, masses = found.law()
    width = 2 * found.epsilon
    centre, reach = total**2 / 2, 4.2 * total
    near = np.abs(at - centre) <= reach + width
    x = np.linspace(centre - reach, centre + reach, 241)
    bell = np.exp(-0.5 * ((x - centre) / total) ** 2) / (total * math.sqrt(2 * math.pi))
    figure = Chart()
    figure.add_bar(
        x=at[near], y=masses[near] / width, width=[0.92 * width] * int(near.sum()), name="k releases, exact",
        marker={"color": colours.accent, "opacity": 0.55}, customdata=masses[near],
        hovertemplate="total loss %{x:.3g}<br>probability %{customdata:.3g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=bell, mode="lines", name="the limit: N(μ²/2, μ²)", line=lines.series(colours, "gaussian"),
        hovertemplate="%{x:.3g}: %{y:.3g}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="total privacy loss", range=[centre - reach, centre + reach])
    figure.update_yaxes(title="probability per unit of loss", range=[0, 0.62 / total])
    rows = np.flatnonzero(near)[:: max(1, int(near.sum()) // 12)]
    table = {
        "total loss": [prose.number(float(at[row]), 3) for row in rows],
        "probability": [prose.number(float(masses[row]), 3) for row in rows],
    }  # fmt: skip
    alt = (
        f"Probabilities of the {found.count + 1} possible total losses as bars, and the bell that they tend to; the "
        f"distribution functions differ by at most {found.distance():.3g}."
    )
    return Panel("What all releases reveal together", figures.finish(figure, colours, height=HEIGHT), alt, table)


def walks(found: Responses, total: float, seed: int, colours: Palette) -> Panel:
    """The total loss on its way, one step for each release, and where so many walks end: beside what is expected."""
    count, rng = found.count, np.random.default_rng(seed)
    up = rng.random((WALKS, count)) < randomised_response.truth_probability(found.epsilon)
    paths = found.epsilon * np.concatenate([np.zeros((WALKS, 1)), np.cumsum(np.where(up, 1.0, -1.0), axis=1)], axis=1)
    times = np.unique(np.linspace(0, count, min(count, PLACES) + 1).round().astype(int))
    edges, parts = piles.cells(*found.law())
    y, rank = piles.heights(paths[:, -1], edges)
    middles, wide, most = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0], max(np.nanmax(rank), WALKS * parts.max())
    end, dot = 1.06 * count, 0.5 * count / most  # the piles lie: from here on, so wide a dot
    ways = np.concatenate([paths[:, times], np.full((WALKS, 1), np.nan)], axis=1)
    steps = np.append(times.astype(float), np.nan)
    figure = Chart()
    figure.add_bar(
        x=dot * WALKS * parts, y=middles, base=end, orientation="h", width=[float(wide)] * len(middles),
        name="expected, exact", marker={"color": colours.fill, "line": {"width": 0}}, customdata=WALKS * parts,
        hovertemplate="total loss %{y:.3g}: %{customdata:.3g} expected<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=np.tile(steps, WALKS), y=ways.ravel(), mode="lines", name="walks before", opacity=0.35,
        line=lines.reference(colours), hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=times, y=ways[-1, :-1], mode="lines", name="one walk", line=lines.series(colours, "exact"),
        hovertemplate="after %{x:.0f} releases: %{y:.3g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=end + dot * (rank - 0.5), y=y, mode="markers", name="its end", showlegend=False, customdata=paths[:, -1],
        marker={"color": colours.accent, "size": colours.type // 2, "line": {"width": 0}},
        hovertemplate="total loss %{customdata:.3g}<extra></extra>",
    )  # fmt: skip
    ticks = np.unique(np.linspace(0, count, min(count, 4) + 1).round().astype(int)).tolist()
    figure.update_xaxes(title="releases", range=[-0.02 * count, 1.6 * count], tickvals=ticks)
    reach = max(4.2 * total, 1.1 * (edges[-1] - total**2 / 2), 1.1 * (total**2 / 2 - edges[0]))
    figure.update_yaxes(title="total privacy loss", range=[total**2 / 2 - reach, total**2 / 2 + reach])
    figures.finish(figure, colours, height=360)
    growing = {
        0: lambda fallen: {"x": dot * fallen * parts},
        1: lambda fallen: {"x": np.tile(steps, fallen), "y": ways[:fallen].ravel()},
        2: lambda fallen: {"x": times, "y": ways[fallen - 1, :-1]},
        3: lambda fallen: {"x": end + dot * (rank[:fallen] - 0.5), "y": y[:fallen]},
    }
    piles.one_by_one(figure, WALKS, growing, "{} walks", colours)
    mean, spread = float(paths[:, -1].mean()), float(paths[:, -1].std())
    exact = found.epsilon * math.tanh(found.epsilon / 2) * count
    alt = (
        f"{WALKS} simulated walks of {count} steps up or down, and their ends in piles: mean {mean:.3g} and standard "
        f"deviation {spread:.3g}; the mean that is expected is {exact:.3g}."
    )
    table = {
        "total loss": [prose.number(one, 3) for one in middles.tolist()],
        "expected": [prose.number(one, 3) for one in (WALKS * parts).tolist()],
        "simulated": [int(np.sum(np.abs(y - middle) < 0.5 * wide)) for middle in middles],
    }
    return Panel(f"{WALKS} walks, one by one", figure, alt, table, "walks")


def profiles(found: Responses, total: float, colours: Palette) -> Panel:
    """δ(ε) of all together, and of the Gaussian in the limit."""
    x = np.linspace(0, 4 * total, 81)
    exact = np.array([found.delta(float(one)) for one in x])
    limit = np.array([gaussian_delta(1 / total, float(one)) for one in x])
    low = max(float(limit[-1]) / 3, 1e-9)
    return Plot(
        "δ(ε) of all together", Axis("ε", show=lambda v: prose.number(v, 3)),
        Axis("δ", {**figures.log_ticks(low, 1), "range": [math.log10(low), 0]}), x,
        (Curve("k releases, exact", exact), Curve("Gaussian of the limit", limit, style="gaussian")),
        hover="δ(%{x:.3g}) = %{y:.3g}", about="profile", height=330,
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
