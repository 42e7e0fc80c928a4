"""A radial law as a Python script that needs nothing but Python and python-flint."""

from __future__ import annotations

from .. import __version__
from ..problem_fields import to_dict
from ..problem_fields.radial import FIELDS
from ..reload import RELOADED
from ..script import carried, filled, in_order, literal, summary, wrapped
from .release import grid_of, noisy_points
from .solution import IsotropicSolution

PACKAGE = "python-flint>=0.7,<1"
"""What the extra `release` brings."""

_SCRIPT = '''\
"""$summary

Run this file to see one release, or import it: release(value) is one private release of as many numbers as there are
coordinates, value plus noise rounded correctly to multiples of STEP. Bits come from the operating system's random
source; balls of numbers are FLINT's, pip install "$package". The number 0.1 means a tenth. Neighbours'
values, as they are computed, may be SENSITIVITY apart in Euclidean length.
"""

$imports

try:
    from flint import $balls
except ModuleNotFoundError:
    raise ImportError('python-flint is not installed: pip install "$package"') from None

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

# With probability WEIGHTS[i]/2**62 uniform in the shell between the radii BREAKS[i] and BREAKS[i + 1], in units of
# SENSITIVITY/RESOLUTION; 0 with probability ATOM_WEIGHT/2**62.
DIMENSION = $dimension
SENSITIVITY = Fraction("$sensitivity")
RESOLUTION = $resolution
BREAKS = [
$breaks
]
WEIGHTS = [
$weights
]
ATOM_WEIGHT = $atom
STEP = $step
UNIT = SENSITIVITY / RESOLUTION / STEP
LADDER = list(accumulate([ATOM_WEIGHT, *WEIGHTS]))
assert LADDER[-1] == 1 << 62


$functions

def release(value):
    """The value plus one exact draw, rounded correctly, as the nearest floats."""
    places = [Fraction(repr(float(number))) / STEP for number in value]
    if len(places) != DIMENSION:
        raise ValueError(f"{DIMENSION} numbers are needed, one per coordinate")
    return [float(point * STEP) for point in noisy_points(places, DIMENSION, LADDER, BREAKS, UNIT, 0)]


if __name__ == "__main__":
    print(CERTIFICATE)
    print("One release of zeros, made-up values:")
    print(*release([0.0] * DIMENSION), sep="\\n")
'''


def script(solution: IsotropicSolution) -> str:
    """A self-contained script that carries the law, the problem, the certificate and the version, and defines
    ``release(value)`` with exact arithmetic."""
    noise, certificate, problem = solution.noise, solution.certificate, solution.problem
    imports, functions = carried(noisy_points)
    balls = {line for line in imports if line.startswith("from flint ")}
    told = [
        f"DP Frontier {__version__}",
        f"Problem: epsilon = {problem.privacy.epsilon!r}, delta = {problem.privacy.delta!r}, {problem.dimension} "
        f"numbers of which neighbours change by at most {problem.sensitivity!r} in Euclidean length, loss "
        f"{problem.loss.spec} of the length of the error",
        f"Certificate: expected loss at most {certificate.upper!r}; no noise has a smaller one than {solution.lower!r}"
        f"{' (as stated in the file it was loaded from)' if solution.source == RELOADED else ''}; "
        f"(epsilon, {certificate.delta_upper!r})-differentially private",
    ]
    proved = {"lower": solution.lower, "upper": certificate.upper, "delta_upper": certificate.delta_upper}
    return filled(
        _SCRIPT, summary=summary(told), package=PACKAGE,
        imports=in_order((imports - balls) | {"from fractions import Fraction", "from itertools import accumulate"}),
        balls=in_order(balls).removeprefix("from flint import "), version=repr(__version__),
        problem=literal(to_dict(FIELDS, problem)), certificate=literal(proved), dimension=noise.dimension,
        sensitivity=repr(float(noise.sensitivity)), resolution=int(noise.resolution),
        breaks=wrapped(noise.breaks.tolist()), weights=wrapped(noise.weights.tolist()), atom=int(noise.atom_weight),
        step=repr(grid_of(noise)), functions=functions,
    )  # fmt: skip
