"""Optimal noise: problem → Solution."""

from .frontier import pareto_frontier
from .solve import solve, solve_many

__all__ = ["pareto_frontier", "solve", "solve_many"]
