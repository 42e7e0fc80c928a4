"""Words and numbers for people. Pure functions; the longer texts are a text.md in the folder of their page or topic."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dpcore.loss.wording import errs, loss_axis, loss_name, loss_unit, loss_with_numbers  # noqa: F401
from dpcore.numerals import (  # noqa: F401  (texts have one door: numbers too are written by `prose`)
    SUPERSCRIPTS,
    at_least,
    at_most,
    atom,
    axis,
    bracket,
    count,
    delta_text,
    number,
    percent,
    percent_down,
    percent_up,
    plain,
    raised,
    rounded,
)
from dpcore.privacy import DELTA
from dpcore.privacy_profile import Composed, GaussianProfile
from dpcore.problem import Budget, NoiseProblem
from dpcore.solution import Certificate, Progress

PAGES = Path(__file__).parents[1]
ASSETS = PAGES.parent / "assets"


@cache
def sections(folder: str) -> dict[str, str]:
    """The parts of text.md in a folder of pages/, by their level-two heading."""
    parts = ("\n" + (PAGES / folder / "text.md").read_text(encoding="utf-8")).split("\n## ")[1:]
    return {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts)}


def asset(name: str) -> str:
    """The text of a file in assets/."""
    return (ASSETS / name).read_text(encoding="utf-8")


def trace_table(trace: Sequence[Progress]) -> dict[str, list[str]]:
    """Both bounds against solving time, rounded to the safe side."""
    finite = [record for record in trace if math.isfinite(record.upper)]
    return {
        "seconds": [f"{record.seconds:.3g}" for record in finite],
        "lower bound": [at_least(max(record.lower, 0.0), 7) for record in finite],
        "upper bound": [at_most(record.upper, 7) for record in finite],
    }


WORST_EVENT = "what_epsilon_means?topic=worst-event"
"""The picture of it, from any page."""

ABOUT_DELTA = f"H{DELTA.help[1:]}: [the worst event]({WORST_EVENT}) shows it. Keep δ well below 1/n for n people."
"""The help of every control of δ."""


def literal(text: str, longest: int = 200) -> str:
    """Markdown in which a visitor's text stands for itself: no link, image, formula, icon, colour or table."""
    text = "".join(c if c.isprintable() else " " for c in text)
    text = text if len(text) <= longest else text[:longest] + "…"
    if re.fullmatch(r"[\w ,.%()−-]*", text) and "_" not in text and "www." not in text.lower():
        return text
    text = re.sub(r"([!-/;-?\[-`{-~])", r"\\\1", text)
    # Word joiners keep addresses from becoming links, and names between colons from becoming icons: both are looked
    # for after the backslashes have done their work.
    return re.sub(r"(?i)(:|@|www(?=\\\.))", "\\1\u2060", text)


# Sentences ------------------------------------------------------------------------------------------


def promise(problem: NoiseProblem) -> str:
    """What is promised, as in "(1, 0.2)-DP noise", with the constraints that narrow the choice."""
    privacy = problem.privacy
    words = [word for word, on in (("symmetric", problem.symmetric), ("monotone", problem.monotone)) if on]
    if problem.granularity is not None:
        words.append("whole-number" if problem.granularity == 1 else f"{problem.granularity:g}-step")
    low, high = problem.support
    tail = "" if math.isinf(low) and math.isinf(high) else f" on {interval(low, high)}"
    if problem.profile is not None:
        tail += f" with {budget_text(problem.budget)}" if problem.budget is not None else ""
        return " ".join([*words, f"{whole_promise(problem)}{tail}"])
    pairs = [f"({p.epsilon:g}, {delta_text(p.delta)})-" for p in (privacy, problem.second) if p is not None]
    if problem.budget is not None:
        tail += f" with {budget_text(problem.budget)}"
    return " ".join([*words, f"{' and '.join(pairs)}DP noise{tail}"])


def whole_promise(problem: NoiseProblem) -> str:
    """A promise of more than one pair, as in "1-GDP noise"."""
    profile = problem.profile
    if isinstance(profile, GaussianProfile):
        return f"{profile.mu:g}-GDP noise"
    if isinstance(profile, Composed):
        pair = f"({profile.privacy.epsilon:g}, {delta_text(profile.privacy.delta)})"
        return f"noise for {count(profile.releases)} releases that are {pair}-DP together"
    pairs = [f"({p.epsilon:g}, {delta_text(p.delta)})" for p in profile.pairs]
    shown = ", ".join(pairs) if len(pairs) <= 3 else f"{pairs[0]}, … {pairs[-1]} ({len(pairs)} pairs)"
    return f"noise that is {shown}-DP"


