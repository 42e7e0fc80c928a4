"""The smallest ε at which a mechanism, or the best possible one, reaches an error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ._validate import in_range
from .errors import InfeasibleError, InputError
from .mechanisms import INTEGER_MECHANISMS, MECHANISMS, baseline
from .optimal import solve
from .privacy import EPSILON_RANGE, Privacy
from .problem import NoiseProblem, SolverSettings
from .search import bisection
from .solution import Progress

OPTIMAL = "optimal"
"""The mechanism that stands for the best possible one."""

CLOSED_FORM_ERROR = 1e-9
"""Relative error, generously, of an exact expected loss in floating point."""

PLACES = 33
"""Values of ε, evenly spread on a log scale, among which the first that reaches the error is sought."""

DIGITS = 1e-13
"""Relative distance at which the search for a closed form's ε ends."""

DIGITS_OF_SLOW = 1e-4
"""Relative distance at which that search ends for mechanisms whose calibration takes long."""

TRIALS = 60
"""Solves at most."""


@dataclass(frozen=True)
class Inversion:
    """What ε an error takes.

    epsilon_lower : the error is missed at every smaller ε; 0 when nothing is known to miss it.
    epsilon_upper : the error is reached at this ε. With `epsilon_lower` it brackets the smallest such ε.
    loss_lower : a lower bound of the loss at epsilon_lower, above the error; infinite where there is no law at all
        (None when epsilon_lower is 0 because nothing is known to miss the error).
    loss_upper : an upper bound of the loss at epsilon_upper, at most the error.
    solves : problems solved on the way.
    """

    problem: NoiseProblem
    mechanism: str
    error: float
    epsilon_lower: float
    epsilon_upper: float
    loss_lower: float | None
    loss_upper: float
    solves: int = 0
    seconds: float = 0.0


def invert(
    problem: NoiseProblem,
    error: float,
    mechanism: str = OPTIMAL,
    *,
    tolerance: float = 2e-3,
    settings: SolverSettings | None = None,
    stop: Callable[[], bool] | None = None,
) -> Inversion:
    """The smallest ε with which the expected loss of a mechanism is at most `error`, as an interval.

    A half-width is an exceedance probability, and that is an expected loss: the noise stays within W with probability
    0.95 when its loss "exceed:W" is at most 0.05.

    Parameters
    ----------
    problem : its ε is not looked at.
    mechanism : "optimal" or a key of `MECHANISMS` (of `INTEGER_MECHANISMS` for a query with a granularity).
    tolerance : relative width of the interval to aim at for the optimum. What the settings' time limit, for all solves
        together, does not allow stays open; the interval is certified whenever it ends. Closed forms are
        inverted to rounding.
    stop : looked at about every 0.1 s; True ends the search with the interval so far.

    Returns
    -------
    For the optimum, whose loss does not increase with ε, both ends are proved: a lower bound of the loss is above
    the error at one, an audited law is within it at the other. For a closed form its exact loss, give or take rounding,
    is above the error at one and within it at the other, and the ends all but coincide; where a loss is not monotone in
    ε (truncated Laplace noise at δ > 1/2, tables with several valleys), the first crossing is meant as far
    as 33 values of ε between 0.001 and 20 tell.

    Raises
    ------
    InputError : no ε that is accepted reaches the error; the message says what can be reached.
    """
    began = time.perf_counter()
    error = in_range(0.0, 1e15, error=error)
    tolerance = in_range(1e-5, 1.0, tolerance=tolerance)
    if problem.profile is not None:
        raise InputError("profile", problem.profile.spec, "one pair (epsilon, delta), whose epsilon is looked for")
    known = [OPTIMAL, *(MECHANISMS if problem.granularity is None else INTEGER_MECHANISMS)]
    if mechanism not in known:
        raise InputError("mechanism", mechanism, ", ".join(known))
    if mechanism != OPTIMAL:
        found = _closed_form(problem, error, mechanism)
    else:
        found = _Optimum(problem, error, tolerance, settings or SolverSettings(), stop or (lambda: False)).run()
    return replace(found, seconds=time.perf_counter() - began)


