"""The registry: which mechanisms exist, what they pay, and why some are not allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import losses, privacies, sensitivities

from dpcore.errors import InputError
from dpcore.loss import absolute, parse_loss, pinball, squared, table
from dpcore.mechanisms import MECHANISMS, baselines, fitted, integer_baselines
from dpcore.noise import TruncatedLaplace, Uniform
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed
from dpcore.problem import NoiseProblem, noise_problem

KEYS = ["laplace", "truncated-laplace", "gaussian", "gaussian-classical"]
KEYS += ["multi-gaussian", "quasi-gaussian", "staircase", "uniform"]
MIXTURES = {"multi-gaussian", "quasi-gaussian"}


def by_key(problem: NoiseProblem) -> dict:
    found = baselines(problem)
    assert [b.key for b in found] == KEYS == list(MECHANISMS)
    assert [b.name for b in found] == [m.name for m in MECHANISMS.values()]
    return {b.key: b for b in found}


@settings(max_examples=60)
@given(privacy=privacies(pure=True), sensitivity=sensitivities(1e-3, 1e3), loss=losses())
def test_every_baseline_that_is_called_valid_is_private(privacy, sensitivity, loss):
    """Without tolerance; and on the whole line every mechanism that exists is valid, the classical Gaussian aside."""
    for baseline in by_key(NoiseProblem(privacy, sensitivity, loss)).values():
        assert (baseline.noise is None) == (baseline.loss is None)
        assert bool(baseline.reason) != baseline.valid
        assert baseline.valid or baseline.noise is None or baseline.key == "gaussian-classical"
        if baseline.valid:
            assert baseline.noise.shortfall(privacy.epsilon, sensitivity) <= privacy.delta
            assert baseline.loss == baseline.noise.expected_loss(loss) >= 0


def test_losses_at_a_known_point():
    """(1, .2), |x|, D = 1: Laplace D/ε; truncated Laplace and Gaussian recomputed; uniform D/(4δ)."""
    found = by_key(noise_problem(1.0, 0.2))
    assert found["laplace"].loss == pytest.approx(1.0, rel=1e-13)
    assert found["truncated-laplace"].loss == pytest.approx(1.22392 / 2, rel=5e-6)
    assert found["gaussian"].loss == pytest.approx(0.8359987109 * math.sqrt(2 / math.pi), rel=1e-9)
    assert found["staircase"].loss == pytest.approx(0.959517376, abs=6e-10)
    assert found["uniform"].loss == pytest.approx(1.25, rel=1e-12)
    assert all(b.valid for b in found.values())


def test_mechanisms_that_do_not_exist():
    pure = by_key(noise_problem(1.0, 0.0))
    assert {k for k, b in pure.items() if b.noise is None} == {
        "truncated-laplace",
        "gaussian",
        "gaussian-classical",
        "uniform",
        *MIXTURES,
    }
    assert "delta" in pure["gaussian"].reason
    total = by_key(noise_problem(0.0, 0.1))
    assert {k for k, b in total.items() if b.noise is None} == {"laplace", "gaussian-classical", "staircase", *MIXTURES}
    assert "epsilon" in total["laplace"].reason
    assert total["truncated-laplace"].loss == pytest.approx(2.5, rel=1e-12)


def test_classical_gaussian_beyond_epsilon_one_is_shown_but_not_valid():
    """(10, 1e-5): true δ 2.27e-5 [BW18]; at (2, 1e-5) it happens to be private, but nothing proves the formula."""
    found = by_key(noise_problem(10.0, 1e-5))["gaussian-classical"]
    assert not found.valid and found.loss is not None
    assert "2.27e-05" in found.reason and "1e-05" in found.reason
    assert not by_key(noise_problem(2.0, 1e-5))["gaussian-classical"].valid
    assert by_key(noise_problem(1.0, 1e-5))["gaussian-classical"].valid


def test_noise_without_end_spills_over_a_support():
    for support in ((-10.0, 10.0), (-math.inf, 0.0), (-3.0, math.inf)):
        found = by_key(noise_problem(1.0, 0.05, support=support))
        for key in ("laplace", "gaussian", "gaussian-classical", "staircase"):
            assert not found[key].valid and "support" in found[key].reason and found[key].loss > 0
        assert found["truncated-laplace"].valid


def test_one_sided_truncated_laplace_has_its_edge_at_zero():
    """[MSVV]: on (−∞, 0] the law is centred at −A, its mean |error| is A; mirrored on [0, ∞)."""
    privacy = Privacy(1.0, 0.01)
    width = TruncatedLaplace.calibrate(privacy, 1.0).half_width
    for support, centre in (((-math.inf, 0.0), -width), ((0.0, math.inf), width)):
        found = by_key(NoiseProblem(privacy, 1.0, absolute(), support=support))["truncated-laplace"]
        assert found.valid and found.noise.location == centre
        assert found.loss == pytest.approx(width, rel=1e-12)
        lo, hi = found.noise.support
        assert support[0] <= lo and hi <= support[1]
    assert width == pytest.approx(4.465, abs=5e-4)  # method: one-sided


@settings(max_examples=40)
@given(privacy=privacies(), loss=losses(), edge=st.floats(-5, 5), room=st.floats(1.0, 3.0))
def test_fitted_laws_stay_inside_and_no_place_is_better(privacy, loss, edge, room):
    noise = TruncatedLaplace.calibrate(privacy, 1.0)
    support = (edge, edge + 2 * noise.radius * room * (1 + 1e-9))
    if noise.radius > 1e6:
        return
    moved = fitted(noise, support, loss)
    lo, hi = moved.support
    assert support[0] <= lo and hi <= support[1]
    assert moved.shortfall(privacy.epsilon, 1.0) == noise.shortfall(privacy.epsilon, 1.0)
    if noise.support[0] >= support[0] and noise.support[1] <= support[1]:
        assert moved == noise
    elif loss.grows_from_zero:
        places = np.linspace(support[0] + noise.radius, support[1] - noise.radius, 21)
        others = [type(noise)(**noise.parameters | {"location": m}).expected_loss(loss) for m in places.tolist()]
        assert moved.expected_loss(loss) <= min(others) * (1 + 1e-5) + 1e-12


def test_a_law_too_wide_for_the_support_is_not_moved():
    noise = Uniform(2.0)
    assert fitted(noise, (0.0, 3.0), absolute()) == noise
    found = by_key(noise_problem(1.0, 0.2, support=(-2.0, 2.0)))
    assert found["truncated-laplace"].valid and found["truncated-laplace"].noise.location == 0
    assert not found["uniform"].valid  # half-width 2.5


def test_shifted_laws_break_symmetry_and_monotonicity():
    found = by_key(noise_problem(1.0, 0.2, support=(-1.0, 9.0), monotone=True))["truncated-laplace"]
    assert found.noise.location > 0 and not found.valid and "fall away from 0" in found.reason
    flat = by_key(noise_problem(1.0, 0.2, support=(-1.0, 9.0), monotone=True))["uniform"]
    assert flat.noise.location > 0 and flat.valid
    for symmetric, monotone in ((True, False), (True, True), (False, True)):
        rows = baselines(noise_problem(1.0, 0.2, symmetric=symmetric, monotone=monotone))
        assert all(b.valid or (monotone and b.key in MIXTURES) for b in rows)


def test_the_staircase_and_the_uniform_law_follow_the_loss():
    for loss in (squared(), parse_loss("lp:3"), pinball(0.8), parse_loss("huber:0.3"), parse_loss("exceed:0.4")):
        found, plain = by_key(noise_problem(1.0, 0.7, loss=loss)), by_key(noise_problem(1.0, 0.7))
        for key in ("staircase", "uniform"):
            assert found[key].loss <= plain[key].noise.expected_loss(loss) * (1 + 1e-9)


def test_a_table_of_a_thousand_rows():
    """Values between |x| and |x| + 1/5, so every baseline pays between E|X| and E|X| + 1/5."""
    x = np.linspace(-5, 5, 1000)
    loss = table(x, np.abs(x) + 0.1 + 0.1 * np.cos(20 * x) * (np.abs(x) < 4.5))
    found, plain = by_key(noise_problem(1.0, 0.2, loss=loss)), by_key(noise_problem(1.0, 0.2))
    for key in ("laplace", "truncated-laplace", "gaussian", "gaussian-classical"):
        assert plain[key].loss <= found[key].loss <= plain[key].loss + 0.2 + 1e-9
    assert found["staircase"].loss <= plain["staircase"].noise.expected_loss(loss) * (1 + 1e-9)


def test_whole_number_queries():
    geometric, staircase = integer_baselines(Privacy(1.0, 0.1), 3, absolute())
    assert (geometric.key, staircase.key) == ("geometric", "discrete-staircase")
    assert geometric.valid and geometric.loss == pytest.approx(1 / math.sinh(1 / 3), rel=1e-12)
    assert staircase.valid and staircase.loss == pytest.approx(2.8608, abs=5e-5)
    for baseline in integer_baselines(Privacy(0.0, 0.1), 3, absolute()):
        assert not baseline.valid and baseline.noise is None and "epsilon" in baseline.reason
    with pytest.raises(InputError, match="sensitivity"):
        integer_baselines(Privacy(1.0, 0.1), 2.5, absolute())


def test_what_each_of_many_releases_may_spend_can_be_too_little():
    """Multi-Gaussian noise for 52 releases would be calibrated at ε/52, below where the proof over all shifts ends."""
    year = Composed(52, Privacy(1.0, 1e-6))
    found = {one.key: one for one in baselines(NoiseProblem(year.anchor, 1.0, parse_loss("l1"), profile=year))}
    assert found["multi-gaussian"].noise is None and "calibrated from" in found["multi-gaussian"].reason
    assert found["laplace"].valid and found["gaussian"].valid
