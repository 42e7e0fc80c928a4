"""Profiles: presets, files, bounds, bad input, dispersion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.vector import SensitivityProfile, gini, majorizes, parse_profile
from dpcore.vector.compare import rates
from dpcore.vector.profile import own_profile, own_text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("uniform:3", (1, 1, 1)),
        ("linear:3", (1, 2, 3)),
        ("quadratic:3", (1, 4, 9)),
        ("exponential:2", (math.e, math.e**2)),
        ("one-hot:3", (0, 0, 1)),
        (" 3, 1;2\n0", (3, 1, 2, 0)),
        ("5", (5,)),
    ],
)
def test_texts(text, values):
    assert parse_profile(text).values == pytest.approx(values, rel=1e-15)


@pytest.mark.parametrize(("norm", "q"), [("l1", 1), ("l2", 2)])
@pytest.mark.parametrize("name", ["uniform", "linear", "quadratic", "exponential", "one-hot"])
@pytest.mark.parametrize("dimension", [1, 2, 20, 5000])
def test_presets_normalise_without_overflow(name, dimension, norm, q):
    profile = parse_profile(f"{name}:{dimension}", normalise=norm)
    assert profile.norm(q) == pytest.approx(1, rel=1e-12)
    assert (profile.array > 0).sum() == (1 if name == "one-hot" else dimension)  # nothing underflows to "no noise"
    if name == "exponential" and dimension > 1:
        assert profile.array[-2] / profile.array[-1] == pytest.approx(math.exp(-1), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("1,-2", "profile"), ("1,nan", "profile"), ("1,inf", "profile"), ("1e13", "profile"), ("0,0", "profile"),
        ("1,5; 2,5", "profile"), ("1, , 2", "profile"),
        ("", "profile"), ("a,b", "profile"), ("cubic:3", "profile"), ("linear:0", "dimension"),
        ("linear:2.5", "dimension"), ("linear:9999999", "dimension"), ("linear:x", "dimension"),
        ("exponential:28", "dimension"),
    ],
)  # fmt: skip
def test_bad_texts_name_the_field_and_the_value(text, field):
    with pytest.raises(InputError) as caught:
        parse_profile(text)
    assert caught.value.field == field and caught.value.accepted


@pytest.mark.parametrize("norm", ["l1", "l2", "l3", ""])
def test_own_numbers_are_never_scaled(norm):
    """Noise for a scaled profile is too small for the query whose sensitivities the numbers are."""
    assert parse_profile("120, 0.5, 3").values == own_profile("120, 0.5, 3").values == (120, 0.5, 3)
    for text in ("120, 0.5, 3", "linear:3") if norm in ("l3", "") else ("120, 0.5, 3",):
        with pytest.raises(InputError) as caught:
            parse_profile(text, normalise=norm)
        assert caught.value.field == "normalise" and caught.value.value == norm


def test_an_exponential_is_what_it_says_or_refused():
    assert parse_profile("exponential:27").values[-1] == pytest.approx(math.exp(27), rel=1e-15)


def test_the_message_names_the_coordinate():
    with pytest.raises(InputError, match=r"-2 \(coordinate 2\)"):
        parse_profile("1,-2,3")


def test_bounds_of_a_table():
    bounds = [(0, 100), (-20, 60)]
    assert SensitivityProfile.from_bounds(bounds).values == (100, 80)
    assert SensitivityProfile.from_bounds(bounds, replace=False).values == (100, 60)
    assert SensitivityProfile.from_bounds(bounds, statistic="mean", records=1000).values == (0.1, 0.08)
    assert SensitivityProfile.from_bounds([(0.1, 0.3)]).values == (0.2,)  # 0.3 − 0.1 is less in floats
    for bad in ({"statistic": "median"}, {"statistic": "mean", "replace": False}, {"records": 0}):
        with pytest.raises(InputError):
            SensitivityProfile.from_bounds(bounds, **bad)
    for bad in ((3, 1), ("a", 1), (0, math.nan), (0,)):
        with pytest.raises(InputError):
            SensitivityProfile.from_bounds([bad])


@pytest.mark.parametrize(
    ("text", "values", "names"),
    [
        ("0.85, 0.15", (0.85, 0.15), ()),
        ("120; 0.5\n3 4", (120, 0.5, 3, 4), ()),
        ("age: 120\nsmoker_flag: 0.5\n\nvisits / year: 3\n", (120, 0.5, 3), ("age", "smoker_flag", "visits / year")),
        ("age: 120; pay: 5e-1, 7", (120, 0.5, 7), ("age", "pay", "")),
    ],
)
def test_own_numbers_and_names(text, values, names):
    found = own_profile(text)
    assert (found.values, found.names) == (values, names)
    again = own_profile(own_text(found))
    assert (again.values, again.names) == (values, names)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,5 0,25 1", "0,5: expected .*write 0.5 or 0; 5"), ("age: 0,5", "0,5: expected .*write 0.5"),
        ("age: 1; pay:", "expected numbers"), ("<b>: 3", "<b>: expected names"), ("a" * 61 + ": 3", "expected names"),
        ("a:b: 3", "a:b: expected names"), ("=cmd: 3", "=cmd: expected names"), ("linear:20; 3", None),
        ("", "expected"),
    ],
)  # fmt: skip
def test_own_numbers_are_read_as_meant_or_refused(text, said):
    if said is None:
        assert own_profile(text).names == ("linear", "")  # a name here, never a preset
        return
    with pytest.raises(InputError, match=said) as caught:
        own_profile(text)
    assert caught.value.field == "profile"


def test_every_coordinate_has_a_name_or_none_has():
    with pytest.raises(InputError, match="names = 1 names: expected 2"):
        SensitivityProfile((1.0, 2.0), names=("a",))
    assert SensitivityProfile((1.0, 2.0), names=("", "")).names == ()
    assert SensitivityProfile((1.0,), names=('=HYPERLINK("x")\n<b>',)).names == ("HYPERLINK( x ) b",)


def test_columns_really_move_by_no_more():
    rng = np.random.default_rng(3)
    bounds = [(-2.0, 5.0), (0.0, 1.0), (-7.0, -3.0)]
    low, high = np.array(bounds).T
    profile = SensitivityProfile.from_bounds(bounds)
    joined = SensitivityProfile.from_bounds(bounds, replace=False)
    for _ in range(200):
        one, other = (low + (high - low) * rng.integers(0, 2, 3) for _ in range(2))
        assert (np.abs(one - other) <= profile.array).all() and (np.abs(one) <= joined.array).all()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8).filter(lambda v: max(v) > 1e-3))
def test_gini_is_the_mean_difference(values):
    """[MK, §V]: Σ_i Σ_j |λ_i − λ_j|/(2K ‖λ‖₁)."""
    naive = sum(abs(a - b) for a in values for b in values) / (2 * len(values) * sum(values))
    assert gini(values) == pytest.approx(naive, abs=1e-12)
    assert gini([1.0] * len(values)) == 0


def test_gini_of_one_hot():
    assert gini([0, 0, 0, 7]) == pytest.approx(1 - 1 / 4)


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=8), st.floats(0, 1), st.data())
def test_robin_hood_steps_lose_in_the_majorisation_order(values, share, data):
    """Moving something from a larger to a smaller entry gives a vector that is majorised."""
    i, j = data.draw(st.permutations(range(len(values))))[:2]
    moved = list(values)
    moved[i], moved[j] = (
        (1 - share / 2) * values[i] + share / 2 * values[j],
        share / 2 * values[i] + (1 - share / 2) * values[j],
    )
    assert majorizes(values, moved)
    assert not majorizes(moved, values) or np.allclose(sorted(moved), sorted(values), rtol=1e-9)
    assert not majorizes(values, [2 * v for v in values])


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=20))
def test_theorem_7(values):
    """[MK, Thm. 7]: the Gaussian error falls by exactly ν² from its worst case, Laplace's by at least ν²."""
    found = rates(SensitivityProfile(tuple(values)))
    assert found.gaussian == pytest.approx(found.disparity**2, rel=1e-12)
    assert found.laplace <= found.laplace_bound * (1 + 1e-12)
