"""Every rule of composition, from adding up to the exact answer: total ε at δ, or δ at ε, of some releases.

Rules that know a mechanism only by a pair (ε, δ) are given one; Gaussian noise has none, so such a rule spends a share
of the total δ on it, the best of a few. All are proofs, rounded up, but the central limit theorem, which is labelled an
approximation.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..extras import needs
from ..loss import UNIT
from ..noise.gaussian import gaussian_delta
from ..search import bisection
from .curves import least_epsilon
from .loss_grids import on_grid, reach
from .mechanisms import Additive, Composable, Release, sides
from .optimal_composition import Group, optimal_epsilon, sum_upper
from .pairs import Pair
from .renyi import zero_concentrated
from .subsampling import Sampling
from .truth import FINE, QUICK, Band, Truth

Array = NDArray[np.float64]
PairRule = Callable[[Sequence[Group], float], float]
ReleaseRule = Callable[[tuple[Release, ...], float], tuple[float, str]]

NAMES = {
    "basic": "Basic composition", "advanced": "Advanced composition", "advanced-tight": "Advanced, sharper mean",
    "optimal": "Optimal for (ε, δ)", "moments": "Moments accountant",
    "renyi": "Rényi", "zcdp": "zCDP", "clt": "Central limit (approximation)",
    "exact": "Exact",
}  # fmt: skip

SHARES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of δ that a rule may spend on mechanisms without a pair (ε, δ) of their own."""

ORDERS = 1 + np.geomspace(0.02, 2e4, 120)


SAMPLED_ORDERS = np.array(
    [*np.arange(1.5, 8, 0.1).round(1), *range(8, 64), *range(64, 257, 16), 512, 1024], dtype=float
)
"""Orders for sampled mechanisms. dp_accounting's series for fractional ones are slow where noise is large, and do not
matter there: they are only asked for below MODEST times the sensitivity."""

MODEST = 1.5


@dataclass(frozen=True)
class Total:
    """What a rule says of the composition.

    upper : ε (or δ), rounded up; ∞ where the rule says nothing.
    lower : a proved lower bound of the true value; only the exact rule has one.
    certified : False for an approximation.
    note : what else is to be known, for people.
    """

    rule: str
    upper: float
    lower: float | None = None
    certified: bool = True
    note: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.rule]


def totals(
    releases: Sequence[Release], *, delta: float | None = None, epsilon: float | None = None, points: int = FINE
) -> list[Total]:
    """The total ε at δ by every rule, or the total δ at ε.

    Raises
    ------
    InputError : not exactly one of δ and ε is given, or releases whose neighbours differ.
    """
    if (delta is None) == (epsilon is None):
        raise InputError("delta", delta, "either delta or epsilon, not both")
    truth = Truth(releases, points=points, delta=1e-12 if delta is None else delta)
    out = []
    for rule, (by_rule, certified) in RULES.items():
        if epsilon is None:
            assert delta is not None
            value, note = by_rule(tuple(releases), delta)
        else:
            value, note = _inverse(by_rule, tuple(releases), epsilon), ""
        out.append(Total(rule, value, None, certified, note))
    band = truth.epsilon(delta) if delta is not None else truth.delta(epsilon)  # type: ignore[arg-type]  # one is given
    band = Band(band.lower, min([band.upper, *(one.upper for one in out if one.certified)]))
    return [*out, Total("exact", band.upper, band.lower)]


def _inverse(rule: ReleaseRule, releases: tuple[Release, ...], epsilon: float) -> float:
    """The least δ at which a rule promises at most ε, rounded up; ∞ if it never does."""
    most = math.nextafter(1.0, 0.0)
    passes: Callable[[float], bool] = lambda delta: rule(releases, delta)[0] <= epsilon  # noqa: E731
    if not passes(most):
        return math.inf
    if passes(0.0):
        return 0.0
    high, _ = bisection(
        lambda log_delta: passes(math.exp(log_delta)), 0.0, -80.0, near=lambda high, low: high - low <= 1e-9
    )
    return min(math.exp(high), most)


# Rules for pairs (ε, δ) ------------------------------------------------------------------------------


def basic(groups: Sequence[Group], delta: float) -> float:
    """Σ ε_i if Σ δ_i ≤ δ [Awan, Thm. 3.3]."""
    spent = math.fsum(one * count for _, one, count in groups)
    return sum_upper(groups) if spent * (1 - 4 * UNIT) <= delta else math.inf


