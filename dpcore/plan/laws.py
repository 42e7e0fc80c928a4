"""The noise of a total: what one number of it needs so that the whole of it keeps a promise to one person.

A person's `rows` rows change `moved` numbers each, by at most `change`. Noise that is (ε₀, δ₀)-DP for that change keeps
(moved·ε₀, moved·δ₀) for one row (basic composition), and (k ε₁, δ₁(e^(kε₁) − 1)/(e^ε₁ − 1)) for k rows that are
(ε₁, δ₁) each (group privacy [Awan, Prop. 3.2, for δ = 0; Vadhan 2017, Lemma 2.2]). Gaussian noise sees
the Euclidean length of the whole change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..accounting.mechanisms import Additive, Promised, Release
from ..errors import InputError
from ..loss import Loss, absolute, exceedance
from ..mechanisms import LARGEST_INTEGER_SENSITIVITY
from ..noise import Gaussian, Noise
from ..noise.discrete import Geometric
from ..noise.lattice import stretched
from ..optimal import solve
from ..privacy import EPSILON, SENSITIVITY, Privacy
from ..problem import NoiseProblem, SolverSettings, noise_problem
from ..search import bisection, geometric
from ..solution import Solution
from .statistics import Total
from .ticks import tick

LAPLACE, GAUSSIAN, OPTIMUM = "laplace", "gaussian", "optimum"
"""Keys of `LAWS`."""

COVERAGE = 0.95
"""Share of cases in which an error is at most the one that is told."""

LATTICE = 64
"""Changes of at most so many whole numbers are solved on the lattice; larger ones as if values were real. At 65 that
costs .03 % of the error at (1, 10⁻⁶) and 1 % at (5, 10⁻⁶)."""

WORST = 2.0
"""Where no release may exclude a neighbour: ε in the worst case, as a multiple of ε."""

SETTINGS = SolverSettings(time_limit=2.0)

SAFE = 1 - 2.0**-40
"""What is shared out is rounded down."""


@dataclass(frozen=True)
class Law:
    """A kind of noise that a line may ask for.

    make : (total, what all its numbers keep together, full support, loss) → the noise of every number.
    needs_delta : it has no law at δ = 0.   takes_delta : it gains by δ > 0.
    """

    key: str
    name: str
    make: Callable[[Total, Privacy, bool, Loss], Noise]
    needs_delta: bool = False
    takes_delta: bool = False


def _geometric(total: Total, privacy: Privacy, full: bool, loss: Loss) -> Noise:
    if total.change > LARGEST_INTEGER_SENSITIVITY:
        fits = f"a step with which one person changes at most {LARGEST_INTEGER_SENSITIVITY} steps, not {total.change}"
        raise InputError("columns.step", float(total.step), fits)
    return stretched(Geometric.calibrate(of_one(total, privacy), total.change, loss), float(total.step))


def _gaussian(total: Total, privacy: Privacy, full: bool, loss: Loss) -> Noise:
    return Gaussian.calibrate(privacy, length(total))


def _optimum(total: Total, privacy: Privacy, full: bool, loss: Loss) -> Noise:
    if not solvable(total):
        fits = (
            f"laplace or gaussian: one person changes a total by {total.sensitivity:g}, for optima {SENSITIVITY.range}"
        )
        raise InputError("noise", OPTIMUM, fits)
    return optimum(total, privacy, full, loss).noise


LAWS: dict[str, Law] = {
    one.key: one
    for one in (
        Law(LAPLACE, "Laplace, in whole steps", _geometric),
        Law(GAUSSIAN, "Gaussian", _gaussian, needs_delta=True, takes_delta=True),
        Law(OPTIMUM, "certified optimum", _optimum, takes_delta=True),
    )
}
"""By the word that asks for them."""


def length(total: Total) -> float:
    """The Euclidean length of what one person changes: all rows in the same cells, rounded up."""
    return total.sensitivity * total.rows * math.sqrt(total.moved) * (1 + 2.0**-50)


def of_one(total: Total, privacy: Privacy) -> Privacy:
    """What the noise of one number has to keep, so that the total keeps `privacy` to a person."""
    rows, moved = total.rows, total.moved
    if rows * moved == 1:
        return privacy
    epsilon, delta = privacy.epsilon / rows * SAFE, privacy.delta
    if rows > 1 and delta:
        delta *= (math.expm1(epsilon) / math.expm1(rows * epsilon) if epsilon else 1 / rows) * SAFE
    return Privacy(epsilon / moved * SAFE, delta / moved * SAFE if delta / moved >= 1e-12 else 0.0)


def problem(total: Total, privacy: Privacy, full: bool, loss: Loss) -> NoiseProblem:
    """The problem whose optimum is the noise of a total's numbers: on the lattice where one person changes few steps.

    full : no release may exclude a neighbour. On the lattice δ is then not used; elsewhere the law keeps WORST·ε in the
        worst case.
    """
    lattice = total.change <= LATTICE
    one, step = of_one(total, privacy), float(total.step)
    if full and lattice:
        one = Privacy(one.epsilon, 0.0)
    second = Privacy(min(WORST * one.epsilon, EPSILON.high), 0.0) if full and one.delta else None
    return noise_problem(
        one.epsilon, one.delta, total.sensitivity, loss, granularity=step if lattice else None, second=second
    )


def solvable(total: Total) -> bool:
    """What one person changes is in the range in which optima are searched for."""
    return SENSITIVITY.low <= total.sensitivity <= SENSITIVITY.high


@lru_cache(maxsize=512)
def optimum(total: Total, privacy: Privacy, full: bool, loss: Loss) -> Solution:
    """The certified optimum for a total."""
    return solve(problem(total, privacy, full, loss), SETTINGS, tick)


@lru_cache(maxsize=2048)
def noise_of(key: str, total: Total, privacy: Privacy, full: bool, loss: Loss | None = None) -> Noise:
    """The noise of every number of a total.

    Raises
    ------
    InputError : the law needs δ, or the numbers are beyond what it accepts.
    """
    law = LAWS[key]
    if law.needs_delta and privacy.delta == 0:
        raise InputError("budget.delta", privacy.delta, f"a positive number, for {law.name} noise")
    return law.make(total, privacy, full, loss or absolute())


def width(noise: Noise, coverage: float = COVERAGE) -> float:
    """The least w for which the noise is within ±w with this probability, up to the rounding of its quantiles."""
    low, high = noise.interval(coverage)
    return max(-low, high)


def release_of(key: str, total: Total, privacy: Privacy, noise: Noise) -> list[Release]:
    """What an accountant has to know of a total's release."""
    if key == GAUSSIAN:
        return [Release(Additive(f"gaussian {length(total):g}", noise, length(total)))]
    if total.rows > 1:
        return [Release(Promised("group", privacy.epsilon, privacy.delta))]
    return [Release(Additive(noise.name, noise, total.sensitivity), total.moved)]


