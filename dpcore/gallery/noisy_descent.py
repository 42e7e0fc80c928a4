"""Private training of a logistic model: clipped gradients of Poisson samples, summed, with Gaussian noise (DP-SGD).

Rows (x, y) have y = ±1, the loss is ln(1 + e^(−y xᵀθ)). A step takes every person by itself with probability q, clips
each gradient to length C, adds N(0, σ²C² I) to their sum, divides by qn, the size that a sample has on average, and
walks [Abadi et al. 2016, Alg. 1; Awan, Alg. 7]. Neighbours have one person more or less, so the sum moves by at most C
and the whole is what `accounting.dpsgd.Training(q, σ, steps)` composes, every step seen by the adversary. (Algorithm 7
has samples of fixed size and rows replaced, where the sum moves by 2C: another account.) n in qn is a constant of the
program, not counted from the data. Floating-point noise: for looking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .._validate import above, in_range, whole
from ..errors import InputError

Array = NDArray[np.float64]

SLOPE_OF_STEPS = 0.5
"""The step size falls from its first value to 0 like (1 − t/T) to this power."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to learn from and fresh ones to be judged by. features : (n, d).   labels : (n,) of ±1.   best : the θ that
    the labels were drawn by.
    """

    features: Array
    labels: Array
    fresh: Array
    fresh_labels: Array
    best: Array

    @property
    def signed(self) -> Array:
        """y·x, (n, d): all that the loss depends on."""
        return self.labels[:, None] * self.features

    def accuracy(self, theta: Array) -> Array:
        """Share of fresh rows that each θ puts on the right side, (R,) for θ (R, d)."""
        shares: Array = (theta @ (self.fresh_labels[:, None] * self.fresh).T > 0).mean(axis=1)
        return shares


def simulated(
    people: int, dimension: int, rng: np.random.Generator, *, steepness: float = 4.0, fresh: int = 4000
) -> Task:
    """A logistic model with equally strong features, x ~ N(0, I/d): a row is about 1 long."""
    people, dimension = whole(1, 10**6, people=people), whole(1, 1000, dimension=dimension)
    x = rng.standard_normal((people + fresh, dimension)) / math.sqrt(dimension)
    best = steepness * rng.choice((-1.0, 1.0), dimension)
    y = np.where(rng.random(len(x)) < special.expit(x @ best), 1.0, -1.0)
    return Task(x[:people], y[:people], x[people:], y[people:], best)


@dataclass(frozen=True)
class Plan:
    """rate : probability q of a person to be in a sample.   noise : σ, in clipping norms; 0 is no privacy.
    clip : C; ∞ clips nothing.   steps : T.
    pace : first step size, for gradients in units of C: how far sums shrink that are clipped, steps do not.
    """

    rate: float
    noise: float
    clip: float
    steps: int
    pace: float = 2.0

    def __post_init__(self) -> None:
        in_range(1e-6, 1.0, rate=self.rate)
        in_range(0.0, 1e6, noise=self.noise)
        above(0, math.inf, clip=self.clip) if math.isfinite(self.clip) else None
        whole(1, 10**6, steps=self.steps)
        above(0, 1e3, pace=self.pace)
        if self.noise > 0 and math.isinf(self.clip):
            raise InputError("clip", self.clip, "a finite norm: what is not clipped cannot be covered by noise")

    @property
    def unit(self) -> float:
        """The length of gradients that noise is counted in: what they are clipped to, 1 where they are not."""
        return self.clip if math.isfinite(self.clip) else 1.0

    def deviation(self, people: int) -> float:
        """Standard deviation σC/(qn) of the noise in every coordinate of a step's mean gradient."""
        return self.noise * self.unit / (self.rate * people)


def clipped_sum(signed: Array, theta: Array, clip: float) -> Array:
    """Σ of the gradients of rows, each at most `clip` long, (d,).

    signed : y·x of the rows, (m, d).   theta : (d,).

    The gradient of a row is −s·yx with s = 1/(1 + e^(y xᵀθ)), so its length is s‖x‖. Sums are made by einsum: threads
    that a matrix library starts for products as small as these cost more than they save.
    """
    slope = special.expit(-np.einsum("ij,j->i", signed, theta))
    if math.isfinite(clip):
        slope = np.minimum(slope, clip / np.maximum(np.sqrt(np.einsum("ij,ij->i", signed, signed)), 1e-300))
    total: Array = -np.einsum("i,ij->j", slope, signed)
    return total


def descend(task: Task, plan: Plan, runs: int, rng: np.random.Generator) -> Iterator[tuple[int, Array]]:
    """(steps so far, θ of every run (R, d)), step by step, from (0, 0) on; the runs differ in samples and noise."""
    signed = task.signed
    people, dimension = signed.shape
    theta = np.zeros((runs, dimension))
    yield 0, theta
    for step in range(plan.steps):
        taken = rng.random((runs, people)) < plan.rate
        total = np.stack([clipped_sum(signed[rows], one, plan.clip) for rows, one in zip(taken, theta)])
        if plan.noise > 0:
            total += plan.noise * plan.unit * rng.standard_normal(theta.shape)
        pace = plan.pace * (1 - step / plan.steps) ** SLOPE_OF_STEPS
        theta = theta - pace / (plan.unit * plan.rate * people) * total
        yield step + 1, theta
