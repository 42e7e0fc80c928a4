"""What every noise law offers: a few primitives, the rest derived once for all."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..loss import Loss
from ..search import bisection, nudged_up

if TYPE_CHECKING:
    from ..pair import Pair
    from ..script import LawScript

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-16
"""Cells of an unbounded law are listed until less than this probability is left."""

ROUNDING = 1e-12
"""More than probabilities of closed forms and of solved laws err by."""


class Noise(ABC):
    """A probability law on the line: a density and possibly a few atoms.

    Subclasses give `density`, `cdf`, `quantile`, `partial_moment` and the attributes below. Closed forms have their own
    δ(ε), `shortfall`, and may have their own `loss_upper`; everybody else asks `audit`.

    Attributes
    ----------
    name : str
        Name for people, "Laplace".
    parameters : dict[str, float]
        What distinguishes this law within its family, JSON-ready.
    atoms : tuple[(location, mass), ...]
        Points of positive probability (empty for laws with a density).
    is_flat : bool
        The density has one height, and there is no atom.
    falls_away : bool
        Of closed forms: the density is known to fall away from the location on both sides.
    support : (float, float)
        Smallest closed interval of probability 1.
    cell_count : int
        Of laws that are a probability for each of finitely many cells or points: how many; 0 for all others.
    """

    name: str
    atoms: tuple[tuple[float, float], ...] = ()
    is_flat = False
    falls_away = True

    @property
    def cell_count(self) -> int:
        return 0

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]: ...

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]: ...

    @abstractmethod
    def density(self, x: ArrayLike) -> Array:
        """Density of the continuous part at x."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(X ≤ x), atoms included."""

    def beyond(self, x: ArrayLike) -> Array:
        """P(X > x); of symmetric laws nothing is lost in the upper tail."""
        return 1 - self.cdf(x)

    @abstractmethod
    def quantile(self, u: ArrayLike) -> Array:
        """inf {x : P(X ≤ x) ≥ u}, 0 < u < 1."""

    @abstractmethod
    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        """∫_lo^hi |x|^power density(x) dx, exact up to rounding; atoms excluded; ends may be infinite.

        `power` ≥ 0; the interval does not straddle 0.
        """

    def expected_loss(self, loss: Loss) -> float:
        """E c(X), exact up to rounding (infinite if it diverges)."""
        parts = [mass * float(loss.value(x)) for x, mass in self.atoms]
        for piece in loss.pieces:
            if piece.at_zero:
                parts.append(piece.at_zero * self.partial_moment(0.0, piece.lo, piece.hi))
            if piece.coefficient:
                parts.append(piece.coefficient * self.partial_moment(piece.power, piece.lo, piece.hi))
        return math.fsum(parts)

    @property
    def ends(self) -> tuple[Fraction | float, Fraction | float]:
        """`support`, exactly."""
        return self.support

    @property
    def centre(self) -> Fraction | float:
        """The place about which the law is its own mirror image, exactly; NaN if there is none."""
        return math.nan

    @property
    def cells_around_zero(self) -> tuple[Fraction, Sequence[int], list[int]] | None:
        """(the place of 0, ends of cells, their weights) in whole units; None for closed forms, and for laws with an
        atom elsewhere than at 0."""
        return None

    @property
    def lattice_step(self) -> float | None:
        """The number of which all values are multiples, of laws on a lattice."""
        return None

    def pair(self, shift: float) -> Pair:
        """The laws of X (P) and of X + shift (Q), shift > 0; on a lattice the largest whole number of steps in it."""
        raise InputError("noise", type(self).__name__, "a law whose neighbours are known")

    def dominating_pair(self, sensitivity: float) -> Pair:
        """The tight pair of all shifts up to the sensitivity: of a closed form that of the largest one."""
        return self.pair(sensitivity)

    def attack_shift(self, sensitivity: float) -> float | None:
        """A shift whose pair is near the tight one, which is none of a single shift; None where the tight one is."""
        return None

    def privacy_loss(self, outputs: ArrayLike, shift: float) -> Array:
        """L(y) = ln p(y)/p(y − shift), points of positive probability outweighing densities."""
        y = np.asarray(outputs, dtype=float)
        own, other = self.density(y), self.density(y - shift)
        for place, _ in self.atoms:
            near = 2**-50 * (np.abs(y) + abs(shift) + abs(place))  # a release is a sum that was rounded
            own = np.where(np.abs(y - place) <= near, np.inf, own)
            other = np.where(np.abs(y - shift - place) <= near, np.inf, other)
            own, other = np.where(np.isinf(other), 0.0, own), np.where(np.isinf(own), 0.0, other)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(own) - np.log(other)

    def gaussian_mu(self, sensitivity: float) -> float | None:
        """μ of a law whose trade-off function is that of N(0, 1) against N(μ, 1), None for all others."""
        return None

    # Exact releases and files: of the laws that the solver makes -------------------------------------

    def release(self, value: float) -> float | int:
        """The value plus one exact draw [exact.release]."""
        raise self._not_exact

    @property
    def release_step(self) -> float:
        """The step of the lattice on which a release lies."""
        raise self._not_exact

    def script(self) -> LawScript:
        """What an exported script needs to draw exactly."""
        raise self._not_exact

    @property
    def _not_exact(self) -> InputError:
        return InputError(
            "noise",
            self.name,
            "a grid law, a staircase, Laplace noise or one of the Gaussians, which have exact samplers",
        )

    def listed(self) -> tuple[Array, Array]:
        """(edges, probabilities) of the continuous part, on a lattice (points, probabilities), as far out as its
        probability is not negligible.

        Raises
        ------
        TypeError : the law is neither piecewise constant nor on a lattice; the solver makes no other.
        """
        raise TypeError(f"{self.name} noise has no cells to list")

    def to_dict(self) -> dict[str, Any]:
        """The law in JSON types: edges, probabilities and atom, which sum to 1; subclasses add what it is exactly."""
        edges, probabilities = self.listed()
        location, mass = self.atoms[0] if self.atoms else (0.0, 0.0)
        return {
            "name": self.name,
            "edges": edges.tolist(),
            "probabilities": probabilities.tolist(),
            "atom": {"location": float(location), "mass": float(mass)},
        }

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Floating-point samples, for looking at; a release goes through an exact sampler."""
        u = rng.random(size)
        return self.quantile(np.clip(u, 2.0**-60, 1 - 2.0**-53))

    def interval(self, coverage: float) -> tuple[float, float]:
        """The central interval that holds the noise with the given probability."""
        lo, hi = self.quantile(np.array([0.5 - coverage / 2, 0.5 + coverage / 2]))
        return float(lo), float(hi)

    def inside(self, width: float) -> float:
        """P(|X| ≤ width), exact up to rounding; width ≥ 0."""
        at_the_end = math.fsum(mass for place, mass in self.atoms if place == -width)
        return float(1 - self.beyond(width) - (self.cdf(-width) - at_the_end))

    def within(self, coverage: float) -> float:
        """The least w with P(|X| ≤ w) ≥ coverage, rounded up: a probability that falls short by rounding does not
        count. On a lattice a multiple of its step (counted from 0). Cost: some ten to sixty values of `inside`."""

        def passes(width: float) -> bool:
            return self.inside(width) >= coverage + ROUNDING

        if passes(0.0):
            return 0.0
        high = nudged_up(passes, max(map(abs, self.interval(coverage))) or 2.0**-500)
        below = high * (1 - 2.0**-30)  # of a symmetric law the quantile is the answer
        high, low = (below, 0.0) if passes(below) else (high, below)
        return bisection(passes, high, low, near=lambda w, low: w - low <= 1e-12 * w)[0]
