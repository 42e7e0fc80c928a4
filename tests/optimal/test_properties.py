"""Whatever is asked within the accepted range, the answer keeps its promises (THOROUGH=2000: draws that many)."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st
from strategies import constrained, noise_problems

from dpcore import audit
from dpcore.errors import InfeasibleError, InputError
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.noise.staircase import Staircase
from dpcore.optimal import solve
from dpcore.problem import LINE, NoiseProblem, SolverSettings, noise_problem

EXAMPLES = int(os.environ.get("THOROUGH", "0")) or settings.default.max_examples
LATE = 0.5 if os.environ.get("THOROUGH") else 10.0
"""Seconds of work by which a solve may overrun its limit: one step's bookkeeping where nothing else runs; beside other
tests, whose garbage is collected in between, it is no hang. `benchmarks.bench_everything` tells the largest overrun."""


EXTREME_LOSSES = (
    *("l1", "l2", "lp:1.5", "lp:4", "pinball:0.001", "pinball:0.999", "asym:1:1000000", "asym:1e-06:1"),
    *("huber:1e-06", "huber:1000000", "exceed:1e-06", "exceed:0.3", "exceed:1000000"),
    "table:-1=1,0=0,1=0,4=7",  # flat beside 0
    "table:-3=0,3=0",  # free
    "table:-3=1,-2=0,0=1,2=0,3=1",  # two valleys, even
    "table:-3=1,-2=0,0=3,1=0.5,4=9",
    "table:3=2,5=0,9=3",  # least away from 0
    "table:-1e9=1e9,0=0,1e9=1e9",
    "table:0=5,1e-6=5,2e-6=6",
    "table:-2=0,-1=0,1e-9=1e9",
    "table:-7=3,-6=2,-5=3,50=1,60=1,61=9",
)


@st.composite
def extreme_problems(draw) -> NoiseProblem:
    """The rim of the accepted range."""
    epsilon = draw(st.sampled_from([0.0, 0.001, 0.01, 0.3, 1.0, 2.4, 2.6, 7.9, 8.1, 20.0]))
    delta = draw(st.sampled_from([0.0, 1e-12, 3e-10, 1e-8, 1e-4, 0.03, 1 / 3, 0.5, 0.75, 0.999]))
    assume(epsilon or delta)
    sensitivity = draw(st.sampled_from([1e-9, 1e-6, 0.1, 1.0, 1.0, 3.0, 1e9]))
    return constrained(draw, epsilon, delta, sensitivity, draw(st.sampled_from(EXTREME_LOSSES)))


def check_law(problem: NoiseProblem, noise: PiecewiseNoise) -> None:
    """The law is a law and keeps the constraints, exactly: numbers are the decimals that they show."""
    assert int(noise.weights.sum(dtype=object)) + noise.atom_weight == TOTAL
    assert noise.weights.min() >= 0 <= noise.atom_weight
    assert noise.sensitivity == problem.sensitivity
    unit, origin = Fraction(repr(noise.sensitivity)) / noise.resolution, Fraction(repr(noise.origin))
    edges, atom = [origin + int(b) * unit for b in noise.breaks], origin + noise.atom_unit * unit
    lo, hi = (Fraction(repr(end)) if math.isfinite(end) else end for end in problem.support)
    assert lo <= edges[0] and edges[-1] <= hi
    assert not noise.atom_weight or lo <= atom <= hi
    weights = noise.weights.tolist()
    if problem.symmetric:
        assert edges == [-x for x in reversed(edges)]
        assert weights == weights[::-1]
        assert not noise.atom_weight or atom == 0
    if problem.monotone:
        assert not noise.atom_weight or atom == 0
        heights = [w / (b - a) for w, a, b in zip(weights, edges, edges[1:])]
        for x, left, right in zip(edges, [0, *heights], [*heights, 0]):
            assert x == 0 or (left >= right if x > 0 else left <= right)


def check_trace(solution) -> None:
    trace, certificate = solution.trace, solution.certificate
    for before, after in zip(trace, trace[1:]):
        assert before.seconds <= after.seconds
        assert before.lower <= after.lower
        assert before.upper >= after.upper
        assert before.cells <= after.cells and before.pairs <= after.pairs
    for record in trace:
        assert record.lower <= certificate.upper
        assert certificate.lower <= record.upper
        assert record.gap >= 0
    assert (trace[-1].lower, trace[-1].upper) == (certificate.lower, certificate.upper)


def check(problem: NoiseProblem, limit: float) -> None:
    """Solve and hold the answer against everything it promises."""
    began = time.thread_time()
    try:
        solution = solve(problem, SolverSettings(gap=1e-3, time_limit=limit))
    except InfeasibleError:
        event("no law found")
        width = problem.support[1] - problem.support[0]
        assert width < problem.sufficient_width, "there is a law"
        return
    late = time.thread_time() - began - limit
    certificate = solution.certificate
    event("no gap" if certificate.gap is None else "gap closed" if certificate.gap <= 1e-3 else "gap open")
    assert math.isfinite(certificate.upper)
    assert certificate.lower <= certificate.upper
    assert certificate.delta_upper <= problem.privacy.delta
    assert abs(certificate.worst_shift) <= problem.sensitivity * (1 + 1e-15)
    check_trace(solution)
    if isinstance(solution.noise, PiecewiseNoise):
        check_law(problem, solution.noise)
        assert audit.shortfall_upper(solution.noise, problem.privacy.epsilon)[0] <= problem.privacy.delta
        assert audit.loss_upper(solution.noise, problem.loss) == certificate.upper
        # The noise's own exact expectation, by other formulas.
        value = solution.noise.expected_loss(problem.loss)
        ends = solution.noise.support
        blur = 16 * float(np.max(problem.loss.rounding(*ends))) if ends[0] < ends[1] else 0.0
        assert value <= certificate.upper * (1 + 1e-9) + blur
    else:
        assert isinstance(solution.noise, Staircase) and problem.privacy.delta == 0
    assert late <= LATE, f"{late:.2f} s late"


@settings(max_examples=EXAMPLES)
@given(noise_problems())
@example(noise_problem(1, 0.2, 1, "exceed:2", support=(2, math.inf)))  # loss 0 at the end of the support only
@example(noise_problem(0.03, 1e-6, 1, "lp:1.1", support=(-2900, 0)))  # a law is known before the first program ends
@example(
    noise_problem(1, 1 / 3, 1, "exceed:0.33287108369807955", symmetric=True, monotone=True)
)  # jump off all lattices
@example(noise_problem(1, 0.6, 1, "l1", support=(-0.7, 0.7)))  # no cell of a sensitivity fits beside 0
@example(noise_problem(1, 0.6, 1, "l1", support=(-0.7, 0.9), monotone=True))  # hardly a law at all
@example(noise_problem(1, 0.368, 1, "table:-2=0.25,-1.75=0.25,0=0,0.25=0.5"))  # a level that is reached far out
def test_an_answer_keeps_its_promises(problem):
    check(problem, 0.2)


@settings(max_examples=EXAMPLES)
@given(extreme_problems())
@example(noise_problem(0, 1e-8, 1e9, "pinball:0.001"))  # only the uniform law, whose δ has no room for rounding
@example(noise_problem(0.001, 0.75, 3, "table:-7=3,-6=2,-5=3,50=1,60=1,61=9"))  # a thousand steps of a staircase
@example(noise_problem(20, 0, 3, "table:-7=3,-6=2,-5=3,50=1,60=1,61=9"))  # a spike too narrow for floats at 54
@example(noise_problem(1, 1e-4, 1e-9, "table:-7=3,-6=2,-5=3,50=1,60=1,61=9"))  # 5e10 sensitivities away from 0
@example(  # a top step that is nothing beside how far from 0 it lies
    noise_problem(20, 0.5, 1e-9, "table:-3=1,-2=0,0=1,2=0,3=1", support=(0, math.inf), monotone=True)
)
@example(noise_problem(0, 1e-12, 1, "asym:1:3", monotone=True))  # slopes of 10¹² steps
@example(noise_problem(0, 1e-8, 1, "asym:1:3", support=(-1e9, math.inf), monotone=True))  # a sum of 10⁹ powers
def test_the_rim_of_the_range(problem):
    check(problem, 0.2)


def weaker(problem: NoiseProblem, **figures: float) -> NoiseProblem:
    return replace(problem, privacy=replace(problem.privacy, **figures))


RELAXED = {
    "no support": lambda problem: replace(problem, support=LINE),
    "any shape": lambda problem: replace(problem, monotone=False),
    "any sides": lambda problem: replace(problem, symmetric=False),
    "larger ε": lambda problem: weaker(problem, epsilon=1.3 * problem.privacy.epsilon),
    "larger δ": lambda problem: weaker(problem, delta=1.3 * problem.privacy.delta),
    "no second pair": lambda problem: replace(problem, second=None),
    "smaller sensitivity": lambda problem: replace(problem, sensitivity=0.8 * problem.sensitivity),
    "mirrored": lambda problem: replace(
        problem, loss=problem.loss.mirrored, support=(-problem.support[1], -problem.support[0])
    ),
}
"""Problems that ask for no more than a given one."""


@settings(max_examples=EXAMPLES // 2)
@given(noise_problems(), st.sampled_from(sorted(RELAXED)))
@example(noise_problem(1, 0.368, 1, "table:-2=0.25,-1.75=0.25,0=0,0.25=0.5"), "mirrored")
def test_where_less_is_asked_no_more_is_proved(problem, name):
    """A lower bound of a problem that asks for less holds for this one: one that is false is seen where the other
    problem's are not, for closed forms depend on what is asked."""
    try:
        relaxed = RELAXED[name](problem)
        loose, strict = (solve(one, SolverSettings(time_limit=0.15)).certificate for one in (relaxed, problem))
    except InputError:  # whole steps no longer fit, or there is no law
        assume(False)
    assert loose.lower is None or loose.lower <= strict.upper
    if name == "mirrored":
        assert strict.lower is None or strict.lower <= loose.upper


@settings(max_examples=EXAMPLES // 5)
@given(noise_problems(), st.integers(1, 6))
def test_a_stop_is_heeded(problem, after):
    """The callback's calls from the `after`-th on say stop: that comes soon once a first law is known, and all that
    was reported is true of the answer."""
    seen = []

    def progress(record):
        seen.append((time.thread_time(), record))
        return len(seen) >= after

    try:
        solution = solve(problem, SolverSettings(gap=1e-6, time_limit=3.0), progress)
    except InfeasibleError:
        return
    check_trace(solution)
    for (_, one), (_, two) in zip(seen, seen[1:]):
        assert one.lower <= two.lower and one.upper >= two.upper
        assert one.seconds <= two.seconds
    for _, record in seen:
        assert record.lower <= solution.certificate.upper and solution.certificate.lower <= record.upper
    known = next((n for n, (_, record) in enumerate(seen, 1) if math.isfinite(record.upper)), len(seen))
    after = max(after, known)
    if len(seen) >= after:
        stopped = seen[after - 1][0]
        assert time.thread_time() - stopped <= 0.2 + LATE
        assert len(seen) <= after + 3
