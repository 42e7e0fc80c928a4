"""Terms max(0, r_i − E r_{i−j}) of a law on a lattice: the NumPy twin of `kernels.lattice_terms`, bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def shortfalls(r: Array, events: Ints, shifts: Ints, amplification: float) -> Array:
    """Σ over events of the terms, for every shift. Indices are positions in r; outside there is no mass."""
    n, most = len(r), int(np.abs(shifts).max(initial=0))
    covered = np.zeros(n + 2 * most)
    covered[most : most + n] = amplification * r
    here, at, out = r[events], events + most, np.empty(len(shifts))
    for t, j in enumerate(shifts.tolist()):
        z = here - covered[at - j]
        out[t] = z[z > 0].sum()
    return out


def excess(r: Array, events: Ints, shift: int, amplification: float) -> Array:
    """r_i − E r_{i−j} of every event."""
    cover = events - shift
    inside = (cover >= 0) & (cover < len(r))
    return r[events] - amplification * np.where(inside, r[np.clip(cover, 0, len(r) - 1)], 0.0)
