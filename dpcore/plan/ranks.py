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
from fractions import Fraction
from itertools import accumulate

BITS, GUARD = 64, 32
"""Bits drawn at first, and added each time they do not decide; and by how many more digits weights are enclosed."""


def runs(
    first: int, last: int, occurring: Sequence[int], times: Sequence[int], q: Fraction
) -> tuple[list[int], list[int], list[int]]:
    """Runs of neighbouring candidates with one score, for a q-quantile of the numbers `occurring`, rising and between
    first and last, so many times each: (first candidate, number of candidates, penalty) of each; the score is
    −penalty/(denominator of q)."""
    a, b = q.numerator, q.denominator
    firsts, counts, penalties = [], [], []
    start, below, above = first, 0, sum(times)
    for value, many in zip([*occurring, last + 1], [*times, 0]):
        if value > start:  # candidates strictly between two values that occur
            firsts.append(start)
            counts.append(value - start)
            penalties.append(abs((b - a) * below - a * above))
        if value > last:
            break
        above -= many
        firsts.append(value)
        counts.append(1)
        penalties.append(abs((b - a) * below - a * above))
        below += many
        start = value + 1
    return firsts, counts, penalties


def draw(
    firsts: Sequence[int],
    counts: Sequence[int],
    penalties: Sequence[int],
    rate: Fraction,
    bits: Callable[[int], int] = secrets.randbits,
) -> int:
    """A candidate with probability ∝ e^(−rate·penalty), of some `runs`.

    bits : so many uniform bits as a whole number.
    """
    least = min(penalties)
    behind = [penalty - least for penalty in penalties]
    drawn, size = bits(BITS), BITS
    while (run := _decided(drawn, size, behind, counts, rate)) is None:
        drawn, size = (drawn << BITS) | bits(BITS), size + BITS
    return firsts[run] + _below(counts[run], bits)


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
