"""What tests draw: privacies, sensitivities, losses and noise laws over the whole accepted range."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.loss import FAMILIES, NAMED, Loss, table
from dpcore.noise import DiscreteStaircase, Gaussian, Geometric, Laplace, Noise, Staircase, TruncatedLaplace, Uniform
from dpcore.privacy import DELTA_RANGE, EPSILON_RANGE, SENSITIVITY_RANGE, Privacy
from dpcore.problem import NoiseProblem, noise_problem
from dpcore.quantity import Quantity


def log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers from low to high, evenly spread on a log scale."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))


def epsilons(low: float = EPSILON_RANGE[0], high: float = EPSILON_RANGE[1]) -> st.SearchStrategy[float]:
    """Positive ε."""
    return log_floats(low, high)


def deltas(low: float = DELTA_RANGE[0], high: float = DELTA_RANGE[1]) -> st.SearchStrategy[float]:
    """Positive δ: small ones on a log scale, and the whole interval evenly."""
    return st.one_of(log_floats(low, high), st.floats(low, high))


@st.composite
def privacies(draw, *, pure: bool = False, total_variation: bool = True) -> Privacy:
    """(ε, δ) with δ > 0, or with δ = 0 too when `pure`; ε = 0 too when `total_variation`."""
    epsilon = draw(st.one_of(epsilons(), st.just(0.0)) if total_variation else epsilons())
    delta = draw(st.one_of(deltas(), st.just(0.0)) if pure and epsilon else deltas())
    return Privacy(epsilon, delta)


def sensitivities(low: float = SENSITIVITY_RANGE[0], high: float = SENSITIVITY_RANGE[1]) -> st.SearchStrategy[float]:
    """Sensitivities."""
    return log_floats(low, high)


@st.composite
def loss_tables(draw) -> Loss:
    """Piecewise linear losses with 2 to 6 breakpoints on a lattice of quarters; convex or not."""
    count = draw(st.integers(2, 6))
    x = sorted(draw(st.lists(st.integers(-20, 20), min_size=count, max_size=count, unique=True)))
    y = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    if count == 2:
        y[1] = y[0]
    y[0], y[-1] = max(y[0], y[1]), max(y[-1], y[-2])
    return table([v / 4 for v in x], [v / 4 for v in y])


def losses() -> st.SearchStrategy[Loss]:
    """Every family of losses."""
    named = (FAMILIES[key] for key in NAMED)
    return st.one_of(*(st.builds(one.build, *map(numbers, one.parameters)) for one in named), loss_tables())


def numbers(parameter: Quantity) -> st.SearchStrategy[float]:
    """What a parameter of a loss accepts, those without a natural end within a factor of 20 of 1."""
    low, high = parameter.low, parameter.high
    return st.floats(low, high) if high <= 10 else log_floats(max(low, 0.05), min(high, 20))


LOCATIONS = st.one_of(st.just(0.0), st.floats(-6, 6).map(lambda x: round(x, 3)))
# A spike narrower than this, away from 0, is not resolved by doubles as well as the tests ask.
GAMMAS = st.one_of(st.just(0.0), st.floats(1e-3, 1))
ATOMS = st.one_of(st.just(0.0), st.floats(0.01, 0.9))

CONTINUOUS: dict[str, st.SearchStrategy[Noise]] = {
    "laplace": st.builds(Laplace, log_floats(0.05, 20), LOCATIONS),
    "truncated-laplace": st.builds(TruncatedLaplace, log_floats(0.05, 1000), log_floats(0.1, 20), LOCATIONS),
    "gaussian": st.builds(Gaussian, log_floats(0.05, 20), LOCATIONS),
    "staircase": st.builds(Staircase, log_floats(0.2, 20), log_floats(0.2, 5), GAMMAS, atom=ATOMS, location=LOCATIONS),
    "uniform": st.builds(Uniform, log_floats(0.1, 20), ATOMS, LOCATIONS),
}
"""Laws with a density, by key."""


@st.composite
def discrete_staircases(draw) -> DiscreteStaircase:
    sensitivity = draw(st.integers(1, 12))
    return DiscreteStaircase(
        draw(log_floats(0.1, 20)), sensitivity, draw(st.integers(1, sensitivity)), draw(st.integers(-5, 5))
    )


INTEGER: dict[str, st.SearchStrategy[Noise]] = {
    "geometric": st.builds(Geometric, log_floats(0.1, 20), st.integers(1, 12), st.integers(-5, 5)),
    "discrete-staircase": discrete_staircases(),
}
"""Laws of whole numbers, by key."""

LAWS = CONTINUOUS | INTEGER


@st.composite
def supports(draw, sensitivity: float, reach: float) -> tuple[float, float]:
    """Half-lines and intervals, around 0 or beside it, from just too narrow to wide; reach: half-width of truncated
    Laplace noise in sensitivities."""
    width = 2 * reach * sensitivity * draw(st.sampled_from([0.99, 1.001, 1.05, 1.3, 2.0, 5.0, 30.0]))
    below = draw(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0, 1.2, -0.3]))
    lo, hi = -below * width, (1 - below) * width
    kind = draw(st.sampled_from(["both", "both", "left", "right"]))
    return (lo if kind != "left" else -math.inf), (hi if kind != "right" else math.inf)


def constrained(draw, epsilon: float, delta: float, sensitivity: float, loss) -> NoiseProblem:
    """The problem with constraints drawn too: symmetric, monotone, a support, or any of them together."""
    problem = noise_problem(epsilon, delta, sensitivity, loss)
    support = (-math.inf, math.inf)
    if delta and draw(st.booleans()):
        support = draw(supports(sensitivity, problem.privacy.truncation()))
    symmetric, monotone = draw(st.booleans()), draw(st.booleans())
    if symmetric:
        support = (-support[1], support[1]) if support[1] > 0 else (-math.inf, math.inf)
    monotone = monotone and support[0] <= 0 <= support[1]
    try:
        return replace(problem, support=support, symmetric=symmetric, monotone=monotone)
    except InputError:  # narrower than any law, or beyond 1e15
        assume(False)


@st.composite
def noise_problems(draw) -> NoiseProblem:
    """What users ask: every loss, in units of the sensitivity, and every constraint."""
    sensitivity = draw(st.one_of(st.just(1.0), log_floats(1e-3, 1e6)))
    loss = draw(losses()).scaled(1 / sensitivity)
    return constrained(draw, draw(log_floats(0.01, 12)), draw(log_floats(1e-8, 0.9)), sensitivity, loss)
