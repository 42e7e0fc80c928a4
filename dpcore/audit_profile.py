"""The referee for whole privacy profiles: the curve δ̄(ε′) of a law over all shifts, rounded up, and what it proves.

Like `audit`: plain NumPy, no program, no tolerance. For one shift, h(ε′) = Σ max(0, f_u − e^ε′ f_(u−j)) over unit cells
is convex and piecewise linear in x = e^ε′, and so is the largest over shifts. It is checked where neighbouring tangents
of the target cross, which proves it in between [method: A whole profile].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import audit
from .loss import UNIT, Loss
from .noise.piecewise import PiecewiseNoise
from .noise.tailed import CELLS_PER_MEAN, TailedNoise
from .privacy_profile import Composed, GaussianProfile, PairList, PrivacyProfile

Array = audit.Array

CELL_ERROR = 2.5e-13
"""Relative error of a unit cell's probability, products included (`TailedNoise.unit_cells`: 2e-13)."""

LEAST, FARTHEST, MOST_PLACES = 1e-4, 30.0, 400
"""Places beyond the last one given: step at least, last one (Φ is about 1e-197 there), how many."""


@dataclass(frozen=True)
class ProfileProof:
    """What the law's curve (of several releases: their joint δ) was checked against.

    places : the tangents' z, increasing (empty for a list of pairs).   epsilons : where δ̄ was evaluated.
    deltas : δ̄ there, rounded up.   limits : what it may be there.   pure_from : δ̄(ε′) = 0 from this ε′ on (infinite for
    laws that leave some mass uncovered).
    """

    places: tuple[float, ...]
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    limits: tuple[float, ...]
    pure_from: float

    @property
    def holds(self) -> bool:
        """At every pair of a list; for a Gaussian profile at every real ε′ ≥ 0: the last crossing must lie where δ̄ is 0
        already."""
        reaches = not self.places or self.epsilons[-1] >= self.pure_from
        return reaches and all(delta <= limit for delta, limit in zip(self.deltas, self.limits))


