"""First brackets without a program: bases solved again at other (ε, δ), the file, what nonsense in it can do."""

import math
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.optimal import atlas as module
from dpcore.optimal import first_bracket, solve
from dpcore.optimal.atlas import (
    FILE,
    HEADS,
    LAWS,
    MULTIPLIERS,
    Atlas,
    Entry,
    atlas,
    atlas_law,
    atlas_lower,
    law_of,
    lower_costs,
    means_of,
    packed,
    power_of,
    proof_of,
    proposals,
)
from dpcore.optimal.atlas_make import lower_program, upper_program
from dpcore.optimal.lattice import Lattice
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem

PAIRS = [(0.3, 0.05, "l1"), (1.0, 0.2, "l1"), (1.0, 0.6, "l1"), (0.7, 0.01, "l2"), (2.0, 0.3, "l2"), (0.0, 0.3, "l1")]


def random_pairs(count, seed=0):
    rng = np.random.default_rng(seed)
    epsilons, deltas = np.exp(rng.uniform(np.log(0.005), np.log(12), count)), np.exp(rng.uniform(-20, -0.3, count))
    return [(float(f"{e:.5g}"), float(f"{d:.5g}")) for e, d in zip(epsilons, deltas)]


def whole_program(lattice, costs, epsilon, delta, *, atom):
    """The value of the same program with every pair of every shift, unfolded, by another way in: masses r, slacks
    s_(j, i) ≥ r_i − e^ε r_(i−j), Σ_i s_(j, i) + atom ≤ δ."""
    n, k = len(costs), lattice.k
    events = [i - lattice.first for i in range(lattice.event_first, lattice.event_last + 1)]
    slacks = [(j, i) for j in [*range(1, k + 1), *range(-k, 0)] for i in events]
    width = n + 1 + len(slacks)
    rows, right = [], []
    for number, (j, i) in enumerate(slacks):
        row = np.zeros(width)
        row[i], row[n + 1 + number] = 1.0, -1.0
        if 0 <= i - j < n:
            row[i - j] -= math.exp(epsilon)
        rows.append(row)
        right.append(0.0)
    for j in [*range(1, k + 1), *range(-k, 0)]:
        row = np.zeros(width)
        row[n] = 1.0
        for number, (shift, _) in enumerate(slacks):
            row[n + 1 + number] = shift == j
        rows.append(row)
        right.append(delta)
    mass = np.concatenate([np.ones(n + 1), np.zeros(len(slacks))])
    bounds = [(0, None)] * n + [(0, delta if atom else 0)] + [(0, None)] * len(slacks)
    paid = np.concatenate([costs, np.zeros(1 + len(slacks))])
    found = linprog(paid, np.array(rows), right, mass[None], [1.0], bounds)
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("epsilon, delta, loss", PAIRS)
def test_a_basis_gives_back_its_program(epsilon, delta, loss):
    problem = noise_problem(epsilon, delta, 1.0, loss)
    value = solve(problem).certificate.upper
    coarse = 3 * value  # so that the whole programs are small
    below = lower_program(problem, coarse)
    basis, costs = below.basis(), lower_costs(problem, below.lattice)
    proof = proof_of(problem, basis)
    least = whole_program(below.lattice, costs, epsilon, delta, atom=False)
    assert proof.lower(problem.privacy) == pytest.approx(least, rel=1e-7)
    assert proof.lower(problem.privacy) <= value
    for edge in (0, 1):
        above = upper_program(problem, coarse, edge)
        (own, *_) = proposals(problem, Entry(epsilon, delta, above.basis()))
        means = means_of(problem, above.lattice)
        most = whole_program(above.lattice, means, epsilon, delta, atom=True)
        assert own.cost == pytest.approx(most, rel=1e-6)
        law = law_of(problem, own)
        assert audit.shortfall_upper(law, epsilon)[0] <= delta
        assert audit.loss_upper(law, problem.loss) == pytest.approx(most, rel=1e-4)
        assert audit.loss_upper(law, problem.loss) >= least


def test_what_multipliers_prove_is_linear_in_delta_and_holds_at_smaller_epsilon():
    problem = noise_problem(1.0, 0.1, 1.0)
    proof = proof_of(problem, lower_program(problem, 0.68).basis())
    at = [proof.lower(Privacy(1.0, delta)) for delta in (0.08, 0.1, 0.12)]
    assert at[0] - at[1] == pytest.approx(at[1] - at[2], rel=1e-9) and at[0] > at[1] > at[2]
    assert proof.lower(Privacy(1.0, 0.1)) <= solve(noise_problem(0.9, 0.1, 1.0)).certificate.upper


