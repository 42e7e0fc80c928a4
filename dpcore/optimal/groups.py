"""Coarser problems whose lower bounds hold: group privacy [method: groups].

A law that is (ε, δ)-DP for shifts up to D is (mε, δ(e^{mε} − 1)/(e^ε − 1))-DP for shifts up to mD. So it is a law of
the problem with that sensitivity and that privacy, all else the same, and what is proved below that problem's value is
proved below this one's. At small ε, where one cell per sensitivity makes programs too large, little is lost: a share of
about (mε)²/6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._validate import decimal
from ..errors import InfeasibleError, InputError
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..privacy import DELTA_RANGE, EPSILON_RANGE, SENSITIVITY_RANGE, Privacy
from ..privacy_profile import PairList
from ..problem import NoiseProblem
from .chain import applies, chain_proof, classes_proof
from .lower import CELL, lower_step
from .monotone_chain import applies as monotone_chain_applies
from .monotone_chain import monotone_chain
from .step import Limits, Proof, Step, Window

SMALL = 0.3
"""Largest ε at which groups are of use, were they of one."""

COARSEST = 0.1
"""Largest mε that is tried."""

NODES = 24
"""Least number of sensitivities to the half-width of truncated Laplace noise in a coarser problem."""

MOST_NODES = 20_000
"""Longest chain."""

FEW_CLASSES, MOST_CLASSES, FEW_FINE, MOST_FINE = 16, 256, 50_000, 130_000
"""Chains in classes: these at first, on so many nodes at most for an answer before any program, so many at most once
groups are of one, and most nodes."""

MOST_CELLS = 1500
"""Largest program."""

MOST_LABELS = 160_000
"""Most labels of a monotone law's chain."""

MOST_OPEN, MOST_ENDED = 4, 50
"""Its most cells per sensitivity, on the whole line and where the support ends."""

NEAR = 0.15
"""The peak is searched for within so many half-widths of truncated Laplace noise of the middle of the best law."""

BEYOND = 8.0
"""Logarithms of what is lost where weights are cut off."""

FARTHEST = 3.0
"""Half-widths of truncated Laplace noise between the loss's minimiser and where a chain ends, beyond that."""

ROUNDING = 1e-14
"""Relative; more than what two exponentials of numbers up to 30, products and a quotient err by."""


def group_delta(privacy: Privacy, m: int) -> float:
    """δ(1 + e^ε + … + e^((m−1)ε)), rounded up: what is lost from one person to the next, m times over."""
    many = math.expm1(m * privacy.epsilon) / math.expm1(privacy.epsilon) if privacy.epsilon else m
    return privacy.delta * many * (1 + ROUNDING)


def grouped(pairs: tuple[Privacy, ...], m: int) -> tuple[Privacy, ...]:
    """What laws private at these pairs keep for groups of m, rounded up; pairs of which nothing is left are dropped."""
    found = []
    for pair in pairs:
        epsilon = math.nextafter(m * pair.epsilon, math.inf) if pair.epsilon else 0.0
        if epsilon > EPSILON_RANGE[1]:
            continue
        delta = group_delta(pair, m)
        if delta <= DELTA_RANGE[1]:
            found.append(Privacy(epsilon, delta))
    return tuple(found)


def coarser(problem: NoiseProblem, m: int) -> NoiseProblem | None:
    """The problem of groups of m, its sensitivity rounded down; None where that says nothing. For m = 1 the problem
    itself; not for whole curves."""
    if m == 1:
        return problem
    exact = m * decimal(problem.sensitivity)
    pairs, sensitivity = grouped(problem.privacies, m), float(exact)
    if decimal(sensitivity) > exact:
        sensitivity = math.nextafter(sensitivity, 0.0)
    if not pairs or sensitivity > SENSITIVITY_RANGE[1]:
        return None
    try:
        several = PairList(pairs) if len(pairs) > 1 else None
        return replace(problem, privacy=pairs[0], sensitivity=sensitivity, second=None, profile=several)
    except InputError:  # outside the ranges
        return None


def sizes(problem: NoiseProblem) -> Iterator[int]:
    """Sizes of groups to try, each about half of the one before, down to 1."""
    joint = problem.joint
    reach = joint.truncation() / NODES
    m = math.floor(min(reach, COARSEST / joint.epsilon) if joint.epsilon else reach)
    while m > 1:
        yield m
        m //= 2
    yield 1


@dataclass(frozen=True)
class GroupProof:
    """What proves a lower bound for groups of m; the step, where a program found it."""

    m: int
    proof: Proof
    cells: int
    pairs: int
    step: Step | None = None

    def lower(self, problem: NoiseProblem) -> float:
        """The bound, from the referee, for a problem that differs in its pairs (ε, δ) only."""
        coarse = coarser(problem, self.m)
        return self.proof.lower(*coarse.privacies) if coarse is not None else -math.inf


def group_proofs(
    problem: NoiseProblem,
    law: tuple[float, float],
    limits: Limits,
    middle: float | None = None,
    level: tuple[float, float] = (0.0, 0.0),
    *,
    programs: bool = True,
) -> Iterator[GroupProof]:
    """Proofs for groups, from large ones to small ones, chains first, then linear programs if asked for. law : where a
    nearly optimal law begins and ends, and by default in the middle of which it has its median, in the query's unit.
    level : where it is level, if it is monotone."""
    if problem.joint.epsilon > SMALL:
        return
    if applies(problem):
        yield from _chains(problem, law, middle, MOST_CLASSES if programs else FEW_CLASSES)
    elif programs and monotone_chain_applies(problem):
        yield from _monotone_chain(problem, law, level)
    if programs and (problem.folds or problem.monotone or problem.whole_line):
        for m in sizes(problem):
            coarse = coarser(problem, m)
            window = None if coarse is None else law_window(coarse, law)
            if coarse is None or window is None or (window.right - window.left) > MOST_CELLS * (1 + problem.folds):
                continue
            step = lower_step(coarse, 1, window, None, limits)
            if step.proof is not None:
                yield GroupProof(m, step.proof, step.cells, step.pairs, step)


