"""Privacy rows: Σ_t max(0, a_t·x − f_t b_t·x) + u_r·x ≤ δ_r, what every program of the project asks of its unknowns.

Geometry modules produce rows, `program` solves, `referee` says what multipliers prove.
"""
