"""The families of losses: one entry each, from which everything is made that has to know them.

An entry is a function from its numbers to the pieces of the loss, under `@Family(…)` with the numbers' ranges and
labels and the phrases for it. Texts, links, files, fields, headlines and tests read `FAMILIES`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import numpy as np

from .._validate import decimal, in_range, real
from ..errors import InputError
from ..numbers import read_number, write_number
from ..quantity import Quantity
from .base import Loss
from .piece import Piece
from .points import MAX_BREAKPOINTS, load_points, read_points

Given = ParamSpec("Given")
Pieces = Iterable[Piece]

MAX_MAGNITUDE = 1e12

STEEP = 1000.0
"""Slope of the steep loss beyond its threshold [SLW, §5.3]."""


@dataclass(eq=False)
class Family:
    """Losses that differ by a few numbers; a decorator of the function from the numbers to the pieces.

    The function's arguments have the names of the parameters. What stands under its name then checks the numbers and
    returns the loss; the family has it as `build`, and is entered in `FAMILIES`.

    Parameters
    ----------
    key : its name in texts and links, as in "huber:1".
    label : in a list of losses.
    parameters : its numbers, in the order of the text.
    title : of one loss.
    name : what better noise has less of, within a sentence: "pinball loss".
    degree : the loss is measured in this power of the query's unit; None where it has no unit of its own. A function of
        the numbers where it depends on them.
    mean : its expectation as the title of an axis; by default "mean" and the name.
    limited : its expectation with its numbers, without | signs, as in "mean Huber loss (1)"; by default `mean`.
    verb, tail : of "noise … errs by 0.56 people on average", around a figure and its unit; by default "costs" and the
        name in brackets, "on average".

    Title and phrases may name the numbers in braces; the phrases also {exponent_raised} for one set as an exponent, and
    {unit} for the unit of the query with a blank before it, empty where there is none.
    """

    key: str
    label: str
    parameters: tuple[Quantity, ...] = ()
    title: str = field(kw_only=True)
    name: str = field(kw_only=True)
    degree: float | Callable[..., float] | None = None
    mean: str = ""
    limited: str = ""
    verb: str = "costs"
    tail: str | None = None
    build: Callable[..., Loss] = field(init=False)

    def __post_init__(self) -> None:
        self.mean = self.mean or f"mean {self.name}"
        self.limited = self.limited or self.mean
        self.tail = f"({self.name}) on average" if self.tail is None else self.tail

    def __call__(self, pieces: Callable[Given, Pieces]) -> Callable[Given, Loss]:
        """Enter the function."""
        arguments = inspect.signature(pieces)

        @wraps(pieces)
        def build(*args: Given.args, **kwargs: Given.kwargs) -> Loss:
            given = arguments.bind(*args, **kwargs).arguments
            numbers = {p.name: p.check(given[p.name]) for p in self.parameters}
            spec = ":".join([self.key, *map(_text, numbers.values())])
            made = tuple(pieces(**numbers))  # type: ignore[arg-type, call-arg]  # its parameters
            return Loss(spec, self.title.format(**numbers), made, self.key, tuple(numbers.values()))

        self.build, FAMILIES[self.key] = build, self
        return build

    @property
    def form(self) -> str:
        """How its text is written, as in "huber:THRESHOLD"."""
        return ":".join([self.key, *(p.name.upper() for p in self.parameters)])

    @property
    def example(self) -> str:
        """A text of it, as in "huber:2"."""
        return ":".join([self.key, *(write_number(p.default) for p in self.parameters)])

    def unit_power(self, loss: Loss) -> float | None:
        """The power of the query's unit in which a loss of this family is measured; None for a mere number."""
        return self.degree(*loss.numbers) if callable(self.degree) else self.degree

    def read(self, rest: str, spec: str) -> Loss:
        """The loss from what follows the key in its text `spec`."""
        texts = rest.split(":") if rest else []
        if len(texts) != len(self.parameters):
            raise InputError("loss", spec, f"the form {self.form}")
        return self.build(*(real(**{f"loss {self.key}": text}) for text in texts))

    def from_values(self, values: Mapping[str, object]) -> Loss:
        """The loss from what the fields of its parameters hold, by name."""
        return self.build(*(values[p.name] for p in self.parameters))

    def values(self, loss: Loss) -> dict[str, object]:
        """What the fields of its parameters hold for a loss: `from_values`, the other way round."""
        return dict(zip((p.name for p in self.parameters), loss.numbers))


