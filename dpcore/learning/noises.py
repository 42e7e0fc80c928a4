"""The laws of the noise, and the exact account of all statistics together.

A law is for sensitivity 1; every statistic gets it times its sensitivity. What one person changes is told as *shifts*:
(share of the sensitivity, how many statistics), for each of the ways in which a person may change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..accounting.mechanisms import Additive, Promised, Release
from ..accounting.truth import Truth
from ..errors import InputError
from ..loss import absolute
from ..mechanisms import MECHANISMS
from ..noise.base import Noise
from ..noise.gaussian import Gaussian
from ..optimal import solve
from ..privacy import EPSILON, Privacy
from ..privacy_profile import Composed
from ..problem import SolverSettings, noise_problem

SHORT = {"gaussian-classical": "GN", "gaussian": "AG", "truncated-laplace": "TLN", "optimal": "OPT"}
"""The laws of [SLW, §5.2] by the keys of this project, in the order of the paper."""

DATA_DEPENDENT = "data-dependent"
"""The key of noise for means and standard deviations: `dpcore.learning.bounded`."""

NAMES = {key: entry.name for key, entry in MECHANISMS.items()} | {
    "optimal": "Certified optimum", DATA_DEPENDENT: "Data-dependent",
}  # fmt: skip

SETTINGS = SolverSettings(gap=1e-2, time_limit=5.0)
TOGETHER = SolverSettings(gap=5e-2, time_limit=2.0)
"""Gap and time of a total's laws. Of fifteen, for three sets and five ε, 5 s made one smaller by 3 %, two by .3 %."""

POINTS = 1 << 13
"""Points of the grid on which a total is certified."""

SHARE = 0.5
"""Share of δ that laws with a δ of their own get one by one; the rest is what exact accounting saves ε with."""

MOST_SOLVED = 50
"""Of more releases together the search takes seconds between two looks at whether to end, and gains nothing: of 200 at
(1, 10⁻⁵) and (10, 10⁻⁵) it ended at the Gaussian."""

CLOSE = 2e-3
"""Relative accuracy of what is calibrated to a total; it errs to the private side."""

MOST_GROWTH = 8.0
"""Largest factor between ε of one evaluation and of the next."""

TURNS = 12
"""Evaluations of a total in a calibration, at most."""

Array = NDArray[np.float64]
Shifts = tuple[tuple[float, int], ...]


class StoppedError(Exception):
    """The caller asked for an end before a law was found."""


@dataclass(frozen=True)
class Watch:
    """`stop` is asked every tenth of a second or so whether to end a calibration; all are equal, so that what is found
    is remembered whoever watched."""

    stop: Callable[[], bool] = field(default=lambda: False, compare=False)

    def look(self, *_: object) -> bool:
        """As a solver's progress callback.

        Raises
        ------
        StoppedError : it is to end.
        """
        if self.stop():
            raise StoppedError
        return False


NOBODY = Watch()


