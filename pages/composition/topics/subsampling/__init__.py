"""Amplification by subsampling: the (ε, δ) formula, the exact curve of each direction, and the trade-off function."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpcore import figures
from dpcore.accounting.curves import least_epsilon
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.subsampling import KINDS, Sampling, amplified, amplified_tradeoff, subsampled_tradeoff
from dpcore.accounting.tradeoff import guarantee_tradeoff
from dpcore.figures import Palette
from pages.composition.pieces import DELTA, EPSILON
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Guess, Moves, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import Stops
from pages.shared import prose
from pages.shared.address import Choice

RATES = (0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0)
MECHANISMS = {"laplace": "Laplace noise", "gaussian": "Gaussian noise", "pure": "any ε-DP mechanism"}
SAMPLINGS = {"poisson": "Poisson: everybody by chance", "fixed": "fixed size, without replacement"}
SIDES = {"remove": "exact, one person less", "add": "exact, one person more", "replace": "exact, one person replaced"}
CHANGES = {"remove": "if a person is removed", "add": "if one is added", "replace": "if a person is replaced"}
CONTROLS = {
    "su_mechanism": Choice("laplace", MECHANISMS), "su_epsilon": EPSILON, "su_rate": Stops(0.1, RATES),
    "su_kind": Choice("poisson", SAMPLINGS), "delta": DELTA,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.pick(page, "su_mechanism", "Mechanism on the sample")
    widgets.slider(page, "su_epsilon", "Its ε", help="Without sampling; Gaussian noise has it at the δ below.")
    widgets.pick(page, "su_kind", "Sampling")
    widgets.slider(page, "su_rate", "Sampling rate p", show=prose.percent)
    widgets.delta(page)


def spec(values: Values) -> str:
    """The mechanism as the command line writes it."""
    tail = f",delta={values['delta']:g}" if values["su_mechanism"] == "gaussian" else ""
    return f"{values['su_mechanism']}:epsilon={values['su_epsilon']:g}{tail}"


@lru_cache(maxsize=4096)
def exact(text: str, kind: str, rate: float, delta: float) -> dict[str, float]:
    """The least ε of one use at δ, in each direction, rounded up."""
    release = Release(parse_mechanism(text), 1, Sampling(kind, rate))
    return {side: _least(release, side, delta) for side in KINDS[kind]}


def _least(release: Release, side: str, delta: float) -> float:
    """On the exact curve of the pair, whose values are right to a relative 1e-10; ∞ beyond 500."""
    pair = release.pair(side)
    return least_epsilon(lambda e: float(pair.delta(e)) * (1 + 1e-9), delta, within=1e-10, most=500)


def picture(values: Values, colours: Palette) -> Picture:
    rate, delta, text = values["su_rate"], values["delta"], spec(values)
    epsilon, own = values["su_epsilon"], values["delta"] if values["su_mechanism"] == "gaussian" else 0.0
    formula, spent = amplified(epsilon, own, rate)
    found = exact(text, values["su_kind"], rate, delta)
    best = max(found.values())
    sides = ", ".join(f"**{prose.at_most(found[side], 3)}** {CHANGES[side]}" for side in found)
    sample = f"A secret {prose.percent(rate)} sample" if rate < 1 else "Without sampling, everything"
    headline = (
        f"{sample} turns ε = {epsilon:g} into **{prose.at_most(formula, 3)}** by the formula, at "
        f"δ = {prose.plain(spent)}; exactly, at δ = {prose.delta_text(delta)}, it is {sides}."
    )
    neighbours = (
        "one person more or less" if values["su_kind"] == "poisson" else "one person replaced; the size is known"
    )
    facts = {
        "formula": f"({prose.at_most(formula, 8)}, {prose.plain(spent)})",
        "exact ε": prose.at_most(best, 8),
        "mechanism": text,
    }
    return Picture(
        headline, (against_rate(values, colours), later(tradeoffs, values, colours)), facts,
        (f"Neighbours: {neighbours}. The sample must stay secret, and be drawn afresh for each use.",),
    )  # fmt: skip


def against_rate(values: Values, colours: Palette) -> Panel:
    """ε after sampling against the rate."""
    epsilon, delta, kind, text = values["su_epsilon"], values["delta"], values["su_kind"], spec(values)
    rate, place = values["su_rate"], RATES.index(values["su_rate"])
    formula = np.array([amplified(epsilon, 0.0, rate)[0] for rate in RATES])
    found = {side: np.array([exact(text, kind, rate, delta)[side] for rate in RATES]) for side in KINDS[kind]}
    worst = max(found, key=lambda side: found[side][place])
    curves = (
        *(
            Curve(SIDES[side], y, float(y[place]), side == worst, style, marks={"size": 5})
            for (side, y), style in zip(found.items(), (0, 2))
        ),
        Curve("formula ln(1 + p(e<sup>ε</sup> − 1))", formula, float(formula[place]), style="bound"),
        Curve("rate times ε", np.array(RATES) * epsilon, style=lines.reference(colours)),
    )  # fmt: skip
    return Plot(
        "ε after sampling", Axis("sampling rate p", figures.log_ticks(0.001, 1), "{:g}".format, "p"),
        Axis(
            f"ε at δ = {prose.delta_text(delta)}", figures.log_ticks(1e-5, 10) | {"range": [-4.5, 0.9]},
            lambda v: prose.at_most(v, 3),
        ),
        np.array(RATES), curves, hover="p = %{x}: ε = %{y:.3g}", here=rate, most=len(RATES),
    ).panel(colours)  # fmt: skip


def tradeoffs(values: Values, colours: Palette) -> Panel:
    """Type II against type I errors: without sampling, with it, and what the one pair (ε′, δ′) keeps of that."""
    epsilon, rate = values["su_epsilon"], values["su_rate"]
    own = values["delta"] if values["su_mechanism"] == "gaussian" else 0.0
    alphas = np.unique(np.concatenate([np.linspace(0, 1, 201), np.geomspace(1e-4, 1, 60)]))
    pair = parse_mechanism(spec(values)).pair
    errors = {
        "mechanism on a sample, C_p(f)": subsampled_tradeoff(pair, alphas, rate),
        "C_p of (ε, δ)-DP (Corollary 13.2)": amplified_tradeoff(alphas, epsilon, own, rate),
        "the pair (ε′, δ′) alone": guarantee_tradeoff(*amplified(epsilon, own, rate), alphas),
        "without sampling": np.asarray(pair.tradeoff(alphas)),
    }
    middle, styles = int(np.argmin(np.abs(alphas - 0.2))), (0, 2, "bound", lines.reference(colours))
    return Plot(
        "What an attacker can still test", Axis("type I error", {"range": [0, 1]}, "{:.3g}".format),
        Axis("type II error", {"range": [0, 1.02]}), alphas,
        tuple(Curve(name, y, float(y[middle]), style=style) for (name, y), style in zip(errors.items(), styles)),
        hover="%{x:.3g}, %{y:.3g}", here=float(alphas[middle]), about="tradeoff", height=360,
    ).panel(colours)  # fmt: skip


def asked(epsilon: float, rate: float) -> Question:
    """ε after sampling, by the formula."""
    promised = lambda: amplified(epsilon, 0.0, rate)[0]  # noqa: E731
    return Question(
        text=f"A mechanism is {epsilon:g}-DP. You run it on a Poisson sample with rate {100 * rate:g} %. What ε does "
        "the formula promise?",
        right=promised,
        because=lambda: (
            f"$\\ln(1+{rate:g}(e^{{{epsilon:g}}}-1))$ = {promised():.4f}: with probability {1 - rate:g} the person is "
            f"not even looked at. More than {rate:g}·{epsilon:g}, because $e^\\varepsilon$, not ε, is what is averaged."
        ),
        hint="$e^\\varepsilon$ is averaged, not ε: over being in the sample and not.",
    )


TOPIC = Topic(
    name="subsampling",
    title="Subsampling",
    section="11.1",
    moves=Moves("su_epsilon", "ε = {:g}"),
    guess=Guess(
        lambda values: (
            f"A mechanism has ε = {values['su_epsilon']:g}. Which ε is left of it on a secret "
            f"{prose.percent(values['su_rate'])} sample, at δ = {prose.delta_text(values['delta'])}?"
        ),
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
        lambda values: max(exact(spec(values), values["su_kind"], values["su_rate"], values["delta"]).values()),
        lambda value: prose.at_most(value, 3),
        side="start",
    ),
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    experiments=(
        Experiment(
            "Weak privacy, small sample",
            {"su_epsilon": 3.0, "su_rate": 0.01, "su_mechanism": "laplace", "su_kind": "poisson"},
        ),
        Experiment(
            "One pair forgets most of it",
            {"su_epsilon": 2.0, "su_rate": 0.5, "su_mechanism": "pure", "su_kind": "fixed"},
        ),
        Experiment(
            "Gaussian noise: more is safer than less",
            {"su_epsilon": 2.0, "su_rate": 0.1, "su_mechanism": "gaussian", "su_kind": "poisson"},
        ),
    ),
    question=asked(2.0, 0.25),
    vary=lambda rng: asked(rng.choice((0.5, 1.5, 2.5, 3.0)), rng.choice((0.02, 0.05, 0.2, 0.4))),
)
