"""Graded lattices: what their rows say, what their multipliers prove."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.optimal import additive, solve
from dpcore.optimal.additive import Search
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.lower import lower_step
from dpcore.optimal.mesh import Grading, Mesh
from dpcore.optimal.program import LatticeProgram
from dpcore.optimal.step import Limits, Window
from dpcore.privacy import Privacy
from dpcore.problem import Budget, NoiseProblem, SolverSettings, noise_problem

SOLVERS = 1e-7
"""What a linear program's optimum may be off, relative to costs of order 1."""


@st.composite
def meshes(draw):
    """Meshes over some periods: graded towards one or two steps or with all nodes, folded or not, some with an end of
    the support."""
    k, coarse = draw(st.integers(2, 5)), 2 ** draw(st.integers(1, 3))
    folded = draw(st.booleans())
    left, right = draw(st.integers(1, 2 * k)), draw(st.integers(1, 2 * k))
    left = right if folded else left
    open_right = draw(st.booleans())
    open_left = open_right if folded else draw(st.booleans())
    lattice = Lattice(k, -left - k * open_left, right + k * open_right, -left, right, folded)
    steps = draw(st.lists(st.floats(-0.4, 0.4), max_size=2))
    steps = (0.0, *steps, *(-step for step in steps if folded)) if draw(st.booleans()) else ()
    return Mesh.of(lattice, Grading(coarse, steps, draw(st.sampled_from([1.0, 2.0, 4.0])), draw(st.floats(0, 3))))


def on_the_whole_lattice(mesh: Mesh) -> Lattice:
    return Lattice(mesh.k, mesh.first, mesh.last, mesh.first, mesh.last, mesh.folded)


@given(meshes())
def test_nodes_and_shifts_of_the_lattice_are_kept(mesh):
    nodes, whole = set(mesh.indices.tolist()), on_the_whole_lattice(mesh)
    assert {i for i in range(mesh.first, mesh.last + 1) if i % mesh.coarse == 0} | {mesh.first, mesh.last} <= nodes
    assert set(mesh.shifts.tolist()) <= set(whole.shifts.tolist())
    assert set(range(mesh.coarse, mesh.k + 1, mesh.coarse)) | {mesh.k - 1} <= set(mesh.shifts.tolist())
    signs = (1,) if mesh.folded else (1, -1)
    assert sorted(mesh.shifts.tolist()) == sorted(s * j for s in signs for j in mesh.shifts.tolist() if j > 0)
    if mesh.folded:
        assert nodes == {-i for i in nodes}
    kept = [i for i in mesh.indices.tolist() if i >= 0 or not mesh.folded]
    own = [abs(i) if mesh.folded else i for i in mesh.indices.tolist()]
    assert np.all(mesh.classify(mesh.indices) == [kept.index(i) for i in own])
    assert np.all(mesh.classify(mesh.indices[mesh.representatives]) == np.arange(mesh.classes))
    assert np.all(mesh.locate(mesh.indices / mesh.k) == np.arange(len(mesh.indices)))
    for j in mesh.shifts.tolist():
        assert np.all(np.isin(mesh.events_at(j), mesh.events))


@pytest.mark.parametrize("folded", [False, True])
def test_steps_are_nodes_however_odd_the_lattice(folded):
    """Plateaus that end at .44 and .61: 5 cells of 20 steps each, of which the finest spacing is 5."""
    steps = (0.0, 0.44, -0.39, *((-0.44, 0.39) if folded else ()))
    mesh = Mesh.of(Lattice(5, -15, 15, -10, 10, folded), Grading(20, steps, 2.0, 2.0, finest=5))
    nodes, away = set(mesh.indices.tolist()), [0, -5, 5]
    for place in (44, 61, -39, -56, 144, 161):
        assert {place + i for i in away} <= nodes
        if folded:
            assert {-place + i for i in away} <= nodes
    assert {80, 90, 95, 100} <= set(mesh.shifts.tolist()) and 99 not in mesh.shifts


