"""Rules of composition: brute force, published values, and that no proof contradicts the truth."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting.mechanisms import Release, parse_mechanism, sides
from dpcore.accounting.optimal_composition import optimal_delta, optimal_epsilon, worst_composition
from dpcore.accounting.rules import NAMES, RULES, advanced, advanced_tight, basic, by_count, totals
from dpcore.accounting.subsampling import Sampling
from dpcore.accounting.truth import Truth
from dpcore.errors import InputError

SPECS = (
    "laplace:epsilon=0.5", "laplace:scale=3,sensitivity=2", "gaussian:sigma=3", "staircase:epsilon=1",
    "geometric:epsilon=0.3,sensitivity=2", "truncated-laplace:epsilon=0.5,delta=1e-8", "response:epsilon=0.8",
    "response:epsilon=0.8,options=5", "pure:epsilon=0.4", "approximate:epsilon=0.3,delta=1e-9",
)  # fmt: skip


def brute(groups: list[tuple[float, float, int]], epsilon: float) -> float:
    """δ(ε) of the product of randomised responses with tell-tales, over all outcomes [Murtagh and Vadhan 2016]."""
    single = [(e, d) for e, d, count in groups for _ in range(count)]
    kept, total = math.prod(1 - d for _, d in single), 0.0
    for signs in itertools.product((1, -1), repeat=len(single)):
        loss = sum(sign * e for sign, (e, _) in zip(signs, single))
        own = math.prod(1 / (1 + math.exp(-sign * e)) for sign, (e, _) in zip(signs, single))
        total += max(own - math.exp(epsilon) * own * math.exp(-loss), 0.0)
    return 1 - kept * (1 - total)


def release(spec: str, count: int = 1, sampling: Sampling | None = None) -> Release:
    return Release(parse_mechanism(spec), count, sampling)


# Optimal composition ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 3.0), st.floats(0.0, 0.1), st.integers(1, 9), st.floats(0.0, 1.2))
def test_equal_mechanisms_against_brute_force(epsilon, delta, count, share):
    at = share * count * epsilon
    exact = brute([(epsilon, delta, count)], at)
    found = optimal_delta([(epsilon, delta, count)], at)
    assert exact * (1 - 1e-12) - 1e-15 <= found <= exact * (1 + 1e-9) + 1e-14


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([0.0, 1e-6, 0.01]), st.integers(1, 3)), min_size=2, max_size=3
    ),
    st.floats(0.0, 1.0),
)  # fmt: skip
def test_unequal_mechanisms_against_enumeration(drawn, share):
    """ε_i that are multiples of 0.05: the grid is exact."""
    groups = [(0.05 * multiple, delta, count) for multiple, delta, count in drawn]
    groups = [(float(f"{e:.2f}"), d, n) for e, d, n in groups]
    at = share * sum(e * n for e, _, n in groups)
    exact = brute(groups, at)
    assert exact * (1 - 1e-12) - 1e-15 <= optimal_delta(groups, at) <= exact * (1 + 1e-9) + 1e-13


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.01, 2.0), min_size=2, max_size=6), st.floats(0.0, 0.95))
def test_epsilons_without_a_common_divisor_against_enumeration(epsilons, share):
    groups = [(epsilon, 0.0, 1) for epsilon in epsilons]
    at = share * math.fsum(epsilons)
    exact, found = brute(groups, at), optimal_delta(groups, at)
    assert exact * (1 - 1e-12) - 1e-15 <= found <= exact * (1 + 1e-4) + 1e-6


def test_many_unequal_epsilons_do_not_lose_against_a_formula():
    """One large ε does not make the grid too coarse for many small ones."""
    groups = [(5.0, 0.0, 1), (0.0010107, 0.0, 50_000)]
    assert optimal_epsilon(groups, 1e-3) <= advanced_tight(groups, 1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.0), (3.7, 0.02), (0.25, 1e-12)])
def test_one_mechanism_is_itself(epsilon, delta):
    assert optimal_epsilon([(epsilon, delta, 1)], delta) == epsilon
    assert optimal_epsilon([(epsilon, delta, 1)], delta / 2) == (math.inf if delta else epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "total", "theirs"),
    [(1.0, 0.0, 30, 0.0, 30.0), (1.0, 1e-3, 30, 0.06, 22.0), (1.0, 1e-3, 30, 0.1, 20.0), (1.0, 0.2, 1, 0.1, None),
     (1.0, 0.01, 30, 0.26, None)],
)  # fmt: skip
def test_values_of_dp_accounting_for_optimal_composition(epsilon, delta, count, total, theirs):
    """accountant_test.py, test_advanced_composition: the least ε among kε − 2iε; ours is the least of all."""
    found = optimal_epsilon([(epsilon, delta, count)], total)
    if theirs is None:
        assert found == math.inf
        return
    assert theirs - 2 * epsilon < found <= theirs
    assert optimal_delta([(epsilon, delta, count)], theirs) <= total
    if total:
        assert optimal_delta([(epsilon, delta, count)], theirs - 2 * epsilon) > total


def test_many_mechanisms_do_not_overflow():
    found = worst_composition([(0.01, 0.0, 10**5)])
    assert found is not None and 0 < found.epsilon(1e-6) < 1000
    assert optimal_epsilon([(2.0, 0.0, 1000)], 1e-6) < 2000


# Formulas ---------------------------------------------------------------------------------------------


def test_the_formula_of_advanced_composition():
    """Theorem 10.1 in Awan's notes, by hand: k = 100, ε = 0.1, δ = 1e-7, δ′ = 1e-5."""
    by_hand = math.sqrt(2 * 100 * math.log(1e5)) * 0.1 + 100 * 0.1 * (math.e**0.1 - 1)
    assert advanced([(0.1, 1e-7, 100)], 100 * 1e-7 + 1e-5) == pytest.approx(by_hand, rel=1e-12)
    assert advanced([(0.1, 1e-7, 100)], 100 * 1e-7) == math.inf
    assert basic([(0.1, 1e-7, 100)], 1e-5) == 10.0 and basic([(0.1, 1e-7, 100)], 0.9e-5) == math.inf


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 2.0), st.integers(1, 500), st.floats(1e-9, 0.1), st.sampled_from([0.0, 1e-12]))
def test_sharper_rules_promise_more(epsilon, count, delta, each):
    groups = [(epsilon, each, count)]
    assert optimal_epsilon(groups, delta) <= advanced_tight(groups, delta) <= basic(groups, delta)
    assert optimal_epsilon(groups, delta) <= advanced(groups, delta) * (1 + 1e-9)


