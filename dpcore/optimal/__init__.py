"""Optimal noise: problem → Solution."""

from .additive import solve, solve_many

__all__ = ["solve", "solve_many"]
