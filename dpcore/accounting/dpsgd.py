"""Privacy of noisy stochastic gradient descent: clipped gradients of a Poisson sample, summed, with Gaussian noise.

Every step is the Gaussian mechanism on a sample, so training is a composition of sampled Gaussians [Abadi et al. 2016;
Awan, Alg. 7 and Rem. 11.6]. Neighbours differ by one person more or less; noise is in units of the clipping norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .._validate import above, in_range, whole
from ..errors import InputError
from .mechanisms import MOST_USES, Release, parse_mechanism
from .subsampling import Sampling
from .truth import FINE, Band, Truth

NOISE_RANGE = (0.3, 1000.0)
RATE_RANGE = (1e-6, 1.0)
DELTA_RANGE = (1e-15, 0.5)
EPSILON_RANGE = (0.01, 50.0)

CLOSE = 1 << 15
"""Grid points while noise is looked for."""


@dataclass(frozen=True)
class Training:
    """rate : probability of a person to be in a step's sample.
    noise : standard deviation over the clipping norm.
    steps : how many.
    """

    rate: float
    noise: float
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", in_range(*RATE_RANGE, rate=self.rate))
        object.__setattr__(self, "noise", in_range(*NOISE_RANGE, noise=self.noise))
        object.__setattr__(self, "steps", whole(1, MOST_USES, steps=self.steps))

    @classmethod
    def epochs(cls, people: int, batch: float, epochs: float, noise: float) -> Training:
        """From the sizes a trainer knows: the rate is batch/people, steps are epochs·people/batch, rounded up."""
        people = whole(1, 10**10, people=people)
        rate = above(0, people, batch=batch) / people
        return cls(rate, noise, math.ceil(above(0, 1e6, epochs=epochs) / rate * (1 - 1e-12)))

    @property
    def release(self) -> Release:
        """The composition that training is."""
        return Release(parse_mechanism(f"gaussian:sigma={self.noise!r}"), self.steps, Sampling("poisson", self.rate))

    def epsilon(self, delta: float, *, points: int = FINE) -> Band:
        """The least ε at δ, between two proved bounds."""
        delta = in_range(*DELTA_RANGE, delta=delta)
        return Truth((self.release,), points=points, delta=delta).epsilon(delta)


def noise_for(
    epsilon: float, delta: float, *, rate: float, steps: int, progress: Callable[[float], bool] | None = None
) -> float:
    """The least noise, to about a thousandth, with which training is (ε, δ)-DP; certified at the result.

    progress : is told the least noise certified so far (∞: none yet) after every step, and stops the search by
        returning True; that noise is then the answer.

    Raises
    ------
    InputError : no noise in NOISE_RANGE is enough.
    """
    epsilon, delta = in_range(*EPSILON_RANGE, epsilon=epsilon), in_range(*DELTA_RANGE, delta=delta)
    from scipy.optimize import brentq

    enough = [math.inf]

    def spent(noise: float) -> float:
        release = Training(rate, noise, steps).release
        found = Truth((release,), points=CLOSE, delta=delta).epsilon_upper(delta)
        if found <= epsilon:
            enough.append(noise)
        if progress is not None and progress(min(enough)):
            raise _Stopped
        return found

    try:
        low, high = NOISE_RANGE[0], 1.0
        while spent(high) > epsilon:
            low, high = high, 2 * high
            if high > NOISE_RANGE[1]:
                raise InputError("epsilon", epsilon, f"a larger ε: noise of {NOISE_RANGE[1]:g} is not enough")
        if low == NOISE_RANGE[0] and spent(low) <= epsilon:
            return low
        excess = lambda x: math.log(max(spent(math.exp(x)), 1e-9) / epsilon)  # noqa: E731
        found = math.exp(brentq(excess, math.log(low), math.log(high), xtol=2e-4))
        while spent(found) > epsilon:
            found *= 1.0002
    except _Stopped:
        pass
    return min(enough)


class _Stopped(Exception):
    """The search was asked to stop."""
