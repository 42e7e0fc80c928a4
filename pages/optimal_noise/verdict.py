"""What to do with a result, in words: the verdict, the comparison behind it, what a release may give away. Pure.

A percentage is what the certificate proves: what is saved is rounded down, what may remain to be gained up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpcore._validate import decimal
from dpcore.audit import delta_upper
from dpcore.figures.costs import NEAR, Bar
from dpcore.mechanisms import Baseline
from dpcore.noise.base import Noise
from dpcore.noise.whole import TOTAL
from dpcore.privacy_profile import Composed, GaussianProfile
from dpcore.problem import NoiseProblem
from dpcore.solution import Certificate, Solution
from pages.shared import prose

from .work import COVERAGE

WORTH = 0.05
"""Noise that no other could improve by more than this share is not worth leaving."""

LARGE = 1e-3
"""From this δ on nothing is recommended before the number of people is known, and from this probability on what a
release gives away is a warning."""

EXACT = 1e-9
"""Losses of textbook mechanisms are closed forms or sums that err by less than this, relatively."""

CERTAIN, REMNANT = 20.0, 1e-13
"""A privacy loss that leaves no doubt: what is 500 million times as probable as under a neighbour excludes it. And a
probability below every δ that can be asked for: a remnant of solving and rounding."""

MASS_ERROR = 2.0**-48
"""Probabilities of atoms are correct within a few units in the last place; relatively this is more."""

USUAL = ("laplace", "geometric")
"""What people use, for real values and for counts (there it is Laplace noise in whole steps): the verdict is against
these."""


# Numbers of people ----------------------------------------------------------------------------------


def smallest_delta(problem: NoiseProblem) -> float:
    """What the promise allows beyond every privacy loss: its smallest δ, 0 for a curve that tends to 0."""
    if isinstance(problem.profile, GaussianProfile):
        return 0.0
    return min(pair.delta for pair in problem.privacies)


def delta_warning(problem: NoiseProblem, people: int | None) -> str:
    """What δ > 1/n means, "" where it is not so. The numbers are those that are written: 0.001 is 1/1000."""
    delta = smallest_delta(problem)
    if people is None or decimal(delta) * people <= 1:
        return ""
    return (
        f"δ = {prose.delta_text(delta)} is more than 1/n = 1/{prose.count(people)}. Such a promise allows publishing "
        f"each person's whole record with probability δ: those of about {prose.plain(delta * people, 2)} of "
        f"{prose.count(people)} people."
    )


def objection(problem: NoiseProblem, people: int | None) -> str:
    """Why nothing is recommended, "" if something may be."""
    delta = smallest_delta(problem)
    if people is None:
        return f"δ = {prose.delta_text(delta)}, and the number of people n is not given" if delta >= LARGE else ""
    return f"δ = {prose.delta_text(delta)} is more than 1/n" if delta_warning(problem, people) else ""


# The verdict ----------------------------------------------------------------------------------------


def verdict(
    problem: NoiseProblem, proof: Certificate, bars: Sequence[Baseline], unit: str, people: int | None = None
) -> str:
    """What to do, or how it compares where nothing may be recommended: a sentence in Markdown, its claim in bold."""
    why = objection(problem, people)
    claim, rest = _claim(problem, proof, fitting(bars), prose.loss_name(problem.loss, unit), advise=not why)
    return f"**{claim}**{rest}." + (f" Compared, not recommended: {why}." if why else "")


def _claim(
    problem: NoiseProblem, proof: Certificate, usable: Sequence[Baseline], saved: str, *, advise: bool
) -> tuple[str, str]:
    """(claim, rest of the sentence) about the first that is enough: what people use, another textbook mechanism of
    unbounded support, this noise."""
    usual, plain = _usual(usable), best_plain(usable)
    if usual and remaining(proof, usual) <= WORTH:
        what = f"{'Keep ' if advise else ''}{_name(usual)}"
        return f"{what}: {_may_gain(proof, usual)}", "; optimal noise hardly matters here"
    if plain and remaining(proof, plain) <= WORTH:
        if usual is None:
            return f"{'Use ' if advise else ''}{_name(plain)}: {_may_gain(proof, plain)}", ""
        less = _less(plain.loss * (1 + EXACT), usual, saved)
        return f"{'Switch to ' if advise else ''}{_name(plain)}: {less}", f"; {_may_gain(proof, plain, 'more ')}"
    nothing = _nothing_better(proof, usable)
    if nothing and usable[0] is plain:
        return nothing[0].upper() + nothing[1:], f"; {_may_remain(proof, plain)}"
    rest = f"; {nothing}, {_may_remain(proof, usable[0])}" if nothing else ""
    if plain is None:
        name = "Laplace" if problem.granularity is None else "Geometric"
        return f"{'Use this noise: ' if advise else ''}{name} does not fit here", rest
    act = "This noise" if not advise else "Switch" if usual else "Use this noise"
    return _against(proof, usual or plain, saved, act), rest


def _against(proof: Certificate, rival: Baseline, saved: str, act: str) -> str:
    """This noise against what it would replace."""
    least, most = saved_share(proof.upper, rival), prose.percent_up(remaining(proof, rival))
    if least >= WORTH:
        return f"{act}: {_less(proof.upper, rival, saved)}"
    share = f"between {prose.percent_down(least, 1)} and {most}" if least >= 1e-4 else f"at most {most}"
    return f"Undecided: {share} less {saved} than {_name(rival)}"


def _nothing_better(proof: Certificate, usable: Sequence[Baseline]) -> str:
    """Said where the best textbook mechanism costs no more than what was found, and better noise may exist."""
    if usable and proof.upper > 0 and saved_share(proof.upper, usable[0]) <= 0 and remaining(proof, usable[0]) > WORTH:
        return f"nothing better than {_name(usable[0])} found"
    return ""


def _may_gain(proof: Certificate, bar: Baseline, more: str = "") -> str:
    most = remaining(proof, bar)
    amount = "nothing" if most == 0 else prose.percent_up(most) if most < 1e-4 else f"at most {prose.percent_up(most)}"
    return f"{amount} {more}to gain"


def _may_remain(proof: Certificate, bar: Baseline) -> str:
    if not _proved(proof):
        return "how much may remain is not known"
    return f"up to {prose.percent_up(remaining(proof, bar))} may remain"


def _less(cost: float, bar: Baseline, saved: str) -> str:
    least = max(0.0, saved_share(cost, bar))
    share = "100\u202f%" if least == 1 else f"at least {prose.percent_down(least, 1)}"
    return f"{share} less {saved} than {_name(bar)}"


def _name(bar: Baseline) -> str:
    """What it is called in a sentence: the analytic Gaussian is a Gaussian."""
    return bar.name.partition(",")[0]


# Textbook mechanisms, and the shares that the certificate proves about them -------------------------


def fitting(bars: Sequence[Baseline]) -> list[Baseline]:
    """Textbook mechanisms that keep every requirement at a finite loss, the least loss first."""
    return sorted((b for b in bars if b.valid and b.loss is not None and math.isfinite(b.loss)), key=lambda b: b.loss)


def _usual(usable: Sequence[Baseline]) -> Baseline | None:
    return next((bar for bar in usable if bar.key in USUAL), None)


def best_plain(usable: Sequence[Baseline]) -> Baseline | None:
    """The best one of unbounded support. Others (and those with an atom are among them) are compared with, never
    recommended."""
    return next((bar for bar in usable if not bounded(bar.noise)), None)


def bounded(noise: Noise) -> bool:
    """The support ends somewhere, so some releases exclude a neighbour."""
    return any(map(math.isfinite, noise.support))


def remaining(proof: Certificate, bar: Baseline) -> float:
    """The share of a mechanism's loss that other noise could save, at most."""
    if bar.loss == 0:
        return 0.0
    return max(0.0, 1 - proof.lower / (bar.loss * (1 + EXACT))) if _proved(proof) else 1.0


