"""A solution as a Python script that needs nothing but Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

from . import __version__
from ._validate import decimal
from .exact import coin, draw_discrete_staircase, draw_staircase
from .json_checks import short
from .noise.base import Noise
from .noise.ladder import chosen, point_of
from .noise.lattice import LatticeNoise, whole_law
from .noise.piecewise import SUBDIVISIONS
from .noise.staircase import Staircase
from .noise.tailed import TailedNoise
from .problem_fields import problem_to_dict
from .reload import RELOADED
from .script import carried, filled, in_order, literal, summary, wrapped
from .solution import Solution

_SCRIPT = '''\
"""$summary

Run this file to see ten draws and one release, or import it: sample(n) draws, release(value) adds one draw to a true
value. Only whole numbers and the operating system's random source are used; floats appear when all is done, and the
number 0.1 means a tenth.
"""

$imports

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

$law


def sample(n):
    """n exact draws."""
    return [$number(added(Fraction(0))) for _ in range(n)]


$release


if __name__ == "__main__":
    print(CERTIFICATE)
    print(*sample(10), sep="\\n")
    print("One release of the made-up value $example:", release($example))
'''

_RELEASE = '''\
def release(value):
    """$told"""
    return $number(added(Fraction(repr(float(value)))))'''

_CLAMPED = '''\
LOW, HIGH = $low, $high  # the range of true values, which is public


def release(value):
    """The value plus one exact draw, as the nearest float, both moved to the nearer end of the range."""
    inside = min(max(float(value), LOW), HIGH)
    return min(max(float(added(Fraction(repr(inside)))), LOW), HIGH)'''

_POINTS = f"1 << {SUBDIVISIONS.bit_length() - 1}"

_PIECEWISE = '''\
# Cell i reaches from BREAKS[i] to BREAKS[i + 1], in units of SENSITIVITY/RESOLUTION from ORIGIN, and has probability
# WEIGHTS[i]/2**62; the point ATOM_UNIT has probability ATOM_WEIGHT/2**62.
SENSITIVITY = Fraction("$sensitivity")
RESOLUTION = $resolution
ORIGIN = Fraction("$origin")
BREAKS = [
$breaks
]
WEIGHTS = [
$weights
]
ATOM_UNIT = $atom_unit
ATOM_WEIGHT = $atom_weight
$tail
POINTS = $points  # lattice points per unit
STEP = SENSITIVITY / (RESOLUTION * POINTS)
LADDER = list(accumulate([ATOM_WEIGHT, *WEIGHTS]))
assert LADDER[-1] == 1 << 62


$functions

def added(value):
    """The value plus one exact draw: the point is added to the value itself, other draws to the value rounded up to the
    lattice, so that the error lies in the cell drawn."""
    rounded = -(-value // STEP)$tail_draw
    cell = chosen(LADDER)
    if cell == 0:
        return value + ATOM_UNIT * POINTS * STEP + ORIGIN
    return (rounded + point_of(BREAKS[cell - 1], BREAKS[cell], POINTS)) * STEP + ORIGIN'''

_TAIL = """
# With probability TAIL_WEIGHT/2**62 the draw is two-sided geometric: a cell of one unit on either side.
TAIL_WEIGHT = $tail_weight
TAIL_MEAN = $tail_mean
"""

_TAIL_DRAW = """
    if secrets.randbelow(1 << 62) < TAIL_WEIGHT:
        cell = 0
        while secrets.randbelow(TAIL_MEAN):
            cell += 1
        cell = cell if secrets.randbelow(2) else -cell - 1
        return (rounded + point_of(cell, cell + 1, POINTS)) * STEP + ORIGIN"""

_STAIRCASE = '''\
# Staircase noise around ORIGIN: the density is constant up to GAMMA*SENSITIVITY and falls by the factor exp(-EPSILON)
# there and after every further SENSITIVITY; the point ORIGIN has probability ATOM.
SENSITIVITY = Fraction("$sensitivity")
EPSILON = Fraction("$epsilon")
GAMMA = Fraction($gamma)
ATOM = Fraction($atom)
ORIGIN = Fraction("$origin")

POINTS = max($points, GAMMA.denominator)  # lattice points per sensitivity
STEP = SENSITIVITY / POINTS


$functions

def added(value):
    """The value plus one exact draw: the point is added to the value itself, other draws to the value rounded up to the
    lattice."""
    if coin(ATOM):
        return value + ORIGIN
    return (-(-value // STEP) + draw_staircase(EPSILON, GAMMA, Fraction(0), POINTS)) * STEP + ORIGIN'''

_LATTICE = '''\
# The noise is (FIRST + i) steps with probability WEIGHTS[i]/2**62.
STEP = Fraction("$step")
FIRST = $first
WEIGHTS = [
$weights
]
LADDER = list(accumulate(WEIGHTS))
assert LADDER[-1] == 1 << 62


$functions

def added(value):
    """The value, rounded to the nearest step, plus one exact draw."""
    steps = (2 * value + STEP) // (2 * STEP)
    return (steps + FIRST + chosen(LADDER)) * STEP'''

_DISCRETE_STAIRCASE = '''\
# The noise is i or -i steps from ORIGIN with a weight that is constant for i < RISE and falls by the factor exp(-RATE)
# there and after every further PERIOD.
STEP = Fraction("$step")
ORIGIN = $location * STEP
RATE = Fraction($rate)
RISE = $rise
PERIOD = $period


$functions

def added(value):
    """The value, rounded to the nearest step, plus one exact draw."""
    steps = (2 * value + STEP) // (2 * STEP)
    return (steps + draw_discrete_staircase(RATE, RISE, PERIOD)) * STEP + ORIGIN'''


def python_snippet(solution: Solution) -> str:
    """A self-contained script (standard library only) that carries the law, the problem, the certificate and the
    version, and defines ``sample(n)`` and ``release(value)`` with exact arithmetic."""
    problem, certificate = solution.problem, solution.certificate
    proved = {
        "lower": certificate.lower,
        "upper": certificate.upper,
        "delta_upper": certificate.delta_upper,
        "worst_shift": certificate.worst_shift,
        "budget_upper": certificate.budget_upper,
        "second_delta_upper": certificate.second_delta_upper,
        "source": solution.source,
    }
    return noise_script(solution.noise, describe(solution), problem_to_dict(problem), proved)


def noise_script(
    noise: Noise, told: list[str], asked: dict, proved: dict, query_range: tuple[float, float] | None = None
) -> str:
    """The script of a law with an exact sampler.

    told : lines of its docstring.   asked, proved : plain values, the problem and the certificate.
    query_range : true values are moved there before, releases after noise is added.
    """
    law = _law(noise)
    if query_range is None:
        release, example = filled(_RELEASE, told=law.told, number=law.number), 1234
    else:
        low, high = map(float, query_range)
        release, example = filled(_CLAMPED, low=repr(low), high=repr(high)), repr(low + 0.5 * (high - low))
    imports = in_order({"import secrets", "from fractions import Fraction", *law.imports})
    return filled(
        _SCRIPT, summary=summary(told), imports=imports, version=repr(__version__), problem=literal(asked),
        certificate=literal(proved), law=law.text, number=law.number, release=release, example=example,
    )  # fmt: skip


@dataclass(frozen=True)
class _Law:
    """What a script needs for a law: imports, its numbers with `added(value)`, and what a release is, in words.

    number : what a release is, int where the lattice has whole numbers only: counts have no decimal point.
    """

    imports: set[str]
    text: str
    told: str = "The value plus one exact draw, as the nearest float."
    number: str = "float"


def _law(noise: Noise) -> _Law:
    if isinstance(noise, LatticeNoise):
        imports, functions = carried(chosen)
        weights = wrapped(noise.weights.tolist())
        law = filled(_LATTICE, step=repr(noise.step), first=int(noise.first), weights=weights, functions=functions)
        return _Law(imports | {_ACCUMULATE}, law, *_on_lattice(noise.step))
    if (whole := whole_law(noise)) is not None:
        one, step = whole
        numbers = {"rate": repr(float(one.rate)), "rise": one.rise, "period": one.period, "location": one.location}
        imports, functions = carried(draw_discrete_staircase)
        law = filled(_DISCRETE_STAIRCASE, step=repr(step), functions=functions, **numbers)
        return _Law(imports, law, *_on_lattice(step))
    if isinstance(noise, Staircase):
        numbers = {name: repr(float(getattr(noise, name))) for name in ("sensitivity", "epsilon", "gamma", "atom")}
        imports, functions = carried(coin, draw_staircase)
        origin = repr(float(noise.location))
        return _Law(imports, filled(_STAIRCASE, origin=origin, points=_POINTS, functions=functions, **numbers))
    tail = {"tail": "", "tail_draw": ""}
    if isinstance(noise, TailedNoise):
        numbers = filled(_TAIL, tail_weight=int(noise.tail_weight), tail_mean=int(noise.tail_mean))
        tail, noise = {"tail": numbers, "tail_draw": _TAIL_DRAW}, noise.body
    imports, functions = carried(chosen, point_of)
    law = filled(
        _PIECEWISE,
        sensitivity=repr(float(noise.sensitivity)),
        resolution=int(noise.resolution),
        origin=repr(float(noise.origin)),
        breaks=wrapped(noise.breaks.tolist()),
        weights=wrapped(noise.weights.tolist()),
        atom_unit=int(noise.atom_unit),
        atom_weight=int(noise.atom_weight),
        points=_POINTS,
        functions=functions,
        **tail,
    )
    return _Law(imports | {_ACCUMULATE}, law)


_ACCUMULATE = "from itertools import accumulate"


def _on_lattice(step: float) -> tuple[str, str]:
    """(what a release is, its type) of a law on multiples of a step."""
    if decimal(step).denominator == 1:
        return "The value, rounded to the nearest step, plus one exact draw: a whole number.", "int"
    return "The value, rounded to the nearest step, plus one exact draw, as the nearest float.", "float"


def describe(solution: Solution) -> list[str]:
    """Version, problem and certificate in a few plain lines."""
    problem, certificate = solution.problem, solution.certificate
    lo, hi = problem.support
    constraints = [name for name in ("symmetric", "monotone") if getattr(problem, name)]
    if math.isfinite(lo) or math.isfinite(hi):
        constraints.append(f"support [{lo!r}, {hi!r}]")
    if problem.granularity is not None:
        constraints.append(f"values are multiples of {problem.granularity!r}")
    budget, second = problem.budget, problem.second
    if budget is not None:
        constraints.append(f"expected loss {short(budget.loss.spec, 200)} at most {budget.most!r}")
    if second is not None:
        constraints.append(f"({second.epsilon!r}, {second.delta!r})-differentially private too")
    if problem.profile is not None:
        constraints.append(f"the privacy profile {short(problem.profile.spec, 200)}")
    lower = "no lower bound is proved"
    if certificate.lower is not None:
        lower = f"no noise that meets it has a smaller expected loss than {certificate.lower!r}"
        if solution.source == RELOADED:
            lower += " (as stated in the file it was loaded from)"
    return [
        f"DP Frontier {__version__}",
        f"Problem: epsilon = {problem.privacy.epsilon!r}, delta = {problem.privacy.delta!r}, "
        f"sensitivity = {problem.sensitivity!r}, loss {short(problem.loss.spec, 200)}"
        + (", " + ", ".join(constraints) if constraints else ""),
        f"Certificate: expected loss at most {certificate.upper!r}; {lower}",
        f"Certificate: (epsilon, {certificate.delta_upper!r})-differentially private, "
        f"worst shift {certificate.worst_shift!r}",
    ]
