"""A solution as a Python script that needs nothing but Python."""

from __future__ import annotations

import json
import math
import textwrap
from string import Template

from . import __version__
from .noise.base import Noise
from .noise.lattice import LatticeNoise, whole_law
from .noise.piecewise import PiecewiseNoise
from .noise.tailed import TailedNoise
from .reload import RELOADED, short
from .solution import Solution

_PIECEWISE = Template('''\
"""$summary

Run this file to see ten draws, or import it: sample(n) draws, release(value) adds one draw to a true value.
Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

import secrets
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

# Cell i reaches from BREAKS[i] to BREAKS[i + 1], in units of SENSITIVITY/RESOLUTION from ORIGIN, and has probability
# WEIGHTS[i]/2**62; the point ATOM_UNIT has probability ATOM_WEIGHT/2**62.
SENSITIVITY = $sensitivity
RESOLUTION = $resolution
ORIGIN = $origin
BREAKS = [
$breaks
]
WEIGHTS = [
$weights
]
ATOM_UNIT = $atom_unit
ATOM_WEIGHT = $atom_weight

POINTS = 1 << 20  # lattice points per unit
STEP = Fraction(SENSITIVITY) / (RESOLUTION * POINTS)
LADDER = list(accumulate([ATOM_WEIGHT, *WEIGHTS]))
assert LADDER[-1] == 1 << 62


def draw():
    """One exact draw, in lattice steps from the origin."""
    cell = bisect_right(LADDER, secrets.randbelow(1 << 62))
    if cell == 0:
        return ATOM_UNIT * POINTS
    left, right = BREAKS[cell - 1] * POINTS, BREAKS[cell] * POINTS
    return left + secrets.randbelow(right - left)
$common''')

_TAILED = Template(
    _PIECEWISE.template.replace(
        "ATOM_WEIGHT = $atom_weight\n",
        "ATOM_WEIGHT = $atom_weight\n\n"
        "# With probability TAIL_WEIGHT/2**62 the draw is two-sided geometric: a cell of one unit on either side.\n"
        "TAIL_WEIGHT = $tail_weight\nTAIL_MEAN = $tail_mean\n",
    ).replace(
        "    cell = bisect_right",
        "    if secrets.randbelow(1 << 62) < TAIL_WEIGHT:\n"
        "        cell = 0\n"
        "        while secrets.randbelow(TAIL_MEAN):\n"
        "            cell += 1\n"
        "        cell = cell if secrets.randbelow(2) else -cell - 1\n"
        "        return cell * POINTS + secrets.randbelow(POINTS)\n"
        "    cell = bisect_right",
    )
)

_STAIRCASE = Template('''\
"""$summary

Run this file to see ten draws, or import it: sample(n) draws, release(value) adds one draw to a true value.
Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

import secrets
from fractions import Fraction

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

# Staircase noise around ORIGIN: the density is constant up to GAMMA*SENSITIVITY and falls by the factor exp(-EPSILON)
# there and after every further SENSITIVITY; the point ORIGIN has probability ATOM.
SENSITIVITY = $sensitivity
EPSILON = Fraction($epsilon)
GAMMA = Fraction($gamma)
ATOM = Fraction($atom)
ORIGIN = $origin

POINTS = 1 << 20  # lattice points per sensitivity
STEP = Fraction(SENSITIVITY) / POINTS


def coin(probability):
    """True with exactly this probability."""
    return secrets.randbelow(probability.denominator) < probability.numerator


def exponential_coin(rate):
    """True with probability exactly exp(-rate) (Canonne, Kamath, Steinke 2020, Alg. 1)."""
    while rate > 1:
        if not exponential_coin(Fraction(1)):
            return False
        rate -= 1
    count = 1
    while coin(rate / count):
        count += 1
    return count % 2 == 1


def draw():
    """One exact draw, in lattice steps from the origin."""
    if ATOM and coin(ATOM):
        return 0
    inner = round(GAMMA * POINTS)
    point = secrets.randbelow(POINTS)
    while point >= inner and not exponential_coin(EPSILON):
        point = secrets.randbelow(POINTS)
    while exponential_coin(EPSILON):
        point += POINTS
    return point if secrets.randbelow(2) else -point - 1
$common''')

_LATTICE = Template('''\
"""$summary

Run this file to see ten draws, or import it: sample(n) draws, release(value) adds one draw to a true value.
Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

import secrets
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

# The noise is (FIRST + i) steps with probability WEIGHTS[i]/2**62.
STEP = Fraction("$step")
FIRST = $first
WEIGHTS = [
$weights
]
LADDER = list(accumulate(WEIGHTS))
assert LADDER[-1] == 1 << 62


def draw():
    """One exact draw, in steps."""
    return FIRST + bisect_right(LADDER, secrets.randbelow(1 << 62))
$common''')

