"""(ε, δ)-DP noise of mixed kinds: pure blocks for the most sensitive coordinates, Gaussian noise for the rest.

Every candidate is private by itself (basic composition) before the accountant is asked to stretch it; the answer is
the best of everything tried, the single-kind allocations included, so it is never worse than those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting.accountant import Accountant
from ..noise.gaussian import Gaussian
from ..privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from ..search import bisection, geometric
from .joint import JointNoise, Normal, Part
from .pure import Blocks, best_blocks, per_coordinate
from .query import Allocation, VectorQuery, stated
from .radial import split, staircase_unit
from .scales import Family

Array = NDArray[np.float64]
Progress = Callable[[float], bool | None]
"""Called with the best error so far; True stops the search."""

KEY, NAME = "mixed", "Best found, kinds mixed"

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Shares of ε tried for the pure blocks."""

WORTH = 1.2
"""A mixture that basic composition puts this much above the best is not stretched: the accountant will not make it
up."""

MOST_COORDINATES = 2000
"""No mixture is sought for a longer query: Gaussian noise on so many coordinates leaves nothing to gain."""

MOST_BLOCKED = 200
"""At most so many coordinates get pure blocks beside Gaussian noise on the rest."""

MOST_PARTS = 48
"""More pure blocks than this are composed as one."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """`blocks` on some coordinates (None: on none), Gaussian noise with Σ λ²/σ² = mu² on the others (mu = 0: none)."""

    query: VectorQuery
    blocks: Blocks | None
    mu: float

    @property
    def rest(self) -> NDArray[np.int64]:
        live = self.query.profile.positive.copy()
        if self.blocks is not None:
            live[self.blocks.order] = False
        return np.flatnonzero(live)

    @property
    def error(self) -> float:
        sharp = self.blocks.error if self.blocks is not None else 0.0
        return sharp + (gaussian_cost(self.query, self.rest) / self.mu**self.query.power if self.mu else 0.0)

    def parts(self, accountant: Accountant) -> list[Any]:
        """Dominating privacy-loss distributions of the independent parts."""
        out = [accountant.gaussian(self.mu)] if self.mu else []
        if self.blocks is None:
            return out
        budgets, sizes = self.blocks.budgets, self.blocks.cost.sizes
        stepped = set(self.blocks.cost.stepped(budgets).tolist())
        small = 0.0
        for place, (budget, size) in enumerate(zip(budgets.tolist(), sizes.tolist())):
            if place >= MOST_PARTS or budget < 4 * accountant.step:
                small += budget
            elif size > 1:
                out.append(accountant.pure(budget))
            elif place in stepped:
                out.append(accountant.staircase(budget, staircase_unit(1, self.query.power, budget)[1]))
            else:
                out.append(accountant.laplace(budget))
        return [*out, accountant.pure(small * (1 + 1e-12))] if small else out


def mixed(query: VectorQuery, singles: list[Allocation], *, progress: Progress | None = None) -> Allocation:
    """The best (ε, δ)-DP allocation found: the best of `singles`, or a certified mixture with less error."""
    best = min((a for a in singles if a.guarantee is not None), key=lambda a: a.error)
    chosen = replace(best, key=KEY, name=NAME, guarantee=query.privacy, reference=best.reference)
    if query.privacy.delta == 0 or query.privacy.epsilon == 0 or len(query.profile) > MOST_COORDINATES:
        return chosen

    def tell() -> bool:
        return progress is not None and bool(progress(chosen.error))

    for start in starting_points(query)[:3]:
        if tell() or start.error > WORTH * chosen.error:
            break
        found, delta = stretched(start, tell)
        if found is not None and found.error < chosen.error:
            chosen = _allocation(found, delta)
    return chosen


def starting_points(query: VectorQuery) -> list[Mixture]:
    """Mixtures that are (ε, δ)-DP by basic composition, best first: the n most expensive coordinates in ε′-DP
    blocks, the others Gaussian at (ε − ε′, δ)."""
    epsilon, count = query.privacy.epsilon, int(query.profile.positive.sum())
    sizes = sorted({n for n in (*range(1, 7), *(round(2**k) for k in np.arange(3, 8, 0.5)), count - 1)
                    if 0 < n < min(count, MOST_BLOCKED)})  # fmt: skip
    found = [Mixture(query, best_blocks(query, epsilon), 0.0)] if count <= MOST_BLOCKED else []
    smooth = {share: _mu(epsilon * (1 - share), query.privacy.delta) for share in SHARES}
    for n in sizes:
        unit = best_blocks(query, epsilon, n)
        rest = gaussian_cost(query, Mixture(query, unit, 0.0).rest)
        errors = {s: unit.error / s**query.power + rest / smooth[s] ** query.power for s in SHARES}
        share = min(SHARES, key=errors.__getitem__)
        budgets = split(unit.cost, epsilon * share)
        found.append(Mixture(query, replace(unit, budgets=budgets), smooth[share]))
    return sorted(found, key=lambda m: m.error)


def stretched(start: Mixture, stop: Callable[[], bool]) -> tuple[Mixture | None, float]:
    """(mixture, δ): the budget of the blocks and μ that give the least error while the accountant certifies δ."""
    from scipy.optimize import minimize_scalar

    privacy, drawn = start.query.privacy, start.blocks
    if drawn is None:
        raise ValueError("a mixture without blocks has nothing to stretch")
    reach = 30 * start.mu + 2 * start.mu**2 + 4 * privacy.epsilon
    coarse = Accountant.for_target(privacy.epsilon, points=512, reach=reach)
    best: list[Mixture] = []

    def at(log_share: float, accountant: Accountant, rounds: int) -> float:
        if stop() and best:
            return 1e3 * start.error
        share = math.exp(log_share)
        blocks = replace(drawn, budgets=split(drawn.cost, privacy.epsilon * share))
        found = _largest(replace(start, blocks=blocks), accountant, rounds)
        if found is None:
            return 1e3 * start.error
        best.append(found)
        return found.error

    now = _share(start)
    if start.mu:
        minimize_scalar(lambda x: at(x, coarse, 8), bounds=(now - 1.0, min(now + 1.0, 0.7)), method="bounded",
                        options={"maxiter": 10, "xatol": 1e-3})  # fmt: skip
        if not best:
            return None, math.nan
        centre = _share(min(best, key=lambda m: m.error))
    else:
        centre = now
    best.clear()
    fine = Accountant.for_target(privacy.epsilon, points=8192, reach=reach)
    at(centre, fine, 20)
    if not best:
        return None, math.nan
    final = min(best, key=lambda m: m.error)
    delta = fine.delta_upper(final.parts(fine), privacy.epsilon)
    return (final, delta) if delta <= privacy.delta else (None, delta)


def _share(mixture: Mixture) -> float:
    """The logarithm of the blocks' share of ε."""
    budgets = () if mixture.blocks is None else mixture.blocks.budgets
    return math.log(math.fsum(budgets) / mixture.query.privacy.epsilon)


