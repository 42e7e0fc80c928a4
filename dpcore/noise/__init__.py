"""Noise laws: distributions, their calibration to (ε, δ) and their own δ(ε)."""
