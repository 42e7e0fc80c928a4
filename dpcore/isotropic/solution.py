"""What is answered: a radial law, its certificate and how the bounds came about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import CertificateError
from ..problem import SolverSettings
from ..solution import Certificate, Progress
from .curves import Curve
from .law import RadialNoise
from .problem import IsotropicProblem
from .proof import Multipliers


@dataclass(frozen=True)
class IsotropicSolution:
    """An answer to `problem`: lower ≤ least expected loss ≤ upper, the loss of `noise`, which is (ε, delta_upper)-DP.

    certificate : as for additive noise; the worst shift is the largest one.
    multipliers : proof of the lower bound, in units of the sensitivity; none where it is 0, nor when read from a file.
    cells : shells of the law.   shifts : how many the lower bound rests on.   source : how the upper bound arose.
    """

    problem: IsotropicProblem
    settings: SolverSettings
    noise: RadialNoise
    certificate: Certificate
    multipliers: tuple[Multipliers | Curve, ...]
    trace: tuple[Progress, ...]
    seconds: float
    cells: int
    shifts: int
    source: str

    def __post_init__(self) -> None:
        if not self.certificate.delta_upper <= self.problem.privacy.delta:
            raise CertificateError("the law does not meet δ")

    @property
    def lower(self) -> float:
        return self.certificate.lower or 0.0

    @property
    def upper(self) -> float:
        return self.certificate.upper

    @property
    def delta_upper(self) -> float:
        return self.certificate.delta_upper

    @property
    def gap(self) -> float:
        """(upper − lower)/lower, infinite while the lower bound is 0."""
        return math.inf if self.certificate.gap is None else self.certificate.gap
