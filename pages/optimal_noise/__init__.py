"""Optimal noise: the first page."""
