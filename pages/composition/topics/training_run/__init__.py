"""DP-SGD carried out: accuracy against the ε spent, of the chosen training beside some at a given ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import noisy_descent
from pages.composition import work
from pages.composition.pieces import DELTA, least, shown
from pages.lessons import curves as parts
from pages.lessons import lines, widgets
from pages.lessons.plot import Axis, Curve, Plot
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values, Work
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose

NOISES = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 14.0, 20.0)
CONTROLS = {
    "dr_noise": Stops(4.0, NOISES), "dr_clip": Stops(0.1, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)),
    "dr_rate": Stops(0.05, (0.01, 0.02, 0.05, 0.1, 0.2)),
    "dr_steps": Stops(1200, (50, 100, 200, 300, 600, 1200, 2000)), "delta": DELTA, "seed": widgets.SEED,
}  # fmt: skip
TARGETS = tuple(f"{target:g}" for target in reversed(work.TARGETS))
LOWEST = 0.02
"""ε from which on the chart shows."""


def sidebar(page) -> None:
    widgets.slider(page, "dr_noise", "Noise multiplier σ", help="Deviation of the noise over the clipping norm.")
    widgets.slider(page, "dr_clip", "Clipping norm C", help="No person's gradient counts as longer than this.")
    widgets.slider(
        page, "dr_rate", "Sampling rate q", help="Every person is in a batch with this probability, by itself."
    )
    widgets.slider(page, "dr_steps", "Steps T", show=prose.count)
    widgets.delta(page)
    widgets.seed(page)


def asked(values: Values) -> work.Learning:
    return work.Learning(
        values["dr_rate"], values["dr_noise"], values["dr_clip"], int(values["dr_steps"]), values["delta"],
        int(values["seed"] or 0),
    )  # fmt: skip


def so_far(looks: Sequence[Any]) -> work.Learnt | None:
    """What was reported up to now, from the second look on."""
    return work.Learnt(tuple(looks)) if len(looks) > 1 else None


def picture(values: Values, colours: Palette) -> Picture:
    found: work.Learnt = values["found"]
    steps, delta, seed = int(values["dr_steps"]), values["delta"], int(values["seed"] or 0)
    chosen = found.of("chosen")
    now = chosen[-1]
    over = now.step == steps
    done = f"{prose.count(now.step)} steps" if over else f"{prose.count(now.step)} of {prose.count(steps)} steps"
    headline = (
        f"After {done} with σ = {values['dr_noise']:g}, training is (**{shown(now.most, 3)}**, "
        f"{prose.delta_text(delta)})-DP and gets **{percent(now)}** of fresh rows right"
    )
    others = [(f"ε = {name}", ended(found, name, steps)) for name in TARGETS]
    others = [(label, look) for label, look in [*others, ("no privacy", ended(found, "free", steps))] if look]
    if others:
        headline += "; " + ", ".join(f"{label}: {percent(look)}" for label, look in others)
    facts = {
        "ε": f"at least {least(now.least, 6)}, at most {shown(now.most, 6)}, certified",
        "accuracy": f"simulated, mean of {work.RUNS} runs, seed {seed}",
    }  # fmt: skip
    notes = (
        f"ε is certified: it lies between {least(now.least, 3)} and {shown(now.most, 3)}. Accuracies are simulated, "
        f"seed {seed}: {prose.count(work.PEOPLE)} rows, {work.WEIGHTS} weights, means of {work.RUNS} runs.",
        "Batches are Poisson samples, everyone in by itself with probability q, as the accountant assumes; neighbours "
        "have one person more or less. Shuffled batches of fixed size, which most libraries draw, are another account.",
    )
    return Picture(headline + ".", (against(values, found, colours), along(found, colours)), facts, notes)


def ended(found: work.Learnt, name: str, steps: int) -> work.Look | None:
    """The last look at a training that has come to its end."""
    looks = found.of(name)
    return looks[-1] if looks and looks[-1].step == steps else None


def percent(look: work.Look) -> str:
    return f"{100 * look.mean:.1f}\u202f%"


def named(name: str) -> str:
    return {"chosen": "chosen σ", "free": "no privacy"}.get(name, f"σ for ε = {name}")


def against(values: Values, found: work.Learnt, colours: Palette) -> Panel:
    """Accuracy against the ε spent so far, training by training."""
    figure, ends = Chart(), []
    for number, name in enumerate(("chosen", *TARGETS)):
        looks = [one for one in found.of(name) if one.most >= LOWEST]
        if not looks:
            continue
        label = named(name)
        figure.add_scatter(
            x=[one.most for one in looks], y=[100 * one.mean for one in looks], name=label, mode="lines+markers",
            line=lines.series(colours, number), marker={"size": 5},
            customdata=[[one.step, 100 * one.low, 100 * one.high] for one in looks],
            hovertemplate=f"<b>{label}</b><br>%{{customdata[0]}} steps: ε at most %{{x:.3~r}}, %{{y:.1f}} %"
            "<br>runs from %{customdata[1]:.1f} to %{customdata[2]:.1f} %<extra></extra>",
        )  # fmt: skip
        ends.append(looks[-1].most)
    if free := found.of("free"):
        last = 100 * free[-1].mean
        parts.level(figure, last, "no privacy", colours)
    if ended(found, "chosen", int(values["dr_steps"])):
        now = found.of("chosen")[-1]
        figures.chosen(figure, now.most, 100 * now.mean, "chosen, at its end", colours)
    top = max(8.0, *(1.3 * one for one in ends)) if ends else 8.0
    ticks = figures.log_ticks(LOWEST, top)
    figure.update_xaxes(
        title=f"ε spent so far, at δ = {prose.delta_text(values['delta'])}", **ticks,
        range=[math.log10(LOWEST), math.log10(top)],
    )  # fmt: skip
    figure.update_yaxes(title="fresh rows right (%)", range=[48, 90])
    looks = [looks[-1] for name in ("chosen", *TARGETS, "free") if (looks := found.of(name))]
    table = {
        "training": [named(one.name) for one in looks], "σ": [prose.number(one.noise, 3) for one in looks],
        "steps": [prose.count(one.step) for one in looks], "ε at least": [least(one.least) for one in looks],
        "ε at most": [shown(one.most) for one in looks], "right": [percent(one) for one in looks],
        "runs": [f"{100 * one.low:.1f} … {100 * one.high:.1f} %" for one in looks],
    }  # fmt: skip
    alt = "Accuracy on fresh rows against the ε spent: " + "; ".join(
        f"{named(one.name)} {percent(one)}" + (f" at ε {shown(one.most)}" if math.isfinite(one.most) else "")
        for one in looks
    )
    return Panel("Accuracy against ε, simulated", figures.finish(figure, colours, height=HEIGHT), alt, table)


def along(found: work.Learnt, colours: Palette) -> Panel:
    """Accuracy against steps, with and without privacy."""
    x = np.array([one.step for one in found.of("chosen")], dtype=float)
    curves = []
    for number, name in enumerate(("chosen", *TARGETS, "free")):
        y = np.full(len(x), np.nan)
        at = {one.step: 100 * one.mean for one in found.of(name)}
        y[:] = [at.get(int(step), np.nan) for step in x]
        if np.isfinite(y).any():
            curves.append(Curve(named(name), y, style=lines.reference(colours) if name == "free" else number))
    return Plot(
        "Accuracy against steps, simulated", Axis("steps", figures.log_ticks(1, max(float(x[-1]), 10.0))),
        Axis("fresh rows right (%)", {"range": [48, 90]}), x, tuple(curves), hover="%{x} steps: %{y:.3~r} %",
        about="steps", height=330,
    ).panel(colours)  # fmt: skip


def question(noise: float, clip: float, rate: float, people: int) -> Question:
    """Noise in a step's mean gradient."""
    plan = noisy_descent.Plan(rate, noise, clip, 1)
    deviation = lambda: plan.deviation(people)  # noqa: E731
    return Question(
        text=f"{prose.count(people)} people, sampling rate q = {rate:g}, gradients clipped to C = {clip:g}, σ = "
        f"{noise:g}. The noisy sum is divided by qn. Which standard deviation does the noise have in one coordinate of "
        "that mean?",
        right=deviation,
        because=lambda: (
            f"σC/(qn) = {noise:g} · {clip:g}/{rate * people:g} = {deviation():.4g}. Twice the people in a batch, half "
            "the noise: large batches train better, and cost more ε."
        ),
        hint="The sum gets noise of deviation σC. How many people are in a batch on average?",
    )


def varied(rng) -> Question:
    """The question with other numbers."""
    return question(
        rng.choice((1.5, 2.5, 6.0)), rng.choice((0.25, 0.4, 1.0)), rng.choice((0.05, 0.02)), rng.choice((4000, 30_000))
    )


TOPIC = Topic(
    name="training_run",
    title="DP-SGD that trains",
    section="11.3",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    work=Work(work.learn, asked, so_far),
    experiments=(
        Experiment("Strong privacy: σ = 14", {"dr_noise": 14.0, "dr_clip": 0.1, "dr_rate": 0.05, "dr_steps": 1200}),
        Experiment("Nothing clipped, so the noise is large",
                   {"dr_noise": 4.0, "dr_clip": 2.0, "dr_rate": 0.05, "dr_steps": 1200}),
        Experiment("Few large batches", {"dr_noise": 4.0, "dr_clip": 0.1, "dr_rate": 0.2, "dr_steps": 100}),
    ),
    question=question(3.0, 0.5, 0.1, 2000),
    vary=varied,
)  # fmt: skip
