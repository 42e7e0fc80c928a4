"""The first law: the best of the ℓ2 mechanism and the Gaussian, cut into shells whose heights are e^ε apart after a
whole number of shells, so that cutting costs little. Where only lengths beyond t cost anything, every shell is a factor
e^ε lower than the one before and one of them ends at t: such stairs are near the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special

from ..noise.gaussian import Gaussian
from ..privacy import Privacy
from . import audit
from .closed_forms import PowerLaw
from .geometry import log_volumes
from .law import RadialNoise
from .problem import RadialLoss

SHELLS = 1200
"""About so many; more where one per factor e^ε makes more."""

TAIL = 1e-3
"""Share of δ beyond the last shell, and the largest probability there."""

MOST_SHELLS = 40_000
"""Where one shell per factor e^ε makes more, heights are not aligned with it."""

CORE = 1e-14
"""Probability within the innermost shell."""

UNIT = 2.0**-20
"""Unit of radii, as a share of the scale of the law's width; rounded to a power of two."""

TRIES, FIRST_RAISE, LEAST_RAISE, MORE = 12, 1e-3, 0.02, 1.25
"""How the scale is raised until the law is private: secant steps in the logarithm of δ, a quarter longer, since a
try costs more than the scale; LEAST_RAISE:
least share of the first logarithm that is added at a time."""

MOST_RAISED = 4.0

NAMES = {1.0: "ℓ2 mechanism calibrated for δ", 2.0: "Gaussian noise on shells"}


def best_known(dimension: int, privacy: Privacy, loss: RadialLoss) -> PowerLaw:
    """The better of the two, for sensitivity 1, from a search in floats: what comes of it is audited."""
    laws = [PowerLaw(dimension, math.sqrt(2) * Gaussian.calibrate(privacy, 1.0).sigma, 2.0)]
    if privacy.epsilon > 0:
        laws.append(PowerLaw.calibrated(dimension, privacy, 1.0))
    return min(laws, key=lambda law: law.loss(loss))


def _ends(law: PowerLaw, privacy: Privacy) -> tuple[float, float]:
    """(|x|/σ)^q beyond the first shell and at the end of the last one."""
    shape, tail = law.dimension / law.q, min(TAIL * privacy.delta, TAIL)
    return float(special.gammaincinv(shape, CORE)), float(special.gammainccinv(shape, tail))


def shells(law: PowerLaw, privacy: Privacy) -> float:
    """How many shells one per factor e^ε makes; 0 for ε = 0."""
    first, last = _ends(law, privacy)
    return (last - first) / privacy.epsilon if privacy.epsilon > 0 else 0.0


def stepped(
    law: PowerLaw, privacy: Privacy, sensitivity: float, raised: float, beyond: float | None = None
) -> RadialNoise:
    """The law with its scale raised by a share, on shells: shell i of height about e^(−i ε/m). beyond : where a shell
    ends, m = 1 unless that makes too many."""
    law = replace(law, sigma=law.sigma * (1 + raised))
    d, q = law.dimension, law.q
    first, last = _ends(law, privacy)
    step = (last - first) / SHELLS
    if 0 < shells(law, privacy) <= MOST_SHELLS:
        step = privacy.epsilon / (max(1.0, round(privacy.epsilon / step)) if beyond is None else 1.0)
    phase = 0.0 if beyond is None else math.fmod((beyond / law.sigma) ** q, step)
    heights = phase + step * np.arange(math.floor((first - phase) / step), math.ceil((last - phase) / step) + 1)
    heights[0] = 0.0
    edges = law.sigma * heights ** (1 / q)
    resolution = 1 << max(0, math.ceil(-math.log2(UNIT * (edges[-1] - edges[1]))))
    breaks, own = np.unique(np.round(edges * resolution).astype(np.int64), return_index=True)
    logs = log_volumes(d, breaks / resolution) - heights[own[1:]]
    return RadialNoise.from_masses(
        dimension=d, sensitivity=sensitivity, resolution=resolution, breaks=breaks,
        masses=np.exp(logs - special.logsumexp(logs)),
    )  # fmt: skip


def first_law(
    law: PowerLaw, privacy: Privacy, sensitivity: float, look: Callable[[], bool], beyond: float | None = None
) -> tuple[RadialNoise, float] | None:
    """(the law on shells, its audited δ), private; None where raising its scale did not prove it private."""
    raised, known = 0.0, []
    for _ in range(TRIES):
        found = stepped(law, privacy, sensitivity, raised, beyond)
        delta = audit.delta_upper(found, privacy.epsilon, look=look)
        if delta <= privacy.delta:
            return found, delta
        known.append((raised, math.log(delta / privacy.delta)))
        (x, fx), (y, fy) = known[0], known[-1]
        if len(known) == 1:
            wider = privacy.delta / (1 + FIRST_RAISE)  # at ε = 0 δ falls about like 1/sigma
            if privacy.epsilon > 0:
                wider = replace(law, sigma=law.sigma * (1 + FIRST_RAISE)).delta(privacy.epsilon)
            x, fx = y - FIRST_RAISE, fy + math.log(privacy.delta / max(wider, TAIL * privacy.delta))
        step = fy * (y - x) / (fx - fy) if fx > fy else FIRST_RAISE * 2.0 ** len(known)
        raised = min(raised + MORE * max(step, known[0][1] * LEAST_RAISE), MOST_RAISED)
    return None