def at(problem: NoiseProblem, epsilon: float) -> NoiseProblem:
    """The problem with another ε."""
    return replace(problem, privacy=Privacy(epsilon, problem.privacy.delta))


# Closed forms ----------------------------------------------------------------------------------------


def _closed_form(problem: NoiseProblem, error: float, mechanism: str) -> Inversion:
    """The first crossing among a few places, then halving."""
    low, high = EPSILON_RANGE
    if problem.granularity is None:
        high = min(high, MECHANISMS[mechanism].largest_epsilon)
    reasons: list[str] = []

    def loss(epsilon: float) -> float:
        try:
            entry = baseline(mechanism, at(problem, epsilon))
        except InputError as refused:  # the support is too narrow for any law
            reasons.append(str(refused))
            return math.inf
        if entry.loss is None or not entry.valid:
            reasons.append(entry.reason)
            return math.inf
        return entry.loss

    places = [low * (high / low) ** (i / (PLACES - 1)) for i in range(PLACES)]
    if problem.privacy.delta > 0:
        places.insert(0, 0.0)
    least, before = math.inf, None
    for place in (*places[:-1], high):
        value = loss(place)
        least = min(least, value)
        if value * (1 + CLOSED_FORM_ERROR) <= error:
            return _narrowed(problem, error, mechanism, loss, before, place)
        before = place
    raise _out_of_reach(error, mechanism, least, high, reasons)


def _narrowed(
    problem: NoiseProblem, error: float, mechanism: str, loss: Callable[[float], float], before: float | None, hi: float
) -> Inversion:
    """The crossing between a place that may miss the error (None: there is none) and one that reaches it."""
    at_most: Callable[[float], float] = lambda epsilon: loss(epsilon) * (1 + CLOSED_FORM_ERROR)  # noqa: E731
    reached, digits = at_most(hi), DIGITS
    if mechanism in MECHANISMS and MECHANISMS[mechanism].slow:
        digits = DIGITS_OF_SLOW
    if before is None:
        return Inversion(problem, mechanism, error, 0.0, hi, None, reached)
    if before == 0.0:  # nothing is accepted between 0 and the smallest ε
        missed = loss(0.0) * (1 - CLOSED_FORM_ERROR)
        return Inversion(problem, mechanism, error, 0.0, hi, missed if missed > error else None, reached)
    hi, _ = bisection(lambda x: at_most(x) <= error, hi, before, near=lambda hi, lo: hi - lo <= digits * hi)
    reached, last_miss = at_most(hi), before
    step = digits * hi
    while (
        missed := loss(last_miss := max(hi - step, before)) * (1 - CLOSED_FORM_ERROR)
    ) <= error and last_miss > before:
        step *= 2
    if missed <= error:  # flat: it touches the error without rising above it
        return Inversion(problem, mechanism, error, 0.0, hi, None, reached)
    return Inversion(problem, mechanism, error, last_miss, hi, missed, reached)


def _out_of_reach(error: float, name: str, least: float, highest: float, reasons: Sequence[str] = ()) -> InputError:
    """What can be reached, or why nothing can."""
    if math.isinf(least):
        why = next((reason for reason in reversed(reasons) if reason), "it does not apply")
        return InputError("mechanism", name, f"one that exists for this problem ({why})")
    shown = f"{least * (1 + 5e-6):.6g}"
    accepted = f"at least {shown}, which {name} noise reaches with epsilon up to {highest:g}"
    return InputError("error", f"{error:g}", accepted)


# The optimum -----------------------------------------------------------------------------------------


