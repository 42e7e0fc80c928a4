"""Independent noise on every coordinate, from one-dimensional optima, for vectors under ℓ2-sensitivity 1.

The privacy of d independent copies of a law on the line depends on how a shift of length 1 is spread over the
coordinates. Densities that fall from 0 on both sides are the more private on a coordinate the smaller its shift is, at
every ε (docs/isotropic.md, "One shift"), and products keep the order [ZDW22, Thm. 10]. So shifts are sorted into
levels, each counted as the largest of its level; the accountant composes every way to fill the levels that a length of
1 allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from ..accounting.loss_grids import LossGrid, on_grid
from ..accounting.losses import compose
from ..accounting.pairs import pair
from ..loss import parse_loss
from ..noise.piecewise import PiecewiseNoise
from ..optimal import solve
from ..privacy import Privacy
from ..problem import NoiseProblem, SolverSettings
from ..search import bisection

MOST_WAYS = 400
"""Ways to fill the levels: their number sets how fine the levels are."""

FINENESS = (24, 12, 8, 6, 4, 3, 2, 1)
"""Levels that are tried, evenly spread over squares of shifts."""

POINTS, UNSEEN = 2000, 1e-18
"""Grid points up to ε, and probability that counts as an infinite loss."""

SHARES_OF_EPSILON, SHARES_OF_DELTA = (0.5, 0.7, 0.85, 1.0), (0.3, 0.6, 0.9)
"""Shares of ε and of δ at which laws on the line are tried."""

SOLVED_GAP, SOLVED_SECONDS = 0.01, 2.0
"""Gap and time of each solved law on the line."""

CLOSE = 1e-4
"""Relative accuracy of the scale."""

LARGEST_DIMENSION = 20


@dataclass(frozen=True)
class Coordinates:
    """scale times independent draws of `noise`, the optimum on the line at (ε, δ) = `of`.

    loss : E Σ |X_i|^p, rounded up.   delta_upper : over all shifts of ℓ2-length up to 1.
    """

    noise: PiecewiseNoise
    of: Privacy
    scale: float
    loss: float
    delta_upper: float


def delta_upper(noise: PiecewiseNoise, dimension: int, epsilon: float, shift: float = 1.0) -> float:
    """δ(ε) of independent copies over all shifts of ℓ2-length up to `shift`, rounded up; the density falls from 0."""
    levels, ways = _covering(dimension)
    step = epsilon / POINTS
    grids = [_grid(noise, shift * math.sqrt(level) * (1 + 1e-12), step) for level in levels]
    return max(
        compose([(grids[i], n) for i, n in enumerate(way) if n], epsilon=epsilon).delta(epsilon) for way in ways
    )  # fmt: skip


@lru_cache(maxsize=256)
def _grid(noise: PiecewiseNoise, shift: float, step: float) -> LossGrid:
    return on_grid(pair(noise, shift=shift), step, upper=True, unseen=UNSEEN)


@lru_cache(maxsize=32)
def _covering(dimension: int) -> tuple[list[float], list[tuple[int, ...]]]:
    """(squares of shifts at the upper ends of levels, falling; how many coordinates are in each of them).

    n_j coordinates in level j have squares above its lower end, so Σ n_j·lower_j < 1; the last level reaches down to 0.
    Ways below another one are left out: a coordinate moved to a higher level is less private.
    """
    for count in FINENESS:
        ends = [1 - j / count for j in range(count + 1)]
        ways = list(_fillings(dimension, ends, MOST_WAYS))
        if len(ways) <= MOST_WAYS:
            return ends[:-1], ways
    raise AssertionError("one level can be filled in one way only")


def _fillings(dimension: int, ends: list[float], most: int) -> Iterator[tuple[int, ...]]:
    """At most most + 1 of the maximal ways."""
    last = len(ends) - 2

    def filled(level: int, left: int, room: float) -> Iterator[tuple[int, ...]]:
        if level == last:
            yield (left,)
            return
        lower = ends[level + 1]
        for n in range(min(left, math.floor(room / lower - 1e-9) if room > 0 else 0), -1, -1):
            for rest in filled(level + 1, left - n, room - n * lower):
                yield (n, *rest)

    seen: list[tuple[int, ...]] = []
    for way in filled(0, dimension, 1.0 + 1e-9):
        higher = tuple(accumulate(way))  # coordinates in a level or above
        if not any(all(a >= b for a, b in zip(other, higher)) for other in seen):
            seen.append(higher)
            yield way
            if len(seen) > most:
                return


def optimum(dimension: int, privacy: Privacy, loss: str = "l1") -> Coordinates:
    """The best of a few one-dimensional optima (symmetric, falling from 0), scaled until all coordinates together are
    (ε, δ)-DP. loss : l1 or l2, summed over coordinates; δ > 0, ε > 0.

    Raises
    ------
    ValueError : more than `LARGEST_DIMENSION` coordinates.
    """
    if dimension > LARGEST_DIMENSION:
        raise ValueError(f"at most {LARGEST_DIMENSION} coordinates")
    best: Coordinates | None = None
    power = 1 if loss == "l1" else 2
    for of in (Privacy(e * privacy.epsilon, d * privacy.delta) for e in SHARES_OF_EPSILON for d in SHARES_OF_DELTA):
        problem = NoiseProblem(of, 1.0, parse_loss(loss), symmetric=True, monotone=True)
        found = solve(problem, SolverSettings(gap=SOLVED_GAP, time_limit=SOLVED_SECONDS))
        noise, alone = found.noise, found.certificate.upper
        if not isinstance(noise, PiecewiseNoise):
            continue

        def meets(scale: float, noise: PiecewiseNoise = noise) -> bool:
            return delta_upper(noise, dimension, privacy.epsilon, 1 / scale) <= privacy.delta

        wide = 1.0
        while not meets(wide) and wide < 2**10:
            wide *= 2
        if wide == 2**10 or (best is not None and dimension * alone * (wide / 2) ** power > best.loss):
            continue
        scale = bisection(meets, wide, wide / 2, near=lambda good, bad: good - bad <= CLOSE * good)[0]
        cost = dimension * alone * scale**power * (1 + 1e-12)
        if best is None or cost < best.loss:
            best = Coordinates(noise, of, scale, cost, delta_upper(noise, dimension, privacy.epsilon, 1 / scale))
    if best is None:
        raise ValueError("no law on the line was found")
    return best
