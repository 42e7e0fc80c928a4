"""The error rates of [SLW, Tables 2 and 3] for the sets that come with the product, as printed, in per cent."""

from __future__ import annotations

PRINTED: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "naive-bayes": {
        "contraceptive": {
            "gaussian-classical": (58.84, 59.53), "gaussian": (52.84, 54.22), "truncated-laplace": (52.38, 53.76),
            "optimal": (51.32, 52.89), "data-dependent": (50.46, 52.19), "none": (49.14, 51.08),
        },
        "breast-cancer": {
            "gaussian-classical": (2.45, 3.82), "gaussian": (2.23, 3.57), "truncated-laplace": (2.20, 3.54),
            "optimal": (2.17, 3.51), "data-dependent": (2.14, 3.48), "none": (2.12, 3.46),
        },
        "ecoli": {
            "gaussian-classical": (48.09, 48.33), "gaussian": (31.40, 31.81), "truncated-laplace": (27.00, 27.44),
            "optimal": (26.51, 26.95), "data-dependent": (18.76, 19.28), "none": (3.97, 4.52),
        },
    },
    "coordinate-descent": {
        "contraceptive": {
            "gaussian-classical": (38.52, 39.90), "gaussian": (38.30, 39.71), "truncated-laplace": (38.29, 39.70),
            "optimal": (38.27, 39.69), "data-dependent": (37.39, 38.93), "none": (38.21, 39.64),
        },
        "breast-cancer": {
            "gaussian-classical": (4.60, 4.75), "gaussian": (4.36, 4.52), "truncated-laplace": (4.36, 4.51),
            "optimal": (4.34, 4.50), "data-dependent": (3.93, 4.09), "none": (4.31, 4.46),
        },
        "ecoli": {
            "gaussian-classical": (9.38, 9.88), "gaussian": (7.29, 7.73), "truncated-laplace": (7.09, 7.53),
            "optimal": (7.01, 7.45), "data-dependent": (6.31, 6.70), "none": (6.52, 6.96),
        },
    },
}  # fmt: skip
"""Model → data set → law → (in sample, out of sample), at (1, .1) for every statistic."""
