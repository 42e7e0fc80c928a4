"""Programs under a whole curve: every event of a small lattice, and what pairs on the curve prove."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from dpcore.optimal import curve, solve
from dpcore.optimal.curve import CurveProgram
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.lower import lower_step
from dpcore.optimal.profile import ProfileSearch, _Density, normal_masses
from dpcore.optimal.step import Limits
from dpcore.optimal.trust import TrustProgram
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings, noise_problem

MU = 1.3
LIMITS = Limits(1.0, 1e-6, float("inf"), lambda: False)


def problem_of(profile, loss):
    anchor = profile.anchor
    return noise_problem(anchor.epsilon, anchor.delta, 1.0, loss, profile=profile)


LAWS = {"proves": False, "strict": tuple(normal_masses((np.arange(12) - 5.5) / 2 * MU * x) for x in (0.97, 0.8, 0.5))}


def small(loss=abs, k=2, n=5, folded=False, kind=CurveProgram, **more):
    """A program on 2n + 1 nodes, of which those within n − k are events."""
    lattice = Lattice(k, -n, n, -n + k, n - k, folded)
    index = lattice.indices
    costs = np.array([loss(i / k) for i in index.tolist()])
    start = normal_masses((np.arange(len(index) + 1) - n - 0.5) / k * MU * 0.999)
    return kind(MU, lattice, costs, start, 1.0, 3.0, **more)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(("kind", "more"), [(CurveProgram, {}), (TrustProgram, LAWS)])
def test_no_event_of_the_answer_says_more_than_the_curve(folded, kind, more):
    program = small(folded=folded, kind=kind, **more)
    program.start()
    assert program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-7) == "optimal"
    mass, most = np.append(program.inner, 0.0), 0.0
    lattice = program.lattice
    events = lattice.events - lattice.first
    for shift in lattice.shifts.tolist():
        covers = events - shift
        covers = np.where((covers >= 0) & (covers < len(program.inner)), covers, len(program.inner))
        for chosen in itertools.product((False, True), repeat=len(events)):
            p, q = mass[events[list(chosen)]].sum(), mass[covers[list(chosen)]].sum()
            z = np.linspace(0, 3, 61)
            limit = norm.cdf(MU / 2 - z) - np.exp(MU * z) * norm.cdf(-MU / 2 - z)
            assert np.all(p - np.exp(MU * z) * q <= limit * (1 + 1e-8) + 1e-12)
            most = max(most, float(np.max((p - np.exp(MU * z) * q) / limit)))
    assert most > 1 - 1e-3  # the curve is what limits it


def test_the_proof_is_as_good_as_the_program_and_no_law_undercuts_it():
    program = small(lambda x: abs(x - 0.2))
    program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-7)
    proved = program.proved(GaussianProfile(MU))
    assert program.upper - 1e-5 < proved <= program.upper
    rng = np.random.default_rng(1)
    for width in rng.uniform(0.3, 1, 20):  # wider normal laws, off the middle, keep the curve
        law = normal_masses((np.arange(12) - 5.5) / 2 * MU * width + rng.normal() * 0.2)
        law[[0, -1]] += (1 - law.sum()) / 2
        assert law @ program.costs >= proved - 1e-12


def test_chords_lie_below_the_curve_and_close_to_it():
    covers, events, rises = small()._chords
    assert np.allclose(events[:-1] + rises[:-1] * np.diff(covers), events[1:], rtol=1e-12)
    inner = covers[1:-1] + 0.37 * np.diff(covers[1:])
    inner = inner[(inner > 1e-30) & (inner < 1 - 1e-9)]
    most = norm.cdf(norm.ppf(inner) + MU)
    chord = np.interp(inner, covers, events)
    assert np.all(chord <= most)
    assert np.all(chord >= most * (1 - 1e-3))


def test_where_the_last_multipliers_are_inaccurate_those_before_prove_the_bound():
    program = small(lambda x: abs(x - 0.2), k=3, n=9)
    program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-7)
    proved, (lower, rates) = program.proved(GaussianProfile(MU)), program._proofs[-1]
    program._proofs[-1] = (lower, [(cut, 0.9 * rate) for cut, rate in rates])
    assert program._proved(GaussianProfile(MU), program._proofs[-1][1]) < proved - 1e-3
    assert program.upper - 1e-3 < program.proved(GaussianProfile(MU)) <= program.upper


def test_rows_that_leave_take_nothing_from_the_proof(monkeypatch):
    monkeypatch.setattr(curve, "IDLE", 0)
    program = small()
    program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-7)
    assert program.upper - 1e-5 < program.proved(GaussianProfile(MU)) <= program.upper


@pytest.mark.parametrize("loss", ["l1", "pinball:0.3", "exceed:0.5"])
def test_the_curve_proves_more_than_pairs_on_it_at_the_same_lattice(loss):
    profile = GaussianProfile(1.0)
    search = ProfileSearch(problem_of(profile, loss), SolverSettings(time_limit=60))
    search._start()
    pairs = search._with_pairs(profile.necessary(profile.places(12)))
    few = lower_step(pairs, 4, search._window(0.5), None, search._limits)
    search._curve_nodes(4)
    assert few.bound - 4e-3 * search.upper < search.lower <= search.upper


@pytest.mark.parametrize(
    ("loss", "mu", "gap"), [("l1", 0.25, 1e-3), ("pinball:0.3", 1.0, 1e-2), ("l1", 2.0, 5e-3), ("l1", 3.2, 3e-2)]
)
def test_brackets_close(loss, mu, gap):
    solution = solve(problem_of(GaussianProfile(mu), loss), SolverSettings(gap=gap, time_limit=60))
    proof = solution.certificate
    assert proof.lower <= proof.upper <= (1 + gap) * proof.lower
    assert proof.profile.holds


def test_a_law_rounded_to_any_lattice_keeps_the_curve():
    whole = Lattice(3, -12, 12, -12, 12, False)
    wide = normal_masses((np.arange(26) - 12.5) / 3 * MU * 0.95)
    program = CurveProgram(MU, whole, np.abs(whole.places), wide, 1.0, 3.0)
    program.solve(LIMITS, lambda lower, upper: upper - lower < 1e-5)
    assert program.private and program.upper < 0.98 * float(program.costs @ wide)
    law = _Density(program.lattice.ends / 6, np.append(0.0, np.cumsum(program.inner)) / program.inner.sum())
    for k in (2, 4, 5):
        lattice = Lattice(k, -5 * k, 5 * k, -5 * k, 5 * k, False)
        nodes, costs = law.nodes(lattice), np.abs(lattice.places)
        assert nodes.sum() == pytest.approx(1)
        assert nodes @ lattice.places == pytest.approx(program.inner @ program.lattice.places, abs=1e-12)
        for masses in (nodes, law.cells(lattice)):
            assert not CurveProgram(MU, lattice, costs, masses, 1.0, 3.0).violated(masses, 1e-8)
    narrower = CurveProgram(0.97 * MU, lattice, costs, nodes, 1.0, 3.0)
    assert not narrower.private and narrower.violated(narrower.inner, 1e-3)


def test_a_law_is_rounded_to_the_nodes_on_either_side():
    rng = np.random.default_rng(3)
    law, lattice = (
        _Density(np.array([-0.7, -0.1, 0.35, 0.6]), np.array([0.0, 0.2, 0.9, 1.0])),
        Lattice(3, -4, 4, -4, 4, False),
    )
    x = np.interp((np.arange(200_000) + 0.5) / 200_000, law.below, law.breaks)
    rounded = np.floor(3 * x + rng.random(len(x))).astype(int)
    assert law.nodes(lattice) == pytest.approx(np.bincount(rounded + 4, minlength=9) / len(x), abs=4e-3)


def test_rows_stay_while_the_value_does(monkeypatch):
    monkeypatch.setattr(curve, "IDLE", 0)
    left = []
    forget = CurveProgram._forget
    monkeypatch.setattr(CurveProgram, "_forget", lambda self, rates: left.append(forget(self, rates)))
    level = small(lambda x: 1.0, k=3, n=9)
    level.inner = np.eye(19)[9]  # an atom, which rows have to spread
    assert level.solve(LIMITS, lambda lower, upper: False) == "optimal"
    assert level.cuts and len(left) == 1  # in the first round the value rises from 0
    rising = small(abs, k=3, n=9)
    rising.solve(LIMITS, lambda lower, upper: upper - lower < 1e-7)
    assert len(left) > 2


def test_where_highs_cannot_go_on_from_its_basis_it_begins_anew():
    loss = "table:-2.3=1.15,-0.25=0.125,0=0,1.2=1.2,2.9=1.2"
    search = ProfileSearch(problem_of(GaussianProfile(0.711), loss), SolverSettings(time_limit=60))
    search._start()
    bounds = []
    for k in (1, 2, 3, 5):
        search._curve_nodes(k)
        bounds.append(search.lower)
    assert np.all(np.diff(bounds) > 1e-3) and search.lower <= search.upper
