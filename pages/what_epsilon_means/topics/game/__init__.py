"""The attacker's game: which of two databases made this release? Rounds come from the seed, which is in the link;
guesses are the player's own."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import streamlit as st

from dpcore import figures
from dpcore.accounting import attack
from dpcore.accounting.pairs import privacy_loss
from dpcore.figures import Chart, Palette
from dpcore.noise import Laplace, Noise
from dpcore.privacy import Privacy
from pages.lessons import lines, piles
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values, later
from pages.lessons.widgets import HEIGHT, SEED, seed
from pages.shared import prose
from pages.shared.address import Text
from pages.what_epsilon_means.laws import Law
from pages.what_epsilon_means.pieces import A, B, densities, probability, success, window

MOST = 200
"""Rounds of one game."""
ALONE = 100
"""Rounds that the attacker alone is watched at."""
MANY = 2000
"""Rounds of the attacker alone."""


class Guesses(Text):
    """A guess per round, A or B; the last one in small as long as its round is still looked at."""

    def read(self, text: str) -> str:
        if not re.fullmatch("[AB]*[ab]?", super().read(text)):
            raise ValueError(text)
        return text


def sidebar(page) -> None:
    seed(page, "Next")


@lru_cache(maxsize=64)
def rounds(noise: Noise, number: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(releases, whether they came from A) of the first `count` rounds of a seed; the first ones do not depend on the
    count."""
    rng = np.random.default_rng(number)
    coins, draws = rng.random((MANY + 1, 2)).T
    from_a = coins[:count] < 0.5
    return noise.quantile(np.clip(draws[:count], 1e-12, 1 - 1e-12)) + np.where(from_a, 0.0, 1.0), from_a


def scores(law: Law, number: int, guesses: str) -> tuple[np.ndarray, np.ndarray]:
    """(wins of the guesses, wins of the maximum-likelihood attacker), round by round; a draw counts a half."""
    released, from_a = rounds(law.noise, number, len(guesses))
    yours = np.array([letter == "A" for letter in guesses], dtype=bool) == from_a
    return yours.astype(float), machine(law.noise, released, from_a)


def machine(noise: Noise, released: np.ndarray, from_a: np.ndarray) -> np.ndarray:
    """Wins of the maximum-likelihood attacker."""
    with np.errstate(invalid="ignore"):
        guess = attack.likelier(privacy_loss(noise, released, shift=1.0))
    return np.where(guess == 0, 0.5, (guess > 0) == from_a)


def picture(values: Values, colours: Palette) -> Picture:
    law: Law = values["law"]
    told, number = values["guesses"] or "", int(values["seed"] or 0)
    guesses = told.upper()
    variation = attack.total_variation(law.noise, sensitivity=1.0)
    best, promise = 0.5 + 0.5 * variation, attack.success_upper(law.privacy)
    yours, its = scores(law, number, guesses)
    best_text = ("at most " if law.solved else "") + f"**{success(law, variation)}**"
    headline = f"The best attacker names the right database in {best_text} of the rounds; " + (
        f"after {many(len(guesses))} you are at **{100 * yours.mean():.0f}\u202f%**, the machine at "
        f"**{100 * its.mean():.0f}\u202f%**."
        if guesses
        else f"{law.promise} alone would allow **{probability(100 * promise)}\u202f%**."
    )
    facts = {
        "best success": best_text.replace("*", ""), "rounds": f"simulated, seed {number}", "mechanism": law.name
    }  # fmt: skip
    notes = (f"Rounds are a simulation with seed {number}; the best attacker is not: (1 + total variation)/2.",)
    return Picture(
        headline,
        (
            table_top(law, number, guesses, colours, frozen=told != guesses),
            running(law, number, yours, its, best, colours),
            later(alone, law, number, colours),
        ),
        facts,
        notes,
    )


def many(count: int) -> str:
    """So many rounds, in words."""
    return f"{count} round{'s' * (count != 1)}"