def lattice_bounds(problem: NoiseProblem, law: tuple[float, float]) -> Iterator[float]:
    """Lower bounds of chains for a query with a granularity: they need the shift by groups only, if it is a multiple of
    the step as the decimals say."""
    steps = problem.lattice_sensitivity * decimal(problem.lattice_step)
    if problem.joint.epsilon > SMALL or steps != decimal(problem.sensitivity):
        return
    try:
        line = replace(problem, granularity=None)
    except InfeasibleError:  # laws on the line need more room
        return
    if not applies(line):
        return
    for found in _chains(line, law, classes=0):
        coarse = coarser(line, found.m)
        if coarse is not None and decimal(coarse.sensitivity) == found.m * steps:
            yield found.lower(line)


def _chains(
    problem: NoiseProblem, law: tuple[float, float], middle: float | None = None, classes: int = MOST_CLASSES
) -> Iterator[GroupProof]:
    """classes : so many at most; up to FEW_CLASSES with the chain's largest weights as they are."""
    peak = 0.5 * (law[0] + law[1]) if middle is None else middle
    near = NEAR * problem.joint.truncation() * problem.sensitivity
    ended, thorough = any(map(math.isfinite, problem.support)) and not problem.folds, classes > FEW_CLASSES
    for m in sizes(problem):
        coarse = coarser(problem, m)
        if coarse is None:
            continue
        D, window = coarse.sensitivity, law_window(coarse, law)
        width = window.right - window.left
        if width > MOST_NODES * (1 + problem.folds):
            return
        chain = chain_proof(coarse, window, peak / D, 2 + near / D)
        peak, near = chain.peak * D, 2 * D
        yield GroupProof(m, chain.proof, chain.nodes, 0)
        most = min((MOST_FINE if thorough else FEW_FINE) / width, classes if m == 1 else min(classes, FEW_CLASSES))
        for k in _class_counts(most) if ended else ():
            chain = classes_proof(coarse, window, chain, k, searched=thorough)
            yield GroupProof(m, chain.proof, chain.nodes, 0)


def _class_counts(most: float) -> list[int]:
    """FEW_CLASSES and the largest power of 2 that fits, if they do."""
    if most < FEW_CLASSES:
        return []
    return sorted({FEW_CLASSES, 1 << int(math.log2(most))})


def _monotone_chain(
    problem: NoiseProblem, law: tuple[float, float], level: tuple[float, float]
) -> Iterator[GroupProof]:
    """Of the mirror image where a law is level on the right of 0. Groups lose at first order here, so they are as small
    as fits."""
    if level[1] > -level[0]:
        law, level = (-law[1], -law[0]), (-level[1], -level[0])
        problem = replace(problem, loss=problem.loss.mirrored, support=(-problem.support[1], -problem.support[0]))
    epsilon, D = problem.joint.epsilon, problem.sensitivity
    margin = 1 + min(BEYOND / epsilon if epsilon else math.inf, 3 * problem.joint.truncation())
    wide = (law[1] - law[0]) / D + 2 * margin
    m = math.ceil(CELL * wide / MOST_LABELS)
    coarse = coarser(problem, m)
    if coarse is None:
        return
    window = Window((law[0] / D - margin) / m, (law[1] / D + margin) / m)
    chain = monotone_chain(coarse, window, _labels(coarse, MOST_LABELS * m / wide), level[0] / coarse.sensitivity)
    if chain is not None:
        yield GroupProof(m, chain.proof, chain.nodes, 0)


def _labels(problem: NoiseProblem, most: float) -> int:
    """Labels per sensitivity, with whole cells as near as may be to the ends of the support."""
    ends = [abs(decimal(end)) / decimal(problem.sensitivity) for end in problem.support if math.isfinite(end)]

    def beyond(cells: int) -> tuple[float, int]:
        return max((float(-(end * cells) % 1) / cells for end in ends), default=0.0), -cells

    fit = range(1, max(1, min(MOST_ENDED if ends else MOST_OPEN, math.floor(most / CELL))) + 1)
    return CELL * min(fit, key=beyond)


def level_stretch(noise: Noise, epsilon: float) -> tuple[float, float]:
    """Where a law's density has not fallen by half a step from its highest value; (0, 0) where there are no steps."""
    if not isinstance(noise, PiecewiseNoise):
        return 0.0, 0.0
    density = noise.masses / np.diff(noise.edges)
    high = np.flatnonzero(density >= density.max() * math.exp(-0.5 * epsilon))
    return float(noise.edges[high[0]]), float(noise.edges[high[-1] + 1])


def law_window(problem: NoiseProblem, law: tuple[float, float]) -> Window:
    """What the law covers, not too far from its middle and the loss's minimiser, and as much on either side as weights
    take to vanish."""
    reach, epsilon, D = problem.joint.truncation(), problem.joint.epsilon, problem.sensitivity
    best, middle = problem.paid_loss.minimiser(*problem.support)[0] / D, 0.5 * (law[0] + law[1]) / D
    far, margin = FARTHEST * reach, 1 + min(BEYOND / epsilon if epsilon else math.inf, 3 * reach)
    left, right = min(best, middle) - far, max(best, middle) + far
    return Window(max(law[0] / D, left) - margin, min(law[1] / D, right) + margin)
