"""Private training and budgets: dp_accounting as referee, certified totals, published calibrations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting.budget import Query, plans, releases
from dpcore.accounting.dpsgd import Training, noise_for
from dpcore.accounting.truth import Truth
from dpcore.errors import InputError


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta"),
    [(0.01, 1.0, 1000, 1e-5), (256 / 60_000, 1.1, 14_063, 1e-5), (0.1, 5.0, 100, 1e-5), (1.0, 20.0, 50, 1e-5)],
)  # fmt: skip
def test_within_one_per_cent_of_dp_accounting(rate, noise, steps, delta):
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), steps)
    theirs = accountant.get_epsilon(delta)
    band = Training(rate, noise, steps).epsilon(delta)
    assert band.lower <= theirs * (1 + 1e-9)  # theirs is rounded up
    assert abs(band.upper - theirs) < 0.01 * theirs and band.upper - band.lower < 0.01 * theirs


@pytest.mark.parametrize(("rate", "steps", "theirs"), [(0.01, 1, 0.67379294682), (0.001, 25, 3.20956502598 / 6)])
def test_noise_of_dp_accounting_for_a_target(rate, steps, theirs):
    """accountant_test.py, test_get_smallest_subsampled_gaussian_noise: ε = 1, δ = 1e-5, sensitivities 1 and 6."""
    found = noise_for(1.0, 1e-5, rate=rate, steps=steps)
    assert found == pytest.approx(theirs, rel=1e-3)
    assert Training(rate, found, steps).epsilon(1e-5).upper <= 1.0


def test_a_search_that_is_stopped_has_certified_noise():
    told = []

    def progress(noise: float) -> bool:
        told.append(noise)
        return len(told) >= 4

    found = noise_for(1.0, 1e-5, rate=0.01, steps=300, progress=progress)
    assert len(told) == 4 and found == min(told) < math.inf
    assert Training(0.01, found, 300).epsilon(1e-5).lower <= 1.0
    assert noise_for(0.02, 1e-5, rate=0.5, steps=300, progress=lambda _: True) == math.inf


def test_epochs_of_a_trainer():
    made = Training.epochs(60_000, 256, 60, 1.1)
    assert made == Training(256 / 60_000, 1.1, 14_063)
    assert Training.epochs(1000, 1000, 3, 1.0).steps == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [({"rate": 0.0}, "rate"), ({"noise": 0.01}, "noise"), ({"steps": 0}, "steps"), ({"noise": math.nan}, "noise")],
)
def test_training_that_is_none(change, field):
    with pytest.raises(InputError) as told:
        Training(**{"rate": 0.01, "noise": 1.0, "steps": 10, **change})
    assert told.value.field == field
    with pytest.raises(InputError, match="delta"):
        Training(0.01, 1.0, 10).epsilon(0.0)
    with pytest.raises(InputError, match="epsilon"):
        noise_for(0.0, 1e-5, rate=0.1, steps=10)


# Budgets ----------------------------------------------------------------------------------------------

queries = st.lists(
    st.builds(Query, st.just("q"), st.floats(0.1, 10.0), st.integers(1, 30), st.floats(0.1, 10.0)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=12, deadline=None)
@given(
    queries, st.sampled_from([0.3, 1.0, 4.0]), st.sampled_from([1e-4, 1e-7]), st.sampled_from(["laplace", "gaussian"])
)
def test_every_split_keeps_the_promise(asked, epsilon, delta, family):
    found = plans(tuple(asked), epsilon, delta, family)
    best = found[-1]
    assert best.rule == "exact" and found[0].rule == "basic"
    for plan in found:
        assert plan.total <= epsilon
        assert plan.factor <= best.factor * (1 + 1e-3)
        for one, scale in zip(asked, plan.scales):
            assert scale == pytest.approx(one.sensitivity / (plan.factor * one.weight), rel=1e-12)
    again = Truth(releases(asked, best.factor, family), points=1 << 13).epsilon(delta)
    assert again.lower <= epsilon


def test_splits_against_closed_forms():
    """Adding up is linear in the uses, Gaussian noise in their root; one Laplace query has its ε."""
    hundred, one = (plans((Query("q", uses=uses),), 1.0, 1e-6, "gaussian") for uses in (100, 1))
    assert hundred[-1].scales[0] == pytest.approx(10 * one[-1].scales[0], rel=1e-6)
    many = plans((Query("a", uses=3), Query("b", weight=2.0)), 1.0, 1e-9, "laplace")
    assert many[0].factor == pytest.approx(0.2, rel=1e-12) and many[0].errors == pytest.approx((5.0, 2.5))
    single = plans((Query("q", 2.0),), 0.5, 1e-9, "laplace")
    assert single[0].errors[0] == pytest.approx(4.0) and single[-1].errors[0] == pytest.approx(4.0, rel=1e-3)


def test_large_numbers_of_uses_of_dp_accounting():
    """accountant_test.py, test_get_smallest_laplace_noise: 20 and 500 uses, ε = 1, δ = 1e-4: 13.6 and 71.0, ± 0.1."""
    for uses, theirs in ((20, 13.6), (500, 71.0)):
        assert plans((Query("q", uses=uses),), 1.0, 1e-4, "laplace")[-1].scales[0] == pytest.approx(theirs, abs=0.1)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"sensitivity": 0}, "sensitivity"), ({"uses": 0.5}, "uses"), ({"weight": 0}, "weight"), ({"uses": "x"}, "uses")],
)
def test_queries_that_are_none(change, field):
    with pytest.raises(InputError) as told:
        Query("q", **change)
    assert told.value.field == field


def test_a_plan_nobody_waits_for_ends():
    calls = []

    def tick() -> None:
        calls.append(len(calls))
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plans((Query("a", uses=3), Query("b", weight=2.0)), 1.0, 1e-9, "laplace", tick)
    assert len(calls) == 3


def test_budgets_that_are_none():
    for arguments, field in (
        (((), 1.0, 1e-6, "laplace"), "queries"), (((Query("q"),), 0.0, 1e-6, "laplace"), "epsilon"),
        (((Query("q"),), 1.0, 0.0, "laplace"), "delta"), (((Query("q"),), 1.0, 1e-6, "cauchy"), "family"),
    ):  # fmt: skip
        with pytest.raises(InputError) as told:
            plans(*arguments)
        assert told.value.field == field