def table_top(law: Law, number: int, guesses: str, colours: Palette, *, frozen: bool = False) -> Panel:
    """Both densities and the release of this round, or, with where it came from, that of the last one guessed."""
    figure, _, top = densities(law, 1.0, colours)
    this = len(guesses) - frozen
    releases, from_a = rounds(law.noise, number, len(guesses) + 1)
    released, side = float(releases[this]), A if from_a[this] else B
    came = f"it was {side}" if frozen else "the release"
    hue = lines.colour(colours, side) if frozen else colours.text
    low, high = figure.layout.xaxis.range
    at = min(max(released, low), high)
    figure.add_scatter(
        x=[at, at], y=[0, top], mode="lines", name=came, line={"color": hue, "width": 6 if frozen else 3},
        hovertemplate=f"released: {released:.3g}<extra></extra>",
    )  # fmt: skip
    before = {"round": [], "release": [], "database": [], "your guess": []}
    for k in range(max(len(guesses) - 20, 0), len(guesses)):
        before["round"].append(k + 1)
        before["release"].append(prose.number(float(releases[k]), 3))
        before["database"].append("A" if from_a[k] else "B")
        before["your guess"].append(guesses[k])
    alt = (
        f"Densities of releases of databases A and B, one sensitivity apart; this round's release is {released:.3g}"
        + (f", and {came}." if frozen else ".")
    )
    title = f"Round {this + 1}" + (f": {came}" if frozen else "")
    return Panel(title, figures.finish(figure, colours, height=HEIGHT), alt, before)


def running(law: Law, number: int, yours: np.ndarray, its: np.ndarray, best: float, colours: Palette) -> Panel:
    """Shares of rounds won so far, and the attacker's over many rounds of the same seed."""
    figure = Chart()
    released, from_a = rounds(law.noise, number, MANY)
    long = np.cumsum(machine(law.noise, released, from_a)) / np.arange(1, MANY + 1)
    x = np.unique(np.geomspace(1, MANY, 160).round().astype(int))
    figure.add_scatter(x=x, y=100 * long[x - 1], name="maximum likelihood", mode="lines", line=lines.series(colours, 2))
    if yours.size:
        n = np.arange(1, yours.size + 1)
        figure.add_scatter(x=n, y=100 * np.cumsum(yours) / n, name="you", mode="lines+markers",
                           line=lines.series(colours, 0), marker={"size": 6})  # fmt: skip
    figure.add_scatter(x=[1, MANY], y=[100 * best] * 2, name="nobody does better on average", mode="lines",
                       line=lines.series(colours, "bound", width=1.5))  # fmt: skip
    figure.update_xaxes(title="rounds", **figures.log_ticks(1, MANY))
    figure.update_yaxes(title="rounds won (%)", range=[-2, 102])
    rows = [k for k in (1, 3, 10, 30, 100, 300, 1000, MANY)]
    table = {"rounds": rows, "maximum likelihood (%)": [f"{100 * long[k - 1]:.1f}" for k in rows]}
    alt = f"Share of rounds won: the machine {100 * long[-1]:.1f} % of {MANY}, at most {100 * best:.1f} % on average."
    return Panel("The score", figures.finish(figure, colours, height=300), alt, table, "score")