def _largest(mixture: Mixture, accountant: Accountant, rounds: int) -> Mixture | None:
    """The mixture with the largest μ, or without Gaussian part the largest common stretch of the budgets, that the
    accountant certifies; None if not even a tiny one passes."""
    privacy = mixture.query.privacy

    def made(factor: float) -> Mixture:
        if mixture.mu or mixture.blocks is None:
            return replace(mixture, mu=mixture.mu * factor)
        return replace(mixture, blocks=replace(mixture.blocks, budgets=mixture.blocks.budgets * factor))

    fixed = replace(mixture, mu=0.0).parts(accountant) if mixture.mu else []

    def passes(factor: float) -> bool:
        trial = made(factor)
        parts = [accountant.gaussian(trial.mu), *fixed] if mixture.mu else trial.parts(accountant)
        return accountant.delta_upper(parts, privacy.epsilon) <= privacy.delta

    low, high = 1.0, 1.0
    while not passes(low):
        low /= 1.5
        if low < 1e-2:
            return None
    if low == 1.0:
        while passes(high * 1.5) and high < 100:
            high *= 1.5
        low, high = high, high * 1.5
    else:
        high = low * 1.5
    return made(bisection(passes, low, high, mean=geometric, rounds=rounds)[0])


def gaussian_cost(query: VectorQuery, rest: NDArray[np.int64]) -> float:
    """μ^p times the least Σ w_i E|T_i|^p of Gaussian noise on these coordinates:
    E|Z|^p (Σ λ^(2p/(p+2)) w^(2/(p+2)))^((p+2)/2)."""
    p, lam, w = query.power, query.profile.array[rest], query.weight_array[rest]
    if not len(rest):
        return 0.0
    moment = Family("", "", 2, query.privacy, 1.0, "").moment(p)
    spread: float = math.fsum(lam ** (2 * p / (p + 2)) * w ** (2 / (p + 2))) ** ((p + 2) / 2)
    return moment * spread


def _mu(epsilon: float, delta: float) -> float:
    """μ₀(ε, δ), rounded down; ε below the accepted range counts as 0."""
    epsilon = epsilon if epsilon >= EPSILON_RANGE[0] else 0.0
    return (1 - 1e-15) / Gaussian.calibrate(Privacy(epsilon, max(delta, DELTA_RANGE[0])), 1.0).sigma


def _allocation(mixture: Mixture, delta: float) -> Allocation:
    """The mixture, coordinate by coordinate. Parts of different kinds share no resource, so `shares` are of the price
    of privacy: what the error would gain from a little more of the part's own budget, −dE/d ln(budget) = p·E."""
    query = mixture.query
    K, p, rest = len(query.profile), query.power, mixture.rest
    scales, errors, kinds = np.zeros(K), np.zeros(K), ("none",) * K
    parts: list[Part] = []
    if mixture.blocks is not None:
        parts.append(mixture.blocks.noise(query))
        scales, errors, _, kinds = per_coordinate(query, mixture.blocks, 1.0)
    if mixture.mu and len(rest):
        lam, w = query.profile.array[rest], query.weight_array[rest]
        unit = (lam**2 / w) ** (1 / (p + 2))
        scales[rest] = unit * math.sqrt(math.fsum((lam / unit) ** 2)) / mixture.mu * (1 + 1e-14)
        errors[rest] = w * scales[rest] ** p * Family("", "", 2, query.privacy, 1.0, "").moment(p)
        parts.append(Normal(rest, scales[rest]))
        gaussian = set(rest.tolist())
        kinds = tuple("Gaussian" if i in gaussian else kind for i, kind in enumerate(kinds))
    shares = errors / math.fsum(errors)
    proof = f"privacy-loss distributions composed pessimistically: {stated(delta, query.privacy)}"
    noise = JointNoise(K, tuple(parts))
    return Allocation(KEY, NAME, scales, errors, shares, query.privacy, "laplace-iid", kinds, proof, noise=noise)
