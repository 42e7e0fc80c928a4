"""Optimal noise: problem → Solution."""

from .additive import solve

__all__ = ["solve"]
