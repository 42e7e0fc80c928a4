"""A data-dependent solution as a Python script that needs nothing but Python."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .._validate import decimal
from ..noise.ladder import POINTS, chosen, point_of
from ..problem_fields import to_dict
from ..problem_fields.dependent import FIELDS
from ..script import carried, filled, in_order, literal, summary, wrapped
from ..snippet import noise_script
from .channel import SUBDIVISIONS, Channel, cell_of, part_of
from .noise_laws import NoiseLaws
from .solution import Solution

_HEAD = '''\
"""$summary

Run this file to see one release, or import it: release(value) is a private release of a true value. Only whole numbers
and the operating system's random source are used; floats appear when all is done, and the number 0.1 means a tenth.
"""

$imports

VERSION = $version
PROBLEM = $problem
CERTIFICATE = $certificate

'''

_CHANNEL = (
    _HEAD
    + '''\
# The range from LOW to HIGH, which is public, is cut into CELLS cells of length STEP, the first from LOW + FIRST on.
# Cells LAWS[g] to LAWS[g + 1] - 1 share a law: with probability ATOMS[g]/2**62 the true value itself is released, with
# probability WEIGHTS[g][b]/2**62 $released.
LOW, HIGH = Fraction("$low"), Fraction("$high")
CELLS = $cells
STEP = Fraction("$step")
FIRST = Fraction("$first")
LAWS = [
$laws
]
$places
ATOMS = [
$atoms
]
WEIGHTS = [
$weights
]
LADDERS = [list(accumulate([atom, *row])) for atom, row in zip(ATOMS, WEIGHTS)]
assert all(ladder[-1] == 1 << 62 for ladder in LADDERS)


$functions

def release(value):
    """One private release; values outside the range count as its nearer end."""
    exact = Fraction(repr(float(value)))
    law = bisect_right(LAWS, cell_of(exact - LOW, FIRST, STEP, CELLS)) - 1
    place = chosen(LADDERS[law])
    if place == 0:
        return float(min(max(exact, LOW), HIGH))
    return $drawn


if __name__ == "__main__":
    print(CERTIFICATE)
    print("One release of the made-up value $example:", release($example))
'''
)

_NOISE_LAWS = (
    _HEAD
    + '''\
# True values from ENDS[g] to ENDS[g + 1] share a law of the noise: cell i of it, from (FIRST[g] + i)*UNIT on and one
# UNIT long, has probability WEIGHTS[g][i]/2**62, no noise at all ATOMS[g]/2**62.
ENDS = [
$ends
]
UNIT = Fraction("$unit")
FIRST = [
$first
]
ATOMS = [
$atoms
]
WEIGHTS = [
$weights
]
LADDERS = [list(accumulate([atom, *row])) for atom, row in zip(ATOMS, WEIGHTS)]
assert all(ladder[-1] == 1 << 62 for ladder in LADDERS)
POINTS = $points  # lattice points per unit
STEP = UNIT / POINTS


$functions

def release(value):
    """One private release; values outside the range count as its nearer end. Noise is added to the value rounded up to
    the lattice."""
    exact = Fraction(repr(min(max(float(value), ENDS[0]), ENDS[-1])))
    law = min(bisect_right([Fraction(repr(end)) for end in ENDS], exact), len(LADDERS)) - 1
    cell = chosen(LADDERS[law])
    if cell == 0:
        return float(exact)
    start = FIRST[law] + cell - 1
    return float((-(-exact // STEP) + point_of(start, start + 1, POINTS)) * STEP)


if __name__ == "__main__":
    print(CERTIFICATE)
    print("One release of the made-up value $example:", release($example))
'''
)

_POINTS = """\
POINTS = [
$points
]"""

_PARTS = """\
EDGES = [
$edges
]
SUBDIVISIONS = $subdivisions"""


def script(solution: Solution) -> str:
    """A self-contained script (standard library only) that carries the mechanism, the problem, the certificate and the
    version, and defines ``release(value)`` with exact arithmetic."""
    mechanism, asked, proved = solution.mechanism, to_dict(FIELDS, solution.problem), _proved(solution)
    if isinstance(mechanism, Channel):
        return _channel_script(mechanism, describe(solution), asked, proved)
    if isinstance(mechanism, NoiseLaws):
        return _noise_laws_script(mechanism, describe(solution), asked, proved)
    return noise_script(mechanism.noise, describe(solution), asked, proved, mechanism.query_range)


def _channel_script(channel: Channel, told: list[str], asked: dict[str, Any], proved: dict[str, Any]) -> str:
    grid = channel.grid
    low, high = map(float, grid.query_range)
    if channel.spread:
        edges = "\n".join(f'    Fraction("{edge}"),' for edge in grid.edges)
        places = filled(_PARTS, edges=edges, subdivisions=SUBDIVISIONS)
        released = "a uniform point from EDGES[b] to EDGES[b + 1], counted from LOW"
        functions, drawn = [part_of], "float(LOW + part_of(EDGES[place - 1], EDGES[place], SUBDIVISIONS))"
    else:
        places = filled(_POINTS, points=wrapped(grid.points.tolist()))
        released, functions, drawn = "the point POINTS[b]", [], "POINTS[place - 1]"
    imports, functions_ = carried(chosen, cell_of, *functions)
    own = {"from bisect import bisect_right", "from fractions import Fraction", "from itertools import accumulate"}
    rows = ("    [\n" + wrapped(row, " " * 8) + "\n    ]," for row in channel.weights.tolist())
    return filled(
        _CHANNEL, summary=summary(told), imports=in_order(imports | own), version=repr(__version__),
        problem=literal(asked), certificate=literal(proved), released=released, low=decimal(low), high=decimal(high),
        cells=grid.cells, step=grid.step, first=grid.first, laws=wrapped(grid.breaks), places=places,
        atoms=wrapped(channel.atoms.tolist()), weights="\n".join(rows), functions=functions_, drawn=drawn,
        example=repr(low + 0.5 * (high - low)),
    )  # fmt: skip


def _noise_laws_script(mechanism: NoiseLaws, told: list[str], asked: dict[str, Any], proved: dict[str, Any]) -> str:
    imports, functions = carried(chosen, point_of)
    own = {"from bisect import bisect_right", "from fractions import Fraction", "from itertools import accumulate"}
    rows = ("    [\n" + wrapped(law.weights.tolist(), " " * 8) + "\n    ]," for law in mechanism.laws)
    return filled(
        _NOISE_LAWS, summary=summary(told), imports=in_order(imports | own), version=repr(__version__),
        problem=literal(asked), certificate=literal(proved), ends=wrapped(map(float, mechanism.ends)),
        unit=mechanism.laws[0].unit, first=wrapped(int(law.breaks[0]) for law in mechanism.laws),
        atoms=wrapped(law.atom_weight for law in mechanism.laws), weights="\n".join(rows), points=POINTS,
        functions=functions, example=repr(float(mechanism.ends[0] + 0.5 * (mechanism.ends[-1] - mechanism.ends[0]))),
    )  # fmt: skip


def describe(solution: Solution) -> list[str]:
    """Version, problem and certificate in a few plain lines."""
    problem, certificate = solution.problem, solution.certificate
    constraints = [name for name in ("monotone", "ordered") if getattr(problem, name)]
    if problem.instance_cap is not None:
        constraints.append(f"no true value costs more than {solution.cap!r}")
    if problem.shared == "noise":
        constraints.append(f"one law of the noise for each of {solution.laws} intervals")
    if problem.below_spec is not None:
        constraints.append(f"below 0 the loss {problem.below_spec}")
    return [
        f"DP Frontier {__version__}",
        f"Problem: data-dependent noise, epsilon = {problem.privacy.epsilon!r}, delta = {problem.privacy.delta!r}, "
        f"sensitivity = {problem.sensitivity!r}, loss {problem.loss.spec}, true values from {problem.query_range[0]!r} "
        f"to {problem.query_range[1]!r}, weight {problem.weight.spec}" + "".join(f", {word}" for word in constraints),
        f"Certificate: average loss at most {certificate.upper!r}; no "
        f"{'such noise' if problem.shared == 'noise' else 'mechanism'} has less than {certificate.lower!r}",
        f"Certificate: (epsilon, {certificate.delta_upper!r})-differentially private",
    ]


def _proved(solution: Solution) -> dict[str, Any]:
    certificate = solution.certificate
    return {
        "lower": certificate.lower,
        "upper": certificate.upper,
        "delta_upper": certificate.delta_upper,
        "worst_distance": certificate.worst_shift,
        "cap": solution.cap,
        "source": solution.source,
    }
