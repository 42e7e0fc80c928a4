"""The reconstruction attack with a few questions per row: least squares against noisy sums."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import reconstruction as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0)
DOTS = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
ATTACKS = {"rounding": "least squares", "box": "least squares within [0, 1]"}
CONTROLS = {
    "rc_noise": Stops(0.3, RATIOS), "rc_rows": Stops(200, (100, 200, 400)), "rc_questions": Stops(4, (2, 4, 8)),
    "rc_design": Choice("balanced", core.DESIGNS), "rc_attack": Choice("rounding", ATTACKS), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.slider(
        page, "rc_noise", "Noise σ, in multiples of √n",
        help="Standard deviation of the Gaussian noise in every answer, over the square root of the number of rows.",
    )  # fmt: skip
    widgets.slider(page, "rc_rows", "Rows n", show=prose.count)
    widgets.slider(page, "rc_questions", "Questions per row", show=prose.count)
    widgets.pick(page, "rc_design", "Random subsets")
    widgets.pick(page, "rc_attack", "Attack")
    widgets.seed(page)


def picture(values: Values, colours: Palette) -> Picture:
    rows, ratio, seed = int(values["rc_rows"]), float(values["rc_noise"]), int(values["seed"])
    questions, sigma = rows * int(values["rc_questions"]), ratio * math.sqrt(rows)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows).astype(float)
    attack = core.LeastSquares(core.subsets(rows, questions, values["rc_design"], rng))
    answers = attack.asked @ truth + sigma * rng.standard_normal(questions)
    found = attack.within_box(answers) if values["rc_attack"] == "box" else attack.estimates(answers)
    share, expected = float(core.recovered(truth, found)), attack.expected_recovery(sigma)
    headline = (
        f"{prose.count(questions)} sums, each with noise of σ = {ratio:g}\u202f√n = {prose.number(sigma, 3)}, give "
        f"away **{round(share * rows)} of {rows}** secret bits (**{100 * share:.1f}\u202f%**). {verdict(share)}"
    )
    note = (
        f"This run: simulated, seed {seed}. Rounded least squares gets {100 * expected:.1f}\u202f% right on average "
        "over the noise (exact for these questions); no attack on random bits gets more than "
        f"{prose.at_most(100 * attack.ceiling(sigma), 3)}\u202f% on average. All answers together are "
        f"{prose.at_most(attack.gaussian_mu(sigma), 3)}-GDP."
    )
    facts = {
        "recovered": f"{100 * share:.1f} %, simulated with seed {seed}",
        "expected": f"{100 * expected:.3f} %, exact",
    }
    panels = (
        transition(values, attack, ratio, share, colours),
        bits(truth, found, colours),
        estimates(truth, found, colours),
    )
    return Picture(headline, panels, facts, (note,))


def verdict(share: float) -> str:
    """The attack's success in words."""
    if share >= 0.9:
        return "The answers are *blatantly non-private*."
    return "The attack fails: hardly better than coins." if share <= 0.65 else "The attack half succeeds."


@lru_cache(maxsize=64)
def simulated(rows: int, questions: int, design: str, seed: int) -> np.ndarray:
    """Shares recovered, seed by seed, at the noises `DOTS`: (seeds, noises)."""
    seeds = range(seed, seed + (20 if rows < 400 else 10))
    shares = core.recovered_by_seed(rows, questions, design, DOTS * math.sqrt(rows), seeds)
    shares.setflags(write=False)
    return shares


