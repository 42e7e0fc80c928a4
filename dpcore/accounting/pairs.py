"""Two neighbours' release laws side by side, as the law of the privacy loss under each of them.

The truth is 0 or φ, the release X or X + φ: call their laws P and Q. All that can be said about telling them apart is
in the privacy loss L(y) = ln p(y)/q(y), in how it is distributed under P and under Q [Awan, §14.1]. Every curve of this
package, δ(ε), the trade-off function, Rényi divergences, the attacker's success, is a function of such a pair.

`pair(noise, shift=φ)` is exact for one shift; `dominating_pair(noise, sensitivity)` is the tight pair of all shifts up
to the sensitivity [Awan, Prop. 14.3; ZDW22], whose curves are the mechanism's. Numbers are exact up to the rounding of
sums of probabilities (about 1e-15 per term); the dominating pair of a solved law is rounded up.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from .._validate import above
from ..errors import InputError
from ..noise.base import Noise
from ..noise.piecewise import shared_cells
from ..pair import Array, FinitePair, Pair, mirrored

__all__ = ["FinitePair", "Pair", "dominating_pair", "mirrored", "pair", "privacy_loss", "shared_cells"]


def pair(noise: Noise, *, shift: float) -> Pair:
    """The laws of X (P) and of X + shift (Q), shift > 0. For laws on a lattice the largest whole number of steps in it.

    Raises
    ------
    InputError : the shift is not positive, below one step of a lattice, or 10⁴ times what a staircase is made for; or
        no law of `dpcore.noise`.
    """
    return _known(noise).pair(above(0, 1e300, shift=shift))


def dominating_pair(noise: Noise, sensitivity: float) -> Pair:
    """The tight dominating pair: its δ(ε) is the largest over all shifts up to the sensitivity, at every ε, its
    trade-off function the largest that lies below those of all shifts [Awan, Prop. 14.3]. For a symmetric density that
    falls from its centre it is the pair of the largest shift (see `SymmetricNoise`)."""
    return _known(noise).dominating_pair(above(0, 1e300, sensitivity=sensitivity))


def _known(noise: Noise) -> Noise:
    if not isinstance(noise, Noise):
        raise InputError("noise", type(noise).__name__, "a law of dpcore.noise: one number is released")
    return noise


def privacy_loss(noise: Noise, outputs: ArrayLike, *, shift: float) -> Array:
    """L(y) = ln p(y)/p(y − shift) at releases y (the truth is 0): ∞ where only the truth can have made them, −∞ where
    only the neighbour can, NaN where neither. Points of positive probability outweigh densities."""
    return noise.privacy_loss(outputs, shift)
