"""What is composed: private mechanisms by their parameters, how often each is used, and on which sample of the data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from .._validate import above, in_range, whole
from ..audit import delta_upper
from ..errors import InputError
from ..loss import absolute
from ..mechanisms import INTEGER_MECHANISMS, LARGEST_INTEGER_SENSITIVITY, MECHANISMS
from ..noise import Gaussian, Laplace, Noise, Staircase
from ..noise.mixture import Mixture
from ..noise.solved import SolvedNoise
from ..noise.staircase import amplitude_gamma
from ..privacy import Privacy
from ..solution import Solution
from .curves import epsilon_at
from .pairs import FinitePair, Pair, dominating_pair, pair
from .subsampling import Sampling, amplified

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 50.0
MOST_USES = 10**7


class Composable(ABC):
    """A private mechanism, as far as accounting looks at it.

    Attributes
    ----------
    spec : str
        The text that names it, "laplace:epsilon=1".
    """

    spec: str

    @property
    @abstractmethod
    def pair(self) -> Pair:
        """A pair of laws that dominates the mechanism, the same with its two laws exchanged."""

    @property
    def attack(self) -> Pair:
        """Two neighbours' laws as they really are: what the pair cannot be replaced with less than."""
        return self.pair

    @property
    @abstractmethod
    def guarantee(self) -> tuple[float, float] | None:
        """(ε, δ), the one pair of numbers by which the mechanism is known; None where there is no such pair."""

    @property
    def rounded(self) -> bool:
        """Infinite losses of the pair may come from rounding up alone: every release is possible for a neighbour."""
        return False

    @property
    def gaussian_mu(self) -> float | None:
        """μ of a mechanism that is N(0, 1) against N(μ, 1), None for all others."""
        return None

    def epsilon_at(self, delta: float) -> float:
        """The least ε at δ of a single use, rounded up; ∞ if there is none."""
        found = self.guarantee
        assert found is not None
        return found[0] if found[1] <= delta else math.inf


@dataclass(frozen=True, eq=False)
class Additive(Composable):
    """Noise added to a query of some sensitivity.

    promise : (ε, δ) for which the noise was made, if it was.
    """

    spec: str
    noise: Noise
    sensitivity: float
    promise: tuple[float, float] | None = None

    @cached_property
    def pair(self) -> Pair:
        return dominating_pair(self.noise, self.sensitivity)

    @cached_property
    def attack(self) -> Pair:
        shift = self.noise.attack_shift(self.sensitivity)
        return self.pair if shift is None else pair(self.noise, shift=shift)

    @cached_property
    def guarantee(self) -> tuple[float, float] | None:
        if self.promise is not None:
            return self.promise
        if isinstance(self.noise, SolvedNoise):
            return None
        infinite, finite = self.pair.infinite, [loss for loss, *_ in self.pair.atoms if math.isfinite(loss)]
        return (max(finite) * (1 + 1e-15), infinite * (1 + 1e-12)) if finite else None

    @property
    def rounded(self) -> bool:
        return isinstance(self.noise, Mixture)

    @property
    def gaussian_mu(self) -> float | None:
        return self.noise.gaussian_mu(self.sensitivity)

    def epsilon_at(self, delta: float) -> float:
        return epsilon_at(self.noise, delta, sensitivity=self.sensitivity)


@dataclass(frozen=True)
class Response(Composable):
    """Randomized response among `options` answers: the truth with a probability e^ε times that of any other answer."""

    spec: str
    epsilon: float
    options: int = 2

    @cached_property
    def pair(self) -> Pair:
        rest = self.options - 2
        weights = np.array([math.exp(self.epsilon), 1.0, float(rest)]) / (math.exp(self.epsilon) + 1 + rest)
        return FinitePair.of(weights, weights[[1, 0, 2]], [self.epsilon, -self.epsilon, 0.0])

    @property
    def guarantee(self) -> tuple[float, float]:
        return self.epsilon, 0.0


@dataclass(frozen=True)
class Promised(Composable):
    """Any mechanism of which only (ε, δ) is known; the pair is the worst of them, and is one [Kairouz, Oh and
    Viswanath 2017, Thm. 3.1]."""

    spec: str
    epsilon: float
    delta: float = 0.0

    @cached_property
    def pair(self) -> Pair:
        truth = (1 - self.delta) / (1 + math.exp(-self.epsilon))
        rest = (1 - self.delta) / (1 + math.exp(self.epsilon))
        own = np.array([self.delta, truth, rest, 0.0])
        return FinitePair.of(own, own[::-1], [math.inf, self.epsilon, -self.epsilon, -math.inf])

    @property
    def guarantee(self) -> tuple[float, float]:
        return self.epsilon, self.delta


