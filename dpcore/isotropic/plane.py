"""Two numbers under ℓ2-sensitivity 1 and the ℓ1-loss E‖X‖₁: the experiment of [SLW-S, Figure 6], computed again.

The loss is not invariant under rotations, so radial laws bound the optimum from above only: E‖X‖₁ = (4/π) E|X|. Bounds
from below are those of `square`, and that of E|X|, since ‖x‖₁ ≥ |x|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..loss import absolute
from ..noise.gaussian import Gaussian
from ..noise.truncated_laplace import TruncatedLaplace
from ..privacy import Privacy
from ..problem import SolverSettings
from . import coordinates
from .problem import IsotropicProblem, RadialLoss
from .search import solve
from .square import RESOLUTIONS, taxicab_lower

MEAN_OF_DIRECTIONS = 4 / math.pi
"""E‖u‖₁ of a direction in the plane."""

SPLITS = 40
"""Ways to share ε, and δ, between two truncated Laplace laws."""


@dataclass(frozen=True)
class Printed:
    """What the plot shows at its finest grid, read off to about 0.005."""

    truncated_laplace: float
    gaussian: float
    optima_composed: float
    upper: float
    lower: float


FIGURE_6 = {
    (2.0, 0.2): Printed(1.452, 0.9601, 1.269, 0.879, 0.847),
    (5.0, 0.2): Printed(0.740, 0.5952, 0.559, 0.290, 0.259),
}
"""[SLW-S, Figure 6], left and right."""


@dataclass(frozen=True)
class Plane:
    """E‖X‖₁ at one (ε, δ).

    truncated_laplace : two truncated Laplace laws, composed, the best split.   gaussian : the analytic
    Gaussian.   optima_composed : the same optimum on the line on both coordinates, its δ(ε) over all shifts of
    ℓ2-length 1 by the accountant.   radial : an audited radial law, `delta_upper` its δ(ε).   norm_lower : of E|X|,
    for every law.   lower : of E‖X‖₁, for every law.
    """

    privacy: Privacy
    truncated_laplace: float
    gaussian: float
    optima_composed: float
    radial: float
    delta_upper: float
    norm_lower: float
    lower: float
    printed: Printed | None

    @property
    def below_the_printed_bound(self) -> bool:
        """An audited law costs less than what was printed as a lower bound for all: it was none."""
        return self.printed is not None and self.radial < self.printed.lower


def figure_6(privacy: Privacy, settings: SolverSettings | None = None) -> Plane:
    """The experiment at some (ε, δ), both positive; settings : of the search for the radial law."""
    found = solve(IsotropicProblem(2, privacy, RadialLoss(1.0)), settings or SolverSettings(gap=0.01, time_limit=10.0))
    return Plane(
        privacy,
        truncated_laplace(privacy),
        2 * Gaussian.calibrate(privacy, 1.0).sigma * math.sqrt(2 / math.pi),
        coordinates.optimum(2, privacy).loss,
        MEAN_OF_DIRECTIONS * found.upper * (1 + 1e-15),
        found.delta_upper,
        found.lower,
        max(found.lower, taxicab_lower(privacy, RESOLUTIONS[-1])),
        FIGURE_6.get((privacy.epsilon, privacy.delta)),
    )


def truncated_laplace(privacy: Privacy) -> float:
    """E|X₁| + E|X₂| of two truncated Laplace laws that compose to (ε, δ), the best of some splits: ε₁ + ε₂ = ε and
    (1 − δ₁)(1 − δ₂) = 1 − δ [KOV17, Thm. 3.4]."""
    parts = range(1, SPLITS)

    def alone(epsilon: float, delta: float) -> float:
        return TruncatedLaplace.calibrate(Privacy(epsilon, delta), 1.0).expected_loss(absolute())

    kept = -math.log1p(-privacy.delta) / SPLITS
    cost = {(i, j): alone(privacy.epsilon * i / SPLITS, -math.expm1(-kept * j)) for i in parts for j in parts}
    return min(cost[i, j] + cost[SPLITS - i, SPLITS - j] for i, j in cost)
