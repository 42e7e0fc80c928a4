"""What is asked: noise whose law may depend on the true value of a query with a bounded range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from .._validate import decimal, in_range, real
from ..errors import InputError
from ..loss import Loss, parse_loss
from ..privacy import SENSITIVITY, Privacy
from .weight import Density, Weight, parse_weight

MAX_RANGE = 2000
"""Widest range, in sensitivities: releases are told apart on so many cells."""

WINDOW = 24
"""Longest range whose lower bounds are proved in one piece, in sensitivities."""

MAX_LAWS = 200
"""Most intervals a partition may have."""


MIRRORED = "mirrored"
"""As the loss of true values below 0: that of errors of the other sign."""

FARTHEST = 1e6
"""Ends of the range lie within so many of its widths of 0, where floats still tell its points apart."""


@dataclass(frozen=True)
class DataDependentProblem:
    """The least average loss of a release of a query with values in a range, under (ε, δ)-DP [SLW, (P′)].

    A mechanism is one law of the release per true value. Its loss is the expectation of c(release − true value),
    averaged over the range with a weight that does not depend on the data. Releases lie in the range.

    Parameters
    ----------
    privacy : Privacy
    sensitivity : float
        Largest change of the query between neighbouring data sets, in the query's unit.
    loss : Loss
        Takes the error in the query's unit; does not fall away from 0, so releases outside the range are never useful.
    query_range : (float, float)
        Lowest and highest value the query can take.
    weight : Weight
    instance_cap : float, "auto" or None
        No true value may lose more than this; "auto": the (certified) loss of the optimal data-independent noise.
    monotone : bool
        The density of the release does not increase away from the true value.
    ordered : bool
        A larger true value makes larger releases more likely: P(release ≥ y) grows with the true value for every y.
    partition : tuple of float
        Inner ends of intervals of the range that share one law each; empty: no such restriction.
    shared : "release" or "noise"
        What true values of an interval share: a law of the release, or of the noise that is added [SLW-S, Alg. G.1].
    loss_below : Loss or None
        The loss for true values below 0, if it is another one there; "mirrored": of errors of the other sign.

    Every number is the decimal its shortest text names (0.1 is a tenth).
    """

    privacy: Privacy
    sensitivity: float
    loss: Loss
    query_range: tuple[float, float]
    weight: Weight = field(default_factory=lambda: parse_weight("uniform"))
    instance_cap: float | str | None = None
    monotone: bool = False
    ordered: bool = False
    partition: tuple[float, ...] = ()
    shared: str = "release"
    loss_below: Loss | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", SENSITIVITY.check(self.sensitivity))
        object.__setattr__(self, "query_range", _range(self.query_range))
        low, high = self.query_range
        if self.width > MAX_RANGE * decimal(self.sensitivity):
            accepted = f"a range of at most {MAX_RANGE} sensitivities"
            raise InputError("query_range", f"{low:g}:{high:g}", accepted)
        if self.width < decimal(self.sensitivity) / 10**6:
            raise InputError("query_range", f"{low:g}:{high:g}", "a range of at least a millionth of the sensitivity")
        if max(abs(low), abs(high)) > FARTHEST * (high - low):
            accepted = f"ends within {FARTHEST:g} widths of 0: shift the query"
            raise InputError("query_range", f"{low:g}:{high:g}", accepted)
        if not self.loss.grows_from_zero:
            raise InputError("loss", self.loss.spec, "a loss that does not fall away from 0")
        if self.instance_cap not in (None, "auto"):
            cap = in_range(0, 1e15, also=(), instance_cap=self.instance_cap)
            object.__setattr__(self, "instance_cap", cap)
        _ = self.density  # says what is wrong with the weight
        object.__setattr__(self, "partition", self._checked_partition())
        if self.monotone and self.partition:
            raise InputError("partition", self.partition, "no partition with monotone laws")
        self._check_shared()

    def _check_shared(self) -> None:
        if self.shared not in ("release", "noise"):
            raise InputError("shared", self.shared, "release or noise")
        if self.loss_below is not None:
            if not self.loss_below.grows_from_zero:
                raise InputError("loss_below", self.loss_below.spec, "a loss that does not fall away from 0")
            if self.instance_cap is not None:
                raise InputError("instance_cap", self.instance_cap, "no cap with another loss below 0")
        if self.shared == "release":
            if self.loss_below is not None and not self.partition and self.width > WINDOW * decimal(self.sensitivity):
                accepted = f"a range of at most {WINDOW} sensitivities, or a partition, with another loss below 0"
                raise InputError("query_range", "{:g}:{:g}".format(*self.query_range), accepted)
            return
        if not self.partition:
            raise InputError("shared", "noise", "noise only with a partition")
        if self.monotone or self.ordered or self.instance_cap is not None:
            raise InputError("shared", "noise", "noise without monotone or ordered laws and without a cap")

    def _checked_partition(self) -> tuple[float, ...]:
        low, high = self.query_range
        accepted = f"increasing numbers inside {low:g}:{high:g}, fewer than {MAX_LAWS}"
        breaks = tuple(real(partition=b) for b in self.partition)
        inner = (low, *breaks, high)
        if len(breaks) >= MAX_LAWS or not all(a < b for a, b in zip(inner, inner[1:])):
            raise InputError("partition", breaks, accepted)
        return breaks

    @cached_property
    def width(self) -> Fraction:
        """Length of the range, exactly."""
        low, high = self.query_range
        return decimal(high) - decimal(low)

    @cached_property
    def density(self) -> Density:
        """The weight as a function on the range scaled to [0, 1]."""
        return self.weight.on(*self.query_range)

    def shares(self, places: Sequence[Fraction]) -> list[Fraction]:
        """Shares of the weight between places, increasing and measured from the low end; exact."""
        ends = [place / self.width for place in places]
        sums = (
            sum(((v - u) * Fraction(p + q) / 2 for u, v, p, q in self.density.pieces(a, b)), Fraction(0))
            for a, b in zip(ends, ends[1:])
        )
        return [one / self.density.total for one in sums]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The loss, and that of true values below 0 if it is another one."""
        return (self.loss,) if self.loss_below is None else (self.loss, self.loss_below)

    @property
    def below_spec(self) -> str | None:
        """What is written for the loss below 0: its text, or that it is the other one's mirror image; None without."""
        if self.loss_below is None:
            return None
        return MIRRORED if self.loss_below == self.loss.mirrored else self.loss_below.spec

    @cached_property
    def turn(self) -> Fraction:
        """Where true values stop counting as below 0: a share of the range, 0 to 1."""
        if self.loss_below is None:
            return Fraction(0)
        return min(max(-decimal(self.query_range[0]) / self.width, Fraction(0)), Fraction(1))

    @property
    def narrow(self) -> bool:
        """All pairs of values may be neighbours."""
        return self.width <= decimal(self.sensitivity)

    @property
    def folds(self) -> bool:
        """An optimal mechanism is its own mirror image about the middle of the range."""
        if self.loss_below is not None:
            return False
        ends = [decimal(v) for v in (self.query_range[0], *self.partition, self.query_range[1])]
        mirrored = [ends[0] + ends[-1] - v for v in reversed(ends)]
        return self.loss.even and self.density.symmetric and ends == mirrored

    @property
    def support(self) -> tuple[float, float]:
        """Errors that can occur."""
        return -float(self.width), float(self.width)

    @property
    def least(self) -> float:
        """What no mechanism undercuts, however little privacy is asked for."""
        return min(loss.infimum(*self.support) for loss in self.losses)


