"""A certified law as a measurement of OpenDP: its exact draws, and a privacy map that the audit proves.

OpenDP cannot check what Python tells it, so it wants `dp.enable_features("contrib", "honest-but-curious")` first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..audit import delta_upper
from ..errors import InputError
from ..extras import needs
from ..solution import Solution

if TYPE_CHECKING:
    from opendp.mod import Measurement

LARGEST = 1e15
"""Values beyond ± this count as ± this; clamping brings no two values further apart."""

MOST_EPSILON = 300.0
"""δ is looked up at no larger ε: it falls with ε."""


def measurement(solution: Solution) -> Measurement:
    """Numbers at an absolute distance → the number plus one exact draw, with (ε, δ) for every distance.

    Queries of whole numbers (granularity 1) are integers of 64 bits, others floats. At up to the sensitivity D the map
    says the problem's ε and the δ that is proved for it; at up to k·D it says k·ε and the δ that is proved for a
    change by k·D, which is at most what group privacy says.

    Raises
    ------
    MissingExtraError : OpenDP is not installed.
    InputError : the query's values are multiples of something other than 1, or the promise is a whole profile.
    """
    with needs("opendp"):
        import opendp.prelude as dp
    problem = solution.problem
    if problem.profile is not None:
        raise InputError("privacy", "a profile", "one pair (ε, δ)")
    if problem.granularity not in (None, 1.0):
        raise InputError("granularity", problem.granularity, "1 or none: let the query count multiples of it")
    kind: Any = "i64" if problem.granularity else "f64"
    domain = dp.atom_domain(T="i64") if problem.granularity else dp.atom_domain(T="f64", nan=False)
    number = int if problem.granularity else float

    def function(value: float) -> float:
        return number(solution.noise.release(float(min(max(value, -LARGEST), LARGEST))))

    return dp.m.make_user_measurement(
        domain, dp.absolute_distance(T=kind), dp.approximate(dp.max_divergence()), function,
        lambda distance: privacy_map(solution, distance), TO=kind,
    )  # fmt: skip


def privacy_map(solution: Solution, distance: float) -> tuple[float, float]:
    """(ε, δ) of the law for queries that differ by at most `distance`, both rounded up."""
    problem = solution.problem
    times = math.ceil(distance / problem.sensitivity)
    if times <= 0:
        return 0.0, 0.0
    epsilon = math.nextafter(times * problem.privacy.epsilon, math.inf) if times > 1 else problem.privacy.epsilon
    delta = delta_upper(solution.noise, min(epsilon, MOST_EPSILON), times * problem.sensitivity)
    return epsilon, min(delta, 1.0)
