"""What is answered: a mechanism, its certificate, and what noise that ignores the true value would have cost."""

from __future__ import annotations

from dataclasses import dataclass

from ..problem import SolverSettings
from ..solution import Certificate, Progress
from ..solution import Solution as NoiseSolution
from .channel import Channel
from .clamped import ClampedNoise
from .noise_laws import NoiseLaws
from .problem import DataDependentProblem


@dataclass(frozen=True)
class Solution:
    """An answer to `problem`.

    mechanism : the releasing object whose average loss is at most certificate.upper.
    certificate : as for additive noise; worst_shift is the distance between the intervals of the worst pair of laws.
    cap : the instance cap in force, None without one; instance_upper : no true value loses more than this.
    independent : the optimal data-independent noise for the same privacy, sensitivity and loss.
    clamped_upper : its average loss after clamping to the range is at most this; not clamped where noise is shared.
    cells, laws : of the channel (0: clamped noise).   source : how the upper bound arose.
    """

    problem: DataDependentProblem
    settings: SolverSettings
    mechanism: Channel | ClampedNoise | NoiseLaws
    certificate: Certificate
    cap: float | None
    instance_upper: float
    independent: NoiseSolution | None
    clamped_upper: float
    trace: tuple[Progress, ...]
    seconds: float
    cells: int
    laws: int
    source: str
