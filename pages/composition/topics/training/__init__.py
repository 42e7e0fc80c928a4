"""Noisy stochastic gradient descent: ε against epochs, and the noise that a target ε takes."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import streamlit as st

from dpcore import figures
from dpcore.accounting.dpsgd import Training
from dpcore.accounting.rules import Total
from dpcore.accounting.truth import Band
from dpcore.errors import InputError
from dpcore.figures import Chart, Palette
from pages.composition import work
from pages.composition.pieces import DELTA, curves, least, shown, truth
from pages.lessons import screen, widgets
from pages.lessons.topic import Experiment, Panel, Picture, Question, Sketch, Topic, Values, Work
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import compute, prose
from pages.shared.messages import explain

EPOCHS = (1, 2, 5, 10, 15, 20, 30, 40, 60, 100, 200)
SKETCHED = (1, 5, 20, 60, 200)
"""Where a visitor sketches the curve."""

NOISE = Stops(1.1, (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0))
BATCHES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
PEOPLE = (1000, 2000, 5000, 10_000, 20_000, 50_000, 60_000, 100_000, 200_000, 500_000, 1_000_000)
TARGET = Stops(2.0, (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 10.0))
CONTROLS = {
    "tr_people": Stops(60_000, PEOPLE), "tr_batch": Stops(256, BATCHES), "tr_noise": NOISE,
    "tr_epochs": Stops(60, EPOCHS),
    "tr_target": TARGET, "delta": DELTA,
}  # fmt: skip


def sidebar(page) -> None:
    widgets.slider(page, "tr_people", "People n", show=prose.count)
    widgets.slider(
        page, "tr_batch", "Mean batch", show=prose.count, help="Every person is in a batch with probability batch/n."
    )
    widgets.slider(
        page, "tr_noise", "Noise multiplier σ", help="Standard deviation of the noise over the clipping norm."
    )
    widgets.slider(page, "tr_epochs", "Epochs", show=prose.count)
    widgets.delta(page)


def training(values: Values, epochs: float | None = None) -> Training:
    """What the controls describe; a batch is at most half of the people."""
    batch = min(values["tr_batch"], values["tr_people"] // 2)
    return Training.epochs(
        int(values["tr_people"]), batch, values["tr_epochs"] if epochs is None else epochs, values["tr_noise"]
    )


def asked(values: Values) -> work.Schedule:
    """What is to be worked out."""
    return work.Schedule(training(values), values["delta"], EPOCHS)


def picture(values: Values, colours: Palette) -> Picture:
    made, delta = training(values), values["delta"]
    found: work.Trained = values["found"]
    renyi, band = found.rows["renyi"][EPOCHS.index(values["tr_epochs"])], found.band
    headline = (
        f"After {prose.count(values['tr_epochs'])} epochs ({prose.count(made.steps)} steps) with σ = {made.noise:g} "
        f"and sampling rate "
        f"{prose.percent(made.rate)}, training is (**{shown(band.upper, 3)}**, {prose.delta_text(delta)})-DP; Rényi "
        f"accounting says "
        f"**{shown(renyi.upper, 3)}**."
    )
    facts = {"ε": f"at most {shown(band.upper, 8)}, at least {least(band.lower, 8)}", "steps": str(made.steps)}
    note = "Neighbours: one person more or less; batches are Poisson samples, drawn afresh each step, which shuffled "
    note += f"batches are not. ε lies between {least(band.lower)} and {shown(band.upper, 3)}."
    return Picture(headline, (against_epochs(values, found.rows, band, colours),), facts, (note,))


def against_epochs(values: Values, found: dict[str, list[Total]], band: Band, colours: Palette) -> Panel:
    """ε against epochs."""
    bands = [Band(one.lower or 0.0, one.upper) for one in found["exact"]]
    lines = {rule: [one.upper for one in found[rule]] for rule in ("renyi", "clt")}
    figure, hover = Chart(), "%{x} epochs: ε at most %{y:.3~r}"
    curves(figure, EPOCHS, lines, colours, hover=hover)
    truth(figure, EPOCHS, bands, colours, hover=hover)
    figures.chosen(figure, values["tr_epochs"], band.upper, "chosen", colours)
    figure.update_xaxes(title="epochs", **figures.log_ticks(1, 200))
    figure.update_yaxes(title=f"ε at δ = {prose.delta_text(values['delta'])}", rangemode="tozero")
    table = {
        "epochs": [prose.count(n) for n in EPOCHS], "exact, at least": [least(one.lower) for one in bands],
        "exact, at most": [shown(one.upper, 3) for one in bands], "Rényi": [shown(y, 3) for y in lines["renyi"]],
        "central limit (estimate)": [shown(y, 3) for y in lines["clt"]],
    }  # fmt: skip
    alt = f"ε against epochs; after {values['tr_epochs']:g} epochs at most {shown(band.upper, 3)}."
    return Panel("Privacy spent by training", figures.finish(figure, colours, height=HEIGHT), alt, table)


def more(page) -> None:
    """The inverse: noise from a target ε."""
    st.subheader("How much noise for a target ε?", anchor=False)
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        widgets.slider(page, "tr_target", "Target ε")
    try:
        made = training(page.values())
    except InputError as error:
        right.error(explain(error), icon=":material/error:")
        return
    wanted = work.Wanted(page["tr_target"], page["delta"], made.rate, made.steps)
    job = compute.ask("noise", wanted, None, task=work.find, urgent=False)
    with right:
        answer(job, page)


def answer(job: compute.Job, page) -> None:
    """The noise once it is found; until then a word."""
    if not job.done:
        screen.follow(job, "noise", "Looking for the noise …", key="stop_noise")
    elif job.solution is not None and math.isfinite(job.solution):
        noise = prose.rounded(job.solution, -4, "ROUND_CEILING")
        st.markdown(
            f"σ = **{noise}** makes it ({page['tr_target']:g}, {prose.delta_text(page['delta'])})-DP, certified."
        )
    else:
        st.warning(explain(job.error) if isinstance(job.error, InputError) else "No noise was found.")


def grown(times: int, noise: float) -> float:
    """By what factor ε grows with so many times 15 epochs."""
    return _spent(15 * times, noise) / _spent(15, noise)


@lru_cache(maxsize=16)
def _spent(epochs: int, noise: float) -> float:
    return Training.epochs(60_000, 256, epochs, noise).epsilon(1e-5, points=1 << 14).upper


WORDS = {4: "four", 9: "nine", 16: "sixteen"}


def longer(times: int, noise: float) -> Question:
    """ε of a longer training."""
    root = math.isqrt(times)
    return Question(
        text=f"You train {WORDS[times]} times as long with the same noise and batches (60 000 people, batch 256, "
        f"σ = {noise:g}: 15, then {15 * times} epochs). By what factor does ε grow?",
        options=(f"by {times}: every step costs the same", f"by about {root}: the square root", "hardly: ε saturates"),
        right=lambda: float(min(range(3), key=lambda i: abs(math.log(grown(times, noise) / (times, root, 1.1)[i])))),
        because=lambda: (
            f"ε grows by a factor of {grown(times, noise):.3g} here. The privacy losses of the steps are nearly "
            "independent with mean near zero, so they add up like a random walk."
        ),
        hint=f"How far does a random walk get in {WORDS[times]} times as many steps?",
    )


TOPIC = Topic(
    name="training",
    title="Private training (DP-SGD)",
    section="11.2",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    work=Work(work.train, asked),
    guess=Sketch(
        lambda values: (
            f"{prose.count(values['tr_people'])} people, batches of {prose.count(values['tr_batch'])}, "
            f"σ = {values['tr_noise']:g}: sketch ε at δ = {prose.delta_text(values['delta'])} against the epochs."
        ),
        places=SKETCHED,
        stops=tuple(0.5 * k for k in range(33)),
        truth=lambda values: [values["found"].rows["exact"][EPOCHS.index(epochs)].upper for epochs in SKETCHED],
        where=lambda epochs: "1 epoch" if epochs == 1 else f"{epochs:g} epochs",
        show=partial(prose.number, digits=3),
    ),
    experiments=(
        Experiment(
            "60 000 digits, 60 epochs",
            {"tr_people": 60_000, "tr_batch": 256, "tr_noise": 1.1, "tr_epochs": 60, "delta": 1e-5},
        ),
        Experiment(
            "Ten times the people",
            {"tr_people": 500_000, "tr_batch": 256, "tr_noise": 0.7, "tr_epochs": 10, "delta": 1e-6},
        ),
        Experiment(
            "Large batches, much noise",
            {"tr_people": 50_000, "tr_batch": 4096, "tr_noise": 4.0, "tr_epochs": 40, "delta": 1e-5},
        ),
    ),
    question=longer(4, 1.1),
    vary=lambda rng: longer(rng.choice(tuple(WORDS)), rng.choice((1.1, 1.5, 2.0))),
    more=more,
)