def advanced(groups: Sequence[Group], delta: float) -> float:
    """Σ ε_i(e^ε_i − 1) + √(2 ln(1/δ′) Σ ε_i²), δ′ = δ − Σ δ_i [Awan, Thm. 10.1; Dwork, Rothblum and Vadhan 2010]."""
    rest = delta - math.fsum(one * count for _, one, count in groups)
    if rest <= 0:
        return math.inf
    mean = math.fsum(count * epsilon * math.expm1(min(epsilon, 700.0)) for epsilon, _, count in groups)
    return (mean + _deviation(groups, rest)) * (1 + 16 * UNIT)


def advanced_tight(groups: Sequence[Group], delta: float) -> float:
    """Advanced composition with the mean Σ ε_i tanh(ε_i/2) of the worst privacy loss, 1 − δ = (1 − δ′) Π (1 − δ_i),
    and never more than Σ ε_i [Kairouz, Oh and Viswanath 2017, Thm. 3.5]."""
    kept = math.fsum(count * math.log1p(-min(one, 1 - UNIT)) for _, one, count in groups)
    rest = -math.expm1(min(math.log1p(-min(delta, 1 - UNIT)) - kept, 1.0)) * (1 - 16 * UNIT)
    if rest <= 0:
        return basic(groups, delta)
    mean = math.fsum(count * epsilon * math.tanh(epsilon / 2) for epsilon, _, count in groups)
    sharper = math.log(math.e + math.sqrt(_squares(groups)) / rest)
    found = (mean + math.sqrt(2 * _squares(groups) * min(sharper, -math.log(rest)))) * (1 + 16 * UNIT)
    return min(found, sum_upper(groups))


def _squares(groups: Sequence[Group]) -> float:
    return math.fsum(count * epsilon * epsilon for epsilon, _, count in groups)


def _deviation(groups: Sequence[Group], rest: float) -> float:
    return math.sqrt(2 * max(-math.log(rest), 0.0) * _squares(groups))


def _by_pairs(rule: PairRule) -> ReleaseRule:
    """A rule of releases from a rule of pairs."""

    def spending(releases: tuple[Release, ...], share: float, delta: float) -> float:
        groups = _groups(releases, share * delta)
        return rule(groups, delta) if all(epsilon < math.inf for epsilon, *_ in groups) else math.inf

    def found(releases: tuple[Release, ...], delta: float) -> tuple[float, str]:
        if all(one.mechanism.guarantee is not None for one in releases):
            return spending(releases, 0.0, delta), ""
        best, at = min((spending(releases, share, delta), share) for share in SHARES + _all(rule))
        return (
            best,
            f"{at:.0%} of δ spent on the releases without a pair (ε, δ) of their own" if best < math.inf else "",
        )

    return found


def _all(rule: PairRule) -> tuple[float, ...]:
    """Basic composition needs no δ for itself."""
    return (1.0,) if rule is basic else ()


def _groups(releases: tuple[Release, ...], delta: float) -> list[Group]:
    """(ε, δ, count) of every release; `delta` in all goes to those that have no pair of their own."""
    loose = sum(one.count for one in releases if one.mechanism.guarantee is None)
    out = []
    for one in releases:
        if one.guarantee is not None:
            out.append((*one.guarantee, one.count))
        else:
            each = delta / loose
            out.append((_single(replace(one, count=1), each), each, one.count))
    return out


@lru_cache(maxsize=4096)
def _single(release: Release, delta: float) -> float:
    return release.epsilon_at(delta) if delta > 0 else math.inf


# Rényi -----------------------------------------------------------------------------------------------


def renyi(releases: tuple[Release, ...], delta: float) -> tuple[float, str]:
    """By Rényi divergences, which add up; turned into ε with the conversion of Canonne, Kamath and Steinke [CKS20,
    Prop. 12], at the best of a few hundred orders, refined once."""
    with needs("accounting"):
        from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    orders = _orders(releases)
    spent = _spent(releases, orders)
    if delta <= 0 or not np.isfinite(spent).any():
        return math.inf, _why(releases)
    known = np.isfinite(spent)
    found, at = compute_epsilon(orders[known], spent[known], delta)
    if orders is ORDERS:
        finer = 1 + (at - 1) * np.geomspace(0.93, 1.08, 15)
        closer, where = compute_epsilon(finer, _spent(releases, finer), delta)
        found, at = min((found, at), (closer, where))
    return float(found) * (1 + 1e-9), f"order {at:.4g}"


