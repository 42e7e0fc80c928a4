"""Exported scripts run where nothing is installed; exported tables are read as they are; files are named for what they
hold."""

from __future__ import annotations

import io
import math
import re
from itertools import combinations

import pandas as pd
import pytest
from test_samplers import follows

from dpcore.data_dependent import Solution, data_dependent_problem, files
from dpcore.data_dependent import solve as solve_dependent
from dpcore.data_dependent.channel import Channel
from dpcore.data_dependent.clamped import ClampedNoise
from dpcore.data_dependent.script import script as dependent_script
from dpcore.export import file_stem, noise_to_csv, python_snippet
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import Budget, SolverSettings, noise_problem
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.compare import MECHANISMS, allocations
from dpcore.vector.script import script as vector_script

ROUGH = SolverSettings(gap=0.2, time_limit=5)

NOISE = {
    "cells": noise_problem(1, 0.2),
    "tails": noise_problem(1, 0.1, profile=GaussianProfile(1.0)),
    "staircase": noise_problem(1, 0.0, 0.3),
    "points": noise_problem(1, 1e-3, 2.0, granularity=1.0),
    "discrete staircase": noise_problem(1, 0.0, 2.0, granularity=0.5),
}


@pytest.mark.parametrize("name", NOISE)
def test_scripts_of_noise_run_alone(run_alone, name):
    problem = NOISE[name]
    said = run_alone(python_snippet(solve(problem, ROUGH))).splitlines()
    told, released = said[-1].split(": ")
    assert len(said) == 12 and told == "One release of the made-up value 1234" and abs(float(released) - 1234) < 100
    assert ("." in released) == (problem.granularity != 1), "a count has no decimal point"


# Data-dependent noise --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dependent() -> dict[str, Solution]:
    """A law for every true value, at points and anywhere; noise clamped to the range."""
    asked = {
        "points": data_dependent_problem(1, 0.2, 2, "l1", query_range=(0, 4)),
        "anywhere": data_dependent_problem(1, 0.2, 1, "l1", query_range=(-1, 2), monotone=True),
        "clamped": data_dependent_problem(1, 0.05, 1, "l2", query_range=(0, 60)),
    }
    return {name: solve_dependent(problem, ROUGH) for name, problem in asked.items()}


def test_scripts_of_data_dependent_noise_run_alone(run_alone, dependent):
    kinds = {name: type(one.mechanism) for name, one in dependent.items()}
    assert kinds == {"points": Channel, "anywhere": Channel, "clamped": ClampedNoise}
    assert dependent["anywhere"].mechanism.spread and not dependent["points"].mechanism.spread
    for solution in dependent.values():
        low, high = solution.problem.query_range
        told, released = run_alone(dependent_script(solution)).splitlines()[-1].split(": ")
        assert told == f"One release of the made-up value {(low + high) / 2!r}" and low <= float(released) <= high


@pytest.mark.parametrize("value", [0.1, 1.5, 4.0, -3.0, 9.0])
def test_the_script_of_a_channel_draws_its_laws(dependent, value):
    channel, space = dependent["points"].mechanism, {"__name__": "script"}
    exec(compile(dependent_script(dependent["points"]), "script", "exec"), space)
    own, inside = channel.law_of(value), min(max(value, 0.0), 4.0)
    law = dict(zip(channel.grid.points.tolist(), channel.masses[own].tolist()))
    law[inside] = law.get(inside, 0.0) + float(channel.atom_masses[own])
    follows(lambda: space["release"](value), law)


# Vector queries --------------------------------------------------------------------------------------


def test_scripts_of_every_mechanism_for_several_coordinates_run_alone(run_alone):
    queries = [
        VectorQuery(Privacy(1, 1e-3), parse_profile("3,2")),
        VectorQuery(Privacy(0.3, 0.2), parse_profile("exponential:9", normalise="l2"), l1=1.0),
    ]
    seen, mixtures = set(), set()
    for query in queries:
        for one in allocations(query):
            if one.reason:
                continue
            said = run_alone(vector_script(query, one)).splitlines()
            numbers = list(map(float, said[2:]))
            assert len(numbers) == len(query.profile) and all(map(math.isfinite, numbers)) and any(numbers)
            assert said[1].startswith("One release of")
            seen.add(one.key)
            mixtures.add(len(one.noise.parts) > 1)
    assert seen == set(MECHANISMS) and True in mixtures