def saved_share(cost: float, bar: Baseline) -> float:
    """The share of a mechanism's loss that noise of this cost saves, at least; negative if it costs more."""
    return 1 - cost / (bar.loss * (1 - EXACT)) if bar.loss > 0 else -math.inf


def _proved(proof: Certificate) -> bool:
    return proof.lower is not None and proof.lower > 0


def comparison(proof: Certificate, bars: Sequence[Baseline]) -> str:
    """What people use and the best textbook mechanism of unbounded support, or of those that fit, in numbers."""
    usable = fitting(bars)
    if not usable or proof.upper == 0:
        return ""
    usual, plain, names = _usual(usable), best_plain(usable), {}
    if usual:
        names[usual.key] = "Geometric (discrete Laplace) noise" if usual.key == "geometric" else f"{usual.name} noise"
    if plain and plain is not usual:
        names[plain.key] = f"Best of the textbook mechanisms of unbounded support, {plain.name}"
    if not names:
        title = "The only textbook mechanism that fits" if len(usable) == 1 else "The least dear textbook mechanism"
        names[usable[0].key] = f"{title}, {usable[0].name}"
    return " ".join(f"{names[bar.key]}: {_figure(proof, bar)}" for bar in reversed(usable) if bar.key in names)


MANY = 1e6
"""From here on "so many times" is a rounded number."""