def budget_text(budget: Budget) -> str:
    """A budget in words, as in "P(error beyond 2) ≤ 0.05"; fit for a cell of a table."""
    return f"{loss_with_numbers(budget.loss)} ≤ {plain(budget.most)}"


def interval(low: float, high: float) -> str:
    """An interval, its infinite ends written out."""
    left = "(−∞" if math.isinf(low) else f"[{plain(low)}"
    right = "∞)" if math.isinf(high) else f"{plain(high)}]"
    return f"{left}, {right}"


def headline(problem: NoiseProblem, certificate: Certificate, unit: str) -> str:
    """The result in one sentence, in Markdown; bounds rounded to the safe side."""
    verb, tail = errs(problem.loss, unit)
    tail = f" {tail}" if tail else ""
    if certificate.upper == 0:
        return f"**Errors need not cost anything**: this {promise(problem)} {verb} **0**{tail}, exactly."
    if certificate.lower is None:
        upper = bracket(certificate.upper, certificate.upper)[1]
        return f"This {promise(problem)} {verb} at most **{upper}**{tail}. Nothing is proved about the best possible."
    lower, upper = bracket(certificate.lower, certificate.upper)
    if certificate.lower <= 0:
        why = free_end(problem.free_end, unit) if problem.free_end else "the lower bound is still 0"
        return f"This {promise(problem)} {verb} at most **{upper}**{tail}; {why}."
    return (
        f"Any {promise(problem)} {verb} at least **{lower}**{tail}; this one at most **{upper}** "
        f"— {distance(certificate.gap or 0.0)}."
    )


def free_end(end: tuple[float, int], unit: str) -> str:
    """Why there is no least cost, in words [method: free ends]."""
    place, side = end
    errors = f"errors of {plain(place)} {unit}".rstrip() + (" or more" if side > 0 else " or less")
    return f"{errors} cost nothing, so ever farther away there is noise that costs as little as you like"


def unbroken(sentence: str) -> str:
    """The sentence with pairs "(1, 0.2)", equations "ε = 1" and shares "95 %" that no line break divides."""
    sentence = re.sub(r"\(([^\s(),]+), ([^\s(),]+)\)", "(\\1,\u00a0\\2)", sentence)
    sentence = re.sub(r"(?<=\d) %", "\u202f%", sentence)
    return re.sub(r"(?<=\S) = (?=\S)", "\u00a0=\u00a0", sentence)


def distance(gap: float) -> str:
    """How far from the best possible a noise can be, in words; rounded up."""
    if gap > 0.2:
        return f"the bounds are still {percent_up(gap)} apart"
    amount = "0.01 %" if 0 < gap < 1e-4 else percent_up(gap)
    return f"within {amount} of the best possible"


def price(without: Certificate, with_it: Certificate) -> str:
    """What a constraint costs, as an interval that both certificates together prove."""
    if with_it.upper == 0:
        return "nothing"
    if without.lower is None or with_it.lower is None or without.lower <= 0:
        return "not proved"
    least = max(0.0, with_it.lower / without.upper - 1)
    most = max(0.0, with_it.upper / without.lower - 1)
    if most < 5e-5:
        return "less than 0.01\u202f%"
    if least == 0:
        return f"at most {percent_up(most)}"
    return f"{percent_down(least)} to {percent_up(most)}"


def large_delta(delta: float, people: int) -> str:
    """A warning of a δ that promises too little to so many people."""
    return (
        f"δ = {delta_text(delta)} is more than 1/n = 1/{count(people)}: such a promise allows publishing somebody’s "
        f"whole row. Take δ well below 1/{count(people)}."
    )


def formulas(text: str) -> str:
    """A sentence for a page in which powers of e are set as formulas: written out, as elsewhere, it says e^ε."""
    return text.replace("e^(−ε)", r"$e^{-\varepsilon}$").replace("e^ε", r"$e^\varepsilon$")
