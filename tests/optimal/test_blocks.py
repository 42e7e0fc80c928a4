"""Cells of unequal width for upper bounds: the same law as on the fine lattice, from a smaller program."""

import math

import numpy as np
import pytest

from dpcore.noise.staircase import amplitude_gamma
from dpcore.optimal.blocks import Blocks
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.lower import lower_step
from dpcore.optimal.mesh import Grading
from dpcore.optimal.schedule import steepness
from dpcore.optimal.solve import solve
from dpcore.optimal.step import Limits, Window
from dpcore.optimal.upper import upper_step
from dpcore.problem import SolverSettings, noise_problem

LIMITS = Limits(0.02, 1e-4, math.inf, lambda: False)


@pytest.mark.parametrize("folded", [True, False])
def test_a_slack_serves_every_shift_as_often_as_its_blocks_meet(folded: bool) -> None:
    coarse = Lattice(3, -7, 6, -7, 6, True, edge=1) if folded else Lattice(3, -2, 8, -2, 8, False, edge=1)
    blocks = Blocks.of(coarse, Grading(4, (0.0, 0.3, -0.3), 2.0, 1.5))
    masses = np.random.default_rng(5).random(blocks.classes)
    r, E = blocks.unfold(masses), 2.5
    event, cover = (part.ravel() for part in np.meshgrid(np.arange(blocks.classes), np.arange(blocks.classes)))
    owners, shifts, counts = blocks.counted(event, cover)
    slack = np.maximum(masses[event] - E * masses[cover], 0.0)
    found = np.bincount(shifts + blocks.k, counts * slack[owners], 2 * blocks.k + 1)[blocks.shifts + blocks.k]
    padded = np.concatenate([np.zeros(blocks.k), r, np.zeros(blocks.k)])
    for j, by_slacks in zip(blocks.shifts.tolist(), found.tolist()):
        covers = padded[blocks.k - j : blocks.k - j + len(r)]
        inside = covers > 0
        assert by_slacks == pytest.approx(np.maximum(r - E * covers, 0)[inside].sum(), rel=1e-12)


@pytest.mark.parametrize("folded", [True, False])
def test_parts_of_blocks_are_all_that_a_shift_tells_apart(folded: bool) -> None:
    coarse = Lattice(3, -7, 6, -7, 6, True, edge=1) if folded else Lattice(3, -2, 8, -2, 8, False, edge=1)
    blocks = Blocks.of(coarse, Grading(4, (0.0,), 1.0, 1.5))
    masses, E = np.random.default_rng(6).random(blocks.classes), 2.5
    event, cover = blocks.tests.means(masses)
    by_parts = {
        j: np.maximum(event - E * cover, 0)[blocks.tests.shift == j].sum()
        for j in np.unique(blocks.tests.shift).tolist()
    }
    by_cells = dict(zip(blocks.shifts.tolist(), blocks.shortfalls(blocks.unfold(masses), E).tolist()))
    assert {j: by_cells[j] for j in by_parts} == pytest.approx(by_parts)
    assert set(by_parts) <= set(by_cells)
    for side in (1,) if folded else (1, -1):  # and the others lie on chords between these
        kinks = sorted(side * j for j in by_parts if side * j > 0)
        for j in range(kinks[0], kinks[-1] + 1):
            assert by_cells[side * j] == pytest.approx(np.interp(j, kinks, [by_parts[side * i] for i in kinks]))


def test_classes_are_blocks_and_their_mirror_images() -> None:
    blocks = Blocks.of(Lattice(2, -4, 3, -4, 3, True, edge=1), Grading(2, (0.0, 0.2, -0.2), 2.0, 1.0))
    values = np.arange(blocks.classes, dtype=float)
    unfolded = blocks.unfold(values)
    assert (unfolded == unfolded[::-1]).all() and set(unfolded) == set(values)
    assert blocks.multiplicity.sum() == len(blocks.indices)
    assert blocks.shares(unfolded) == pytest.approx(values)
    assert (unfolded[blocks.representatives] == values).all()


def test_classes_are_blocks() -> None:
    blocks = Blocks.of(Lattice(2, -1, 5, -1, 5, False, edge=1), Grading(4, (0.0, 0.2), 2.0, math.inf))
    values = np.arange(blocks.classes, dtype=float)
    unfolded = blocks.unfold(values)
    assert (np.diff(unfolded) >= 0).all() and set(unfolded) == set(values)
    assert blocks.multiplicity == pytest.approx(np.bincount(unfolded.astype(int)))
    assert blocks.shares(unfolded) == pytest.approx(values)


def test_narrow_cells_near_the_steps_of_a_law_in_a_support() -> None:
    problem, window = noise_problem(5, 0.1, 1.0, "l1", support=(-1, 4)), Window(-1, 3)
    graded = upper_step(problem, 8, 1, window, None, LIMITS, grading=Grading(4, (0.0, 0.11), 2.0, math.inf))
    narrow = upper_step(problem, 32, 1, window, None, LIMITS)
    assert graded.delta_upper <= 0.1 and graded.pairs < narrow.pairs
    assert narrow.bound <= graded.bound * (1 + 1e-4) and graded.bound < 0.0995


def test_no_worse_than_the_wide_cells_and_no_better_than_narrow_ones() -> None:
    problem, window = noise_problem(5, 0.5, 1.0, "l2"), Window(-1.5, 1.5)
    grading = Grading(4, (0.0, 0.144, -0.144), 2.0, 1.4)
    wide = upper_step(problem, 7, 1, window, None, LIMITS)
    graded = upper_step(problem, 7, 1, window, None, LIMITS, grading=grading)
    narrow = upper_step(problem, 28, 1, window, None, LIMITS)
    assert narrow.bound <= graded.bound * (1 + 1e-4)
    assert graded.bound < 0.99 * wide.bound
    assert graded.delta_upper <= 0.5 and graded.pairs < narrow.pairs


def test_tight_windows_of_graded_lattices_keep_to_the_steps() -> None:
    problem = noise_problem(10, 0.75, 1.0, "l2")
    grading = Grading(4, (0.0, 0.028, -0.028), 8.0, 2.04)
    everywhere = lower_step(problem, 36, Window(-1.06, 1.06), None, LIMITS, grading)
    near = lower_step(problem, 36, Window(-1.06, 1.06, near=((-0.042, 0.042),)), None, LIMITS, grading)
    assert near.pairs < everywhere.pairs
    assert near.bound <= 0.00021180254


@pytest.mark.parametrize(("epsilon", "delta"), [(4, 0.75), (10, 0.75)])
def test_squares_at_large_delta(epsilon: float, delta: float) -> None:
    solution = solve(noise_problem(epsilon, delta, 1.0, "l2"), SolverSettings(gap=2e-3, time_limit=60))
    assert solution.certificate.gap is not None and solution.certificate.gap <= 2e-3


def test_steepness_is_the_epsilon_of_a_staircase_for_absolute_errors() -> None:
    for epsilon in (0.1, 3.0, 12.0):
        assert steepness(amplitude_gamma(epsilon)) == pytest.approx(epsilon)
