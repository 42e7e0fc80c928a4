"""A solution as a Python script that needs nothing but Python."""

from __future__ import annotations

import inspect
import json
import math
import textwrap
from collections.abc import Callable
from string import Template

import numpy as np
from numpy.typing import NDArray

from . import __version__, exact
from .noise.base import Noise
from .noise.lattice import LatticeNoise, whole_law
from .noise.staircase import Staircase
from .noise.tailed import TailedNoise
from .reload import RELOADED, short
from .solution import Solution

_SCRIPT = Template('''\
"""$summary

Run this file to see ten draws, or import it: sample(n) draws, release(value) adds one draw to a true value.
Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

import secrets
$imports

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

$law


def sample(n):
    """n exact draws."""
    return [float(draw() * STEP + ORIGIN) for _ in range(n)]


def release(value):
    """The value, rounded $rounding, plus one exact draw."""
    return float(($rounded + draw()) * STEP + ORIGIN)


if __name__ == "__main__":
    print(CERTIFICATE)
    print(*sample(10), sep="\\n")
''')

_LADDER_IMPORTS = """\
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate"""

_FRACTIONS = "from fractions import Fraction"

_DOWN = {"rounding": "down to the lattice", "rounded": "Fraction(value) // STEP"}
_NEAREST = {
    "rounding": "to the nearest step",
    "rounded": "(Fraction(repr(float(value))) / STEP + Fraction(1, 2)).__floor__()",
}

