"""Weights on the query range: how much each true value counts in the average loss.

A weight is piecewise linear on equal parts of the range, with jumps where parts meet. Its values are floats, its
nodes are fractions i/n of the range, so that everything the bounds need of it is exact but for the rounding of a
few floating-point operations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._validate import above, decimal, in_range
from ..errors import InputError
from ..numbers import read_numbers, write_number

Array = NDArray[np.float64]

NORMAL_PARTS = 256
"""A truncated normal weight is, by definition here, its interpolation at so many equal steps."""

MAX_BINS = 500
FORMS = "uniform, triangular, normal:MEAN:SD, histogram:W1,W2,…"


@dataclass(frozen=True)
class Weight:
    """A family and its numbers; `spec` is the text that `parse_weight` reads, `title` is for people."""

    spec: str
    title: str
    parameters: tuple[float, ...] = ()

    @property
    def family(self) -> str:
        return self.spec.partition(":")[0]

    def on(self, low: float, high: float) -> Density:
        """The weight on the range [low, high].

        Raises
        ------
        InputError : no weight is left on the range.
        """
        if self.family == "uniform":
            return Density((1.0,), (1.0,))
        if self.family == "triangular":
            return Density((0.0, 1.0), (1.0, 0.0))
        if self.family == "histogram":
            return Density(self.parameters, self.parameters)
        mean, sd = self.parameters
        width = float(decimal(high) - decimal(low))
        off = float(decimal(mean) - (decimal(low) + decimal(high)) / 2)
        # (2i − n)/2n is the mirror image of (n − 2i)/2n exactly, so the weight is symmetric when off is 0.
        z = ((2.0 * np.arange(NORMAL_PARTS + 1) - NORMAL_PARTS) / (2 * NORMAL_PARTS) * width - off) / sd
        values = np.exp(-0.5 * z * z)
        values[values < 1e-30] = 0.0
        if not values.any():
            raise InputError("weight", self.spec, "a mean and a standard deviation that leave some weight on the range")
        return Density(tuple(values[:-1].tolist()), tuple(values[1:].tolist()))


def parse_weight(spec: str) -> Weight:
    """The weight a text names: uniform, triangular (highest in the middle, 0 at the ends), normal:MEAN:SD (truncated
    to the range), histogram:W1,W2,… (equal bins)."""
    text = str(spec).strip()
    family, _, rest = text.partition(":")
    if text == "uniform":
        return Weight("uniform", "every value counts the same")
    if text == "triangular":
        return Weight("triangular", "middle values count most")
    if family == "normal" and rest.count(":") == 1:
        return normal(*rest.split(":"))
    if family == "histogram" and rest:
        return histogram(read_numbers(rest, "weight_bin", commas=True))
    raise InputError("weight", spec, f"one of {FORMS}")


def normal(mean: object, sd: object) -> Weight:
    """Normal with this mean and standard deviation, truncated to the range."""
    m, s = in_range(-1e12, 1e12, weight_mean=mean), above(0, 1e12, weight_sd=sd)
    spec = f"normal:{write_number(m)}:{write_number(s)}"
    return Weight(spec, f"normal around {m:g}, standard deviation {s:g}", (m, s))


def histogram(weights: Iterable[object]) -> Weight:
    """Equal bins with these weights, from left to right."""
    bins = tuple(in_range(0, 1e12, weight_bin=v) for v in weights)
    if len(bins) > MAX_BINS:
        raise InputError("weight", f"{len(bins)} bins", f"at most {MAX_BINS} bins")
    spec = "histogram:" + ",".join(map(write_number, bins))
    if max(bins, default=0.0) == 0:
        raise InputError("weight", spec, "a histogram with a positive bin")
    return Weight(spec, f"histogram with {len(bins)} bins", bins)


@dataclass(frozen=True)
class Density:
    """A weight on [0, 1]: part i of n goes linearly from left[i] at i/n to right[i] at (i + 1)/n. Not normalised."""

    left: tuple[float, ...]
    right: tuple[float, ...]

    @property
    def parts(self) -> int:
        return len(self.left)

    @property
    def symmetric(self) -> bool:
        """w(1 − u) = w(u)."""
        return self.left == self.right[::-1]

    @property
    def constant(self) -> bool:
        return min(self.left + self.right) == max(self.left + self.right)

    @property
    def total(self) -> Fraction:
        """∫ w over [0, 1], exactly."""
        return sum((Fraction(v) for v in self.left + self.right), Fraction(0)) / (2 * self.parts)

    @property
    def largest(self) -> float:
        return max(self.left + self.right)

    @property
    def variation(self) -> Fraction:
        """Total variation of w over the line, w = 0 outside [0, 1]; exactly."""
        steps = [
            (0.0, self.left[0]),
            *zip(self.left, self.right),
            *zip(self.right, self.left[1:]),
            (self.right[-1], 0.0),
        ]
        return sum((abs(Fraction(b) - Fraction(a)) for a, b in steps), Fraction(0))

    def at(self, u: Array) -> Array:
        """w at fractions u of the range, normalised to mean 1 (the larger side counts at a jump); for drawings."""
        u = np.clip(np.asarray(u, dtype=float), 0.0, 1.0)
        index = np.minimum((u * self.parts).astype(int), self.parts - 1)
        inside = u * self.parts - index
        left, right = np.array(self.left), np.array(self.right)
        heights: Array = (left[index] * (1 - inside) + right[index] * inside) / float(self.total)
        return heights

    def pieces(self, start: Fraction, stop: Fraction) -> Iterator[tuple[Fraction, Fraction, float, float]]:
        """(from, to, value at from, value at to) of the linear pieces that tile [start, stop] ⊂ [0, 1]."""
        n = self.parts
        for i in range(math.floor(start * n), min(math.ceil(stop * n), n)):
            u, v = max(start, Fraction(i, n)), min(stop, Fraction(i + 1, n))
            if u < v:
                yield u, v, self._value(i, u), self._value(i, v)

    def _value(self, part: int, u: Fraction) -> float:
        """The linear function of a part at u, within 4 units in the last place of the larger end."""
        inside = float(u * self.parts - part)
        return self.left[part] * (1 - inside) + self.right[part] * inside

    def minorant(self, start: Fraction, stop: Fraction) -> tuple[float, float]:
        """End values of a linear function below w on [start, stop], nowhere negative, that is largest in the middle: a
        supporting line of the convex hull of w there. Within 2⁻⁴⁸·largest. Mirror images of w have mirror images of it.
        """
        points: list[tuple[Fraction, float]] = []
        for u, v, at_u, at_v in self.pieces(start, stop):
            if points and points[-1][0] == u:
                points[-1] = (u, min(points[-1][1], at_u))
            else:
                points.append((u, at_u))
            points.append((v, at_v))
        hull: list[tuple[float, float]] = []
        width = stop - start
        for x, y in ((float((u - start) / width), y) for u, y in points):
            while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (x, y)):
                hull.pop()
            hull.append((x, y))
        line = _supporting(hull)
        excess = max(line[0] * (1 - x) + line[1] * x - y for x, y in hull)  # rounding of the hull, if any
        return line[0] - max(excess, 0.0), line[1] - max(excess, 0.0)


def _supporting(hull: list[tuple[float, float]]) -> tuple[float, float]:
    """End values of the line below a convex, non-negative polygon over [0, 1] that is largest in the middle, of those
    that are negative at neither end; of several the one with the mean slope."""
    sides = [(a, b) for a, b in zip(hull, hull[1:]) if a[0] <= 0.5 <= b[0]]  # two where they meet in the middle
    slope = sum((b[1] - a[1]) / (b[0] - a[0]) for a, b in sides) / len(sides)
    (x0, y0), (x1, y1) = sides[0]
    middle = (y0 * (x1 - 0.5) + y1 * (0.5 - x0)) / (x1 - x0)
    if abs(slope) <= 2 * middle:
        return middle - 0.5 * slope, middle + 0.5 * slope
    steepest = min(y / (x if slope > 0 else 1 - x) for x, y in hull if x != (0 if slope > 0 else 1))
    return (0.0, steepest) if slope > 0 else (steepest, 0.0)


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """b lies on or above the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


@dataclass(frozen=True)
class PartOfWeight(Weight):
    """A weight known by its values on a part of the range [windows]."""

    density: Density = field(kw_only=True)

    def on(self, low: float, high: float) -> Density:
        """The values, whatever the ends are called."""
        return self.density
