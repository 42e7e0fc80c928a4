"""What is answered: a noise law, its certificate and how the bounds came about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .audit_profile import ProfileProof
from .errors import CertificateError
from .noise.base import Noise
from .problem import NoiseProblem, SolverSettings

if TYPE_CHECKING:
    import plotly.graph_objects as go

CLOSE = 0.05
"""Largest relative gap of what is called an optimum."""


@dataclass(frozen=True)
class Certificate:
    """Proved facts about a problem and a law; every number is rounded to the safe side.

    lower : no law that meets the problem has a smaller expected loss (None: nothing proved).
    upper : the law's expected loss is at most this.
    delta_upper : the law is (ε, delta_upper)-DP, delta_upper ≤ δ.
    worst_shift : the shift, in the query's unit, at which delta_upper is attained.
    repaired : the solver's law missed δ and was mixed with a strictly private one.
    budget_upper : the law's expected second loss is at most this (None without a budget).
    second_delta_upper : the law is (ε₂, second_delta_upper)-DP for the second pair (None without one).
    profile : how the law keeps the whole promise (None without a profile).
    """

    lower: float | None
    upper: float
    delta_upper: float
    worst_shift: float
    repaired: bool = False
    budget_upper: float | None = None
    second_delta_upper: float | None = None
    profile: ProfileProof | None = None

    def __post_init__(self) -> None:
        if self.lower is not None and self.lower > self.upper:
            raise CertificateError(f"lower bound {self.lower!r} above upper bound {self.upper!r}")
        if self.profile is not None and not self.profile.holds:
            raise CertificateError("the law does not keep its privacy profile")

    @property
    def gap(self) -> float | None:
        """(upper − lower)/lower; 0 when both are 0; None when no finite figure exists."""
        if self.lower is None or (self.lower <= 0 < self.upper):
            return None
        return 0.0 if self.upper == self.lower else (self.upper - self.lower) / self.lower


@dataclass(frozen=True)
class Progress:
    """A point of the anytime sequence: both bounds are valid when it is reported.

    cells : cells of the finest grid so far; pairs : privacy rows generated so far.
    answer : makes the answer of this moment, a valid one once the upper bound is finite. It is there for a progress
        callback and only while that runs.
    """

    seconds: float
    lower: float
    upper: float
    cells: int
    pairs: int
    answer: Callable[[], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        return (
            math.inf
            if self.lower <= 0 < self.upper
            else 0.0
            if self.upper == self.lower
            else (self.upper - self.lower) / self.lower
        )


@dataclass(frozen=True, repr=False)
class Solution:
    """An answer to `problem`. Pages draw nothing else. A notebook shows bracket, certificate and a small drawing.

    noise : the law whose loss is certificate.upper.
    trace : progress records, first to last.
    seconds : time spent solving; cells, shifts : grid cells and distinct shifts of the final law's audit.
    source : how the upper bound arose ("linear program", "closed form", …), for people.
    """

    problem: NoiseProblem
    settings: SolverSettings
    noise: Noise
    certificate: Certificate
    trace: tuple[Progress, ...]
    seconds: float
    cells: int
    shifts: int
    source: str

    @property
    def title(self) -> str:
        """What charts and tables call the noise: an optimum only where the bracket is narrow."""
        gap = self.certificate.gap
        return "Certified optimum" if gap is not None and gap <= CLOSE else "Best certified noise"

    def __repr__(self) -> str:
        from .display import one_line

        return one_line(self)

    def _repr_html_(self) -> str:
        from .display import html

        return html(self)

    def plot(self, **options: Any) -> go.Figure:
        """The law as a figure of Plotly, options as `dpcore.display.figure`: ``unit=""``, ``against=("laplace",)``,
        ``dark=False``, ``log_y=False``.

        Raises
        ------
        MissingExtraError : Plotly is not installed; the message is the line that installs it.
        """
        from .display import figure

        return figure(self, **options)
