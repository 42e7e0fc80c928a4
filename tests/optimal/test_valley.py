"""Multipliers of whole sensitivities and a reduced loss: proofs by the referee, next to the best staircase where δ is
small, however wide a plateau is."""

import math
import random

import numpy as np
import pytest

from dpcore.loss import parse_loss
from dpcore.noise.staircase import Staircase
from dpcore.optimal import laws, valley
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem


def problem_of(epsilon: float, delta: float, spec: str) -> NoiseProblem:
    return NoiseProblem(Privacy(epsilon, delta), 1.0, parse_loss(spec))


def bracket(epsilon: float, delta: float, spec: str, gap: float = 1e-3) -> tuple[float, float]:
    """(bound, what the best staircase with an atom costs)."""
    problem = problem_of(epsilon, delta, spec)
    staircase = laws.best_staircase(problem)
    upper = (1 - delta) * staircase.expected_loss(problem.loss)
    return valley.valley_lower(problem, staircase, lambda bound: upper <= bound * (1 + gap)), upper


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec"),
    [
        (4.06, 3.39e-7, "table:-3.1=1.485,-0.13=0,0=0,6.9=6.9"),
        (3.02, 1.65e-11, "table:-3.6=2.16,-2.2=1.46,-0.89=0.15,-0.74=0,0=0,2=0,2.1=0.2"),
        (3.4, 2.08e-12, "table:-4.7=2,-2.7=0,0=0,0.45=0,1.8=0.675,4.8=6.675"),
        (14.4, 2.08e-8, "table:-2.9=1.9,-1.2=0.2,-1=0,0=0,1=0,1.2=0.2,2.9=1.9"),
        (7.35, 2.5e-7, "table:-7.5=3.25,-1=0,0=0,1=0,7.5=3.25"),
        (4.58, 1.71e-12, "table:-5.2=9.62,-1.4=2.02,-0.78=0.78,-0.19=0.19,0=0,1.2=2.4"),
        (2.83, 7.92e-9, "table:-3.4=1.7,0=0,0.89=0,1.3=0.82"),
        (1.5, 1e-12, "pinball:0.3"),
        (3, 1e-10, "asym:1:4"),
        (2, 1e-12, "l2"),
        (5, 1e-9, "lp:3"),
        (2.37, 8.24e-9, "lp:3.88"),
        (3.04, 5.85e-10, "table:-0.35=0.175,0=0,0.2=0.2,0.34=0.13,0.43=0.085,0.62=0.275"),  # falls again
        (10.2, 2.35e-6, "table:-1=1.62,-0.34=0.3,-0.19=0,0=0,0.14=0.14,0.15=0.15,0.28=0.41,3.1=6.05"),  # more blocks
        (0.608, 2.65e-9, "asym:1:7.58"),  # small ε: many periods, and levels below all of the reduced loss
        (0.35, 2.65e-9, "pinball:0.2"),
        (0.25, 1e-7, "lp:3.2"),
        (0.25, 1e-6, "l2"),
        (4.92, 1.81e-11, "table:-0.45=0.09,-0.34=0.035,-0.21=0.1,-0.16=0,0=0,0.16=0,0.21=0.1,0.34=0.035,0.45=0.09"),
    ],
)
def test_bracket_of_closed_forms_is_narrow(epsilon: float, delta: float, spec: str) -> None:
    lower, upper = bracket(epsilon, delta, spec)
    assert upper / 1.001 <= lower <= upper


def test_bound_of_even_losses_is_theirs_without_delta() -> None:
    """Theorem 8 says what laws pay at δ = 0; δ > 0 only lowers it."""
    for epsilon, spec in ((1.3, "l1"), (2.5, "l2"), (4, "huber:0.5")):
        pure = laws.pure_lower(problem_of(epsilon, 0.0, spec))
        lower, _ = bracket(epsilon, 1e-12, spec)
        assert pure is not None
        assert 0.999 * pure <= lower <= pure


@pytest.mark.parametrize(("epsilon", "delta", "spec"), [(0.6, 1e-5, "lp:3.2"), (0.1, 1e-5, "asym:1:5")])
def test_periods_that_delta_does_not_pay_for_prove_less(epsilon: float, delta: float, spec: str, monkeypatch) -> None:
    lower, _ = bracket(epsilon, delta, spec)
    monkeypatch.setattr(valley, "PRICE", 0.0)
    assert bracket(epsilon, delta, spec)[0] < lower


def test_no_staircase_with_an_atom_is_below() -> None:
    rng = random.Random(11)
    for _ in range(8):
        left, right = rng.uniform(0.1, 1), rng.uniform(0.1, 2)
        spec = f"table:-{left + 1:.2f}={rng.uniform(0.1, 3):.2f},-{left:.2f}=0,0=0,{right:.2f}=0,{right + 2:.2f}=4"
        lower, upper = bracket(rng.uniform(0.1, 12), 10 ** rng.uniform(-12, -2), spec, gap=0.01)
        assert lower <= upper


