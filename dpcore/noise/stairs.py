"""Laws that fall by one factor per period, and their neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..pair import Array, FinitePair, with_atom


def stairs_pair(
    rate: float,
    rise: float,
    period: float,
    shift: float,
    left: tuple[Array, Array],
    middle: tuple[Array, Array],
    *,
    atom: float,
) -> FinitePair:
    """The pair of a law that falls by e^−rate per period from its centre, with one period of cells (distance from the
    centre, length) on the far side of it, and the cells between the two centres.

    Beyond the centre both laws fall alike, so one period stands for all, times 1/(1 − e^−rate); beyond the other
    centre the same is true with P and Q exchanged.
    """
    level: Callable[[Array], Array] = lambda i: np.floor((i - rise) / period) + 1  # noqa: E731
    near, far = level(left[0]), level(left[0] + shift)
    many = left[1] / -math.expm1(-rate)
    here, there = level(middle[0]), level(shift - middle[0])
    own = np.concatenate([np.exp(-rate * near) * many, np.exp(-rate * here) * middle[1], np.exp(-rate * far) * many])
    other = np.concatenate([np.exp(-rate * far) * many, np.exp(-rate * there) * middle[1], np.exp(-rate * near) * many])
    losses = rate * np.concatenate([far - near, there - here, near - far])
    return with_atom(own / own.sum(), other / other.sum(), atom, losses)
