"""Noise for vectors under ℓ2-sensitivity: laws of the radius, their audit, and the least expected loss.

A query in R^d that neighbours change by at most a Euclidean length, and a loss of the length of the error alone: laws
that depend on the radius alone suffice, so the problem has one dimension whatever d is (docs/isotropic.md).
"""
