"""Lattice programs with all pairs at once against the same programs by the simplex method."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import noise_problem
from dpcore.loss.cells import means as cell_means
from dpcore.optimal import all_pairs, solve
from dpcore.optimal.all_pairs import MISSED, _near, all_at_once
from dpcore.optimal.blocks import Blocks
from dpcore.optimal.lower import lower_step, rounded_costs, rounding_lattice
from dpcore.optimal.mesh import Grading, Mesh
from dpcore.optimal.program import COARSE, BudgetRow, LatticeProgram
from dpcore.optimal.step import Limits, Proof, Window, places_of, reference_density, seed_of
from dpcore.optimal.upper import cell_lattice, upper_step
from dpcore.privacy import Privacy
from dpcore.problem import LINE, SolverSettings
from dpcore.rows.interior import Limits as Terms
from dpcore.rows.interior import WideLimits

GAP = 1e-3
WITHIN = 1e-4
"""What the methods may differ by: a share of the gap aimed at, and the solver's tolerance."""

CASES = {
    "mirror images": (noise_problem(1, 0.1, 1, loss="l1"), Window(-4, 4)),
    "not even": (noise_problem(1, 0.1, 1, loss="asym:1:3"), Window(-5, 4)),
    "one end": (noise_problem(1, 0.2, 1, loss="l1", support=(0, math.inf)), Window(0, 6)),
    "two ends": (noise_problem(5, 0.1, 1, loss="l1", support=(-1, 4)), Window(-1, 3)),
    "a square": (noise_problem(3, 0.3, 2, loss="l2", support=(-6, 1)), Window(-3, 0.5)),
    "a plateau": (noise_problem(0.1, 0.4, 1, loss="table:-2=1,-0.5=0,0=0,1=2"), Window(-4, 4)),
}


def limits(problem):
    return Limits(problem.sensitivity, GAP, math.inf, lambda: False)


def nodes(problem, window, k, grading=None):
    """The program of a lower bound, its costs and its lattice, graded where a grading is given."""
    ends = problem.support != LINE
    lattice = rounding_lattice(problem, k, 0, window)
    lattice = lattice if grading is None else Mesh.of(lattice, grading)
    costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(len(lattice.indices) - 1, 0.5))
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        problem.privacy.amplification,
        problem.privacy.delta,
        problem.sensitivity,
        reference_density(problem, lattice.places),
        open_left=lattice.open_left,
        open_right=lattice.open_right,
    )
    assert ends == (not (lattice.open_left and lattice.open_right))
    return program, costs, lattice


def proved(problem, program, costs, lattice, outcome):
    return Proof(
        lattice.everywhere(costs), lattice.first, *program.multipliers(outcome), None, lattice.folded
    ).lower(problem.privacy)  # fmt: skip


def by_simplex(program):
    program.start(None)
    return program.solve(math.inf, lambda: False, enough=lambda _: False)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [4, 9])
def test_both_methods_prove_the_same(name, k):
    problem, window = CASES[name]
    program, costs, lattice = nodes(problem, window, k)
    found = all_at_once(program, None, limits(problem))
    simplex = by_simplex(program)
    bound = proved(problem, program, costs, lattice, found)
    assert found.status == "optimal" and not found.sharp
    assert found.objective == pytest.approx(simplex.objective, rel=WITHIN)
    assert bound <= simplex.objective * (1 + 1e-9)
    assert bound == pytest.approx(simplex.objective, rel=2 * WITHIN)


