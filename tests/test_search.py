"""Searches end where they say: on the right side, next to the turn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.search import (
    _bracket,
    bisection,
    bisections,
    directed_root,
    geometric,
    least_argument,
    least_argument_vectorised,
    nudged_up,
    smallest_passing,
    whole_half,
)

places = st.floats(-1e6, 1e6)


@given(places, places, places)
def test_without_a_stop_the_ends_are_neighbouring_numbers_on_either_side(a, b, turn):
    low, high = sorted((a, b))
    if not low <= turn < high:
        return
    largest, beyond = bisection(lambda x: x <= turn, low, high)
    assert largest == turn and beyond == math.nextafter(turn, math.inf)
    beyond, largest = bisection(lambda x: x > turn, high, low)
    assert largest == turn and beyond == math.nextafter(turn, math.inf)


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(1, 1000))
def test_whole_numbers_are_found_exactly_and_the_ends_are_not_evaluated(low, before, after):
    turn, high, asked = low + before, low + before + after, []
    found = bisection(lambda n: asked.append(n) or n <= turn, low, high, mean=whole_half)
    assert found == (turn, turn + 1) and all(type(n) is int for n in found)
    assert not {low, high} & set(asked) and len(asked) <= math.ceil(math.log2(before + after)) + 1


CURVES = {
    "exponential": lambda x, turn: math.expm1(turn - x), "line": lambda x, turn: turn - x,
    "jump": lambda x, turn: 1.0 if x < turn else -1e300, "flat": lambda x, turn: (turn - x) ** 9,
    "wall": lambda x, turn: math.inf if x < turn else 0.0, "steep": lambda x, turn: math.expm1(40 * (turn - x)),
}  # fmt: skip
"""Falling functions of x that turn from above 0 to at most 0 at `turn`."""


@pytest.mark.parametrize("curve", CURVES)
@given(st.floats(0.01, 15.0), st.booleans())
def test_a_root_is_enclosed_by_places_that_were_evaluated(curve, turn, mirrored):
    sign, seen = -1.0 if mirrored else 1.0, {}

    def value(x: float) -> float:
        seen[x] = CURVES[curve](sign * x, turn)
        return seen[x]

    true, false = directed_root(value, 16.0 * sign, 0.0, within=1e-12)
    assert seen[true] <= 0 < seen[false]
    assert abs(true - false) <= 1e-12 * max(abs(true), abs(false))
    assert len(seen) <= 3 * 52


@pytest.mark.parametrize(("curve", "most"), [("line", 8), ("exponential", 16)])
def test_a_smooth_root_takes_far_fewer_evaluations_than_halves_do(curve, most):
    seen, halves = [], []
    true, _ = directed_root(lambda x: seen.append(x) or CURVES[curve](x, 2.3), 4.0, 2.0, within=1e-12)
    near = lambda a, b: a - b <= 1e-12 * a  # noqa: E731
    beside, _ = bisection(lambda x: halves.append(x) or CURVES[curve](x, 2.3) <= 0, 4.0, 2.0, near=near)
    assert len(seen) <= most < len(halves) / 2 and true == pytest.approx(beside, rel=2e-12)


def test_a_root_is_followed_to_neighbouring_numbers():
    true, false = directed_root(lambda x: 2.0 - x * x, 2.0, 1.0, within=0.0)
    assert true * true >= 2 > false * false and math.nextafter(false, 2) == true


@given(st.floats(1e-6, 1e6), st.integers(0, 30))
def test_rounds_and_nearness_stop_and_the_ends_stay_directed(turn, rounds):
    low, high = turn / 64, turn * 64
    asked = []
    one, other = bisection(lambda x: asked.append(x) or x <= turn, low, high, mean=geometric, rounds=rounds)
    assert one <= turn < other and len(asked) <= rounds
    assert math.log(other / one) == pytest.approx(math.log(4096) / 2**rounds, abs=1e-12)
    one, other = bisection(lambda x: x <= turn, low, high, near=lambda a, b: b - a <= 0.01 * b)
    assert one <= turn < other and other - one <= 0.01 * other


def test_a_condition_that_turns_several_times_has_one_turn_enclosed():
    true, false = bisection(lambda x: math.sin(x) > 0, 1.0, 100.0)
    assert math.sin(true) > 0 >= math.sin(false) and math.nextafter(true, false) == false


@given(st.lists(st.floats(-1.0, 1.0, exclude_max=True), min_size=1, max_size=8))
def test_many_at_once_are_each_as_one(turns):
    turns = np.array(turns)
    ends = bisections(lambda x: x <= turns, np.full(len(turns), -2.0), np.ones(len(turns)), rounds=40)
    for turn, true, false in zip(turns, *ends):
        assert (true, false) == bisection(lambda x, turn=turn: x <= turn, -2.0, 1.0, rounds=40)


@given(st.floats(1e-9, 1e9), st.floats(1e-3, 1e3))
def test_the_smallest_that_passes_is_found_to_the_last_bit(turn, guess):
    assert smallest_passing(lambda x: x >= turn, guess) == turn
    assert nudged_up(lambda x: x >= turn, turn * (1 - 1e-12)) >= turn


GRID = np.linspace(-60, 60, 13).tolist()


@given(st.floats(-60, 60), st.sampled_from([1e-3, 1e-7]))
def test_a_valley_between_grid_points_is_found_to_the_tolerance_and_no_further(bottom, tolerance):
    asked = []
    found = least_argument(lambda x: asked.append(x) or abs(x - bottom), GRID, tolerance=tolerance)
    size = max(1.0, abs(bottom))
    assert abs(found - bottom) <= tolerance * size * (1 + 1e-9)
    assert found == min(asked, key=lambda x: abs(x - bottom)), "the best place that was looked at"
    narrowings = math.log(20 / (0.5 * tolerance * size)) / math.log(2 / (math.sqrt(5) - 1))
    assert len(asked) <= len(GRID) + 2 + max(0, narrowings), "a golden section asks once a step"


@given(st.floats(-60, 60))
def test_the_same_for_functions_of_arrays(bottom):
    asked = []
    found = least_argument_vectorised(lambda x: asked.append(x) or np.abs(x - bottom), GRID)
    assert abs(found - bottom) <= 5 / 20**5 * (1 + 1e-6), "a twentieth as wide five times"
    assert [len(points) for points in asked] == [13, 41, 41, 41, 41, 41]
    every = np.concatenate(asked)
    assert abs(found - bottom) == np.abs(every - bottom).min()


@pytest.mark.parametrize("bottom", [-60.0, 60.0, -75.0, 75.0, 0.0, 20.0])
def test_valleys_at_and_beyond_the_ends_and_on_grid_points(bottom):
    nearest = min(max(bottom, -60.0), 60.0)
    assert least_argument(lambda x: (x - bottom) ** 2, GRID) == pytest.approx(nearest, abs=1e-5)
    assert least_argument_vectorised(lambda x: (x - bottom) ** 2, GRID) == pytest.approx(nearest, abs=1e-5)


@pytest.mark.parametrize("side", [-1, 1])
def test_points_that_all_but_coincide_do_not_cut_the_valley_off(side):
    """The best point of the grid and its twin tie; the valley goes on behind the twin."""
    points, steps = [0.0, 1.0, 1.0 + side * 5e-10, 2.0], lambda x: np.round((x - 1 - 0.3 * side) ** 2, 6)
    assert least_argument(steps, points) == pytest.approx(1 + 0.3 * side, abs=2e-3)
    assert least_argument_vectorised(steps, points) == pytest.approx(1 + 0.3 * side, abs=2e-3)


def test_equal_values_go_to_the_smaller_argument_and_order_does_not_matter():
    flat = lambda x: 0.0 * x  # noqa: E731
    assert least_argument(flat, [3.0, 1.0, 2.0]) == 1.0 == least_argument_vectorised(flat, [3.0, 1.0, 2.0])
    assert least_argument(lambda x: (x - 2) ** 2, [3.0, 1.0, 1.0, 3.0]) == pytest.approx(2, abs=1e-6)


@given(st.floats(1.0, 1e6), st.integers(0, 40))
def test_a_value_is_nudged_by_powers_of_two_of_its_last_place(value, power):
    """The first of value·(1 + 2^(i − 52)) that passes, and the value itself if it does."""
    assert nudged_up(lambda x: True, value) == value
    turn = value * (1 + 2.0 ** (power - 52))
    found = nudged_up(lambda x: x >= turn, value)
    assert turn <= found <= value * (1 + 2.0 ** (power - 51))


def test_equal_values_on_a_plateau_are_followed_to_the_smaller_arguments():
    bottom = lambda x: max(0.0, 1.2 - x, x - 2.8)  # noqa: E731
    assert least_argument(bottom, [1.0, 2.0, 3.0]) == pytest.approx(1.2, abs=1e-6)


@pytest.mark.parametrize(
    ("points", "tolerance", "asked"),
    [
        ([-9.0, -4.0, -1.0], 1.0, 0),  # from −9 to −4 is no farther than the larger end
        ([1.0, 4.0, 9.0], 1.0, 0),
        ([0.0, 2.0], 1.0, 0),  # just as far
        ([0.0, 1.5], 0.8, 2),  # 1.5, then .93, against .8 of at least 1
    ],
)
def test_the_tolerance_is_relative_to_the_larger_end_and_to_1(points, tolerance, asked):
    best, seen = -4.0 if min(points) < 0 else 4.0 if 4.0 in points else 0.0, []
    least_argument(lambda x: seen.append(x) or abs(x - best), points, tolerance=tolerance)
    assert len(seen) == len(points) + 2 + asked


def test_what_coincides_with_the_best_point_is_told_by_its_size():
    assert _bracket([-1.0, -0.25, 0.0, 0.25, 1.0], 0.0, 0.25) == (-1.0, 1.0), "as far as the margin is too near"
    assert _bracket([0.0, 1.0, 1.375, 2.0], 1.0, 0.25) == (0.0, 1.375), "the margin of a point at 1 is the tolerance"
    assert _bracket([0.0, 7.5, 8.0, 8.5, 16.0], 8.0, 0.125) == (0.0, 16.0), "that of a larger one is larger"


def test_whole_numbers_are_looked_at_as_floats():
    kinds = []
    least_argument_vectorised(lambda x: kinds.append(x.dtype) or -(x**-2), [1, 2, 3])
    assert set(kinds) == {np.dtype(float)}
    true, false = bisections(lambda x: x < 1, [0, 0], [3, 2], rounds=0)
    assert true.dtype == false.dtype == np.dtype(float)


@pytest.mark.parametrize(
    ("turn", "asked"), [(10.0, [1, 2, 4, 8, 16, 8, 12]), (0.2, [1, 0.5, 0.25, 0.125, 0.1875]), (0.75, [1, 0.5, 0.75])]
)
def test_a_turn_is_enclosed_by_doubling_or_halving(turn, asked):
    seen = []
    assert smallest_passing(lambda x: seen.append(x) or x >= turn, 1.0) == turn
    assert seen[: len(asked)] == asked


def test_a_value_is_nudged_from_its_last_place_on():
    seen, last = [], 2.0**-52
    assert nudged_up(lambda x: seen.append(x) or x >= 1 + 5 * last, 1.0) == 1 + 8 * last
    assert seen == [1.0, 1 + last, 1 + 2 * last, 1 + 4 * last, 1 + 8 * last]
