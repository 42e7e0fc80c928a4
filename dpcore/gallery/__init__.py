"""Mechanisms and attacks of a course on differential privacy, one module each: exact probabilities where they exist,
simulation with the caller's `rng` otherwise.

`tests/gallery` holds each against enumeration.
"""
