"""The page's address, and what can be chosen on it."""

from __future__ import annotations

from pages.shared.address import Address, Choice

from . import data

TABS = (
    "Tables",
    "Earlier lower bound",
    "Example 1",
    "Convergence",
    "Shapes",
    "Monotone noise",
    "Two dimensions",
    "Other papers",
)
MEASURES = {"upper": "benchmark above O", "lower": "lower bound below O", "both": "both gaps together"}
TABLES = {
    key: f"{one.title}: {MEASURES[one.measures]}, loss {'|x|' if one.loss == 'l1' else 'x²'}"
    for key, one in data.tables().items()
}
REGIMES = {"low": (5.0, 0.25), "medium": (1.0, 0.2), "high": (0.2, 0.05)}
SHAPES = {
    "medium": "Figure 4: (1, 0.2), Δf = 10",
    "six": "Figure 4: (0.6, 0.2), Δf = 10",
    "six tenth": "Figure 4: (0.6, 0.1), Δf = 10",
    "nine medium": "Figure 5: (1, 0.2), Δf = 10, range 18",
    "nine six": "Figure 5: (0.6, 0.2), Δf = 10, range 18",
    "nine six tenth": "Figure 5: (0.6, 0.1), Δf = 10, range 18",
    "low": "As Figure 4: (5, 0.25), Δf = 10",
    "high": "As Figure 4: (0.2, 0.05), Δf = 10",
    "asymmetric": "Supplement, Figure 2: (1, 0.2), Δf = 1",
    "losses": "Supplement, Figure 3: (1, 0.4), Δf = 10",
}
PANELS = {"medium": (1.0, 0.2), "six": (0.6, 0.2), "six tenth": (0.6, 0.1)}
"""Panel titles of Figures 4 and 5."""

PRIVACY_NAMES = {"low": "low privacy (5, 0.25)", "medium": "medium (1, 0.2)", "high": "high (0.2, 0.05)"}
STUDIES = {
    "figure 3": "Figure 3: finer grids",
    "times": "Figure 3: seconds to a proof",
    "figure 5": "Supplement, Figure 5: support and grid",
}

ERRORS = {"absolute": "Colour: error ÷ max(1, O)", "relative": "Colour: relative error"}

PLANE = {"2": "(2, 0.2)", "5": "(5, 0.2)"}

PEOPLE = {"1": "1 person", "5": "5 people", "20": "20 people", "100": "100 people"}

LOSSES = {"l1": "loss |x|", "l2": "loss x²"}

REGRESSIONS = {"lasso": "Figure 5: ℓ1 linear", "logistic": "Figure 6: ℓ2 logistic"}

PAGE = Address(
    "published figures",
    tab=Choice(TABS[0], TABS), table=Choice("1", TABLES), study=Choice("figure 3", STUDIES),
    regime=Choice("medium", PRIVACY_NAMES), shape=Choice("medium", SHAPES),
    error=Choice("absolute", ERRORS), plane=Choice("2", PLANE), people=Choice("5", PEOPLE),
    mixture_loss=Choice("l1", LOSSES), regression=Choice("lasso", REGRESSIONS),
    row=Choice("0.1", [f"{delta:g}" for delta in data.published()["deltas"]]),
)  # fmt: skip
"""Every control of the page."""
