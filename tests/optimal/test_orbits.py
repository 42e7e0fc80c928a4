"""Losses made of constants: step multipliers against exact arithmetic, and both programs against whole-number queries,
whose optimum is the same [method: orbits]."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import log_floats

from dpcore import audit
from dpcore.audit.growth import amplification_bounds
from dpcore.audit.steps import StepMultipliers
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import jumps, solve
from dpcore.optimal import orbit_lower as orbit_lower_module
from dpcore.optimal import orbits as orbits_module
from dpcore.optimal.integer import IntegerSearch
from dpcore.optimal.nearest import real_valued, rounded
from dpcore.optimal.orbit_bounds import _depths
from dpcore.optimal.orbit_lower import orbit_lower
from dpcore.optimal.orbit_upper import orbit_upper
from dpcore.optimal.orbits import Orbits, steps_only
from dpcore.optimal.step import Limits
from dpcore.problem import SolverSettings, noise_problem

WHOLE = (-math.inf, math.inf)


def limits(scale: float = 1.0) -> Limits:
    return Limits(scale, 1e-3, time.perf_counter() + 20, lambda: False)


@st.composite
def proposals(draw) -> tuple[StepMultipliers, float, float, float]:
    """(multipliers, threshold in sensitivities, ε, δ), all in eighths of a sensitivity."""
    eighths = draw(st.integers(1, 15))
    edges = sorted(draw(st.sets(st.integers(-20, 20), max_size=6)) | {-24, -eighths, eighths, 24})
    shifts = sorted(draw(st.sets(st.integers(-8, 8).filter(bool), min_size=1, max_size=3)))
    weight = st.floats(0, 1)
    weights = np.array([[draw(weight) for _ in range(len(edges) + 1)] for _ in shifts])
    support = draw(st.sampled_from([WHOLE, (0.0, math.inf), (-math.inf, 0.5), (-1.25, 2.0)]))
    monotone = draw(st.booleans())
    frame = StepMultipliers(1.0, 8, support, np.array(edges), np.array(shifts), weights, monotone)
    falls = np.array([draw(weight) for _ in range(len(frame.starts) - 1)])
    chosen = replace(frame, falls=falls)
    return chosen, eighths / 8, draw(log_floats(0.01, 3)), draw(log_floats(1e-6, 0.5))


def naive(proposal: StepMultipliers, t: Fraction, epsilon: float, delta: float) -> Fraction:
    """min D − δ Σ max y at places sixteenths of a sensitivity apart, one fraction after the other."""
    E = Fraction(amplification_bounds(epsilon)[1])
    lo, hi = proposal.support
    edges = [Fraction(int(e), 8) for e in proposal.edges]
    ends = [Fraction(int(e), 8) for e in proposal.ends]

    def y(j: int, x: Fraction) -> Fraction:
        return Fraction(float(proposal.weights[j][sum(e <= x for e in edges)]))

    def falls(x: Fraction) -> Fraction:
        """What monotone rows add at x: the cell of x as the inner and as the outer one."""
        total, cells = Fraction(0), list(zip(ends, ends[1:]))
        for i, (one, two) in enumerate(zip(cells, cells[1:])):
            if one[1] == 0:
                continue
            inner, outer = (one, two) if one[1] > 0 else (two, one)
            multiplier = Fraction(float(proposal.falls[i + math.isinf(lo)]))
            if inner[0] < x < inner[1]:
                total -= multiplier
            if outer[0] < x < outer[1]:
                total += multiplier * (inner[1] - inner[0]) / (outer[1] - outer[0])
        return total

    least = None
    for n in range(-16 * 5 - 1, 16 * 5, 2):
        x = Fraction(n, 16)
        if not lo < x < hi:
            continue
        cost = Fraction(abs(x) > t)
        shifts = [Fraction(int(s), 8) for s in proposal.shifts]
        here = cost + sum(y(j, x) - E * y(j, x - s) for j, s in enumerate(shifts))
        here += falls(x) if proposal.monotone else 0
        least = here if least is None else min(least, here)
    return least - Fraction(delta) * sum(Fraction(float(max(row))) for row in proposal.weights)


@settings(max_examples=50)
@given(proposals())
def test_step_multipliers_are_judged_as_fractions_judge_them(drawn):
    proposal, t, epsilon, delta = drawn
    exact = naive(proposal, Fraction(t), epsilon, delta)
    found = proposal.lower(parse_loss(f"exceed:{t!r}"), epsilon, delta)
    assert Fraction(found) <= exact
    assert float(exact) - found <= 1e-11 * (1 + abs(found))


@pytest.mark.parametrize("shifts", [[0], [9], [3, 3]])
def test_shifts_are_different_and_within_the_sensitivity(shifts):
    frame = StepMultipliers(1.0, 8, WHOLE, np.array([0]), np.array(shifts), np.ones((len(shifts), 2)))
    with pytest.raises(ValueError, match="shifts"):
        frame.lower(parse_loss("exceed:1"), 1.0, 0.1)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 20), min_size=6, max_size=30).filter(any), st.integers(1, 12), log_floats(0.05, 3),
    st.sampled_from([WHOLE, (-1.0, math.inf), (0.0, 8.0)]), st.booleans(),
)  # fmt: skip
def test_no_law_costs_less_than_the_bound(weights, quarters, epsilon, support, monotone):
    start = -4 if support == (-1.0, math.inf) else 0 if support == (0.0, 8.0) else -(len(weights) // 2)
    if monotone:
        weights = sorted(weights, reverse=True)
        start = 0
    breaks = start + np.arange(len(weights) + 1)
    law = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=4, breaks=breaks, masses=weights)
    delta, _ = audit.shortfall_upper(law, epsilon)
    if delta >= 0.8:
        return
    problem = noise_problem(epsilon, delta, 1.0, f"exceed:{quarters / 4!r}", support=support, monotone=monotone)
    if steps_only(problem):
        assert orbit_lower(problem, 2, 1, limits())[0] <= audit.loss_upper(law, problem.loss)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity", "last", "support", "monotone"),
    [
        (1.0, 0.05, 5, 1, WHOLE, False), (0.3, 0.05, 5, 3, WHOLE, False), (2.0, 0.01, 3, 4, WHOLE, False),
        (1.0, 0.1, 4, 1, WHOLE, True), (0.7, 0.2, 6, 2, (0, math.inf), False), (1.5, 0.02, 4, 5, (0, math.inf), False),
    ],
)  # fmt: skip
def test_whole_number_queries_have_the_same_optimum(epsilon, delta, sensitivity, last, support, monotone, monkeypatch):
    """A law on the integers spread over [i − ½, i + ½) is as private; the threshold is half a step beyond the last."""
    settings = SolverSettings(gap=1e-6, time_limit=20)
    whole = noise_problem(
        epsilon, delta, sensitivity, f"exceed:{last}", granularity=1.0, support=support, monotone=monotone
    )
    with monkeypatch.context() as patch:
        patch.setattr(IntegerSearch, "_on_the_line", lambda search: None)
        exact = solve(whole, settings).certificate
    ends = (support[0] - 0.5, support[1] + 0.5)
    real = noise_problem(epsilon, delta, sensitivity, f"exceed:{last + 0.5!r}", support=ends, monotone=monotone)
    there = real_valued(whole)
    assert there is not None and there.exact and there.problem == real
    lower, _ = orbit_lower(real, 6, 3, limits(exact.upper))
    law = orbit_upper(real, 6, 5.0, limits())
    assert lower <= exact.upper * (1 + 1e-9)
    assert audit.loss_upper(law, real.loss) >= exact.lower * (1 - 1e-9)
    assert exact.lower - lower <= 3e-4 * exact.lower


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any), st.integers(-9, 3), st.integers(0, 3))
def test_laws_on_halves_are_rounded_half_up(weights, start, atom):
    breaks = start + np.arange(len(weights) + 1)
    law = PiecewiseNoise.from_masses(
        sensitivity=3.0, resolution=6, breaks=breaks, masses=[w / 20 for w in weights], atom=atom / 10, atom_unit=1
    )
    first, masses = rounded(law, 3)
    exact: dict[int, float] = {}
    for begin, mass in zip(law.breaks.tolist(), law.masses.tolist()):
        at = math.floor(Fraction(begin + 1, 2))
        exact[at] = exact.get(at, 0.0) + mass
    exact[1] = exact.get(1, 0.0) + law.atom_mass
    found = {first + i: mass for i, mass in enumerate(masses.tolist()) if mass}
    assert found == pytest.approx({at: mass for at, mass in exact.items() if mass})


@pytest.mark.parametrize(
    ("options", "monotone"),
    [
        ((0.0365, 1.69e-10, 60, "exceed:72"), False), ((7.36, 0.00251, 60, "exceed:35"), False),
        ((0.104, 1.7e-5, 50, "exceed:0.487"), False), ((0.2, 0.05, 500, "exceed:700"), True),
    ],
)  # fmt: skip
def test_sensitivities_of_many_steps(options, monotone):
    found = solve(
        noise_problem(*options, granularity=1.0, monotone=monotone), SolverSettings(time_limit=20)
    ).certificate
    assert found.gap <= 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support", "monotone"),
    [
        (12.1, 0.0273, "exceed:0.38", WHOLE, False), (0.0501, 0.0434, "exceed:2.18", WHOLE, False),
        (1.14, 0.00367, "exceed:2.79", WHOLE, False), (0.00729, 0.395, "exceed:0.586", WHOLE, False),
        (0.00729, 0.395, "exceed:0.586", WHOLE, True), (2.53, 1e-3, "exceed:2.77", (0, math.inf), False),
        (0.3, 0.05, "exceed:0.7", WHOLE, False),
    ],
)  # fmt: skip
def test_the_gap_closes(epsilon, delta, loss, support, monotone):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support, monotone=monotone)
    found = solve(problem).certificate
    assert found.gap <= 1e-3


def test_monotone_laws_are_cut_staircases():
    problem = noise_problem(0.1, 0.3, 1.0, "exceed:0.586", monotone=True)
    best = min(audit.loss_upper(law, problem.loss) for law in jumps.cut_staircases(problem))
    assert orbit_lower(problem, 2, 1, limits(best))[0] == pytest.approx(best, rel=1e-6)


def test_the_tiniest_losses_do_no_harm():
    found = solve(noise_problem(18.2, 2.72e-10, 1.0, "exceed:1.85"), SolverSettings(time_limit=1)).certificate
    assert 0 < found.lower <= found.upper <= 1.01 * found.lower


def test_marks_and_places():
    orbits = Orbits.of(noise_problem(1.0, 0.1, 1.0, "exceed:0.3"))
    assert (orbits.resolution, orbits.marks) == (10, (-3, 3))
    assert orbits.places(0, -7, 7).tolist() == [-7, -3, 3, 7]
    assert orbits.shifts(1).tolist() == [4, 6, 10]
    assert orbits.residues(5).tolist() == [1, 3, 5, 7, 9]


def test_depths_tell_nearer_fractions_apart():
    """.7588 is below 4/5, 7/9, 10/13, 13/17, 16/21, 19/25, 41/54, 63/83, 85/112, 107/141, 129/170 and 280/369, of
    denominators up to 400; .99 below 1 alone."""
    found = Orbits.of(noise_problem(0.00585, 0.171, 1.0, "exceed:5.28", support=(-8.798, 0.4788))).telling
    assert found == [1, 3, 5, 7, 9, 11, 13, 27, 42, 56, 71, 85, 185]
    assert _depths(found) == [7, 13, 27, 56, 85, 185]
    assert Orbits.of(noise_problem(5.83, 1e-7, 1.0, "exceed:5.99", support=(-math.inf, 0))).telling == [1, 50]
    assert Orbits.of(noise_problem(1.0, 0.1, 1.0, "exceed:0.3")).telling == [1, 2, 3]
    assert Orbits.of(noise_problem(3.72, 0.00705, 1.0, "exceed:0.347", support=(-1.056, 5.245))).telling == []


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support", "depth"),
    [
        (0.00585, 0.171, "exceed:5.28", (-8.798, 0.4788), 4),
        (3.72, 0.00705, "exceed:0.347", (-1.056, 5.245), 2),
        (1.0, 0.1, "exceed:0.3", (-math.inf, math.inf), 3),
        (0.5, 0.1, "exceed:0.406", (0.0, math.inf), 3),
    ],
)
def test_all_terms_at_once_say_the_same(epsilon, delta, spec, support, depth, monkeypatch):
    """By the interior point method as by the simplex method, which adds terms as they are violated."""
    monkeypatch.setattr(orbit_lower_module, "SETTLED", -1.0)  # to the end
    problem = noise_problem(epsilon, delta, 1.0, spec, support=support)
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(orbits_module, "MANY_TERMS", many)
        law = orbit_upper(problem, min(depth, 2), 1.5, limits())
        assert law is not None and audit.shortfall_upper(law, epsilon, 1.0)[0] <= delta
        upper = audit.loss_upper(law, problem.loss)
        found.append((upper, orbit_lower(problem, depth, 0, limits(upper))[0]))
    one, other = found
    assert one == pytest.approx(other, rel=3e-4)


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support", "deep"),
    [
        (0.00585, 0.171, "exceed:5.28", (-8.798, 0.4788), 13),
        (5.83, 1.02e-7, "exceed:5.99", (-math.inf, 0.0), 50),
        (2.63, 0.00176, "exceed:3.17", (-5.681, 1.924), 4),
    ],
)
def test_the_shifts_that_count_prove_more_at_larger_depths(
    epsilon: float, delta: float, spec: str, support: tuple[float, float], deep: int
) -> None:
    problem = noise_problem(epsilon, delta, 1.0, spec, support=support)
    law = orbit_upper(problem, 0, 1.5, limits())
    upper = audit.loss_upper(law, problem.loss)
    depth = 2 if deep == 4 else 4
    lower, used = orbit_lower(problem, depth, 0, limits(upper))
    assert set(used.tolist()) <= set(Orbits.of(problem).shifts(depth + 1).tolist())
    assert len(used) <= 0.8 * len(Orbits.of(problem).shifts(depth + 1))
    again, fewer = orbit_lower(problem, deep, 0, limits(upper), used)
    assert set(fewer.tolist()) <= {*used.tolist(), *Orbits.of(problem).shifts(1).tolist()}
    assert lower < again <= upper
    assert solve(problem, SolverSettings(time_limit=10)).certificate.gap <= 0.025


def test_of_many_marks_those_count_where_a_law_may_end():
    near = noise_problem(3.72, 0.00705, 1.0, "exceed:0.347", support=(-1.056, 5.245))
    assert (Orbits.of(near).marks, Orbits.of(near).whole) == ((-1056, -347, 347), False)
    behind = noise_problem(0.00585, 0.171, 1.0, "exceed:5.28", support=(-8.798, 0.4788))
    assert (Orbits.of(behind).marks, Orbits.of(behind).whole) == ((-13200, 1197), False)
    for problem in (near, behind):
        assert steps_only(problem)
        law, lower = orbit_upper(problem, 1, 1.5, limits()), orbit_lower(problem, 2, 1, limits())[0]
        assert problem.support[0] <= law.support[0] and law.support[1] <= problem.support[1]
        assert audit.shortfall_upper(law, problem.privacy.epsilon)[0] <= problem.privacy.delta
        assert 0 < lower <= audit.loss_upper(law, problem.loss)
    assert solve(near, SolverSettings(time_limit=10)).certificate.gap <= 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support", "gap"),
    [
        (0.00158, 0.631, "exceed:0.24", (-1.448, 0.5117), 8e-3),
        (0.00985, 0.247, "exceed:0.186", (-6.821, 2.364), 4e-3),
        (0.138, 0.0416, "exceed:0.352", (-18.73, 8.869), 4e-3),
        (0.138, 0.0416, "exceed:0.352", (-8.869, 18.73), 4e-3),
        (0.277, 0.581, "exceed:0.13", (-3.721, 1.096), 4e-3),
        (0.0344, 0.639, "exceed:0.609", (-0.6948, 2.141), 8e-3),
        (0.00309, 0.0792, "exceed:0.111", (-6.094, 19.74), 1e-3),
    ],
)
def test_jumps_between_two_ends(
    epsilon: float, delta: float, spec: str, support: tuple[float, float], gap: float
) -> None:
    """The best law of each has four marks or three, too many for places that follow from them."""
    problem = noise_problem(epsilon, delta, 1.0, spec, support=support)
    assert not Orbits.of(problem).few
    assert solve(problem, SolverSettings(time_limit=5)).certificate.gap <= gap


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support"),
    [
        (0.00585, 0.171, "exceed:5.28", (-8.798, 0.4788)),
        (3.72, 0.00705, "exceed:0.347", (-1.056, 5.245)),
        (2.53, 5.87e-9, "exceed:7.77", (0.0, math.inf)),
    ],
)
def test_where_a_support_ends_events_beyond_the_marks_prove_next_to_nothing(
    epsilon: float, delta: float, spec: str, support: tuple[float, float], monkeypatch
) -> None:
    monkeypatch.setattr(orbit_lower_module, "SETTLED", -1.0)  # to the end
    monkeypatch.setattr(orbits_module, "MANY_TERMS", 10**9)  # and to a vertex
    problem = noise_problem(epsilon, delta, 1.0, spec, support=support)
    for depth in (1, 2):
        near, far = (orbit_lower(problem, depth, beyond, limits())[0] for beyond in (0, 1))
        assert near == pytest.approx(far, rel=1e-5), depth
