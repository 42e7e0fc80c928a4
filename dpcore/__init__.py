"""Provably near-optimal noise for differential privacy."""

__version__ = "0.1.0"