def test_adding_up_a_hundred_tenths_is_ten():
    assert basic([(0.1, 0.0, 100)], 1e-9) == 10.0
    assert basic([(0.1, 0.0, 3)], 0.0) == 0.3


# The truth --------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(SPECS), st.integers(1, 40)), min_size=1, max_size=3, unique_by=lambda x: x[0]),
    st.sampled_from([1e-3, 1e-5, 1e-6]),
)  # fmt: skip
def test_no_proof_is_below_the_truth(drawn, delta):
    found = totals([release(spec, count) for spec, count in drawn], delta=delta, points=1 << 12)
    exact = found[-1]
    assert exact.rule == "exact" and exact.lower is not None and exact.lower <= exact.upper
    for one in found:
        assert not one.certified or one.upper >= exact.lower, one


@pytest.mark.parametrize("sampling", [Sampling("poisson", 0.05), Sampling("fixed", 0.05)])
@pytest.mark.parametrize(
    "spec", ["laplace:epsilon=0.5", "gaussian:sigma=2", "pure:epsilon=0.4", "truncated-laplace:epsilon=0.5,delta=1e-8"]
)
def test_no_proof_is_below_the_truth_on_samples(spec, sampling):
    found = totals([release(spec, 50, sampling)], delta=1e-5, points=1 << 13)
    exact = found[-1]
    assert exact.lower is not None and 0 < exact.lower <= exact.upper < math.inf
    for one in found:
        assert not one.certified or one.upper >= exact.lower, one


@pytest.mark.parametrize("spec", SPECS)
def test_delta_and_epsilon_are_inverse(spec):
    made = (release(spec, 12),)
    for one in totals(made, delta=1e-4, points=1 << 13):
        if math.isfinite(one.upper) and one.upper > 0 and one.rule != "exact":
            back = next(
                two for two in totals(made, epsilon=one.upper * (1 + 1e-9), points=1 << 10) if two.rule == one.rule
            )
            assert back.upper <= 1e-4 * (1 + 1e-6)


def test_one_use_is_what_the_mechanism_is():
    """Laplace noise has δ(ε) = 1 − e^((ε − 1)/2), so ε(1e-5) = 1 + 2 ln(1 − 1e-5)."""
    band = Truth((release("laplace:epsilon=1"),), delta=1e-5).epsilon(1e-5)
    exact = 1 + 2 * math.log1p(-1e-5)
    assert band.lower <= exact <= band.upper and band.upper - band.lower < 1e-6


def test_gaussians_are_one_gaussian():
    many = Truth((release("gaussian:sigma=5", 9), release("gaussian:sigma=10", 28))).epsilon(1e-6)
    one = Truth((release("gaussian:sigma=1.25"),)).epsilon(1e-6)  # 9/25 + 28/100 = 16/25
    assert many.upper == pytest.approx(one.upper, rel=1e-8) and many.lower <= many.upper


def test_totals_of_the_published_example():
    found = {one.rule: one for one in totals([release("laplace:epsilon=1", 100)], delta=1e-5)}
    assert found["basic"].upper == 100
    assert found["advanced"].upper == pytest.approx(math.sqrt(200 * math.log(1e5)) + 100 * (math.e - 1), rel=1e-12)
    assert found["exact"].lower <= 68.25295109 * (1 + 1e-6) and found["exact"].upper < 68.2530
    assert list(found) == list(NAMES) and not found["clt"].certified


