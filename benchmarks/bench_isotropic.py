"""Vectors in d dimensions: certified brackets, the known mechanisms beside them, every law confirmed another way.

    python -m benchmarks.bench_isotropic                  # brackets within their time limits, then the table over d
    python -m benchmarks.bench_isotropic --short          # a tenth of the time, fewer problems
    python -m benchmarks.bench_isotropic --only brackets --between 2 20 --draws 1000000
    python -m benchmarks.bench_isotropic --only plane     # E‖X‖₁ in the plane, the supplement's Figure 6

Time is that of the processor, for limits too. Every law is confirmed by a Monte-Carlo estimate of its δ(ε) from drawn
vectors (`--draws`), in two and three dimensions by numerical integration too; neither uses the audit. The exit status
is 1 where one of them contradicts what was proved, or a lower bound lies above a known mechanism.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcore.isotropic.baselines import mechanisms
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.plane import FIGURE_6, figure_6
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.search import solve
from dpcore.isotropic.solution import IsotropicSolution
from dpcore.isotropic.square import RESOLUTIONS, taxicab_lower
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings

from .bench_solve import peak_megabytes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A problem, the gap wanted within so many seconds, and the upper bound of the prototype, where it had one."""

    dimension: int
    epsilon: float
    delta: float
    loss: str
    gap: float
    seconds: float
    prototype: float | None = None

    @property
    def problem(self) -> IsotropicProblem:
        return IsotropicProblem(self.dimension, Privacy(self.epsilon, self.delta), parse_loss(self.loss))


BRACKETS = [
    Asked(2, 2.0, 0.2, "norm", 0.01, 10, 0.6582),
    Asked(2, 5.0, 0.2, "norm", 0.05, 10, 0.2187),
    Asked(2, 1.0, 1e-2, "squared", 0.02, 30, 4.576),
    Asked(2, 1.0, 1e-3, "squared", 0.02, 30),
    Asked(3, 1.0, 1e-2, "squared", 0.02, 30),
    Asked(3, 1.0, 1e-3, "squared", 0.02, 30, 10.60),
    Asked(10, 5.0, 1e-2, "squared", 0.03, 60, 2.373),
    Asked(10, 1.0, 1e-6, "squared", 0.03, 60, 95.9),
    Asked(10, 4.0, 1e-6, "squared", 0.03, 60),
    Asked(20, 5.0, 1e-2, "squared", 0.03, 60),
    Asked(20, 1.0, 1e-6, "squared", 0.03, 60),
    Asked(20, 4.0, 1e-6, "squared", 0.03, 60, 17.97),
    Asked(50, 1.0, 1e-6, "squared", 0.05, 60),
    Asked(50, 8.0, 1e-6, "squared", 0.05, 60),
    Asked(100, 1.0, 1e-6, "squared", 0.05, 60),
    Asked(100, 8.0, 1e-6, "squared", 0.05, 60),
    Asked(1000, 1.0, 1e-6, "squared", 0.05, 60),
    Asked(1000, 8.0, 1e-6, "squared", 0.05, 60),
]

DIMENSIONS, PAIRS = (2, 3, 5, 10, 20, 50, 100), ((1.0, 1e-5), (4.0, 1e-6))
"""Dimensions and (ε, δ) of the table."""

TABLE_SECONDS, TABLE_GAP = 30.0, 0.005

SHORT, FEWER = 0.1, 3
"""The short version: share of the time, and which problems (every third)."""


TOWARDS = np.array([0.0, *(2.0**k for k in range(-4, 5))])
"""How much more often than evenly vectors are drawn towards the shift."""


# Confirmed another way ------------------------------------------------------------------------------------------


def _logs(noise: RadialNoise) -> Array:
    """Logarithms of the density in every shell and outside, up to a constant."""
    inner, outer = noise.edges[:-1], noise.edges[1:]
    with np.errstate(divide="ignore"):
        volumes = noise.dimension * np.log(outer) + np.log(-np.expm1(noise.dimension * (np.log(inner) - np.log(outer))))
        return np.append(np.log(noise.masses) - volumes, -np.inf)


def _at(noise: RadialNoise, logs: Array, radius: Array) -> Array:
    shell = np.searchsorted(noise.edges, radius, side="right") - 1
    return logs[np.minimum(shell, len(logs) - 1)]


