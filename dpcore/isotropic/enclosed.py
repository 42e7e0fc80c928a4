"""δ(ε) and loss of radial laws with a closed form, proved: rigorous integration in ball arithmetic, rounded up.

All of them fall outwards, so that the largest shift is the worst one (docs/isotropic.md, "One shift").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from ..errors import SolverError
from . import balls
from .balls import Ball
from .closed_forms import PowerLaw, TruncatedLaw
from .problem import RadialLoss

FINE = 1e-8
"""Share of δ that an integral may be off, and each thing that is left out."""

NARROW = 3e-6
"""Share of δ below which the error of an answer is small enough."""

BESIDE, TIMES, MOST_TRIES = (1e-12, 1e-3), 8.0, 12
"""Least and most that is left out on either side of a kink, where it is expected to lie, or 8, 8² … times that."""

BITS, MOST_BITS = 96, 192


def gaussian_delta_upper(sigma: float, epsilon: float) -> float:
    """Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ), rounded up [BW18]: rotations leave one coordinate."""

    def compute() -> Ball:
        s, e = balls.exact(sigma), balls.exact(epsilon)
        tail: Callable[[Ball], Ball] = lambda t: (t / balls.exact(2.0).sqrt()).erfc() / 2  # noqa: E731
        return tail(e * s - 1 / (2 * s)) - e.exp() * tail(e * s + 1 / (2 * s))

    return balls.upper(compute, least=2.0**-62)


def delta_upper(law: PowerLaw | TruncatedLaw, epsilon: float) -> float:
    """δ(ε) of a law over all shifts up to 1, rounded up, ε > 0; a truncated law at its own ε.

    Raises
    ------
    SolverError : it did not narrow down.
    """
    about = law.delta(epsilon)
    bits = BITS
    while bits <= MOST_BITS:
        with balls.precision(bits):
            value = _excess(law, epsilon, about)
            if value.is_finite() and float(value.rad()) <= NARROW * max(about, 1e-300):
                return min(1.0, max(0.0, balls.above(value)))
        bits *= 2
    raise SolverError("rigorous integration did not narrow a law's δ down")


class _Levels:
    """Radii of a power law at a level, as `PowerLaw.level`, in balls; see there."""

    def __init__(self, law: PowerLaw, epsilon: float) -> None:
        self.epsilon, self.sigma = balls.exact(epsilon), balls.exact(law.sigma)
        self.root = 1 / balls.exact(law.q)
        self.bend = -balls.exact(law.k) * self.root
        self.shape = law.dimension * self.root - self.bend
        self.apart = self.sigma * self.epsilon if (law.q, law.k) == (1, 0) else None  # b − a, the same everywhere

    def at(self, s: Ball) -> tuple[Ball, Ball, Ball, Ball]:
        """(w, ln(1 + w), y, ln y)."""
        w = s.exp()
        longer = w.log1p()
        y = (self.epsilon - self.bend * longer) / w
        return w, longer, y, y.log()

    def radii(self, s: Ball) -> tuple[Ball, Ball]:
        """(a, b − a). Where the difference is almost 1 it decides how wide a ball may be: so it is taken in the middle
        of the ball, and its slope all over."""
        w, longer, y, log = self.at(s)
        a, further = self.sigma * (self.root * log).exp(), (self.root * longer).expm1()
        if self.apart is not None:
            return a, self.apart
        if s.is_exact():
            return a, a * further
        middle = s.mid()
        slope = a * self.root * ((1 + further) * w / (1 + w) - further * (1 + self.bend / ((1 + w) * y)))
        return a, self.radii(middle)[1] + slope * (s - middle)

    def mass(self, first: float, last: float) -> Ball:
        """P(|X| between the radii a of two places)."""
        far, near = (self.at(balls.exact(s))[2] for s in (first, last))
        one = balls.gamma_below(self.shape, far) - balls.gamma_below(self.shape, near)
        other = balls.gamma_above(self.shape, near) - balls.gamma_above(self.shape, far)
        return one if one.rad() < other.rad() else other


@singledispatch
def _excess(law: Any, epsilon: float, about: float) -> Ball:
    """δ(ε) of a law, which is about as large as quadrature says."""
    raise TypeError(f"{type(law).__name__} has no enclosure")


@_excess.register(PowerLaw)
def _over_levels(law: PowerLaw, epsilon: float, about: float) -> Ball:
    """δ(ε) from above, an integral over s between the kinks; what is left out counts as if all of it were lost.

    Between two places at which the radii compare alike they do so throughout: a and b fall in s, so a + b = 1 once; and
    b − a as a function of a has one turn at most, a maximum (docs/isotropic.md, "Laws with a closed form").
    """
    d, levels, tiny = law.dimension, _Levels(law, epsilon), FINE * about
    half = balls.exact(0.5)
    complete = balls.complete_beta(d - 1) if d > 1 else half
    log_gamma, smooth = levels.shape.lgamma(), d % 2 == 1  # then shares are polynomials
    longer_by = d * levels.root - 1

    def leaves(a: Ball, rise: Ball) -> Ball:
        return (1 - rise) * (half + (1 + rise) / (4 * a))

    def gain(s: Ball, analytic: bool) -> Ball:
        w, longer, y, log = levels.at(s)
        a, rise = levels.radii(s)
        out, back = leaves(a, rise), (1 - rise) * (half - (1 + rise) / (4 * (a + rise)))
        if analytic and not (y.real > 0 and (smooth or all(u.real > 0 and u.real < 1 for u in (out, back)))):
            return balls.unknown()
        base = levels.shape * log - y - log_gamma
        own = base.exp() * (1 + levels.bend / ((1 + w) * y))
        other = (base + longer_by * longer).exp() * (1 + levels.bend / y)
        return own * balls.share(out, d - 1, complete) - other * balls.share(back, d - 1, complete)

    def compared(s: float) -> tuple[bool | None, bool | None]:
        """(b < a + 1, a + b > 1); None where it is not known."""
        a, rise = levels.radii(balls.exact(s))
        return balls.positive(1 - rise), balls.positive(2 * a + rise - 1)

    first, *inner, last = law.kinks(epsilon, min(FINE * about, 1e-3))
    total = balls.gamma_above(levels.shape, levels.at(balls.exact(first))[2])
    total += balls.gamma_below(levels.shape, levels.at(balls.exact(last))[2])
    starts, stops = [first], []
    # Shares next to a kink are like the distance to it to the power (d − 1)/2, or 1 less that.
    narrow = min(max(0.1 * tiny ** (2 / (d + 1)), BESIDE[0]), BESIDE[1])
    for kink, following in zip(inner, [*inner[1:], last]):
        off = min(narrow, 0.2 * (kink - starts[-1]), 0.2 * (following - kink))
        for _ in range(MOST_TRIES):
            before, after = kink - off, kink + off
            here, there = compared(before), compared(after)
            if here != there and None not in (*here, *there):
                break
            off *= TIMES
        if not starts[-1] < before < after < following:
            return balls.exact(math.nan)
        most = leaves(*levels.radii(balls.between(before, after))).upper()  # of the mass that is there
        share = balls.share(most, d - 1, complete).real if 0 < most < 1 else balls.exact(1.0 if most > 0 else 0.0)
        total += levels.mass(before, after).upper() * share.upper()
        stops.append(before)
        starts.append(after)
    stops.append(last)
    for start, stop in zip(starts, stops):
        inside, overlapping = compared(start)
        if None in (inside, overlapping) or compared(stop) != (inside, overlapping):
            return balls.exact(math.nan)
        if inside and overlapping:
            total += balls.integral(gain, start, stop, 0.1 * tiny)
        elif inside:
            total += levels.mass(start, stop)
    return total


@_excess.register(TruncatedLaw)
def _uncovered(law: TruncatedLaw, _: float, about: float) -> Ball:
    """P(|X + e| > radius), from above: what the shifted ball does not cover; where both have mass the densities differ
    by e^ε at most."""
    d, radius, epsilon = law.dimension, balls.exact(law.radius), balls.exact(law.epsilon)
    complete = balls.complete_beta(d - 1) if d > 1 else balls.exact(0.5)
    whole = balls.gamma_below(balls.exact(d), epsilon * radius)
    log_norm = d * epsilon.log() - balls.exact(d).lgamma() - whole.log()

    def gain(r: Ball, analytic: bool) -> Ball:
        out = (r + 1 - radius) * (r + 1 + radius) / (4 * r)
        if analytic and not (out.real > 0 and out.real < 1 and r.real > 0):
            return balls.unknown()
        density = ((d - 1) * r.log() - epsilon * r + log_norm).exp()
        return density * balls.share(out, d - 1, complete)

    start, total = law.radius - 1, balls.exact(0.0)
    if start < 0:
        start = min(-start, law.radius)
        total += balls.gamma_below(balls.exact(d), epsilon * start) / whole
    # Next to the start, where the float is not the place itself, all counts.
    after = math.nextafter(start + 1e-9 * (law.radius - start), math.inf)
    if start < law.radius:
        total += balls.integral(gain, after, law.radius, 0.1 * FINE * about)
        most = ((d - 1) * balls.exact(after).log() - epsilon * start + log_norm).exp()
        total += (balls.exact(after) - start) * most
    return total


def loss_upper(law: PowerLaw | TruncatedLaw, loss: RadialLoss) -> float:
    """E c(|X|), rounded up: quotients of (incomplete) gamma functions."""
    if loss.beyond is not None and loss.beyond >= law.outermost:
        return 0.0
    return balls.upper(lambda: _cost(law, loss), 2.0**-62)


@singledispatch
def _cost(law: Any, loss: RadialLoss) -> Ball:
    """E c(|X|); a threshold lies within the law's radius."""
    raise TypeError(f"{type(law).__name__} has no enclosure")


@_cost.register(PowerLaw)
def _of_power_law(law: PowerLaw, loss: RadialLoss) -> Ball:
    sigma, root = balls.exact(law.sigma), 1 / balls.exact(law.q)
    shape = (law.dimension + balls.exact(law.k)) * root
    if loss.beyond is not None:
        return balls.gamma_above(shape, (balls.exact(loss.beyond) / sigma) ** balls.exact(law.q))
    power = balls.exact(loss.power)
    return sigma**power * ((shape + power * root).lgamma() - shape.lgamma()).exp()


@_cost.register(TruncatedLaw)
def _of_truncated(law: TruncatedLaw, loss: RadialLoss) -> Ball:
    d, epsilon, radius = balls.exact(float(law.dimension)), balls.exact(law.epsilon), balls.exact(law.radius)
    whole = balls.gamma_below(d, epsilon * radius)
    if loss.beyond is not None:
        return 1 - balls.gamma_below(d, epsilon * loss.beyond) / whole
    power = balls.exact(loss.power)
    grown = balls.gamma_below(d + power, epsilon * radius) / whole
    return grown * ((d + power).lgamma() - d.lgamma()).exp() / epsilon**power
