"""Optimal noise: problem → Solution."""

from .additive import solve, solve_many
from .frontier import pareto_frontier

__all__ = ["pareto_frontier", "solve", "solve_many"]