@pytest.mark.parametrize("epsilon, delta", [(0.7, 0.05), (1.0, 0.3), (2.5, 0.01)])
def test_bases_serve_neighbours_and_prove_nothing_false_far_away(epsilon, delta):
    problem = noise_problem(epsilon, delta, 1.0)
    value = solve(problem).certificate.upper
    below = lower_program(problem, value).basis()
    above = Entry(epsilon, delta, upper_program(problem, value, 1).basis())
    for other, factor in [(epsilon, 1.1), (epsilon * 1.002, 1.0), (epsilon * 0.7, 2.0), (epsilon * 1.5, 0.3)]:
        moved = noise_problem(other, min(delta * factor, 0.9), 1.0)
        solved = solve(moved, SolverSettings(gap=1e-3)).certificate
        proof = proof_of(moved, below)
        assert proof is None or proof.lower(moved.privacy) <= solved.upper
        for law in (law_of(moved, one) for one in proposals(moved, above)):
            if law is not None:
                assert audit.shortfall_upper(law, other)[0] <= moved.privacy.delta
                assert audit.loss_upper(law, moved.loss) >= solved.lower
        if max(other / epsilon, factor) < 1.2 and other >= epsilon:
            assert proof.lower(moved.privacy) >= 0.97 * solved.upper


# The file ---------------------------------------------------------------------------------------------


def test_entries_come_back_from_their_bytes():
    problem = noise_problem(1.0, 0.3, 1.0)
    entries = [(MULTIPLIERS, lower_program(problem, 0.5)), (LAWS, upper_program(problem, 0.5, 1))]
    heads, data = [], b""
    for kind, program in entries:
        head, part = packed(1, kind, Entry(1.0, 0.3, program.basis()), len(data))
        heads.append(head)
        data += part
    read = Atlas(np.array(heads, HEADS), np.frombuffer(data, np.uint8))
    for kind, program in entries:
        (entry,) = read.near(1, kind, Privacy(0.9, 0.2))
        own = program.basis()
        assert (entry.epsilon, entry.delta, entry.basis.lattice) == (1.0, 0.3, own.lattice)
        for name in ("columns", "shifts", "full", "ties", "loose"):
            assert np.array_equal(getattr(entry.basis, name), getattr(own, name))


def test_the_file_is_small_and_covers_both_losses():
    assert resources.files("dpcore.optimal").joinpath(FILE).stat().st_size <= 4e6
    for power in (1, 2):
        for kind in (LAWS, MULTIPLIERS):
            assert list(atlas().near(power, kind, Privacy(1.0, 0.1)))


def test_nonsense_in_the_file_proves_nothing_false(monkeypatch):
    rng = np.random.default_rng(1)
    for epsilon, delta in [(1.0, 0.2), (0.5, 0.01), (2.0, 0.3)]:
        problem = noise_problem(epsilon, delta, 1.0)
        solved = solve(problem, SolverSettings(gap=1e-3)).certificate
        good = [
            packed(1, MULTIPLIERS, Entry(epsilon, delta, lower_program(problem, solved.upper).basis()), 0),
            packed(1, LAWS, Entry(epsilon, delta, upper_program(problem, solved.upper, 1).basis()), 0),
        ]
        for _ in range(40):
            head, part = good[rng.integers(2)]
            spoiled = bytearray(part)
            for place in rng.integers(len(part), size=rng.integers(1, 6)):
                spoiled[place] = rng.integers(256)
            heads = np.array([head], HEADS)
            if rng.random() < 0.5:
                name = rng.choice(["k", "last", "event_last", "edge", "shifts", "full", "ties", "loose", "start"])
                heads[name] = rng.integers(60)
            read = Atlas(heads, np.frombuffer(bytes(spoiled), np.uint8))
            monkeypatch.setattr(module, "atlas", lambda read=read: read)
            assert atlas_lower(problem) <= solved.upper
            law = atlas_law(problem)
            if law is not None:
                assert audit.shortfall_upper(law, epsilon)[0] <= delta
                assert audit.loss_upper(law, problem.loss) >= solved.lower


def test_an_event_on_a_node_that_gathers_what_lies_beyond_is_passed_over():
    """Its cover does not, so the row need not hold."""
    problem = noise_problem(1.0, 0.2, 1.0)
    basis = lower_program(problem, solve(problem, SolverSettings(gap=1e-3)).certificate.upper).basis()
    full = basis.full.copy()
    full[0, 0] = basis.lattice.event_last + 1
    for one, read in ((basis, 1), (replace(basis, full=full), 0)):
        head, part = packed(1, MULTIPLIERS, Entry(1.0, 0.2, one), 0)
        found = Atlas(np.array([head], HEADS), np.frombuffer(bytes(part), np.uint8))
        assert len(list(found.near(1, MULTIPLIERS, problem.privacy))) == read