def curve_upper(
    noise: PiecewiseNoise | TailedNoise, epsilons: Sequence[float] | Array, sensitivity: float | None = None
) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity (the law's own by default) of h_φ(ε′), at ε′ ≥ 0, rounded up."""
    if isinstance(noise, PiecewiseNoise):
        return np.array([audit.shortfall_upper(noise, float(e), sensitivity)[0] for e in epsilons])
    body, limit = noise.body, noise.body.resolution
    if sensitivity is not None:
        limit = math.ceil(sensitivity / body.sensitivity * body.resolution * (1 - 4 * UNIT))
    growth = np.array([audit.amplification_bounds(float(e))[0] for e in epsilons])
    reach = int(np.abs(body.breaks).max()) + limit
    cells = noise.unit_cells(-reach - limit, reach + limit)
    here = cells[limit : len(cells) - limit] * (1 + CELL_ERROR)
    beyond = noise.share * 0.5 * math.exp(reach * math.log1p(-1 / noise.tail_mean)) * (1 + 1e-12)
    best = np.zeros(len(growth))
    for shift in range(1, limit + 1):
        fall = math.exp(shift * math.log1p(-1 / noise.tail_mean)) * (1 - 1e-12)
        outside = beyond * np.maximum(1 - growth * fall, 0.0)
        for sign in (1,) if noise.is_symmetric else (1, -1):
            start = limit - sign * shift
            there = cells[start : start + len(here)] * (1 - CELL_ERROR)
            best = np.maximum(best, _one_shift_upper(here, there, growth) + outside)
    return np.minimum(best * (1 + 8 * UNIT), 1.0)


def _one_shift_upper(here: Array, there: Array, growth: Array) -> Array:
    """Σ max(0, here − x·there) for every x of `growth`, rounded up. For every x the terms that are positive are those
    whose ratio exceeds it: two cumulative sums serve all x. Sums of n terms err by n·u of their size."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 comes last and adds nothing
        ratio = here / there
    order = np.argsort(-ratio)
    own = np.concatenate([[0.0], np.cumsum(here[order])])
    other = np.concatenate([[0.0], np.cumsum(there[order])])
    last = np.searchsorted(-ratio[order], -growth * (1 - 4 * UNIT), side="left")
    return np.maximum(own[last] - growth * other[last], 0.0) + 4 * len(here) * UNIT * own[last]


def worst_shift(noise: TailedNoise, epsilon: float) -> tuple[float, float]:
    """(δ̄(ε) rounded up, the largest shift, in the query's unit)."""
    return float(curve_upper(noise, [epsilon])[0]), noise.body.sensitivity


def loss_upper(noise: PiecewiseNoise | TailedNoise, loss: Loss) -> float:
    """An upper bound of E c(X); sums and products err by less than 1e-9 of what is listed of the tail."""
    if isinstance(noise, PiecewiseNoise):
        return audit.loss_upper(noise, loss)
    places, masses = noise.listed_tail
    tail = audit.cells_loss_upper(masses, places, loss) * (1 + 1e-9) + _unlisted_upper(noise, loss)
    inner = audit.loss_upper(noise.body, loss)
    return ((1 - noise.share) * inner * (1 + 2 * UNIT) + noise.share * tail) * (1 + 8 * UNIT)


def _unlisted_upper(noise: TailedNoise, loss: Loss) -> float:
    """What the tail component pays beyond its listed cells. Less than e^−79.99 of it is there, farther out by Y with
    E Y^p ≤ 24 (mean + unit)^p for p ≤ 4; |x| ≤ far + Y, (far + Y)^p ≤ 2^p (far^p + Y^p), and a piece of the loss counts
    only if it reaches that far."""
    edges = noise.listed_tail[0].floats
    far = max(abs(float(edges[0])), abs(float(edges[-1]))) * (1 + 1e-12)
    step = (noise.tail_mean + 1) * noise.unit
    size = max(
        abs(p.constant) + abs(p.coefficient) * (abs(p.anchor) + 2**p.power * (far**p.power + 24 * step**p.power))
        for p in loss.pieces
        if p.lo < edges[0] or p.hi > edges[-1]
    )
    return size * math.exp(-CELLS_PER_MEAN + 0.02)


def pure_from_upper(noise: PiecewiseNoise | TailedNoise) -> float:
    """An ε′ from which on δ̄ is 0; infinite for a law of bounded support or with a tail too thin for floats."""
    if isinstance(noise, PiecewiseNoise):
        return math.inf
    limit = noise.body.resolution
    reach = int(np.abs(noise.body.breaks).max()) + limit
    cells = noise.unit_cells(-reach - limit, reach + limit)
    here = cells[limit : len(cells) - limit]
    most = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # a tail too thin for floats leaves cells of probability 0
        for shift in (sign * j for j in range(1, limit + 1) for sign in (1, -1)):
            ratio = float((here / cells[limit + shift : limit + shift + len(here)]).max())
            most = max(most, math.inf if math.isnan(ratio) else ratio)
    return max(math.log(most), -limit * math.log1p(-1 / noise.tail_mean)) + 1e-11


def proof_of(noise: PiecewiseNoise | TailedNoise, profile: PrivacyProfile, places: tuple[float, ...]) -> ProfileProof:
    """The law's curve next to what the profile allows: at every pair of a list; for a Gaussian profile where tangents
    at the given places cross, and beyond them on to where the curve ends. Several releases: their joint δ at their
    ε."""
    if isinstance(profile, PairList):
        epsilons = tuple(p.epsilon for p in profile.pairs)
        limits = tuple(p.delta for p in profile.pairs)
        return ProfileProof((), epsilons, tuple(curve_upper(noise, epsilons).tolist()), limits, pure_from_upper(noise))
    if isinstance(profile, Composed):
        from .audit_composed import composed_delta_upper

        epsilon, delta = profile.privacy.epsilon, profile.privacy.delta
        if profile.releases == 1:  # an ordinary pair, whose audit rounds up less
            joint = float(curve_upper(noise, [epsilon])[0])
        else:
            joint = composed_delta_upper(noise, profile.releases, epsilon)
        return ProfileProof((), (epsilon,), (joint,), (delta,), pure_from_upper(noise))
    end = pure_from_upper(noise)
    places = _continued(profile, places, end)
    epsilons, limits = zip(*profile.crossings(places))
    return ProfileProof(places, epsilons, tuple(curve_upper(noise, epsilons).tolist()), limits, end)


def _continued(profile: GaussianProfile, places: tuple[float, ...], end: float) -> tuple[float, ...]:
    """Places from the given ones on to ε′ = end, as far apart as the last two."""
    step = max(places[-1] - places[-2], LEAST)
    last = min(end / profile.mu + 2 * step, FARTHEST)
    more = max(0, min(math.ceil((last - places[-1]) / step), MOST_PLACES))
    return (*places, *(places[-1] + step * (i + 1) for i in range(more)))
