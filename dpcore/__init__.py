"""Provably near-optimal noise for differential privacy.

>>> import dpcore as dp
>>> dp.solve(epsilon=1, delta=0.2)  # doctest: +ELLIPSIS
Solution((1, 0.2)-DP, sensitivity 1, loss l1: 0.558... ≤ least expected loss ≤ 0.558..., gap ...

What `__all__` lists is stable (docs/api.md); every other name is private. Names are imported on first use, so that
`import dpcore` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from . import data_dependent, mechanisms, private_optimization, vector
    from . import loss as losses
    from .accounting.mechanisms import Release
    from .accounting.rules import Total
    from .audit import delta_upper
    from .comparison import Comparison
    from .errors import CertificateError, InfeasibleError, InputError, MissingExtraError, SolverError
    from .interface import account, compare, frontier, invert, load, release, save, solve, sweep
    from .inversion import Inversion
    from .loss import Loss
    from .noise.base import Noise
    from .privacy import Privacy
    from .privacy_profile import Composed, GaussianProfile, PairList
    from .problem import Budget, NoiseProblem, SolverSettings, noise_problem
    from .solution import Certificate, Progress, Solution
    from .sweeps import Outcome, Refused

_HOMES = {
    "interface": ("account", "compare", "frontier", "invert", "load", "release", "save", "solve", "sweep"),
    "problem": ("Budget", "NoiseProblem", "SolverSettings", "noise_problem"),
    "privacy": ("Privacy",),
    "privacy_profile": ("Composed", "GaussianProfile", "PairList"),
    "loss": ("Loss",),
    "noise.base": ("Noise",),
    "solution": ("Certificate", "Progress", "Solution"),
    "comparison": ("Comparison",),
    "inversion": ("Inversion",),
    "sweeps": ("Outcome", "Refused"),
    "accounting.mechanisms": ("Release",),
    "accounting.rules": ("Total",),
    "audit": ("delta_upper",),
    "errors": ("CertificateError", "InfeasibleError", "InputError", "MissingExtraError", "SolverError"),
}
"""Module → the stable names it holds."""

_MODULES = {
    "losses": "loss", "mechanisms": "mechanisms", "data_dependent": "data_dependent", "vector": "vector",
    "private_optimization": "private_optimization",
}  # fmt: skip
"""Stable name → the module it is."""

_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Budget", "Certificate", "CertificateError", "Comparison", "Composed", "GaussianProfile", "InfeasibleError",
    "InputError", "Inversion", "Loss", "MissingExtraError", "Noise", "NoiseProblem", "Outcome", "PairList", "Privacy",
    "Progress", "Refused", "Release", "Solution", "SolverError", "SolverSettings", "Total", "account", "compare",
    "data_dependent", "delta_upper", "frontier", "invert", "load", "losses", "mechanisms", "noise_problem",
    "private_optimization", "release", "save", "solve", "sweep", "vector",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = import_module(f".{_MODULES[name]}", __name__)
    elif name in _HOME:
        found = getattr(import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
