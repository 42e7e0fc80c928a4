"""The one list of the fields of a kind of problem: files and options made from it are read back as the same problem."""

from __future__ import annotations

import inspect
import json
import math
import shlex
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import deltas, epsilons, losses, sensitivities

from dpcore.cli import build_parser, data_dependent, private_program, profile
from dpcore.cli.base import Parser
from dpcore.cli.reading import add_fields, add_problem_options, read_fields, read_problem
from dpcore.data_dependent import DataDependentProblem, data_dependent_problem
from dpcore.errors import InputError
from dpcore.isotropic.problem import IsotropicProblem, isotropic_problem
from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.private_optimization import PrivateProgram
from dpcore.private_optimization.files import save_program
from dpcore.private_optimization.stories import two_products
from dpcore.problem import Budget, NoiseProblem, noise_problem
from dpcore.problem_fields import LISTS, from_dict, to_dict
from dpcore.problem_fields.noise import FIELDS, constraints, problem_from_dict, problem_to_dict
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.query import vector_query


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


# The other kinds of problem -----------------------------------------------------------------------------------


@st.composite
def dependent_problems(draw) -> DataDependentProblem:
    """Problems of data-dependent noise with every field, few of which can be solved soon."""
    width = draw(st.integers(2, 20))
    asked: dict = {"query_range": (-width, width), "weight": draw(st.sampled_from(["uniform", "normal:0.5:2"]))}
    kind = draw(st.sampled_from(["plain", "capped", "shaped", "shared", "mirrored"]))
    if kind == "capped":
        asked["instance_cap"] = draw(st.sampled_from(["auto", 1.5]))
    elif kind == "shaped":
        asked |= {"monotone": draw(st.booleans()), "ordered": draw(st.booleans())}
    elif kind == "shared":
        asked |= {"partition": (-0.5, 1.25), "shared": draw(st.sampled_from(["release", "noise"]))}
    elif kind == "mirrored":
        asked |= {"loss": "asym:1:3", "loss_below": draw(st.sampled_from(["mirrored", "l2"])), "partition": (0.5,)}
    return data_dependent_problem(draw(st.sampled_from(ROUND)), 0.25, 2.0, **{"loss": "l1", **asked})


@st.composite
def isotropic_problems(draw) -> IsotropicProblem:
    loss = draw(st.sampled_from(["norm", "squared", "power:1.5", "exceed:3"]))
    return isotropic_problem(draw(st.integers(1, 1000)), draw(st.sampled_from(ROUND)), 1e-6, 2.5, loss)


@st.composite
def vector_queries(draw) -> VectorQuery:
    values = draw(st.lists(st.sampled_from(ROUND), min_size=2, max_size=4))
    epsilon, delta = draw(st.sampled_from(ROUND)), draw(st.sampled_from([0.0, 1e-6]))
    query = vector_query(epsilon, delta, parse_profile(",".join(map(str, values))))
    weights = draw(st.none() | st.just((2.0,) * len(values)))
    more = {"power": draw(st.sampled_from([1.0, 1.5, 2.0])), "l1": draw(st.none() | st.just(8.0))}
    return replace(query, weights=weights, l2=draw(st.none() | st.just(4.0)), **more)


@st.composite
def private_programs(draw) -> PrivateProgram:
    step = draw(st.sampled_from([None, 0.5]))
    return replace(PROGRAM, epsilon=draw(st.sampled_from(ROUND)), delta=draw(st.sampled_from([0.0, 1e-6])),
                   sensitivity=draw(st.sampled_from([0.5, 1.0])), granularity=step)  # fmt: skip


ROUND = (0.25, 0.5, 1.0, 3.0)
"""Numbers that tables do not shorten."""

PROGRAM = two_products()

KINDS = {
    "data-dependent": (dependent_problems(), data_dependent_problem),
    "isotropic": (isotropic_problems(), isotropic_problem),
    "profile": (vector_queries(), vector_query),
    "private-lp": (private_programs(), PrivateProgram),
}
"""Command → its problems, and what makes one."""


@pytest.mark.parametrize("command", KINDS)
def test_every_field_is_an_argument_of_what_makes_the_problem(command):
    arguments = set(inspect.signature(KINDS[command][1]).parameters)
    assert arguments - {"model", "rows", "guaranteed"} == set(LISTS[command])


@pytest.mark.parametrize("command", ["data-dependent", "isotropic"])
@given(data=st.data())
def test_a_file_of_another_kind_holds_every_field(command, data):
    problems, make = KINDS[command]
    problem, fields = data.draw(problems), LISTS[command]
    told = json.loads(json.dumps(to_dict(fields, problem), allow_nan=False))
    assert set(fields) - set(told) <= {name for name, field in fields.items() if field.brief}
    assert make(**from_dict(fields, told)) == problem


@pytest.mark.parametrize("command", KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_options_of_another_kind_hold_every_field(command, model_and_rows, data):
    problem, fields = data.draw(KINDS[command][0]), LISTS[command]
    values = {name: field.of(problem) for name, field in fields.items()}
    words = [f.told(values[name]) for name, f in fields.items() if f.required or values[name] != f.default]
    before = [command, *(model_and_rows if command == "private-lp" else ())]
    found = ASKED[command](build_parser().parse_args([*before, *shlex.split(" ".join(words))]))
    assert {name: field.of(found) for name, field in fields.items()} == values


@pytest.fixture(scope="module")
def model_and_rows(tmp_path_factory) -> list[str]:
    """What `private-lp` is told of `PROGRAM` besides its fields."""
    folder = tmp_path_factory.mktemp("program")
    model, rows = str(folder / "program.mps"), str(folder / "program.csv")
    save_program(PROGRAM, model, rows)
    return [model, "--lower-limits", rows]


ASKED = {
    "data-dependent": data_dependent.read_problem,
    "isotropic": lambda given: isotropic_problem(**read_fields(given, LISTS["isotropic"], {})),
    "profile": profile.read_query,
    "private-lp": private_program.read_program,
}
"""Command → the problem that its options describe."""
