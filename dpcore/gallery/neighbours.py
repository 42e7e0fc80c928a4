"""Who counts as a neighbour: disjoint cells of one table, each counted with noise of its own.

A row lies in one cell. Under *unbounded* neighbours a row is added or removed and one count changes by 1; under
*bounded* neighbours a row is replaced, may move, and then two counts change by 1. Noise P(j) ∝ e^(−ε_i |j|) on cell i
makes the privacy loss of a count that changes by 1 take two values only, so everything here is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from .._validate import in_range
from ..errors import InputError
from ..privacy import EPSILON_RANGE

RELATIONS = ("unbounded", "bounded")
MOST_CELLS = 12


def budgets(epsilons: Sequence[float]) -> tuple[float, ...]:
    """The cells' own ε, checked: 1 to 12 numbers in the range of `dpcore.privacy`."""
    if not 1 <= len(epsilons) <= MOST_CELLS:
        raise InputError("budgets", f"{len(epsilons)} cells", f"1 to {MOST_CELLS} cells")
    return tuple(in_range(*EPSILON_RANGE, epsilon=value) for value in epsilons)


def touched(cells: int, relation: str) -> list[tuple[int, ...]]:
    """Sets of cells whose counts a neighbour may change: one cell, or two between which a row moves.

    A replaced row that stays in its cell changes no count: the empty set.
    """
    if relation not in RELATIONS:
        raise InputError("relation", relation, " or ".join(RELATIONS))
    if relation == "unbounded":
        return [(cell,) for cell in range(cells)]
    return list(combinations(range(cells), 2)) or [()]


def loss_law(epsilons: Sequence[float], cells: Sequence[int]) -> tuple[tuple[float, float], ...]:
    """(privacy loss ln P(z)/P′(z), its probability), increasing, when the counts of some cells change by 1.

    One count c against c ± 1: half the line up to c has the loss ε, the rest −ε; the first has probability
    e^ε/(1 + e^ε). Each changed cell is thus a randomised response, and independent cells add their losses.
    """
    law = {0.0: 1.0}
    for cell in cells:
        epsilon = epsilons[cell]
        truth = 1 / (1 + math.exp(-epsilon))
        grown: dict[float, float] = {}
        for loss, mass in law.items():
            for step, share in ((epsilon, truth), (-epsilon, 1 - truth)):
                grown[loss + step] = grown.get(loss + step, 0.0) + mass * share
        law = grown
    return tuple(sorted(law.items()))


def exact_epsilon(epsilons: Sequence[float], relation: str) -> float:
    """The least ε for which all counts together are ε-DP.

    Unbounded: the largest ε_i, as parallel composition says [Awan, Prop. 4.3]. Bounded: the two largest together, and
    0 for a single cell, whose count no replacement changes.
    """
    return max(sum(epsilons[cell] for cell in cells) for cells in touched(len(epsilons), relation))


def exact_delta(epsilons: Sequence[float], relation: str, epsilon: float) -> float:
    """The least δ at a given ε: the largest Σ P(z) − e^ε P′(z) over pairs of neighbours, floating point."""
    laws = (loss_law(epsilons, cells) for cells in touched(len(epsilons), relation))
    return max(math.fsum(mass * -math.expm1(min(epsilon - loss, 0.0)) for loss, mass in law) for law in laws)


def sizes_epsilon(cells: int, relation: str) -> float:
    """The least ε of publishing the exact number of rows of every cell [Awan, Remark 4.3].

    For one cell of *known* size that is 0-DP; for the cells of a table it is not private at all, except for a
    single cell under bounded neighbours.
    """
    return 0.0 if touched(cells, relation) == [()] else math.inf
