"""Queries with several coordinates: noise that follows the coordinates' own sensitivities [MK]."""

from .profile import SensitivityProfile, gini, majorizes, parse_profile
from .query import Allocation, VectorQuery

__all__ = ["Allocation", "SensitivityProfile", "VectorQuery", "gini", "majorizes", "parse_profile"]
