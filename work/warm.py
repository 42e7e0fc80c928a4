"""`python -m work.warm`: compile every kernel into the cache and load what a first visit needs."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from dpcore.data_dependent import search as data_dependent
from dpcore.data_dependent.grouped import GroupedProgram
from dpcore.data_dependent.problem import data_dependent_problem
from dpcore.noise import MultiGaussian
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings, noise_problem
from dpcore.rows.interior import InteriorProgram, Limits, WideLimits
from dpcore.solution import Solution


def warm() -> Solution:
    """Solve small problems until nothing is left to compile; returns the answer to the first."""
    for loss in ("l1", "pinball:0.8"):
        solve(noise_problem(1, 0.2, 1, loss), SolverSettings(method="reference", cells_per_sensitivity=4))
    data_dependent.solve(data_dependent_problem(1, 0.2, query_range=(0, 10)), SolverSettings(gap=0.05))
    data_dependent.solve(data_dependent_problem(1, 0.2, query_range=(0, 2)), SolverSettings(gap=0.01))
    apart = abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    shared = GroupedProgram(apart, (apart > 0) & (apart < 4), 9.0, 0.1, 3, True, distances=1, laws=1)
    shared.solve(math.inf, lambda: False, accuracy=0.01)
    steps, first, one = np.arange(1, 8), np.zeros(8, dtype=np.int64), np.ones(8)
    limit = np.array([0, 7]), 0.1 * one[:1], np.arange(2), first[:1], one[:1], first, one
    terms = np.repeat(steps - 1, 2), np.stack([steps - 1, steps], axis=1).ravel()
    hats = csr_array((np.tile([-2.0, 1.0], 7), terms), (7, 8))
    for limits in (Limits(*limit, 2.0, steps, steps - 1), WideLimits(*limit, hats)):
        InteriorProgram(np.arange(8.0), limits).solve(math.inf, lambda: False, accuracy=0.01)
    gaussian = GaussianProfile(2.2)
    anchor = gaussian.anchor
    solve(noise_problem(anchor.epsilon, anchor.delta, profile=gaussian), SolverSettings(gap=0.1))
    MultiGaussian.calibrate(Privacy(1.0, 0.2), 1.0)
    return solve(noise_problem(1, 0.2), SolverSettings(gap=0.02))


if __name__ == "__main__":
    warm()