def test_multipliers_prove_what_the_referee_says() -> None:
    """min D − δ Σ λ, summed multiplier by multiplier."""
    problem = problem_of(2.5, 1e-4, "table:-2=1,-0.6=0,0=0,0.9=0,1.5=1.2")
    staircase = laws.best_staircase(problem)
    lattice = valley._Lattice.of(problem.loss, 1.0, 30, staircase.location, 6)
    for in_order, blocks in ((True, 0), (True, 3), (False, 0)):
        proof = valley._Valley(lattice, 2.5, 0.97 * staircase.expected_loss(problem.loss), in_order, blocks).proof
        D, rates = proof.costs.copy(), dict.fromkeys(proof.shifts.tolist(), 0.0)
        summed: dict[tuple[int, int], float] = {}
        for shift, event, y in zip(proof.shifts.tolist(), proof.events.tolist(), proof.weights.tolist()):
            assert abs(shift) <= 30
            D[event - proof.first] += y
            cover = event - shift - proof.first
            if 0 <= cover < len(D):
                D[cover] -= math.exp(2.5) * y
            summed[shift, event] = summed.get((shift, event), 0.0) + y
        for (shift, _), y in summed.items():
            rates[shift] = max(rates[shift], y)
        proved = D.min() - 1e-4 * sum(rates.values())
        assert proof.lower(problem.privacy) == pytest.approx(proved, rel=1e-9)
        assert proved > 0


def test_demand_goes_to_supply_in_order() -> None:
    rng = np.random.default_rng(2)
    k, first = 40, 30
    demand, supply = rng.random(15), np.concatenate([rng.random(30), np.zeros(15), rng.random(36)])
    for size in (0.1, 0.5, 3.0):
        events, places, weights = valley._in_order(size * demand, supply, first, k)
        met = np.bincount(events - first, weights, 15)
        assert (np.bincount(places, weights, 2 * k + 1) <= supply * (1 + 1e-12)).all()
        assert (np.abs(events - places) <= k).all()
        assert ((places < first) | (places >= first + 15)).all()
        if size < 1:
            assert met == pytest.approx(size * demand)
        for side in (places < first, places >= first):
            assert (np.diff(events[side]) >= 0).all()
            assert (np.diff(places[side]) >= 0).all()


def test_blocks_share_their_shifts() -> None:
    """As much is met as node by node, within the supply, and δ is paid for fewer levels."""
    k, first = 100, 80
    demand, away = np.ones(40), np.abs(np.arange(2 * k + 1) - k)
    supply = np.where((np.arange(2 * k + 1) < first) | (np.arange(2 * k + 1) >= first + 40), away / 200, 0.0)
    supply *= demand.sum() / supply.sum()
    rates = []
    alone = valley._in_order(demand, supply, first, k)
    for events, places, weights in (alone, valley._in_blocks(alone, demand, supply, first, k, 4)):
        assert np.bincount(events - first, weights, 40) == pytest.approx(demand, rel=0.02)
        assert (np.bincount(places, weights, 2 * k + 1) <= supply * (1 + 1e-9)).all()
        assert (np.abs(events - places) <= k).all()
        each: dict[tuple[int, int], float] = {}
        for event, place, y in zip(events.tolist(), places.tolist(), weights.tolist()):
            each[place - event, event] = each.get((place - event, event), 0.0) + y
        rates.append(sum(max(y for (s, _), y in each.items() if s == shift) for shift in {s for s, _ in each}))
    assert rates[1] < 0.5 * rates[0]


@pytest.mark.parametrize(
    ("epsilon", "spec"),
    [
        (3.02, "table:-3.6=2.16,-2.2=1.46,-0.89=0.15,-0.74=0,0=0,2=0,2.1=0.2"),
        (15.1, "table:-3.8=5.99,-2=2.39,-1.3=0.99,-0.31=0,0=0,3.4=0,5.4=2"),
    ],
)
def test_top_step_is_anywhere_on_a_wide_plateau(epsilon: float, spec: str) -> None:
    problem = problem_of(epsilon, 1e-9, spec)
    cost = laws.best_staircase(problem).expected_loss(problem.loss)
    others = (Staircase(epsilon, 1.0, g, 0.0, x) for g in (0.05, 0.2, 0.4) for x in np.linspace(-0.7, 3.4, 80))
    assert cost <= min(law.expected_loss(problem.loss) for law in others) * (1 + 1e-9)


def test_there_may_be_nothing_to_hand_on() -> None:
    """Of an empty list `np.bincount` makes whole numbers, which no fraction can be added to."""
    problem = problem_of(2.14, 2.26e-8, "table:-0.15=0.15,0=0,1=0,6.8=11.6")
    monotone = Staircase(2.14, 1.0, 0.255403084172524, 0.0, 0.0)  # the best one that falls away from 0
    assert 0 <= valley.valley_lower(problem, monotone, lambda bound: False) <= monotone.expected_loss(problem.loss)