# Tables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOISE)
def test_tables_of_noise_are_read_without_options(name):
    table = pd.read_csv(io.StringIO(noise_to_csv(solve(NOISE[name], ROUGH))))
    own = ["point", "probability"] if NOISE[name].granularity else ["left", "right", "probability", "density"]
    assert list(table.columns) == own and {kind.kind for kind in table.dtypes} == {"f"}
    assert table["probability"].sum() == pytest.approx(1, abs=1e-9)


def test_tables_of_data_dependent_noise_are_read_without_options(dependent):
    for name, solution in dependent.items():
        table = pd.read_csv(io.StringIO(files.channel_to_csv(solution)))
        assert {kind.kind for kind in table.dtypes} == {"f"}
        if name == "clamped":
            assert list(table.columns) == ["left", "right", "probability", "density"]
        else:
            assert list(table.columns[:3]) == ["from", "to", "true value itself"]
            assert table.iloc[:, 2:].sum(axis=1).tolist() == pytest.approx([1.0] * len(table), abs=1e-12)


# Names -----------------------------------------------------------------------------------------------


def test_names_of_files_tell_losses_sides_and_sensitivities_apart():
    problems = [
        noise_problem(1, 0.2), noise_problem(1, 0.2, 2.0), noise_problem(1, 0.2, 1.0, "l2"),
        noise_problem(1, 0.2, 1.0, "pinball:0.8"), noise_problem(1, 0.2, 1.0, "pinball:0.2"),
        noise_problem(1, 0.2, 1.0, "asym:1:2"), noise_problem(1, 0.2, 1.0, "asym:2:1"),
        noise_problem(1, 0.2, support=(0.0, math.inf)), noise_problem(1, 0.2, support=(-math.inf, 0.0)),
        noise_problem(1, 0.2, monotone=True), noise_problem(1, 0.2, granularity=1.0),
        noise_problem(1, 0.2, second=Privacy(3, 1e-4)), noise_problem(1, 0.2, profile=GaussianProfile(1.0)),
        noise_problem(1, 0.2, budget=Budget(NOISE["cells"].loss, 5.0)),
        *(noise_problem(1, 0.2, 1.0, f"table:{','.join(f'{x}={x * x * (1 + x // 30 * last)}' for x in range(-9, 32))}")
          for last in (0, 1)),
    ]  # fmt: skip
    names = [file_stem(problem) for problem in problems]
    assert names[0] == "noise_epsilon-1_delta-0.2_l1_sensitivity-1" and "_from-0-to-inf" in names[7]
    assert all(re.fullmatch(r"[A-Za-z0-9_.+-]{10,120}", name) for name in names)
    assert all(one != other for one, other in combinations(names, 2))


def test_names_of_files_of_data_dependent_noise_say_the_range_and_the_loss_below_0():
    name = files.file_stem(data_dependent_problem(1, 0.2, 2, "pinball:0.8", query_range=(0, 4), instance_cap=3.0))
    expected = "data-dependent_epsilon-1_delta-0.2_pinball-0.8_sensitivity-2_values-0-to-4_weight-uniform_cap-3"
    assert name == expected
    other = [
        data_dependent_problem(1, 0.2, 2, "pinball:0.8", query_range=(-1, 3), loss_below=below)
        for below in (None, "mirrored", "l1", "steep:1")
    ]
    assert len({files.file_stem(problem) for problem in other}) == 4
    assert "_pinball-0.8_below-0-mirrored_sensitivity-2_" in files.file_stem(other[1])


def test_names_of_files_of_data_dependent_noise_tell_partitions_apart():
    partitions = [(), (1,), (2,), (1, 2), tuple(range(1, 40)), tuple(range(2, 41)), (12,), (-1, 2)]
    problems = [data_dependent_problem(1, 0.2, 2, query_range=(-2, 50), partition=ends) for ends in partitions]
    problems.append(data_dependent_problem(1, 0.2, 2, query_range=(-2, 50), partition=(1,), shared="noise"))
    names = [files.file_stem(problem) for problem in problems]
    assert len(set(names)) == 9 and all(re.fullmatch(r"[A-Za-z0-9_.+-]{10,160}", name) for name in names)
    assert names[3].endswith("_weight-uniform_sets-at-1-2") and names[8].endswith("_sets-at-1_shared-noise")
