"""Programs from practice, of any size: hospital transport, portfolio, internet advertising, and one for a picture.

All data is simulated from a seed by the models described here; nobody's data is shipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._validate import above, decimal, in_range, whole
from ..errors import InfeasibleError
from .program import Array, Model, PrivateProgram


@dataclass(frozen=True, eq=False)
class Transport:
    """A program and its map: places are in the unit square.

    supplies : (M,) units at pharmacies.   demands : (N,) patients at hospitals, private.   costs : (M, N) per unit.
    """

    program: PrivateProgram
    pharmacies: Array
    hospitals: Array
    supplies: Array
    demands: Array
    costs: Array

    def flows(self, x: Array) -> Array:
        """(M, N) units from every pharmacy to every hospital."""
        return np.asarray(x).reshape(self.costs.shape)


def transport(
    pharmacies: int = 6,
    hospitals: int = 8,
    *,
    seed: int = 1,
    epsilon: float = 1.0,
    delta: float = 1e-4,
    demands: Array | None = None,
    most_patients: int = 200,
    spare: float = 1.05,
) -> Transport:
    """The transport problem of [MSVV, Fig. 1]: pharmacies i supply hospitals j, Σ_j x_ij ≤ s_i, Σ_i x_ij ≥ r_j, at a
    cost of one per unit and unit of distance, at least cost.

    Places are uniform on the unit square. Demands r_j count patients: private whole numbers, drawn from 20 … 120, at
    most `most_patients` (the guaranteed limit of a ≥ row); one patient changes one of them by 1. Supplies are in
    proportion to uniform numbers in [1, 2] and cover `spare` times the largest possible total demand.
    """
    M, N = whole(1, 200, pharmacies=pharmacies), whole(1, 200, hospitals=hospitals)
    most = whole(1, 10**6, most_patients=most_patients)
    spare = in_range(1.0, 100.0, spare=spare)
    rng = np.random.default_rng(whole(0, 2**32, seed=seed))
    there, here = rng.random((M, 2)), rng.random((N, 2))
    drawn = rng.integers(min(20, most), min(120, most) + 1, N).astype(float)
    demands = drawn if demands is None else np.asarray(demands, dtype=float)
    weights = rng.uniform(1, 2, M)
    supplies = np.ceil(weights / weights.sum() * spare * most * N) + 1
    costs = np.hypot(*(there[:, None, :] - here[None, :, :]).transpose(2, 0, 1)).round(4)
    ones_i, ones_j = (
        sparse.kron(sparse.eye_array(M), np.ones((1, N))),
        sparse.kron(np.ones((1, M)), sparse.eye_array(N)),
    )
    model = Model(
        costs.ravel(),
        sparse.csr_array(sparse.vstack([ones_i, ones_j])),
        np.concatenate([np.full(M, -math.inf), demands]),
        np.concatenate([supplies, np.full(N, math.inf)]),
        row_names=(*(f"pharmacy {i + 1}" for i in range(M)), *(f"hospital {j + 1}" for j in range(N))),
    )
    program = PrivateProgram(model, M + np.arange(N), np.full(N, float(most)), 1.0, epsilon, delta, granularity=1.0)
    return Transport(program, there, here, supplies, demands, costs)


@dataclass(frozen=True, eq=False)
class Market:
    """Weekly returns of assets.   means : (n,).   loadings : (n, f), specific : (n,): covariance = L Lᵀ +
    diag(specific²)."""

    means: Array
    loadings: Array
    specific: Array

    @property
    def covariance(self) -> Array:
        return self.loadings @ self.loadings.T + np.diag(self.specific**2)


def market(assets: int = 28, *, seed: int = 0) -> Market:
    """A simulated market of large stocks, weekly linear returns.

    Factor model: return = mean + β·market + one of four sectors + specific. Market deviation 2.2 % a week, β uniform in
    [0.6, 1.4]; sector deviation 1.2 %; specific deviation uniform in [1.5 %, 3.5 %]; mean = 0.0405 % + 0.3 %·β plus a
    normal deviation of 0.06 %, cut below at 0.02 %. Orders of magnitude are those of weekly returns of large stocks;
    the constants are chosen so that the binding and infeasible ranges of [MSVV, App. D] come out (28 assets, seed 0).
    """
    n = whole(2, 500, assets=assets)
    rng = np.random.default_rng(whole(0, 2**32, seed=seed))
    beta = rng.uniform(0.6, 1.4, n)
    sector = rng.integers(0, 4, n)
    loadings = np.zeros((n, 5))
    loadings[:, 0], loadings[np.arange(n), 1 + sector] = 0.022 * beta, 0.012
    means = np.maximum(0.000405 + 0.003 * beta + rng.normal(0, 0.0006, n), 0.0002)
    return Market(means, loadings, rng.uniform(0.015, 0.035, n))


def portfolio(
    investors: int = 1000,
    return_target: float = 2.5,
    *,
    means: Array | None = None,
    covariance: Array | None = None,
    seed: int = 21,
    epsilon: float = 1.0,
    delta: float = 1e-4,
) -> PrivateProgram:
    """Markowitz with a private budget [MSVV, (8)]: minimise xᵀΣx, mean return at least `return_target`, Σx ≤ b, x ≥ 0.

    b is the sum of `investors` uniform amounts from 0 to 1, so one investor changes it by at most 1. Its guaranteed
    limit is the least budget that reaches the target at all, rounded up in the sixth digit: investors with less are
    turned away beforehand, in public.

    Raises
    ------
    InfeasibleError : the target is out of reach of the budget.
    """
    investors = whole(1, 10**7, investors=investors)
    target = above(0, 1e12, return_target=return_target)
    if means is None or covariance is None:
        simulated = market()
        means, covariance = simulated.means, simulated.covariance
    means, covariance = np.asarray(means, dtype=float), np.asarray(covariance, dtype=float)
    budget = float(np.random.default_rng(seed).uniform(0, 1, investors).sum())
    least = target / means.max() * (1 + 1e-6) if means.max(initial=0) > 0 else math.inf
    if not least <= budget:
        accepted = f"at most {budget * max(means.max(initial=0), 0.0):.6g}, which the budget {budget:.6g} can reach"
        raise InfeasibleError("return_target", f"{target:g}", accepted)
    n = len(means)
    model = Model(
        np.zeros(n),
        sparse.csr_array(np.stack([means, np.ones(n)])),
        np.array([target, -math.inf]),
        np.array([math.inf, budget]),
        quadratic=sparse.csr_array(2 * covariance),
        row_names=("return", "budget"),
        column_names=tuple(f"asset {i + 1}" for i in range(n)),
    )
    return PrivateProgram(model, np.array([1]), np.array([least]), 1.0, epsilon, delta)


def advertising(
    groups: int = 200,
    advertisers: int = 10,
    *,
    seed: int = 5,
    epsilon: float = 1.0,
    delta: float = 1e-4,
    sensitivity: float = 100.0,
    budget: float = 1e7,
    impressions: float = 1e7,
    granularity: float | None = None,
) -> PrivateProgram:
    """Internet advertising [MSVV, (9), §4.2]: allocate impressions x_ij of group j to advertiser i, paying c_ij each,
    for the largest revenue, within the groups' impressions and the advertisers' private budgets.

    c_ij is 0 with probability 0.2, else uniform in [0, 1]; budgets are uniform in budget ± sensitivity/2 (rounded to
    the granularity, if one is given); their guaranteed limit is 0.
    """
    M, N = whole(1, 2000, groups=groups), whole(1, 200, advertisers=advertisers)
    rng = np.random.default_rng(whole(0, 2**32, seed=seed))
    prices = np.where(rng.random((N, M)) < 0.2, 0.0, rng.random((N, M)))
    budgets = rng.uniform(budget - sensitivity / 2, budget + sensitivity / 2, N)
    if granularity is not None:
        budgets = np.array([float(round(b / granularity) * decimal(granularity)) for b in budgets.tolist()])
    supply = sparse.kron(np.ones((1, N)), sparse.eye_array(M))
    spend = sparse.block_diag([prices[i][None, :] for i in range(N)])
    model = Model(
        prices.ravel(),
        sparse.csr_array(sparse.vstack([supply, spend])),
        np.full(M + N, -math.inf),
        np.concatenate([np.full(M, float(impressions)), budgets]),
        maximise=True,
        row_names=(*(f"group {j + 1}" for j in range(M)), *(f"advertiser {i + 1}" for i in range(N))),
    )
    return PrivateProgram(model, M + np.arange(N), np.zeros(N), sensitivity, epsilon, delta, granularity)


def two_products(
    *, epsilon: float = 1.0, delta: float = 1e-3, limits: tuple[float, float] = (60.0, 45.0), sensitivity: float = 1.0
) -> PrivateProgram:
    """Two variables, for a picture: maximise 3x + 2y under x + y ≤ b₁, 2x + y/2 ≤ b₂ (both private), x, y ≥ 0, y ≤
    50."""
    first, second = (above(0, 1e6, **{f"limit {i}": v}) for i, v in enumerate(limits, 1))
    model = Model(
        np.array([3.0, 2.0]),
        sparse.csr_array(np.array([[1.0, 1.0], [2.0, 0.5]])),
        np.full(2, -math.inf),
        np.array([first, second]),
        upper=np.array([math.inf, 50.0]),
        maximise=True,
        row_names=("workers", "material"),
        column_names=("x", "y"),
    )
    return PrivateProgram(model, np.array([0, 1]), np.zeros(2), sensitivity, epsilon, delta)
