"""The mechanisms people use: rules (privacy, sensitivity, loss) → noise, and what each pays on a problem."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Generic, TypeVar

import numpy as np

from ._validate import whole
from .audit import delta_upper
from .loss import Loss
from .noise.base import Noise
from .noise.discrete import DiscreteStaircase, Geometric, IntegerStaircase
from .noise.gaussian import Gaussian
from .noise.laplace import Laplace
from .noise.lattice import Stretched, stretched
from .noise.mixture import MultiGaussian, QuasiGaussian
from .noise.staircase import Staircase
from .noise.symmetric import SymmetricNoise
from .noise.truncated_laplace import TruncatedLaplace
from .noise.uniform import Uniform
from .privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from .privacy_profile import Composed, GaussianProfile, PairList
from .problem import NoiseProblem
from .search import bisection, least_argument

Rule = Callable[[Privacy, float, Loss], SymmetricNoise]
WholeRule = Callable[[Privacy, int, Loss], IntegerStaircase]
RuleType = TypeVar("RuleType", Rule, WholeRule)


@dataclass(frozen=True)
class Entry(Generic[RuleType]):
    """A mechanism, and what the rest of the package has to know about it.

    name : for people.   source : citation key of the README's list.
    rule : (privacy, sensitivity, loss) → noise; only the staircases and the uniform law look at the loss.
    hue, dash : its look in charts: a hue of `figures.Palette`, which variants of one law share, and a dash of its own.
    needs_epsilon, needs_delta : the rule exists for ε > 0, for δ > 0 only.
    largest_epsilon : the rule is proved private up to this ε only.
    least : (ε, δ) below which no proof is tried.
    slow : a calibration takes tenths of a second: too long for sweeps and for where a search begins.
    on_curve : (μ, sensitivity) → the law whose δ(ε) is that of μ-GDP, where there is one.
    """

    name: str
    source: str
    rule: RuleType
    hue: str
    dash: str
    needs_epsilon: bool = False
    needs_delta: bool = False
    largest_epsilon: float = math.inf
    on_curve: Callable[[float, float], SymmetricNoise] | None = None
    least: tuple[float, float] = (0.0, 0.0)
    slow: bool = False

    @property
    def is_pure(self) -> bool:
        """The law is (ε, 0)-DP."""
        return self.needs_epsilon and not self.needs_delta

    def missing(self, privacy: Privacy) -> str:
        """Why the mechanism does not exist at this privacy, "" if it does."""
        if self.needs_epsilon and privacy.epsilon == 0:
            return "it needs a positive epsilon"
        if self.needs_delta and privacy.delta == 0:
            return "it needs a positive delta"
        for name, value, least in zip(("epsilon", "delta"), astuple(privacy), self.least):
            if value < least:
                return f"it is calibrated from {name} = {least:g} on only"
        return ""


@dataclass(frozen=True)
class Baseline:
    """What a mechanism pays on a problem.

    noise, loss : the calibrated law and its exact expected loss; None where the mechanism does not exist.
    valid : the law meets every requirement of the problem.   reason : if not, why, in words.
    """

    name: str
    key: str
    noise: Noise | None
    loss: float | None
    valid: bool
    reason: str = ""


LEAST_OF_LADDERS = (0.05, 1e-7)
"""(ε, δ) from which on the proof over all shifts takes a second or so. Below, multi-Gaussian noise is next to
(ε, 0)-DP: on whole periods f(x) and e^ε f(x − φ) nearly cancel, and δ is a remnant of where they do not."""

LEAST_OF_SHOULDERS = (0.005, 1e-12)

MECHANISMS: dict[str, Entry[Rule]] = {
    "laplace": Entry("Laplace", "Awan", Laplace.calibrate, "laplace", "dash", needs_epsilon=True),
    "truncated-laplace": Entry(
        "Truncated Laplace", "G20", TruncatedLaplace.calibrate, "truncated-laplace", "dashdot", needs_delta=True
    ),
    "gaussian": Entry(
        "Gaussian, analytic", "BW18", Gaussian.calibrate, "gaussian", "dot",
        needs_delta=True, on_curve=Gaussian.on_curve,
    ),
    "gaussian-classical": Entry(
        "Gaussian, classical", "Awan", Gaussian.classical, "gaussian", "longdashdot",
        needs_epsilon=True, needs_delta=True, largest_epsilon=1.0,
    ),
    "multi-gaussian": Entry(
        "Multi-Gaussian", "LSW26", MultiGaussian.calibrate, "mixture", "5px,2px,2px,2px,2px,2px",
        needs_epsilon=True, needs_delta=True, least=LEAST_OF_LADDERS, slow=True,
    ),
    "quasi-gaussian": Entry(
        "Quasi-Gaussian", "LSW26", QuasiGaussian.calibrate, "mixture", "10px,3px,4px,3px",
        needs_epsilon=True, needs_delta=True, least=LEAST_OF_SHOULDERS, slow=True,
    ),
    "staircase": Entry("Staircase", "GV15", Staircase.calibrate, "staircase", "longdash", needs_epsilon=True),
    "uniform": Entry("Uniform with atom", "G19", Uniform.calibrate, "uniform", "8px,3px,2px,3px", needs_delta=True),
}  # fmt: skip
"""Mechanisms for real-valued queries, in the order in which they are shown."""

INTEGER_MECHANISMS: dict[str, Entry[WholeRule]] = {
    "geometric": Entry("Geometric", "GV15", Geometric.calibrate, "laplace", "dash", needs_epsilon=True),
    "discrete-staircase": Entry(
        "Discrete staircase", "GV15", DiscreteStaircase.calibrate, "staircase", "longdash", needs_epsilon=True
    ),
}
"""Mechanisms for whole-number queries."""

LARGEST_INTEGER_SENSITIVITY = 10_000


def baselines(problem: NoiseProblem, *, slow: bool = True) -> list[Baseline]:
    """Every mechanism of `MECHANISMS` (of `INTEGER_MECHANISMS` for a query with a granularity) on the problem, in that
    order; without the slow ones unless `slow`."""
    if problem.granularity is not None:
        return _lattice_baselines(problem)
    return [_baseline(key, one, problem) for key, one in MECHANISMS.items() if slow or not one.slow]


def baseline(key: str, problem: NoiseProblem) -> Baseline:
    """One mechanism on the problem, by its key among those that `baselines` lists.

    Raises
    ------
    KeyError : there is no such mechanism for this kind of query.
    """
    if problem.granularity is None:
        return _baseline(key, MECHANISMS[key], problem)
    return {entry.key: entry for entry in _lattice_baselines(problem)}[key]


def integer_baselines(privacy: Privacy, sensitivity: int, loss: Loss) -> list[Baseline]:
    """Every mechanism of `INTEGER_MECHANISMS` for a whole-number query, in that order."""
    sensitivity = whole(1, LARGEST_INTEGER_SENSITIVITY, sensitivity=sensitivity)
    out = []
    for key, mechanism in INTEGER_MECHANISMS.items():
        if reason := mechanism.missing(privacy):
            out.append(Baseline(mechanism.name, key, None, None, False, reason))
        else:
            noise = mechanism.rule(privacy, sensitivity, loss)
            out.append(Baseline(mechanism.name, key, noise, noise.expected_loss(loss), True))
    return out


def _lattice_baselines(problem: NoiseProblem) -> list[Baseline]:
    """Every mechanism of `INTEGER_MECHANISMS` on a problem with a granularity."""
    step, k = problem.lattice_step, problem.lattice_sensitivity
    out = []
    for entry in integer_baselines(problem.privacy, k, problem.loss.scaled(step)):
        if not isinstance(entry.noise, IntegerStaircase):  # there is none
            out.append(entry)
            continue
        faults = _shape_faults(noise := stretched(entry.noise, step), problem)
        loss = noise.expected_loss(problem.loss)
        out.append(dataclasses.replace(entry, noise=noise, loss=loss, valid=not faults, reason="; ".join(faults)))
    return out


def _baseline(key: str, mechanism: Entry[Rule], problem: NoiseProblem) -> Baseline:
    privacy = problem.privacy
    if reason := mechanism.missing(privacy):
        return Baseline(mechanism.name, key, None, None, False, reason)
    tried = []
    for pair in _calibrations(mechanism, problem):
        if isinstance(pair, Privacy) and (reason := mechanism.missing(pair)):
            continue  # what a release among several may spend can be too little
        noise = pair if isinstance(pair, SymmetricNoise) else mechanism.rule(pair, problem.sensitivity, problem.loss)
        if math.isfinite(noise.support[1]):
            noise = fitted(noise, problem.support, problem.loss)
        faults = [*_privacy_faults(mechanism, noise, problem), *_shape_faults(noise, problem)]
        faults += _extra_faults(noise, problem)
        tried.append((bool(faults), noise.expected_loss(problem.loss), noise, faults))
    if not tried:
        return Baseline(mechanism.name, key, None, None, False, reason)
    _, loss, noise, faults = min(tried, key=lambda one: one[:2])
    return Baseline(mechanism.name, key, noise, loss, not faults, "; ".join(faults))


def _calibrations(mechanism: Entry[Rule], problem: NoiseProblem) -> Sequence[Privacy | SymmetricNoise]:
    """What a mechanism may be calibrated to: the pair (ε, δ), for a list every pair of it; for a whole curve the
    Gaussian on it, and pure laws at the largest ε that stays below it (or at ε/T, for T releases). Other laws share ε
    and δ among the releases."""
    share = None
    if isinstance(problem.profile, Composed):
        total, low = problem.privacy, (EPSILON_RANGE[0], DELTA_RANGE[0])
        shares = (x / problem.profile.releases * (1 - 1e-12) for x in astuple(total))
        share = Privacy(*map(max, shares, low))
    curve = _curve(problem)
    if curve is None:
        return list(problem.privacies) if isinstance(problem.profile, PairList) else [problem.privacy]
    if mechanism.on_curve is not None:
        return [mechanism.on_curve(curve.mu, problem.sensitivity)]
    if mechanism.is_pure:

        def passes(scale: float) -> bool:
            noise = mechanism.rule(Privacy(1 / scale, 0.0), problem.sensitivity, problem.loss)
            return not curve_fault(noise, curve, problem.sensitivity)

        epsilons = [1 / _narrowest(passes, 1 / curve.mu)]
        if share is not None:
            epsilons.append(share.epsilon)
        least, most = EPSILON_RANGE
        return [Privacy(e, 0.0) for e in epsilons if least <= e <= most] or [problem.privacy]
    return [share or problem.privacy]


def _curve(problem: NoiseProblem) -> GaussianProfile | None:
    """A whole curve that the problem asks for, or that suffices for its releases; None for pairs."""
    if isinstance(problem.profile, Composed):
        return problem.profile.sufficient
    return problem.profile if isinstance(problem.profile, GaussianProfile) else None


def _narrowest(passes: Callable[[float], bool], scale: float) -> float:
    """A scale that passes, at most a millionth above the smallest one that does."""
    while not passes(scale):
        scale *= 2
    return bisection(passes, scale, scale / 16, near=lambda scale, low: scale - low <= 1e-6 * scale)[0]


def curve_fault(noise: Noise, curve: GaussianProfile, sensitivity: float) -> str:
    """Why a law is not μ-GDP, "" if it is: its δ(ε′) where tangents of the target cross, until it is 0."""
    if (mu := noise.gaussian_mu(sensitivity)) is not None:
        return "" if mu <= curve.mu else f"it is {mu:.4g}-GDP"
    places = tuple(np.linspace(0, 10 + curve.mu, 160).tolist())
    for epsilon, limit in curve.crossings(places):
        true = delta_upper(noise, epsilon, sensitivity)
        if true > limit:
            return f"at epsilon = {epsilon:.4g} its true delta is {true:.3g}, required {limit:.3g}"
        if true == 0:
            return ""
    return f"its delta stays at {true:.3g} however large epsilon"


def _privacy_faults(mechanism: Entry[Rule], noise: Noise, problem: NoiseProblem) -> list[str]:
    if (curve := _curve(problem)) is not None:
        if isinstance(problem.profile, Composed) and _shares(noise, problem, problem.profile.releases):
            return []
        return [fault] if (fault := curve_fault(noise, curve, problem.sensitivity)) else []
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    true = delta_upper(noise, epsilon, problem.sensitivity)
    if epsilon > mechanism.largest_epsilon:
        limit = f"its formula is proved for epsilon up to {mechanism.largest_epsilon:g} only"
        return [f"{limit}; at epsilon = {epsilon:g} its true delta is {true:.3g}, required {delta:g}"]
    if true > delta:
        return [f"at epsilon = {epsilon:g} its true delta is {true:.3g}, required {delta:g}"]
    return []


def _shares(noise: Noise, problem: NoiseProblem, releases: int) -> bool:
    """T releases keep (ε, δ) by basic composition: one keeps (ε/T, δ/T)."""
    epsilon, delta = problem.privacy.epsilon / releases, problem.privacy.delta / releases
    return delta_upper(noise, epsilon * (1 - 1e-13), problem.sensitivity) <= delta


def _extra_faults(noise: Noise, problem: NoiseProblem) -> list[str]:
    """Pairs besides the first and the budget, as far as the problem has them."""
    faults, budget = [], problem.budget
    for pair in problem.privacies[1:]:
        if (true := delta_upper(noise, pair.epsilon, problem.sensitivity)) > pair.delta:
            faults.append(f"at epsilon = {pair.epsilon:g} its true delta is {true:.3g}, required {pair.delta:g}")
    if budget is not None and (spent := noise.expected_loss(budget.loss)) > budget.most:
        faults.append(f"it spends {spent:.6g} of the budget {budget.most:g} ({budget.loss.title})")
    return faults


def _shape_faults(noise: SymmetricNoise | Stretched | IntegerStaircase, problem: NoiseProblem) -> list[str]:
    """Support, symmetry and monotonicity; most laws here fall away from their own location on both sides."""
    faults = []
    (low, high), (lo, hi) = noise.support, problem.support
    if low < lo or high > hi:
        faults.append(f"it spills over the support, from {lo:g} to {hi:g}")
    shifted = noise.location != 0
    if shifted and problem.symmetric:
        faults.append("shifted into the support it is not symmetric about 0")
    flat = noise.is_flat and low <= 0 <= high
    if shifted and problem.monotone and not flat:
        faults.append("shifted into the support its density does not fall away from 0 on both sides")
    if problem.monotone and not noise.falls_away:
        faults.append("its density has several peaks or a dip, so it need not fall away from 0 on both sides")
    return faults


def fitted(noise: SymmetricNoise, support: tuple[float, float], loss: Loss) -> SymmetricNoise:
    """The law, moved inside the support where it can be: not at all if it fits or is too wide, else to the
    place of least expected loss (on (−∞, 0] that is centre −radius for a loss that grows from 0 [MSVV])."""
    (low, high), (lo, hi) = noise.support, support
    if (lo <= low and high <= hi) or high - low > hi - lo:
        return noise
    first, last = lo + noise.radius, hi - noise.radius
    nearest = min(max(noise.location, first), last)
    # Beyond all breaks the loss does not fall, so the best place is not further away than this.
    span = 4 * noise.radius + 2 * float(np.abs(loss.breaks).max()) + abs(nearest)
    ends = max(first, nearest - span), min(last, nearest + span)
    best = nearest
    if ends[0] < ends[1]:
        grid = [nearest, *np.linspace(*ends, 9 if loss.grows_from_zero else 65).tolist()]
        best = least_argument(lambda location: noise.at(location).expected_loss(loss), grid, tolerance=1e-6)
    return _nudged_inside(noise.at(best), support)


def _nudged_inside(noise: SymmetricNoise, support: tuple[float, float]) -> SymmetricNoise:
    """The law moved by the few units in the last place by which location ± radius was rounded outwards."""
    for _ in range(4):
        (low, high), (lo, hi) = noise.support, support
        if low < lo or high > hi:
            step = math.ulp(max(abs(low), abs(high), abs(noise.location)))
            noise = noise.at(noise.location + (step if low < lo else -step))
    return noise
