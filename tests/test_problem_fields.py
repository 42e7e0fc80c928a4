"""The one list of a problem's fields: files and options made from it are read back as the same problem."""

from __future__ import annotations

import json
import math
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import deltas, epsilons, losses, sensitivities

from dpcore.cli.base import Parser
from dpcore.cli.reading import add_fields, add_problem_options, read_problem
from dpcore.errors import InputError
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.problem import Budget, NoiseProblem, noise_problem
from dpcore.problem_fields import FIELDS, constraints, problem_from_dict, problem_to_dict


@st.composite
def problems(draw) -> NoiseProblem:
    """Problems with every field, few of which can be solved soon."""
    epsilon, delta, sensitivity = draw(epsilons()), draw(deltas(0.01)), draw(sensitivities(1e-3, 1e3))
    far = 1e4 * sensitivity
    kind = draw(st.sampled_from(["plain", "constrained", "lattice", "gdp", "composed", "list"]))
    extra: dict = {"symmetric": draw(st.booleans()), "monotone": draw(st.booleans())}
    if kind == "constrained":
        extra["support"] = draw(st.sampled_from([(-far, far), (-math.inf, math.inf)]))
        extra["budget"] = draw(st.none() | st.builds(Budget, losses(), st.floats(0, 1e6)))
        extra["second"] = draw(st.none() | st.builds(Privacy, epsilons(), deltas()))
    elif kind == "lattice":
        extra["granularity"] = sensitivity / draw(st.integers(1, 20))
    elif kind == "gdp":
        extra["profile"] = GaussianProfile(draw(st.floats(0.01, 4)))
    elif kind == "list":
        extra["profile"] = PairList((Privacy(epsilon, delta), Privacy(0.5, 0.3)))
    elif kind == "composed":
        epsilon, delta = 1.0, 1e-5
        extra["profile"] = Composed(draw(st.integers(1, 50)), Privacy(epsilon, delta))
    return noise_problem(epsilon, delta, sensitivity, draw(losses()), **extra)


@given(problems())
def test_a_file_holds_every_field(problem):
    told = json.loads(json.dumps(problem_to_dict(problem), allow_nan=False))
    assert list(told) == list(FIELDS)
    assert problem_from_dict(told) == problem


@settings(max_examples=50)
@given(problems())
def test_options_hold_every_field(problem):
    """Tables shorten numbers to six digits, so a problem is compared with the one of its shortened options."""
    parser = Parser()
    add_problem_options(parser)
    add_fields(parser, "profile")
    pair = {"epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta}
    exact = [f"--{name}={value!r}" for name, value in pair.items()]
    exact += [f"--sensitivity={problem.sensitivity!r}", f"--loss={problem.loss.spec}"]
    words = constraints(problem)
    try:
        found = read_problem(parser.parse_args([*exact, *shlex.split(words)]))
    except InputError as error:  # a granularity of six digits is no whole part of the sensitivity
        assert error.field == "granularity"
        return
    assert constraints(found) == words
    for name in ("epsilon", "delta", "sensitivity", "loss", "symmetric", "monotone"):
        assert FIELDS[name].of(found) == FIELDS[name].of(problem)


WHOLE = problem_to_dict(noise_problem(1.0, 0.2, budget=Budget(noise_problem(1, 0.1).loss, 3.0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": None}, "epsilon = None: expected a number"),
        ({"delta": "0.1"}, "delta = 0.1: expected a number"),
        ({"loss": None}, "loss = (missing): expected the text of a loss"),
        ({"symmetric": None}, "symmetric = None: expected true or false"),
        ({"support": None}, "support = None: expected a list of two numbers, null for no end"),
        ({"budget": {"most": 1}}, "budget.loss = (missing): expected the text of a loss"),
        ({"second": 3}, "second = 3: expected an object"),
        ({"profile": 7}, "profile = 7: expected the text of a privacy profile"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(change, message):
    with pytest.raises(InputError) as refused:
        problem_from_dict(WHOLE | change)
    assert str(refused.value) == message


@pytest.mark.parametrize("name", FIELDS)
def test_a_file_needs_what_has_no_default(name):
    told = {key: value for key, value in WHOLE.items() if key != name}
    if FIELDS[name].required:
        with pytest.raises(InputError, match=f"{name} = .missing.: expected a field of this name"):
            problem_from_dict(told)
    else:
        assert FIELDS[name].of(problem_from_dict(told)) == FIELDS[name].default
