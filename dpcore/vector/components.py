"""Private principal components: noise on the upper triangle of Σ x xᵀ, ‖x‖₂ = 1 [MK, §VI-B].

Neighbours: one person is added or removed. The second-moment matrix then moves by x xᵀ, of Frobenius norm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validate import whole
from ..privacy import Privacy
from .datasets import Table, unit_rows
from .profile import SensitivityProfile
from .query import VectorQuery
from .scales import allocate, gaussian_family, laplace_family

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """Mean and standard error over the trials of two figures of one kind of noise.

    key, name : of the noise.   guarantee : (ε, δ).
    """

    key: str
    name: str
    guarantee: Privacy
    values: tuple[float, float]
    errors: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Noise:
    key: str
    name: str
    guarantee: Privacy
    clipped: bool
    diagonal: float
    off: float
    laplace: bool = False


def noises(features: int, privacy: Privacy) -> list[_Noise]:
    """Scales of the diagonal and the off-diagonal entries of the upper triangle, K = M(M + 1)/2 of them.

    Not clipped: Σ d_ii² + 2Σ_{i<j} d_ij² ≤ 1, so σ_diagonal = 1/μ₀, σ_off = 1/(√2 μ₀) are exactly private. Laplace:
    Σ_{i≤j} |x_i x_j| = (‖x‖₁² + 1)/2 ≤ (M + 1)/2, with |d_ii| ≤ 1 and |d_ij| ≤ ½.
    Clipped at λ = 1/√K on and 1/√(2K) off the diagonal: the rules of [MK] for that profile.
    """
    M = features
    K = M * (M + 1) // 2
    kinds = np.concatenate([np.ones(M), np.zeros(K - M)]).astype(bool)
    clipped = VectorQuery(privacy, SensitivityProfile(tuple(np.where(kinds, 1 / math.sqrt(K), 1 / math.sqrt(2 * K)))))
    box = VectorQuery(privacy, SensitivityProfile(tuple(np.where(kinds, 1.0, 0.5))), l1=(M + 1) / 2, l2=1.0)
    out = []

    def add(key: str, name: str, asked: VectorQuery, rule: str, *, clip: bool, laplace: bool = False) -> None:
        family = (laplace_family if laplace else gaussian_family)(privacy)
        scales = allocate(asked, family, rule).scales
        out.append(_Noise(key, name, family.guarantee, clip, float(scales[0]), float(scales[-1]), laplace))

    if privacy.delta > 0:
        mu = float(gaussian_family(privacy).radius)
        add("gaussian-iid", "Gaussian, identical", box, "iid", clip=False)
        out.append(_Noise("gaussian-exact", "Gaussian, unclipped 1/μ₀ and 1/(√2 μ₀)", privacy, False, (1 + 1e-15) / mu,
                          (1 + 1e-15) / (math.sqrt(2) * mu)))  # fmt: skip
        add("gaussian-spr", "Gaussian, clipped, scale-perturb-rescale", clipped, "spr", clip=True)
        add("gaussian-optimal", "Gaussian, clipped, optimal", clipped, "optimal", clip=True)
    if privacy.epsilon > 0:
        add("laplace-iid", "Laplace, identical", box, "iid", clip=False, laplace=True)
        add("laplace-spr", "Laplace, clipped, scale-perturb-rescale", clipped, "spr", clip=True, laplace=True)
        add("laplace-optimal", "Laplace, clipped, optimal", clipped, "optimal", clip=True, laplace=True)
    return out


def private_components(
    table: Table,
    privacy: Privacy,
    *,
    rank: int,
    trials: int = 20,
    seed: int = 0,
    progress: Callable[[float], bool | None] | None = None,
) -> list[Outcome]:
    """Explained variance (share of the best possible) and subspace recovery error ‖(I − ÛÛᵀ)U‖_F/‖U‖_F of each noise.

    U : the true subspace of synthetic data, else the non-private leading eigenvectors.
    """  # fmt: skip
    rows = unit_rows(table)
    M = rows.shape[1]
    rank, trials = whole(1, M, rank=rank), whole(2, 2000, trials=trials)
    exact = rows.T @ rows
    best = _leading(exact, rank)
    truth = table.basis if table.basis is not None and table.basis.shape[1] == rank else best
    most = float(np.einsum("ij,ik,kj->", best, exact, best))
    on = math.sqrt(2 / (M * (M + 1)))
    bounds = np.full((M, M), on / math.sqrt(2))
    np.fill_diagonal(bounds, on)
    cut = _clipped_sum(rows, bounds)
    out = []
    for noise in noises(M, privacy):
        rng = np.random.default_rng([seed, *noise.key.encode()])
        figures = []
        for _ in range(trials):
            draw = (rng.laplace if noise.laplace else rng.normal)(size=(M, M)) * noise.off
            draw = np.triu(draw, 1)
            draw += draw.T
            draw[np.diag_indices(M)] = (rng.laplace if noise.laplace else rng.normal)(size=M) * noise.diagonal
            found = _leading((cut if noise.clipped else exact) + draw, rank)
            missed = truth - found @ (found.T @ truth)
            explained = float(np.einsum("ij,ik,kj->", found, exact, found)) / most
            figures.append((explained, float(np.linalg.norm(missed)) / math.sqrt(rank)))
        out.append(_outcome(noise.key, noise.name, noise.guarantee, np.array(figures)))
        if progress is not None and progress(float(len(out))):
            break
    return out


def _outcome(key: str, name: str, guarantee: Privacy, figures: Array) -> Outcome:
    mean, spread = figures.mean(axis=0), figures.std(axis=0, ddof=1) / math.sqrt(len(figures))
    return Outcome(key, name, guarantee, tuple(mean.tolist()), tuple(spread.tolist()))


def _leading(matrix: Array, rank: int) -> Array:
    return np.linalg.eigh(matrix)[1][:, -rank:]


def _clipped_sum(rows: Array, bounds: Array) -> Array:
    """Σ clip(x xᵀ) entry by entry, without all outer products in memory at once."""
    total = np.zeros_like(bounds)
    for part in np.array_split(rows, max(len(rows) // 100, 1)):
        total += np.clip(part[:, :, None] * part[:, None, :], -bounds, bounds).sum(axis=0)
    return total
