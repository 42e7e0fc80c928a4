"""Joint (ε, δ) of independent noise of different kinds: dominating privacy-loss distributions, composed
pessimistically.

Every part of a mixed mechanism is replaced by a pair of laws that dominates it at every ε′, over all changes within its
box; products of dominating pairs dominate the joint release [ZDW22, Thm. 10]. The convolutions are dp_accounting's,
rounded towards less privacy [DGKKM22]; what its Fourier transforms may lose to floating point is added on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import audit
from ..loss import UNIT
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """One independent part: a pessimistic privacy-loss distribution, whose finite losses span at most `reach`."""

    losses: PrivacyLossDistribution
    reach: float


@dataclass(frozen=True)
class Accountant:
    """Composes parts on one grid of privacy losses.

    step : width of the grid; finer is closer to the truth, any width is safe.
    """

    step: float

    @classmethod
    def for_target(cls, epsilon: float, *, points: int = 4096, reach: float = 0.0) -> Accountant:
        """A grid with so many points between 0 and ε, but not more than half a million within `reach`."""
        return cls(max(epsilon / points, reach / 2**19))

    @cached_property
    def _library(self) -> Any:
        from dp_accounting.pld import privacy_loss_distribution

        return privacy_loss_distribution

    def gaussian(self, mu: float) -> Part:
        """Gaussian noise on any coordinates with Σ λ²/σ² ≤ mu²: together they are one Gaussian coordinate."""
        found = self._library.from_gaussian_mechanism(
            1 / mu, value_discretization_interval=self.step, log_mass_truncation_bound=-50
        )
        return Part(found, 20.0 * mu + mu * mu)  # beyond ten standard deviations lies less than e^−50

    def pure(self, epsilon: float) -> Part:
        """Any ε-DP law: randomized response dominates it."""
        from dp_accounting.pld.common import DifferentialPrivacyParameters

        found = self._library.from_privacy_parameters(
            DifferentialPrivacyParameters(epsilon * (1 + 4 * UNIT), 0.0), value_discretization_interval=self.step
        )
        return Part(found, 2 * epsilon)

    def laplace(self, epsilon: float) -> Part:
        """Laplace noise of scale λ/ε; the largest change is the worst at every ε′ (its density falls from 0)."""
        found = self._library.from_laplace_mechanism(
            1.0, sensitivity=epsilon * (1 + 4 * UNIT), value_discretization_interval=self.step
        )
        return Part(found, 2 * epsilon)

    def staircase(self, epsilon: float, gamma: float) -> Part:
        """A staircase law shifted by its sensitivity: losses ε, 0 and −ε, the first with probability δ(0)/(1 −
        e^−ε)."""
        gain = Staircase(epsilon, 1.0, gamma).shortfall(0.0, 1.0) / -math.expm1(-epsilon) * (1 + 1e-12)
        most = math.exp(epsilon) / (1 + math.exp(epsilon))
        gain = min(gain, most)
        masses = {1: gain, -1: gain * math.exp(-epsilon)}
        masses[0] = max(1 - masses[1] - masses[-1], 0.0)
        upper = {k: math.log(m) for k, m in masses.items() if m > 0}
        lower = {k: value - k * epsilon for k, value in upper.items()}
        found = self._library.from_two_probability_mass_functions(lower, upper, value_discretization_interval=self.step)
        return Part(found, 2 * epsilon)

    def curve(self, noise: PiecewiseNoise) -> Part:
        """A solved law: its dominating curve δ̄(ε′) on the grid, joined by the chords that lie above it."""
        from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap

        top = max(math.ceil(_largest_loss(noise) / self.step), 1)
        losses = np.arange(top + 1) * self.step
        upward = dominating_curve_upper(noise, losses)
        downward = -np.expm1(-losses[:0:-1]) + np.exp(-losses[:0:-1]) * upward[:0:-1]
        deltas = np.clip(np.concatenate([downward, upward]), 0.0, 1.0)
        pmf = create_pmf_pessimistic_connect_dots_fixed_gap(
            self.step, -top, top, np.maximum.accumulate(deltas[::-1])[::-1]
        )
        return Part(self._library.PrivacyLossDistribution(pmf), 2 * top * self.step)

    def delta_upper(self, parts: Iterable[Part], epsilon: float) -> float:
        """δ of the joint release at ε, rounded up.

        Rounding: a convolution by Fourier transforms of length n errs by at most 21·u·log₂ n·‖p‖₂‖q‖₂ in the
        Euclidean norm (three transforms, each below 7·u·log₂ n [Higham, Thm. 24.2]); both norms are at most 1, and an
        error of Euclidean norm x changes δ by at most √n·x. n is below twice the number of grid points within all
        reaches.
        """
        parts = list(parts)
        joint = parts[0].losses
        for part in parts[1:]:
            joint = joint.compose(part.losses)
        length = 2 * (math.fsum(part.reach for part in parts) / self.step + 4 * len(parts))
        slack = (len(parts) - 1) * math.sqrt(length) * 21 * UNIT * math.log2(length)
        return min(float(joint.get_delta_for_epsilon(epsilon)) * (1 + 1e-9) + slack, 1.0)


def dominating_curve_upper(noise: PiecewiseNoise, epsilons: Array) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity of h_φ(ε′), at every ε′ ≥ 0 of an array, rounded up [Thm 1].

    For one shift h is P{L > ε′} − e^ε′ Q{L > ε′} over the cells where p > e^ε′ q: two cumulative sums, so all ε′ cost
    one sort. Rounding: cumulative sums of n terms, below 2n·u of the total mass 1.
    """
    best = np.zeros(len(epsilons))
    growth = np.exp(epsilons) * (1 - 4 * UNIT)
    for shift in audit.candidate_shifts(noise, noise.resolution).tolist():
        for sign in (1,) if noise.is_symmetric else (1, -1):
            here, there, length = _overlap(noise, sign * shift)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(there > 0, here / there, np.inf)
            order = np.argsort(-ratio)
            own = np.concatenate([[0.0], np.cumsum((here * length)[order])])
            other = np.concatenate([[0.0], np.cumsum((there * length)[order])])
            last = np.searchsorted(-ratio[order], -growth, side="left")
            best = np.maximum(best, own[last] - growth * other[last] + 4 * len(order) * UNIT * own[last])
    return np.minimum(best * (1 + 8 * UNIT) + noise.atom_mass * (1 + 4 * UNIT), 1.0)


def _overlap(noise: PiecewiseNoise, shift: int) -> tuple[Array, Array, Array]:
    """(density, density shifted, length) on the parts where the density is positive."""
    breaks, other = noise.breaks, noise.breaks + shift
    points = np.unique(np.concatenate([breaks, other]))
    density = np.concatenate([[0.0], noise.masses / np.diff(breaks), [0.0]])
    here = density[np.searchsorted(breaks, points[:-1], side="right")]
    there = density[np.searchsorted(other, points[:-1], side="right")]
    length = np.diff(points).astype(float)
    used = here > 0
    return here[used], there[used], length[used]


def _largest_loss(noise: PiecewiseNoise) -> float:
    """A finite ε′ beyond which the curve is (almost) flat: all that is left counts as infinite loss."""
    density = noise.masses / np.diff(noise.breaks)
    positive = density[density > 1e-12 * density.max()]
    return min(math.log(positive.max() / positive.min()) + 0.1, 40.0)
