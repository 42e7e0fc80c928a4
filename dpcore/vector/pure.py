"""ε-DP noise beyond one scale per coordinate: staircases with an optimal split of ε, and blocks that share a law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..privacy import Privacy
from .joint import Boxes, JointNoise, Planar
from .query import Allocation, VectorQuery
from .radial import Cost, planar_staircase, smooth_cost, split, staircase_unit

Array = NDArray[np.float64]

MOST_CUTS = 600
"""A longer profile is cut into blocks at this many places only."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A partition of the coordinates with λ_i > 0, each block with a budget.

    order : (n,) those coordinates, most expensive first.   ends : (B,) where each block of them ends.
    """

    order: NDArray[np.int64]
    ends: NDArray[np.int64]
    cost: Cost
    budgets: Array

    @property
    def error(self) -> float:
        return math.fsum(self.cost.values(self.budgets))

    def noise(self, query: VectorQuery) -> Boxes:
        """The blocks' noise."""
        gammas = np.full(len(self.ends), math.nan)
        for b in self.cost.stepped(self.budgets).tolist():
            gammas[b] = staircase_unit(int(self.cost.sizes[b]), query.power, float(self.budgets[b]))[1]
        return Boxes(self.order, query.profile.array[self.order], self.ends, self.budgets, gammas)


def staircases(query: VectorQuery) -> Allocation:
    """Staircase noise on every coordinate, ε split so that Σ w_i E|T_i|^p is least."""
    name = "Staircase, optimal split"
    if query.power + 1 > 5:
        return Allocation.missing("staircase-optimal", name, "laplace-iid", "it is offered for powers up to 4")
    order, gains = _ordered(query)
    ends = np.arange(1, len(order) + 1)
    cost = Cost(np.ones(len(order)), gains, query.power)
    blocks = Blocks(order, ends, cost, split(cost, query.privacy.epsilon))
    return as_allocation(query, blocks, "staircase-optimal", name)


def k_norm(query: VectorQuery) -> Allocation:
    """The K-norm mechanism of the box Π[−λ_i, λ_i]: density proportional to e^(−ε max |t_i|/λ_i) [HT10]."""
    order, gains = _ordered(query)
    cost = Cost(np.array([len(order)]), np.array([math.fsum(gains)]), query.power, staircase=False)
    budgets = np.array([query.privacy.epsilon * (1 - 2**-50)])
    return as_allocation(query, Blocks(order, np.array([len(order)]), cost, budgets), "k-norm", "K-norm of the box")


def blocks(query: VectorQuery) -> Allocation:
    """The best partition into blocks, each with a K-norm or staircase law of its box, and the best split of ε."""
    found = best_blocks(query, query.privacy.epsilon)
    return as_allocation(query, found, "blocks-optimal", "Blocks, optimal")


def planar(query: VectorQuery) -> Allocation:
    """The two-dimensional staircase law, which knows the ℓ1-sensitivity alone [GKOV15]."""
    key, name = "planar-staircase", "Two-dimensional staircase"
    if len(query.profile) != 2 or query.power > 3:
        reason = "it is for two coordinates" if len(query.profile) != 2 else "it is offered for powers up to 3"
        return Allocation.missing(key, name, "laplace-iid", reason)
    epsilon = query.privacy.epsilon * (1 - 2**-50)
    unit, gamma = planar_staircase(query.power, epsilon)
    total = query.sensitivity(1)
    size = total**query.power * unit
    scales = np.full(2, size ** (1 / query.power))
    proof = "one law for the pair, ‖d‖₁ ≤ Δ₁ [GKOV15]"
    pure = Privacy(query.privacy.epsilon, 0.0)
    shares, kinds = query.profile.array / query.profile.norm(1), ("Planar staircase",) * 2
    noise = JointNoise(2, (Planar(np.arange(2), total, epsilon, gamma),))
    errors = query.weight_array * size
    return Allocation(key, name, scales, errors, shares, pure, "laplace-iid", kinds, proof, noise=noise)


def best_blocks(query: VectorQuery, epsilon: float, count: int | None = None) -> Blocks:
    """The best partition of the `count` most expensive coordinates (all), with its budgets, Σ ε_b ≤ ε.

    For a price θ per unit of ε the partition is a shortest path [docs/vector.md, "Blocks"]; partitions at prices
    around the one that spends ε are compared, and so is the one of single coordinates.
    """
    order, gains = _ordered(query)
    order, gains = order[:count], gains[:count]
    cuts = _cuts(len(order))
    rest = np.concatenate([np.cumsum(gains[::-1])[::-1], [0.0]])  # from the small end, so that differences are exact
    p, found = query.power, []
    singles = Cost(np.ones(len(order)), gains, p)
    base = Blocks(order, np.arange(1, len(order) + 1), singles, split(singles, epsilon))
    spent, seen = base, set()
    for _ in range(4):
        rate = p * spent.error / epsilon  # −d(error)/dε of a power law: a price to start from
        ends = _shortest_path(cuts, rest, p, rate)
        if tuple(ends) in seen:
            break
        seen.add(tuple(ends))
        starts = np.concatenate([[0], ends[:-1]])
        cost = Cost(ends - starts, np.add.reduceat(gains, starts), p)
        spent = Blocks(order, ends, cost, split(cost, epsilon))
        found.append(spent)
    return min([base, *found], key=lambda b: b.error)