def moments(releases: tuple[Release, ...], delta: float) -> tuple[float, str]:
    """By the tail bound of the moments accountant, ε = min over λ of (α(λ) + ln(1/δ))/λ [Awan, Thm. 11.2; Abadi et al.
    2016, Thm. 2], from which Theorem 11.3 follows.

    α(λ) = λ·D_{λ+1} is the cumulant generating function of the privacy loss, and adds up. Any λ is a proof; the best of
    a few hundred is taken. Markov's inequality is used where `renyi` knows better, so this is never less.
    """
    orders = _orders(releases)

    def tail(orders: Array) -> tuple[float, float]:
        bounds = _spent(releases, orders) - math.log(min(delta, 1.0)) / (orders - 1)
        least = int(np.argmin(bounds))
        return float(bounds[least]), float(orders[least])

    if delta <= 0 or not np.isfinite(_spent(releases, orders)).any():
        return math.inf, _why(releases)
    found, at = tail(orders)
    if orders is ORDERS:
        found, at = min((found, at), tail(1 + (at - 1) * np.geomspace(0.93, 1.08, 15)))
    return max(found, 0.0) * (1 + 1e-9), f"λ = {at - 1:.4g}"


def _orders(releases: tuple[Release, ...]) -> Array:
    sampled = any(one.sampling is not None and one.sampling.rate < 1 for one in releases)
    return SAMPLED_ORDERS if sampled else ORDERS


def _spent(releases: tuple[Release, ...], orders: Array) -> Array:
    """Rényi divergences of all releases together."""
    each = (one.count * divergences(replace(one, count=1), tuple(orders.tolist())) for one in releases)
    return sum(each, np.zeros(len(orders)))


@lru_cache(maxsize=256)
def divergences(release: Release, orders: tuple[float, ...]) -> Array:
    """Rényi divergences of one use at some orders, over both directions of neighbours."""
    mechanism, sampling = release.mechanism, release.sampling
    sampled = sampling is not None and sampling.rate < 1
    if sampled and (mu := mechanism.gaussian_mu) is not None:
        return _sampled_gaussian(sampling, 1 / mu, orders)  # type: ignore[arg-type]  # `sampled`: there is one
    places = np.array(orders)
    found = [np.asarray(release.pair(side).renyi(places)) for side in sides((release,))]
    largest: Array = np.maximum.reduce(found) * (1 + 1e-12)
    return largest


def _sampled_gaussian(sampling: Sampling, multiplier: float, orders: tuple[float, ...]) -> Array:
    """By dp_accounting: Poisson [Mironov, Talwar and Zhang 2019], fixed size [Wang, Balle and Kasiviswanathan 2019].

    Its series for fractional orders do not always converge. (α − 1) D_α is convex and 0 at α = 1 [van Erven and
    Harremoës 2014, Cor. 2], so there, and where they are not asked for, chords between the known orders bound it.
    """
    with needs("accounting"):
        from dp_accounting import NeighboringRelation, dp_event
        from dp_accounting.rdp import RdpAccountant

    logging.getLogger("absl").addFilter(_of_no_series)
    noise, places = dp_event.GaussianDpEvent(multiplier), np.array(orders)
    asked = places[(places == places.round()) | (multiplier < MODEST)]
    if sampling.kind == "poisson":
        accountant = RdpAccountant(asked)
        accountant.compose(dp_event.PoissonSampledDpEvent(sampling.rate, noise))
    else:
        accountant = RdpAccountant(asked, NeighboringRelation.REPLACE_ONE)
        accountant.compose(dp_event.SampledWithoutReplacementDpEvent(10**9, round(sampling.rate * 10**9 + 0.5), noise))
    known = np.isfinite(accountant.rdp)
    excess = np.append(0.0, asked[known] - 1)
    chords = np.interp(places - 1, excess, excess * np.append(0.0, accountant.rdp[known]), right=math.inf)
    divergence: Array = chords / (places - 1) * (1 + 1e-12)
    return divergence


def _of_no_series(record: logging.LogRecord) -> bool:
    """dp_accounting's word about a series that did not converge is not for whoever asks: it is dealt with."""
    return "_compute_log_a_frac failed to converge" not in str(record.msg)


def zcdp(releases: tuple[Release, ...], delta: float) -> tuple[float, str]:
    """By ρ with D_α ≤ ρα at every order, which adds up; turned into ε at the best order [Bun and Steinke 2016; CKS20,
    Prop. 12]. Sampling hardly lowers divergences of high order, so it gains nothing here."""
    with needs("accounting"):
        from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    rho = sum(one.count * rho_upper(one.mechanism) for one in releases)
    if delta <= 0 or not math.isfinite(rho):
        return math.inf, _why(releases)
    if rho == 0:
        return 0.0, "ρ = 0"
    near = 1 + math.sqrt(max(-math.log(delta), 1e-6) / rho) * np.geomspace(0.6, 1.7, 161)
    orders = np.concatenate([ORDERS, near[near > 1.01]])
    found = compute_epsilon(orders, rho * orders, delta)[0]
    return float(found) * (1 + 1e-12), f"ρ = {rho:.5g}"