FAMILIES: dict[str, Family] = {}
"""Every family by its key, in the order of the lists they are chosen from."""


def _even(*right: Piece) -> Pieces:
    """The pieces of an even loss from those on the right of 0."""
    return (*(p.mirrored for p in reversed(right)), *right)


def _text(number: float) -> str:
    """The shortest text that reads back as the number."""
    short = f"{number:.15g}"
    return short if float(short) == number else repr(number)


def _threshold(low: float = 0.0, high: float = MAX_MAGNITUDE, *, open: bool = True) -> Quantity:
    """An error beyond which a loss changes."""
    return Quantity("threshold", low, high, 2.0, label="Threshold t, in the unit", step=0.5, open=open, in_unit=True)


def _slope(name: str, side: str, far: str, default: float) -> Quantity:
    """The cost of a unit on one side."""
    return Quantity(
        name, 0.0, MAX_MAGNITUDE, default, f"cost per unit {side}", f"Cost per unit {far}", step=0.5, open=True
    )


@Family("l1", "absolute error |x|", title="absolute error |x|", name="error", degree=1.0, mean="mean absolute error",
        verb="errs by", tail="on average")  # fmt: skip
def absolute() -> Pieces:
    """|x|, the noise amplitude (ℓ1)."""
    return _even(Piece(0.0, math.inf, 0.0, 1.0, 1.0))


@Family("l2", "squared error x²", title="squared error x²", name="squared error", degree=2.0,
        verb="has a squared error of", tail="on average")  # fmt: skip
def squared() -> Pieces:
    """x², the noise power (ℓ2)."""
    return _even(Piece(0.0, math.inf, 0.0, 1.0, 2.0))


@Family("lp", "power |x|ᵖ", (Quantity("exponent", 1, 4, 1.5, label="Exponent p, from 1 to 4", step=0.1),),
        title="power loss |x|^{exponent:g}", name="|error|{exponent_raised}", degree=lambda exponent: exponent,
        limited="mean error to the power {exponent}")  # fmt: skip
def power(exponent: float) -> Pieces:
    """|x|^p with 1 ≤ p ≤ 4."""
    return _even(Piece(0.0, math.inf, 0.0, 1.0, exponent))


@Family("pinball", "pinball (quantile) loss",
        (Quantity("tau", 0.001, 0.999, 0.8, "τ", "τ: cost per unit too high; 1 − τ per unit too low", step=0.05),),
        title="pinball loss, τ = {tau:g}", name="pinball loss", degree=1.0,
        limited="mean pinball loss (τ = {tau})")  # fmt: skip
def pinball(tau: float) -> Pieces:
    """τ·x for x > 0, (1 − τ)·|x| for x < 0; 0 < τ < 1."""
    return Piece(-math.inf, 0.0, 0.0, float(1 - decimal(tau))), Piece(0.0, math.inf, 0.0, tau)


@Family("asym", "asymmetric linear",
        (_slope("slope_below", "below", "too low", 1.0), _slope("slope_above", "above", "too high", 3.0)),
        name="asymmetric loss", degree=1.0,
        title="asymmetric loss ({slope_below:g} per unit below, {slope_above:g} above)",
        limited="mean asymmetric loss ({slope_below}:{slope_above})")  # fmt: skip
def asymmetric(slope_below: float, slope_above: float) -> Pieces:
    """slope_below·|x| for x < 0, slope_above·x for x > 0; both positive."""
    return Piece(-math.inf, 0.0, 0.0, slope_below), Piece(0.0, math.inf, 0.0, slope_above)


