"""Steps in a trust region find what vertices do, sooner where there is much to choose from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.optimal import solve
from dpcore.optimal.central import CentralProgram
from dpcore.optimal.curve import CurveProgram
from dpcore.optimal.profile import ProfileSearch, exceed_lower
from dpcore.optimal.step import Limits
from dpcore.optimal.trust import NEGLIGIBLE, TrustProgram
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings, noise_problem

TABLE = "table:-6.8=2.15,-1.2=2.15,-1.1=2.2,0=0,0.1=0.1,0.41=0.41,1.4=1.4,3.5=5.6"


def problem_of(mu, loss):
    profile = GaussianProfile(mu)
    return noise_problem(profile.anchor.epsilon, profile.anchor.delta, 1.0, loss, profile=profile)


def search_of(mu, loss, time_limit=100):
    search = ProfileSearch(problem_of(mu, loss), SolverSettings(time_limit=time_limit))
    search._start()
    programs, make = [], search._curve_program
    search._curve_program = lambda *args, **more: programs.append(make(*args, **more)) or programs[-1]
    return search, programs


def anew(program):
    """The program as it was before its first step."""
    program.cuts, program.rates, program._proofs, program._unused = [], [], [], []
    program._rows, program.lower = program._rows[:0], 0.0
    program.start()
    return program


@pytest.mark.parametrize(
    ("loss", "mu"), [("l1", 0.4), ("l2", 0.3), ("pinball:0.8", 0.5), ("asym:1:4", 0.3), (TABLE, 0.5)]
)
def test_steps_and_vertices_find_the_same(loss, mu, monkeypatch):
    """Or central points, where the loss is the same far out on a side."""
    found, other = [], CentralProgram if loss == TABLE else CurveProgram
    for kind, trusted_to in ((TrustProgram, 0.55), (other, 0.0)):
        monkeypatch.setattr("dpcore.optimal.profile.TRUSTED_TO", trusted_to)
        search, programs = search_of(mu, loss)
        search.lower = 0.9 * search.upper
        for k in (1, 2, 3):
            search._curve_nodes(k)
            search._curve_cells(k)
        assert {type(program) for program in programs} == {kind}
        found.append((programs[-2].proved(search.profile), programs[-1].upper))
        assert programs[-1].private and not programs[-1].outside(programs[-1].inner)
    (steps, law), (vertices, other) = found
    assert vertices * (1 - 2e-4) <= steps <= law
    assert steps <= other and vertices <= law <= other * (1 + 2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_what_exceeds_its_limit_exceeds_it_no_more_after_a_step(seed):
    search, programs = search_of(0.4, "l1")
    search._curve_nodes(4)
    program = anew(programs[0])
    u = program._u * np.random.default_rng(seed).uniform(0.8, 1.25, len(program._u))
    program._u = u = u / float(program._mass @ u)
    program._look(program.violated(program._law_of(program._u), -0.3))
    rows, before = program._rows, program._rows @ program._u
    step = program._step(1, 0.05, 0.05, Limits(1.0, 1e-6, math.inf, lambda: False))
    assert before.max() > 1.001 and np.sum(before > 1) > 1
    assert np.all(rows @ step.law <= np.maximum(before, 1.0) + 1e-8)
    assert step.over <= before.max() - 1
    assert np.all(np.abs(step.law - u) <= 0.05 * np.maximum(u, NEGLIGIBLE) + 1e-9)


@pytest.mark.parametrize(("loss", "mu", "k"), [("l1", 0.663, 8), ("pinball:0.83", 0.406, 5)])
def test_a_law_from_a_program_costs_next_to_no_more_with_its_tail(loss, mu, k):
    search, programs = search_of(mu, loss)
    search.lower = 0.996 * search.upper
    search._curve_cells(k)
    assert search.best.source == "linear program"
    assert programs[0].upper <= search.upper <= programs[0].upper * (1 + 1e-4)


def test_stop_ends_steps_at_once_and_rounds_of_proof_do_not_repeat_themselves(monkeypatch):
    search, programs = search_of(0.4, "pinball:0.8")
    search._curve_nodes(3)
    steps, asked = [], []
    step = TrustProgram._step
    monkeypatch.setattr(TrustProgram, "_step", lambda self, *args, **more: steps.append(1) or step(self, *args, **more))
    program = anew(programs[0])
    stop = lambda: asked.append(1) or len(asked) > 4  # noqa: E731
    assert program.solve(Limits(1.0, 1e-6, math.inf, stop), lambda lower, upper: False) == "stopped"
    assert len(steps) <= 5 and program.lower < 0.9 * search.lower
    program = anew(programs[0])
    program._prove(math.inf, Limits(1.0, 1e-6, math.inf, lambda: False), lambda lower, upper: False)
    assert program.lower > 0  # without a step, from the first law alone
    names = [(tuple(cut.tests.tolist()), cut.z) for cut in program.cuts]
    assert len(names) == len(set(names))


def test_rare_errors_on_plain_lattices_are_left_to_vertices():
    search, programs = search_of(0.54, "exceed:10.8")
    search.lower = exceed_lower(search.problem)
    search._curve_nodes(3)
    assert type(programs[0]) is CurveProgram
    assert 2e-9 < programs[0].proved(search.profile) <= search.upper


def test_an_uneven_table_closes_at_a_small_mu():
    proof = solve(problem_of(0.387, TABLE), SolverSettings(gap=1e-3, time_limit=60)).certificate
    assert proof.lower <= proof.upper <= 1.001 * proof.lower
    assert proof.profile.holds
