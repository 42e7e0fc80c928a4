"""Exact draws by the exponential mechanism: whole numbers and the operating system's cryptographic source.

Candidates with the same score are alike, so a draw is first of a run of candidates between two values that occur, then
of one of the run, evenly. A run's weight (number of candidates)·e^(ε·score/(2Δ)) is enclosed by an interval of
rationals; where the uniform number drawn falls too near an end of a run, more of its bits are drawn and weights are
enclosed more closely, so that the run drawn has exactly its probability.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

BITS, GUARD = 64, 32
"""Bits drawn at first, and added each time they do not decide; and by how many more digits weights are enclosed."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Runs of candidates: `firsts[i]` is the first of `counts[i]` neighbouring ones that all have the score
    −penalties[i]·unit. Shapes (runs,)."""

    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]
    penalties: NDArray[np.int64]
    unit: Fraction

    @classmethod
    def of(cls, first: int, last: int, occurring: NDArray[np.int64], times: NDArray[np.int64], q: Fraction) -> Scores:
        """Those of a q-quantile of the numbers `occurring`, rising and between first and last, so many times each."""
        a, b = (q.numerator, q.denominator)
        total = int(times.sum())
        below = np.concatenate([[0], np.cumsum(times)]).astype(np.int64)
        # A run before every value, and the values themselves: candidates strictly between have all before them below.
        starts = np.concatenate([[first], occurring + 1])
        ends = np.concatenate([occurring, [last + 1]])
        firsts = np.concatenate([starts, occurring])
        counts = np.concatenate([np.maximum(ends - starts, 0), np.ones(len(occurring), dtype=np.int64)])
        low = np.concatenate([below, below[:-1]])
        high = np.concatenate([total - below, total - below[1:]])
        penalties = np.abs((b - a) * low - a * high)
        used = np.flatnonzero(counts)
        order = used[np.argsort(firsts[used], kind="stable")]
        return cls(firsts[order], counts[order], penalties[order], Fraction(1, b))


def draw(scores: Scores, rate: Fraction, bits: Callable[[int], int] = secrets.randbits) -> int:
    """A candidate with probability ∝ e^(rate·score).

    bits : so many uniform bits as a whole number.
    """
    least = int(scores.penalties.min())
    penalties = (scores.penalties - least).tolist()
    counts = scores.counts.tolist()
    drawn, size = bits(BITS), BITS
    while True:
        run = _decided(drawn, size, penalties, counts, rate * scores.unit)
        if run is not None:
            break
        drawn, size = (drawn << BITS) | bits(BITS), size + BITS
    count = counts[run]
    return int(scores.firsts[run]) + _below(count, bits)


def _below(count: int, bits: Callable[[int], int]) -> int:
    """A whole number below `count`, evenly."""
    length = (count - 1).bit_length()
    while length:
        found = bits(length)
        if found < count:
            return found
    return 0


def _decided(drawn: int, size: int, penalties: Sequence[int], counts: Sequence[int], rate: Fraction) -> int | None:
    """The run in which the number in [drawn, drawn + 1)/2^size of all the weight lies; None where it may be in two."""
    known = {penalty: exponential(rate * penalty, size + GUARD) for penalty in set(penalties)}
    lows = list(accumulate(count * known[penalty][0] for count, penalty in zip(counts, penalties)))
    highs = list(accumulate(count * known[penalty][1] for count, penalty in zip(counts, penalties)))
    least, most = drawn * lows[-1], (drawn + 1) * highs[-1]
    run = min(bisect_right(lows, least >> size), len(lows) - 1)
    begins = run == 0 or highs[run - 1] << size <= least
    ends = run == len(lows) - 1 or most <= lows[run] << size
    return run if begins and ends else None


def exponential(rate: Fraction, digits: int) -> tuple[int, int]:
    """Whole numbers around 2^digits·e^(−rate), rate ≥ 0, at most a few units apart."""
    if rate > digits:  # e^-digits is less than 2^-digits
        return 0, 1
    scale = 1 << (digits + 16)
    whole, rest = divmod(rate, 1)
    low = high = scale
    if rest:
        low, high = _series(rest, scale)
    if whole:
        one = _series(Fraction(1), scale)
        power = _power(one, int(whole), scale)
        low, high = low * power[0] // scale, -(-high * power[1] // scale)
    return low >> 16, (high >> 16) + 1


def _series(rate: Fraction, scale: int) -> tuple[int, int]:
    """scale·e^(−rate) for 0 < rate ≤ 1, by its alternating series."""
    term_low = term_high = scale
    low = high = scale
    for n in range(1, scale.bit_length()):
        term_low = term_low * rate.numerator // (rate.denominator * n)
        term_high = -(-term_high * rate.numerator // (rate.denominator * n))
        low, high = (low - term_high, high - term_low) if n % 2 else (low + term_low, high + term_high)
        if term_high <= 1:
            break
    return max(low - term_high, 0), high + term_high


def _power(base: tuple[int, int], exponent: int, scale: int) -> tuple[int, int]:
    """scale·(base/scale)^exponent, enclosed."""
    low, high = scale, scale
    square = base
    while exponent:
        if exponent & 1:
            low, high = low * square[0] // scale, -(-high * square[1] // scale)
        square = square[0] ** 2 // scale, -(-(square[1] ** 2) // scale)
        exponent >>= 1
    return low, high
