"""Differencing and linkage: what harmless answers and nameless tables give away, and what noise leaves of it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import differencing as core
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import Choice

BITS = 8
"""Salaries are whole thousands below 2^8."""
CAP = 2**BITS - 1
SALARY = 62
NEAR = 10
GUESSED = (2 * NEAR + 1) / 2**BITS
"""Share of all salaries within ±10 of the best guess."""
PATIENTS = 12

KINDS = {"totals": "two totals", "counts": "eight pairs of counts"}
BIRTHS = {"year": "year", "month": "year and month", "day": "the day"}
PEOPLE = (100, 1000, 10_000, 50_000, 100_000)
AREAS = (1, 5, 25, 100)
CONTROLS = {
    "epsilon": widgets.EPSILON, "df_kind": Choice("totals", KINDS), "df_people": Stops(10_000, PEOPLE),
    "df_areas": Stops(25, AREAS), "df_birth": Choice("day", BIRTHS), "seed": widgets.SEED,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.epsilon(page)
    widgets.pick(page, "df_kind", "What is asked")
    widgets.slider(page, "df_people", "People in the town", show=prose.count)
    widgets.slider(page, "df_areas", "Postcodes in it", show=prose.count)
    widgets.pick(page, "df_birth", "Date of birth tells")
    widgets.seed(page)


def picture(values: Values, colours: Palette) -> Picture:
    epsilon = values["epsilon"]
    totals, counts = core.TwoTotals(CAP, epsilon), core.PairsOfCounts(BITS, epsilon)
    if values["df_kind"] == "totals":
        headline = (
            f"The total of all salaries, minus the total without her, is exactly **{SALARY}** thousand. With noise for "
            f"ε = {epsilon:g} the difference errs by **{prose.number(totals.mean_error, 3)}** on average, and by at "
            f"most {NEAR} with probability **{prose.percent(totals.within(NEAR))}**."
        )
    else:
        headline = (
            f"“How many earn {(CAP + 1) // 2} or more?”, with her and without her: {BITS} such pairs find **{SALARY}** "
            f"thousand by halving. With noise for ε = {epsilon:g} all are read rightly with probability "
            f"**{prose.percent(counts.found)}**; blind guessing has {prose.percent(1 / 2**BITS)}."
        )
    facts = {
        "mean error of the difference of totals": f"{prose.number(totals.mean_error, 6)} thousand, exact",
        "one pair of counts read rightly": f"{prose.number(100 * counts.answered, 6)} %, exact",
    }
    linked, panel = linkage(values, colours)
    note = (
        f"Salaries are whole thousands up to {CAP}; the noise is for ε on all answers of one attack together. Linkage: "
        f"{linked} of {PATIENTS} made-up patients have a name (seed {int(values['seed'])})."
    )
    first = totals_law(totals, colours) if values["df_kind"] == "totals" else counts_law(counts, colours)
    return Picture(
        headline, (first, later(attacks, values, colours), panel, later(unique, values, colours)), facts, (note,)
    )


def totals_law(law: core.TwoTotals, colours: Palette) -> Panel:
    """Density of the difference of both totals."""
    x = np.unique(np.append(np.linspace(-400, 525, 371), SALARY))
    figure = Chart()
    figure.add_scatter(
        x=x, y=law.density(x - SALARY), mode="lines", name="difference of the noisy totals",
        line=lines.series(colours, 0), fill="tozeroy", fillcolor=colours.fill,
        hovertemplate="%{x:.3g} thousand: density %{y:.3g}<extra></extra>",
    )  # fmt: skip
    parts.upright(figure, SALARY, "without noise: her salary", colours)
    figure.update_xaxes(title="difference (thousands)", range=[-400, 525])
    figure.update_yaxes(title="probability density", rangemode="tozero")
    outside = 1 - law.within(max(SALARY, CAP - SALARY))
    alt = (
        f"Density of the difference around {SALARY} thousand, mean error {prose.number(law.mean_error, 3)}, within "
        f"{NEAR} with probability {100 * law.within(NEAR):.3g} %. More than {100 * outside:.2g} % lie outside all "
        "salaries."
    )
    grid = np.linspace(-400, 525, 13)
    table = {
        "difference (thousands)": [prose.number(float(v), 3) for v in grid],
        "density": [prose.number(float(v), 3) for v in law.density(grid - SALARY)],
    }
    return Panel("What the attacker computes", figures.finish(figure, colours, height=HEIGHT), alt, table)


def counts_law(law: core.PairsOfCounts, colours: Palette) -> Panel:
    """Probabilities of the difference of two counts, for a salary below the threshold and one above."""
    k = np.arange(-12, 14)
    figure, table = Chart(), {"difference of the counts": k.tolist()}
    for number, (name, above) in enumerate((("she earns less", 0), ("she earns as much or more", 1))):
        y = 100 * law.error(k - above)
        figure.add_scatter(
            x=k, y=y, mode="lines+markers", name=name, line=lines.series(colours, number),
            marker={"size": 8, "symbol": ("circle", "square")[number]},
            hovertemplate=f"{name}<br>difference %{{x}}: %{{y:.3g}} %<extra></extra>",
        )  # fmt: skip
        table[f"{name} (%)"] = [prose.number(float(v), 3) for v in y]
    figure.update_xaxes(title="difference of the two counts")
    figure.update_yaxes(title="probability (%)", rangemode="tozero")
    alt = (
        f"Laws of the difference of two noisy counts, 1 apart; a pair is read rightly with {100 * law.answered:.3g} %."
    )
    return Panel("What the attacker computes", figures.finish(figure, colours, height=HEIGHT), alt, table)


def attacks(values: Values, colours: Palette) -> Panel:
    """How often each attack succeeds against ε, and what no attack exceeds."""
    at = np.array(widgets.EPSILON.stops)
    near = lambda e: 100 * core.TwoTotals(CAP, e).within(NEAR)  # noqa: E731
    exact = lambda e: 100 * core.PairsOfCounts(BITS, e).found  # noqa: E731
    most = lambda e: 100 * core.best_attack(e, GUESSED)  # noqa: E731
    here, totals = values["epsilon"], values["df_kind"] == "totals"
    described = (
        (f"totals: within {NEAR} thousand", near, totals, 0),
        ("counts: the very salary", exact, not totals, 1),
    )
    curves = [
        Curve(name, np.array([share(e) for e in at]), share(here), ringed, style)
        for name, share, ringed, style in described
    ]
    bound = Curve(f"within {NEAR}: no attack more often", np.array([most(e) for e in at]), most(here), style="bound")
    return Plot(
        "How often the attack succeeds", Axis("ε", figures.log_ticks(at[0], at[-1])),
        Axis("probability (%)", figures.log_ticks(0.03, 100) | {"range": [-1.6, 2.1]}), at, (*curves, bound),
        hover="ε = %{x}: %{y:.3g} %", here=here, about="attacks", height=360,
    ).panel(colours)  # fmt: skip


@lru_cache(maxsize=32)
def patients(people: int, areas: int, birth: str, seed: int) -> np.ndarray:
    """How many people of the register agree with each patient in one, two, three columns."""
    rng = np.random.default_rng(seed)
    register = core.town(people, areas, rng)
    return core.candidates(register, register[rng.permutation(people)[:PATIENTS]], birth)


def linkage(values: Values, colours: Palette) -> tuple[int, Panel]:
    """(patients of whom one person is left, how many are left for each after every column)."""
    left = patients(int(values["df_people"]), int(values["df_areas"]), values["df_birth"], int(values["seed"]))
    rows = [f"patient {k + 1}" for k in range(PATIENTS)]
    figure, columns = Chart(), ("sex", "and postcode", f"and birth ({BIRTHS[values['df_birth']]})")
    for number, (name, symbol) in enumerate(zip(columns, ("circle-open", "square-open", "diamond"))):
        figure.add_scatter(
            x=left[:, number], y=rows, mode="markers", name=name,
            marker={"size": 10, "symbol": symbol, "color": lines.colour(colours, (1, 2, 0)[number])},
            hovertemplate="%{y}: %{x} people agree<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title="people of the register who agree", **figures.log_ticks(1, float(left.max())))
    figure.update_yaxes(autorange="reversed")
    named = int((left[:, 2] == 1).sum())
    alt = (
        f"{PATIENTS} patients without names; of the register agree in sex: about {np.median(left[:, 0]):g}, in "
        f"postcode as well: {np.median(left[:, 1]):g}, in birth as well: {np.median(left[:, 2]):g}. {named} are named."
    )
    table = {"patient": rows} | {name: left[:, k].tolist() for k, name in enumerate(columns)}
    return named, Panel("Two tables, three columns", figures.finish(figure, colours, height=400), alt, table, "linkage")


def unique(values: Values, colours: Palette) -> Panel:
    """Expected share of people alone with their three values, against the size of the town."""
    at, here = np.geomspace(100, 1e6, 61), values["df_people"]
    cells = {name: 2 * int(values["df_areas"]) * core.BIRTHS[birth] for birth, name in BIRTHS.items()}
    chosen = BIRTHS[values["df_birth"]]
    return Plot(
        "Alone with three values", Axis("people in the town", figures.log_ticks(100, 1e6), prose.count),
        Axis("expected share of them (%)", {"range": [0, 103]}), at,
        tuple(
            Curve(f"birth: {name}", 100 * core.alone(at, m), 100 * float(core.alone(here, m)), name == chosen, style)
            for style, (name, m) in zip((2, 1, 0), cells.items())
        ),
        hover="%{x:,.0f} people: %{y:.3g} %", here=here, about="unique", height=400,
    ).panel(colours)  # fmt: skip


def asked(cap: int, epsilon: float) -> Question:
    """Mean error of the difference of two totals."""
    law = core.TwoTotals(cap, epsilon)
    return Question(
        text=f"Salaries are clamped to 0 … {cap} thousand. Two totals get Laplace noise, half of ε = {epsilon:g} each. "
        "By how much does their difference err on average?",
        right=lambda: law.mean_error,
        because=lambda: (
            f"Each total has scale b = {cap}/({epsilon:g}/2) = {prose.plain(law.scale)}. The difference of two such "
            f"variables is 3b/2 = {prose.plain(law.mean_error)} in size on average."
        ),
        unit="thousand",
        hint="Which scale has the noise of one total? The difference of two of them is one and a half times as large.",
    )


TOPIC = Topic(
    name="differencing",
    title="Differencing and linkage",
    section="1",
    moves=Moves("epsilon", "ε = {:g}"),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment("Hardly any noise: ε = 10", {"df_kind": "totals", "epsilon": 10.0}),
        Experiment("Counts instead of totals", {"df_kind": "counts", "epsilon": 10.0}),
        Experiment("Tell only the year of birth", {"df_birth": "year", "df_people": 10_000, "epsilon": 1.0}),
    ),
    question=asked(100, 1.0),
    vary=lambda rng: asked(rng.choice((50, 120, 150, 200)), rng.choice((0.5, 2.0, 4.0))),
)
