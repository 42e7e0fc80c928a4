"""Noise that depends on the largest relative coordinate alone: the K-norm law of a box, its staircase, and the planar
staircase.

A block of m coordinates gets a law of density proportional to e^(−ε·level(ρ)), ρ = max_i |t_i|/λ_i. A change of the
answer moves ρ by at most 1, so level(ρ) = ρ (the K-norm mechanism of the box [HT10]) and level = the steps of
the staircase law both give ε-DP (docs/vector.md, "Blocks"). m = 1 is Laplace and staircase noise.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..noise.moments import geometric_sum
from ..noise.staircase import amplitude_gamma
from ..search import least_argument_vectorised

Array = NDArray[np.float64]

STEPS_FROM = 0.01
"""Below this ε steps gain less than ε²/24 < 5e-6 of the error: the smooth law is used."""

LEAST_BUDGET = 1e-30
"""No block gets less: smaller numbers would leave the range of floats when raised to the power p."""

LARGEST_POWER = 5
"""The staircase's moments are sums of k^(m + p); their evaluation is tested up to this power."""


def steps_exist(size: int, power: float) -> bool:
    """Staircase laws are offered for blocks of this size under the loss |t|^power."""
    return size + power <= LARGEST_POWER


def face_factor(size: int, power: float) -> float:
    """E|t_i/λ_i|^p = E ρ^p·(m + p)/(m(p + 1)): on the surface of a cube |t_i|/λ_i is ρ with probability 1/m, else
    uniform on [0, ρ]."""
    return (size + power) / (size * (power + 1))


def smooth_cost(size: int, power: float) -> float:
    """ε^p·E|t_i/λ_i|^p of the K-norm law, Γ(m + p + 1)/(Γ(m + 1)(p + 1)): ρ has the Gamma(m, 1/ε) law.

    The ratio is Pochhammer's symbol: logarithms of both would lose nine digits for a million coordinates."""
    return float(special.poch(size + 1.0, power)) / (power + 1)


def radial_moment(size: int, power: float, epsilon: float, gamma: Array) -> Array:
    """E ρ^p of the staircase law, elementwise over its γ: J(m − 1 + p)/J(m − 1) with
    J(q) = ∫ v^q e^(−ε·level(v)) dv = (1 − e^−ε)/(q + 1)·Σ_k e^(−εk) (k + γ)^(q+1) (sum by parts)."""
    top = geometric_sum(size + power, epsilon, gamma) / (size + power)
    return top / (geometric_sum(float(size), epsilon, gamma) / size)


@lru_cache(maxsize=4096)
def staircase_unit(size: int, power: float, epsilon: float) -> tuple[float, float]:
    """(E|t_i/λ_i|^p, γ) of the best staircase law of a block."""
    if size == 1 and power == 1:
        gamma = amplitude_gamma(epsilon)
    else:

        def logistic(x: Array) -> Array:
            share: Array = 1 / (1 + np.exp(-x))
            return share

        def moment(x: Array) -> Array:
            return radial_moment(size, power, epsilon, logistic(x))

        gamma = float(logistic(np.asarray(least_argument_vectorised(moment, np.linspace(-epsilon - 6.0, 8.0, 41)))))
    return face_factor(size, power) * float(radial_moment(size, power, epsilon, np.array(gamma))), gamma


def planar_staircase(power: float, epsilon: float) -> tuple[float, float]:
    """(E|X_i|^p, γ) for ℓ1-sensitivity 1 of the two-dimensional staircase law [GKOV15], density
    e^(−ε·level(‖x‖₁)): ‖x‖₁ has the radial law of m = 2, and |X_i|/‖x‖₁ is uniform on [0, 1]."""
    value, gamma = staircase_unit(2, power, epsilon)
    return value / face_factor(2, power) / (power + 1), gamma


@lru_cache(maxsize=64)
def _curve(size: int, power: float) -> tuple[Array, Array, Array]:
    """(ln ε, ln V, ln(−V′)) of V(ε) = `staircase_unit` on [STEPS_FROM, 40]; the slope from a cubic spline."""
    from scipy.interpolate import CubicSpline

    x = np.linspace(math.log(STEPS_FROM), math.log(40.0), 65)
    y = np.array([math.log(staircase_unit(size, power, math.exp(t))[0]) for t in x])
    spline = CubicSpline(x, y)
    fine = np.linspace(x[0], x[-1], 601)
    values, slopes = spline(fine), -spline(fine, 1)
    return fine, values, np.log(slopes) + values - fine


class Cost:
    """Cost a·V(ε) of every block of a list, and the budget at which its marginal gain is θ.

    sizes, coefficients : (B,) m and a = Σ w_i λ_i^p of each block.   steps : (B,) the block may have a staircase law.
    """

    def __init__(self, sizes: Array, coefficients: Array, power: float, *, staircase: bool = True) -> None:
        self.power, self.sizes, self.coefficients = power, sizes, coefficients
        self.smooth = np.array([smooth_cost(int(m), power) for m in np.unique(sizes)])[
            np.unique(sizes, return_inverse=True)[1]
        ]
        self.steps = np.array([staircase and steps_exist(int(m), power) for m in np.unique(sizes)], dtype=bool)[
            np.unique(sizes, return_inverse=True)[1]
        ]

    def budgets(self, price: float) -> Array:
        """The ε of each block that minimises a·V(ε) + price·ε."""
        p = self.power
        out = np.maximum((p * self.smooth * (self.coefficients / price)) ** (1 / (p + 1)), LEAST_BUDGET)
        for size in np.unique(self.sizes[self.steps]):
            rows = np.flatnonzero(self.steps & (self.sizes == size) & (out > STEPS_FROM / 2))
            x, _, slope = _curve(int(size), p)
            wanted = np.log(price / self.coefficients[rows])
            found = np.exp(np.interp(-wanted, -np.maximum.accumulate(slope[::-1])[::-1], x))
            out[rows] = np.where(wanted > slope[0], out[rows], found)
        return out

    def values(self, budgets: Array) -> Array:
        """a·V(ε) of each block, exact up to rounding for the law it gets."""
        out: Array = self.coefficients * self.smooth / budgets**self.power
        for i in self.stepped(budgets):
            out[i] = self.coefficients[i] * staircase_unit(int(self.sizes[i]), self.power, float(budgets[i]))[0]
        return out

    def stepped(self, budgets: Array) -> NDArray[np.int64]:
        """The blocks that get a staircase law."""
        return np.flatnonzero(self.steps & (budgets >= STEPS_FROM))


def split(cost: Cost, epsilon: float) -> Array:
    """Budgets with Σ ε_b ≤ ε that minimise Σ a_b V_b(ε_b): one price for all, found by Brent's method [MK, §IV-B].

    The sum is rounded so that it is at most ε in exact arithmetic.
    """
    from scipy.optimize import brentq

    p = cost.power

    def spent(log_price: float) -> float:
        return math.log(float(cost.budgets(math.exp(log_price)).sum()) / epsilon)

    guess = math.log(p) + (p + 1) * math.log(math.fsum((cost.smooth * cost.coefficients) ** (1 / (p + 1))) / epsilon)
    low, high = guess, guess
    while spent(low) < 0:
        low -= 2.0
    while spent(high) > 0:
        high += 2.0
    price = brentq(spent, low, high, xtol=1e-12) if low < high else low
    budgets = cost.budgets(math.exp(price))
    return budgets * (epsilon / math.fsum(budgets) * (1 - 2**-50))
