"""Sensitivity profiles: how much each coordinate of a query can change, and how unequal they are [MK, Def. 4]."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal, whole
from ..errors import InputError
from ..numbers import read_number, read_numbers, write_number

Array = NDArray[np.float64]

LARGEST = 1e12
SMALLEST = 1e-60
"""A positive sensitivity below this counts as this: larger is safe, and 0 would mean no noise at all. Its square, and
that of its ratio to the largest, are far from the end of the range of floats."""

LEAST_TOP = 1e-25
"""The largest sensitivity is at least this: its tenth power, times any weight, is still a float."""

LONGEST = 1_000_000
LONGEST_NAME = 60

PRESETS: dict[str, tuple[int, int]] = {
    "uniform": (0, 0),
    "linear": (1, 0),
    "quadratic": (2, 0),
    "exponential": (0, 1),
    "one-hot": (0, 0),
}
"""Name → (a, b) of λ_i = i^a e^(b·i), i = 1 … K: the profiles of [MK, §V]. One-hot: the last coordinate alone."""

NORMS = {"l1": 1, "l2": 2}
"""Name → q: a preset can be scaled to ‖λ‖_q = 1."""

OWN = "numbers with decimal points (0.85; 0.15), each with a name before it or not (age: 0.85)"
PROFILES = "numbers with decimal points (0.85,0.15), or uniform:K, linear:K, quadratic:K, exponential:K, one-hot:K"


@dataclass(frozen=True)
class SensitivityProfile:
    """λ_1 … λ_K: the largest change of each coordinate between neighbouring data sets.

    values : each 0 (the coordinate does not depend on the data) or up to 1e12; at least one from 1e-25 on.
    name : where the profile comes from, for people.
    names : the coordinates' names, made plain (`plain_name`), "" for one without; () where none has one.
    """

    values: tuple[float, ...]
    name: str = "list"
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = _checked(self.values, "profile", f"numbers from 0 to {LARGEST:g}, one of them positive")
        values = np.where(values > 0, np.maximum(values, SMALLEST), 0.0)
        if not values.any():
            raise InputError("profile", "only zeros", "at least one positive sensitivity")
        if values.max() < LEAST_TOP:
            raise InputError("profile", f"at most {values.max():g}", f"at least one sensitivity from {LEAST_TOP:g} on")
        object.__setattr__(self, "values", tuple(values.tolist()))
        if self.names and len(self.names) != len(values):
            raise InputError("names", f"{len(self.names)} names", f"{len(values)}, one per coordinate, or none")
        object.__setattr__(self, "names", tuple(map(plain_name, self.names)) if any(self.names) else ())

    @classmethod
    def preset(cls, name: str, dimension: int, *, normalise: str = "none") -> SensitivityProfile:
        """uniform 1, linear i, quadratic i², exponential e^i or one-hot, i = 1 … K; with ‖λ‖₁ = 1 ("l1") or ‖λ‖₂ = 1
        ("l2") if asked for, from logarithms, so that a long exponential does not overflow.

        Raises
        ------
        InputError : another name, dimension or norm; a profile that without a norm goes beyond 1e12.
        """
        if name not in PRESETS:
            raise InputError("profile", name, PROFILES)
        if normalise not in ("none", *NORMS):
            raise InputError("normalise", normalise, "l1, l2 or none")
        dimension = whole(1, LONGEST, dimension=dimension)
        index, (a, b) = np.arange(1.0, dimension + 1), PRESETS[name]
        logs = a * np.log(index) + b * index
        if name == "one-hot":
            logs[:-1] = -math.inf
        if normalise != "none":
            top, q = logs.max(), NORMS[normalise]
            scaled = np.exp(logs - top - math.log(math.fsum(np.exp(q * (logs - top)))) / q)
            return cls(tuple(np.where(np.isneginf(logs), 0.0, np.maximum(scaled, SMALLEST))), f"{name}:{dimension}")
        if logs[-1] > math.log(LARGEST):
            most = math.floor(math.log(LARGEST))
            raise InputError("dimension", dimension, f"up to {most} for an exponential that is not scaled to norm 1")
        return cls(tuple(np.where(np.isneginf(logs), 0.0, index**a * np.exp(b * index))), f"{name}:{dimension}")

    @classmethod
    def from_bounds(
        cls, bounds: Iterable[tuple[float, float]], *, statistic: str = "sum", records: int = 1, replace: bool = True
    ) -> SensitivityProfile:
        """The profile of the column sums or means of a table whose columns are known to lie within (low, high).

        One record replaced moves a sum by at most high − low; one added or removed (replace=False) by at most
        max(|low|, |high|). A mean over a known number of records moves by that over the number.
        """
        pairs = [_pair(pair, place) for place, pair in enumerate(bounds)]
        if statistic not in ("sum", "mean"):
            raise InputError("statistic", statistic, "sum or mean")
        if statistic == "mean" and not replace:
            raise InputError("statistic", statistic, "sum when records are added or removed: their number is private")
        records = whole(1, 10**12, records=records)
        count = records if statistic == "mean" else 1
        changes = (high - low if replace else max(abs(low), abs(high)) for low, high in pairs)
        return cls(tuple(float(change / count) for change in changes), f"column {statistic}s")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def array(self) -> Array:
        """λ, (K,)."""
        return np.array(self.values)

    @cached_property
    def positive(self) -> NDArray[np.bool_]:
        """Which coordinates depend on the data, (K,)."""
        return self.array > 0

    def norm(self, q: float) -> float:
        """‖λ‖_q, q ≥ 1 or inf."""
        top = float(self.array.max())
        return top if math.isinf(q) else top * math.fsum((self.array / top) ** q) ** (1 / q)

    @property
    def disparity(self) -> float:
        """ν = (mean of λ)/(largest λ), 1 for a uniform profile [MK, Thm. 7]."""
        return self.norm(1) / (len(self) * self.norm(math.inf))


def gini(values: ArrayLike) -> float:
    """Gini coefficient Σ_i Σ_j |λ_i − λ_j|/(2K ‖λ‖₁): 0 if all are equal, 1 − 1/K for one-hot [MK, §V]. O(K log K)."""
    ordered = np.sort(np.asarray(values, dtype=float))
    ordered = ordered / ordered[-1]
    count = len(ordered)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    return float(ranks @ ordered / (count * math.fsum(ordered)))


def majorizes(values: ArrayLike, other: ArrayLike, *, tolerance: float = 1e-12) -> bool:
    """values ≻ other: equal sums, and the k largest of `values` add up to at least those of `other`, every k
    [MK, Def. 6]. `tolerance`: relative to the sum, for the rounding of both."""
    a, b = (np.cumsum(np.sort(np.asarray(v, dtype=float))[::-1]) for v in (values, other))
    slack = tolerance * max(abs(a[-1]), abs(b[-1]))
    return len(a) == len(b) and abs(a[-1] - b[-1]) <= slack and bool((a >= b - slack).all())


def parse_profile(text: str, *, normalise: str = "none") -> SensitivityProfile:
    """The profile a text describes: a preset and a dimension (linear:20), scaled if asked for, or the query's own
    numbers as on a command line (`read_numbers` with commas).

    Raises
    ------
    InputError : another text; a norm for own numbers.
    """
    word, colon, rest = text.strip().partition(":")
    if colon:
        return SensitivityProfile.preset(word.strip().lower(), rest.strip(), normalise=normalise)  # type: ignore[arg-type]  # a text, which it reads
    refuse_scaling(normalise)
    return SensitivityProfile(tuple(read_numbers(text, "profile", PROFILES, commas=True)))


def own_profile(text: str) -> SensitivityProfile:
    """The sensitivities of a text exactly as they are: numbers as `read_numbers` reads them, or items name: number
    with semicolons, new lines, or commas before blanks between them.

    Raises
    ------
    InputError : another text; a name with other signs than `plain_name` leaves.
    """
    if ":" not in text:
        return SensitivityProfile(tuple(read_numbers(text, "profile", OWN)))
    items = [item.strip() for item in re.split(r"[;\n]|,(?=\s)", text.strip().removesuffix(";"))]
    parts = [item.rpartition(":") for item in items if item]
    for name, _, _ in parts:
        if name.strip() != plain_name(name):
            accepted = f"names of up to {LONGEST_NAME} letters, digits, blanks and signs such as _ . / ( ) but first"
            raise InputError("profile", name.strip(), accepted)
    values = tuple(read_number(number.strip(), "profile", OWN) for _, _, number in parts)
    return SensitivityProfile(values, names=tuple(name.strip() for name, _, _ in parts))


def own_text(profile: SensitivityProfile) -> str:
    """The text that `own_profile` reads as this profile."""
    numbers = map(write_number, profile.values)
    if not profile.names:
        return "; ".join(numbers)
    return "\n".join(f"{name}: {number}" if name else number for name, number in zip(profile.names, numbers))


def plain_name(text: str) -> str:
    """A name in letters of any script, digits, blanks and a few signs, which mean nothing to charts, programs and
    spreadsheets; other signs become blanks, and a name that is too long ends in …"""
    name = " ".join(re.sub(r"[^\w .%‰°€£¥·/()'+−…-]", " ", text).split()).lstrip(" %'+−-")
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"


def refuse_scaling(normalise: str) -> None:
    """Nothing for "none". Own numbers are a query's real sensitivities, and noise for scaled ones does not protect it.

    Raises
    ------
    InputError : another norm.
    """
    if normalise != "none":
        raise InputError("normalise", normalise, "none for own numbers: only named profiles are scaled")


def _checked(values: Iterable[float], field: str, accepted: str, *, least: float = 0.0) -> Array:
    """The values as a float array, each finite and in [least, LARGEST]."""
    try:
        array = np.array(values if isinstance(values, (tuple, list, np.ndarray)) else tuple(values), dtype=float)
    except (TypeError, ValueError):
        raise InputError(field, values, accepted) from None
    if array.ndim != 1 or not 1 <= len(array) <= LONGEST:
        raise InputError(field, f"{array.size} numbers", f"1 to {LONGEST} numbers")
    wrong = np.flatnonzero(~((array >= least) & (array <= LARGEST)))
    if wrong.size:
        raise InputError(field, f"{array[wrong[0]]:g} (coordinate {wrong[0] + 1})", accepted)
    return array


def _pair(pair: tuple[float, float], place: int) -> tuple[Fraction, Fraction]:
    """Both bounds as the decimal numbers that they are written as: 0.3 − 0.1 is 0.2."""
    accepted = f"two numbers low ≤ high within ±{LARGEST:g}"
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise InputError("bounds", f"{pair} (coordinate {place + 1})", accepted) from None
    if not -LARGEST <= low <= high <= LARGEST:
        raise InputError("bounds", f"[{low:g}, {high:g}] (coordinate {place + 1})", accepted)
    return decimal(low), decimal(high)
