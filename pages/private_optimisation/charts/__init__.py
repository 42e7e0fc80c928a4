"""Clouds, prices and stories → figures. Pure."""

from .epsilons import prices, violations
from .pictures import flow_map, holdings, polygon, region
from .published import figure_2, figure_3, figure_4
from .releases import margins, objectives
from .styles import name

__all__ = [
    "figure_2", "figure_3", "figure_4", "flow_map", "holdings", "margins", "name", "objectives", "polygon", "prices",
    "region", "violations",
]  # fmt: skip
