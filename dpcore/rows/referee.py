"""What multipliers of privacy rows prove, with its rounding: plain NumPy, no linear program, no tolerance.

Let x ≥ 0 consist of laws, each of sum 1, with Σ_{t ∈ r} max(0, x_{a_t} − f_t x_{b_t}) ≤ δ_r for every limit r, and
perhaps further linear rows. Weak duality [Thm 3]: for *any* multipliers y ≥ 0

    c·x ≥ Σ_laws min D − Σ_r δ_r λ_r,    D = c + Σ_t y_t at a_t − Σ_t f_t y_t at b_t,    λ_r = max_{t ∈ r} y_t,

where a further row Σ v·x ≤ w with its rate μ ≥ 0 adds μv to D and takes off μw. u = 2^−53.

Rounding: an entry of D is a sum of m terms of total size S, each at most four operations off; (m + 16)·u·S is taken
off. Sums of λ are exact. Products too small for a float err by 2^−1074 each; 2^−1000 is taken off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..loss import UNDERFLOW, UNIT

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Brackets:
    """D while it is being summed.

    total : (n,) D.   size : (n,) the same sum of absolute values.   terms : m + 16, an upper bound of the number of
    terms.   price : Σ δλ and what further rows take off, rounded up.
    """

    total: Array
    size: Array
    terms: Ints | int = 16
    price: float = 0.0

    @classmethod
    def of(cls, costs: Array) -> Brackets:
        """The costs alone."""
        return cls(costs, np.abs(costs))

    def with_terms(
        self,
        events: Ints,
        covers: Ints,
        factors: Array | float,
        weights: Array,
        limits: Ints,
        delta: float,
        shares: Array | float = 1.0,
    ) -> Brackets:
        """The brackets with multipliers of terms max(0, x_event − factor·x_cover), all (m,); negative ones count as 0.

        covers : outside 0 … n − 1 where nothing covers.   factors : upper bounds, one for each limit and event.
        limits : names of the limits, whose δ_r are delta·shares, shares within u.
        """
        n = len(self.total)
        # A term named twice must not count as two: λ is the largest multiplier.
        _, first, index = np.unique(limits * n + events, return_index=True, return_inverse=True)
        weights = cast(Array, np.bincount(index, np.maximum(weights, 0.0), len(first)))  # the types forget: floats
        events, covers, limits = events[first], covers[first], limits[first]
        factors, shares = (np.broadcast_to(v, index.shape)[first] for v in (factors, shares))
        inside = (covers >= 0) & (covers < n)
        plus = np.bincount(events, weights, n)
        minus = np.bincount(covers[inside], factors[inside] * weights[inside], n)
        count = np.bincount(events, minlength=n) + np.bincount(covers[inside], minlength=n)
        named = np.flatnonzero(np.diff(limits, prepend=limits[:1] - 1))  # the first of each: they are in order
        rates = np.maximum.reduceat(weights, named) if len(named) else weights
        price = delta * math.fsum(rates * shares[named]) * (1 + 4 * UNIT)
        return Brackets(self.total + plus - minus, self.size + plus + minus, self.terms + count, self.price + price)

    def with_rows(self, added: Array, size: Array, terms: Ints | int = 0, price: float = 0.0) -> Brackets:
        """The brackets with what further rows add to D, the sum of the absolute values, and how many terms that
        are, beyond the few that 16 has room for; price : what they take off, rounded up."""
        return Brackets(self.total + added, self.size + size, self.terms + terms, self.price + price)

    def lower(self, *, laws: int = 1, mirrored: bool = False) -> float:
        """The bound, rounded down. laws : of x, one after the other.   mirrored : an optimal x is its own mirror image,
        so D may be averaged with its mirror image."""
        D = self.total - self.terms * UNIT * self.size
        if mirrored:
            D = 0.5 * (D + D[::-1])
            D = D - 4 * UNIT * np.abs(D)
        price = self.price * (1 + 4 * UNIT)
        bound = math.fsum([*D.reshape(laws, -1).min(axis=1).tolist(), -price])
        return bound - 2 * UNIT * (abs(bound) + abs(price)) - UNDERFLOW