@settings(max_examples=30)
@given(meshes(), st.integers(0, 2**32 - 1), st.floats(0.1, 5))
def test_rows_say_what_the_spread_multipliers_say(mesh, seed, epsilon):
    """Σ (weight of a hat)·(its excess) is the same as Σ w (r_i − E r_{i−j}) over the multipliers on all nodes, for
    every law on the mesh."""
    rng = np.random.default_rng(seed)
    E, whole = math.exp(epsilon), on_the_whole_lattice(mesh)
    masses = rng.random(mesh.classes)
    r = np.zeros(len(whole.indices))
    r[mesh.indices - mesh.first] = mesh.unfold(masses)
    for j in mesh.shifts.tolist():
        places = mesh.events_at(j)
        weights = rng.random(len(places)) * (rng.random(len(places)) < 0.7)
        ours = weights @ mesh.excess(mesh.unfold(masses), j, E)
        shifts, events, spread = mesh.spread(np.full(len(places), j), places, weights)
        cover = events - shifts - mesh.first
        inside = (cover >= 0) & (cover < len(r))
        assert np.all(inside | (cover < 0) & (not mesh.open_left) | (cover >= len(r)) & (not mesh.open_right))
        theirs = spread @ (r[events - mesh.first] - E * np.where(inside, r[np.clip(cover, 0, len(r) - 1)], 0.0))
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9 * E)
        assert np.all(spread <= weights.max(initial=0.0))
        names, none = mesh.pairs(j, np.ones(len(places), bool))
        starts, classes, values = mesh.rows(names, none, np.full(len(names), E))
        if not names.size:
            continue
        rows = np.add.reduceat(values * masses[classes], starts)
        assert rows == pytest.approx(mesh.excess(mesh.unfold(masses), j, E), rel=1e-9, abs=1e-9 * E)


@settings(max_examples=60)
@given(meshes(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-6, 1e6]))
def test_values_everywhere_lie_below_the_interpolant(mesh, seed, size):
    values = size * np.random.default_rng(seed).standard_normal(len(mesh.indices))
    between, nodes = mesh.everywhere(values), mesh.indices.tolist()
    for a, b, here, there in zip(nodes, nodes[1:], values, values[1:]):
        for i in range(a, b + 1):
            exact = Fraction(here) + (Fraction(there) - Fraction(here)) * Fraction(i - a, b - a)
            assert Fraction(between[i - mesh.first]) <= exact
            assert between[i - mesh.first] == pytest.approx(float(exact), abs=1e-13 * size)


@settings(max_examples=20)
@given(meshes(), st.floats(0.3, 4), st.floats(0.01, 0.6))
def test_its_optimum_is_proved_and_below_the_whole_lattice(mesh, epsilon, delta):
    """The multipliers audited on all nodes prove the mesh's own optimum; the program with all pairs on all nodes, from
    which a mesh leaves test functions out, has no smaller one."""
    costs = np.abs(mesh.indices) / mesh.k
    bounds = []
    for lattice in (mesh, on_the_whole_lattice(mesh)):
        own = np.abs(lattice.indices) / lattice.k
        reference = np.exp(-epsilon * own)
        program = LatticeProgram(lattice, own[lattice.representatives], math.exp(epsilon), delta, 1.0, reference)
        program.start(None)
        outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
        assume(outcome.status == "optimal")
        shifts, events, weights = program.multipliers(outcome)
        bound = audit.multiplier_bound_lower(
            lattice.everywhere(own), lattice.first, epsilon=epsilon, delta=delta,
            shifts=shifts, events=events, weights=weights, mirrored=lattice.folded,
        )  # fmt: skip
        assert bound == pytest.approx(outcome.objective, abs=SOLVERS * max(1, costs.max()))
        bounds.append(bound)
    assert bounds[0] <= bounds[1] + SOLVERS * max(1, costs.max())


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss"), [(4, 0.2, "l1"), (3, 0.05, "l1"), (5, 0.25, "l2"), (6, 0.3, "huber:0.1")]
)
def test_a_graded_lattice_proves_more(epsilon, delta, loss):
    """On the same larger cells; and never more than an audited law's loss."""
    problem = noise_problem(epsilon, delta, 1.0, loss)
    step = 1 / (1 + math.exp(epsilon / 2))
    k = round(2 / step)
    window, limits = Window(-1.5, 1.5), Limits(0.1, 1e-3, math.inf, lambda: False)
    even = lower_step(problem, k, window, None, limits)
    graded = lower_step(problem, k, window, even.seed, limits, Grading(8, (0.0, step, -step), 4.0, 1 + 1.3 * step))
    upper = solve(problem, SolverSettings(gap=0.01, time_limit=10)).certificate.upper
    assert even.bound < graded.bound <= upper


