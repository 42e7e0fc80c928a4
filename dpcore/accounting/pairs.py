"""Two neighbours' release laws side by side, as the law of the privacy loss under each of them.

The truth is 0 or φ, the release X or X + φ: call their laws P and Q. All that can be said about telling them apart is
in the privacy loss L(y) = ln p(y)/q(y), in how it is distributed under P and under Q [Awan, §14.1]. Every curve of this
package, δ(ε), the trade-off function, Rényi divergences, the attacker's success, is a function of such a pair.

`pair(noise, shift=φ)` is exact for one shift; `dominating_pair(noise, sensitivity)` is the tight pair of all shifts up
to the sensitivity [Awan, Prop. 14.3; ZDW22], whose curves are the mechanism's. Numbers are exact up to the rounding of
sums of probabilities (about 1e-15 per term); the dominating pair of a solved law is rounded up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._validate import above
from ..errors import InputError
from ..noise.base import Noise
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.lattice import LatticeNoise, whole_law, whole_steps
from ..noise.staircase import Staircase
from ..noise.truncated_laplace import TruncatedLaplace
from ..noise.uniform import Uniform
from .closed_pairs import MonotonePair, integer_pair, staircase_pair, uniform_pair
from .solved_pairs import SOLVED, shared_cells, solved_dominating_pair, solved_pair, units
from .two_laws import Array, FinitePair, Pair, mirrored

__all__ = ["FinitePair", "Pair", "dominating_pair", "mirrored", "pair", "privacy_loss", "shared_cells"]


def pair(noise: Noise, *, shift: float) -> Pair:
    """The laws of X (P) and of X + shift (Q), shift > 0. For laws on a lattice the largest whole number of steps in it.

    Raises
    ------
    InputError : the shift is not positive, below one step of a lattice, or 10⁴ times what a staircase is made for; or
        no law of `dpcore.noise`.
    """
    shift = above(0, 1e300, shift=shift)
    if isinstance(noise, Gaussian | Laplace | TruncatedLaplace):
        return MonotonePair(noise, shift)
    if isinstance(noise, Uniform):
        return uniform_pair(noise, shift)
    if isinstance(noise, Staircase):
        return staircase_pair(noise, shift / noise.sensitivity)
    closed = whole_law(noise)
    if closed is None and not isinstance(noise, SOLVED):
        raise InputError("noise", type(noise).__name__, "a law of dpcore.noise: one number is released")
    moved = units(noise, shift) if closed is None else whole_steps(shift, closed[1])
    if moved == 0:
        step = noise.step if closed is None else closed[1]
        raise InputError("shift", shift, f"at least one step of the lattice, {step:g}")
    return solved_pair(noise, moved) if closed is None else integer_pair(closed[0], moved)


def dominating_pair(noise: Noise, sensitivity: float) -> Pair:
    """The tight dominating pair: its δ(ε) is the largest over all shifts up to the sensitivity, at every ε, its
    trade-off function the largest that lies below those of all shifts [Awan, Prop. 14.3]. For a symmetric density that
    falls from its centre it is the pair of the largest shift (see `SymmetricNoise`)."""
    if isinstance(noise, SOLVED):
        return solved_dominating_pair(noise, above(0, 1e300, sensitivity=sensitivity))
    return pair(noise, shift=sensitivity)


def privacy_loss(noise: Noise, outputs: ArrayLike, *, shift: float) -> Array:
    """L(y) = ln p(y)/p(y − shift) at releases y (the truth is 0): ∞ where only the truth can have made them, −∞ where
    only the neighbour can, NaN where neither. Points of positive probability outweigh densities."""
    y = np.asarray(outputs, dtype=float)
    if isinstance(noise, Gaussian):
        return shift * (shift - 2 * (y - noise.location)) / (2 * noise.sigma**2)
    if isinstance(noise, Laplace):
        return (np.abs(y - noise.location - shift) - np.abs(y - noise.location)) / noise.scale
    lattice = isinstance(noise, LatticeNoise) or whole_law(noise) is not None
    own, other = ((noise.pmf if lattice else noise.density)(x) for x in (y, y - shift))
    if not lattice:
        for place, _ in noise.atoms:
            near = 2**-50 * (np.abs(y) + abs(shift) + abs(place))  # a release is a sum that was rounded
            own = np.where(np.abs(y - place) <= near, np.inf, own)
            other = np.where(np.abs(y - shift - place) <= near, np.inf, other)
            own, other = np.where(np.isinf(other), 0.0, own), np.where(np.isinf(own), 0.0, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(own) - np.log(other)
