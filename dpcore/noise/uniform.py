"""Uniform noise, with or without an atom at its centre."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validate import above, in_range, real
from ..errors import InputError
from ..loss import Loss
from ..loss.powers import power_integral
from ..pair import FinitePair, with_atom
from ..privacy import Privacy
from ..search import least_argument_vectorised, nudged_up
from .base import Array
from .symmetric import SymmetricNoise, has_two_slopes


@dataclass(frozen=True)
class Uniform(SymmetricNoise):
    """Uniform on location ± half_width with probability 1 − atom, else location itself."""

    half_width: float
    atom: float = 0.0
    location: float = 0.0
    name: str = "Uniform"

    def __post_init__(self) -> None:
        above(0, 1e300, half_width=self.half_width)
        in_range(0, 1, atom=self.atom)
        real(location=self.location)

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> Uniform:
        """The uniform law with an atom that is (0, δ)-DP, hence (ε, δ)-DP for every ε, of least expected loss.

        δ(0) = a + (1 − a) D/(2w) ≤ δ gives w = D(1 − a)/(2(δ − a)) for an atom a < δ. For |x| (the default)
        the loss is D(1 − a)²/(4(δ − a)), least at a = max(0, 2δ − 1): D/(4δ), or D(1 − δ) with w = D, the
        optimum of all laws for ε = 0 and δ ≥ ½ [G19]. Other losses: a search over a ≤ δ(1 − e^−10), because a
        bounded loss may favour ever wider laws.
        """
        delta = privacy.delta
        if delta == 0:
            raise InputError("delta", delta, "a positive number for uniform noise")
        best = max(0.0, 2 * delta - 1)
        if loss is not None and not has_two_slopes(loss):
            at_zero = float(loss.value(0.0))

            def expected(room: Array) -> Array:
                """Expected loss at the atom δ(1 − e^−room)."""
                atom = -delta * np.expm1(-room)
                width = 0.5 * sensitivity * (1 - atom) / (delta * np.exp(-room))
                return atom * at_zero + (1 - atom) * loss.mean(-width, width)

            grid = [*np.linspace(0.0, 1.0, 33), *np.linspace(1.0, 10.0, 49), -math.log1p(-best / delta)]
            best = -delta * math.expm1(-least_argument_vectorised(expected, grid))
        return _with_atom(best, sensitivity, delta)

    @property
    def parameters(self) -> dict[str, float]:
        return {"half_width": self.half_width, "atom": self.atom, "location": self.location}

    @property
    def is_flat(self) -> bool:  # type: ignore[override]  # read only, like a field of a frozen class
        return self.atom == 0

    @property
    def radius(self) -> float:
        return self.half_width

    def _height(self, y: Array) -> Array:
        return np.full(np.shape(y), 0.5 / self.half_width)

    def _tail(self, y: Array) -> Array:
        return 1 - y / self.half_width

    def _tail_quantile(self, q: Array) -> Array:
        return self.half_width * (1 - q)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        return 0.5 * float(power_integral(power, lo, hi)) / self.half_width

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """The uncovered part: where both densities live they are equal, so ε ≥ 0 makes no difference."""
        return min(1.0, 0.5 * shift / self.half_width)

    def pair(self, shift: float) -> FinitePair:
        bare = min(0.5 * shift / self.half_width, 1.0)
        masses = np.array([bare, 1 - bare, 0.0])
        return with_atom(masses, masses[::-1], self.atom, np.array([math.inf, 0.0, -math.inf]))


def _with_atom(atom: float, sensitivity: float, delta: float) -> Uniform:
    """The narrowest (0, delta)-DP uniform law with this atom, atom < delta, moved outwards past its rounding."""
    width = 0.5 * sensitivity * (1 - atom) / (delta - atom)
    return Uniform(nudged_up(lambda w: Uniform(w, atom).shortfall(0.0, sensitivity) <= delta, width), atom)