@pytest.mark.parametrize(
    "more",
    [{"second": Privacy(6.0, 0.1)}, {"budget": Budget(parse_loss("l2"), 0.06)}, {"symmetric": True}],
    ids=["second pair", "budget", "symmetric"],
)
def test_further_constraints_on_graded_lattices(more):
    """More constraints, dearer laws: the bracket lies above that of the bare problem."""
    settings_ = SolverSettings(gap=0.01, time_limit=20)
    bare = solve(noise_problem(4.0, 0.2), settings_).certificate
    proof = solve(noise_problem(4.0, 0.2, **more), settings_).certificate
    assert proof.lower <= proof.upper
    assert proof.upper >= bare.lower
    assert proof.gap <= 0.01


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [
        (1, 0.2, "l1", (-math.inf, 0.0)),
        (2, 0.05, "l1", (-0.5, math.inf)),
        (1, 0.2, "pinball:0.8", (-math.inf, math.inf)),
    ],
)
def test_few_shifts_prove_nearly_as_much_as_all(epsilon, delta, loss, support):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support)
    window, limits = Window(-4.0, 4.0), Limits(1.0, 1e-3, math.inf, lambda: False)
    coarse = lower_step(problem, 8, window, None, limits)
    few = lower_step(problem, 8, window, coarse.seed, limits, Grading(4))
    every = lower_step(problem, 32, window, None, limits)  # from no seed: pair by pair, too
    assert coarse.bound < few.bound <= every.bound * (1 + 1e-6)
    assert every.bound - few.bound < 0.05 * (every.bound - coarse.bound)
    assert few.pairs < every.pairs
    assert few.bound <= solve(problem, SolverSettings(gap=0.02, time_limit=20)).certificate.upper


@pytest.mark.parametrize(
    ("epsilon", "loss", "support"),
    [(5, "pinball:0.8", (-math.inf, math.inf)), (2.0, "asym:1:3", (-math.inf, math.inf))],
)
def test_problems_that_are_not_even_close_as_well(epsilon, loss, support):
    proof = solve(noise_problem(epsilon, 0.05, 1.0, loss, support=support), SolverSettings(gap=2e-3, time_limit=60))
    assert proof.certificate.gap <= 2e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "support", "gap"),
    [
        (15.7, 0.00738, "-0.89=0.14,-0.61=0,0=0,0.61=0,0.89=0.14", (-math.inf, math.inf), 1e-3),
        (4.74, 0.0155, "-1.4=1.4,0=0,0.44=0,2.5=2.06", (-math.inf, math.inf), 0.01),
        (3.78, 0.782, "-2.7=0.105,-0.21=0.105,0=0,0.18=0.36", (-2.653, 0.2421), 0.02),
    ],
)
def test_ends_of_plateaus_are_nodes(epsilon, delta, rows, support, gap):
    """Where the least expected loss is far below what a chord across an end of a plateau, or across a dip, misses."""
    problem = noise_problem(epsilon, delta, 1.0, f"table:{rows}", support=support)
    assert solve(problem, SolverSettings(gap=1e-3, time_limit=10)).certificate.gap <= gap


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "support"),
    [
        (6.01, 0.0104, "-4.9=0.03,-1=0.03,-0.97=0,-0.41=0.205,0=0,0.16=0,0.35=0.19,4.5=8.49", (-3.384, 3.288)),
        (5.91, 0.00632, "-4=2.1,-3.6=1.9,-1.7=0,-0.26=0.26,0=0,0.26=0.26,1.7=0,3.6=1.9,4=2.1", (-math.inf, math.inf)),
        (13.3, 0.000111, "-2.7=1.5,-1.5=0.3,-1.2=0,-0.32=0.32,0=0,1.9=0,4=1.05", (-math.inf, math.inf)),
    ],
)
def test_several_bottoms_far_below_what_chords_miss(epsilon, delta, rows, support):
    problem = noise_problem(epsilon, delta, 1.0, f"table:{rows}", support=support)
    assert solve(problem, SolverSettings(gap=0.05, time_limit=60)).certificate.gap <= 0.05


