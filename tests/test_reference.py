"""The reference method against brute force, published values and itself at interruption."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import algorithm_2, bounding_problem, largest_shortfall

from dpcore import audit
from dpcore.cutting_planes import CuttingPlanes
from dpcore.errors import InputError
from dpcore.kernels.worst_event import shortfalls, worst_events
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.partition import Partition
from dpcore.problem import SolverSettings, noise_problem
from dpcore.reference import cut_bound_lower, infima, solve_reference

QUICK = {"drop_slack": 0.01, "drop_every": 10}
LITERAL = {"add_all_above": None, "drop_slack": None}


def exhaust(resolution: int = 8, time_limit: float = 30.0) -> SolverSettings:
    """Settings that solve both linear programs to the end: no gap this small is reached on these grids."""
    return SolverSettings(gap=1e-6, time_limit=time_limit, method="reference", cells_per_sensitivity=resolution)


@st.composite
def laws(draw, most_units=24):
    """(Partition, masses): any partition, any masses, zeros among them."""
    resolution = draw(st.integers(1, 5))
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8).filter(lambda w: sum(w) <= most_units))
    start = draw(st.integers(-12, 4))
    weights = draw(st.lists(st.integers(0, 9), min_size=len(widths), max_size=len(widths)).filter(any))
    breaks = tuple((start + np.concatenate([[0], np.cumsum(widths)])).tolist())
    return Partition(resolution, breaks), np.array(weights) / sum(weights)


def event_value(partition, masses, amplification, shift, event, window):
    """Σ_A p − e^ε Σ_A p(· − φ) from the definition."""
    unit = np.repeat(masses / partition.widths, partition.widths)
    mass = lambda x: unit[x - partition.breaks[0]] if partition.breaks[0] <= x < partition.breaks[-1] else 0.0  # noqa: E731
    return sum(mass(x) - amplification * mass(x - shift) for x, inside in zip(range(*window), event) if inside)


# Partitions -----------------------------------------------------------------------------------------


def test_uniform_partition():
    partition = Partition.uniform(4, 2)
    assert partition.cells == 16 and partition.is_symmetric
    assert partition.edges(3.0)[[0, 8, -1]].tolist() == [-6.0, 0.0, 6.0]
    assert partition.padded().breaks == tuple(range(-12, 13))


@given(st.integers(1, 24), st.integers(1, 6))
def test_widening_partition_divides_the_sensitivity(resolution, half_width):
    partition = Partition.widening(resolution, half_width)
    assert partition.is_symmetric and partition.breaks[-1] == half_width * resolution
    right = partition.widths[partition.cells // 2 :]
    assert right[0] == 1 and (np.diff(right) >= 0).all() and (resolution % right == 0).all()
    assert {m * resolution for m in range(-half_width, half_width + 1)} <= set(partition.breaks)


@given(laws())
def test_shifts_are_the_differences_of_breaks(law):
    partition, _ = law
    k = partition.resolution
    expected = {a - b for a in partition.breaks for b in partition.breaks if 0 < abs(a - b) <= k} | {-k, k}
    assert partition.shifts.tolist() == sorted(expected)


@pytest.mark.parametrize("breaks", [(0,), (0, 0), (3, 1), (0, 1.5, 3)])
def test_partition_refuses(breaks):
    with pytest.raises(InputError):
        Partition(2, breaks)


# Algorithm 2 ----------------------------------------------------------------------------------------


@given(laws(), st.floats(1.0, 20.0))
@settings(deadline=None)
def test_kernel_equals_algorithm_2(law, amplification):
    partition, masses = law
    window = (partition.breaks[0], partition.breaks[-1])
    found = shortfalls(partition.points, masses, amplification, partition.shifts, window)
    events = worst_events(partition.points, masses, amplification, partition.shifts, window)
    expected, shift, event = algorithm_2(partition.breaks, masses, amplification, partition.resolution)
    assert found.max() == pytest.approx(expected, abs=1e-13)  # sums of at most 24 numbers below 1
    at = partition.shifts.tolist().index(shift)
    assert found[at] == pytest.approx(expected, abs=1e-13)
    ours = event_value(partition, masses, amplification, shift, events[at], window)
    theirs = event_value(partition, masses, amplification, shift, [x in event for x in range(*window)], window)
    assert ours == pytest.approx(theirs, abs=1e-12)


@given(laws(most_units=9), st.floats(1.0, 20.0), st.booleans())
@settings(deadline=None, max_examples=60)
def test_kernel_equals_all_events(law, amplification, with_padding):
    partition, masses = law
    window = (partition.breaks[0], partition.breaks[-1])
    if with_padding:
        partition = partition.padded()
        masses = np.resize(masses, partition.cells) / 2
    found = shortfalls(partition.points, masses, amplification, partition.shifts, window)
    for shift, value in zip(partition.shifts.tolist(), found):
        expected = largest_shortfall(partition.breaks, masses, amplification, shift, window)
        assert value == pytest.approx(expected, abs=1e-12)


@given(laws(), st.floats(0.0, 3.0))
@settings(deadline=None)
def test_kernel_agrees_with_the_audit(law, epsilon):
    """The audit is other code on exact weights; its bound lies above by rounding only."""
    partition, masses = law
    window = (partition.breaks[0], partition.breaks[-1])
    ours = shortfalls(partition.points, masses, math.exp(epsilon), partition.shifts, window).max()
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=partition.resolution, breaks=partition.points, masses=masses
    )
    assert min(ours, 1.0) == pytest.approx(audit.shortfall_upper(noise, epsilon)[0], abs=1e-12)


# The bounding problems ------------------------------------------------------------------------------


def relaxation(problem, partition, window, costs, **options):
    """Algorithm 1 run to its end."""
    options = {"scale": 1.0, "add_all_above": 0.0, "drop_slack": None, "drop_every": 200} | options
    planes = CuttingPlanes(problem, partition, window, costs, **options)
    deadline = time.perf_counter() + 30
    while not planes.done and time.perf_counter() < deadline:
        assert planes.solve(deadline, lambda: False)
        planes.separate()
    assert planes.done
    return planes


@pytest.mark.parametrize("spec", ["l1", "pinball:0.8", "l2"])
@pytest.mark.parametrize(
    "partition", [Partition.uniform(2, 2), Partition(2, (-4, -2, -1, 0, 1, 2, 4)), Partition(2, (-4, -3, -1, 2, 4))]
)
@pytest.mark.parametrize("one_by_one", [False, True])
def test_cutting_planes_equal_all_rows(spec, partition, one_by_one):
    """P(π, β) and D(π, β) on at most 8 unit cells against the program with every event."""
    problem, loss = noise_problem(1.0, 0.3, 1.0, spec), parse_loss(spec)
    window = (partition.breaks[0], partition.breaks[-1])
    options = {"add_all_above": None if one_by_one else 0.0}
    edges = partition.edges(1.0)
    means = loss.mean(edges[:-1], edges[1:])
    planes = relaxation(problem, partition, window, means, **options)
    exact, _ = bounding_problem(partition.breaks, means, math.e, 0.3, partition.resolution, window)
    assert float(means @ planes.masses) == pytest.approx(exact, rel=1e-5)  # rows stop 1e-6·δ short of violation
    padded = partition.padded()
    costs = np.minimum.reduceat(infima(loss, partition.refined().padded(), 1.0), padded.points[:-1] - padded.breaks[0])
    planes = relaxation(problem, padded, window, costs, **options)
    exact, _ = bounding_problem(padded.breaks, costs, math.e, 0.3, partition.resolution, window)
    assert float(costs @ planes.masses) == pytest.approx(exact, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("partition", [Partition.uniform(2, 2), Partition.uniform(1, 4)])
def test_certified_bracket_equals_the_exact_programs(partition):
    """On uniform partitions nothing is lost between the programs' values and the certificates."""
    loss, k = parse_loss("l1"), partition.resolution
    window = (partition.breaks[0], partition.breaks[-1])
    edges = partition.edges(1.0)
    upper, _ = bounding_problem(partition.breaks, loss.mean(edges[:-1], edges[1:]), math.e, 0.3, k, window)
    padded = partition.padded()
    lower, _ = bounding_problem(padded.breaks, infima(loss, padded, 1.0), math.e, 0.3, k, window)
    found = solve_reference(noise_problem(1.0, 0.3), exhaust(), partition=partition).certificate
    assert lower * (1 - 1e-5) <= found.lower <= lower <= upper * (1 + 1e-9)
    assert upper <= found.upper * (1 + 1e-12) <= upper * (1 + 1e-5)


