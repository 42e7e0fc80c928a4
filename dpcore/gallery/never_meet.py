"""Losses whose bounds never meet: the two counter-examples of [SLW, Prop. 4], solved and explained.

The bounding programs P(π, β) (densities, cell means of the loss) and D(π, β) (events in a window, infima over cells) of
[SLW, §2] converge to each other for losses that are continuous and grow without limit. Without either they need not:

* `jump_loss`: 0 at 0 alone, 1 around it, 1 + |x| beyond 2⌈1/(2δ)⌉ sensitivities. No density profits from a single
  point, so P ≥ 1. A *point mass* does: the infimum V has 1 − δ ≤ V ≤ (1 − δ)/(1 − h) with the h of `point_mass_law`,
  and D ≤ V, which is less than the 1 − δ/2 of [SLW].
* `periodic_loss`: between 0 and 1 with period one sensitivity, 1 on the first half of each. Every private law has at
  least (1 − δ)/(1 + e^ε) of its mass where the loss is 1; but no event reaches beyond the window of D, mass out
  there is free, and D = 0 whatever the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import audit
from .._validate import above, whole
from ..errors import CertificateError, InputError
from ..loss import Loss, Piece
from ..noise import PiecewiseNoise
from ..partition import Partition
from ..privacy import Privacy
from ..problem import NoiseProblem, SolverSettings
from ..reference import solve_reference
from ..solution import Progress, Solution

EXAMPLES = ("jump", "periodic")
MOST_PERIODS = 64


@dataclass(frozen=True)
class PointLoss(Loss):
    """A loss that is 0 at 0 itself, whatever its pieces say around it.

    It has values, means and infima over closed cells, which is all that the reference method and the audit ask for.
    `dpcore.optimal` builds on open cells and piecewise linear minorants, which do not see a single point; asking for
    either raises an InputError.
    """

    def value(self, x: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(x, dtype=float) == 0, 0.0, super().value(x))

    def rounding(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        return Loss(self.spec, self.title, self.pieces).rounding(a, b)

    @property
    def continuous(self) -> bool:
        raise InputError("loss", self.title, "a loss that is a one-sided limit everywhere, as a well of some width is")


def plateau(privacy: Privacy) -> int:
    """Sensitivities up to which `jump_loss` is 1: 2⌈1/(2δ)⌉.

    Raises
    ------
    InputError : δ below 0.005, where the plateau would be hundreds of sensitivities wide.
    """
    above(0.00499, 1, delta=privacy.delta)
    return 2 * math.ceil(1 / (2 * privacy.delta))


def jump_loss(privacy: Privacy, *, well: float = 0.0) -> Loss:
    """Example 1 [SLW, A.8.1] at sensitivity 1; `well` widens the single point to |x| < well, at 0 cost as well."""
    wide = float(plateau(privacy))
    right = [Piece(0.0, wide, 1.0), Piece(wide, math.inf, 1.0, 1.0)]
    if well:
        right = [Piece(0.0, well, 0.0), Piece(well, wide, 1.0), right[1]]
    left = [p.mirrored for p in reversed(right)]
    kind, spec = (Loss, f"well:{well!r}:{wide!r}") if well else (PointLoss, f"point:{wide!r}")
    return kind(spec, "loss that spares one point", (*left, *right))


def periodic_loss(periods: int) -> Loss:
    """Example 2 [SLW, A.8.2] at sensitivity 1, within so many periods of 0; 0 beyond, which no cell of the window sees.

    On [0, 1): 1 up to ½, down to 0 at 5/8, 0 up to 7/8, up to 1 at 1.
    """
    periods = whole(1, MOST_PERIODS, periods=periods)
    pieces = []
    for i in range(-periods, periods):
        pieces += [
            _ramp(i, i + 0.5, 1.0, 0.0),
            _ramp(i + 0.5, i + 0.625, 5 + 8 * i, -8.0),
            _ramp(i + 0.625, i + 0.875, 0.0, 0.0),
            _ramp(i + 0.875, i + 1.0, -7 - 8 * i, 8.0),
        ]
    ends = Piece(-math.inf, -float(periods), 0.0), Piece(float(periods), math.inf, 0.0)
    return Loss(f"periodic:{periods}", "periodic loss", (ends[0], *pieces, ends[1]))


def _ramp(lo: float, hi: float, constant: float, slope: float) -> Piece:
    """constant + slope·x on (lo, hi), on one side of 0."""
    return Piece(float(lo), float(hi), float(constant), slope if lo >= 0 else -slope)


def problem(example: str, privacy: Privacy, half_width: int) -> NoiseProblem:
    """The example at sensitivity 1, fit for windows of ± so many sensitivities."""
    if example == "jump":
        return NoiseProblem(privacy, 1.0, jump_loss(privacy))
    if example == "periodic":
        return NoiseProblem(privacy, 1.0, periodic_loss(half_width + 2))
    raise InputError("example", example, " or ".join(EXAMPLES))


def widened(example: str, privacy: Privacy, amount: float) -> NoiseProblem:
    """A relative of the example whose bracket does meet, for `dpcore.optimal`.

    jump: the point widened to |x| < amount; its infimum is below V and rises to it as the well narrows. periodic: laws
    on ± amount sensitivities only; its infimum is above V and falls to it as the support widens.
    """
    if example == "jump":
        return NoiseProblem(privacy, 1.0, jump_loss(privacy, well=above(0, 1, well=amount)))
    if example == "periodic":
        half = float(whole(1, MOST_PERIODS - 2, half_width=amount))
        return NoiseProblem(privacy, 1.0, periodic_loss(int(half) + 2), support=(-half, half))
    raise InputError("example", example, " or ".join(EXAMPLES))


def window(example: str, privacy: Privacy) -> int:
    """Half-width, in sensitivities, of the window to solve on: the plateau, or six."""
    return plateau(privacy) if example == "jump" else max(6, math.ceil(privacy.truncation()))


@dataclass(frozen=True)
class Proved:
    """What is proved about every grid, and about the infimum V itself.

    program_upper : P(π, β) is never below this.   program_lower : D(π, β) is never above this.
    lower, upper : of V; upper is infinite where no law is offered.
    """

    program_upper: float
    program_lower: float
    lower: float
    upper: float


def proved(example: str, privacy: Privacy) -> Proved:
    """The statements of [SLW, A.8], the first sharpened by the bracket of V (see the module): D ≤ V as D is a bound."""
    if example == "jump":
        law = point_mass_law(privacy)
        upper = audit.loss_upper(law, jump_loss(privacy))
        return Proved(1.0, min(upper, 1 - privacy.delta / 2), 1 - privacy.delta, upper)
    if example == "periodic":
        least = (1 - privacy.delta) / (1 + privacy.amplification)
        return Proved(least, 0.0, least, math.inf)
    raise InputError("example", example, " or ".join(EXAMPLES))


def point_mass_law(privacy: Privacy) -> PiecewiseNoise:
    """A law with a point mass at 0 that costs less than 1 under `jump_loss`, (ε, δ)-DP by the audit.

    Mass a at 0 and (1 − a) times a geometric density, constant between whole numbers, on ± the plateau. That density
    alone is (ε, h)-DP, a point mass is never covered by a shifted density, so a + (1 − a)h = δ makes
    a = (δ − h)/(1 − h) and the cost 1 − a = (1 − δ)/(1 − h); h ≤ δ/2, the limit for
    ε → 0. V ≥ 1 − δ because no private law has an atom above δ.
    """
    half = plateau(privacy)
    right = np.exp(-privacy.epsilon * np.arange(half))
    breaks = np.arange(-half, half + 1)
    plain = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1, breaks=breaks, masses=np.concatenate([right[::-1], right])
    )
    h, _ = audit.shortfall_upper(plain, privacy.epsilon)
    share = (privacy.delta - h) / (1 - h) * (1 - 1e-12)
    law = plain.with_atom(max(share, 0.0))
    delta, _ = audit.shortfall_upper(law, privacy.epsilon)
    if delta > privacy.delta:
        raise CertificateError(f"the law with a point mass has δ = {delta}, above {privacy.delta}")
    return law


def on_grid(
    example: str,
    privacy: Privacy,
    cells: int,
    *,
    time_limit: float = 5.0,
    progress: Callable[[Progress], bool] | None = None,
) -> Solution:
    """Certified bounds of P(π, β) and D(π, β) on a uniform grid with so many cells per sensitivity, by cutting planes.

    The certificate's lower bound is one of D, hence of V; its upper bound is the cost of a density. The infimum is
    taken over closed cells, so both cells that touch 0 have it in the first example: D is a little smaller than
    with half-open cells.
    """
    half_width = window(example, privacy)
    settings = SolverSettings(gap=1e-4, time_limit=time_limit, method="reference", cells_per_sensitivity=cells)
    partition = Partition.uniform(settings.cells_per_sensitivity, half_width)
    return solve_reference(problem(example, privacy, half_width), settings, progress, partition=partition)
