"""All d one-way marginals at once: how many people they take with purely private and with (ε, δ)-private noise.

A table of n rows of d signs ±1; released are the d column means. Replacing a row moves every mean by up to 2/n: ℓ1
sensitivity 2d/n, ℓ2 sensitivity 2√d/n. Laplace noise grows with the first, Gaussian noise with the second
[Awan, Ex. 10.1; Steinke and Ullman, 2016].
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from .._validate import above, whole
from ..errors import InputError
from ..noise import Gaussian
from ..privacy import Privacy
from ..search import bisection, whole_half

Array = NDArray[np.float64]

LAWS = ("laplace", "gaussian")
MEASURES = ("mean", "largest")
MOST_COLUMNS = 10**6


def scale(law: str, people: float, columns: int, privacy: Privacy) -> float:
    """Scale of each mean's noise: b = 2d/(nε) of the Laplace law (ε-DP; δ is not used), σ of the analytic Gaussian."""
    if law == "laplace":
        if privacy.epsilon == 0:
            raise InputError("epsilon", privacy.epsilon, "a positive number for Laplace noise")
        return 2 * columns / (people * privacy.epsilon)
    if law == "gaussian":
        return _unit_sigma(privacy) * 2 * math.sqrt(columns) / people
    raise InputError("law", law, " or ".join(LAWS))


@lru_cache(maxsize=256)
def _unit_sigma(privacy: Privacy) -> float:
    return Gaussian.calibrate(privacy, 1.0).sigma


def error(law: str, people: float, columns: int, privacy: Privacy, *, measure: str = "mean") -> float:
    """Expected absolute error that the noise adds: of a mean, or of the worst of the d means."""
    return scale(law, people, columns, privacy) * spread(law, columns, measure)


def spread(law: str, columns: int, measure: str) -> float:
    """E|noise|, or E max |noise| of d independent ones, at scale 1.

    Laplace: 1, and the harmonic number H_d. Gaussian: √(2/π), and ∫ 1 − (2Φ(x) − 1)^d dx by adaptive quadrature.
    """
    columns = whole(1, MOST_COLUMNS, columns=columns)
    if measure not in MEASURES:
        raise InputError("measure", measure, " or ".join(MEASURES))
    if law == "laplace":
        return 1.0 if measure == "mean" else float(special.digamma(columns + 1) - special.digamma(1))
    return math.sqrt(2 / math.pi) if measure == "mean" else _largest_normal(columns)


@lru_cache(maxsize=4096)
def _largest_normal(columns: int) -> float:
    beyond = lambda x: -math.expm1(columns * math.log1p(-math.erfc(x / math.sqrt(2)))) if x > 0 else 1.0  # noqa: E731
    middle = math.sqrt(2 * math.log(columns + 1))
    return float(integrate.quad(beyond, 0, middle)[0] + integrate.quad(beyond, middle, middle + 12)[0])


def sampling_error(people: float, columns: int, *, measure: str = "mean") -> float:
    """Error of the means themselves around fair coins' 0 when rows are drawn at random: normal with deviation 1/√n
    (central limit theorem)."""
    return spread("gaussian", columns, measure) / math.sqrt(people)


def people_needed(law: str, columns: int, privacy: Privacy, *, error: float, measure: str = "mean") -> float:
    """The n at which the noise errs by `error` (not rounded): the error is proportional to 1/n."""
    return _single(law, columns, privacy, measure) / above(0, 2, error=error)


def free_from(law: str, columns: int, privacy: Privacy, *, measure: str = "mean") -> float:
    """The n from which the noise errs by less than sampling does: (error at n = 1 / sampling error at n = 1)²."""
    return (_single(law, columns, privacy, measure) / sampling_error(1.0, columns, measure=measure)) ** 2


def _single(law: str, columns: int, privacy: Privacy, measure: str) -> float:
    return scale(law, 1.0, columns, privacy) * spread(law, columns, measure)


def gaussian_wins_from(privacy: Privacy, *, measure: str = "mean") -> int:
    """The least d at which Gaussian noise errs by less than Laplace noise; the ratio falls with d.

    Raises
    ------
    InputError : beyond `MOST_COLUMNS`, or δ = 0.
    """

    def wins(d: int) -> bool:
        return _single("gaussian", d, privacy, measure) < _single("laplace", d, privacy, measure)

    if not wins(MOST_COLUMNS):
        raise InputError("delta", privacy.delta, f"one at which Gaussian noise wins below {MOST_COLUMNS} columns")
    return bisection(wins, MOST_COLUMNS, 0, mean=whole_half)[0]


def simulate(law: str, people: int, columns: int, privacy: Privacy, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """(true means of a table of fair coins, released means), each (d,). For looking."""
    people, columns = whole(1, 10**9, people=people), whole(1, MOST_COLUMNS, columns=columns)
    means = 2 * rng.binomial(people, 0.5, columns) / people - 1
    draw = rng.laplace if law == "laplace" else rng.normal
    return means, means + draw(0.0, scale(law, people, columns, privacy), columns)