def test_events_near_several_bottoms_prove_nearly_what_all_events_do():
    problem = noise_problem(6, 0.01, 1.0, "table:-2=2,-0.6=0,-0.3=0.3,0=0,2=2")
    wide, limits = Window(-1.2, 0.6), Limits(0.01, 1e-3, math.inf, lambda: False)
    every = lower_step(problem, 20, wide, None, limits)
    near = lower_step(problem, 20, replace(wide, near=((-0.66, -0.54), (-0.06, 0.06))), None, limits)
    wrong = lower_step(problem, 20, replace(wide, near=((-0.4, -0.3),)), None, limits)
    assert 0.98 * every.bound <= near.bound <= every.bound * (1 + 1e-6)
    assert near.pairs < 0.6 * every.pairs
    assert wrong.bound < 0.5 * every.bound


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "gap"),
    [(6.54, 0.528, "asym:1:4.14", 1e-3), (5.08, 0.0595, "asym:1:1.73", 5e-4), (5.06, 0.0023, "pinball:0.2", 1e-3)],
)
def test_a_cut_window_loses_next_to_nothing(epsilon, delta, loss, gap):
    """What is lost is told by the same graded lattice without a cut, not by an even one, which proves less.
    gap : at which windows are cut with kernels loaded and without."""
    search = Search(noise_problem(epsilon, delta, 1.0, loss), SolverSettings(gap=gap, time_limit=20))
    assert search.run().certificate.gap <= gap
    assert "nodes" in search._cut
    bounds = [step.bound for step in search._steps["nodes"]]
    assert len(bounds) > 2 and np.all(np.diff(bounds) > 0)


NEXT_TO_AN_END = NoiseProblem(Privacy(3.68, 2.05e-7), 1.0, parse_loss("l2"), support=(-0.696, math.inf))


def test_what_a_window_cut_too_short_found_leads_nowhere(monkeypatch):
    """Here a cut window shows nothing on the next lattice; the one after it began from there and showed as little."""
    for share in ("IDLE", "NEARLY"):
        monkeypatch.setattr(additive, share, -1.0)
    search = Search(NEXT_TO_AN_END, SolverSettings(gap=1e-3, time_limit=20))
    assert search.run().certificate.gap <= 1e-3
    bounds = [step.bound for step in search._steps["ends"]]
    assert "ends" in search._cut and np.all(np.diff(bounds) > 0)


def test_programs_that_only_come_near_a_closed_form_are_not_scanned():
    search = Search(NEXT_TO_AN_END, SolverSettings(gap=1e-3, time_limit=20))
    found = search.run()
    assert found.certificate.gap <= 1e-3 and found.source == "closed form"
    assert len(search._steps["offset"]) < len(search._steps["ends"])
    assert all(step.bound > found.certificate.upper for step in search._steps["offset"])