@given(
    st.sampled_from(["l1", "l2", "lp:1.5", "pinball:0.8", "huber:0.7", "exceed:1", "table:-2=3,0.3=1,1=1,2=7"]),
    st.integers(1, 6),
    st.floats(0.1, 10.0),
)
def test_infima_are_those_of_the_loss(spec, resolution, sensitivity):
    loss, partition = parse_loss(spec), Partition.uniform(resolution, 2)
    edges = partition.edges(sensitivity)
    found = infima(loss, partition, sensitivity)
    ends = [(-math.inf, edges[1]), *zip(edges[1:-2], edges[2:-1]), (edges[-2], math.inf)]
    exact = np.array([loss.infimum(float(a), float(b)) for a, b in ends])
    assert (found <= exact).all()
    jumps = np.isclose(np.abs(edges[:, None]), 1.0, rtol=1e-12).any() if spec == "exceed:1" else False
    assert jumps or found == pytest.approx(exact, rel=1e-9, abs=1e-9)


def random_dual(rng, count, partition):
    events = rng.random((count, partition.breaks[-1] - partition.breaks[0])) < 0.5
    shifts = rng.choice(partition.shifts, count)
    return events, shifts, rng.exponential(0.2, count) - 0.05


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("even", [False, True])
def test_any_multipliers_give_a_bound(seed, even):
    """Weak duality holds for arbitrary multipliers; the definition is evaluated point by point."""
    rng, partition = np.random.default_rng(seed), Partition.uniform(3, 3)
    problem = noise_problem(0.7, 0.2)
    costs = infima(problem.loss, partition.padded(), 1.0)
    events, shifts, psi = random_dual(rng, 6, partition)
    found = cut_bound_lower(costs, events, shifts, psi, privacy=problem.privacy, resolution=3, even=even)
    psi, lo = np.maximum(psi, 0), partition.breaks[0]
    bracket = costs.copy()
    for event, shift, weight in zip(events, shifts, psi):
        for at in range(len(costs)):
            x = partition.padded().breaks[at]
            inside = lambda y, event=event: lo <= y < -lo and event[y - lo]  # noqa: E731
            bracket[at] += weight * (inside(x) - math.exp(0.7) * inside(x + shift))
    bracket = 0.5 * (bracket + bracket[::-1]) if even else bracket
    exact = max(bracket.min() - 0.2 * psi.sum(), costs.min())
    assert exact - 1e-12 <= found <= exact
    assert found <= solve_reference(problem, exhaust(3, 5.0)).certificate.upper


