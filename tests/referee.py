"""A referee with exact arithmetic: is what `dpcore solve` prints true?

It reads the printed text and nothing else, reads loss, problem and law from it once more (a decimal is the number that
it says), and looks for a refutation: a law that breaks its promise, costs more than the stated upper bound, or another
private law that costs less than the stated lower bound. Nothing here comes from `dpcore`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import mpmath
from exact_laws import Cells, DiscreteStaircase, Flanked, Law, Points, Staircase, Tailed, together
from exact_losses import ExactLoss, exact_loss, table

MOST_EVENTS = 5000
"""Outcomes of all releases but one that are looked at one by one."""

Support = tuple[Fraction | float, Fraction | float]


@dataclass(frozen=True)
class Problem:
    """What is asked, in exact numbers.

    pairs : every (ε, δ) that one release keeps.   step : of the query's values, None for real numbers.
    budget : (loss, most).   mu : of a whole curve.   releases : how many are private together.
    """

    pairs: tuple[tuple[Fraction, Fraction], ...]
    sensitivity: Fraction
    loss: ExactLoss
    symmetric: bool = False
    monotone: bool = False
    support: Support = (-math.inf, math.inf)
    step: Fraction | None = None
    budget: tuple[ExactLoss, Fraction] | None = None
    mu: Fraction | None = None
    releases: int = 1

    @property
    def epsilon(self) -> Fraction:
        return min(epsilon for epsilon, _ in self.pairs)

    @property
    def delta(self) -> Fraction:
        return min(delta for _, delta in self.pairs)

    @property
    def essential(self) -> Problem:
        """The same problem without pairs that others imply."""
        kept = {(e, d) for e, d in self.pairs if not any(f <= e and g <= d and (f, g) != (e, d) for f, g in self.pairs)}
        return replace(self, pairs=tuple(sorted(kept)))

    def limits(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(ε′, largest δ(ε′)) to check a law at; under a curve a few of them."""
        if self.mu is None:
            return self.pairs
        return tuple((e, gaussian_delta(self.mu, e)) for e in (self.mu * Fraction(n, 4) for n in (0, 1, 3, 6, 12, 20)))


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), to 40 digits."""
    with mpmath.workdps(60):
        m, e = (mpmath.mpf(v.numerator) / v.denominator for v in (mu, epsilon))
        value = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return Fraction(mpmath.nstr(value, 40))


# Reading --------------------------------------------------------------------------------------------------------


def asked(words: Sequence[str]) -> Problem:
    """The problem that the words of a command ask (docs/cli.md, "Options of `solve` and `compare`")."""
    options: dict[str, str | bool] = {}
    words = list(words)
    while words:
        name, equals, value = words.pop(0).removeprefix("--").partition("=")
        flag = name in ("symmetric", "monotone", "integer")
        options[name] = True if flag else value if equals else words.pop(0)
    sides = str(options.get("support", ":")).split(":")
    support = tuple(Fraction(s) if s else end for s, end in zip(sides, (-math.inf, math.inf)))
    step = Fraction(1) if options.get("integer") else options.get("granularity")
    found = Problem(
        pairs=((Fraction(options.get("epsilon", 0)), Fraction(options.get("delta", 1))),),
        sensitivity=Fraction(options.get("sensitivity", "1")),
        loss=read_loss(str(options.get("loss", "l1"))),
        symmetric=bool(options.get("symmetric")),
        monotone=bool(options.get("monotone")),
        support=support,
        step=None if step is None else Fraction(step),
    )
    if budget := options.get("budget"):
        loss, _, most = str(budget).rpartition("=")
        found = replace(found, budget=(read_loss(loss), Fraction(most)))
    if second := options.get("second"):
        found = replace(found, pairs=(*found.pairs, tuple(map(Fraction, str(second).split(":")))))
    return with_profile(found, options.get("profile"))


def with_profile(problem: Problem, text: object) -> Problem:
    """gdp:MU, list:ε:δ;ε:δ;… or composed:T."""
    if not text:
        return problem
    family, *rest = str(text).split(":", 1)
    if family == "gdp":
        return replace(problem, pairs=(), mu=Fraction(rest[0]))
    if family == "list":
        return replace(problem, pairs=tuple(tuple(map(Fraction, pair.split(":"))) for pair in rest[0].split(";")))
    return replace(problem, releases=int(rest[0].split(":")[0]))


def read_loss(text: str) -> ExactLoss:
    """The loss of an option: table:FILE is a CSV of two columns."""
    family, _, rest = text.partition(":")
    if family != "table" or "=" in rest:
        return exact_loss(text)
    lines = Path(rest).read_text(encoding="utf-8").split()
    return table([tuple(map(Fraction, line.split(","))) for line in lines])


def problem_of(answer: dict) -> Problem:
    """The problem that an answer says it answers."""
    lo, hi = answer["support"]
    budget, second = answer["budget"], answer["second"]
    pairs = [(Fraction(answer["epsilon"]), Fraction(answer["delta"]))]
    if second:
        pairs.append((Fraction(second["epsilon"]), Fraction(second["delta"])))
    found = Problem(
        pairs=tuple(pairs),
        sensitivity=Fraction(answer["sensitivity"]),
        loss=exact_loss(answer["loss"]),
        symmetric=answer["symmetric"],
        monotone=answer["monotone"],
        support=(-math.inf if lo is None else Fraction(lo), math.inf if hi is None else Fraction(hi)),
        step=None if answer["granularity"] is None else Fraction(answer["granularity"]),
        budget=(exact_loss(budget["loss"]), Fraction(budget["most"])) if budget else None,
    )
    return with_profile(found, answer["profile"])


def law_of(noise: dict, problem: Problem) -> Law:
    """The law in an answer, from its whole numbers or its parameters."""
    family = noise["family"]
    if family in ("piecewise", "tailed", "flanked"):
        body = Cells(
            unit=problem.sensitivity / noise["resolution"],
            origin=Fraction(noise["origin"]),
            breaks=tuple(noise["breaks"]),
            weights=tuple(map(int, noise["weights"])),
            total=int(noise["total"]),
            place=noise["atom"]["unit"],
            atom=int(noise["atom"]["weight"]),
        )
        if family == "flanked":
            return Flanked(body, noise["resolution"], int(noise["flanks"]["ratio_weight"]))
        tail = noise.get("tail")
        return Tailed(body, int(tail["weight"]), tail["mean_cells"]) if tail else body
    if family == "lattice":
        return Points(Fraction(noise["step"]), noise["first"], tuple(map(int, noise["weights"])), int(noise["total"]))
    named = {name: Fraction(value) for name, value in noise["parameters"].items()}
    if family == "discrete-staircase":
        whole = (int(named[name]) for name in ("rise", "period", "location"))
        return DiscreteStaircase(named["rate"], *whole, named["step"])
    assert family == "staircase", family
    return Staircase(named["epsilon"], named["sensitivity"], named["gamma"], named["atom"], named["location"])


# Judging --------------------------------------------------------------------------------------------------------


def shown(x: Fraction | float) -> str:
    """A number with the digits that tell it from its neighbours."""
    return mpmath.nstr(mpmath.mpf(x.numerator) / x.denominator, 17) if isinstance(x, Fraction) else str(x)


def law_faults(law: Law, problem: Problem) -> Iterator[str]:
    """What keeps a law from being an answer to the problem."""
    if broken := law.faults:
        yield from broken
        return
    (low, high), (lo, hi) = law.reach, problem.support
    if low < lo or high > hi:
        beyond = max(x for x in (lo - low if low < lo else -1, high - hi if high > hi else -1))
        yield f"the law leaves the support by {shown(beyond)}"
    if problem.step is not None:
        if law.step != problem.step:
            yield f"the law's step is {shown(law.step)}"
    if problem.symmetric and not law.symmetric:
        yield "the law is not symmetric about 0"
    if problem.monotone and not law.monotone:
        yield "the density increases away from 0"
    if problem.budget is not None:
        spent = law.cost(problem.budget[0])[1]
        if spent > problem.budget[1]:
            yield f"the law spends {shown(spent)} of the budget {shown(problem.budget[1])}"
    if problem.releases > 1:
        yield from joint_faults(law, problem)
    else:
        for epsilon, limit in problem.limits():
            shift, found = worst_shift(law, epsilon, problem.sensitivity)
            if found > limit:
                yield f"at ε = {shown(epsilon)} δ is {shown(found)} (shift {shown(shift)}), promised {shown(limit)}"


def joint_faults(law: Law, problem: Problem) -> Iterator[str]:
    """What several releases reveal together; long laws and many releases are passed over."""
    ((epsilon, delta),) = problem.pairs
    if isinstance(law, Cells) and (2 * len(law.weights)) ** (problem.releases - 1) <= MOST_EVENTS:
        units = math.floor(problem.sensitivity / law.unit)
        for shift in {units, units // 2} - {0}:
            found = together(law, shift, epsilon, problem.releases)
            if found > delta:
                yield f"{problem.releases} releases have δ = {shown(found)} at ε = {shown(epsilon)}"


def worst_shift(law: Law, epsilon: Fraction, sensitivity: Fraction) -> tuple[Fraction, Fraction]:
    return max(law.shortfalls(epsilon, sensitivity), key=lambda pair: pair[1])


def refutations(text: str, question: Problem | None = None, rivals: Iterable[Law] = ()) -> list[str]:
    """Everything that is false in a printed answer, with figures; nothing if the referee finds nothing.

    question : the problem that was asked.   rivals : laws that may cost less than the lower bound; those that break a
    promise of the problem are passed over.
    """
    answer = json.loads(text, parse_float=Fraction)
    stated = problem_of(answer)
    problem = question or stated
    law, certificate = law_of(answer["noise"], problem), answer["certificate"]
    found = list(law_faults(law, problem))
    if problem.essential != stated.essential:
        found.append("the answer is to another problem")
    low, high = (Fraction(answer[name]) if answer[name] is not None else None for name in ("lower", "upper"))
    cost = law.cost(problem.loss)[1]
    if cost > high:
        found.append(f"the law costs {shown(cost)}, stated at most {shown(high)}")
    if low is not None and low > high:
        found.append(f"lower bound {shown(low)} above upper bound {shown(high)}")
    figures = [(Fraction(answer["epsilon"]), certificate["delta_upper"])]
    if certificate["second_delta_upper"] is not None:
        figures.append((Fraction(answer["second"]["epsilon"]), certificate["second_delta_upper"]))
    for epsilon, upper in figures:
        worst = worst_shift(law, epsilon, problem.sensitivity)[1]
        if worst > Fraction(upper):
            found.append(f"δ at ε = {shown(epsilon)} is {shown(worst)}, stated at most {shown(Fraction(upper))}")
    if problem.budget is not None:
        spent, upper = law.cost(problem.budget[0])[1], Fraction(certificate["budget_upper"])
        if spent > upper:
            found.append(f"the second loss is {shown(spent)}, stated at most {shown(upper)}")
    if low is not None and (broken := refuted_lower(low, problem, (law, *rivals))):
        found.append(broken)
    return found


def refuted_lower(lower: Fraction, problem: Problem, rivals: Iterable[Law]) -> str | None:
    """A law of the problem that costs less than a lower bound, in words."""
    costs = [(law.cost(problem.loss)[1], index, law) for index, law in enumerate(rivals)]
    for cost, _, law in sorted(costs, key=lambda c: c[:2]):
        if cost >= lower:
            return None
        if not any(law_faults(law, problem)):
            return f"the lower bound {shown(lower)} is above {shown(cost)}, what {described(law)} costs"
    return None


def described(law: Law) -> str:
    if isinstance(law, Cells | Points):
        return f"a private law of {len(law.weights)} cells"
    return str(law)
