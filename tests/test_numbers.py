"""A text is the number that was meant, or it is refused with what to write: never another number."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpcore._validate import above, in_range, real, whole
from dpcore.errors import InputError
from dpcore.numbers import like_number, read_columns, read_number, read_numbers, readings, write_number

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WRITTEN = st.text("0123456789.,eE+-−–_ '’½⅓²₂١٣٫０€$%/·×^;\u00a0\u202f\txnaif", max_size=12)
"""What people type into fields of numbers, and worse."""


def refusal(text: str, **options) -> str:
    with pytest.raises(InputError) as told:
        read_number(text, "ε", **options)
    assert told.value.field == "ε" and told.value.value == text
    return str(told.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [(".5", 0.5), ("5e-1", 0.5), (" 0.5 ", 0.5), ("5.", 5.0), ("-1", -1.0), ("−1", -1.0), ("+1", 1.0), ("1E−6", 1e-6),
     ("\u00a01\t", 1.0), ("-0", 0.0), ("1.000", 1.0), ("0e-999", 0.0)],
)  # fmt: skip
def test_read_as_meant(text, number):
    found = read_number(text, "ε")
    assert found == number and math.copysign(1, found) == math.copysign(1, number)


@pytest.mark.parametrize(
    ("text", "write"),
    [("0,5", "0.5"), ("1 000", "1000"), ("1\u202f000", "1000"), ("1'000", "1000"), ("1_000", "1000"),
     ("1.000,5", "1000.5"), ("1,000.5", "1000.5"), ("1,000", "1000 or 1"), ("1.000.000", "1000000"), ("½", "0.5"),
     ("1½", "1.5"), ("-½", "-0.5"), ("1/2", "0.5"), ("١", "1"), ("٠٫٥", "0.5"), ("0.5€", "0.5"), ("$ 3", "3"),
     ("--1", "-1 or 1"), ("+-1", "-1"), ("–1", "-1"), ("- 1", "-1"), ("50%", "0.5 or 50"), ("10⁻⁶", "1e-6"),
     ("2,5·10^-6", "2.5e-6"), ("２", "2")],
)  # fmt: skip
def test_refused_with_what_to_write(text, write):
    assert refusal(text, accepted="a number").endswith(f"ε = {text}: expected a number; write {write}")


@pytest.mark.parametrize(
    "text", ["", " ", ".", "e", "1e", "nan", "inf", "-Infinity", "0x10", "five", "1,2,3", "1 2", "1/0", "0.5.", "1e5.5"]
)
def test_refused_without_a_guess(text):
    assert "write" not in refusal(text)


def test_never_rounded_to_nothing_or_to_infinity():
    assert "not so large" in refusal("1e999") and "not so near to 0" in refusal("-.1e-999")


@given(WRITTEN)
@example("1_000")
@example("-０")
@example("١")
def test_what_is_read_is_that_number_and_what_is_offered_can_be_read(text):
    try:
        number = read_number(text, "ε")
    except InputError as error:
        for offered in readings(text):
            assert write_number(read_number(offered, "ε")) == offered and offered in error.accepted
    else:
        plain = text.strip().replace("−", "-")
        assert plain.isascii() and not set(plain) - set("0123456789.eE+-")
        assert number == float(Decimal(plain))


@given(st.text())
def test_any_text_is_a_number_or_an_input_error(text):
    for read in (lambda: [read_number(text, "ε")], lambda: read_numbers(text, "λ")):
        try:
            assert all(map(math.isfinite, read()))
        except InputError:
            pass


@given(FINITE)
@example(5e-324)
@example(1e22)
def test_what_is_written_reads_back(number):
    text = write_number(number)
    assert read_number(text, "ε") == number and "+" not in text and "e-0" not in text
    if 1e-4 <= abs(number) < 1e15:
        german = text.replace(".", ",")
        assert german == text or write_number(number) in refusal(german)


@given(st.lists(FINITE, min_size=1, max_size=6), st.sampled_from(["; ", ";", " ", "\n", ", ", ",\n", " ; "]))
def test_lists_read_back(numbers, separator):
    text = separator.join(map(write_number, numbers))
    assert read_numbers(text, "λ") == numbers
    assert read_numbers(f" {text}{separator}", "λ", commas=True) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.5,0.25,1", [0.5, 0.25, 1]), ("0.5,1", [0.5, 1]), ("1e-3,5", [1e-3, 5]), ("1, 2, 3", [1, 2, 3]),
     ("1;2", [1, 2]), ("1 2\n3", [1, 2, 3]), ("", [])],
)  # fmt: skip
def test_lists(text, numbers):
    assert read_numbers(text, "λ") == numbers


@pytest.mark.parametrize(
    ("text", "write"),
    [("0,5 0,25 1", "0.5 or 0; 5"), ("0,5; 0,25", "0.5 or 0; 5"), ("0,5, 0,25", "0.5 or 0; 5"),
     ("0,5,0,25", "0.5; 0.25 or 0; 5; 0; 25"), ("1,2,3", "1; 2; 3"), ("1.000,5", "1000.5 or 1.000; 5"),
     ("2,1e-3", "0.0021 or 2; 1e-3"), ("0.5, ½", "0.5")],
)  # fmt: skip
def test_commas_that_can_be_read_in_two_ways(text, write):
    with pytest.raises(InputError) as told:
        read_numbers(text, "λ")
    assert told.value.accepted == f"numbers; write {write}"


@pytest.mark.parametrize("text", ["1,,2", "1;;2", "1, , 2", "; 1", "1,x", "1,"])
def test_nothing_is_dropped(text):
    if text == "1,":
        assert read_numbers(text, "λ") == [1.0]
    else:
        with pytest.raises(InputError):
            read_numbers(text, "λ")


def test_lists_of_the_command_line_have_commas():
    assert read_numbers("1,2,3", "λ", commas=True) == [1, 2, 3]
    with pytest.raises(InputError, match=r"write 0\.5 or 0; 5"):
        read_numbers("0,5 0,25", "λ", commas=True)


@pytest.mark.parametrize(
    ("text", "rows"),
    [("0,5; 1", [("0,5", "1")]), ("-2,1\n0,0 # middle", [("-2", "1"), ("0", "0")]),
     (" 1  2 \n\n3\t4", [("1", "2"), ("3", "4")]), ("error,loss\n1,2", [("1", "2")]), ('"0,5","1"', [("0,5", "1")]),
     ("½;¼\n1;2", [("½", "¼"), ("1", "2")]), ("nan,nan\n1,2", [("nan", "nan"), ("1", "2")]),
     ("x,y\nx,y", [("x", "y")]), ("# x", [])],
)  # fmt: skip
def test_columns_are_told_by_one_kind_of_separator(text, rows):
    assert [*read_columns(text, ("x", "y"), "table", "two columns").values()] == rows


@pytest.mark.parametrize("text", ["0,5 1,5", "1,2\n0,5,1,5", "1", "x,y,z"])
def test_lines_of_other_lengths_are_named(text):
    with pytest.raises(InputError, match=r"^table line \d = "):
        read_columns(text, ("x", "y"), "table", "two columns")


def test_like_a_number():
    assert all(map(like_number, ["1", "0,5", "½", "1 000", "50%"])) and not any(
        map(like_number, ["x", "", "nan", "x1"])
    )


def test_checks_of_texts_use_the_reader():
    assert real(x=" −.5 ") == -0.5 and in_range(0, 1, delta="1e-6") == 1e-6
    for text in ("0,5", "1_0", "١", "nan"):
        with pytest.raises(InputError):
            in_range(0, 10, epsilon=text)


def test_whole_numbers_keep_every_digit():
    assert whole(0, 2**63 - 1, seed=str(2**63 - 1)) == 2**63 - 1
    assert whole(0, 10**18, seed="9007199254740993") == 9007199254740993
    assert whole(0, 10, n="1e1") == 10
    with pytest.raises(InputError, match=r"write 10$"):
        whole(0, 10, n="10,0")


def test_only_what_fits_is_offered():
    for check in (lambda: whole(0, 10, n="0,5"), lambda: in_range(0, 1, x="1 000"), lambda: above(0, 1, x="0,0")):
        with pytest.raises(InputError) as told:
            check()
        assert "write" not in told.value.accepted
    with pytest.raises(InputError, match=r"write 0\.05$"):
        in_range(0, 1, delta="5%")
