"""Bounds for losses made of constants, one linear program after the other [method: orbits]."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ..errors import SolverError
from ..noise.piecewise import PiecewiseNoise
from ..problem import NoiseProblem
from .orbit_lower import orbit_lower
from .orbit_upper import orbit_upper
from .orbits import Orbits, steps_only
from .step import Limits

FIRST = (("upper", 0, 1.5), ("lower", 0, 1), ("lower", 1, 1), ("lower", 2, 1))
"""(bound, depth, how far beyond the marks), one after the other until the gap is reached."""

LATER = (
    ("lower", 6, 1), ("lower", 8, 1), ("upper", 2, 3.0), ("lower", 9, 2), ("lower", 12, 1), ("upper", 3, 4.0),
    ("upper", 5, 2.0), ("lower", 16, 1), ("lower", 12, 3), ("upper", 8, 2.0), ("lower", 20, 1), ("upper", 14, 1.0),
    ("lower", 28, 1),
)  # fmt: skip
"""After those with few shifts."""

MANY = 2
"""Of many marks so many attempts are worth their time."""

FIRST_DEPTH, GROWTH = 4, 1.5
"""Depths with few shifts are larger than that, and grow at least by this factor."""

DEEP, DEEPER = 30, 100
"""A law is looked for before depths beyond the first; before those beyond the second, shifts that may count there."""


def _attempts(orbits: Orbits) -> Iterator[tuple[str, int, float]]:
    """What is tried; "again": a lower bound with no shifts but those whose limits counted in the last one, and the
    first. Of two marks depths are those at which nearer fractions are told from their distance."""
    if not orbits.few and orbits.whole:
        yield from FIRST[:MANY]
        return
    yield from FIRST
    if not orbits.few:
        yield "again", 4, 1
    yield from (("upper", 1, 1.5), ("lower", 4, 1))
    depths = _depths(orbits.telling)
    yield from (("again", depth, 1) for depth in depths if depth <= DEEP)
    if depths:
        yield "upper", 3, 4.0
    yield from (("again", depth, 1) for depth in depths if DEEP < depth <= DEEPER)
    if depths and depths[-1] > DEEPER:  # with shifts that count among more
        yield "lower", 16, 1
        yield from (("again", depth, 1) for depth in depths if depth > DEEPER)
    yield from LATER


def _depths(telling: list[int]) -> list[int]:
    """The last of these and, before each, the last that is so much smaller."""
    found: list[int] = []
    for depth in reversed(telling):
        if depth > FIRST_DEPTH and (not found or GROWTH * depth <= found[-1]):
            found.append(depth)
    return found[::-1]


def orbit_bounds(
    problem: NoiseProblem, limits: Callable[[], Limits], over: Callable[[], bool]
) -> Iterator[float | PiecewiseNoise | None]:
    """A lower bound or a law to audit after every program, None where it brought neither, until it is over; nothing for
    problems that are not for these programs. Where a support ends, events a sensitivity less beyond the marks prove
    nearly as much."""
    if not steps_only(problem):
        return
    orbits = Orbits.of(problem)
    used = orbits.shifts(0)
    for kind, depth, reach in dict.fromkeys(_attempts(orbits)):  # what came sooner is not tried again
        if over():
            return
        found: float | PiecewiseNoise | None = None
        with contextlib.suppress(SolverError):  # numbers out of HiGHS's range: other programs follow
            if kind == "upper":
                found = orbit_upper(problem, depth, reach, limits())
            else:
                beyond, shifts = int(reach) - (not problem.whole_line), used if kind == "again" else None
                found, used = orbit_lower(problem, depth, beyond, limits(), shifts)
        yield found