@Family("huber", "Huber loss", (_threshold(),), title="Huber loss, threshold {threshold:g}", name="Huber loss",
        degree=2.0, limited="mean Huber loss ({threshold})")  # fmt: skip
def huber(threshold: float) -> Pieces:
    """x²/2 for |x| ≤ t, t·(|x| − t/2) beyond."""
    t = threshold
    return _even(Piece(0.0, t, 0.0, 0.5, 2.0), Piece(t, math.inf, 0.5 * t * t, t, 1.0, t))


@Family("exceed", "probability of a large error", (_threshold(),), title="probability of an error beyond {threshold:g}",
        name="risk of an error beyond {threshold}{unit}", mean="P(error beyond {threshold}{unit})",
        verb="errs by more than {threshold}{unit} with probability", tail="")  # fmt: skip
def exceedance(threshold: float) -> Pieces:
    """1{|x| > t}, t > 0: the probability of an error larger than t."""
    return _even(Piece(0.0, threshold, 0.0), Piece(threshold, math.inf, 1.0))


@Family("steep", "|x|, steep beyond a threshold", (_threshold(1e-9, 1e9, open=False),), name="steep loss", degree=1.0,
        title="|x|, steep beyond {threshold:g}", limited="mean steep loss ({threshold})")  # fmt: skip
def steep(threshold: float) -> Pieces:
    """|x| up to the threshold, then slope 1000: errors that change the sign of a gradient are rare [SLW, §5.3]."""
    t = threshold
    return _through([-2 * t, -t, 0.0, t, 2 * t], [t + STEEP * t, t, 0.0, t, t + STEEP * t])


@Family("steep-below", "|x|, steep below a threshold", (_threshold(1e-9, 1e9, open=False),),
        name="loss steep below", degree=1.0, title="|x|, steep below −{threshold:g}",
        limited="mean loss steep below ({threshold})")  # fmt: skip
def steep_below(threshold: float) -> Pieces:
    """|x|, but of slope 1000 below −t: what a positive value pays for errors that turn its sign [SLW, §5.3]; its mirror
    image is for negative ones."""
    t = threshold
    return _through([-2 * t, -t, 0.0, t], [t + STEEP * t, t, 0.0, t])


# Tables -------------------------------------------------------------------------------------------------


