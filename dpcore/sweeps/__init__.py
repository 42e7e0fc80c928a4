"""Many problems at once: certified figures as they are found, on this machine or on a Dask cluster."""

from .chains import Outcome, chains, solve_chain
from .grid import Refused, grid, read_axis
from .run import CLUSTER, Found, sweep
from .table import row, write_table

__all__ = [
    "CLUSTER", "Found", "Outcome", "Refused", "chains", "grid", "read_axis", "row", "solve_chain", "sweep",
    "write_table",
]  # fmt: skip