BEYOND = {"mirror images": (0.5, 0.97), "not even": (0.5, 0.97), "two ends": (0.05, 0.999)}
"""t, and what share of P(|X| > t) there is without a budget it may be: less than that no law has in the last."""


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("more", ["second pair", "budget", "both"])
def test_both_methods_with_more_limits(name, more):
    """A second (ε, δ), a bound on P(|X| > t), or both: the same values and multipliers that prove them."""
    problem, window = CASES[name]
    lattice = rounding_lattice(problem, 8, 0, window)
    costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(len(lattice.indices) - 1, 0.5))
    far = (np.abs(lattice.places) > BEYOND[name][0]).astype(float)[lattice.representatives]
    least = problem.privacy.delta / 20
    further = ((math.exp(1.5 * problem.privacy.epsilon), least),) if more != "budget" else ()

    def program(most):
        budget = BudgetRow(far, most) if most else None
        return LatticeProgram(
            lattice, costs[lattice.representatives], problem.privacy.amplification, problem.privacy.delta,
            problem.sensitivity, reference_density(problem, lattice.places), open_left=lattice.open_left,
            open_right=lattice.open_right, further=further, budget=budget,
        )  # fmt: skip

    free = all_at_once(program(0.0), None, limits(problem))
    spent = float(free.masses @ (lattice.multiplicity * far))
    made = program(BEYOND[name][1] * spent if more != "second pair" else 0.0)
    found, simplex = all_at_once(made, None, limits(problem)), by_simplex(made)
    assert found.objective == pytest.approx(simplex.objective, rel=WITHIN)
    assert found.budget_rate == pytest.approx(simplex.budget_rate, rel=0.05, abs=1e-3 * simplex.objective)
    assert (found.budget_rate > 0) == (more != "second pair") and len(found.rates) == 1 + len(further)
    seed = seed_of(lattice, found)
    again = all_at_once(made, seed, limits(problem))
    assert again.objective == pytest.approx(simplex.objective, rel=WITHIN + MISSED * GAP)
    spend = (found.budget_rate, lattice.everywhere(lattice.unfold(far)), made.budget.most) if made.budget else None
    proof = Proof(
        lattice.everywhere(costs), lattice.first, *made.multipliers(found), None, lattice.folded,
        tuple(made.multipliers(found, level) for level in range(1, 1 + len(further))), spend,
    )  # fmt: skip
    pairs = [problem.privacy, *(Privacy(1.5 * problem.privacy.epsilon, least) for _ in further)]
    bound = proof.lower(*pairs)
    assert simplex.objective * (1 - 2 * WITHIN) <= bound <= simplex.objective * (1 + 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_both_methods_find_laws_that_cost_the_same(name):
    problem, window = CASES[name]
    lattice = cell_lattice(problem, 6, 1, window)
    means = cell_means(problem.paid_loss, places_of(problem, 12, lattice.ends))
    given = (lattice, lattice.shares(means), problem.privacy.amplification, problem.privacy.delta, problem.sensitivity)
    program = LatticeProgram(
        *given, reference_density(problem, lattice.places), atom_cost=problem.loss.minimiser(*problem.support)[1]
    )
    found = all_at_once(program, None, limits(problem))
    simplex = by_simplex(program)
    assert found.objective == pytest.approx(simplex.objective, rel=WITHIN)
    assert found.masses @ lattice.multiplicity + found.atom == pytest.approx(1, abs=1e-9)
    assert found.shortfall <= problem.privacy.delta * (1 + WITHIN)  # the auditor repairs what is left over


BLOCKS = {
    "mirror images": Grading(4, (0.0, 0.3, -0.3), 1.0, 3.0),
    "not even": Grading(2, (0.0, 0.4), 1.0, math.inf),
    "two ends": Grading(4, (0.0, 0.1), 1.0, math.inf),
    "a square": Grading(4, (0.0, -0.2), 1.0, math.inf),
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("further", [False, True])
def test_laws_on_blocks_take_all_pairs(name, further):
    """The same law by both methods, for a second (ε, δ) as well; from scratch and from a coarser one."""
    problem, window = CASES[name]
    more = ((math.exp(1.5 * problem.privacy.epsilon), problem.privacy.delta / 4),) if further else ()

    def program(k):
        lattice = Blocks.of(cell_lattice(problem, k, 1, window), BLOCKS[name])
        means = cell_means(problem.paid_loss, places_of(problem, 2 * lattice.k, lattice.ends))
        return LatticeProgram(
            lattice, lattice.shares(means), problem.privacy.amplification, problem.privacy.delta, problem.sensitivity,
            reference_density(problem, lattice.places), problem.loss.minimiser(*problem.support)[1], further=more,
        )  # fmt: skip

    coarse, fine = program(3), program(6)
    seed = seed_of(coarse.lattice, all_at_once(coarse, None, limits(problem)))
    assert _near(fine, seed).sum() < fine.lattice.tests.count * len(fine.levels)
    simplex = by_simplex(program(6))
    for start in (None, seed):
        found = all_at_once(fine, start, limits(problem))
        assert found.status == "optimal" and not found.sharp
        assert found.objective == pytest.approx(simplex.objective, rel=WITHIN + MISSED * GAP * (start is not None))
        assert found.masses @ fine.lattice.multiplicity + found.atom == pytest.approx(1, abs=1e-9)
        for (_, delta), shortfall in zip(fine.levels, found.shortfalls):  # the auditor repairs what is left over
            assert shortfall <= delta * (1 + (WITHIN if start is None else 0.1))
        law = fine.lattice.unfold(found.masses)
        for (E, delta), rates in zip(fine.levels, found.rates):  # limits with a multiplier are used up
            felt = fine.lattice.shortfalls(law, E)[rates > 1e-2 * rates.max()] + found.atom
            assert (felt > 0.98 * delta).all()


def test_where_no_law_meets_all_limits_there_is_no_outcome():
    """The other method says that it is infeasible: 4 sensitivities on either side leave e^−4 of half of the mass."""
    problem, window = CASES["mirror images"]
    lattice = Blocks.of(cell_lattice(problem, 6, 1, window), BLOCKS["mirror images"])
    means = cell_means(problem.paid_loss, places_of(problem, 2 * lattice.k, lattice.ends))
    program = LatticeProgram(
        lattice, lattice.shares(means), problem.privacy.amplification, problem.privacy.delta, problem.sensitivity,
        reference_density(problem, lattice.places), 0.0, further=((math.exp(1.5), 0.005),),
    )  # fmt: skip
    assert by_simplex(program).status == "infeasible"
    assert all_at_once(program, None, limits(problem)) is None


def test_large_programs_for_laws_take_all_pairs():
    """On [−1, 4] from blocks on 26 cells per sensitivity: the law is audited, and costs less than coarser ones."""
    problem, window = CASES["two ends"]
    grading = Grading(8, (0.0, 0.4), 1.0, math.inf)
    coarse = upper_step(problem, 9, 1, window, None, limits(problem), grading=grading)
    fine = upper_step(problem, 26, 1, window, coarse.seed, limits(problem), grading=grading)
    assert coarse.seed.sharp and not fine.seed.sharp
    assert fine.noise is not None and fine.delta_upper <= problem.privacy.delta
    assert fine.bound < coarse.bound


@pytest.mark.parametrize("name", CASES)
def test_a_coarser_solution_is_a_start(name):
    problem, window = CASES[name]
    program, _, lattice = nodes(problem, window, 5)
    seed = seed_of(lattice, all_at_once(program, None, limits(problem)))
    assert not seed.sharp and seed.pairs > 0
    program, costs, lattice = nodes(problem, window, 10)
    found = all_at_once(program, seed, limits(problem))
    simplex = by_simplex(program)
    assert found.objective == pytest.approx(simplex.objective, rel=WITHIN)
    assert proved(problem, program, costs, lattice, found) == pytest.approx(simplex.objective, rel=2 * WITHIN)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rate", [1e3, 1e9, 1e12])
def test_a_start_that_leads_astray_is_given_up(name, rate, monkeypatch):
    """All mass far out, and rates that are millions of times too large."""
    problem, window = CASES[name]
    program, costs, lattice = nodes(problem, window, 9)
    good = proved(problem, program, costs, lattice, all_at_once(program, None, limits(problem)))

    def far(program, seed, shifts, terms):
        law = np.full(len(terms.counts), 1e-12)
        law[-1] = 1
        return law / (law @ terms.counts), np.full(len(terms.most), rate)

    monkeypatch.setattr(all_pairs, "_start", far)
    bound = proved(problem, program, costs, lattice, all_at_once(program, None, limits(problem)))
    assert bound == pytest.approx(good, rel=2 * WITHIN)


@pytest.mark.parametrize("name", CASES)
def test_pairs_that_a_seed_wrongly_leaves_out_come_back(name):
    """A seed whose law has next to nothing in the middle."""
    problem, window = CASES[name]
    coarse, _, lattice = nodes(problem, window, 5)
    seed = seed_of(lattice, all_at_once(coarse, None, limits(problem)))
    astray = replace(seed, density=lambda x: np.where(abs(x) > 0.5, 1.0, 1e-9))
    program, costs, lattice = nodes(problem, window, 10)
    near, far = (_near(program, one) for one in (seed, astray))
    assert near.sum() < near.size and (near & ~far).any()
    expected = all_at_once(program, None, limits(problem)).objective
    for start in (seed, astray):
        found = all_at_once(program, start, limits(problem))
        assert found.objective == pytest.approx(expected, rel=WITHIN + MISSED * GAP)
        bound = proved(problem, program, costs, lattice, found)
        assert bound == pytest.approx(expected, rel=2 * WITHIN + MISSED * GAP)


GRADED = {
    "fine near steps": ("mirror images", 6, Grading(4, (0.0, 0.3, -0.3), 2.0, 3.0)),
    "not even": ("not even", 5, Grading(2, (0.0, 0.4), 4.0, 2.0)),
    "few shifts": ("one end", 4, Grading(4)),
    "two ends": ("two ends", 5, Grading(4, (0.0, 0.1), 2.0, 4.0)),
    "a plateau": ("a plateau", 4, Grading(8, (0.0, -0.5), 2.0, 2.0, finest=2)),
}


@pytest.mark.parametrize("name", GRADED)
def test_hat_functions_take_all_pairs(name):
    """Their terms join several masses each; without a start, and from a coarser solution of an even lattice."""
    case, k, grading = GRADED[name]
    problem, window = CASES[case]
    coarse, _, even = nodes(problem, window, k)
    seed = seed_of(even, all_at_once(coarse, None, limits(problem)))
    program, costs, lattice = nodes(problem, window, k, grading)
    simplex = by_simplex(nodes(problem, window, k, grading)[0])
    for start in (None, seed):
        found = all_at_once(program, start, limits(problem))
        bound = proved(problem, program, costs, lattice, found)
        assert found.status == "optimal" and not found.sharp
        assert found.objective == pytest.approx(simplex.objective, rel=WITHIN)
        assert simplex.objective * (1 - 2 * WITHIN) <= bound <= simplex.objective * (1 + 1e-9)


def test_rows_of_hat_functions_are_those_of_pairs():
    """Limits with two entries to a term, told either way: the same matrix, the same products."""
    rng = np.random.default_rng(3)
    n, sizes = 150, (0, 7, 40, 1)
    events = rng.integers(n, size=sum(sizes))
    covers = (events + 1 + rng.integers(n - 1, size=len(events))) % n
    loose = np.array([0, 0, 2, 3, 3]), np.array([5, n - 1, 0]), np.array([1.0, 2.0, 0.5])
    shared = np.cumsum([0, *sizes]), np.full(4, 0.1), *loose, np.zeros(n, dtype=np.int64), np.ones(n)
    pairs = Terms(*shared, 2.5, events, covers)
    ones, rows = np.ones(len(events)), np.arange(len(events))
    entries = np.append(ones, -2.5 * ones), (np.tile(rows, 2), np.append(events, covers))
    wide = WideLimits(*shared, csr_array(entries, (len(events), n)))
    wide.terms.sort_indices()
    x, (y, g, w), (rates, D) = rng.random(n), rng.random((3, len(events))), rng.random((2, 4))
    for limits_ in (pairs, wide):
        system = limits_.system(lambda: None)
        system.fill(np.ones(n), limits_, w, g, D)
        system.factorise()
        products = limits_.differences(x), limits_.gathered(y), limits_.pulled(y, g, rates)
        found = *products, *limits_.moves(x, g), system.solve(x)
        if limits_ is pairs:
            expected = found
    for one, two in zip(expected, found):
        assert two == pytest.approx(one, rel=1e-9, abs=1e-12)


def test_it_ends_when_multipliers_prove_the_value():
    """Nodes far out, where next to no mass is, may be left with reduced costs below 0 when the equations' bracket is
    closed: 3 % of the bound here."""
    table = "table:-7.4=13.6,-2.8=4.4,-1.8=2.4,-1.2=1.2,0=0,1.7=1.7,4.8=7.9"
    problem = noise_problem(8.24, 0.414, loss=table, support=(-math.inf, 0))
    window, seed, last = Window(-4.29, 3.09), None, 0.0
    for k in (24, 28, 32, 36, 40):
        step = lower_step(problem, k, window, seed, limits(problem), ends=True)
        assert step.bound > last
        seed, last = step.seed, step.bound
    assert not seed.sharp and last > 0.59


def test_at_a_tiny_delta_programs_for_laws_end():
    """Numbers span 20 orders of magnitude; by the simplex method two of these failed and the last took a second."""
    importlib.import_module("dpcore.kernels.privacy_system")  # where it would have to be loaded first, it is not used
    problem = noise_problem(2.22, 6.54e-10, loss="l2", support=(-4.827, 27.64))
    window, seed, last = Window(-4.83, 27.64), None, math.inf
    for k in (1, 2, 3, 4):
        step = upper_step(problem, k, 1, window, seed, limits(problem))
        assert step.noise is not None and not step.seed.sharp and step.delta_upper <= problem.privacy.delta
        assert step.bound < last
        seed, last = step.seed, step.bound
    assert last < 27.5  # a closed form costs 27.853


def test_no_time_is_no_outcome():
    problem, window = CASES["two ends"]
    program, _, _ = nodes(problem, window, 9)
    assert all_at_once(program, None, Limits(1.0, GAP, 0.0, lambda: False)) is None
    assert all_at_once(program, None, Limits(1.0, GAP, math.inf, lambda: True)) is None


def test_large_programs_take_all_pairs():
    """On [−1, 4] all shifts bind: from labels of 72 per sensitivity the simplex method needs 5 500 pairs."""
    problem, window = CASES["two ends"]
    coarse = lower_step(problem, 18, window, None, limits(problem), ends=True)
    fine = lower_step(problem, 72, window, coarse.seed, limits(problem), ends=True)
    assert coarse.seed.sharp and not fine.seed.sharp
    assert fine.window == window  # what is not 0 at its ends does not make it longer
    assert 0.09643 < fine.bound < 0.09713


def test_a_start_whose_products_fall_late_is_not_given_up():
    """What is open hardly falls in the first dozen steps, and is closed after some forty; pair by pair it takes ten
    times as long."""
    problem = noise_problem(4.59, 0.000123, loss="pinball:0.25", support=(-12.32, 2.326))
    window = Window(-4.025, 4.025)
    coarse = lower_step(problem, 18, window, None, limits(problem), ends=True)
    fine = lower_step(problem, 36, window, coarse.seed, limits(problem), ends=True)
    assert coarse.seed.sharp and not fine.seed.sharp
    assert 0.13538 < fine.bound < 0.13572


def test_after_a_very_coarse_program_blocks_take_all_pairs(monkeypatch):
    """The simplex method needs more than a thousand of some seventeen thousand, one after the other."""
    seeds, solved = [], all_pairs.all_at_once

    def spied(program, seed, limits, **few):
        seeds.append((type(program.lattice), seed))
        return solved(program, seed, limits, **few)

    monkeypatch.setattr(all_pairs, "all_at_once", spied)
    problem = noise_problem(4.61, 2.19e-8, 1.0, "l2", support=(0, math.inf))
    certificate = solve(problem, SolverSettings(time_limit=20)).certificate
    assert certificate.upper <= 1.001 * certificate.lower
    assert any(kind is Blocks and seed is not None and seed.sharp and seed.k <= COARSE for kind, seed in seeds)


def finer_and_finer(problem, window, sizes):
    """The last of lower bounds from labels at the ends of cells, each begun next to the one before."""
    step = None
    for k in sizes:
        step = lower_step(problem, k, window, step and step.seed, limits(problem), ends=True)
        assert step.status == "optimal"
    return step


@pytest.mark.parametrize(
    ("problem", "window", "sizes"),
    [
        (noise_problem(5, 0.1, 1, loss="l1", support=(-1, 4)), Window(-0.24, 1.14), (18, 52, 164)),
        (noise_problem(5.99, 0.274, 1, loss="lp:3.77", support=(0, math.inf)), Window(-3.31, 3.31), (28, 74, 152)),
        (
            noise_problem(4.88, 3.25e-5, 1, loss="huber:3.57", support=(-2.642, 12.15)),
            Window(-1.6, 2.06),
            (16, 68, 152),
        ),
    ],
)
def test_every_third_shift_is_enough(problem, window, sizes, monkeypatch):
    """Few shifts prove nearly what all prove, and no more than those may."""
    few = finer_and_finer(problem, window, sizes)
    monkeypatch.setattr(all_pairs, "THIN_FROM", math.inf)
    every = finer_and_finer(problem, window, sizes)
    assert len(np.unique(few.proof.shifts)) < 0.9 * len(np.unique(every.proof.shifts))
    assert every.bound * (1 - 4e-4) <= few.bound <= every.bound * (1 + WITHIN)


def test_losses_that_jump_take_all_shifts(monkeypatch):
    """Those that bring jumps together would be missed."""
    problem = noise_problem(0.0344, 0.639, 1, loss="exceed:0.609", support=(-0.6948, 2.141))
    few = finer_and_finer(problem, Window(-4.04, 4.23), (18, 55, 160))
    monkeypatch.setattr(all_pairs, "THIN_FROM", math.inf)
    every = finer_and_finer(problem, Window(-4.04, 4.23), (18, 55, 160))
    assert few.bound == every.bound


def test_shifts_near_the_sensitivity_and_with_few_pairs_stay():
    problem, window = CASES["two ends"]
    program, _, lattice = nodes(problem, window, all_pairs.THIN_FROM)
    chosen = np.zeros((len(lattice.shifts), len(lattice.events)), dtype=bool)
    chosen[lattice.shifts > 0, :8] = True
    chosen[lattice.shifts < 0, :2] = True
    shifts, flags = all_pairs._thinned(program, lattice.shifts, chosen.ravel())
    k, away = lattice.k, np.abs(lattice.shifts)
    assert set(shifts[shifts < 0]) == set(lattice.shifts[lattice.shifts < 0])
    assert set(lattice.shifts[away >= 7 * k / 8]) <= set(shifts)
    far = shifts[(shifts > 0) & (shifts < 7 * k / 8)]
    assert len(far) == pytest.approx(7 * k / 8 / all_pairs.THIN, abs=1)
    assert (np.diff(np.sort(far)) == all_pairs.THIN).all() and {0, 1} == set(far % 2)
    assert flags.reshape(len(shifts), -1).sum() == chosen[np.isin(lattice.shifts, shifts)].sum()