def test_non_uniform_dual_value_is_no_bound():
    """The optimal value of D(π, β), as published, exceeds the loss of a private law; the certificate does not."""
    partition = Partition(3, (-15, -12, -8, -4, 4, 8, 12, 15))
    steps = [(4 / 3, 0.0), (8 / 3, 1.0), (4.0, 2.0)]
    right = [(0.0, 0.0), *((x - h, y + (h == 0)) for x, y in steps for h in (0.001, 0)), (20.0, 3.0)]
    spec = "table:" + ",".join(f"{x!r}={y!r}" for x, y in [(-x, y) for x, y in right[:0:-1]] + right)
    problem, padded = noise_problem(1.0, 0.2, 1.0, spec), partition.padded()
    units = infima(problem.loss, partition.refined().padded(), 1.0)
    costs = np.minimum.reduceat(units, padded.points[:-1] - padded.breaks[0])
    planes = relaxation(problem, padded, (partition.breaks[0], partition.breaks[-1]), costs)
    fine = solve_reference(problem, exhaust(6, 5.0), **QUICK).certificate
    coarse = solve_reference(problem, exhaust(3, 5.0), partition=partition, **QUICK).certificate
    assert float(costs @ planes.masses) > 2 * fine.upper
    assert coarse.lower <= fine.upper and fine.lower <= coarse.upper


