"""The referee for whole privacy profiles: the curve δ̄(ε′) of a law over all shifts, rounded up, and what it proves.

Like `audit`: plain NumPy, no program, no tolerance. δ̄ is convex and piecewise linear in e^ε′; it is checked where
neighbouring tangents of the target cross, which proves it in between [method: A whole profile].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .audit import curve_upper, pure_from_upper
from .audit_composed import composed_delta_upper
from .noise.piecewise import PiecewiseNoise
from .noise.tailed import TailedNoise
from .privacy_profile import Composed, GaussianProfile, PairList, PrivacyProfile

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


def proof_of(noise: PiecewiseNoise | TailedNoise, profile: PrivacyProfile, places: tuple[float, ...]) -> ProfileProof:
    """The law's curve next to what the profile allows: at every pair of a list; for a Gaussian profile where tangents
    at the given places cross, and beyond them on to where the curve ends. Several releases: their joint δ at their
    ε."""
    if isinstance(profile, PairList):
        epsilons = tuple(p.epsilon for p in profile.pairs)
        limits = tuple(p.delta for p in profile.pairs)
        return ProfileProof((), epsilons, tuple(curve_upper(noise, epsilons).tolist()), limits, pure_from_upper(noise))
    if isinstance(profile, Composed):
        epsilon, delta = profile.privacy.epsilon, profile.privacy.delta
        if profile.releases == 1:  # an ordinary pair, whose audit rounds up less
            joint = float(curve_upper(noise, [epsilon])[0])
        else:
            assert isinstance(noise, PiecewiseNoise)  # a law for several releases together has no tails
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
