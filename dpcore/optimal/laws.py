"""Laws that are private by construction: where the search starts and what repairs its answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..noise.piecewise import PiecewiseNoise
from ..noise.search import least_argument
from ..noise.staircase import Staircase
from ..problem import NoiseProblem
from .lattice import Array, Lattice

FINE = 1 << 30
"""Units per sensitivity of laws whose breaks lie on no lattice."""


def geometric(lattice: Lattice, epsilon: float, centre: float) -> Array:
    """Masses ∝ e^{−ε|i − centre|/k} on the lattice [theory §5]: ratio at most e^{ε|j|/k} between cells j apart, so
    only what a shift uncovers at the ends counts against δ. (cells,)"""
    distance = np.abs(lattice.indices - centre) / lattice.k
    masses = np.exp(-epsilon * (distance - distance.min()))
    return masses / masses.sum()


def staircase(lattice: Lattice, epsilon: float, centre: float, inner: float) -> Array:
    """Masses in steps of e^{−ε} per sensitivity, the first at distance `inner` (in sensitivities) from the centre
    [GV14], cut off where the lattice ends. (cells,)"""
    distance = np.abs(lattice.indices - centre) / lattice.k
    level = np.maximum(np.ceil(distance - inner - 1e-9), 0)
    masses = np.exp(-epsilon * level)
    return masses / masses.sum()


def private_masses(lattice: Lattice, problem: NoiseProblem, costs: Array, origin: float) -> tuple[Array, float] | None:
    """(masses, shortfall) of a law on the lattice with shortfall < δ, or None when the lattice is too narrow.

    Of the geometric law and a few staircases, centred at the loss's minimiser as far as the support allows, and the
    uniform law, the one with the least cost per unit of slack in δ. For mixing only: the audit has the last word.
    """
    privacy = problem.privacy
    amplification = privacy.amplification
    middle = -0.5 * lattice.edge
    if not lattice.folded and not problem.monotone:
        best = problem.loss.minimiser(*problem.support)[0] / problem.sensitivity - origin
        reach = _truncation(privacy.epsilon, 0.6 * privacy.delta) * lattice.k
        low, high = lattice.first + reach, lattice.last - reach
        middle = float(np.clip(best * lattice.k, low, high)) if low < high else 0.5 * (lattice.first + lattice.last)
    peak = 1 / (1 + math.exp(privacy.epsilon / 2))
    kinds = [geometric(lattice, privacy.epsilon, middle)]
    kinds += [staircase(lattice, privacy.epsilon, middle, peak + t / lattice.k) for t in (-0.5, 0.0, 0.5)]
    kinds.append(np.full(len(lattice.indices), 1 / len(lattice.indices)))
    fitting = []
    for masses in kinds:
        shortfall = float(lattice.shortfalls(masses, amplification).max())
        if shortfall <= 0.999 * privacy.delta:
            worth = float(masses @ costs) / (privacy.delta - shortfall)
            fitting.append((worth, shortfall, masses))
    if not fitting:
        return None
    _, shortfall, masses = min(fitting, key=lambda law: law[:2])
    return masses, shortfall


def _truncation(epsilon: float, delta: float) -> float:
    return 1 / (2 * delta) if epsilon == 0 else math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon


def staircase_with_atom(problem: NoiseProblem, gamma: float) -> PiecewiseNoise:
    """(1 − a)·staircase + a·(point at 0), cut far out so that it is (ε, δ)-DP for δ > 0 [lowprivacy T4].

    Cutting the staircase beyond a whole number of periods leaves uncovered at most the mass τ of the outermost
    period; the atom gets what is left of δ. Costs about a millionth of δ against the uncut law.
    """
    privacy = problem.privacy
    epsilon, delta = privacy.epsilon, privacy.delta
    resolution = FINE if epsilon >= 0.1 else 40
    half = min(max(round(gamma * resolution), 1), resolution - 1)
    periods = min(math.ceil(math.log(1e6 / delta) / epsilon) + 1, 5000)
    right = half + np.arange(periods + 1, dtype=np.int64) * resolution
    levels = np.concatenate([[0.0], 1.0 + np.arange(periods)])
    widths = np.diff(np.concatenate([[0], right]))
    one_side = np.exp(-epsilon * levels) * widths
    total = 2 * math.fsum(one_side)
    tail = one_side[-1] / total
    atom = max(0.0, (delta - tail - 3e-15) / (1 - tail)) if problem.support == (-math.inf, math.inf) else 0.0
    breaks = np.concatenate([-right[::-1], right])
    masses = np.concatenate([one_side[:0:-1], [2 * one_side[0]], one_side[1:]]) / total * (1 - atom)
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=breaks,
        masses=masses,
        atom=atom,
        name="Staircase with atom",
    )


def truncated_geometric(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The geometric law on cells of one sensitivity, cut where δ allows, about 0; for small ε close to optimal [G20].
    None when ε or δ is too large or the support too narrow for it."""
    privacy, D = problem.privacy, problem.sensitivity
    half = math.ceil(privacy.truncation() * (1 + 1e-12) + 0.5)
    if privacy.epsilon == 0 or not half <= 60_000 or (half + 0.5) * D > min(-problem.support[0], problem.support[1]):
        return None
    lattice = Lattice(1, -half, half, -half, half, folded=True)
    return PiecewiseNoise.from_masses(
        sensitivity=D,
        resolution=2,
        breaks=2 * np.arange(-half, half + 2) - 1,
        masses=geometric(lattice, privacy.epsilon, 0.0),
        name="Truncated geometric",
    )