# Published values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "resolution", "half_width", "lower", "upper"),
    [(1.0, 0.2, 16, 2, 1.055056, 1.118129), (0.2, 0.05, 8, 6, None, 4.708860)],
)
def test_published_bounds(epsilon, delta, resolution, half_width, lower, upper):
    """SLW's bounds at sensitivity 2 without monotonicity, recomputed with the authors' program."""
    partition = Partition.uniform(resolution, half_width)
    problem = noise_problem(epsilon, delta, 2.0)
    found = solve_reference(problem, exhaust(time_limit=60), partition=partition, **QUICK).certificate
    # Their rows may be violated by the solver's tolerance 1e-6, ours are met exactly: up to 1e-6·Ψ apart.
    assert found.upper == pytest.approx(upper, abs=5e-6)
    if lower is not None:
        assert found.lower == pytest.approx(lower, abs=5e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "resolution", "upper"),
    [
        (1.0, 0.2, 2, 1.16215),
        (1.0, 0.2, 4, 1.15938),
        (1.0, 0.2, 8, 1.13943),
        (5.0, 0.25, 2, 0.51341),
        (5.0, 0.25, 4, 0.27493),
    ],
)
def test_published_monotone_figure(epsilon, delta, resolution, upper):
    """[SLW, Fig. 3], data independent, sensitivity 2, β = 1, 1/2, 1/4; the lower bound equals upper − β/2 here."""
    problem = noise_problem(epsilon, delta, 2.0, monotone=True)
    found = solve_reference(problem, exhaust(), partition=Partition.uniform(resolution, 2))
    assert found.certificate.upper == pytest.approx(upper, abs=5e-5)  # five digits, their tolerance 1e-5 in a row
    density = found.noise.masses / np.diff(found.noise.edges)
    middle = int(np.argmin(np.abs(found.noise.edges)))
    assert (np.diff(density[middle:]) <= 1e-14).all() and (np.diff(density[:middle]) >= -1e-14).all()  # weights: 2^−62


# Answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["l1", "l2", "lp:1.5", "pinball:0.8", "asym:1:3", "huber:0.5", "exceed:0.5"])
@given(data=st.data())
@settings(deadline=None, max_examples=6)
def test_bracket_is_certified(spec, data):
    epsilon, delta = data.draw(st.floats(0.3, 4.0)), data.draw(st.floats(0.02, 0.6))
    resolution, sensitivity = data.draw(st.integers(1, 5)), data.draw(st.floats(0.2, 5.0))
    problem = noise_problem(epsilon, delta, sensitivity, spec, symmetric=data.draw(st.booleans()))
    found = solve_reference(problem, exhaust(resolution, 0.5))
    certificate = found.certificate
    assert 0 <= certificate.lower <= certificate.upper
    assert audit.shortfall_upper(found.noise, epsilon)[0] == certificate.delta_upper <= delta
    assert audit.loss_upper(found.noise, problem.loss) == certificate.upper
    assert found.noise.is_symmetric or not problem.symmetric


@pytest.mark.parametrize("options", [QUICK, LITERAL, {"add_all_above": 0.01}, {"drop_slack": 0.0, "drop_every": 3}])
def test_options_do_not_change_the_answer(options):
    expected = solve_reference(noise_problem(1.0, 0.2), exhaust(8)).certificate
    found = solve_reference(noise_problem(1.0, 0.2), exhaust(8), **options).certificate
    assert found.upper == pytest.approx(expected.upper, rel=1e-5)
    assert found.lower == pytest.approx(expected.lower, rel=1e-5)


