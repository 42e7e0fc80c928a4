"""ε from an error: what comes back brackets the error again, for every mechanism (THOROUGH=200: so many requests)."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st
from strategies import log_floats

from dpcore.errors import InputError
from dpcore.inversion import OPTIMAL, at, invert
from dpcore.mechanisms import INTEGER_MECHANISMS, MECHANISMS, baseline
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings, noise_problem

REQUESTS = int(os.environ.get("THOROUGH", "0"))
LOSSES = ("l1", "l2", "lp:1.5", "pinball:0.8", "huber:1", "exceed:2", "asym:1:3")
FAST = tuple(key for key, entry in MECHANISMS.items() if not entry.slow)
QUICK = SolverSettings(gap=5e-3, time_limit=15)


@st.composite
def requests(draw, keys=FAST):
    """(problem, mechanism, error): the error is what the mechanism has at some ε, so that it can be reached."""
    key = draw(st.sampled_from(keys))
    delta = draw(st.one_of(log_floats(1e-9, 0.45), st.just(0.0)))
    assume(delta > 0 or not MECHANISMS[key].needs_delta)
    problem = noise_problem(1.0, delta, draw(log_floats(0.01, 100)), draw(st.sampled_from(LOSSES)))
    top = min(10.0, MECHANISMS[key].largest_epsilon)
    entry = baseline(key, at(problem, draw(log_floats(2e-3, top))))
    assume(entry.valid and 0 < entry.loss < 1e15)
    return problem, key, entry.loss


def exact(problem, key: str, epsilon: float) -> float:
    """The mechanism's loss; infinite where it does not meet the problem."""
    entry = baseline(key, at(problem, epsilon))
    return entry.loss if entry.loss is not None and entry.valid else math.inf


@settings(max_examples=REQUESTS or 40)
@given(requests())
def test_round_trip_of_closed_forms(request):
    problem, key, error = request
    event(key)
    found = invert(problem, error * (1 + 1e-6), key)
    assert exact(problem, key, found.epsilon_upper) <= found.error
    if found.loss_lower is not None:
        assert found.loss_lower > found.error
        assert exact(problem, key, found.epsilon_lower) > found.error
        assert found.epsilon_lower < found.epsilon_upper
        drop = exact(problem, key, found.epsilon_lower) - exact(problem, key, found.epsilon_upper)
        assert drop <= 1e-8 * error or found.epsilon_lower == 0, "the ends all but coincide"


@settings(max_examples=REQUESTS or 4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.sampled_from(("l1", "l2", "pinball:0.8")), log_floats(1e-4, 0.4), log_floats(0.2, 4), st.booleans())
def test_round_trip_of_the_optimum(loss, delta, epsilon, monotone):
    """Both ends are proved, and a new search at either end does not contradict them."""
    problem = noise_problem(epsilon, delta, 1.0, loss, monotone=monotone)
    error = solve(problem, QUICK).certificate.upper
    assume(error > 1e-9)
    found = invert(problem, error, tolerance=0.01, settings=QUICK)
    assert found.loss_upper <= error
    assert solve(at(problem, found.epsilon_upper), QUICK).certificate.lower <= error
    if found.loss_lower is not None:
        assert found.loss_lower > error
        assert found.epsilon_lower <= epsilon, "at this ε a law within the error is known"
        assert found.epsilon_lower < found.epsilon_upper
        assert solve(at(problem, found.epsilon_lower), QUICK).certificate.upper > error


def test_the_optimum_needs_no_more_than_any_mechanism():
    problem = noise_problem(1, 0.1)
    best = invert(problem, 0.8, settings=QUICK)
    for key in FAST:
        try:
            other = invert(problem, 0.8, key)
        except InputError:
            continue
        assert best.epsilon_upper <= other.epsilon_upper
        assert best.epsilon_lower < other.epsilon_upper


def test_known_answers():
    """Laplace noise: E|X| = 1/ε, P(|X| > t) = e^(−tε); pure DP: the staircase [GV14]."""
    problem = noise_problem(1, 0.0)
    assert invert(problem, 0.25, "laplace").epsilon_upper == pytest.approx(4.0, rel=1e-8)
    within = invert(noise_problem(1, 0.0, 1.0, "exceed:3"), 0.05, "laplace")
    assert within.epsilon_upper == pytest.approx(-math.log(0.05) / 3, rel=1e-8)
    found = invert(problem, 0.959517375667472 * (1 + 1e-6))
    assert found.epsilon_lower <= 1.0 <= found.epsilon_upper * (1 + 1e-5)
    assert found.epsilon_upper == pytest.approx(1.0, abs=2e-3)


def test_what_every_epsilon_reaches():
    """(0, ½): E|X| = D/2 at ε = 0 [G19]."""
    found = invert(noise_problem(1, 0.5), 0.6)
    assert (found.epsilon_lower, found.epsilon_upper, found.loss_lower) == (0.0, 0.0, None)