def pure_staircase(problem: NoiseProblem) -> Staircase:
    """The staircase for δ = 0 whose γ, and for losses that are not even whose location, cost least [GV14]."""
    noise = Staircase.calibrate(problem.privacy, problem.sensitivity, problem.paid_loss)
    if problem.folds or problem.monotone:
        return noise
    wide = problem.sensitivity * (2 + 2 / problem.privacy.epsilon)
    places = np.linspace(-wide, wide, 41)
    return replace(
        noise, location=least_argument(lambda x: replace(noise, location=x).expected_loss(problem.loss), places)
    )


def lossless(problem: NoiseProblem) -> PiecewiseNoise | None:
    """A truncated geometric law inside the interval around the minimiser where the loss is least, if that is wide
    enough for (ε, δ): then no noise law does better. None otherwise."""
    best, least = problem.loss.minimiser(*problem.support)
    flat = [p for p in problem.loss.pieces if p.coefficient == 0 and p.constant == least and p.lo <= best <= p.hi]
    if not flat:
        return None
    lo, hi = max(min(p.lo for p in flat), problem.support[0]), min(max(p.hi for p in flat), problem.support[1])
    if problem.folds or problem.monotone:
        lo, hi = -min(-lo, hi), min(-lo, hi)
    need = 2 * problem.privacy.truncation() * (1 + 1e-9) * problem.sensitivity
    if not hi - lo >= need:
        return None
    if math.isinf(hi - lo):
        lo, hi = (
            (hi - 2 * need, hi) if math.isfinite(hi) else (lo, lo + 2 * need) if math.isfinite(lo) else (-need, need)
        )
    middle = 0.5 * (lo + hi)
    for k in (4, 16, 64, 256, 1024):
        half = math.floor((hi - lo) / 2 / problem.sensitivity * k * (1 - 1e-12))
        if half >= need / 2 / problem.sensitivity * k and half <= 20000:
            lattice = Lattice(k, -half, half - 1, -half, half - 1, folded=True, edge=1)
            return PiecewiseNoise.from_masses(
                sensitivity=problem.sensitivity,
                resolution=k,
                breaks=np.arange(-half, half + 1),
                masses=geometric(lattice, problem.privacy.epsilon, -0.5),
                origin=middle,
                name="Truncated geometric",
            )
    return None


def uniform(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The uniform law of width D/δ, as near to the minimiser as the support allows: a shift of D uncovers a share δ."""
    lo, hi = problem.support
    resolution = 1 << 20
    delta = problem.privacy.delta
    units = math.ceil(resolution / delta * (1 + 1e-12 + 2e-15 / delta))  # room for what the audit rounds up
    width = units * problem.sensitivity / resolution
    if not width <= hi - lo:
        return None
    best = 0.0 if problem.monotone or problem.folds else problem.loss.minimiser(lo, hi)[0]
    if problem.folds:
        start = -width / 2
    else:
        start = float(np.clip(best - width / 2, lo, hi - width))
        if problem.monotone and not start <= 0 <= start + width:
            return None
    noise = PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=[0, units],
        masses=[1.0],
        origin=start,
        name="Uniform",
    )
    return noise if lo <= noise.edges[0] and noise.edges[-1] <= hi else None