def epsilon_for(key: str, total: Total, delta: float, within: float, full: bool, share: float = 1.0) -> float:
    """The least ε with which a number of the total is within ±`within` at 95 %, to a millionth; of the optimum the end
    of a certified interval that reaches it.

    share : what an error of 1 in the total is in what is published, for messages.

    Raises
    ------
    InputError : no ε that is accepted reaches it.
    """
    if key == OPTIMUM:
        return _optimal_epsilon(total, delta, within, full)

    def reached(epsilon: float) -> bool:
        tick()
        return width(noise_of(key, total, Privacy(epsilon, delta), full)) <= within * (1 + 1e-12)

    low, high = EPSILON.low, EPSILON.high
    if not reached(high):
        least = width(noise_of(key, total, Privacy(high, delta), full)) * share
        raise InputError("within", f"{within * share:g}", f"at least {least:.4g}")
    if reached(low):
        return low
    found: float = bisection(reached, high, low, mean=geometric, near=lambda high, low: high - low < 1e-6 * low)[0]
    return found


def _optimal_epsilon(total: Total, delta: float, within: float, full: bool) -> float:
    from ..inversion import invert

    if total.rows * total.moved > 1:
        fits = "laplace or gaussian, for an error in a table of which one person changes several cells"
        raise InputError("noise", OPTIMUM, fits)
    asked = problem(total, Privacy(1.0, delta), full, exceedance(within))
    return invert(asked, 1 - COVERAGE, settings=SolverSettings(time_limit=10.0), stop=tick).epsilon_upper