class _Optimum:
    """Halving on certified bounds: a trial at some ε reaches the error (a law is within it), misses it (a lower bound
    is above it) or is too close to call."""

    def __init__(
        self,
        problem: NoiseProblem,
        error: float,
        tolerance: float,
        settings: SolverSettings,
        stop: Callable[[], bool],
    ) -> None:
        self.problem, self.error, self.tolerance, self.settings, self.stop = problem, error, tolerance, settings, stop
        self.deadline = time.perf_counter() + settings.time_limit
        self.lo, self.hi = 0.0, math.inf
        self.loss_lo: float | None = None
        self.loss_hi = math.inf
        self.solves, self.least = 0, math.inf
        self.estimates: dict[float, float] = {}

    @property
    def over(self) -> bool:
        return self.stop() or self.solves >= TRIALS or time.perf_counter() >= self.deadline

    def run(self) -> Inversion:
        self._start()
        self._descend()
        while self.lo > 0 and self.hi > self.lo * (1 + self.tolerance) and not self.over:
            middle = self._guess()
            if not self.lo < middle < self.hi:
                break
            if self.try_(middle) == "open":
                self._around(middle)
                break
        lo = self.lo if self.loss_lo is not None else 0.0
        return Inversion(self.problem, OPTIMAL, self.error, lo, self.hi, self.loss_lo, self.loss_hi, self.solves)

    def _start(self) -> None:
        """The first law within the error: a closed form's or, where there is none, the optimum's at the largest ε."""
        keys = MECHANISMS if self.problem.granularity is None else INTEGER_MECHANISMS
        for key in (key for key, entry in keys.items() if not entry.slow):
            try:
                found = _closed_form(self.problem, self.error, key)
            except InputError:
                continue
            if found.epsilon_upper < self.hi:
                self.hi, self.loss_hi = found.epsilon_upper, found.loss_upper
        if math.isinf(self.hi) and self.try_(EPSILON_RANGE[1]) != "reached":
            raise _out_of_reach(self.error, OPTIMAL, self.least, EPSILON_RANGE[1])

    def _descend(self) -> None:
        """An ε that misses the error: half the one that reaches it, half of that, …, the smallest, 0."""
        smallest, epsilon = EPSILON_RANGE[0], self.hi
        while epsilon > 0 and not self.over:
            epsilon = max(epsilon / 2, smallest) if epsilon > smallest else 0.0
            if (epsilon == 0 and self.problem.privacy.delta == 0) or self.try_(epsilon) == "missed":
                return

    def _decided(self, record: Progress) -> bool:
        return record.upper <= self.error or record.lower > self.error or self.over

    def try_(self, epsilon: float) -> str:
        """Solve until the error is reached or missed: "reached", "missed" or "open"."""
        try:
            problem = at(self.problem, epsilon)
        except InfeasibleError:  # proved: the support is too narrow for any law
            return self._missed(epsilon, math.inf)
        except InputError:  # no problem at this ε (a second pair that the first no longer implies): nothing is known
            return "open"
        settings = replace(self.settings, gap=min(max(self.tolerance / 2, 1e-6), self.settings.gap))
        self.solves += 1
        try:
            proof = solve(problem, settings, self._decided).certificate
        except InfeasibleError:  # as far as is known; not a proof, so nothing is concluded
            self.estimates[epsilon] = math.inf
            return "open"
        lower = 0.0 if proof.lower is None else proof.lower
        self.least, self.estimates[epsilon] = min(self.least, proof.upper), 0.5 * (lower + proof.upper)
        if proof.upper <= self.error:
            if epsilon < self.hi:
                self.hi, self.loss_hi = epsilon, proof.upper
            return "reached"
        if lower > self.error:
            return self._missed(epsilon, lower)
        return "open"

    def _missed(self, epsilon: float, lower: float) -> str:
        if epsilon >= self.lo:
            self.lo, self.loss_lo = epsilon, lower
        return "missed"

    def _guess(self) -> float:
        """Between the ends on a log scale: where a line through what is known of them meets the error, every third
        time the middle."""
        a, b = math.log(self.lo), math.log(self.hi)
        share = 0.5
        low, high = self.estimates.get(self.lo), self.estimates.get(self.hi, self.loss_hi)
        if self.solves % 3 and low and high and math.isfinite(low) and low > self.error > high > 0:
            share = math.log(low / self.error) / math.log(low / high)
        return math.exp(a + min(max(share, 0.05), 0.95) * (b - a))

    def _around(self, middle: float) -> None:
        """Too close to call at `middle`: bring both ends as near as can be decided."""
        for side, wanted in ((1, "reached"), (-1, "missed")):
            step = 0.5 * self.tolerance
            while not self.over:
                epsilon = middle * (1 + side * step)
                if not self.lo < epsilon < self.hi or self.try_(epsilon) == wanted:
                    break
                step *= 2
