"""Lower bounds by curves on ever finer nodes, from the worst events of the best known law."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from ..privacy import Privacy
from .ascent import Ascent, first_levels
from .closed_forms import PowerLaw
from .curves import Curve
from .problem import Array, RadialLoss
from .proof import Judge, Proved

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

RATE = 0.06
"""First rate, as a share of loss/δ: about how fast the logarithm of the best loss falls in that of δ."""

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

    def _nodes(self) -> Array:
        law, d, n = self.law, self.dimension, self._count
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
        nodes = nodes[nodes <= reach]
        kept: Array = nodes[np.concatenate([[True], np.diff(nodes) > APART])]
        return kept

    def _start(self) -> Curve:
        nodes, law = self._nodes(), self.law
        if self.curve is not None:
            levels = np.interp(nodes, self.curve.nodes, self.curve.levels)
            return Curve(1.0, nodes, np.minimum(levels, 2 * np.minimum(nodes, 1.0)), self.curve.rate)
        reach = (nodes**law.q + self.privacy.epsilon * law.sigma**law.q) ** (1 / law.q)
        return Curve(1.0, nodes, first_levels(1.0, nodes, reach), RATE * self.scale / self.privacy.delta)

    def stage(
        self, tolerance: float, deadline: float, stop: Callable[[], bool]
    ) -> Iterator[tuple[Proved, list[Curve]]]:
        """What is proved on the next nodes, round by round."""
        privacy = self.privacy
        ascent = Ascent(
            self.dimension, privacy.amplification, privacy.delta, self.loss, self.scale, [self._start()]
        )  # fmt: skip
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