def _figure(proof: Certificate, bar: Baseline) -> str:
    more = bar.loss / proof.upper - 1
    if abs(more) < 1e-4:
        closed = proof.gap is not None and proof.gap <= WORTH
        return f"{prose.number(bar.loss)} ({'the same' if closed else 'nothing better was found'})."
    if more >= 9:
        times = prose.count(round(more + 1)) if more < MANY else prose.number(more + 1, 3)
        return f"{prose.number(bar.loss)} ({times} times as much)."
    return f"{prose.number(bar.loss)} ({prose.percent(abs(more))} {'more' if more > 0 else 'less'})."


@lru_cache(maxsize=256)
def within(noise: Noise) -> float:
    """± that holds 95 % of releases."""
    return noise.within(COVERAGE)


def errors(noise: Noise, bars: Sequence[Baseline], unit: str) -> str:
    """An error one can use: where 95 % of releases are with this noise and with those it is compared with."""
    usable = fitting(bars)
    named = [bar for bar in dict.fromkeys((_usual(usable), best_plain(usable))) if bar is not None]
    others = ", ".join(f"{_name(bar)} ±{_width(bar.noise)}" for bar in named)
    tail = f" ({others})" if others else ""
    return f"{100 * COVERAGE:g}\u202f% of releases are within **{f'±{_width(noise)} {unit}'.rstrip()}**{tail}."


def _width(noise: Noise) -> str:
    """On a lattice a multiple of the step, exactly; else rounded up."""
    return prose.plain(within(noise)) if noise.lattice_step is not None else prose.at_most(within(noise), 3)


def not_drawn(bars: Sequence[Bar]) -> str:
    """What the chart of costs has no room for, in words."""
    far = ", ".join(f"{bar.name} {prose.number(bar.loss, 3)}" for bar in bars if bar.valid)
    wrong = ", ".join(bar.name for bar in bars if not bar.valid)
    parts = [f"More than {NEAR:g} times the best: {far}." if far else "", f"Not valid here: {wrong}." if wrong else ""]
    return " ".join(part for part in parts if part)


# Why the bounds are apart ---------------------------------------------------------------------------


LEAST_UNITS = 2000
"""Probabilities of fewer units of a law's whole numbers are hardly told apart."""

NARROW_STEPS_FROM = 4.0
"""From this ε on noise in a support has steps that lattices hardly show."""