def _range(ends: object) -> tuple[float, float]:
    accepted = "two numbers LO < HI"
    try:
        low, high = (float(v) for v in ends)  # type: ignore[attr-defined]  # what has no two numbers is refused below
    except (TypeError, ValueError):
        raise InputError("query_range", ends, accepted) from None
    if not (low < high and math.isfinite(low) and math.isfinite(high) and max(abs(low), abs(high)) <= 1e15):
        raise InputError("query_range", f"{low:g}:{high:g}", accepted)
    return low, high


def data_dependent_problem(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    loss: Loss | str = "l1",
    *,
    query_range: tuple[float, float],
    weight: Weight | str = "uniform",
    instance_cap: float | str | None = None,
    monotone: bool = False,
    ordered: bool = False,
    partition: Iterable[float] = (),
    shared: str = "release",
    loss_below: Loss | str | None = None,
) -> DataDependentProblem:
    """A `DataDependentProblem` from plain numbers and texts."""
    loss = loss if isinstance(loss, Loss) else parse_loss(loss)
    weight = weight if isinstance(weight, Weight) else parse_weight(weight)
    if isinstance(loss_below, str):
        loss_below = loss.mirrored if loss_below == MIRRORED else parse_loss(loss_below)
    if loss_below == loss:
        loss_below = None
    shape = (instance_cap, bool(monotone), bool(ordered), tuple(partition), shared, loss_below)
    return DataDependentProblem(Privacy(epsilon, delta), sensitivity, loss, query_range, weight, *shape)
