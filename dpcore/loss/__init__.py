"""Losses c(x): how much an error x hurts."""

from .base import UNDERFLOW, UNIT, Array, Loss
from .families import (
    FAMILIES,
    NAMED,
    Family,
    absolute,
    asymmetric,
    exceedance,
    family_of,
    huber,
    labels,
    load_table,
    parameters,
    parse_loss,
    pinball,
    power,
    read_table,
    squared,
    steep,
    table,
)
from .piece import Piece

__all__ = [
    "FAMILIES", "NAMED", "UNDERFLOW", "UNIT", "Array", "Family", "Loss", "Piece", "absolute", "asymmetric",
    "exceedance", "family_of", "huber", "labels", "load_table", "parameters", "parse_loss", "pinball",
    "power", "read_table", "squared", "steep", "table",
]  # fmt: skip