@dataclass(frozen=True)
class Release:
    """`count` uses of a mechanism, each on a fresh sample if `sampling` is given."""

    mechanism: Composable
    count: int = 1
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", whole(1, MOST_USES, count=self.count))

    def pair(self, side: str, *, attack: bool = False) -> Pair:
        """The dominating pair of one use in a direction of neighbours ("both": there is no sampling); or that of two
        neighbours as they really are (`attack`)."""
        base = self.mechanism.attack if attack else self.mechanism.pair
        if self.sampling is None:
            return base
        # Of a replaced person the dominating pair joins two real ones, and no neighbours have it: one of them is real.
        return self.sampling.pair(base, "remove" if attack and side == "replace" else side)

    @property
    def guarantee(self) -> tuple[float, float] | None:
        """(ε, δ) of one use, amplified by its sampling."""
        found = self.mechanism.guarantee
        return found if found is None else self.amplify(*found)

    def amplify(self, epsilon: float, delta: float) -> tuple[float, float]:
        """(ε, δ) of one use after its sampling."""
        return (epsilon, delta) if self.sampling is None else amplified(epsilon, delta, self.sampling.rate)

    def epsilon_at(self, delta: float) -> float:
        """The least ε at δ of one use by amplification of the mechanism's own curve, rounded up."""
        if self.sampling is None:
            return self.mechanism.epsilon_at(delta)
        base = delta / self.sampling.rate
        alone = 0.0 if base >= 1 else self.mechanism.epsilon_at(base)
        return self.amplify(alone, base)[0] if 0 < alone < math.inf else alone


def sides(releases: tuple[Release, ...]) -> tuple[str, ...]:
    """The directions in which neighbours differ.

    Raises
    ------
    InputError : some releases sample one way and some the other: their neighbours are not the same.
    """
    kinds = {one.sampling.kind for one in releases if one.sampling is not None and one.sampling.rate < 1}
    if len(kinds) > 1:
        raise InputError("sampling", " and ".join(sorted(kinds)), "one kind for all releases: their neighbours differ")
    found = [one.sampling.sides for one in releases if one.sampling is not None and one.sampling.kind in kinds]
    return found[0] if found else ("both",)


# From text -------------------------------------------------------------------------------------------


Maker = Callable[[str, dict[str, float]], Composable]


def _epsilon(values: dict[str, float]) -> float:
    return in_range(SMALLEST_EPSILON, LARGEST_EPSILON, epsilon=values["epsilon"])


def _laplace(spec: str, values: dict[str, float]) -> Composable:
    sensitivity = values["sensitivity"]
    if ("scale" in values) == ("epsilon" in values):
        raise InputError("scale", "given with epsilon" if "scale" in values else "(missing)", "either epsilon or scale")
    if "scale" in values:
        scale = in_range(sensitivity / LARGEST_EPSILON, 1e9 * sensitivity, scale=values["scale"])
        return Additive(spec, Laplace(scale), sensitivity)
    epsilon = _epsilon(values)
    return Additive(spec, Laplace.pure(epsilon, sensitivity), sensitivity, (epsilon, 0.0))


def _gaussian(spec: str, values: dict[str, float]) -> Composable:
    sensitivity = values["sensitivity"]
    if "sigma" in values:
        if "epsilon" in values or "delta" in values:
            raise InputError("sigma", "given with epsilon or delta", "either sigma, or epsilon and delta")
        sigma = in_range(sensitivity / 20, 1e6 * sensitivity, sigma=values["sigma"])
        return Additive(spec, Gaussian(sigma), sensitivity)
    found = Privacy(_needed(values, "epsilon", "sigma, or epsilon and delta"), _needed(values, "delta", "a number"))
    return Additive(spec, Gaussian.calibrate(found, sensitivity), sensitivity)


def _staircase(spec: str, values: dict[str, float]) -> Composable:
    epsilon, sensitivity = _epsilon(values), values["sensitivity"]
    gamma = values.get("gamma")
    if gamma is None:
        gamma = amplitude_gamma(epsilon)
    noise = Staircase(epsilon, sensitivity, in_range(0, 1, gamma=gamma))
    return Additive(spec, noise, sensitivity, (epsilon, 0.0))


