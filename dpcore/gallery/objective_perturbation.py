"""Private logistic regression: a random linear term in the objective, or noise on the minimiser.

Rows are (x, y) with ‖x‖₂ ≤ 1 (longer ones are scaled down) and y = ±1; the loss is ln(1 + e^(−y xᵀθ)). Its gradient is
shorter than 1, so that two rows' gradients differ by less than Δ = 2; its Hessian has rank one and no eigenvalue above
λ = ¼. Neighbours differ in one row; n is public.

* Objective perturbation [Awan, Thm. 6.1; Chaudhuri, Monteleoni and Sarwate, 2011, Alg. 2; Kifer, Smith and Thakurta,
  2012]: θ̃ minimises Σ loss + (γ/2)‖θ‖² + Vᵀθ, where V has density ∝ exp(−(ε_V/Δ)‖v‖₂). Since V is a smooth function
  of θ̃, the density of θ̃ is that of V times a determinant: the first factor changes by at most e^ε_V between neighbours,
  the second by at most 1 + λ/γ. So ε = ε_V + ln(1 + λ/γ).
* Output perturbation [ibid., Alg. 1]: θ̂ minimises Σ loss + (γ/2)‖θ‖² and moves by at most 2/γ between neighbours
  (γ-strong convexity); noise of density ∝ exp(−(εγ/2)‖v‖₂) is added.

The guarantees are those of exact minimisers and real-valued noise; Newton's method below stops at rounding. For
looking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._validate import above, in_range
from ..errors import InputError
from ..privacy import EPSILON_RANGE

Array = NDArray[np.float64]

GRADIENT_CHANGE = 2.0
"""Δ: gradients of two rows' losses differ by less than this, in ℓ2."""

CURVATURE = 0.25
"""λ: no eigenvalue of one row's Hessian is larger."""


@dataclass(frozen=True)
class Split:
    """How ε is spent: noise (ε_V) and curvature (ln(1 + λ/γ)); ridge is γ, for the sum of n losses."""

    noise: float
    curvature: float
    ridge: float

    @property
    def epsilon(self) -> float:
        return self.noise + self.curvature