def test_whole_numbers():
    problem = noise_problem(1, 0.01, granularity=1.0)
    optimum, geometric = invert(problem, 0.5, settings=QUICK), invert(problem, 0.5, "geometric")
    assert optimum.epsilon_lower < optimum.epsilon_upper <= geometric.epsilon_upper
    assert exact(problem, "geometric", geometric.epsilon_upper) <= 0.5
    assert set(INTEGER_MECHANISMS) == {"geometric", "discrete-staircase"}


def test_a_search_that_is_stopped_is_still_right():
    found = invert(noise_problem(1, 0.1), 0.8, stop=lambda: True)
    assert found.loss_upper <= 0.8
    assert found.epsilon_lower < found.epsilon_upper


def test_a_window_that_was_cut_too_short_on_a_warm_start():
    """A neighbour's lattice found infeasible is replaced by a wider one while it is being learnt from."""
    problem = noise_problem(0.419, 8.042403848853529e-05, 1.0, "pinball:0.8", monotone=True)
    found = invert(problem, 0.9759299951122764, settings=SolverSettings(gap=5e-3, time_limit=4))
    assert found.epsilon_lower < found.epsilon_upper <= 0.61 and found.loss_upper <= found.error


def test_next_to_a_second_pair_that_implies_the_first_from_some_epsilon_on():
    """(½, 0) implies (ε, 0.1) from ε = ½ on, where the staircase pays 1.979; next to (0, 0.1) it takes 2.9."""
    problem = noise_problem(1, 0.1, second=Privacy(0.5, 0.0))
    found = invert(problem, 2.2, settings=QUICK)
    assert 0 < found.epsilon_lower < found.epsilon_upper < 0.5 and found.loss_upper <= 2.2 < found.loss_lower
    found = invert(problem, 3.0, settings=QUICK)
    assert found.epsilon_lower == found.epsilon_upper == 0 and 2.8 < found.loss_upper <= 3.0
    with pytest.raises(InputError, match=r"error = 1\.9: expected at least 1\.979"):
        invert(problem, 1.9, settings=QUICK)


def test_out_of_reach_says_what_can_be_reached():
    with pytest.raises(InputError, match=r"error = 0\.001: expected at least 0\.05"):
        invert(noise_problem(1, 0.1), 0.001, "laplace")
    with pytest.raises(InputError, match=r"mechanism = gaussian: expected .*positive delta"):
        invert(noise_problem(1, 0.0), 1.0, "gaussian")
    with pytest.raises(InputError, match="mechanism = cauchy: expected optimal, laplace"):
        invert(noise_problem(1, 0.1), 1.0, "cauchy")
    with pytest.raises(InputError, match="error"):
        invert(noise_problem(1, 0.1), -1.0)
    with pytest.raises(InputError, match="error = 1e-12: expected at least"):
        invert(noise_problem(1, 1e-6), 1e-12)


def test_a_mechanism_that_breaks_a_constraint_does_not_count():
    problem = replace(noise_problem(1, 0.1), support=(-3.0, 3.0))
    with pytest.raises(InputError, match=r"mechanism = laplace.*spills over the support"):
        invert(problem, 1.0, "laplace")
    found = invert(problem, 1.0, "truncated-laplace")
    assert baseline("truncated-laplace", at(problem, found.epsilon_upper)).valid


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dpcore", "invert", *words], capture_output=True, text=True, timeout=100
    )


def test_command_line():
    done = run("--loss", "l1", "--error", "1.0", "--delta", "1e-6")
    answer = json.loads(done.stdout)
    assert (answer["mechanism"], answer["error"]) == (OPTIMAL, 1.0)
    assert 0.955 < answer["epsilon_lower"] < answer["epsilon_upper"] < 0.9625
    width = json.loads(run("--half-width", "3", "--delta", "0", "--mechanism", "laplace").stdout)
    assert width["loss"] == "exceed:3" and width["error"] == 0.05
    assert width["epsilon_upper"] == pytest.approx(-math.log(0.05) / 3, rel=1e-8)
    for bad, word in (
        (["--delta", "0.1"], "error"),
        (["--delta", "0.1", "--error", "x"], "error"),
        (["--error", "1"], "delta"),
        (["--delta", "0.1", "--half-width", "1", "--error", "1"], "half-width"),
        (["--delta", "0.1", "--half-width", "1", "--coverage", "2"], "coverage"),
        (["--delta", "0.1", "--error", "1", "--mechanism", "foo"], "mechanism"),
        (["--delta", "0.1", "--error", "1", "--tolerance", "0"], "tolerance"),
    ):
        done = run(*bad)
        assert done.returncode == 2 and word in done.stderr, (bad, done.stderr)
        assert done.stdout == ""
