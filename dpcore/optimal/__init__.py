"""Optimal noise: problem → Solution."""

from .frontier import pareto_frontier
from .solve import first_bracket, solve, solve_many

__all__ = ["first_bracket", "pareto_frontier", "solve", "solve_many"]