def test_renyi_agrees_with_dp_accounting():
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    accountant.compose(dp_event.LaplaceDpEvent(2.0), 40)
    theirs = accountant.get_epsilon(1e-6)
    ours, _ = RULES["renyi"][0]((release("laplace:epsilon=0.5", 40),), 1e-6)
    assert theirs * 0.999 < ours <= theirs * (1 + 1e-6)  # their orders are fewer


def test_the_central_limit_of_gaussians_is_exact():
    value, _ = RULES["clt"][0]((release("gaussian:sigma=4", 16),), 1e-5)
    assert value == pytest.approx(Truth((release("gaussian:sigma=1"),)).epsilon(1e-5).upper, rel=1e-4)


def test_the_tail_bound_of_gaussian_noise_in_closed_form():
    """min over λ of kλ(λ + 1)/2σ² + ln(1/δ), over λ; and never less than what the better conversion proves."""
    for sigma, count, delta in ((10.0, 100, 1e-5), (2.0, 3, 1e-9), (30.0, 1, 1e-3)):
        releases = (release(f"gaussian:sigma={sigma}", count),)
        found, _ = RULES["moments"][0](releases, delta)
        exact = count / (2 * sigma**2) + math.sqrt(2 * count * math.log(1 / delta)) / sigma
        assert exact <= found <= 1.001 * exact
        assert RULES["renyi"][0](releases, delta)[0] <= found
    sampled = (replace(release("gaussian:sigma=1", 1000), sampling=Sampling("poisson", 0.01)),)
    assert RULES["renyi"][0](sampled, 1e-5)[0] <= RULES["moments"][0](sampled, 1e-5)[0] < math.inf
    assert RULES["moments"][0]((release("truncated-laplace:epsilon=1,delta=0.1", 2),), 1e-5)[0] == math.inf


def test_bounded_noise_has_no_renyi_divergence():
    found = {
        one.rule: one
        for one in totals([release("truncated-laplace:epsilon=0.5,delta=1e-8", 10)], delta=1e-5, points=1 << 12)
    }
    assert found["renyi"].upper == found["zcdp"].upper == math.inf and "impossible" in found["renyi"].note
    assert found["exact"].upper < math.inf


def test_growth_is_monotone_and_agrees_with_totals():
    counts = [1, 2, 5, 10, 40, 100]
    rows = by_count(release("staircase:epsilon=0.5"), counts, 1e-6)
    for row in rows.values():
        values = [one.upper for one in row if one.upper < math.inf]
        assert values == sorted(values)
    alone = totals([release("staircase:epsilon=0.5", 40)], delta=1e-6)[-1]
    assert rows["exact"][4].lower <= alone.upper and alone.lower <= rows["exact"][4].upper


# Input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "field"),
    [("lap", "mechanism"), ("laplace", "scale"), ("laplace:epsilon=0", "epsilon"),
     ("laplace:epsilon=1,scale=2", "scale"),
     ("laplace:eps=1", "mechanism"), ("laplace:epsilon=x", "epsilon"), ("laplace:epsilon=nan", "epsilon"),
     ("gaussian:sigma=0", "sigma"), ("gaussian:epsilon=1", "delta"), ("truncated-laplace:epsilon=1", "delta"),
     ("geometric:epsilon=1,sensitivity=1.5", "sensitivity"), ("response:epsilon=1,options=1", "options"),
     ("approximate:epsilon=1,delta=2", "delta"), ("staircase:epsilon=1,gamma=2", "gamma"),
     ("pure:epsilon=51", "epsilon"),
     ("laplace:epsilon=1,sensitivity=0", "sensitivity"), ("file:x", "mechanism")],
)  # fmt: skip
def test_mechanisms_that_are_none(text, field):
    with pytest.raises(InputError) as told:
        parse_mechanism(text)
    assert told.value.field == field and told.value.accepted


def test_releases_that_cannot_be_together():
    mixed = (
        release("laplace:epsilon=1", 1, Sampling("poisson", 0.1)),
        release("laplace:epsilon=1", 1, Sampling("fixed", 0.1)),
    )
    with pytest.raises(InputError, match="sampling"):
        sides(mixed)
    with pytest.raises(InputError, match="count"):
        release("laplace:epsilon=1", 0)
    with pytest.raises(InputError, match="delta"):
        totals([release("laplace:epsilon=1")])


def test_a_laplace_law_is_private_as_written():
    """The scale is rounded so that sensitivity/scale is at most the decimal number ε, in exact arithmetic."""
    from fractions import Fraction

    for epsilon in np.round(np.linspace(0.01, 5, 60), 3).tolist():
        noise = parse_mechanism(f"laplace:epsilon={epsilon!r},sensitivity=0.7").noise
        assert Fraction(noise.scale) * Fraction(repr(epsilon)) >= Fraction(0.7)
