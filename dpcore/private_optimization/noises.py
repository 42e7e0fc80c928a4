"""The noise that is added to every private limit before the program is solved: three that keep b̄ ≤ b and three that do
not.

Signs are those of a ≤ row: released is b̄ = max(b + X, b*), X ≤ 0 for the first three; ≥ rows get the mirror image.
Proofs in docs/private_optimisation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import InputError
from ..loss import UNIT
from ..noise.base import Noise
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.lattice import LatticeNoise
from ..noise.piecewise import PiecewiseNoise
from ..noise.truncated_laplace import TruncatedLaplace
from ..privacy import EPSILON_RANGE, Privacy
from ..problem import SolverSettings, noise_problem
from .program import PrivateProgram
from .proportional import MOST_STEPS, optimal_law, truncated_geometric, truncation_steps, usage_upper

FEASIBLE = ("optimal", "tight", "truncated-laplace")
"""Mechanisms that never violate a limit, best first."""

BASELINES = ("laplace-shifted", "laplace", "gaussian")
"""Mechanisms that do."""

MECHANISMS = FEASIBLE + BASELINES

NAMES = {
    "optimal": "Optimal one-sided noise",
    "tight": "Truncated Laplace, tight",
    "truncated-laplace": "Truncated Laplace, as published",
    "laplace-shifted": "Laplace, shifted as if truncated",
    "laplace": "Laplace",
    "gaussian": "Gaussian",
}

FINE = 1 << 20
"""Steps of the sensitivity in exact releases of real-valued limits."""

AUDITED = 50_000
"""Lattice laws up to this many points are written down point by point and audited."""


@dataclass(frozen=True, eq=False)
class RowNoise:
    """What is added to every private limit, independently.

    law : of X.   shift_lower, shift_upper : no noise of its kind has a smaller mean shift −E X; this one's is at most
    `shift_upper`. Equal for closed forms, whose mean is exact up to rounding.   keeps : X ≤ 0 surely.
    steps : (k, n) of the truncated geometric law that exact releases draw from: rate ε/k, points 0 … n; None where the
    law draws itself.   reach : the largest shift of exact releases, where that can be more than the law's.
    """

    key: str
    law: Noise
    shift_lower: float
    shift_upper: float
    keeps: bool
    note: str
    steps: tuple[int, int] | None = None
    reach: float = 0.0

    @property
    def name(self) -> str:
        return NAMES[self.key]

    @property
    def largest(self) -> float:
        """The largest shift, of samples and of exact releases."""
        return max(-self.law.support[0], self.reach)


def half_width(program: PrivateProgram, *, published: bool) -> float:
    """s in b̄ = b − s + η, η truncated to ±s: (Δ/ε) ln(1 + (e^ε − 1)/(2δ)), or as published
    (Δ/ε) ln(1 + m(e^ε − 1)/δ) for m private limits [MSVV, §3]."""
    share = len(program.rows) / program.delta if published else 0.5 / program.delta
    return program.sensitivity / program.epsilon * math.log1p(share * math.expm1(program.epsilon))


def row_noise(
    program: PrivateProgram,
    key: str,
    *,
    gap: float = 2e-3,
    time_limit: float = 10.0,
    stop: Callable[[], bool] = lambda: False,
) -> RowNoise:
    """The noise of a mechanism for a program with δ > 0 (Laplace noise: any δ).

    Raises
    ------
    InputError : unknown mechanism; δ = 0; or the optimal noise of several real-valued limits, which no grid law is.
    """
    if key not in MECHANISMS:
        raise InputError("mechanism", key, ", ".join(MECHANISMS))
    if program.delta == 0 and key != "laplace":
        raise InputError("delta", 0, f"a positive number for {NAMES[key]} noise")
    if key == "optimal":
        return _optimal(program, gap, time_limit, stop)
    if key in FEASIBLE:
        return _truncated(program, key)
    return _violating(program, key)


def _truncated(program: PrivateProgram, key: str) -> RowNoise:
    published = key == "truncated-laplace"
    width = half_width(program, published=published) * (1 + 8 * UNIT)
    scale = program.sensitivity / program.epsilon * (1 + 4 * UNIT)
    note = "η from the truncated Laplace law on ±s, shifted by −s"
    k = program.steps or FINE + len(program.rows) - 1  # limits rounded down to a step each move a step further apart
    n = truncation_steps(program.epsilon, program.delta, k)
    if published:
        n = max(n, math.floor(2 * width / program.sensitivity * k))
    elif program.granularity and n <= AUDITED and (grid := _on_grid(program, program.granularity, k)) is not None:
        mean = -float(grid.masses @ grid.points)
        return RowNoise(key, grid, mean, mean, True, f"{note}, on the grid of the limits", (k, len(grid.weights) - 1))
    law = TruncatedLaplace(scale, width, -width)
    # Rounding limits down may cost a step of its own.
    reach = n * program.granularity if program.granularity else (n + 1) * (program.sensitivity / FINE)
    return RowNoise(key, law, width, width, True, note, (k, n), reach * (1 + 4 * UNIT))


def _on_grid(program: PrivateProgram, step: float, k: int) -> LatticeNoise | None:
    """The truncated geometric law of whole steps, as the referee accepts it."""
    for spare in (0.0, 1e-9, 1e-6):
        masses = truncated_geometric(program.epsilon, program.delta * (1 - spare), k)
        law = LatticeNoise.from_masses(step, -(len(masses) - 1), masses, name=NAMES["tight"])
        if usage_upper(law.masses, program.epsilon, program.delta, k) <= 1:
            return law
    return None


def _optimal(program: PrivateProgram, gap: float, time_limit: float, stop: Callable[[], bool]) -> RowNoise:
    """One limit: any (ε, δ)-DP law on (−∞, 0]. Several: shift-proportional laws on their common grid, which with one
    step to the sensitivity are the same."""
    if len(program.rows) > 1:
        accepted = f"that of the private limits, at least a {MOST_STEPS}th of the sensitivity, for the optimal noise of"
        accepted += f" {len(program.rows)} limits; real numbers are served by the tight truncated Laplace noise"
        if not program.granularity or not program.steps or program.steps > MOST_STEPS:
            raise InputError("granularity", program.granularity, accepted)
        joint = optimal_law(
            program.epsilon, program.delta, program.steps, program.granularity, time_limit=time_limit, stop=stop
        )
        note = "least mean shift of all laws on the grid whose privacy loss is in proportion to the change of the limit"
        if program.steps > 1 or joint.upper <= joint.lower * (1 + 1e-4):
            return RowNoise("optimal", joint.noise, joint.lower, joint.upper, True, note)
    from ..optimal import solve

    if program.epsilon < EPSILON_RANGE[0]:
        raise InputError("epsilon", program.epsilon, f"at least {EPSILON_RANGE[0]:g} for the optimal noise")
    problem = noise_problem(
        program.epsilon,
        program.delta,
        program.sensitivity,
        "l1",
        support=(-math.inf, 0.0),
        granularity=program.granularity,
    )
    solution = solve(problem, SolverSettings(gap=max(gap, 1e-6), time_limit=time_limit), lambda _: stop())
    law, note = solution.noise, "least mean shift of all (ε, δ)-DP noise that never exceeds 0"
    if not isinstance(law, PiecewiseNoise | LatticeNoise) or law.support[1] > 0:
        raise InputError("mechanism", "optimal", "tight: no one-sided law was found in time")
    reach, proof = -law.support[0] * (1 + 4 * UNIT), solution.certificate
    return RowNoise("optimal", law, proof.lower or 0.0, proof.upper, True, note, reach=reach)


def _violating(program: PrivateProgram, key: str) -> RowNoise:
    if key == "gaussian":
        if program.epsilon < EPSILON_RANGE[0]:
            raise InputError("epsilon", program.epsilon, f"at least {EPSILON_RANGE[0]:g} for Gaussian noise")
        normal = Gaussian.calibrate(Privacy(program.epsilon, program.delta), program.sensitivity)
        return RowNoise(key, normal, 0.0, 0.0, False, "unbiased; limits are exceeded half of the time")
    law = Laplace.pure(program.epsilon, program.sensitivity)
    if key == "laplace":
        return RowNoise(key, law, 0.0, 0.0, False, "unbiased; limits are exceeded half of the time")
    shift = half_width(program, published=True)
    note = "Laplace noise with the published shift −s but without the truncation [MSVV, §4.2]"
    return RowNoise(key, replace(law, location=-shift), shift, shift, False, note)
