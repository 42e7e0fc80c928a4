"""Every mechanism on one query, and what the dimension and the disparity of a profile do to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._validate import whole
from ..errors import InputError
from ..privacy import Privacy
from ..search import bisection, whole_half
from .mixed import KEY as MIXED
from .mixed import NAME as MIXED_NAME
from .mixed import mixed
from .profile import SensitivityProfile
from .pure import blocks, k_norm, planar, staircases
from .query import Allocation, VectorQuery, decibels
from .scales import RULES, Family, allocate, gaussian_family, laplace_family, relaxed_laplace_family

Progress = Callable[[float], bool | None]

FAMILIES: dict[str, tuple[str, Callable[[Privacy], Family]]] = {
    "gaussian": ("Gaussian", gaussian_family),
    "laplace": ("Laplace", laplace_family),
    "laplace-relaxed": ("Laplace with δ", relaxed_laplace_family),
}
PURE = {
    "staircase-optimal": ("Staircase, optimal split", staircases),
    "k-norm": ("K-norm of the box", k_norm),
    "blocks-optimal": ("Blocks, optimal", blocks),
    "planar-staircase": ("Two-dimensional staircase", planar),
}
LP = "lp-optimal"

NAMES = {
    **{f"{key}-{rule}": f"{name}, {word}" for key, (name, _) in FAMILIES.items() for rule, word in RULES.items()},
    **{key: name for key, (name, _) in PURE.items()},
    LP: "LP-optimal, optimal split",
    MIXED: MIXED_NAME,
}
"""Key → name of all mechanisms, in the order in which they are shown."""

MECHANISMS = tuple(NAMES)


def allocations(
    query: VectorQuery, mechanisms: tuple[str, ...] = MECHANISMS, *, progress: Progress | None = None
) -> list[Allocation]:
    """What each mechanism does with the query, in the order of `MECHANISMS`; those that do not exist carry a reason.

    "mixed" is the best of all others and of the mixtures it tries itself.
    """
    for key in mechanisms:
        if key not in MECHANISMS:
            raise InputError("mechanism", key, "all, or some of " + ", ".join(MECHANISMS))
    wanted = MECHANISMS if MIXED in mechanisms else mechanisms
    found = {key: allocation(query, key) for key in MECHANISMS if key in wanted and key not in (LP, MIXED)}
    if LP in wanted:
        from .scalar_optima import lp_optimal

        found[LP] = lp_optimal(query, progress=progress)
    if MIXED in mechanisms:
        found[MIXED] = mixed(query, list(found.values()), progress=progress)
    return [found[key] for key in MECHANISMS if key in mechanisms]


def allocation(query: VectorQuery, key: str) -> Allocation:
    """A mechanism with a closed form: all keys but lp-optimal and mixed."""
    privacy, name = query.privacy, NAMES[key]
    if key in PURE:
        build = PURE[key][1]
        if privacy.epsilon == 0:
            return Allocation.missing(key, name, "laplace-iid", "it needs a positive epsilon")
        return build(query)
    family, _, rule = key.rpartition("-")
    reference = "gaussian-iid" if family == "gaussian" else "laplace-iid"
    if family != "laplace" and privacy.delta == 0:
        return Allocation.missing(key, name, reference, "it needs a positive delta")
    if family == "laplace" and privacy.epsilon == 0:
        return Allocation.missing(key, name, reference, "it needs a positive epsilon")
    return allocate(query, FAMILIES[family][1](privacy), rule)


def reduction(one: Allocation, query: VectorQuery) -> tuple[float, float]:
    """(error of the identical noise it is compared with)/(its own error), and that in decibels; nan without both."""
    base = allocation(query, one.reference)
    if one.guarantee is None or base.guarantee is None:
        return float("nan"), float("nan")
    ratio = base.error / one.error
    return ratio, decibels(ratio)


def flip_dimension(
    preset: str, privacy: Privacy, *, power: float = 2.0, pure: str = "laplace-optimal", most: int = 2000
) -> int | None:
    """The smallest dimension up to `most` from which on optimal Gaussian noise beats the pure mechanism on the
    preset, None if it never does. Bisection: the ratio of the two errors grows with K (where it does not, it never
    crosses 1)."""
    most = whole(1, 100_000, most=most)

    def gaussian_wins(dimension: int) -> bool:
        query = VectorQuery(privacy, SensitivityProfile.preset(preset, dimension, normalise="l2"), power)
        return allocation(query, "gaussian-optimal").error < allocation(query, pure).error

    if not gaussian_wins(most):
        return None
    return bisection(gaussian_wins, most, 0, mean=whole_half)[0]


@dataclass(frozen=True)
class Rates:
    """Theorem 7 of [MK] on one query with the error Σ T_i², not coupled, weights 1.

    disparity : ν = ‖λ‖₁/(K max λ).
    gaussian : error of the optimal Gaussian noise over K²·(max λ)²/μ₀², which is exactly ν².
    laplace, laplace_bound : error of the optimal Laplace noise over 2K³(max λ)²/ε², and ν², which it never exceeds.
    """

    disparity: float
    gaussian: float
    laplace: float
    laplace_bound: float


def rates(profile: SensitivityProfile) -> Rates:
    """The rates of [MK, Thm. 7]; neither ε nor δ matters."""
    nu, top, count = profile.disparity, profile.norm(float("inf")), len(profile)
    mean = float(((profile.array / top) ** (2 / 3)).mean())
    return Rates(nu, (profile.norm(1) / (top * count)) ** 2, mean**3, nu**2)
