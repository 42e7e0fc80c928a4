"""Lower bounds by curves on ever finer nodes, from the worst events of the best known law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import special

from ..privacy import Privacy
from .ascent import Ascent, first_levels
from .closed_forms import PowerLaw
from .curves import Curve
from .geometry import beta_law
from .problem import Array, RadialLoss
from .proof import Judge, Proved
from .start import best_known

FIRST_NODES, MOST_NODES = 40, 400
"""Nodes where most of the law is, doubled from one stage to the next."""

INSIDE, NEAR = 4, 8
"""A share 1/INSIDE of them in addition within the law's core, and 1/NEAR near 0."""

NEAREST = 1.25
"""Radii below which nodes are near 0."""

CORE = 1e-8
"""Probability within the core."""

BEYOND = 0.02
"""Share of δ that the law has beyond the last node."""

LEAST_RATE, MORE = 0.02, 1.05
"""The first rate is how fast the known law's loss falls in δ, seen at so many times δ; the least one as a share of
loss/δ."""

LONGER, FARTHEST = 1.1, 100.0
"""Steps in which the end is looked for, and where that ends, in multiples of the law's reach."""

ENOUGH, HALF = 1.2, 0.5
"""Probabilities of the first events near 0: so many times what F needs, this at most."""

PROOFS = 4
"""In one stage, each with new radii from the one before."""

AGAIN = 0.01
"""Trust region with which a stage goes on when radii have come in."""

APART = 1e-6
"""Nodes are at least so far apart."""

SPLIT = 1e-4
"""Relative distance of nodes from where a loss jumps."""


