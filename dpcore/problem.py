"""What is asked: a noise problem and, apart from it, how hard to try."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from ._validate import decimal, in_range, whole
from .errors import InfeasibleError, InputError
from .loss import Loss, parse_loss
from .privacy import SENSITIVITY, Privacy
from .privacy_profile import Composed, GaussianProfile, PairList, PrivacyProfile
from .quantity import Quantity

FARTHEST = 10**9
"""Ends of the support lie within so many sensitivities of 0, where floats still tell cells apart."""


GRANULARITY = replace(SENSITIVITY, name="granularity", title="step of the query's values", label="Step, in the unit")
"""Step of the values of a query."""


LINE = (-math.inf, math.inf)
"""The support of noise that may lie anywhere."""

AS_GOOD_AS_FREE = 1e-5
"""Share of the largest loss at a break that counts as nothing where the least expected loss is 0."""


@dataclass(frozen=True)
class Budget:
    """E loss(X) ≤ most, for a second loss."""

    loss: Loss
    most: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", in_range(0, 1e15, budget=self.most))


@dataclass(frozen=True)
class NoiseProblem:
    """The least expected loss of additive noise under (ε, δ)-DP [SLW, (P)].

    Parameters
    ----------
    privacy : Privacy
    sensitivity : float
        Largest change of the query between neighbouring data sets, in the query's unit.
    loss : Loss
        Takes the error in the query's unit.
    symmetric : bool
        The law is its own mirror image.
    monotone : bool
        The density does not increase away from 0.
    support : (float, float)
        Closed interval that holds the noise; either end may be infinite.
    granularity : float or None
        The query's values are multiples of this (1 for counts), so the noise may be too; the sensitivity is a
        multiple of it. None: the query is real-valued.
    budget : Budget or None
        A second expected loss that must not exceed a bound.
    second : Privacy or None
        A second pair (ε₂, κ) the noise must satisfy as well.
    profile : PrivacyProfile or None
        The whole promise, of which `privacy` is a part: several pairs, or a curve δ(ε′).
    """

    privacy: Privacy
    sensitivity: float
    loss: Loss
    symmetric: bool = False
    monotone: bool = False
    support: tuple[float, float] = LINE
    granularity: float | None = None
    budget: Budget | None = None
    second: Privacy | None = None
    profile: PrivacyProfile | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", SENSITIVITY.check(self.sensitivity))
        lo, hi = _support(self.support)
        object.__setattr__(self, "support", (lo, hi))
        shown = f"[{lo:g}, {hi:g}]"
        farthest = FARTHEST * decimal(self.sensitivity)
        if any(math.isfinite(end) and abs(decimal(end)) > farthest for end in (lo, hi)):
            raise InputError("support", shown, f"ends within {FARTHEST:g} sensitivities of 0")
        if self.symmetric and lo != -hi:
            raise InputError("support", shown, "an interval with its middle at 0, or no symmetry")
        if self.monotone and not lo <= 0 <= hi:
            raise InputError("support", shown, "an interval that contains 0, or no monotonicity")
        self._check_granularity()
        self._refuse_narrow(lo, hi, shown)
        self._check_second(shown)
        self._check_profile(shown)

    def _check_granularity(self) -> None:
        if self.granularity is None:
            return
        step = GRANULARITY.check(self.granularity)
        object.__setattr__(self, "granularity", step)
        steps = self.sensitivity / step
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-9:
            raise InputError("granularity", step, f"a whole part of the sensitivity {self.sensitivity:g}")

    def _check_second(self, support: str) -> None:
        """Of two pairs neither of which implies the other the second may have κ = 0. Laws then have a density
        everywhere."""
        second = self.second
        if second is None or min(self.privacy.delta, second.delta) > 0:
            return
        shown = f"({second.epsilon:g}, {second.delta:g})"
        if isinstance(self.profile, PairList):
            raise InputError("second", shown, "a positive second number next to a list of pairs")
        if self.simplified.second is None:
            return
        if self.privacy.delta == 0:
            raise InputError("second", shown, "no second pair when delta = 0 (the pair with 0 comes second)")
        worst = f"when the second pair is {shown}: no release may exclude a neighbour"
        if not self.whole_line:
            raise InfeasibleError("support", support, f"no limit on either side {worst}")
        if self.budget is not None:
            raise InputError("budget", self.budget.loss.spec, f"no second loss next to a second pair {shown}")

    def _check_profile(self, support: str) -> None:
        """A curve that tends to 0 leaves no edge and no atom uncovered, so the noise fills the line."""
        if self.profile is None:
            return
        if self.granularity is not None:
            raise InputError("profile", self.profile.spec, "one pair (epsilon, delta) when the query has a granularity")
        if self.privacy.delta == 0:
            raise InputError("delta", 0.0, "a positive number next to a profile")
        if isinstance(self.profile, Composed) and self.profile.privacy != self.privacy:
            shown = f"({self.privacy.epsilon:g}, {self.privacy.delta:g})"
            raise InputError("privacy", shown, "the pair that all releases together must keep")
        if self.whole_curve:
            if not self.whole_line:
                raise InputError("support", support, "no limit on either side when the promise is a whole curve")
            for name, extra in (("budget", self.budget), ("second", self.second)):
                if extra is not None:
                    raise InputError(name, self.profile.spec, f"no {name} when the promise is a whole curve")

    def _refuse_narrow(self, lo: float, hi: float, shown: str) -> None:
        """Widths that no (ε, δ)-DP law fits [method: windows]: along a chain x, x + D, … of m points inside the
        support, mass grows by at most e^ε per step from a budget δ at either end."""
        if self.privacy.delta == 0 and not self.whole_line:
            raise InfeasibleError("support", shown, "no limit on either side when delta = 0")
        width = hi - lo
        if math.isinf(width):
            return
        points = math.ceil(width / self.sensitivity)
        if self.granularity is not None:
            first, last = self.lattice_support
            points = math.ceil((last - first + 1) / self.lattice_sensitivity)
        if self.privacy.epsilon * points / 2 > 40:
            return
        half, odd = divmod(points, 2)
        rate = math.expm1(self.privacy.epsilon)
        reach = 2 * (math.expm1(self.privacy.epsilon * half) / rate if rate else half)
        reach += odd * math.exp(self.privacy.epsilon * half)
        if self.privacy.delta * reach < 1 - 1e-9:
            accepted = f"an interval of width {self.enough} or more for this privacy and sensitivity"
            raise InfeasibleError("support", shown, accepted)

    @property
    def sufficient_width(self) -> float:
        """A support this wide holds a private law that the search starts from: truncated Laplace noise on cells
        (δ ≤ ½), or uniform noise of width D/δ, which for monotone laws, whose peak cannot leave 0, is needed; with a
        granularity a step more, for ends between its multiples."""
        joint, step = self.joint, self.granularity or 0.0
        peaked = self.monotone and self.support[0] != -self.support[1]
        if peaked or joint.epsilon == 0 or joint.delta >= 0.5:
            spare = 0.0 if Fraction(joint.delta) >= decimal(joint.delta) else 1e-8
            return self.sensitivity / joint.delta * (1 + spare) + step
        return 2 * self.sensitivity * joint.truncation() * (1 + 1e-8) + step

    @property
    def enough(self) -> str:
        """The sufficient width in words, rounded up to six digits."""
        return f"{float(Context(prec=6, rounding=ROUND_CEILING).create_decimal_from_float(self.sufficient_width)):g}"

    @property
    def lattice_step(self) -> float:
        """The granularity of a query that has one."""
        if self.granularity is None:
            raise ValueError("the query has no granularity")
        return self.granularity

    @property
    def lattice_sensitivity(self) -> int:
        """The sensitivity as a number of steps of the granularity."""
        return round(self.sensitivity / self.lattice_step)

    @property
    def lattice_support(self) -> tuple[float, float]:
        """First and last multiple of the granularity inside the support, in steps: whole numbers, or infinite."""
        step, (lo, hi) = decimal(self.lattice_step), self.support
        first = lo if math.isinf(lo) else math.ceil(decimal(lo) / step)
        return first, hi if math.isinf(hi) else math.floor(decimal(hi) / step)

    @property
    def whole_curve(self) -> bool:
        """The promise is kept at every ε′, not at finitely many."""
        return isinstance(self.profile, GaussianProfile | Composed)

    @property
    def whole_line(self) -> bool:
        """The noise may lie anywhere."""
        return self.support == LINE

    @property
    def folds(self) -> bool:
        """An optimal law is symmetric (method: symmetry), so half the line is enough."""
        even = self.loss.even and (self.budget is None or self.budget.loss.even)
        return self.symmetric or (even and self.support[0] == -self.support[1])

    @property
    def paid_loss(self) -> Loss:
        """The loss as the law pays it: symmetrised when the law is symmetric."""
        return self.loss.symmetrised() if self.symmetric else self.loss

    @property
    def least(self) -> float:
        """What no law undercuts, however little privacy is asked for."""
        return self.paid_loss.infimum(*self.support)

    @property
    def free_end(self) -> tuple[float, int] | None:
        """(place, side): from there on towards an open end of the support, −1 the left and 1 the right one, an error
        costs nothing. Then the least expected loss is 0, though mostly no law has it [method: free ends]. None where
        there is no such end, and with a budget, which may ask for small errors."""
        (lo, hi), pieces = self.support, self.paid_loss.pieces
        left, right = (
            list(itertools.takewhile(lambda p: p.coefficient == 0 == p.constant, side))
            for side in (pieces[:-1], pieces[:0:-1])
        )
        free = [(min(left[-1].hi, hi), -1)] if left and math.isinf(lo) else []
        free += [(max(right[-1].lo, lo), 1)] if right and math.isinf(hi) else []
        return min(free, key=lambda end: abs(end[0]), default=None) if self.budget is None else None

    def far_out(self, reach: float) -> float | None:
        """The place so far out in the free end; None where there is none."""
        return None if self.free_end is None else self.free_end[0] + self.free_end[1] * reach

    def vanishes(self, cost: float) -> bool:
        """A law of this expected loss is as good as free where the least one is 0."""
        loss = self.paid_loss
        return self.free_end is not None and cost <= AS_GOOD_AS_FREE * float(loss.value(loss.breaks).max())

    @property
    def budget_loss(self) -> Loss | None:
        """The second loss as the law pays it, None without a budget."""
        if self.budget is None:
            return None
        return self.budget.loss.symmetrised() if self.symmetric else self.budget.loss

    @property
    def power(self) -> float:
        """Power of the steepest piece of the losses."""
        return max(piece.power for loss in self.paid_losses for piece in loss.pieces)

    @property
    def paid_losses(self) -> tuple[Loss, ...]:
        """The loss and, with a budget, the second loss, as the law pays them."""
        return (self.paid_loss,) if self.budget_loss is None else (self.paid_loss, self.budget_loss)

    @property
    def simplified(self) -> NoiseProblem:
        """This problem without pairs (ε, δ) that others imply."""
        second = self.second
        if isinstance(self.profile, PairList):
            pairs = PairList(self.privacies).pairs
            return replace(self, privacy=pairs[0], second=None, profile=PairList(pairs) if len(pairs) > 1 else None)
        if second is None:
            return self
        if self.privacy.implies(second):
            return replace(self, second=None)
        return replace(self, privacy=second, second=None) if second.implies(self.privacy) else self

    @property
    def privacies(self) -> tuple[Privacy, ...]:
        """The pairs to satisfy, without those that others imply twice."""
        second = () if self.second is None else (self.second,)
        listed = self.profile.pairs if isinstance(self.profile, PairList) else ()
        return tuple(dict.fromkeys((self.privacy, *second, *listed)))

    @property
    def joint(self) -> Privacy:
        """The weakest single pair that implies all of `privacies`, (0, 0) left out, which no law keeps."""
        pairs = self.privacies
        epsilon = min(p.epsilon for p in pairs)
        return Privacy(epsilon, min(p.delta for p in pairs if p.delta or epsilon))


def _support(support: object) -> tuple[float, float]:
    accepted = "two numbers LO < HI; an end left empty is infinite"
    try:
        lo, hi = (float(v) for v in support)  # type: ignore[attr-defined]  # what has no two numbers is refused below
    except (TypeError, ValueError):
        raise InputError("support", support, accepted) from None
    if not lo < hi or lo == math.inf or hi == -math.inf or any(1e15 < abs(v) < math.inf for v in (lo, hi)):
        raise InputError("support", f"[{lo:g}, {hi:g}]", accepted)
    return lo, hi


GAP = Quantity("gap", 1e-6, 1.0, 1e-3, "target gap")
TIME_LIMIT = Quantity("time_limit", 0.0, 3600.0, 10.0, "time limit", open=True)
CELLS = Quantity("cells_per_sensitivity", 1, 64, 8, "cells per sensitivity", whole=True)


@dataclass(frozen=True)
class SolverSettings:
    """How hard to try. Settings may widen a bracket, never falsify it.

    gap : relative gap (upper − lower)/lower at which to stop.
    time_limit : seconds.
    method : "certified" (this project's) or "reference" (cutting planes of [SLW, Alg. 1]).
    cells_per_sensitivity : grid of the reference method (β = sensitivity / this).
    max_cells_per_sensitivity : finest grid the certified method may use; next to steps of a law its cells may be cut
        further.
    """

    gap: float = GAP.default
    time_limit: float = TIME_LIMIT.default
    method: str = "certified"
    cells_per_sensitivity: int = int(CELLS.default)
    max_cells_per_sensitivity: int = 1200

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", GAP.check(self.gap))
        object.__setattr__(self, "time_limit", TIME_LIMIT.check(self.time_limit))
        if self.method not in ("certified", "reference"):
            raise InputError("method", self.method, "certified or reference")
        coarse = CELLS.check(self.cells_per_sensitivity)
        finest = whole(1, 5000, max_cells_per_sensitivity=self.max_cells_per_sensitivity)
        object.__setattr__(self, "cells_per_sensitivity", coarse)
        object.__setattr__(self, "max_cells_per_sensitivity", finest)


def noise_problem(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    loss: Loss | str = "l1",
    *,
    symmetric: bool = False,
    monotone: bool = False,
    support: tuple[float, float] = LINE,
    granularity: float | None = None,
    budget: Budget | None = None,
    second: Privacy | None = None,
    profile: PrivacyProfile | None = None,
) -> NoiseProblem:
    """A `NoiseProblem` from plain numbers and a loss or its text."""
    loss = loss if isinstance(loss, Loss) else parse_loss(loss)
    shape = (bool(symmetric), bool(monotone), support)
    return NoiseProblem(Privacy(epsilon, delta), sensitivity, loss, *shape, granularity, budget, second, profile)
