"""Whole promises: several pairs (ε, δ), a curve δ(ε′), or one pair for many releases together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import InputError
from .privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from .quantity import Quantity
from .search import bisection

MU = Quantity(
    "mu", 0.01, 4.0, 1.0, "μ", "μ — as hard to tell apart as two normal laws μ standard deviations apart", step=0.1,
    help="From 0.01 to 4. Under μ-GDP every δ(ε′) is at most that of Gaussian noise with σ = sensitivity/μ.",
)  # fmt: skip
MOST_PAIRS = 100
RELEASES = Quantity(
    "releases", 1, 100_000, 16, label="Releases", step=1, whole=True,
    help="Each with independent noise of this law; the ε and δ below are for all of them together.",
)  # fmt: skip

_FARTHEST = 12.0
"""Largest ε′ among the places that programs look at: linear programs do not resolve what e^ε′ beyond it does."""

_PHI_ERROR = 1e-12
"""Relative error allowed to scipy.special.ndtr at μ/2 ∓ z, whose rounding counts z² times (tests: below 2e-13)."""


@dataclass(frozen=True)
class PairList:
    """A privacy profile by finitely many points: (ε_m, δ_m)-DP for every m."""

    pairs: tuple[Privacy, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.pairs) <= MOST_PAIRS:
            raise InputError("profile", f"{len(self.pairs)} pairs", f"1 to {MOST_PAIRS} pairs (epsilon, delta)")
        kept = [p for p in self.pairs if not any(q.implies(p) and q != p for q in self.pairs)]
        object.__setattr__(self, "pairs", tuple(sorted(set(kept), key=lambda p: p.epsilon)))
        if len(self.pairs) > 1 and any(p.delta == 0 for p in self.pairs):
            raise InputError("profile", "a delta of 0", "positive deltas where no pair implies the others")

    @property
    def spec(self) -> str:
        """The list as text, which `parse_profile` reads."""
        return "list:" + ";".join(f"{p.epsilon!r}:{p.delta!r}" for p in self.pairs)

    @property
    def anchor(self) -> Privacy:
        """One of the pairs."""
        return self.pairs[0]

    def target(self, epsilon: float) -> float:
        """δ(ε): the least that the pairs leave at ε ≥ 0 to a law that meets them, 1 below the first; for a picture."""
        return min((p.delta for p in self.pairs if p.epsilon <= epsilon), default=1.0)


@dataclass(frozen=True)
class GaussianProfile:
    """μ-Gaussian differential privacy: δ(ε′) ≤ δ_μ(ε′) = Φ(μ/2 − ε′/μ) − e^ε′ Φ(−μ/2 − ε′/μ) for every ε′ ≥ 0.

    As a function of x = e^ε′ the curve is convex, with the tangents ℓ_z(x) = Φ(μ/2 − z) − x Φ(−μ/2 − z) at ε′ = μz:
    what the event "loss above μz" contributes. A law's own curve is convex in x too. So a law that stays below
    neighbouring tangents where they cross stays below the target in between [method: A whole profile; DRS22].
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", MU.check(self.mu))

    @property
    def spec(self) -> str:
        return f"gdp:{self.mu!r}"

    @property
    def anchor(self) -> Privacy:
        """The pair at ε = μ, δ rounded up: one that every μ-GDP law satisfies."""
        return self._outer(1.0)

    def target(self, epsilon: float) -> float:
        """δ_μ(ε), to about 1e-15."""
        above, covered = self._line(epsilon / self.mu)
        return max(above - math.exp(epsilon) * covered, 0.0)

    def places(self, count: int) -> tuple[float, ...]:
        """At most `count` values of z = ε′/μ from 0 to where the target is about a millionth (or ε′ large), denser
        where it matters most: a chord between two of them adds μΔz²φ(z − μ/2)/8 to the target, and what that is worth
        falls about like e^−z, so that the density (e^−z φ)^⅓ makes each chord cost about the same."""
        last = min(4.5 + self.mu / 2, _FARTHEST / self.mu)
        fine = np.linspace(0, last, 2001)
        density = np.exp(-fine / 3 - (fine - self.mu / 2) ** 2 / 6)
        passed = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) / density.max() + 0.05)])
        places = np.interp(np.linspace(0, passed[-1], count), passed, fine)
        nearest = 2.5 * EPSILON_RANGE[0] / self.mu  # tangents at 0 and beyond it cross where pairs may lie
        return (0.0, *places[places >= nearest].tolist())

    def necessary(self, places: tuple[float, ...]) -> tuple[Privacy, ...]:
        """The pairs at ε′ = μz, δ rounded up: what every μ-GDP law satisfies."""
        return tuple(self._outer(z) for z in places)

    def crossings(self, places: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
        """(ε′, δ) where tangents at increasing places cross, δ rounded down, the first at ε′ = 0: a law that stays
        below them satisfies the target from 0 to the last of them."""
        lines = [self._line(z) for z in places]
        out = [(0.0, _value_lower(lines[0], 0.0))]
        for one, two in zip(lines, lines[1:]):
            epsilon = max(math.log((one[0] - two[0]) / (one[1] - two[1])), 0.0)
            out.append((epsilon, min(_value_lower(one, epsilon), _value_lower(two, epsilon))))
        return tuple(out)

    def sufficient(self, places: tuple[float, ...]) -> tuple[Privacy, ...]:
        """The crossings as pairs (ε, δ)."""
        return tuple(Privacy(*pair) for pair in self.crossings(places))

    def tangent(self, z: float) -> tuple[float, float]:
        """(ε′, δ) at ε′ = μz, δ rounded up, however large the one and small the other are."""
        epsilon = self.mu * z
        above, covered = self._line(epsilon / self.mu)
        delta = above * (1 + _PHI_ERROR) - math.exp(epsilon) * covered * (1 - 2 * _PHI_ERROR)
        return epsilon, delta * (1 + _PHI_ERROR)

    def _outer(self, z: float) -> Privacy:
        epsilon, delta = self.tangent(z)
        return Privacy(epsilon, min(max(delta, DELTA_RANGE[0]), DELTA_RANGE[1]))

    def _line(self, z: float) -> tuple[float, float]:
        """(Φ(μ/2 − z), Φ(−μ/2 − z)), each within `_PHI_ERROR` of the values at one and the same z."""
        from scipy.special import ndtr

        return float(ndtr(self.mu / 2 - z)), float(ndtr(-self.mu / 2 - z))


def _value_lower(line: tuple[float, float], epsilon: float) -> float:
    """A lower bound of Φ(μ/2 − z) − e^ε Φ(−μ/2 − z)."""
    return line[0] * (1 - _PHI_ERROR) - math.exp(epsilon) * line[1] * (1 + 2 * _PHI_ERROR)


@dataclass(frozen=True)
class Composed:
    """`releases` releases with independent noise of the same law are (ε, δ)-DP together.

    The laws that keep this promise are no convex set. Enough for it is μ-GDP for one release, √releases·μ being the GDP
    of a Gaussian calibrated to (ε, δ) [DRS22, Cor. 3.3]. Necessary is that yes-or-no answers computed from each release
    compose to (ε, δ).
    """

    releases: int
    privacy: Privacy

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", RELEASES.check(self.releases))
        if self.privacy.delta == 0:
            raise InputError("delta", 0.0, "a positive number for several releases together")
        if not MU.low <= self._mu <= MU.high:
            shown = f"{self.releases} releases at ({self.privacy.epsilon:g}, {self.privacy.delta:g})"
            accepted = f"a budget that leaves each release a mu from {MU.range}, not {self._mu:.3g}"
            raise InputError("profile", shown, accepted)

    @property
    def spec(self) -> str:
        return f"composed:{self.releases}:{self.privacy.epsilon!r}:{self.privacy.delta!r}"

    @property
    def anchor(self) -> Privacy:
        """The pair of all releases together, which one release keeps all the more."""
        return self.privacy

    @cached_property
    def _mu(self) -> float:
        """Largest μ for which √releases·μ-GDP is (ε, δ)-DP, by bisection, rounded down."""
        epsilon, delta = self.privacy.epsilon, self.privacy.delta
        low, _ = bisection(lambda mu: _delta_upper(mu, epsilon) <= delta, 0.0, 60.0, rounds=80)
        return low / math.sqrt(self.releases) * (1 - 1e-12)

    @cached_property
    def sufficient(self) -> GaussianProfile:
        """The curve for one release that is enough."""
        return GaussianProfile(self._mu)

    def target(self, epsilon: float) -> float:
        """δ(ε) of the curve for one release that is enough."""
        return self.sufficient.target(epsilon)


def _delta_upper(mu: float, epsilon: float) -> float:
    """An upper bound of δ_μ(ε)."""
    from scipy.special import ndtr

    z = epsilon / mu
    above, covered = float(ndtr(mu / 2 - z)), float(ndtr(-mu / 2 - z))
    return above * (1 + _PHI_ERROR) - math.exp(epsilon) * covered * (1 - 2 * _PHI_ERROR)


PrivacyProfile = PairList | GaussianProfile | Composed
"""A whole promise: several pairs (ε, δ), a curve, or one pair for many releases together."""


def parse_profile(text: str) -> PrivacyProfile:
    """The profile that a text names: "gdp:1.0", "list:ε:δ;ε:δ;…" or "composed:T:ε:δ"."""
    family, _, rest = text.strip().partition(":")
    accepted = "gdp:MU, list:EPSILON:DELTA;EPSILON:DELTA;… or composed:T:EPSILON:DELTA"
    if family == "gdp":
        return GaussianProfile(rest)  # type: ignore[arg-type]  # a text, which it reads itself
    if family == "composed" and rest.count(":") == 2:
        releases, epsilon, delta = rest.split(":")
        return Composed(releases, Privacy(epsilon, delta))  # type: ignore[arg-type]  # texts, which they read
    if family != "list" or not rest:
        raise InputError("profile", text[:80], accepted)
    rows = [row.split(":") for row in rest.split(";")]
    if any(len(row) != 2 for row in rows):
        raise InputError("profile", text[:80], accepted)
    return PairList(tuple(Privacy(*row) for row in rows))  # type: ignore[arg-type]  # texts, which it reads itself