def drawn(noise: Noise, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Floating-point draws, for simulation."""
    return noise.sample(rng, math.prod(shape)).reshape(shape)


def amplitude(noise: Noise) -> float:
    """E|X|."""
    return noise.expected_loss(absolute())


def check(key: str) -> str:
    """A law's key, of noise that does not depend on the data.

    Raises
    ------
    InputError : there is no such law.
    """
    known = [one for one in NAMES if one != DATA_DEPENDENT]
    if key not in known:
        raise InputError("noise", key, ", ".join(known))
    return key


@lru_cache(maxsize=256)
def each(key: str, privacy: Privacy, watch: Watch = NOBODY) -> Noise:
    """The law for one statistic of sensitivity 1 that keeps (ε, δ) by itself.

    Raises
    ------
    InputError : the law does not exist there.
    """
    if check(key) == "optimal":
        return solve(noise_problem(privacy.epsilon, privacy.delta), SETTINGS, watch.look).noise
    return _existing(key, privacy)


@lru_cache(maxsize=256)
def together(key: str, privacy: Privacy, cases: tuple[Shifts, ...], watch: Watch = NOBODY) -> Noise:
    """The law with which all statistics together keep (ε, δ), by exact accounting of every case of shifts.

    gaussian: in closed form. optimal: the certified law for so many releases together [method: A whole profile].
    Others: the least noise of that shape that the accountant lets pass.

    Raises
    ------
    InputError : the law does not exist there.
    StoppedError : `watch` said so.
    """
    squares = max(math.fsum(count * shift**2 for shift, count in case) for case in cases)
    most = max(math.fsum(count * shift for shift, count in case) for case in cases)
    if check(key) == "gaussian":
        return Gaussian.calibrate(privacy, math.sqrt(squares) * (1 + 1e-15))
    if key == "gaussian-classical":
        return _existing(key, privacy, math.sqrt(squares) * (1 + 1e-15))
    number = max(sum(count for _, count in case) for case in cases)
    if privacy.delta == 0:  # half a shift costs Laplace noise half of ε, and other laws up to all of it
        steps = max(sum(count * math.ceil(shift) for shift, count in case) for case in cases)
        parts = most if key == "laplace" else steps
        return each(key, Privacy(privacy.epsilon / (parts * (1 + 1e-12)), 0.0), watch)
    if key == "optimal":
        return _optimal(privacy, cases, squares, watch)
    delta = privacy.delta * SHARE / number if MECHANISMS[key].needs_delta else 0.0
    return _least(key, privacy, cases, delta, most, watch)


def keeps(law: Noise, privacy: Privacy, cases: Sequence[Shifts], watch: Watch = NOBODY) -> bool:
    """All statistics together are (ε, δ)-DP with this law, for sure."""
    epsilon, delta = privacy.epsilon, privacy.delta
    return not any(_truth(law, case, delta, watch).delta(epsilon).upper > delta for case in cases if not watch.look())


def epsilon_of(law: Noise, delta: float, cases: Sequence[Shifts], watch: Watch = NOBODY) -> float:
    """ε at δ of all statistics together, rounded up; infinite where there is none."""
    return max(_truth(law, case, delta, watch).epsilon_upper(delta) for case in cases if not watch.look())


def delta_of(law: Noise, epsilon: float, cases: Sequence[Shifts], watch: Watch = NOBODY) -> float:
    """δ at ε of all statistics together, rounded up."""
    return max(_truth(law, case, 1e-9, watch).delta(epsilon).upper for case in cases if not watch.look())


def promised_delta(privacy: Privacy, number: int, epsilon: float) -> float:
    """δ at ε of so many statistics of which each is known to be (ε, δ)-DP and nothing more, rounded up."""
    return Truth([Release(Promised("each", privacy.epsilon, privacy.delta), number)]).delta(epsilon).upper


def _truth(law: Noise, case: Shifts, delta: float, watch: Watch) -> Truth:
    releases = [Release(Additive(f"{law.name} {shift:g}", law, shift), count) for shift, count in case]
    made = Truth(releases, points=POINTS, delta=max(delta, 1e-12))
    watch.look()
    return made


def _existing(key: str, privacy: Privacy, sensitivity: float = 1.0) -> Noise:
    """A law of `MECHANISMS`, if it is proved there."""
    entry = MECHANISMS[key]
    if reason := entry.missing(privacy):
        raise InputError("noise", key, f"another law: {reason}")
    if privacy.epsilon > entry.largest_epsilon:
        raise InputError("epsilon", f"{privacy.epsilon:g}", f"at most {entry.largest_epsilon:g} for {entry.name}")
    return entry.rule(privacy, sensitivity, absolute())


def _least(key: str, privacy: Privacy, cases: tuple[Shifts, ...], delta: float, most: float, watch: Watch) -> Noise:
    """The law of this δ and about the largest ε for each statistic with which all together keep the privacy."""
    make: Callable[[float], Noise] = lambda epsilon: _existing(key, Privacy(epsilon, delta))  # noqa: E731
    low = max(privacy.epsilon / most * (1 - 1e-9), EPSILON.low)
    target, aim = privacy.epsilon, privacy.epsilon * (1 - CLOSE / 2)
    (best, under), (over, above) = (low, 0.0), (math.inf, math.inf)  # ε that passes, ε that does not; their totals
    epsilon = min(1.5 * low, EPSILON.high)
    for _ in range(TURNS):
        total = epsilon_of(make(epsilon), privacy.delta, cases, watch)
        if total > target:
            over, above = epsilon, total
        else:
            best, under = epsilon, total
            if total >= target * (1 - CLOSE) or epsilon == EPSILON.high:
                break
        if math.isfinite(above) and under > 0:  # a power of ε through both
            epsilon = best * (aim / under) ** (math.log(over / best) / math.log(above / under))
        elif math.isfinite(over):
            epsilon = math.sqrt(best * over)
        else:  # between the first and the second power; the total is 0 where δ alone is enough
            growth = min((aim / total) ** 0.75, MOST_GROWTH) if total else MOST_GROWTH
            epsilon = min(epsilon * growth, EPSILON.high)
    law = make(best)
    if not keeps(law, privacy, cases, watch):
        raise InputError("epsilon", f"{privacy.epsilon:g}", f"more, for {NAMES[key]} noise on so many statistics")
    return law


def _optimal(privacy: Privacy, cases: tuple[Shifts, ...], squares: float, watch: Watch) -> Noise:
    """The best law found: the certified one for so many releases together, if all cases keep the privacy with it, or
    the Gaussian or Laplace's. Where a person may move a sum by less than its sensitivity, the density has to fall away
    from 0, so that smaller shifts reveal less."""
    found = [together(key, privacy, cases, watch) for key in ("gaussian", "laplace")]
    falls = any(shift != 1 for case in cases for shift, _ in case)
    number = max(1, math.ceil(squares - 1e-9))
    try:
        promise = Composed(number, privacy)
    except InputError:  # a budget beyond what the search takes
        return min(found, key=amplitude)
    if number > MOST_SOLVED:
        return min(found, key=amplitude)
    asked = noise_problem(privacy.epsilon, privacy.delta, monotone=falls, symmetric=falls, profile=promise)
    law = solve(asked, TOGETHER, watch.look).noise
    best = min([*found, law], key=amplitude)
    return best if best is not law or keeps(law, privacy, cases, watch) else min(found, key=amplitude)