def transition(values: Values, attack: core.LeastSquares, ratio: float, share: float, colours: Palette) -> Panel:
    """Share recovered against the noise: exact for these questions, simulated over seeds, and the ceiling."""
    rows, design, seed = int(values["rc_rows"]), values["rc_design"], int(values["seed"])
    questions, root = len(attack.asked), math.sqrt(rows)
    grid = np.geomspace(DOTS[0], DOTS[-1], 61)
    exact = np.array([100 * attack.expected_recovery(float(r * root)) for r in grid])
    ceiling = np.array([100 * attack.ceiling(float(r * root)) for r in grid])
    shares = 100 * simulated(rows, questions, design, seed)
    figure = Chart()
    figure.add_scatter(x=grid, y=np.full(grid.shape, 102.0), mode="lines", line={"width": 0}, showlegend=False,
                       hoverinfo="skip")  # fmt: skip
    figure.add_scatter(
        x=grid, y=ceiling, mode="lines", line=lines.series(colours, "bound", width=1.5), fill="tonexty",
        fillcolor=colours.impossible, name="no attack gets there on average",
        hovertemplate="σ = %{x:.3g} √n: no attack above %{y:.3g} %<extra></extra>",
    )  # fmt: skip
    known = [("least squares, expected", exact, lines.series(colours, "exact"))]
    if design == "independent":
        about = [100 * core.expected_recovery_estimate(rows, questions, float(r * root)) for r in grid]
        known.append(("Φ(√(m − n)/(4σ)), an estimate", np.array(about), lines.estimate(colours, "bound")))
    for name, y, line in known:
        figure.add_scatter(
            x=grid, y=y, name=name, mode="lines", line=line,
            hovertemplate=f"<b>{name}</b><br>σ = %{{x:.3g}} √n: %{{y:.3g}} %<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=DOTS, y=shares.mean(axis=0), mode="markers", name=f"simulated, {len(shares)} seeds",
        marker={"color": lines.colour(colours, 2), "size": 7, "symbol": "square"},
        error_y={"array": shares.std(axis=0, ddof=1), "thickness": 1.2, "width": 3},
        hovertemplate="σ = %{x:.3g} √n: %{y:.3g} % ± %{error_y.array:.2g}<extra></extra>",
    )  # fmt: skip
    figures.chosen(figure, ratio, 100 * share, "this run", colours)
    figure.update_xaxes(title="noise σ / √n", **figures.log_ticks(0.05, 4))
    figure.update_yaxes(title="rows recovered (%)", range=[48, 102])
    here = 100 * attack.expected_recovery(ratio * root)
    alt = (
        f"Share of rows recovered against the noise: {exact[0]:.1f} % at 0.05 √n, {here:.1f} % at the chosen {ratio:g} "
        f"√n, {exact[-1]:.1f} % at 4 √n; this run {100 * share:.1f} %. The ceiling for any attack lies above."
    )
    table = {
        "σ/√n": [f"{r:g}" for r in DOTS],
        "expected (%)": [f"{100 * attack.expected_recovery(float(r * root)):.1f}" for r in DOTS],
        f"mean of {len(shares)} seeds (%)": [f"{v:.1f}" for v in shares.mean(axis=0)],
        "standard deviation": [f"{v:.2f}" for v in shares.std(axis=0, ddof=1)],
        "no attack above (%)": [prose.at_most(100 * attack.ceiling(float(r * root)), 3) for r in DOTS],
    }
    return Panel("What the noise protects", figures.finish(figure, colours, height=HEIGHT), alt, table)


