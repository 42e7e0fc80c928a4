"""The laws the solver makes: a density of the radius that is constant on shells and falls outwards, and an atom at 0.

Radii are whole numbers of a unit (sensitivity/resolution), shell weights are whole numbers that add up to 2^62, as for
`PiecewiseNoise`: the law is exactly representable and exactly auditable, floats are a view of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CertificateError
from ..noise.whole import FINER, TOTAL
from .problem import Array

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RadialNoise:
    """X = 0 with probability atom_weight/2^62, or uniform in the shell breaks[i]·unit ≤ |x| ≤ breaks[i + 1]·unit of
    R^dimension with probability weights[i]/2^62.

    sensitivity : the query's, in its unit; unit = sensitivity/resolution, resolution a power of two.
    breaks : int64 (n + 1,), increasing from 0.   weights : int64 (n,), non-negative, the density not increasing.
    """

    dimension: int
    sensitivity: float
    resolution: int
    breaks: Ints
    weights: Ints
    atom_weight: int = 0

    def __post_init__(self) -> None:
        total = int(self.weights.sum(dtype=object)) + self.atom_weight
        if total != TOTAL or self.weights.min(initial=0) < 0 or self.atom_weight < 0:
            raise ValueError(f"weights must be non-negative and add up to 2^62, not {total}")
        if len(self.breaks) != len(self.weights) + 1 or self.breaks[0] or (np.diff(self.breaks) <= 0).any():
            raise ValueError("breaks must begin with 0, increase and be one more than the weights")
        volumes, weights = self.volumes, self.weights.tolist()
        for i in range(len(weights) - 1):
            if weights[i] * volumes[i + 1] < weights[i + 1] * volumes[i]:
                raise CertificateError("the density of a radial law must not increase outwards")

    @classmethod
    def from_masses(
        cls, *, dimension: int, sensitivity: float, resolution: int, breaks: ArrayLike, masses: ArrayLike,
        atom: float = 0.0,
    ) -> RadialNoise:  # fmt: skip
        """The law with the given masses, normalised. Weights are rounded down and then, from outside inwards, up to
        what the density beyond demands; what is left, less than two units per shell, goes to the innermost shell."""
        kept: Array = np.maximum(np.asarray(masses, dtype=float), 0.0)
        breaks = np.asarray(breaks, dtype=np.int64)
        used = np.flatnonzero(kept > math.ldexp(1.0, -62))
        last = int(used[-1]) + 1 if used.size else 1
        kept, breaks = kept[:last], breaks[: last + 1]
        volumes = shell_volumes(breaks, dimension)
        large = [math.floor(math.ldexp(m, FINER)) for m in kept.tolist()]
        share = math.floor(math.ldexp(max(atom, 0.0), FINER))
        whole = sum(large) + share
        room = TOTAL - 2 * len(large)
        while True:
            weights = [m * room // whole for m in large]
            for i in range(len(weights) - 2, -1, -1):
                weights[i] = max(weights[i], -(-weights[i + 1] * volumes[i] // volumes[i + 1]))
            atom_weight = share * room // whole
            rest = TOTAL - sum(weights) - atom_weight
            if rest >= 0:
                weights[0] += rest
                return cls(
                    dimension, sensitivity, resolution, breaks, np.array(weights, dtype=np.int64), atom_weight
                )  # fmt: skip
            room += 2 * rest  # densities that rose by more than rounding

    def with_atom(self, atom: float) -> RadialNoise:
        """The law with another atom, the shells sharing the rest as before."""
        share = (1 - atom) / (1 - self.atom_mass) if self.atom_mass < 1 else 0.0
        return RadialNoise.from_masses(
            dimension=self.dimension, sensitivity=self.sensitivity, resolution=self.resolution, breaks=self.breaks,
            masses=self.masses * share, atom=atom,
        )  # fmt: skip

    def dilated(self, numerator: int, denominator: int) -> RadialNoise:
        """The law of numerator/denominator·X."""
        return RadialNoise(
            self.dimension, self.sensitivity, self.resolution * denominator, self.breaks * numerator, self.weights,
            self.atom_weight,
        )  # fmt: skip

    @cached_property
    def volumes(self) -> list[int]:
        """Volumes of the shells, in units^dimension times the volume of the unit ball."""
        return shell_volumes(self.breaks, self.dimension)

    @cached_property
    def ladder(self) -> list[int]:
        """Cumulative weights, the atom's first."""
        return list(accumulate([self.atom_weight, *self.weights.tolist()]))

    @property
    def edges(self) -> Array:
        """Radii between the shells in the query's unit, the nearest floats, (n + 1,)."""
        edges: Array = self.breaks / self.resolution * self.sensitivity
        return edges

    @cached_property
    def masses(self) -> Array:
        """Shell probabilities, (n,)."""
        masses: Array = self.weights / float(TOTAL)
        return masses

    @property
    def atom_mass(self) -> float:
        return self.atom_weight / float(TOTAL)

    def as_dict(self) -> dict[str, Any]:
        """What files say: exact whole numbers beside floats for reading. Weights are text: most readers of JSON keep 53
        bits of a number, a weight has 62."""
        return {
            "kind": "radial", "dimension": self.dimension, "sensitivity": self.sensitivity,
            "resolution": self.resolution, "breaks": self.breaks.tolist(),
            "weights": [str(w) for w in self.weights.tolist()], "atom_weight": str(self.atom_weight),
            "total": str(TOTAL), "edges": self.edges.tolist(), "probabilities": self.masses.tolist(),
            "atom": self.atom_mass,
        }  # fmt: skip

    def draws(self, count: int, rng: np.random.Generator) -> Array:
        """Floating-point draws, (count, dimension), for looking: nothing here may be released."""
        probabilities = np.append(self.masses, self.atom_mass)
        chosen = rng.choice(len(probabilities), size=count, p=probabilities / probabilities.sum())
        shell = np.minimum(chosen, len(self.masses) - 1)
        inner, outer = self.edges[shell], self.edges[shell + 1]
        ratio = (inner / outer) ** self.dimension
        radius = outer * (ratio + rng.random(count) * (1 - ratio)) ** (1 / self.dimension)
        direction = rng.standard_normal((count, self.dimension))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return np.where(chosen == len(self.masses), 0.0, radius)[:, None] * direction


def shell_volumes(breaks: Ints, dimension: int) -> list[int]:
    """break^d differences, exactly."""
    powers = [b**dimension for b in breaks.tolist()]
    return [b - a for a, b in zip(powers, powers[1:])]