def split(epsilon: float, *, share: float = 0.5, ridge: float = 0.0) -> Split:
    """The split of ε: `share` (q) for the noise at least, and a ridge γ of at least `ridge`.

    γ = λ/(e^((1 − q)ε) − 1) [Awan, §6.1]. A larger ridge that is wanted anyway needs less of ε, and what it does not
    need goes to the noise [Chaudhuri, Monteleoni and Sarwate, 2011].
    """
    epsilon, share = in_range(*EPSILON_RANGE, epsilon=epsilon), in_range(0.01, 0.99, share=share)
    least = CURVATURE / math.expm1((1 - share) * epsilon)
    ridge = max(least, in_range(0, 1e9, ridge=ridge))
    curvature = math.log1p(CURVATURE / ridge)
    return Split(epsilon - curvature, curvature, ridge)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows fit for the guarantees. features : (n, d) with ‖x‖₂ ≤ 1.   labels : (n,) of ±1."""

    features: Array
    labels: Array

    @classmethod
    def clipped(cls, features: ArrayLike, labels: ArrayLike) -> Table:
        """Rows longer than 1 are scaled to length 1.

        Raises
        ------
        InputError : shapes that do not match, numbers that are not finite, labels other than ±1.
        """
        x, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
        if x.ndim != 2 or y.shape != x.shape[:1] or 0 in x.shape or not np.isfinite(x).all():
            raise InputError("features", f"{x.shape} values", "one row of finite numbers per label, at least one")
        if not np.isin(y, (-1, 1)).all():
            raise InputError("labels", "other values", "−1 or 1 for every row")
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return cls(x / np.maximum(length, 1.0) * np.where(length > 1, 1 - 1e-15, 1.0), y)

    @property
    def signed(self) -> Array:
        """y·x, (n, d): all that the loss depends on."""
        return self.labels[:, None] * self.features


def draw_direction(rate: ArrayLike, dimension: int, rng: np.random.Generator) -> Array:
    """Vectors with density ∝ exp(−rate·‖v‖₂), one per entry of rate: a uniform direction times a Gamma(d) length."""
    rate = np.atleast_1d(np.asarray(rate, dtype=float))
    normal = rng.standard_normal((len(rate), dimension))
    length = rng.standard_gamma(dimension, len(rate)) / rate
    vectors: Array = normal / np.linalg.norm(normal, axis=1, keepdims=True) * length[:, None]
    return vectors


def minimise(table: Table, ridge: ArrayLike, linear: ArrayLike, *, start: ArrayLike = 0.0, steps: int = 60) -> Array:
    """argmin Σ ln(1 + e^(−y xᵀθ)) + (γ/2)‖θ‖² + vᵀθ for many (γ, v) at once: (B, d).

    ridge : (B,) positive.   linear : (B, d).   start : where all begin, (d,). Damped Newton steps; the objective is
    strictly convex, and a step is halved while it does not fall.
    """
    ridge, linear = np.asarray(ridge, dtype=float), np.asarray(linear, dtype=float)
    if not (ridge > 0).all():
        raise InputError("ridge", float(ridge.min()), "a positive number")
    signed = table.signed
    dimension = signed.shape[1]
    pairs = (signed[:, :, None] * signed[:, None, :]).reshape(len(signed), -1)
    theta: Array = np.zeros_like(linear) + np.asarray(start, dtype=float)
    live = np.arange(len(linear))
    value = _objective(signed, theta, ridge, linear)
    for _ in range(steps):
        here, g, v = theta[live], ridge[live, None], linear[live]
        margin = here @ signed.T
        slope = special.expit(-margin)
        gradient = -slope @ signed + g * here + v
        hessian = ((slope * (1 - slope)) @ pairs).reshape(-1, dimension, dimension) + g[:, :, None] * np.eye(dimension)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        descent = (gradient * step).sum(axis=1)
        size, value[live] = _halved(signed, here, step, descent, value[live], g[:, 0], v)
        theta[live] = here - size[:, None] * step
        live = live[descent > 1e-18 * (1 + g[:, 0] * (here**2).sum(axis=1))]
        if not len(live):
            break
    return theta


def _halved(
    signed: Array, theta: Array, step: Array, descent: Array, value: Array, ridge: Array, linear: Array
) -> tuple[Array, Array]:
    """Step sizes 1, ½, ¼, … at which the objective falls by a quarter of what the gradient promises, and its values
    there."""
    size, reached = np.ones(len(theta)), value.copy()
    todo = np.arange(len(theta))
    for _ in range(40):
        reached[todo] = _objective(signed, theta[todo] - size[todo, None] * step[todo], ridge[todo], linear[todo])
        allowed = value[todo] - 0.25 * size[todo] * descent[todo] + 1e-12 * (1 + np.abs(value[todo]))
        todo = todo[reached[todo] > allowed]
        if not len(todo):
            break
        size[todo] *= 0.5
    return size, reached


def _objective(signed: Array, theta: Array, ridge: Array, linear: Array) -> Array:
    margin = theta @ signed.T
    losses = (np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0)).sum(axis=1)  # logaddexp takes twice as long
    total: Array = losses + 0.5 * ridge * (theta**2).sum(axis=1) + (linear * theta).sum(axis=1)
    return total


def perturbed_objective(
    table: Table, spent: ArrayLike, ridge: ArrayLike, rng: np.random.Generator, *, start: ArrayLike = 0.0
) -> Array:
    """Draws of θ̃, (B, d), at noise budgets ε_V and ridges γ, one of each per draw (see `split`); `start` as in
    `minimise`."""
    noise = draw_direction(np.asarray(spent, dtype=float) / GRADIENT_CHANGE, table.features.shape[1], rng)
    return minimise(table, ridge, noise, start=start)


def perturbed_output(table: Table, epsilon: ArrayLike, ridge: float, rng: np.random.Generator) -> Array:
    """Draws of θ̂ + noise, (B, d), one per ε, at one ridge γ."""
    ridge = above(0, 1e9, ridge=ridge)
    best = minimise(table, [ridge], np.zeros((1, table.features.shape[1])))
    return best + draw_direction(np.asarray(epsilon, dtype=float) * ridge / 2, table.features.shape[1], rng)


def hidden_noise(table: Table, theta: ArrayLike, ridge: float) -> tuple[Array, Array]:
    """(V, ln |det dV/dθ|) for which θ is the perturbed minimiser: V = Σ y x/(1 + e^(y xᵀθ)) − γθ. theta : (B, d)."""
    theta, signed = np.atleast_2d(np.asarray(theta, dtype=float)), table.signed
    slope = special.expit(-theta @ signed.T)
    hessian = np.einsum("bn,ni,nj->bij", slope * (1 - slope), signed, signed) + ridge * np.eye(signed.shape[1])
    return slope @ signed - ridge * theta, np.linalg.slogdet(hessian)[1]


def privacy_loss(one: Table, other: Table, theta: ArrayLike, spent: Split) -> tuple[Array, Array]:
    """ln of the ratio of the densities of θ̃ under two tables, in its two parts: (noise, curvature), each (B,).

    Exact: ε_V/Δ·(‖V′‖ − ‖V‖) and ln det H − ln det H′.
    """
    v, determinant = hidden_noise(one, theta, spent.ridge)
    w, other_determinant = hidden_noise(other, theta, spent.ridge)
    distance = np.linalg.norm(w, axis=1) - np.linalg.norm(v, axis=1)
    return spent.noise / GRADIENT_CHANGE * distance, determinant - other_determinant


def accuracy(table: Table, theta: Array) -> Array:
    """Share of rows that each θ puts on the right side, (B,); a row on the line counts half."""
    margin = theta @ table.signed.T
    shares: Array = (margin > 0).mean(axis=1) + 0.5 * (margin == 0).mean(axis=1)
    return shares


def example(people: int, rng: np.random.Generator, *, steepness: float = 6.0, turn: float = 0.6) -> Table:
    """A table to show: x uniform on the unit disc, y drawn by a logistic model with a slanted line through 0."""
    angle = rng.uniform(0, 2 * math.pi, people)
    x = np.sqrt(rng.random(people))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    truth = steepness * np.array([math.cos(turn), math.sin(turn)])
    y = np.where(rng.random(people) < special.expit(x @ truth), 1.0, -1.0)
    return Table.clipped(x, y)


@dataclass(frozen=True)
class Parts:
    """What separates θ̃ from the minimiser θ̂ without ridge and noise, root mean squares.

    bias : ‖θ# − θ̂‖, θ# the minimiser with the ridge alone: exact to Newton's rounding.
    noise : √E‖θ̃ − θ#‖² to first order in V.
    """

    bias: float
    noise: float

    @property
    def total(self) -> float:
        """√(bias² + noise²): to first order the noise has mean 0."""
        return math.hypot(self.bias, self.noise)


UNRIDGED = 1e-6
"""Ridge of what stands for no ridge: a unique minimiser, moved by less than 1e-5 where the data are not separable."""


def parts(table: Table, epsilon: float, *, ridges: Sequence[float], share: float = 0.5) -> list[Parts]:
    """Bias and noise of objective perturbation at ridges of at least so much each [Awan, §6.2].

    θ̃ − θ# ≈ −H⁻¹V with H the Hessian at θ#, and V, of length Gamma(d, Δ/ε_V) in a uniform direction, has covariance
    (d + 1)(Δ/ε_V)² I: so E‖θ̃ − θ#‖² ≈ (d + 1)(Δ/ε_V)² tr H⁻².
    """
    spent = [split(epsilon, share=share, ridge=ridge) for ridge in ridges]
    dimension = table.features.shape[1]
    found = minimise(table, [UNRIDGED, *(one.ridge for one in spent)], np.zeros((len(spent) + 1, dimension)))
    plain, signed, out = found[0], table.signed, []
    for one, ridged in zip(spent, found[1:]):
        slope = special.expit(-np.einsum("ij,j->i", signed, ridged))
        hessian = np.einsum("n,ni,nj->ij", slope * (1 - slope), signed, signed) + one.ridge * np.eye(dimension)
        inverse = np.linalg.inv(hessian)
        noise = GRADIENT_CHANGE / one.noise * math.sqrt((dimension + 1) * float((inverse * inverse).sum()))
        out.append(Parts(float(np.linalg.norm(ridged - plain)), noise))
    return out
