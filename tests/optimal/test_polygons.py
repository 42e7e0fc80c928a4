"""Polygons of events and covers: the compiled kernels against NumPy bit by bit, and against all sets of tests."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from dpcore.kernels import polygons as compiled
from dpcore.optimal import polygons as plain
from dpcore.optimal.lattice import Lattice

LEAST = 1e-300


def random_tests(rng, most=60):
    """Sums of tests with ties, nothing, and all magnitudes, in rows of a few shifts."""
    count, shifts, width = (int(rng.integers(1, n)) for n in (most, 6, 40))
    own, covers = (rng.random(count) * rng.choice([0, 1e-200, 1e-12, 1, 1, 1e3], count) for _ in range(2))
    if rng.random() < 0.5:
        own, covers = np.round(own, 1), np.round(covers, 1)
    return own, covers, np.sort(rng.integers(0, count + 1, (shifts, width)), axis=1)


def concave(rng):
    """A polygon that rises ever less."""
    across = np.append(0.0, np.cumsum(rng.random(20)))
    rises = np.sort(rng.random(21) * 4)[::-1]
    return across, 0.3 * rng.random() + np.append(0.0, np.cumsum(rises[:-1] * np.diff(across))), rises


@pytest.mark.parametrize("seed", range(60))
def test_kernels_and_numpy_find_the_same_corners_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    own, covers, by_shift = random_tests(rng)
    polygon = concave(rng)
    found, expected = (x.corners(own, covers, by_shift, *polygon, LEAST) for x in (compiled, plain))
    assert np.array_equal(found[3], expected[3])
    for shift, corner in np.argwhere(found[3]):
        assert np.array_equal(found[0][shift, : corner + 1], expected[0][shift, : corner + 1])
        assert all(found[i][shift, corner] == expected[i][shift, corner] for i in (1, 2))
    among = rng.permutation(len(by_shift))
    at, there = (x.first_outside(own, covers, by_shift, among, *polygon, LEAST) for x in (compiled, plain))
    outside = found[3].any(axis=1)[among]
    assert at == there == (int(outside.argmax()) if outside.any() else -1)


def test_many_tests_of_nearly_the_same_ratio_are_sorted():
    rng = np.random.default_rng(3)
    covers = rng.random(500)
    own = covers * (1 + 1e-9 * rng.integers(0, 40, 500))
    below = np.zeros(2), np.zeros(2), np.zeros(2)
    everything = np.arange(500)[None, :]
    found, expected = (x.corners(own, covers, everything, *below, LEAST) for x in (compiled, plain))
    assert found[3].all() and np.array_equal(found[0], expected[0])


@pytest.mark.parametrize("seed", range(20))
def test_no_set_of_tests_lies_above_the_polygon_of_corners(seed):
    rng = np.random.default_rng(seed)
    own, covers = rng.random(8), rng.random(8)
    below = np.zeros(2), np.full(2, -1.0), np.zeros(2)
    P, Q = (x[0] for x in plain.corners(own, covers, np.arange(8)[None, :], *below, LEAST)[1:3])
    for chosen in chain.from_iterable(combinations(range(8), n) for n in range(9)):
        most = np.interp(covers[list(chosen)].sum(), np.append(0.0, Q), np.append(0.0, P))
        assert own[list(chosen)].sum() <= most + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_tests_are_alike_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    count, columns, entries = 30, 12, 200
    test, column = np.sort(rng.integers(0, count, entries)), rng.integers(0, columns, entries)
    event, cover, masses = rng.random(entries), rng.random(entries), rng.random(columns)
    for one, two in zip(*(x.means(test, column, event, cover, masses, count) for x in (compiled, plain))):
        assert np.array_equal(one, two)
    starts, tests = np.searchsorted(test, np.arange(count + 1)), rng.integers(0, count, 50)
    owners = np.sort(rng.integers(0, 7, 50))
    arguments = starts, column, event, cover, tests, owners, 7, columns
    for one, two in zip(*(x.rows(*arguments) for x in (compiled, plain))):
        assert np.array_equal(one, two)
    assert plain.means(test[:0], column[:0], event[:0], cover[:0], masses, 3)[0].dtype == float


@pytest.mark.parametrize("shifts", [[], [0], [1, 4], list(range(8))])
def test_means_at_some_shifts_are_those_at_all(shifts):
    lattice = Lattice(4, -9, 9, -7, 6, False)
    tests, law = lattice.tests, np.random.default_rng(1).random(lattice.classes)
    mine = np.isin(np.cumsum(np.diff(tests.shift, prepend=tests.shift[0]) != 0), shifts)
    for some, whole in zip(tests.means(law, np.array(shifts, dtype=int)), tests.means(law)):
        assert np.array_equal(some[mine], whole[mine])
        assert len(some) == len(whole)