class _Table(Family):
    """Piecewise linear losses: their numbers are as many points as the user has, in one field for a text."""

    form = "table:FILE"
    example = "table:FILE"

    def read(self, rest: str, spec: str) -> Loss:
        pairs = [pair.partition("=") for pair in rest.split(",")]
        if wrong := [pair[0] for pair in pairs if not pair[1]]:
            raise InputError("loss table", wrong[0], "pairs x=c with points in their numbers: table:x=c,x=c,…")
        return table(*([read_number(pair[at], "loss table") for pair in pairs] for at in (0, 2)))

    def from_values(self, values: Mapping[str, object]) -> Loss:
        return read_table(str(values[self.key] or "").strip())

    def values(self, loss: Loss) -> dict[str, object]:
        x, y = loss.numbers[: len(loss.numbers) // 2], loss.numbers[len(loss.numbers) // 2 :]
        return {self.key: "\n".join(f"{a!r}, {b!r}" for a, b in zip(x, y))}


def table(breakpoints: Iterable[float], values: Iterable[float]) -> Loss:
    """The piecewise linear function through (breakpoint, value) pairs, continued with its last slopes.

    Breakpoints increase strictly, values are non-negative, the outer slopes do not point down.
    """
    try:
        x, y = [float(v) for v in breakpoints], [float(v) for v in values]
    except (TypeError, ValueError):
        raise InputError("loss table", "a cell that is no number", "two columns of numbers") from None
    if len(x) != len(y):
        raise InputError("loss table", f"{len(x)} breakpoints and {len(y)} values", "as many values as breakpoints")
    if not 2 <= len(x) <= MAX_BREAKPOINTS:
        raise InputError("loss table", f"{len(x)} breakpoints", f"2 to {MAX_BREAKPOINTS} breakpoints")
    for name, column in (("breakpoint", x), ("value", y)):
        for number in column:
            in_range(-MAX_MAGNITUDE, MAX_MAGNITUDE, also=(), **{f"loss table {name}": number})
    for before, after in zip(x, x[1:]):
        if not after > before:
            raise InputError("loss table breakpoint", after, f"a number above the one before it, {before:g}")
    if min(y) < 0:
        raise InputError("loss table value", min(y), "a number from 0")
    for at, name, falls, side in ((0, "first", 1, "left"), (-2, "last", -1, "right")):
        slope = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
        if falls * slope > 0:
            accepted = f"at {'most' if falls > 0 else 'least'} 0: the loss must not fall without end to the {side}"
            raise InputError(f"loss table {name} slope", f"{slope:g}", accepted)
    spec = "table:" + ",".join(f"{a!r}={b!r}" for a, b in zip(x, y))
    return Loss(spec, f"loss table with {len(x)} breakpoints", tuple(_through(x, y)), "table", (*x, *y))


NAMED = tuple(FAMILIES)
"""The families that a few numbers name: all but the tables."""

FAMILIES["table"] = _Table("table", "my own table", title="", name="loss by the table", limited="mean of a loss table")
FAMILIES["table"].build = table


def read_table(text: str) -> Loss:
    """The loss through the points in a text (`read_points`)."""
    return table(*read_points(text))


def load_table(path: str | Path) -> Loss:
    """The loss through the points in a CSV or JSON file of at most 1 MB (`load_points`)."""
    return table(*load_points(path))


def _through(x: list[float], y: list[float]) -> Iterable[Piece]:
    """Linear pieces over the breakpoints and 0; equal neighbours (0 inside a segment) stay apart.

    A slope is the quotient of the floats, with which the line meets the values at both ends; the outermost ones, which
    are continued, that of the numbers as they were written.
    """
    slopes = [(y1 - y0) / (x1 - x0) for x0, x1, y0, y1 in zip(x, x[1:], y, y[1:])]
    cuts = sorted({*x, 0.0})
    for lo, hi in zip([-math.inf, *cuts], [*cuts, math.inf]):
        segment = min(max(int(np.searchsorted(x, lo, side="right")) - 1, 0), len(slopes) - 1)
        slope, side = slopes[segment], 1 if lo >= 0 else -1
        near = segment + (abs(x[segment + 1]) < abs(x[segment]))  # mirror images get the same anchor
        if lo >= x[-1] or hi <= x[0]:
            near = segment + (lo >= x[-1])
            (x0, x1), (y0, y1) = ([decimal(v) for v in column[segment : segment + 2]] for column in (x, y))
            slope = float((y1 - y0) / (x1 - x0))
        if slope == 0:
            yield Piece(lo, hi, y[segment])
        else:
            yield Piece(lo, hi, y[near], side * slope, 1.0, side * x[near])


# Any of them --------------------------------------------------------------------------------------------


def parse_loss(spec: str) -> Loss:
    """The loss a text names: l1, l2, lp:1.5, pinball:0.8, asym:1:3, huber:1, exceed:2, …, table:x=c,x=c,…"""
    key, _, rest = str(spec).strip().partition(":")
    if key not in FAMILIES:
        raise InputError("loss", spec, f"one of {', '.join(one.form for one in FAMILIES.values())}")
    return FAMILIES[key].read(rest, spec)


def family_of(loss: Loss) -> Family:
    """The entry of a loss.

    Raises
    ------
    ValueError : it has none, so there are no words for it.
    """
    if loss.family not in FAMILIES:
        raise ValueError(f"no family of losses has made {loss.spec}")
    return FAMILIES[loss.family]


def parameters(*keys: str) -> dict[str, Quantity]:
    """The parameters of some families, or of all, by name. Those of one name are one field."""
    return {p.name: p for key in keys or FAMILIES for p in FAMILIES[key].parameters}


def labels(*keys: str) -> dict[str, str]:
    """Some families, or all, to choose from: key → label."""
    return {key: FAMILIES[key].label for key in keys or FAMILIES}
