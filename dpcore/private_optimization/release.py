"""Released plans: one exact draw for a release, many floating-point draws for looking at what may happen."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._validate import decimal, whole
from ..errors import InputError
from ..exact import draw_geometric, exponential_coin
from ..noise.lattice import LatticeNoise
from ..noise.piecewise import PiecewiseNoise
from .noises import FINE, RowNoise
from .plan import Plan, Planner
from .program import Array, PrivateProgram

MOST_DRAWS = 100_000

Callback = Callable[[int, int], "bool | None"]
"""Called with (draws done, draws wanted); returning True stops."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """What releases would look like. Samples are for looking; they are not private releases.

    limits : (draws, p) released limits b̄.   objectives : (draws,) of the plans, NaN where b̄ allows none.
    violated : (draws,) number of private rows whose true limit the plan misses.   excess : (draws,) the largest miss.
    shrunk : (draws,) share of the anchor.   plans : (draws, n) if kept.   optimum : the best plan for the true limits.
    wanted : draws asked for; fewer are there after a stop.
    """

    program: PrivateProgram
    mechanism: str
    limits: Array
    objectives: Array
    violated: np.ndarray
    excess: Array
    shrunk: Array
    plans: Array | None
    optimum: Plan
    wanted: int

    @property
    def losses(self) -> Array:
        """How much worse than the optimum each plan is, ≥ 0 for plans that keep the limits. (draws,)"""
        return self.program.model.sign * (self.objectives - self.optimum.objective)

    @property
    def infeasible(self) -> int:
        """Draws whose released limits no plan keeps (never for mechanisms with b̄ between b* and b)."""
        return int(np.isnan(self.objectives).sum())


def simulate(
    program: PrivateProgram,
    noise: RowNoise | None,
    *,
    draws: int = 1000,
    seed: int = 0,
    keep_plans: bool = False,
    planner: Planner | None = None,
    progress: Callback | None = None,
) -> Simulation:
    """Draw released limits, solve for each from the last basis, compare with the true limits.

    noise : None for δ = 0, where the plan is the optimum for the guaranteed limits [MSVV, Thm C.1].
    """
    draws = whole(1, MOST_DRAWS, draws=draws) if noise else 1  # without noise they are all alike
    rng = np.random.default_rng(whole(0, 2**63 - 1, seed=seed))
    planner = planner or Planner(program)
    optimum = planner.solve(program.limits, prove=True)
    if optimum is None:
        raise AssertionError("no plan for the true limits, which allow more than the guaranteed ones")
    private = np.tile(program.guaranteed, (draws, 1)) if noise is None else sampled_limits(program, noise, draws, rng)
    true_low, true_high = program.row_limits(program.limits)
    objectives, violated = np.full(draws, math.nan), np.zeros(draws, dtype=np.int64)
    excess, shrunk = np.zeros(draws), np.zeros(draws)
    plans = np.full((draws, len(program.model.costs)), math.nan) if keep_plans else None
    done = 0
    for t in range(draws):
        if progress is not None and t % 8 == 0 and progress(t, draws):
            break
        try:
            plan = planner.solve(private[t])
        except TimeoutError:
            break
        done = t + 1
        if plan is None:
            continue
        objectives[t], shrunk[t] = plan.objective, plan.shrunk
        missed = planner.checker.misses(plan.x, true_low, true_high)[0][program.rows]
        violated[t], excess[t] = int((missed > 0).sum()), float(missed.max())
        if plans is not None:
            plans[t] = plan.x
    cut = slice(0, done)
    return Simulation(
        program,
        "none" if noise is None else noise.key,
        private[cut],
        objectives[cut],
        violated[cut],
        excess[cut],
        shrunk[cut],
        None if plans is None else plans[cut],
        optimum,
        draws,
    )


def sampled_limits(program: PrivateProgram, noise: RowNoise, draws: int, rng: np.random.Generator) -> Array:
    """(draws, p) sampled b̄, at most b for noise that keeps limits: the samples are at most 0 and rounding is
    monotone."""
    samples = noise.law.sample(rng, draws * len(program.rows)).reshape(draws, -1)
    return program.private_limits(np.minimum(samples, 0.0) if noise.keeps else samples)


# Exact releases -----------------------------------------------------------------------------------------


def release(program: PrivateProgram, noise: RowNoise | None, *, time_limit: float = 60.0) -> tuple[Array, Plan]:
    """(released limits, plan): one private release, made of whole numbers from the operating system's cryptographic
    source. The plan depends on the data through the released limits only, so it is as private as they are.

    noise : None for δ = 0.
    """
    private = program.guaranteed if noise is None else drawn_limits(program, noise)
    plan = Planner(program, like=private, time_limit=time_limit).solve(private)
    if plan is None:
        raise InputError("mechanism", noise.key if noise else "none", "one that keeps the limits: no plan keeps these")
    return private, plan


def drawn_limits(program: PrivateProgram, noise: RowNoise) -> Array:
    """(p,) one exact draw of b̄. Limits are rounded down to a lattice first (≥ rows up), which is why the lattice law
    of p real-valued limits is made for p − 1 more steps."""
    if not noise.keeps:
        raise InputError("mechanism", noise.key, "one that keeps the limits; the others are for comparison only")
    drawn = np.array([_drawn(program, noise, float(b)) for b in program.signs * program.limits])
    limits: Array = program.signs * np.clip(drawn, program.signs * program.guaranteed, program.signs * program.limits)
    return limits


def _drawn(program: PrivateProgram, noise: RowNoise, limit: float) -> float:
    law = noise.law
    if isinstance(law, PiecewiseNoise):
        return law.release(limit)
    if isinstance(law, LatticeNoise):
        step, drawn = decimal(law.step), law.draw()
    else:
        if noise.steps is None:
            raise InputError("mechanism", noise.key, "a law that can be drawn exactly")
        k, n = noise.steps
        step = decimal(program.granularity) if program.granularity else Fraction(program.sensitivity) / FINE
        drawn = draw_truncated_geometric(Fraction(program.epsilon) / k, n) - n
    # Multiples of a decimal step are known as their nearest floats only; others count as the multiple below.
    if program.granularity:
        whole_steps = round(decimal(limit) / step)
    else:
        whole_steps = math.floor(Fraction(limit) / step)
    return float((whole_steps + drawn) * step)


def draw_truncated_geometric(rate: Fraction, n: int) -> int:
    """One exact draw from 0 … n with weights e^{−rate·|i − n/2|}: a law that is nearly flat from uniform points, which
    geometric ones would hardly ever be, and the others from those."""
    half, odd = divmod(n, 2)
    flat = rate * half < 1
    while True:
        distance = secrets.randbelow(half + 1) if flat else draw_geometric(rate)
        if flat and not exponential_coin(rate * distance):
            continue
        if distance > half or (not odd and not distance and secrets.randbelow(2)):  # the middle has no mirror image
            continue
        right = secrets.randbelow(2)
        return half + odd + distance if right else half - distance