def _registered(key: str) -> tuple[Maker, tuple[str, ...], tuple[str, ...]]:
    """How a mechanism of the registry is made by ε, and by δ unless it is pure; known by them if it keeps them."""
    entry = (MECHANISMS | INTEGER_MECHANISMS)[key]

    def make(spec: str, values: dict[str, float]) -> Additive:
        sensitivity = values["sensitivity"]
        if key in INTEGER_MECHANISMS:
            sensitivity = whole(1, LARGEST_INTEGER_SENSITIVITY, sensitivity=sensitivity)
        zero = () if entry.needs_epsilon else (0,)
        epsilon = in_range(SMALLEST_EPSILON, LARGEST_EPSILON, also=zero, epsilon=values["epsilon"])
        privacy = Privacy(epsilon, values.get("delta", 0.0))
        rule: Callable[..., Noise] = entry.rule
        noise = rule(privacy, sensitivity, absolute())
        kept = privacy.epsilon <= entry.largest_epsilon
        kept = kept and delta_upper(noise, privacy.epsilon, sensitivity) <= privacy.delta
        return Additive(spec, noise, float(sensitivity), (privacy.epsilon, privacy.delta) if kept else None)

    return make, ("epsilon",) if entry.is_pure else ("epsilon", "delta"), ("sensitivity",)


def _response(spec: str, values: dict[str, float]) -> Composable:
    return Response(spec, _epsilon(values), whole(2, 10**6, options=values.get("options", 2)))


def _pure(spec: str, values: dict[str, float]) -> Composable:
    return Promised(spec, _epsilon(values))


def _approximate(spec: str, values: dict[str, float]) -> Composable:
    epsilon = in_range(SMALLEST_EPSILON, LARGEST_EPSILON, also=(0,), epsilon=values["epsilon"])
    return Promised(spec, epsilon, in_range(0, 0.999, delta=values["delta"]))


def _needed(values: dict[str, float], name: str, accepted: str) -> float:
    if name not in values:
        raise InputError(name, "(missing)", accepted)
    return values[name]


FAMILIES: dict[str, tuple[Maker, tuple[str, ...], tuple[str, ...]]] = {
    **{key: _registered(key) for key in MECHANISMS | INTEGER_MECHANISMS},
    "laplace": (_laplace, (), ("epsilon", "scale", "sensitivity")),
    "gaussian": (_gaussian, (), ("sigma", "epsilon", "delta", "sensitivity")),
    "staircase": (_staircase, ("epsilon",), ("gamma", "sensitivity")),
    "response": (_response, ("epsilon",), ("options",)),
    "pure": (_pure, ("epsilon",), ()),
    "approximate": (_approximate, ("epsilon", "delta"), ()),
}
"""Name → (maker, parameters it needs, parameters it may have)."""

ACCEPTED = f"NAME:parameter=number,… with NAME one of {', '.join(FAMILIES)}"


@lru_cache(maxsize=512)
def parse_mechanism(text: str) -> Composable:
    """The mechanism that a text such as "gaussian:sigma=2,sensitivity=1" names.

    Raises
    ------
    InputError : naming the field, its value and what is accepted.
    """
    name, _, rest = text.strip().partition(":")
    if name not in FAMILIES:
        raise InputError("mechanism", text, ACCEPTED)
    make, needed, optional = FAMILIES[name]
    values: dict[str, float] = {"sensitivity": 1.0}
    given: set[str] = set()
    for word in filter(None, (word.strip() for word in rest.split(","))):
        key, sign, number = word.partition("=")
        key = key.strip()
        if not sign or key not in (*needed, *optional):
            raise InputError("mechanism", text, f"parameters of {name}: {', '.join((*needed, *optional))}")
        if key in given:
            raise InputError(key, f"given twice in {text}", "once")
        given.add(key)
        values[key] = in_range(0, 1e300, also=(), **{key: number})
    for key in needed:
        _needed(values, key, f"a number, as in {name}:{key}=1")
    above(0, 1e12, sensitivity=values["sensitivity"])
    return make(text.strip(), values)


def solved(found: Solution, name: str) -> Composable:
    """The law of a solution, under a name; known by the problem's ε and its own audited δ where the problem asks for
    one, and by no pair where it asks for a whole curve."""
    problem = found.problem
    promise = None if problem.whole_curve else (problem.privacy.epsilon, found.certificate.delta_upper)
    return Additive(name, found.noise, problem.sensitivity, promise)