@lru_cache(maxsize=256)
def rho_upper(mechanism: Composable) -> float:
    """The least ρ of one use, rounded up; ∞ if there is none."""
    if isinstance(mechanism, Additive):
        return zero_concentrated(mechanism.noise, sensitivity=mechanism.sensitivity).rho
    epsilon, delta = mechanism.guarantee or (math.inf, 1.0)
    return math.inf if delta > 0 else 0.5 * epsilon * epsilon  # [Bun and Steinke 2016, Prop. 3.3]


def _why(releases: tuple[Release, ...]) -> str:
    """Why Rényi divergences are infinite."""
    found = [one.mechanism.spec for one in releases if one.mechanism.pair.infinite > 0]
    if found and any(one.mechanism.spec == found[0] and one.mechanism.rounded for one in releases):
        return f"nothing: the curve of {found[0]} is rounded up, and so bounds no Rényi divergence"
    return f"nothing: {found[0]} can make releases that are impossible for a neighbour" if found else "nothing"


# The central limit theorem ---------------------------------------------------------------------------


def central_limit(releases: tuple[Release, ...], delta: float) -> tuple[float, str]:
    """ε of the Gaussian that the composed loss approaches, and the error of that [Awan, Thm. 13.5; Dong, Roth and Su
    2022, Thm. 3.4]: an approximation. For Gaussian noise on Poisson samples by the limit of many small rates [Bu, Dong,
    Long and Su 2020]."""
    found = limit(releases)
    if found is None or delta <= 0:
        return math.inf, "no approximation is known here"
    mu, error = found
    delta = min(delta, 1 - 1e-12)
    epsilon = least_epsilon(lambda e: gaussian_delta(1 / mu, e), delta, most=math.inf) if mu > 1e-6 else 0.0
    note = f"μ = {mu:.4g}"
    if error is not None:
        note += f"; trade-off functions are within {error:.2g} of the limit"
    return epsilon, note


def limit(releases: tuple[Release, ...]) -> tuple[float, float | None] | None:
    """(μ, error γ) of the central limit theorem: μ = 2Σ kl/√Σ var, γ = 0.56 Σ κ̄₃/(Σ var)^1.5; γ None where only the
    limit is known; None where not even that."""
    means = squares = thirds = small = 0.0
    proved = True
    for one in releases:
        sampling, mechanism = one.sampling, one.mechanism
        if sampling is not None and sampling.rate < 1 and sampling.kind == "poisson":
            mu = mechanism.gaussian_mu
            if mu is None or (ratio := mu**2) > 600:
                return None
            small += one.count * sampling.rate**2 * math.expm1(ratio)
            proved = False
            continue
        mean, variance, third = _moments(one.pair(sides((one,))[0]))
        means, squares, thirds = (
            means + one.count * mean, squares + one.count * variance, thirds + one.count * third,
        )  # fmt: skip
    whole = 4 * means * means / squares if squares > 0 else 0.0
    error = 0.56 * thirds / squares**1.5 if squares > 0 and proved else None
    return math.sqrt(whole + small), error


@lru_cache(maxsize=256)
def _moments(pair: Pair) -> tuple[float, float, float]:
    low, high = reach(pair)
    return on_grid(pair, max((high - low) / 4096, 1e-12), upper=True).moments()


def by_count(
    release: Release, counts: Sequence[int], delta: float, *, points: int = QUICK, rules: Sequence[str] | None = None
) -> dict[str, list[Total]]:
    """The total ε at δ by every rule, of `release` repeated so many times (its own count included each time)."""
    chosen = list(RULES) if rules is None else [rule for rule in RULES if rule in rules]
    out = {
        rule: [_total(rule, replace(release, count=count * release.count), delta) for count in counts]
        for rule in chosen
    }
    truth = Truth((release,), times=max(counts), points=points, delta=delta)
    bands = [truth.epsilon(delta, times=count) for count in counts]
    proofs = [row for rule, row in out.items() if RULES[rule][1]]
    best = [min([band.upper, *(row[i].upper for row in proofs)]) for i, band in enumerate(bands)]
    return {**out, "exact": [Total("exact", upper, band.lower) for upper, band in zip(best, bands)]}


def _total(rule: str, release: Release, delta: float) -> Total:
    found, certified = RULES[rule]
    value, note = found((release,), delta)
    return Total(rule, value, None, certified, note)


RULES: dict[str, tuple[ReleaseRule, bool]] = {
    "basic": (_by_pairs(basic), True),
    "advanced": (_by_pairs(advanced), True),
    "advanced-tight": (_by_pairs(advanced_tight), True),
    "optimal": (_by_pairs(optimal_epsilon), True),
    "moments": (moments, True),
    "renyi": (renyi, True),
    "zcdp": (zcdp, True),
    "clt": (central_limit, False),
}
"""Key → (rule, whether it is a proof)."""
