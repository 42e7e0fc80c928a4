"""What is released is what was certified: supports and losses hold for the release, whatever the value."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpcore.exact import release
from dpcore.export import load_solution, python_snippet, solution_to_json
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.staircase import Staircase
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem

VALUES = (0.0, 0.3, -0.3, 0.1, 1 / 3, -7.7, 41.123456789, -1234.5, 123456.7, -1e6 + 0.3, 1e9 + 0.3, 2.0**40 + 0.25)

QUICK = SolverSettings(gap=0.05, time_limit=2.0)


def shown(number: float) -> Fraction:
    """The decimal number that a float shows."""
    return Fraction(repr(float(number)))


def errors(noise, value: float, count: int) -> list[Fraction]:
    """Release − value, exactly, in the numbers that they show."""
    return [shown(release(noise, value)[0]) - shown(value) for _ in range(count)]


def at_most(hits: int, trials: int, probability: float) -> bool:
    """7 standard deviations: a correct release fails once in 10^11 runs."""
    return hits <= trials * probability + 7 * math.sqrt(trials * probability * (1 - probability)) + 1


@pytest.fixture(scope="module")
def at_a_jump():
    """The atom sits at −0.5, where the loss jumps and the support ends."""
    return solve(noise_problem(0.0, 0.9, loss="exceed:0.5", support=(-3.0, -0.5)), QUICK)


def test_the_loss_of_a_release_at_a_jump(at_a_jump):
    """One law, many values: P(|error| > 0.5) is at most what was certified, and no error leaves the support."""
    upper, noise = at_a_jump.certificate.upper, at_a_jump.noise
    assert upper < 0.2 and noise.atom_mass > 0.8
    for value in VALUES:
        found = errors(noise, value, 400)
        # A release is a float: where that is coarser than the numbers, by its last digit.
        blur = Fraction(0) if abs(value) < 1e3 and value != 1 / 3 else shown(4e-16 * abs(value))
        assert all(Fraction(-3) - blur <= e <= Fraction(-1, 2) + blur for e in found), value
        assert at_most(sum(abs(e) > Fraction(1, 2) + blur for e in found), len(found), upper), value


def test_the_script_and_the_command_release_alike(at_a_jump, tmp_path):
    (tmp_path / "noise.py").write_text(python_snippet(at_a_jump))
    code = "import noise; print(*(noise.release(0.3) for _ in range(2000)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [Fraction(word) - shown(0.3) for word in done.stdout.split()]
    assert all(-3 <= e <= Fraction(-1, 2) for e in found)
    assert at_most(sum(abs(e) > Fraction(1, 2) for e in found), len(found), at_a_jump.certificate.upper)
    (tmp_path / "noise.json").write_text(solution_to_json(at_a_jump))
    again = load_solution(tmp_path / "noise.json").noise
    found = errors(again, 0.3, 2000)
    assert all(-3 <= e <= Fraction(-1, 2) for e in found)
    assert at_most(sum(abs(e) > Fraction(1, 2) for e in found), len(found), at_a_jump.certificate.upper)


@pytest.mark.parametrize("support", [(0.0, math.inf), (-math.inf, 0.0), (-2.5, 2.5)])
def test_no_release_leaves_a_support_that_ends_at_the_value(support):
    """One-sided noise never falls on the other side of the value, however far from 0 that is."""
    noise = solve(noise_problem(1.0, 0.2, support=support), QUICK).noise
    for value in VALUES:
        released = [release(noise, value)[0] for _ in range(200)]
        if support == (0.0, math.inf):
            assert min(released) >= value
        elif support == (-math.inf, 0.0):
            assert max(released) <= value
        else:
            blur = 4e-16 * abs(value)
            assert all(-2.5 - blur <= e <= 2.5 + blur for e in map(lambda r: float(shown(r) - shown(value)), released))


@pytest.mark.parametrize("sensitivity", [1.0, 0.1, 0.7])
def test_errors_stay_in_the_cell_drawn_for_every_offset(sensitivity):
    """With two lattice points to a unit each draw shows: rounding down, or to the nearest, leaves the cells."""
    noise = PiecewiseNoise.from_masses(
        sensitivity=sensitivity, resolution=1, breaks=[-3, -1, 4, 5], masses=[0.5, 0.0, 0.3], atom=0.2, atom_unit=2
    )
    for offset in np.linspace(-1, 1, 41).round(3).tolist():
        for _ in range(40):
            error = (shown(noise.release(offset, 2)) - shown(offset)) / shown(sensitivity)
            blur = Fraction(1, 10**15)
            inside = -3 - blur <= error < -1 or 4 - blur <= error < 5
            assert inside or abs(error - 2) <= blur


def test_values_a_sensitivity_apart_are_so_on_the_lattice():
    """Decimals: 0.4 − 0.3 is a tenth, and stays one after rounding up; with the floats' own values it would not."""
    for sensitivity, resolution in ((0.1, 3), (0.7, 7), (2.0, 1)):
        noise = PiecewiseNoise.from_masses(sensitivity=sensitivity, resolution=resolution, breaks=[0, 1], masses=[1.0])
        step = noise.unit / 4
        for value in np.random.default_rng(5).uniform(-100, 100, 200).round(3).tolist():
            moved = shown(value) + shown(sensitivity)
            assert math.ceil(moved / step) - math.ceil(shown(value) / step) == 4 * resolution


def test_an_atom_releases_the_value_itself():
    noise = Staircase(1.0, 0.3, 0.4, atom=1.0, location=-0.7)
    assert [release(noise, v)[0] for v in (0.1, 0.3, 41.25)] == [-0.6, -0.4, 40.55]
    noise = PiecewiseNoise.from_masses(
        sensitivity=0.3, resolution=3, breaks=[-1, 0, 1], masses=[0, 0], atom=1.0, atom_unit=-7
    )
    assert [release(noise, v)[0] for v in (0.1, 0.3, 41.25)] == [-0.6, -0.4, 40.55]


def test_scripts_of_a_staircase_round_like_the_library(tmp_path):
    """At δ = 0 the script draws on a lattice too fine to see: a thousand releases of a third are a thousand numbers."""
    solution = solve(noise_problem(1.0, 0.0), QUICK)
    (tmp_path / "noise.py").write_text(python_snippet(solution))
    code = "import json, noise; print(json.dumps([noise.release(1 / 3) for _ in range(1000)]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    drawn = json.loads(done.stdout)
    assert len(set(drawn)) > 990
    x = np.sort(drawn) - 1 / 3
    # Dvoretzky–Kiefer–Wolfowitz: beyond this distance with probability 1e-9
    reach = math.sqrt(math.log(2e9) / 2000)
    assert np.abs(solution.noise.cdf(x) - np.arange(1, 1001) / 1000).max() <= reach + 1e-3
