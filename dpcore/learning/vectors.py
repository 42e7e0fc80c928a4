"""One vector in place of the numbers of an iteration: all partial derivatives at one point, with isotropic noise.

Coordinate descent releases K numbers, one after the other; each may change by 2. All d partial derivatives at one point
are a vector that a replaced person changes by at most 2√d in length, for features in [−1, 1]. If each of the K numbers
is (ε, δ)-DP, an iteration is (Kε, 1 − (1 − δ)^K)-DP and known to be no better: that is what the vector is given. The
step is divided by K, as the largest curvature grows like d/4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..accounting.loss_grids import lower_hull
from ..accounting.mechanisms import Additive, Composable, Release
from ..accounting.truth import Truth
from ..noise.gaussian import Gaussian
from ..noise.solved import pair_of
from ..pair import FinitePair
from ..privacy import Privacy
from ..problem import SolverSettings
from ..vector.descent import logistic_residual, soft_threshold
from .descent import SENSITIVITY, Descent, features, width
from .experiment import Outcome, Protocol, Stop, descents, over_splits
from .noises import NOBODY, POINTS, StoppedError, Watch
from .tables import Array, LearningTable

if TYPE_CHECKING:
    from ..isotropic.law import RadialNoise

NAMES = {"vector-gaussian": "one vector, Gaussian", "vector-isotropic": "one vector, best isotropic noise"}

SETTINGS = SolverSettings(gap=0.02, time_limit=10.0)

NEAR, BEYOND = 65, 32
"""Values of ε up to twice the one that a law was made for, which is the middle one, and beyond, at which it is
audited."""

FAR = 16.0
"""The last one, as a multiple."""

RAISED = 1e-14
"""More than what sums of probabilities round."""


@dataclass(frozen=True)
class Vectors:
    """What is learnt: each of the K numbers of an iteration would have this privacy, and the vector has it together."""

    privacy: Privacy
    descent: Descent = field(default_factory=Descent)

    def each(self, d: int) -> Privacy:
        """What one vector of d partial derivatives keeps."""
        K = self.descent.updates(d)
        return Privacy(K * self.privacy.epsilon, -math.expm1(K * math.log1p(-self.privacy.delta)))

    def added(self, d: int) -> float:
        """The sum of the ε of all numbers, and of all vectors."""
        return self.descent.releases(d) * self.privacy.epsilon


@dataclass(frozen=True, eq=False)
class Radial(Composable):
    """Isotropic noise on a vector that changes by at most the law's sensitivity.

    made_for : the ε about which it is audited.
    """

    noise: RadialNoise
    made_for: float
    look: Callable[[], object] = field(default=lambda: None)
    spec: str = "isotropic"

    @cached_property
    def pair(self) -> FinitePair:
        """A dominating pair: δ(ε) is convex in e^ε, so that chords between audited values lie above it, and the last
        one is of loss ∞. The law is symmetric, and so are both directions."""
        from ..isotropic.audit import delta_upper

        near = np.linspace(0.0, 2 * self.made_for, NEAR)
        epsilons = np.concatenate([near, np.geomspace(near[-1], FAR * self.made_for, BEYOND + 1)[1:]])
        found = [delta_upper(self.noise, one, look=self.look) + RAISED for one in epsilons.tolist()]
        growth, deltas = lower_hull(np.column_stack([np.exp(epsilons), found])).T
        fall = deltas[:-1] - deltas[1:] > 0  # from the last one that is less than the one before
        last = int(np.flatnonzero(fall)[-1]) + 1 if fall.any() else 0
        growth, deltas = growth[: last + 1], deltas[: last + 1]
        places = ((deltas[:-1] - deltas[1:]) / (growth[1:] - growth[:-1]))[::-1]  # Q where two lines δ + e^ε Q meet
        lines = zip(deltas[1:][::-1], growth[1:][::-1], places)
        corners = [(0.0, float(deltas[-1])), *((q, delta + grown * q) for delta, grown, q in lines)]
        return pair_of(np.array(corners))

    @property
    def guarantee(self) -> None:
        return None


@lru_cache(maxsize=64)
def law(key: str, privacy: Privacy, d: int, watch: Watch = NOBODY) -> Gaussian | RadialNoise:
    """The law of a key of `NAMES`, for a vector of d numbers and sensitivity 1 in length.

    Raises
    ------
    StoppedError : `watch` said so.
    """
    if key == "vector-gaussian":
        return Gaussian.calibrate(privacy, 1.0)
    from ..isotropic.problem import IsotropicProblem, RadialLoss
    from ..isotropic.search import solve

    return solve(IsotropicProblem(d, privacy, RadialLoss(2.0)), SETTINGS, watch.look).noise


def deviation(noise: Gaussian | RadialNoise, d: int) -> float:
    """√(E|X|²/d): the deviation of each number."""
    if isinstance(noise, Gaussian):
        return noise.sigma
    from ..isotropic.audit import loss_upper
    from ..isotropic.problem import RadialLoss

    return math.sqrt(loss_upper(noise, RadialLoss(2.0)) / d)


def total(
    noise: Gaussian | RadialNoise, privacy: Privacy, times: int, epsilon: float, delta: float, watch: Watch = NOBODY
) -> tuple[float, float]:
    """(δ at ε, ε at δ) of so many vectors together, one after the other, rounded up; privacy : of each."""
    if isinstance(noise, Gaussian):
        one: Composable = Additive("gaussian", noise, 1.0)
    else:
        one = Radial(noise, privacy.epsilon, watch.look)
    watch.look()
    truth = Truth([Release(one, times)], points=POINTS, delta=max(min(delta, 1e-9), 1e-12))
    watch.look()
    return truth.delta(epsilon).upper, truth.epsilon_upper(delta)


def kept(key: str, asked: Vectors, d: int, delta: float, watch: Watch = NOBODY) -> tuple[float, float, float]:
    """(deviation of each number, δ at the sum of all numbers' ε, ε at δ) of all iterations with a law of `NAMES`.

    Raises
    ------
    StoppedError : `watch` said so.
    """
    each = asked.each(d)
    noise = law(key, each, d, watch)
    together = total(noise, each, asked.descent.iterations, asked.added(d), delta, watch)
    return SENSITIVITY * math.sqrt(d) * deviation(noise, d), *together


def simulate(
    table: LearningTable, asked: Vectors, key: str, protocol: Protocol, stop: Stop = lambda: False
) -> Outcome | None:
    """The errors with one law, or with no noise; as `experiment.simulate`."""
    d = width(table.columns)
    try:
        noise = law(key, asked.each(d), d, Watch(stop)) if key in NAMES else None
    except StoppedError:
        return None
    size, X = SENSITIVITY * math.sqrt(d), features(table)
    draws = 1 if noise is None else protocol.draws

    def one(order: Array, cut: int, rng: np.random.Generator) -> tuple[float, float] | None:
        release = None if noise is None else lambda sums: sums + size * _drawn(noise, rng, sums.shape)
        return descents(
            table, X, order, cut, draws,
            lambda rows, y, path, many: descend(rows, y, asked.descent, path, release, draws=many, stop=stop),
        )  # fmt: skip

    return over_splits(key, len(table.labels), protocol, one)


def descend(
    X: Array,
    y: Array,
    asked: Descent,
    path: np.random.Generator,
    release: Callable[[Array], Array] | None = None,
    *,
    draws: int = 1,
    stop: Stop = lambda: False,
) -> Array | None:
    """The coefficients after the last iteration, (draws, d); None where `stop` said so. As `descent.descend`, with all
    coordinates moved at once; release : (draws, d) → the same with noise."""
    n, d = X.shape
    step = 1 / asked.updates(d)
    h = np.repeat(path.uniform(-1, 1, (1, d)), draws, axis=0)
    signed, ones = X * y[:, None], np.ones(n)
    for _ in range(asked.iterations):
        if stop():
            return None
        slope = logistic_residual(h @ signed.T, ones) @ signed
        if release is not None:
            slope = release(slope)
        h = soft_threshold(h - step * slope / n, step * asked.regularisation)
    return h


def _drawn(noise: Gaussian | RadialNoise, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Floating-point draws, for simulation."""
    if isinstance(noise, Gaussian):
        return noise.sigma * rng.standard_normal(shape)
    return noise.draws(shape[0], rng)