def test_widening_partition_needs_fewer_cells():
    problem = noise_problem(1.0, 0.2)
    uniform = solve_reference(problem, exhaust(16), partition=Partition.uniform(16, 4), **QUICK).certificate
    partition = Partition.widening(16, 4)
    found = solve_reference(problem, exhaust(16), partition=partition, **QUICK).certificate
    assert partition.cells < 128
    assert uniform.lower * (1 - 1e-5) <= found.lower <= found.upper <= 1.02 * uniform.upper
    assert found.upper >= uniform.upper * (1 - 1e-5)


@pytest.mark.parametrize("spec", ["l1", "asym:1:3"])
def test_symmetry_and_monotonicity_cost(spec):
    """A constrained problem is harder: its upper bound lies above the free lower bound, and so on."""
    free = solve_reference(noise_problem(1.0, 0.2, 1.0, spec), exhaust(8)).certificate
    for constraint in ({"symmetric": True}, {"monotone": True}, {"symmetric": True, "monotone": True}):
        bound = solve_reference(noise_problem(1.0, 0.2, 1.0, spec, **constraint), exhaust(8)).certificate
        assert free.lower <= bound.lower + 1e-6 and free.upper <= bound.upper + 1e-6
    if spec == "l1":
        assert bound.lower <= 0.5685 <= 0.5705 <= bound.upper + 1e-3  # monotone optimum in [.568, .571]


@pytest.mark.parametrize("stop_after", [1, 3, 10, 30])
def test_interruption_leaves_a_valid_bracket(stop_after):
    records = []

    def progress(record):
        records.append(record)
        return len(records) >= stop_after

    problem = noise_problem(0.2, 0.05)
    found = solve_reference(problem, exhaust(8), progress).certificate
    assert len(records) == stop_after
    assert 0 <= found.lower <= 2.357 and found.upper >= 2.352  # the optimum lies in [2.352, 2.357]
    assert found.delta_upper <= 0.05
    assert all(b.lower >= a.lower and b.upper <= a.upper for a, b in zip(records, records[1:]))


def test_time_limit_is_kept():
    began = time.thread_time()
    found = solve_reference(noise_problem(0.2, 0.05), exhaust(32, 0.5))
    assert time.thread_time() - began < 2.0  # one slice of the linear program and one round of cuts over
    assert found.certificate.lower <= found.certificate.upper


def test_zero_epsilon():
    """ε = 0, δ = 1/4: the optimum is D/(4δ) = 1 [method: border]."""
    found = solve_reference(noise_problem(0.0, 0.25), exhaust(6)).certificate
    assert found.lower <= 1.0 <= found.upper <= 1.00001


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6])
def test_tiny_delta_is_met_exactly(delta):
    found = solve_reference(noise_problem(1.0, delta), exhaust(2, 0.5)).certificate
    assert found.delta_upper <= delta
    assert found.lower <= 0.959518 and found.upper >= 0.9595  # pure-ε staircase: .959517376 [GV14]


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (noise_problem(1.0, 0.0), {}),
        (noise_problem(1.0, 0.1, support=(0.0, 10.0)), {}),
        (noise_problem(0.001, 1e-12), {}),
        (noise_problem(1.0, 0.1, symmetric=True), {"partition": Partition(2, tuple(range(-6, 8)))}),
        (noise_problem(1.0, 0.1, monotone=True), {"partition": Partition(2, (-8, -3, 3, 8))}),
        (noise_problem(1.0, 0.1), {"drop_every": 0}),
    ],
)
def test_refusals(problem, options):
    with pytest.raises(InputError):
        solve_reference(problem, exhaust(), **options)


def test_partition_without_a_private_law():
    """P(π, β) infeasible: the starting law, on a wider support, is the answer, and the solution says so."""
    found = solve_reference(noise_problem(1.0, 0.1), exhaust(), partition=Partition.uniform(4, 1))
    assert found.certificate.delta_upper <= 0.1 and "infeasible" in found.source