def alone(law: Law, number: int, colours: Palette) -> Panel:
    """Rounds that the player never sees, played by the machine: releases of A pile up, those of B below."""
    later_on = slice(MOST, MOST + ALONE)
    released, from_a = (one[later_on] for one in rounds(law.noise, number, MANY))
    won = machine(law.noise, released, from_a)
    low, high = window(law.noise, 1.0)
    edges = np.linspace(low, high, piles.CELLS + 1)
    inside = np.clip(released, low, np.nextafter(high, low))  # what lies beyond is shown at the end
    figure, growing, most = Chart(), {}, 1.0
    for trace, (side, name, way) in enumerate(((A, "of A", 1), (B, "of B", -1))):
        at = np.flatnonzero(from_a == (side == A))
        x, rank = piles.heights(inside[at], edges)
        y, most = way * (rank - 0.5), max(most, float(rank.max(initial=0)))
        symbols = np.where(won[at] == 1, "circle", "circle-open").tolist()
        hue = lines.colour(colours, side)
        figure.add_scatter(
            x=x, y=y, mode="markers", name=f"{name} (ring: missed)", customdata=released[at],
            marker={"color": hue, "size": colours.type // 2, "symbol": symbols, "line": {"width": 1.5, "color": hue}},
            hovertemplate=f"{name}: %{{customdata:.3g}}<extra></extra>",
        )  # fmt: skip
        growing[trace] = lambda fallen, x=x, y=y, at=at: {"x": x[at < fallen], "y": y[at < fallen]}
    figure.update_xaxes(title="released answer (in sensitivities)", range=[low, high])
    figure.update_yaxes(title="rounds", range=[-most - 1, most + 1], showticklabels=False, showgrid=False)
    figures.finish(figure, colours, height=330)
    piles.one_by_one(figure, ALONE, growing, "{} rounds", colours)
    table = {
        "database": ["A", "B"], "rounds": [int(from_a.sum()), int((~from_a).sum())],
        "won by the machine": [float(won[from_a].sum()), float(won[~from_a].sum())],
    }  # fmt: skip
    alt = f"{ALONE} releases as dots, those of A above and those of B below: the machine names {won.sum():g} rightly."
    return Panel(f"The machine alone: {won.sum():g} of {ALONE} rounds", figure, alt, table, "alone")


def play(page, values: Values) -> None:
    """The buttons, and how the last round ended."""
    law: Law = values["law"]
    told = page["guesses"] or ""
    guesses = told.upper()
    with st.container(horizontal=True):
        if told != guesses:
            st.button(
                "Next round", key="next_round", type="primary", on_click=page.choose, args=({"guesses": guesses},)
            )
        else:
            for letter in "AB":
                st.button(
                    f"It was {letter}", key=f"guess_{letter}", type="primary", on_click=page.choose,
                    args=({"guesses": guesses + letter.lower()},), disabled=len(guesses) >= MOST,
                )  # fmt: skip
        st.button("New game", key="new_game", on_click=page.choose, args=({"guesses": ""},))
    if not guesses:
        st.caption("The line is what was released. Which database was it?")
        return
    yours, its = scores(law, int(page["seed"] or 0), guesses)
    truth = "A" if rounds(law.noise, int(page["seed"] or 0), len(guesses))[1][-1] else "B"
    this = f"It was **{truth}**: {'right' if yours[-1] else 'wrong'}. " if told != guesses else ""
    st.markdown(f"{this}You **{yours.sum():g}**, the machine **{its.sum():g}**, of {many(len(guesses))}.")


def asked(epsilon: float) -> Question:
    """How often the best attacker of Laplace noise wins."""
    wins = lambda: 100 * attack.success(Laplace(1 / epsilon), sensitivity=1.0)  # noqa: E731
    return Question(
        f"Laplace noise with ε = {epsilon:g}, both databases equally likely: how often does the best attacker win?",
        wins,
        lambda: (
            f"$\\frac12+\\frac12(1-e^{{-\\varepsilon/2}})$ = {wins() / 100:.5f}. The promise ε = {epsilon:g} alone "
            f"would allow $e^\\varepsilon/(1+e^\\varepsilon)$ = {attack.success_upper(Privacy(epsilon, 0.0)):.5f}; "
            "randomised response reaches that, Laplace noise does not."
        ),
        unit="%",
        hint="The attacker says A below ½ and B above. How probable is noise below ½?",
    )


TOPIC = Topic(
    "game", "The attacker's game", {"guesses": Guesses("", MOST, linked=False), "seed": SEED}, sidebar, picture,
    (
        Experiment("Strong privacy: a coin toss", {"mechanism": "laplace", "epsilon": 0.1, "guesses": ""}),
        Experiment("Weak privacy: no contest", {"mechanism": "laplace", "epsilon": 5.0, "guesses": ""}),
        Experiment("Bounded noise: sometimes certain",
                   {"mechanism": "truncated-laplace", "epsilon": 0.5, "delta": 0.2, "guesses": ""}),
    ),
    asked(1.0), section="3.7", beside=play, vary=lambda rng: asked(rng.choice((0.3, 0.5, 1.5, 2.0, 3.0))),
)  # fmt: skip
