"""Noise laws: distributions, their calibration to (ε, δ) and their own δ(ε).

The classes are imported on first use: several need scipy.special, which `import dpcore` should not pay for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import Noise

if TYPE_CHECKING:
    from .discrete import DiscreteStaircase, Geometric
    from .gaussian import Gaussian
    from .laplace import Laplace
    from .lattice import LatticeNoise
    from .mixture import MultiGaussian, QuasiGaussian
    from .piecewise import PiecewiseNoise
    from .staircase import Staircase
    from .truncated_laplace import TruncatedLaplace
    from .uniform import Uniform

_HOMES = {
    "DiscreteStaircase": "discrete",
    "Gaussian": "gaussian",
    "Geometric": "discrete",
    "Laplace": "laplace",
    "LatticeNoise": "lattice",
    "MultiGaussian": "mixture",
    "PiecewiseNoise": "piecewise",
    "QuasiGaussian": "mixture",
    "Staircase": "staircase",
    "TruncatedLaplace": "truncated_laplace",
    "Uniform": "uniform",
}

__all__ = [
    "DiscreteStaircase",
    "Gaussian",
    "Geometric",
    "Laplace",
    "LatticeNoise",
    "MultiGaussian",
    "Noise",
    "PiecewiseNoise",
    "QuasiGaussian",
    "Staircase",
    "TruncatedLaplace",
    "Uniform",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