def bits(truth: np.ndarray, found: np.ndarray, colours: Palette) -> Panel:
    """Every row: its bit guessed right or wrong."""
    rows = len(truth)
    width = 20 if rows <= 200 else 40
    right = (found > 0.5) == (truth > 0.5)
    place = np.arange(rows)
    figure = Chart()
    for name, chosen, symbol, colour in (
        ("guessed right", right, "square", 0), ("guessed wrong", ~right, "x", 1)
    ):  # fmt: skip
        figure.add_scatter(
            x=place[chosen] % width + 1, y=place[chosen] // width + 1, mode="markers", name=name,
            marker={"symbol": symbol, "size": 12 if rows <= 200 else 8, "color": lines.colour(colours, colour)},
            customdata=np.column_stack([place + 1, truth, found])[chosen],
            hovertemplate="row %{customdata[0]}: truly %{customdata[1]}, found %{customdata[2]:.2f}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, width + 1])
    figure.update_yaxes(visible=False, range=[rows // width + 1, 0])
    alt = f"One mark per row: {int(right.sum())} of {rows} bits guessed right, {int((~right).sum())} wrong."
    table = {
        "row": (place + 1).tolist(), "bit": truth.astype(int).tolist(), "estimate": [f"{x:.2f}" for x in found],
        "guess": (found > 0.5).astype(int).tolist(),
    }  # fmt: skip
    return Panel("Every row", figures.finish(figure, colours, height=300), alt, table, "rows")


def estimates(truth: np.ndarray, found: np.ndarray, colours: Palette) -> Panel:
    """What the attack makes of the rows whose bit is 0, and of those whose bit is 1."""
    reach = max(1.2, float(np.quantile(np.abs(found - 0.5), 0.99)))
    edges = np.linspace(0.5 - reach, 0.5 + reach, 41)
    middles = 0.5 * (edges[1:] + edges[:-1])
    counts = {f"bit {bit}": np.histogram(np.clip(found[truth == bit], *edges[[0, -1]]), edges)[0] for bit in (0, 1)}
    figure = Chart()
    for (name, height), key, pattern in zip(counts.items(), (1, 0), ("/", "")):
        figure.add_bar(
            x=middles, y=height, width=np.diff(edges), name=name, opacity=0.75,
            marker={"color": lines.colour(colours, key), "line": {"width": 0}, "pattern": {"shape": pattern}},
            hovertemplate=f"{name}, about %{{x:.2f}}: %{{y}} rows<extra></extra>",
        )  # fmt: skip
    parts.upright(figure, 0.5, "cut at ½", colours)
    figure.update_xaxes(title="estimate of the bit")
    figure.update_yaxes(title="rows")
    means = [float(found[truth == bit].mean()) if (truth == bit).any() else math.nan for bit in (0, 1)]
    alt = f"Estimates of the rows with bit 0 centre at {means[0]:.2f}, of those with bit 1 at {means[1]:.2f}."
    table = {"estimate about": [f"{x:.2f}" for x in middles]} | {name: c.tolist() for name, c in counts.items()}
    return Panel("What the attack sees", figures.finish(figure, colours, height=300), alt, table, "estimates")


@lru_cache(maxsize=16)
def recovered(questions: int, times: float) -> float:
    """Expected share, in percent, of the bits of 200 rows, at noise of so many times √n."""
    rng = np.random.default_rng(0)
    return 100 * core.LeastSquares(core.subsets(200, questions, "balanced", rng)).expected_recovery(
        times * math.sqrt(200)
    )


def share_found(questions: int, times: float) -> Question:
    """The share of bits that an attack finds; one of three answers."""
    sigma = times * math.sqrt(200)
    shares = (50.0, 69.0, 95.0)
    return Question(
        text=f"Each of {questions} balanced random sums over 200 rows gets Gaussian noise with "
        f"σ = {'' if times == 1 else f'{times:g} '}√n ≈ {sigma:.3g}. Which share of the bits does rounded least "
        "squares get right on average?",
        options=("about 50 %: such noise protects", "about 69 %", "about 95 %"),
        right=lambda: int(np.argmin(np.abs(np.array(shares) - recovered(questions, times)))),
        because=lambda: (
            f"It is {recovered(questions, times):.1f} %: an estimate errs with a standard deviation of about "
            f"2σ/√m = {2 * sigma / math.sqrt(questions):.2g}, and ½ is what a bit is from the cut. "
            "The attack fades; there is no cliff at √n."
        ),
        hint="Drag the noise to that σ: the solid line is the average over the noise.",
    )


TOPIC = Topic(
    name="reconstruction",
    title="Reconstruction attack",
    section="2",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Too little noise: 0.3 √n", {"rc_noise": 0.3, "rc_rows": 200, "rc_questions": 4}),
        Experiment("Enough noise: 2 √n", {"rc_noise": 2.0, "rc_rows": 200, "rc_questions": 4}),
        Experiment("Twice the questions against 0.5 √n", {"rc_noise": 0.5, "rc_rows": 200, "rc_questions": 8}),
    ),
    question=share_found(800, 1.0),
    vary=lambda rng: share_found(*rng.choice(((800, 0.3), (800, 3.0), (1600, 1.4), (400, 0.7)))),
)
