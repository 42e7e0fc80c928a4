"""Numbers as people read them: bounds rounded to the safe side, thin spaces between thousands, powers of ten.

Pure functions, text out; `numbers` is the way back.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

SUPERSCRIPTS = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")


def bracket(lower: float, upper: float, digits: int = 5) -> tuple[str, str]:
    """(lower, upper) as text: the lower rounded down, the upper up, with digits enough to tell them apart.

    The last digit is worth at most a quarter of the difference, so rounding hardly widens the bracket; it is at
    least the third significant one and at most that of so many `digits`.
    """
    if upper == 0:
        return "0", "0"
    size = math.floor(math.log10(abs(upper)))
    spread = upper - lower
    last = size - digits + 1
    finest = math.floor(math.log10(spread / 4)) if spread > 0 else last
    digit = min(max(finest, last), size - 2)
    return rounded(lower, digit, ROUND_FLOOR), rounded(upper, digit, ROUND_CEILING)


def at_least(value: float, digits: int = 9) -> str:
    """A lower bound to some significant digits, rounded down."""
    return rounded(value, _size(value) - digits + 1, ROUND_FLOOR)


def at_most(value: float, digits: int = 9) -> str:
    """An upper bound to some significant digits, rounded up."""
    return rounded(value, _size(value) - digits + 1, ROUND_CEILING)


def _size(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def rounded(value: float, digit: int, direction: str) -> str:
    """`value` rounded to 10^digit in a direction of the decimal module."""
    if value == 0:
        return "0"
    size = _size(value)
    if not -5 <= size < 10:
        mantissa = Decimal(value).scaleb(-size).quantize(Decimal(1).scaleb(min(digit - size, 0)), direction)
        if abs(mantissa) >= 10:  # rounded up to the next power of ten
            mantissa, size = (mantissa / 10).quantize(mantissa), size + 1
        return ("" if mantissa == 1 else f"{_grouped(str(mantissa))} × ") + f"10{raised(size)}"
    exact = Decimal(value).quantize(Decimal(1).scaleb(digit), direction)
    return _grouped(f"{exact:f}")


def raised(power: int) -> str:
    """A whole number as an exponent."""
    return str(power).translate(SUPERSCRIPTS)


def _grouped(text: str) -> str:
    """Thin spaces between thousands of the whole part."""
    sign, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    whole, dot, fraction = digits.partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", "\u202f")
    return sign + whole + dot + fraction


def number(value: float, digits: int = 4) -> str:
    """`value` to a few significant digits."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞"
    return rounded(value, math.floor(math.log10(abs(value))) - digits + 1, "ROUND_HALF_EVEN")


def plain(value: float, digits: int = 6) -> str:
    """`value` as short as it can be written, to at most some significant digits."""
    mantissa, times, power = number(value, digits).partition(" × ")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + times + power


def count(number: int) -> str:
    """A whole number with thin spaces between thousands."""
    return _grouped(str(int(number)))


def percent(share: float) -> str:
    """A share as a percentage to two significant digits; "0\u202f%" and "100\u202f%" only for what is that much."""
    if share == 0:
        return "0\u202f%"
    if abs(share) < 1e-4:
        return "less than 0.01\u202f%"
    if 0.9999 <= share < 1:
        return "more than 99.99\u202f%"
    value = 100 * share
    if 99 < value < 100:  # two digits of what is missing
        digits = max(0, min(2, -math.floor(math.log10(100 - value))))
        return f"{value:.{digits}f}\u202f%"
    if abs(value) >= 1000:
        return f"{_grouped(f'{value:.0f}')}\u202f%"
    digits = max(0, min(2, 1 - math.floor(math.log10(abs(value)))))
    return f"{value:.{digits}f}\u202f%"


def percent_up(share: float) -> str:
    """As `percent`, rounded up: for gaps."""
    if 0 < share < 1e-4:
        return "less than 0.01\u202f%"
    value = Decimal(share) * 100
    digit = 0 if value >= 10 else -1 if value >= 1 else -2
    return f"{value.quantize(Decimal(1).scaleb(digit), ROUND_CEILING):f}\u202f%"


def percent_down(share: float, places: int = 0) -> str:
    """As `percent`, rounded down: for what is saved. places : decimals above 10 %."""
    value = Decimal(share) * 100
    digit = -places if value >= 10 else -1 if value >= 1 else -2
    return f"{value.quantize(Decimal(1).scaleb(digit), ROUND_FLOOR):f}\u202f%"


def delta_text(delta: float) -> str:
    """δ for people: a power of ten, alone or with what it is multiplied by, below 0.01; "0.0123" above."""
    if delta == 0:
        return "0"
    power = round(math.log10(delta))
    if delta < 0.009 and math.isclose(delta, 10.0**power, rel_tol=1e-9):
        return "10" + raised(power)
    text = f"{delta:g}"
    return plain(delta) if "e" in text else text


def axis(title: str, unit: str) -> str:
    """Axis title with its unit."""
    return f"{title} ({unit})" if unit else title


def atom(place: float, mass: float) -> str:
    """What an atom of a law means for the release."""
    return f"{percent(mass)}: the true value" if place == 0 else f"{percent(mass)} exactly {place:g}"