def monte_carlo(noise: RadialNoise, epsilon: float, draws: int, seed: int = 0) -> tuple[float, float]:
    """(δ(ε) of the largest shift, its standard error) from drawn vectors: the mean of (1 − e^ε q/p)₊.

    What is rare is drawn more often, and counts for less by as much: shells evenly, directions towards the shift by one
    of `TOWARDS`; then, once a tenth of the draws have said which of them matter, mostly those.
    """
    rng, d, s, logs = np.random.default_rng(seed), noise.dimension, noise.sensitivity, _logs(noise)
    own, half = noise.masses / noise.masses.sum(), (d - 1) / 2

    def drawn(count: int, shells: Array, towards: Array) -> tuple[Array, Array, Array]:
        """(gains, shells, how probable each of `TOWARDS` made the direction, as a multiple of their mean)."""
        shell = rng.choice(len(own), size=count, p=shells)
        ratio = (noise.edges[shell] / noise.edges[shell + 1]) ** d
        radius = noise.edges[shell + 1] * (ratio + rng.random(count) * (1 - ratio)) ** (1 / d)
        if d == 1:
            u, logs_of = rng.integers(0, 2, count).astype(float), np.zeros((len(TOWARDS), count))
        else:  # (1 + cosine of the angle with the shift)/2
            u = rng.beta(half * (1 + rng.choice(TOWARDS, size=count, p=towards)), half)
            powers = half * TOWARDS[:, None]
            logs_of = powers * np.log(u) + special.betaln(half, half) - special.betaln(half + powers, half)
        top = logs_of.max(axis=0)  # beside what is even; nothing overflows
        more = np.exp(logs_of - top)
        mean = towards @ more
        moved = np.sqrt((radius - s) ** 2 + 4 * radius * s * u)
        with np.errstate(invalid="ignore"):
            loss = logs[shell] - _at(noise, logs, moved)
        weight = own[shell] / shells[shell] * np.exp(-top) / mean
        return weight * np.maximum(-np.expm1(epsilon - loss), 0.0), shell, more / mean

    shells, towards = 0.5 * own + 0.5 / len(own), np.full(len(TOWARDS), 1 / len(TOWARDS))
    gain, shell, more = drawn(draws // 10, shells, towards)
    seen = np.bincount(shell, gain, len(own)) / max(gain.sum(), 1e-300)
    counted = (towards[:, None] * more) @ gain / max(gain.sum(), 1e-300)
    shells, towards = 0.4 * shells + 0.6 * seen, 0.3 * towards + 0.7 * counted
    gain = (1 - noise.atom_mass) * drawn(draws, shells / shells.sum(), towards / towards.sum())[0]
    return noise.atom_mass + float(gain.mean()), float(gain.std() / math.sqrt(draws))


NODES = 12


def integrated(noise: RadialNoise, epsilon: float) -> float:
    """δ(ε) of the largest shift for d = 2 or 3: Gauss quadrature over the radius between all kinks, the law of the
    moved radius in closed form."""
    d, s, logs = noise.dimension, noise.sensitivity, _logs(noise)
    edges = noise.edges
    kinks = np.unique(np.concatenate([edges, np.abs(edges - s), edges + s]))
    kinks = kinks[kinks <= edges[-1]]
    x, weights = np.polynomial.legendre.leggauss(NODES)
    angle = 0.5 * np.pi * 0.5 * (x + 1)  # the law has roots of the distance at both ends: r = a + (b − a) sin²
    share, rate = np.sin(angle) ** 2, np.sin(2 * angle) * 0.5 * np.pi * 0.5 * weights
    total = noise.atom_mass
    for low, high in zip(kinks, kinks[1:]):
        shell = int(np.searchsorted(edges, 0.5 * (low + high), side="right")) - 1
        r = low + (high - low) * share
        gain = np.maximum(-np.expm1(epsilon - (logs[shell] - logs)), 0.0)
        u = np.clip((edges[None, :] ** 2 - (r[:, None] - s) ** 2) / (4 * r[:, None] * s), 0, 1)
        within = u if d == 3 else 2 / np.pi * np.arcsin(np.sqrt(u))
        landed = np.diff(np.concatenate([within, np.ones((len(r), 1))], axis=1), axis=1)
        density = noise.masses[shell] * d * r ** (d - 1) / (edges[shell + 1] ** d - edges[shell] ** d)
        total += float((high - low) * rate @ (density * (landed @ gain)))
    return total


def confirmed(found: IsotropicSolution, draws: int) -> tuple[str, bool]:
    """What other ways say of a law's δ(ε), in words, and whether they agree with the audit."""
    noise, epsilon = found.noise, found.problem.privacy.epsilon
    mean, error = monte_carlo(noise, epsilon, draws)
    agrees = abs(mean - found.delta_upper) <= 5 * error
    said = f"δ {found.delta_upper:.5g} proved, {mean:.4g} ± {error:.1g} drawn"
    if noise.dimension in (2, 3):
        value = integrated(noise, epsilon)
        agrees = agrees and abs(value - found.delta_upper) <= 1e-4 * found.delta_upper
        said += f", {value:.6g} integrated"
    return said, agrees


# Reports --------------------------------------------------------------------------------------------------------


def brackets(asked: list[Asked], share: float, draws: int) -> int:
    """One line per problem; the number of contradictions."""
    wrong = 0
    print("  d  (ε, δ)         loss     lower      upper      gap      wanted  first   seconds  peak    prototype")
    for one in asked:
        began = time.process_time()
        found = solve(one.problem, SolverSettings(gap=one.gap, time_limit=share * one.seconds))
        seconds = time.process_time() - began
        first = next((r.seconds for r in found.trace if r.lower > 0 and math.isfinite(r.upper)), math.nan)
        ratio = "" if one.prototype is None else f"{100 * (found.upper / one.prototype - 1):+.2f} %"
        said, agrees = confirmed(found, draws)
        wrong += not agrees
        print(
            f"{one.dimension:4d} {f'({one.epsilon:g}, {one.delta:g})':13s} {one.loss:8s} {found.lower:<10.5g} "
            f"{found.upper:<10.5g} {100 * found.gap:6.2f} % {100 * one.gap:5.0f} %  {first:5.2f} s {seconds:6.1f} s "
            f"{peak_megabytes():5.0f} MB {ratio:9s} {said}{'' if agrees else '  CONTRADICTION'}",
            flush=True,
        )
    return wrong


def table(dimensions: tuple[int, ...], seconds: float, draws: int) -> int:
    """Squared error over d: known mechanisms, all proved, the certified law and the lower bound for every law."""
    wrong = 0
    for epsilon, delta in PAIRS:
        print(f"\n(ε, δ) = ({epsilon:g}, {delta:g}), squared error")
        print("  d  Gaussian    ℓ2 mech.    gen. Gamma  (q, k)           certified   lower       gap      proofs")
        for d in dimensions:
            privacy, loss = Privacy(epsilon, delta), parse_loss("squared")
            began = time.process_time()
            rows = {one.key: one for one in mechanisms(d, privacy, loss)}
            took = time.process_time() - began
            found = solve(IsotropicProblem(d, privacy, loss), SolverSettings(gap=TABLE_GAP, time_limit=seconds))
            said, agrees = confirmed(found, draws)
            known = min(one.loss for one in rows.values())
            agrees = agrees and found.lower <= known and all(not one.estimated for one in rows.values())
            wrong += not agrees
            best = rows["generalised-gamma"].parameters
            shape = f"({best.get('exponent', 1.0):.3f}, {best.get('k', 0.0):.2f})"
            values = (rows[key].loss for key in ("gaussian", "l2-delta", "generalised-gamma"))
            gaussian, spread, gamma = (f"{value:<11.5g}" for value in values)
            print(
                f"{d:4d} {gaussian} {spread} {gamma} {shape:16s} {found.upper:<11.5g} {found.lower:<11.5g} "
                f"{100 * found.gap:5.2f} %  {took:.2f} s  {said}{'' if agrees else '  CONTRADICTION'}",
                flush=True,
            )
    return wrong


def in_the_plane(resolution: int) -> int:
    """E‖X‖₁ for d = 2: an audited radial law above, bounds for every law below; the number of contradictions."""
    wrong = 0
    print("\n(ε, δ)      radial   E|X| ≥   on a grid ≥  (points a sensitivity)  seconds  printed upper, lower")
    for epsilon, delta in FIGURE_6:
        found = figure_6(Privacy(epsilon, delta))
        began = time.process_time()
        lower = taxicab_lower(Privacy(epsilon, delta), resolution)
        seconds, printed = time.process_time() - began, FIGURE_6[epsilon, delta]
        wrong += not max(lower, found.lower) <= found.radial
        print(
            f"({epsilon:g}, {delta:g})   {found.radial:.5f}  {found.norm_lower:.5f}  {lower:.5f}      ({resolution})"
            f"{seconds:25.1f} s  {printed.upper}, {printed.lower}",
            flush=True,
        )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a tenth of the time, every third bracket")
    parser.add_argument("--only", choices=("brackets", "table", "plane"))
    parser.add_argument("--resolution", type=int, default=RESOLUTIONS[-1], help="of grids in the plane")
    parser.add_argument("--between", nargs=2, type=int, default=(1, 1000), metavar="D", help="dimensions")
    parser.add_argument("--share", type=float, default=1.0, help="of the time limits")
    parser.add_argument("--draws", type=int, default=200_000, help="vectors per estimate of δ")
    options = parser.parse_args()
    time.perf_counter = time.process_time  # the clock of every time limit
    share = SHORT if options.short else options.share
    low, high = options.between
    wrong = 0
    if options.only in (None, "brackets"):
        chosen = [one for one in BRACKETS if low <= one.dimension <= high]
        wrong += brackets(chosen[::FEWER] if options.short else chosen, share, options.draws)
    if options.only in (None, "table"):
        dimensions = tuple(d for d in DIMENSIONS if low <= d <= high)
        wrong += table(dimensions, share * TABLE_SECONDS, options.draws)
    if options.only == "plane":
        wrong += in_the_plane(options.resolution)
    print(f"\npeak memory {peak_megabytes():.0f} MB; {wrong} contradictions")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
