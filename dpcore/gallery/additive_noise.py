"""Four noises for one count: Laplace, geometric, staircase, Gaussian [Awan, §3.3, §9.3; GRS09; GV14; BW18]."""

from __future__ import annotations

from functools import lru_cache

from ..loss import Loss, parse_loss
from ..noise.base import Noise
from ..noise.discrete import Geometric
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.staircase import Staircase
from ..privacy import Privacy

NAMES = {"laplace": "Laplace", "geometric": "geometric", "staircase": "staircase", "gaussian": "Gaussian"}


def laws(epsilon: float, delta: float, loss: str = "l1") -> dict[str, Noise]:
    """The noises for a query of sensitivity 1 by name, each the best of its family.

    epsilon > 0: what the first three promise with δ = 0.   delta > 0: what the Gaussian promises besides ε.
    loss : "l1" or "l2", for which the staircase takes its shape.
    """
    pure = Privacy(epsilon, 0.0)
    return {
        "laplace": Laplace.calibrate(pure, 1.0),
        "geometric": Geometric.calibrate(pure, 1),
        "staircase": _staircase(epsilon, loss),
        "gaussian": Gaussian.calibrate(Privacy(epsilon, delta), 1.0),
    }


@lru_cache(maxsize=256)
def _staircase(epsilon: float, loss: str) -> Staircase:
    return Staircase.calibrate(Privacy(epsilon, 0.0), 1.0, parse_loss(loss))


def errors(epsilon: float, delta: float, loss: str = "l1") -> dict[str, float]:
    """Exact expected losses of `laws`: mean absolute or mean squared errors."""
    measure: Loss = parse_loss(loss)
    return {name: noise.expected_loss(measure) for name, noise in laws(epsilon, delta, loss).items()}
