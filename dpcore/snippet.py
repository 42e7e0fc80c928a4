"""A solution as a Python script that needs nothing but Python."""

from __future__ import annotations

import math
from typing import Any

from . import __version__
from .json_checks import short
from .noise.base import Noise
from .problem_fields.noise import problem_to_dict
from .reload import RELOADED
from .script import filled, in_order, literal, summary
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
    noise: Noise,
    told: list[str],
    asked: dict[str, Any],
    proved: dict[str, Any],
    query_range: tuple[float, float] | None = None,
) -> str:
    """The script of a law with an exact sampler.

    told : lines of its docstring.   asked, proved : plain values, the problem and the certificate.
    query_range : true values are moved there before, releases after noise is added.
    """
    law = noise.script()
    if query_range is None:
        release, example = filled(_RELEASE, told=law.told, number=law.number), "1234"
    else:
        low, high = map(float, query_range)
        release, example = filled(_CLAMPED, low=repr(low), high=repr(high)), repr(low + 0.5 * (high - low))
    imports = in_order({"import secrets", "from fractions import Fraction", *law.imports})
    return filled(
        _SCRIPT, summary=summary(told), imports=imports, version=repr(__version__), problem=literal(asked),
        certificate=literal(proved), law=law.text, number=law.number, release=release, example=example,
    )  # fmt: skip


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