_PIECEWISE = '''\
# Cell i reaches from BREAKS[i] to BREAKS[i + 1], in units of SENSITIVITY/RESOLUTION from ORIGIN, and has probability
# WEIGHTS[i]/2**62; the point ATOM_UNIT has probability ATOM_WEIGHT/2**62.
SENSITIVITY = $sensitivity
RESOLUTION = $resolution
ORIGIN = Fraction($origin)
BREAKS = [
$breaks
]
WEIGHTS = [
$weights
]
ATOM_UNIT = $atom_unit
ATOM_WEIGHT = $atom_weight
$tail
POINTS = 1 << 20  # lattice points per unit
STEP = Fraction(SENSITIVITY) / (RESOLUTION * POINTS)
LADDER = list(accumulate([ATOM_WEIGHT, *WEIGHTS]))
assert LADDER[-1] == 1 << 62


def draw():
    """One exact draw, in lattice steps from the origin."""$tail_draw
    cell = bisect_right(LADDER, secrets.randbelow(1 << 62))
    if cell == 0:
        return ATOM_UNIT * POINTS
    left, right = BREAKS[cell - 1] * POINTS, BREAKS[cell] * POINTS
    return left + secrets.randbelow(right - left)'''

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
        return cell * POINTS + secrets.randbelow(POINTS)"""

_STAIRCASE = '''\
# Staircase noise around ORIGIN: the density is constant up to GAMMA*SENSITIVITY and falls by the factor exp(-EPSILON)
# there and after every further SENSITIVITY; the point ORIGIN has probability ATOM.
SENSITIVITY = $sensitivity
EPSILON = Fraction($epsilon)
GAMMA = Fraction($gamma)
ATOM = Fraction($atom)
ORIGIN = Fraction($origin)

SUBDIVISIONS = 1 << 20  # lattice points per sensitivity
STEP = Fraction(SENSITIVITY) / SUBDIVISIONS


$functions

def draw():
    """One exact draw, in lattice steps from the origin."""
    return draw_staircase(EPSILON, GAMMA, ATOM)'''

_LATTICE = '''\
# The noise is (FIRST + i) steps with probability WEIGHTS[i]/2**62.
STEP = Fraction("$step")
ORIGIN = 0
FIRST = $first
WEIGHTS = [
$weights
]
LADDER = list(accumulate(WEIGHTS))
assert LADDER[-1] == 1 << 62


def draw():
    """One exact draw, in steps."""
    return FIRST + bisect_right(LADDER, secrets.randbelow(1 << 62))'''

_DISCRETE_STAIRCASE = '''\
# The noise is i or -i steps from ORIGIN with a weight that is constant for i < RISE and falls by the factor exp(-RATE)
# there and after every further PERIOD.
STEP = Fraction("$step")
ORIGIN = $location * STEP
RATE = Fraction($rate)
RISE = $rise
PERIOD = $period


$functions

def draw():
    """One exact draw, in steps from the origin."""
    return draw_discrete_staircase(RATE, RISE, PERIOD)'''


def python_snippet(solution: Solution) -> str:
    """A self-contained script (standard library only) that carries the law, the problem, the certificate and the
    version, and defines ``sample(n)`` and ``release(value)`` with exact arithmetic."""
    problem, certificate = solution.problem, solution.certificate
    fields = {
        "summary": "\n".join(textwrap.fill(line, 110) for line in describe(solution)),
        "version": repr(__version__),
        "problem": _literal(
            {
                "epsilon": problem.privacy.epsilon,
                "delta": problem.privacy.delta,
                "sensitivity": problem.sensitivity,
                "loss": problem.loss.spec,
                "symmetric": problem.symmetric,
                "monotone": problem.monotone,
                "support": [end if math.isfinite(end) else None for end in problem.support],
                "granularity": problem.granularity,
                "budget": None if problem.budget is None else [problem.budget.loss.spec, problem.budget.most],
                "second": None if problem.second is None else [problem.second.epsilon, problem.second.delta],
                "profile": None if problem.profile is None else problem.profile.spec,
            }
        ),
        "certificate": _literal(
            {
                "lower": certificate.lower,
                "upper": certificate.upper,
                "delta_upper": certificate.delta_upper,
                "worst_shift": certificate.worst_shift,
                "budget_upper": certificate.budget_upper,
                "second_delta_upper": certificate.second_delta_upper,
                "source": solution.source,
            }
        ),
    }
    return _SCRIPT.substitute(fields, **_law(solution.noise))


def _law(noise: Noise) -> dict[str, str]:
    """What the script needs for this law: its imports, its numbers with `draw()`, and how a value is rounded."""
    if isinstance(noise, LatticeNoise):
        law = _filled(_LATTICE, step=repr(noise.step), first=int(noise.first), weights=_wrapped(noise.weights))
        return {"imports": _LADDER_IMPORTS, "law": law, **_NEAREST}
    if (whole := whole_law(noise)) is not None:
        one, step = whole
        numbers = {"rate": repr(float(one.rate)), "rise": one.rise, "period": one.period, "location": one.location}
        functions = _sources(exact.coin, exact.exponential_coin, exact.draw_discrete_staircase)
        law = _filled(_DISCRETE_STAIRCASE, step=repr(step), functions=functions, **numbers)
        return {"imports": _FRACTIONS, "law": law, **_NEAREST}
    if isinstance(noise, Staircase):
        numbers = {name: repr(float(getattr(noise, name))) for name in ("sensitivity", "epsilon", "gamma", "atom")}
        functions = _sources(exact.coin, exact.exponential_coin, exact.draw_staircase)
        law = _filled(_STAIRCASE, origin=repr(float(noise.location)), functions=functions, **numbers)
        return {"imports": _FRACTIONS, "law": law, **_DOWN}
    tail = {"tail": "", "tail_draw": ""}
    if isinstance(noise, TailedNoise):
        numbers = _filled(_TAIL, tail_weight=int(noise.tail_weight), tail_mean=int(noise.tail_mean))
        tail, noise = {"tail": numbers, "tail_draw": _TAIL_DRAW}, noise.body
    law = _filled(
        _PIECEWISE,
        sensitivity=repr(float(noise.sensitivity)),
        resolution=int(noise.resolution),
        origin=repr(float(noise.origin)),
        breaks=_wrapped(noise.breaks),
        weights=_wrapped(noise.weights),
        atom_unit=int(noise.atom_unit),
        atom_weight=int(noise.atom_weight),
        **tail,
    )
    return {"imports": _LADDER_IMPORTS, "law": law, **_DOWN}


def _sources(*functions: Callable) -> str:
    """The functions as they are written, so that the script runs what the tests test."""
    return "\n\n".join(inspect.getsource(function) for function in functions)


def _filled(template: str, **values: object) -> str:
    return Template(template).substitute(values)


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


def _literal(data: dict) -> str:
    """A Python literal, one key a line."""
    rows = (f"    {json.dumps(key)}: {value!r}," for key, value in data.items())
    return "{\n" + "\n".join(rows) + "\n}"


def _wrapped(numbers: NDArray[np.int64]) -> str:
    return textwrap.fill(
        ", ".join(map(str, numbers.tolist())) + ",", 110, initial_indent="    ", subsequent_indent="    "
    )
