"""Clipping per layer of a network as a sensitivity profile [MK, §VI-C]; nothing is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..privacy import Privacy
from .profile import SensitivityProfile
from .query import VectorQuery
from .scales import RULES, Family, allocate

LAYERS = (("convolution 1", 156), ("convolution 2", 2_416), ("dense 1", 48_120), ("dense 2", 10_164), ("output", 850))
"""Parameters per layer of LeNet-5 on 32 × 32 grey images, biases included: 61 706 in all."""


@dataclass(frozen=True)
class LayerNoise:
    """One rule: the noise's standard deviation in every layer and the mean squared error over all parameters."""

    rule: str
    deviations: tuple[float, ...]
    total: float


def layer_noise(
    family: Family, layers: tuple[tuple[str, int], ...] = LAYERS, *, budget: float = 1.0
) -> list[LayerNoise]:
    """Flat clipping: every layer's gradient is clipped in ℓ_q to the same C with M·C^q = budget^q. With equal noise
    inside a layer its parameters count as λ = C/K_m^(1/q) each: Σ over the layer of |d_i|^q ≤ C^q, whatever the split
    inside."""
    q, counts = family.q, np.array([count for _, count in layers])
    limit = budget / len(layers) ** (1 / q)
    lam = np.repeat(limit / counts ** (1 / q), counts)
    asked = VectorQuery(Privacy(family.guarantee.epsilon, family.guarantee.delta), SensitivityProfile(tuple(lam)))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    unit = math.sqrt(family.moment(2.0))
    out = []
    for rule in RULES:
        found = allocate(asked, family, rule)
        out.append(LayerNoise(RULES[rule], tuple((unit * found.scales[first]).tolist()), found.error))
    return out