_DISCRETE_STAIRCASE = Template('''\
"""$summary

Run this file to see ten draws, or import it: sample(n) draws, release(value) adds one draw to a true value.
Only whole numbers and the operating system's random source are used; floats appear when all is done.
"""

import secrets
from fractions import Fraction

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

# The noise is LOCATION + i or LOCATION - i steps with a weight that is constant for i < RISE and falls by the factor
# exp(-RATE) there and after every further PERIOD.
STEP = Fraction("$step")
RATE = Fraction($rate)
RISE = $rise
PERIOD = $period
LOCATION = $location


def exponential_coin(rate):
    """True with probability exactly exp(-rate) (Canonne, Kamath, Steinke 2020, Alg. 1)."""
    while rate > 1:
        if not exponential_coin(Fraction(1)):
            return False
        rate -= 1
    count = 1
    while secrets.randbelow((rate / count).denominator) < (rate / count).numerator:
        count += 1
    return count % 2 == 1


def draw():
    """One exact draw, in steps."""
    while True:
        point = secrets.randbelow(PERIOD)
        while point >= RISE and not exponential_coin(RATE):
            point = secrets.randbelow(PERIOD)
        while exponential_coin(RATE):
            point += PERIOD
        if secrets.randbelow(2):
            return LOCATION + point
        if point:
            return LOCATION - point
$common''')

_ON_LATTICE = '''

def sample(n):
    """n exact draws."""
    return [float(draw() * STEP) for _ in range(n)]


def release(value):
    """The value, rounded to the nearest step, plus one exact draw."""
    return float(((Fraction(repr(float(value))) / STEP + Fraction(1, 2)).__floor__() + draw()) * STEP)


if __name__ == "__main__":
    print(CERTIFICATE)
    print(*sample(10), sep="\\n")
'''

_COMMON = '''

def sample(n):
    """n exact draws."""
    return [float(draw() * STEP + Fraction(ORIGIN)) for _ in range(n)]


def release(value):
    """The value, rounded down to the lattice, plus one exact draw."""
    return float((Fraction(value) // STEP + draw()) * STEP + Fraction(ORIGIN))


if __name__ == "__main__":
    print(CERTIFICATE)
    print(*sample(10), sep="\\n")
'''


def python_snippet(solution: Solution) -> str:
    """A self-contained script (standard library only) that carries the law, the problem, the certificate and the
    version, and defines ``sample(n)`` and ``release(value)`` with exact arithmetic."""
    problem, certificate, noise = solution.problem, solution.certificate, solution.noise
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
        "sensitivity": repr(float(problem.sensitivity)),
        "common": _COMMON,
    }
    if isinstance(noise, LatticeNoise) or whole_law(noise) is not None:
        return _on_lattice(noise, fields)
    if isinstance(noise, PiecewiseNoise):
        return _PIECEWISE.substitute(fields, **_whole_numbers(noise))
    if isinstance(noise, TailedNoise):
        tail = {"tail_weight": int(noise.tail_weight), "tail_mean": int(noise.tail_mean)}
        return _TAILED.substitute(fields, **_whole_numbers(noise.body), **tail)
    values = {name: repr(float(getattr(noise, name))) for name in ("epsilon", "gamma", "atom")}
    return _STAIRCASE.substitute(fields, origin=repr(float(noise.location)), **values)


def _whole_numbers(noise: PiecewiseNoise) -> dict[str, object]:
    """What makes the law, as text or whole numbers."""
    return {
        "resolution": int(noise.resolution),
        "origin": repr(float(noise.origin)),
        "breaks": _wrapped(noise.breaks.tolist()),
        "weights": _wrapped(noise.weights.tolist()),
        "atom_unit": int(noise.atom_unit),
        "atom_weight": int(noise.atom_weight),
    }


def _on_lattice(noise: Noise, fields: dict[str, str]) -> str:
    """The script of a law on a lattice."""
    fields = fields | {"common": _ON_LATTICE}
    if isinstance(noise, LatticeNoise):
        weights = _wrapped(noise.weights.tolist())
        return _LATTICE.substitute(fields, step=repr(noise.step), first=int(noise.first), weights=weights)
    law, step = whole_law(noise)
    numbers = {"rise": law.rise, "period": law.period, "location": law.location}
    return _DISCRETE_STAIRCASE.substitute(fields, step=repr(step), rate=repr(float(law.rate)), **numbers)


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


def _wrapped(numbers: list[int]) -> str:
    return textwrap.fill(", ".join(map(str, numbers)) + ",", 110, initial_indent="    ", subsequent_indent="    ")
