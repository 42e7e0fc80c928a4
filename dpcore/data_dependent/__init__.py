"""Data-dependent noise: one law of the release per value of a query with a bounded range."""

from .problem import DataDependentProblem, data_dependent_problem
from .search import solve
from .solution import Solution

__all__ = ["DataDependentProblem", "Solution", "data_dependent_problem", "solve"]
