"""Graded lattices: what their rows say, what their multipliers prove."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.optimal import solve
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.lower import lower_step
from dpcore.optimal.mesh import Grading, Mesh
from dpcore.optimal.program import LatticeProgram
from dpcore.optimal.step import Limits, Window
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem

SOLVERS = 1e-7
"""What a linear program's optimum may be off, relative to costs of order 1."""


@st.composite
def meshes(draw):
    """Meshes over some periods, graded towards one or two steps."""
    k, coarse = draw(st.integers(2, 5)), 2 ** draw(st.integers(1, 3))
    event_last = draw(st.integers(1, 2 * k))
    steps = tuple(draw(st.lists(st.floats(0.05, 0.4), min_size=1, max_size=2)))
    lattice = Lattice(k, -event_last - k, event_last + k, -event_last, event_last, True)
    return Mesh.of(lattice, Grading(coarse, steps, draw(st.sampled_from([1.0, 2.0, 4.0]))), draw(st.floats(0, 3)))


def on_the_whole_lattice(mesh: Mesh) -> Lattice:
    return Lattice(mesh.k, mesh.first, mesh.last, mesh.first, mesh.last, True)


@given(meshes())
def test_nodes_and_shifts_of_the_lattice_are_kept(mesh):
    nodes, whole = set(mesh.indices.tolist()), on_the_whole_lattice(mesh)
    assert nodes == {-i for i in nodes}
    assert set(range(0, mesh.last + 1, mesh.coarse)) <= nodes
    assert set(mesh.shifts.tolist()) <= set(whole.shifts.tolist())
    assert set(range(mesh.coarse, mesh.k + 1, mesh.coarse)) | {mesh.k - 1} <= set(mesh.shifts.tolist())
    assert np.all(mesh.classify(mesh.indices) == [mesh.nodes.index(abs(i)) for i in mesh.indices.tolist()])
    assert np.all(mesh.locate(mesh.indices / mesh.k) == np.arange(len(mesh.indices)))
    assert all(np.all(np.abs(mesh.events_at(j)) <= mesh.event_last) for j in mesh.shifts.tolist())


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
        assert np.all((cover >= 0) & (cover < len(r)))
        theirs = spread @ (r[events - mesh.first] - E * r[cover])
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9 * E)
        assert np.all(spread <= weights.max(initial=0.0))
        names, none = mesh.pairs(j, np.ones(len(places), bool))
        starts, classes, values = mesh.rows(names, none, E)
        if not names.size:
            continue
        rows = np.add.reduceat(np.where(classes < 0, 0.0, values * masses[classes]), starts)
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
            shifts=shifts, events=events, weights=weights, mirrored=True,
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
    graded = lower_step(problem, k, window, even.seed, limits, Grading(8, (step,), 4.0))
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