def as_allocation(query: VectorQuery, found: Blocks, key: str, name: str) -> Allocation:
    """The ε-DP allocation of a partition, coordinate by coordinate."""
    scales, errors, shares, kinds = per_coordinate(query, found, query.privacy.epsilon)
    proof = "Σ ε_b ≤ ε over the blocks; each law is ε_b-DP on its box"
    pure = Privacy(query.privacy.epsilon, 0.0)
    noise = JointNoise(len(query.profile), (found.noise(query),))
    return Allocation(key, name, scales, errors, shares, pure, "laplace-iid", kinds, proof, noise=noise)


def per_coordinate(query: VectorQuery, found: Blocks, resource: float) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """(scales, errors, shares of `resource`, kinds), each (K,); coordinates outside the blocks have zeros and ""."""
    K, p = len(query.profile), query.power
    sizes = np.diff(np.concatenate([[0], found.ends]))
    of = np.repeat(np.arange(len(sizes)), sizes)
    values = found.cost.values(found.budgets) / found.cost.coefficients
    stepped = np.zeros(len(sizes), dtype=bool)
    stepped[found.cost.stepped(found.budgets)] = True
    scales, errors, shares = np.zeros(K), np.zeros(K), np.zeros(K)
    at, lam = found.order, query.profile.array[found.order]
    errors[at] = query.weight_array[at] * lam**p * values[of]
    shares[at] = (found.budgets / sizes)[of] / resource
    scales[at] = np.where(stepped[of], lam * values[of] ** (1 / p), lam / found.budgets[of])
    names = np.full(K, "", dtype=object)
    for size, steps in {(int(m), bool(s)) for m, s in zip(sizes, stepped)}:
        which = (sizes[of] == size) & (stepped[of] == steps)
        names[at[which]] = _kind(size, steps)
    names[~query.profile.positive] = "none"
    return scales, errors, shares, tuple(names.tolist())


def _kind(size: int, steps: bool) -> str:
    if size == 1:
        return "Staircase" if steps else "Laplace"
    return f"Staircase, block of {size}" if steps else f"K-norm, block of {size}"


def _ordered(query: VectorQuery) -> tuple[NDArray[np.int64], Array]:
    """Coordinates with λ_i > 0, largest w_i λ_i^p first, and those products, kept above the smallest float."""
    live = np.flatnonzero(query.profile.positive)
    logs = np.log(query.weight_array[live]) + query.power * np.log(query.profile.array[live])
    order = np.argsort(-logs, kind="stable")
    return live[order], np.exp(np.maximum(logs[order], -690.0))


def _cuts(count: int) -> NDArray[np.int64]:
    """Places where blocks may end: all of them, or for a long profile all the first ones and then ever fewer."""
    if count <= MOST_CUTS:
        return np.arange(count + 1)
    half = MOST_CUTS // 2
    return np.unique(np.concatenate([np.arange(half), np.geomspace(half, count, half).round().astype(int), [count]]))


def _shortest_path(cuts: NDArray[np.int64], rest: Array, power: float, rate: float) -> NDArray[np.int64]:
    """Ends of the blocks that minimise Σ_b min_ε (a_b V_b(ε) + rate·ε). O(cuts²).

    A block of n coordinates of total cost a pays a power law, (p + 1)/p·rate·ε at the best ε; single
    coordinates and small blocks pay their staircase's price, read from its curve."""
    from .radial import STEPS_FROM, _curve, steps_exist

    p, count = power, len(cuts)
    best, last = np.zeros(count), np.zeros(count, dtype=np.int64)
    smooth = np.array([smooth_cost(int(m), p) for m in range(1, int(cuts[-1]) + 1)]) if cuts[-1] <= 5000 else None
    for j in range(1, count):
        sizes = cuts[j] - cuts[:j]
        a = rest[cuts[:j]] - rest[cuts[j]]
        c = smooth[sizes - 1] if smooth is not None else _smooth_costs(sizes, p)
        budget = (p * c * a / rate) ** (1 / (p + 1))
        price = (p + 1) / p * rate * budget
        for i in range(max(0, j - 5), j):
            m = int(sizes[i])
            if steps_exist(m, p) and budget[i] > STEPS_FROM:
                x, value, slope = _curve(m, p)
                e = np.exp(np.interp(-math.log(rate / a[i]), -np.maximum.accumulate(slope[::-1])[::-1], x))
                price[i] = min(price[i], a[i] * math.exp(np.interp(math.log(e), x, value)) + rate * e)
        step = best[:j] + price
        last[j] = int(np.argmin(step))
        best[j] = step[last[j]]
    ends, j = [], count - 1
    while j > 0:
        ends.append(int(cuts[j]))
        j = int(last[j])
    return np.array(ends[::-1], dtype=np.int64)


def _smooth_costs(sizes: NDArray[np.int64], power: float) -> Array:
    """`smooth_cost` of many sizes."""
    from scipy.special import poch

    costs: Array = poch(sizes + 1.0, np.float64(power)) / (power + 1)
    return costs
