"""Laws with poles: densities a + b/d between nodes, d the distance from the nearest pole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog

from dpcore import noise_problem
from dpcore.optimal import central
from dpcore.optimal import profile as search
from dpcore.optimal.blocks import PARTS, Blocks, Slopes
from dpcore.optimal.central import FEW_COLUMNS, CentralProgram
from dpcore.optimal.curve import CurveProgram
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.mesh import Grading
from dpcore.optimal.profile import ProfileSearch, normal_masses
from dpcore.optimal.step import Limits
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import SolverSettings

MU = 2.4
GRADING = Grading(8, (0.0,), reach=2.0)


def cells(folded: bool) -> Lattice:
    """Three to a sensitivity, as far as three sensitivities on both sides."""
    return Lattice(3, -9, 8, -9, 8, folded, edge=1)


def under(mu: float, loss: str):
    profile = GaussianProfile(mu)
    anchor = profile.anchor
    return noise_problem(anchor.epsilon, anchor.delta, loss=loss, profile=profile)


def programs(folded: bool = True, grading: Grading = GRADING):
    """(blocks, the same laws with heights as unknowns) for |x|, or 9 |x| on the left."""
    slopes = Slopes.of(cells(folded), grading)
    blocks = Blocks(
        slopes.k, slopes.first, slopes.last, slopes.event_first, slopes.event_last, folded, edge=1,
        starts=slopes.starts, coarse=slopes.coarse,
    )  # fmt: skip
    x, z = slopes.places, slopes.ends / (2 * slopes.k) * MU
    costs = np.where(x < 0, 1.0 if folded else 9.0, 1.0) * np.abs(x)
    strict = tuple(normal_masses(z * share) for share in (0.97, 0.8, 0.5))
    start = normal_masses(0.999 * z)
    return (
        CurveProgram(MU, blocks, costs, start, 0.3, 4.0),
        CentralProgram(MU, slopes, costs, start, 0.3, 4.0, strict=strict, pace=FEW_COLUMNS),
    )


def solved(program, gap=1e-5):
    program.start()
    program.solve(Limits(0.3, gap, math.inf, lambda: False), lambda lower, upper: upper - lower < gap * lower)
    return program


@pytest.mark.parametrize("folded", [True, False])
def test_heights_stand_for_densities_that_fall_like_the_distance_from_a_pole(folded):
    slopes = Slopes.of(cells(folded), GRADING)
    nodes, starts = np.array(slopes.nodes), np.array(slopes.starts)
    assert set(nodes[:-1]) <= set(slopes.starts) and nodes[-1] == slopes.last + 1
    assert np.all(np.histogram(slopes.starts, nodes)[0] <= PARTS)
    assert np.diff(nodes).min() == 1 and np.diff(nodes).max() == slopes.coarse
    heights = 2 + np.append(np.random.default_rng(1).random(len(nodes) - 1), 0.0)
    ends, found = np.append(starts[1:], slopes.last + 1), slopes.of_unknowns(heights)
    for i, (left, right) in enumerate(zip(nodes.tolist(), nodes[1:].tolist())):
        pole = slopes.k * math.floor(0.5 * (left + right) / slopes.k + 0.5)
        apart = (left - pole) * (right - pole) > 0
        of = (lambda x, pole=pole: 1 / abs(x - pole)) if apart else lambda x: x
        for j in np.flatnonzero((starts >= left) & (starts < right)).tolist():
            mean = quad(of, starts[j], ends[j])[0] / (ends[j] - starts[j])
            share = (mean - of(left)) / (of(right) - of(left))
            assert found[j] == pytest.approx((1 - share) * heights[i] + share * heights[i + 1], rel=1e-12)
    rng = np.random.default_rng(0)
    heights, coefficients = rng.random(len(nodes)), rng.random((2, slopes.classes))
    same = coefficients @ slopes.of_unknowns(heights)
    assert np.allclose(slopes.for_unknowns(coefficients) @ heights, same, rtol=1e-13)
    assert np.allclose(slopes.unknowns_of(np.full(slopes.classes, 0.7)), 0.7, rtol=1e-14)


@pytest.mark.parametrize("folded", [True, False])
def test_laws_of_few_heights_are_laws_on_their_blocks_and_cost_hardly_more(folded):
    blocks, sloped = (solved(program) for program in programs(folded))
    assert blocks.private and sloped.private
    assert not blocks.outside(sloped.inner)  # judged by the program that knows nothing of heights
    assert sloped.upper >= blocks.lower
    assert sloped.upper <= 1.02 * blocks.upper
    assert len(sloped.lattice.nodes) < 0.45 * blocks.lattice.classes


@pytest.mark.parametrize("folded", [True, False])
def test_a_program_may_look_at_more_shifts_later(folded):
    """What it has found so far stays what it is."""
    wide = replace(GRADING, coarse=32)
    program = solved(programs(folded, wide)[1], 1e-4)
    before, lattice = program.lattice.tests, program.lattice
    missing = np.setdiff1d(Blocks.looked_at.func(lattice), lattice.looked_at)
    first, rest = missing[-2:].tolist(), missing[:-2].tolist()
    once = replace(lattice, also=tuple(first))
    more = replace(once, also=(*first, *rest))
    after = more.tests
    assert (after.shift[: once.tests.count] == once.tests.shift).all() and after.shift.dtype == np.int64
    assert len(missing) and (after.shift[: before.count] == before.shift).all()
    assert (after.place[: before.count] == before.place).all() and set(after.shift[before.count :]) == set(missing)
    program.look(more)
    solved_before = program.upper
    program.solve(Limits(0.3, 1e-5, math.inf, lambda: False), lambda lower, upper: upper - lower < 1e-4 * lower)
    assert program.private and program.upper >= solved_before * (1 - 1e-4)
    assert not programs(folded, wide)[0].outside(program.inner)  # judged at all shifts


def test_a_program_goes_on_after_its_last_round(monkeypatch):
    """Rows found in that round are the first of what follows."""
    monkeypatch.setattr(central, "LOTS", 3)
    program = solved(programs()[1])
    bracket = program.lower, program.upper
    for _ in range(20):
        program.solve(Limits(0.3, 1e-5, math.inf, lambda: False), lambda lower, upper: upper - lower < 1e-5 * lower)
    assert bracket[0] < program.lower <= program.upper < bracket[1]
    assert program.upper - program.lower < 0.1 * (bracket[1] - bracket[0])


def test_a_law_that_the_audit_refuses_is_mended_at_the_shifts_where_it_is_outside(monkeypatch):
    problem, looked = under(2.42, "l1"), []
    one = ProfileSearch(problem, SolverSettings(gap=1e-3, time_limit=60))
    one._start()
    one.lower = 0.2514  # so that programs end near enough to their optimum to be at all limits
    monkeypatch.setattr(CentralProgram, "look", lambda self, lattice: looked.append(lattice) or kept(self, lattice))
    one._curve_cells(145)
    looked.clear()
    one._curve_cells(418)
    assert len(looked) > 1 and looked[-1].also and not looked[0].also  # refused at least once
    assert one.best.source == "linear program" and one.best.proof.holds


kept = CurveProgram.look


def test_the_program_of_heights_has_the_value_of_its_rows_written_out():
    sloped = solved(programs()[1])
    lattice, tests = sloped.lattice, sloped.lattice.tests
    rows, limits = [], []
    for cut in sloped.cuts:  # every row from its definition: P(A) − e^(μz) Q(A) ≤ δ(μz)
        growth, limit = sloped._line(cut.z)
        mine = np.isin(tests.test, cut.tests)
        row = np.zeros(lattice.classes)
        np.add.at(row, tests.column[mine], tests.event[mine] - growth * tests.cover[mine])
        rows.append(row)
        limits.append(limit)
    hats = np.stack([lattice.of_unknowns(one) for one in np.eye(len(lattice.nodes))], axis=1)
    paid = np.bincount(lattice.classify(lattice.indices), sloped.costs, lattice.classes)
    scale = 1 / np.maximum(np.array(limits), 1e-12)
    found = linprog(
        paid @ hats, A_ub=(np.array(rows) * scale[:, None]) @ hats, b_ub=np.array(limits) * scale,
        A_eq=[lattice.multiplicity @ hats], b_eq=[1.0], bounds=(0, None), method="highs",
    )  # fmt: skip
    assert found.status == 0
    assert found.fun == pytest.approx(sloped.upper, rel=1e-4)
    assert found.fun <= sloped.upper * (1 + 1e-9)


def test_whether_a_law_is_outside_agrees_with_the_rows_that_it_violates():
    program = programs()[0]
    ends = program.lattice.ends / (2 * program.lattice.k)
    for share in (0.9, 0.999, 1.001, 1.1):
        law = normal_masses(ends * MU * share)
        law = program._levelled(law / law.sum())
        assert program.outside(law) == (share > 1) == bool(program.violated(law, 1e-4))
        assert program.outside(law) == (share > 1)  # whatever shift was looked at first


def test_kinks_at_the_minimiser_decide_how_close_nodes_are_next_to_poles():
    def narrow(loss: str, mu: float = 2.5):
        one = ProfileSearch(under(mu, loss), SolverSettings(gap=0.1, time_limit=1))
        return one._poles, one._narrow

    assert narrow("l1") == narrow("asym:1:3") == narrow("table:-1=2,0=0,1=1") == (True, search.NARROW)
    assert narrow("huber:0.5") == narrow("lp:1.4") == (True, search.NARROW_FLAT)
    assert not narrow("l1", 1.7)[0] and not narrow("exceed:0.7")[0]


@pytest.mark.parametrize("loss", ["l1", "asym:1:2", "huber:0.5"])
def test_the_answer_is_certified_and_close(loss):
    problem = under(2.2, loss)
    solution = ProfileSearch(problem, SolverSettings(gap=0.01, time_limit=20)).run()
    certificate = solution.certificate
    assert 0 < certificate.lower <= certificate.upper <= 1.0101 * certificate.lower
    assert solution.source == "linear program" or loss == "huber:0.5"
    assert certificate.profile.holds
