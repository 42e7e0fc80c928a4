"""Large ε and losses with a power: programs whose numbers span many orders of magnitude."""

import math

import numpy as np
import pytest

from dpcore.optimal import solve
from dpcore.optimal.additive import Search
from dpcore.optimal.lower import lower_step
from dpcore.optimal.mesh import Grading
from dpcore.optimal.step import Limits, Window
from dpcore.problem import SolverSettings, noise_problem
from dpcore.rows.program import PrivacyProgram


def test_multipliers_prove_what_a_graded_program_is_worth():
    """A lattice that keeps all nodes and shifts and adds finer ones proves more; at a tolerance of 1e-9 what the solver
    let through at nodes far out, where next to no mass is, took off .2 %."""
    problem, step, window = noise_problem(11, 0.6, 1, "lp:4"), 0.0825843, Window(-0.18, 0.18)
    limits = Limits(2.6e-5, 1e-3, math.inf, lambda: False)
    graded = [Grading(coarse, (0.0, step, -step), 16.0, 1.3 * step) for coarse in (8, 4)]
    first = lower_step(problem, 85, window, None, limits, graded[0])
    finer = lower_step(problem, 133, window, first.seed, limits, graded[1])
    assert finer.bound > lower_step(problem, 133, window, None, limits).bound


@pytest.mark.parametrize("epsilon, delta, loss", [(12.8, 0.107, "lp:3.35"), (11, 0.1, "lp:3")])
def test_programs_undercut_the_staircase(epsilon, delta, loss):
    """By .2 % and more for powers above 2, even where top steps are as narrow as those at which none does for x²."""
    problem, settings = noise_problem(epsilon, delta, 1, loss), SolverSettings(gap=1e-3, time_limit=60)
    staircase, best = Search(problem, settings).first().certificate, solve(problem, settings).certificate
    assert best.upper < 0.998 * staircase.upper
    assert best.gap <= 1e-3


def test_no_program_is_solved_twice_in_the_same_window():
    """A step that ends without an answer leaves the search's state as it was: the next choice would be the same."""

    class Recorded(Search):
        def _step(self, schedule, kind, k, *share):
            asked.append((kind, k, schedule.window(kind, k, self._steps)))
            return super()._step(schedule, kind, k, *share)

    for epsilon, delta, loss in ((12.5, 0.3, "lp:3"), (11, 0.3, "lp:3"), (14, 0.6, "lp:4")):
        asked: list = []
        Recorded(noise_problem(epsilon, delta, 1, loss), SolverSettings(gap=1e-4, time_limit=2)).run()
        assert len(asked) == len(set(asked)) > 5


def test_no_program_is_unbounded():
    """The solver says so of steep programs; who asks is told that it failed."""
    program = PrivacyProgram(lambda names: pytest.fail("no terms"), np.ones(1), np.ones(1), tolerance=1e-10)
    program.lp.add_columns(-1.0)
    assert program.lp.run(math.inf) == "unbounded"
    assert program.run(math.inf, lambda: False) == "failed"
