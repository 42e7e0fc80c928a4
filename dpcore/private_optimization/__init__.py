"""Linear and convex quadratic programs whose private limits must hold: released plans that never violate one
(docs/private_optimisation.md)."""

from .noises import BASELINES, FEASIBLE, MECHANISMS, RowNoise, row_noise
from .plan import Plan, Planner
from .program import Model, PrivateProgram
from .quality import Bound, Quality, quality
from .release import Simulation, release, simulate

__all__ = [
    "BASELINES",
    "FEASIBLE",
    "MECHANISMS",
    "Bound",
    "Model",
    "Plan",
    "Planner",
    "PrivateProgram",
    "Quality",
    "RowNoise",
    "Simulation",
    "quality",
    "release",
    "row_noise",
    "simulate",
]