# First brackets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_first_brackets_are_within_three_per_cent_at_the_median(loss):
    widths = []
    for epsilon, delta in random_pairs(60):
        problem = noise_problem(epsilon, delta, 1.0, loss)
        found = first_bracket(problem)
        proof = found.certificate
        assert audit.shortfall_upper(found.noise, epsilon)[0] <= delta
        widths.append(proof.upper / proof.lower - 1)
    assert np.median(widths) <= 0.03


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_a_first_bracket_holds_the_solved_one(loss):
    for epsilon, delta in random_pairs(8, seed=3):
        problem = noise_problem(epsilon, delta, 2.5, loss)
        first, solved = (one.certificate for one in (first_bracket(problem), solve(problem)))
        assert max(first.lower, solved.lower) <= min(first.upper, solved.upper)


def test_any_sensitivity_and_any_multiple_of_the_loss():
    plain = first_bracket(noise_problem(1.0, 0.2, 1.0)).certificate
    for loss, sensitivity, factor in [("l1", 1e6, 1e6), ("l1", 0.1, 0.1), ("asym:3:3", 2.0, 6.0)]:
        found = first_bracket(noise_problem(1.0, 0.2, sensitivity, loss)).certificate
        assert found.lower / factor == pytest.approx(plain.lower, rel=1e-6)
        assert found.upper / factor == pytest.approx(plain.upper, rel=1e-6)


def test_further_constraints_have_the_atlas_from_below():
    plain = noise_problem(1.0, 0.2, 1.0)
    bound = atlas_lower(plain)
    assert bound > 0.54
    assert atlas_lower(noise_problem(1.0, 0.2, 1.0, monotone=True)) == bound
    assert atlas_lower(noise_problem(1.0, 0.2, 1.0, support=(-5, 9))) == bound
    assert atlas_law(noise_problem(1.0, 0.2, 1.0, monotone=True)) is None
    tight = noise_problem(1.0, 0.2, 1.0, second=Privacy(3.0, 0.01))
    assert atlas_lower(tight) >= bound and first_bracket(tight) is None
    assert first_bracket(noise_problem(1.0, 0.2, 1.0, budget=Budget(parse_loss("l2"), 3.0))) is None


def test_losses_that_are_no_multiples_of_the_two_have_none():
    assert [power_of(parse_loss(spec)) for spec in ("l1", "l2", "asym:2:2")] == [1, 2, 1]
    for spec in ("asym:1:2", "huber:1", "lp:1.5", "exceed:2", "table:-1=1,0=0,1=1,2=3"):
        assert power_of(parse_loss(spec)) is None
        assert first_bracket(noise_problem(1.0, 0.2, 1.0, spec)) is None
        assert atlas_lower(noise_problem(1.0, 0.2, 1.0, spec)) == 0.0


# Counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l1", "l2", "huber:1", "table:-2=3,-1=1,0=0,1=1,2=3"])
def test_counts_have_both_bounds_at_once_and_the_program_agrees(loss):
    for epsilon, delta in random_pairs(12, seed=5):
        problem = noise_problem(epsilon, delta, 1.0, loss, granularity=1.0)
        found = first_bracket(problem)
        law, first = found.noise, found.certificate
        assert audit.lattice_shortfall_upper(law.masses, epsilon, 1)[0] <= delta
        assert first.lower <= first.upper <= first.lower * (1 + 1e-6)
        n = law.points.max()
        nodes = Lattice(1, -int(n) - 4, int(n) + 4, -int(n) - 4, int(n) + 4, False)
        if len(nodes.indices) <= 60:  # laws on so many points, every one an event
            costs = audit.lattice_costs(nodes.indices.astype(float), problem.loss)[1]
            value = whole_program(nodes, costs, epsilon, delta, atom=False)
            assert value == pytest.approx(first.upper, rel=1e-6)


def test_counts_that_are_not_even_or_of_more_steps_have_none():
    for loss, sensitivity in (("asym:1:2", 1.0), ("l1", 2.0)):
        assert first_bracket(noise_problem(1.0, 0.01, sensitivity, loss, granularity=1.0)) is None
    assert first_bracket(noise_problem(1.0, 0.01, 1.0, support=(-9, 9), granularity=1.0)) is None