def why_open(solution: Solution) -> str:
    """Why the bounds are further apart than was asked for, in a sentence; "" where they are not, and where nothing is
    proved at all or the least cost is 0, which the headline says."""
    proof, settings, profile = solution.certificate, solution.settings, solution.problem.profile
    if proof.lower is None or solution.problem.free_end is not None:
        return ""
    if proof.gap is not None and proof.gap <= settings.gap:
        return ""
    apart = f"The bounds are further apart than the {prose.plain(100 * settings.gap)}\u202f% asked for"
    if isinstance(profile, Composed) and profile.releases > 1:
        return (
            f"{apart}: what several releases reveal together is known from below through one yes-or-no question about "
            "each of them only."
        )
    if settings.method == "reference":
        return f"{apart}: the reference method's bounds close with the width of its cells; more cells narrow them."
    if isinstance(profile, GaussianProfile):
        if proof.lower * TOTAL < LEAST_UNITS * solution.problem.loss.pieces[-1].constant:
            return (
                f"{apart}: what is rarer than about 10⁻¹⁶ is less than a few of the whole numbers, parts of 2⁶², that "
                "probabilities are issued in."
            )
        return (
            f"{apart}: under a whole curve both bounds close only about as fast as cells become narrower, and half the "
            "width takes several times as long."
        )
    problem = solution.problem
    ends = not problem.whole_line and problem.granularity is None and problem.loss.continuous
    if ends and problem.joint.epsilon >= NARROW_STEPS_FROM:
        return (
            f"{apart}: at so large an ε the best noise in a support has steps far narrower than a sensitivity, and the "
            "bounds close only about as fast as cells become narrower."
        )
    if timed_out(solution):
        return f"{apart}: the time limit of {prose.plain(settings.time_limit)} s ended the search."
    return f"{apart}: no finer grid is tried for these values."


def timed_out(solution: Solution) -> bool:
    """The search took its time limit, but for what its last step would have taken."""
    return solution.seconds >= 0.9 * solution.settings.time_limit


# What a release gives away --------------------------------------------------------------------------


@lru_cache(maxsize=32)
def excluded_upper(problem: NoiseProblem, noise: Noise) -> float:
    """The probability of a release that some neighbour could not have led to, because its support ends (or has a hole)
    there, rounded up: what the audit finds at a privacy loss that leaves no doubt, less the atom. Where a solved law
    has next to nothing is no support either."""
    if not bounded(noise):
        return 0.0
    worst = delta_upper(noise, CERTAIN, problem.sensitivity)
    if problem.granularity is not None:
        return worst
    atoms = math.fsum(mass for _, mass in noise.atoms) * (1 - MASS_ERROR)
    return math.nextafter(worst - atoms, math.inf) if atoms else worst


def told_upper(problem: NoiseProblem, noise: Noise) -> tuple[float, float]:
    """(place, probability, rounded up) of an atom, or of 0 on a lattice: a release with this noise is the true value,
    moved by the place."""
    whole = problem.granularity is not None
    place, mass = (0.0, float(noise.pmf(0.0))) if whole else max(noise.atoms, key=lambda a: a[1], default=(0.0, 0.0))
    return place, mass * (1 + MASS_ERROR)


def exposure(problem: NoiseProblem, noise: Noise, unit: str) -> tuple[str, bool]:
    """(sentence, whether it is a warning) about releases that exclude a neighbour or are the true value; "" if none."""
    excluded, (place, told) = excluded_upper(problem, noise), told_upper(problem, noise)
    whole = problem.granularity is not None
    words = []
    if excluded > REMNANT:
        words.append(f"up to **{prose.at_most(excluded, 3)}** a release excludes a neighbour (bounded support)")
    if told > REMNANT:
        moved = "" if place == 0 else f" {'+' if place > 0 else '−'} {prose.plain(abs(place))} {unit}".rstrip()
        tail = ", as noise in whole steps always can be" if whole else ""
        words.append(f"up to **{prose.at_most(told, 3)}** it **is the true value{moved}**{tail}")
    sentence = "; with probability ".join(words)
    return f"With probability {sentence}." if words else "", max(excluded, 0.0 if whole else told) >= LARGE