class CurveSearch:
    """Stages of one problem in units of the sensitivity, from two dimensions on.

    law : a known law, whose worst events it starts from.   curve : the last one.   slow : the last stage gained little.
    """

    def __init__(self, law: PowerLaw, privacy: Privacy, loss: RadialLoss) -> None:
        self.law, self.dimension, self.privacy, self.loss = law, law.dimension, privacy, loss
        self.scale = law.loss(loss)
        self.curve: Curve | None = None
        self.slow = False
        self._count, self._last = FIRST_NODES, 0.0

    @property
    def finished(self) -> bool:
        return self._count > MOST_NODES

    def nodes(self, n: int) -> Array:
        """About n radii where most of the law is, and some near 0, near a jump of the loss and beyond."""
        law, d = self.law, self.dimension
        reach, core = (
            float(law.sigma * tail(d / law.q, share) ** (1 / law.q))
            for tail, share in ((special.gammainccinv, BEYOND * self.privacy.delta), (special.gammaincinv, CORE))
        )
        kink = max(0.0, 1 - self.privacy.epsilon * law.sigma**law.q) ** (1 / law.q)
        near = np.append(np.linspace(0.0, NEAREST, max(6, n // NEAR)), kink)
        jump = (self.loss.beyond or 0.0) * np.array([1 - SPLIT, 1 + SPLIT])
        nodes = np.unique(
            np.concatenate([[0.0], near, jump, np.linspace(core, reach, n), np.linspace(0.0, core, n // INSIDE)])
        )
        end = self._end(reach)
        nodes = np.concatenate([nodes[nodes <= reach], np.geomspace(reach, end, n // INSIDE)[1:]])
        kept: Array = nodes[np.concatenate([[True], np.diff(nodes) > APART])]
        return kept

    def stairs(self, n: int) -> Array:
        """About n radii for a loss that jumps: on both sides of the ends of the shells of `start.stepped`, and between
        them; as `nodes` where there are too many."""
        law, end, step = self.law, float(self.nodes(FIRST_NODES)[-1]), self.privacy.epsilon
        level, last = ((r / law.sigma) ** law.q for r in (self.loss.beyond or 0.0, end))
        if step <= 0 or last / step > n:
            return self.nodes(n)
        heights = math.fmod(level, step) + step * np.arange(math.ceil(last / step) + 1)
        edges = law.sigma * heights ** (1 / law.q)
        edges = edges[(edges > APART) & (edges < end)]
        whole = np.concatenate([[0.0], edges, [end]])
        parts = max(2, n // len(whole))
        between = (whole[:-1, None] + np.diff(whole)[:, None] * np.arange(1, parts) / parts).ravel()
        nodes = np.unique(np.concatenate([[0.0, end], edges * (1 - SPLIT), edges * (1 + SPLIT), between]))
        kept: Array = nodes[np.concatenate([[True], np.diff(nodes) > APART])]
        return kept

    def _end(self, reach: float) -> float:
        """Where the events may end: what they add to F before is less than what the loss has grown by. It is beyond the
        reach where δ is large, since events then have large probabilities everywhere."""
        end, rate = reach, self._first_rate()
        while end < FARTHEST * reach:
            level = end + 1 - float(self._moved(np.asarray(end)))
            weight = float(beta_law(self.dimension, level * (2 * (end + 1) - level) / (4 * end)))
            if float(self.loss(end)) - self.scale >= self.privacy.amplification * rate * weight:
                return end
            end *= LONGER
        return reach

    def _moved(self, radius: Array) -> Array:
        """Where the known law's density is e^ε times smaller than at a radius."""
        law = self.law
        moved: Array = (radius**law.q + self.privacy.epsilon * law.sigma**law.q) ** (1 / law.q)
        return moved

    def _starts(self) -> list[Curve]:
        """The last curve on finer nodes, or curves to begin with."""
        nodes = self.nodes(self._count)
        if self.curve is not None:
            levels = np.interp(nodes, self.curve.nodes, self.curve.levels)
            return [Curve(1.0, nodes, np.minimum(levels, 2 * np.minimum(nodes, 1.0)), self.curve.rate)]
        rate = self._first_rate()
        levels = first_levels(1.0, nodes, self._moved(nodes))
        raised = np.where(self.loss(nodes) < self.scale, np.maximum(levels, self._least(nodes, rate)), levels)
        return [Curve(1.0, nodes, levels, rate), Curve(1.0, nodes, raised, rate)]

    def _least(self, nodes: Array, rate: float) -> Array:
        """Levels of events with about the probability that F needs where the loss is small. Near 0 the known law's
        events have none at large δ, and F would be 0 there."""
        wanted = min(HALF, ENOUGH * (self.scale / rate + self.privacy.delta))
        k = (self.dimension - 1) / 2
        share = float(special.betaincinv(k, k, wanted))
        whole = nodes + 1
        levels: Array = 4 * nodes * share / (whole + np.sqrt(whole * whole - 4 * nodes * share))
        return levels

    def _first_rate(self) -> float:
        """About −d loss/dδ of the best law."""
        delta = self.privacy.delta
        more = min(MORE * delta, 0.5 * (1 + delta))
        cheaper = best_known(self.dimension, replace(self.privacy, delta=more), self.loss).loss(self.loss)
        return max((self.scale - cheaper) / (more - delta), LEAST_RATE * self.scale / delta)

    def stage(
        self, tolerance: float, deadline: float, stop: Callable[[], bool]
    ) -> Iterator[tuple[Proved, list[Curve]]]:
        """What is proved on the next nodes, round by round."""
        privacy = self.privacy
        ascents = [
            Ascent(self.dimension, privacy.amplification, privacy.delta, self.loss, self.scale, [one])
            for one in self._starts()
        ]
        ascent = max(ascents, key=lambda one: one.value)
        self._count *= 2
        for _ in range(PROOFS):
            curves = ascent.run(deadline, stop)
            judge = Judge(self.dimension, privacy.epsilon, privacy.delta, self.loss, curves)
            proved = judge.prove(tolerance, deadline, stop)
            yield proved, curves
            if ascent.value - proved.lower <= 2.5 * tolerance:
                break
            ascent.add(proved.worst)
            ascent.trust = max(ascent.trust, AGAIN)
        self.curve = ascent.curves[0]
        self.slow = ascent.value - self._last <= 2 * tolerance
        self._last = ascent.value
