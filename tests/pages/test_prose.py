"""Numbers and sentences for people: nothing shown may claim more than was proved."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.loss import parse_loss
from dpcore.problem import noise_problem
from dpcore.solution import Certificate
from pages.shared import prose

SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
POWERS = str.maketrans(SIGNS, "0123456789-")


def read(text: str) -> Decimal:
    """The number that a reader sees, exactly."""
    text = text.replace("\u202f", "").replace("−", "-")
    text = f"1 × {text}" if re.match(f"10[{SIGNS}]", text) else text
    mantissa, _, power = text.partition(" × 10")
    return Decimal(mantissa).scaleb(int(power.translate(POWERS) or 0))


sizes = st.floats(1e-15, 1e15)


@given(sizes, st.floats(0, 1))
def test_shown_bounds_are_bounds(upper, share):
    lower = upper * (1 - share)
    low, high = prose.bracket(lower, upper)
    assert read(low) <= Decimal(lower) <= Decimal(upper) <= read(high)
    assert len(re.sub(r" × 10.*|\D", "", high).lstrip("0")) <= 16


@given(sizes, st.floats(1e-5, 0.5))
def test_shown_brackets_are_hardly_wider(upper, share):
    lower = upper * (1 - share)
    low, high = (float(read(text)) for text in prose.bracket(lower, upper))
    assert low < high
    # Two roundings of at most a quarter of the difference, or in the third digit (a wide bracket).
    assert high - low <= max(1.5 * (upper - lower), 0.02 * upper + (upper - lower)) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [
        (0.558692, 0.558766, ("0.55869", "0.55877")),
        (0.0, 0.0, ("0", "0")),
        (66399.2, 66431.7, ("66\u202f399", "66\u202f432")),
        (1.23456e-8, 1.2399e-8, ("1.234 × 10⁻⁸", "1.240 × 10⁻⁸")),
        (0.959517376, 0.959517376, ("0.95951", "0.95952")),
    ],
)
def test_brackets_as_people_read_them(lower, upper, shown):
    assert prose.bracket(lower, upper) == shown


@given(sizes, st.integers(3, 12))
def test_single_bounds_are_rounded_to_the_safe_side(value, digits):
    assert read(prose.at_least(value, digits)) <= Decimal(value) <= read(prose.at_most(value, digits))
    assert float(read(prose.at_most(value, digits))) <= value * (1 + 10.0 ** (1 - digits) * 1.001)


@given(sizes, st.integers(2, 9))
def test_powers_of_ten_stand_behind_a_number_below_ten(value, digits):
    mantissa, times, _ = prose.at_most(value, digits).partition(" × ")
    assert not times or 1 <= float(mantissa) < 10


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e6, "1\u202f000\u202f000"), (-1000.0, "−1000"), (0.1 + 0.2, "0.3"), (9.9999999e-7, "10⁻⁶"),
        (2 / 3, "0.666667"), (0.0, "0"),
    ],
)  # fmt: skip
def test_a_number_as_short_as_it_can_be(value, shown):
    assert prose.plain(value) == shown


def test_no_line_ends_inside_a_pair_or_an_equation():
    sentence = prose.unbroken("Any (1, 10⁻⁶)-DP noise at ε = **2** errs, (as said, often) by 3.")
    assert sentence == "Any (1,\u00a010⁻⁶)-DP noise at ε\u00a0=\u00a0**2** errs, (as said, often) by 3."


@pytest.mark.parametrize(("unit", "squared"), [("€", "€²"), ("people", "people²"), ("€/m²", "(€/m²)²"), ("", "")])
def test_the_square_of_a_unit(unit, squared):
    assert prose.loss_unit(parse_loss("l2"), unit) == squared


@given(st.floats(0, 1))
def test_a_share_is_nothing_or_everything_only_when_it_is(share):
    text = prose.percent(share)
    assert (text == "0\u202f%") == (share == 0) and (text == "100\u202f%") == (share == 1)
    number = float(text.removesuffix("\u202f%").split()[-1]) / 100
    assert abs(number - share) <= 0.00501 and abs(number - share) <= 0.06 * share + 1e-4


@given(st.floats(1e-9, 10))
def test_gaps_are_rounded_up(share):
    text = prose.percent_up(share).replace("\u202f%", "")
    shown = 0.01 if text == "less than 0.01" else float(text)
    assert shown / 100 >= share * (1 - 1e-12)


def test_headlines():
    problem = noise_problem(1, 1e-6, 2, "exceed:3")
    proof = Certificate(0.125, 0.1328125, 1e-6, 2.0)
    assert prose.headline(problem, proof, "patients") == (
        "Any (1, 10⁻⁶)-DP noise errs by more than 3 patients with probability at least **0.125**; "
        "this one at most **0.133** — within 6.3\u202f% of the best possible."
    )
    assert "Nothing is proved" in prose.headline(problem, Certificate(None, 0.13, 1e-6, 2.0), "")
    assert "Errors need not cost anything" in prose.headline(problem, Certificate(0.0, 0.0, 1e-6, 2.0), "")
    assert "the lower bound is still 0." in prose.headline(problem, Certificate(0.0, 1.0, 1e-6, 2.0), "")
    free = noise_problem(1.0, 1e-6, 1.0, "table:-2=1,-1=0,0=1,0.5=0,3=0", monotone=True)
    assert prose.headline(free, Certificate(0.0, 1e-9, 1e-6, 1.0), "km").endswith(
        "; errors of 0.5 km or more cost nothing, so ever farther away there is noise that costs as little as you like."
    )


def test_price_is_an_interval_both_certificates_prove():
    without, with_it = Certificate(1.0, 1.01, 0.1, 1.0), Certificate(1.05, 1.06, 0.1, 1.0)
    assert prose.price(without, with_it) == "3.9\u202f% to 6.1\u202f%"  # 1.05/1.01 − 1 = 3.96 %, 1.06/1.00 − 1 = 6 %
    assert prose.price(without, Certificate(1.0, 1.02, 0.1, 1.0)) == "at most 2.1\u202f%"
    assert prose.price(Certificate(None, 1.0, 0.1, 1.0), with_it) == "not proved"


def test_every_panel_has_its_text():
    assert {"about", "density", "losses", "gap", "price", "try", "method", "export", "formulas", "references"} <= set(
        prose.sections("optimal_noise")
    )
