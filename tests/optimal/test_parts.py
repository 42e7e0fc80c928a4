"""Budgets and several pairs (ε, δ): parts of a problem first, labels at jumps, atoms that are spread."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore.audit_shape import admitted
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import solve
from dpcore.optimal.laws import spiked
from dpcore.optimal.lower import atom_serves, lower_step
from dpcore.optimal.parts import PartsSearch
from dpcore.optimal.step import Limits, Window
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem

FOREVER = Limits(1.0, 1e-3, math.inf, lambda: False)


def budgeted(epsilon, delta, loss, second, most, **shape):
    return noise_problem(epsilon, delta, 1.0, loss, budget=Budget(parse_loss(second), most), **shape)


@pytest.mark.parametrize(
    "problem",
    [
        budgeted(1.0, 0.1, "l1", "exceed:1", 0.3),
        budgeted(0.5, 0.05, "pinball:0.8", "exceed:1", 0.7),
        budgeted(1.5, 0.2, "table:-3=2,-1=2,0=0,1=0.2,1.5=0.1,3=4", "exceed:0.5", 0.35),
        budgeted(1.0, 0.1, "l1", "exceed:1", 0.35, monotone=True),
        budgeted(1.0, 0.1, "asym:1:2", "exceed:1", 0.4, monotone=True),
        budgeted(1.0, 0.2, "l1", "exceed:1", 0.35, support=(-1.75, 4.0)),
    ],
)
def test_labels_at_jumps_stay_below_audited_laws(problem, monkeypatch):
    """Bounds from labels on lattices that hit the jump and that miss it; and a bracket that closes."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    found = solve(problem, SolverSettings(gap=5e-3, time_limit=2))
    upper = audit.loss_upper(found.noise, problem.loss)
    assert admitted(found.noise, problem) is not None
    for k in (2, 4, 6, 8, 10):
        assert lower_step(problem, k, Window(-6.0, 6.0), None, FOREVER, ends=True).bound <= upper
    assert upper >= found.certificate.lower >= 0.9 * upper


def test_labels_lose_less_than_infima_where_losses_have_slopes_and_jumps():
    """As many labels as cells, at a budget that binds."""
    problem = budgeted(0.172, 2.47e-11, "pinball:0.89", "exceed:1", 0.9)
    upper, window = 2.0310165, Window(-200.0, 200.0)
    cells, labels = (lower_step(problem, 4, window, None, FOREVER, ends=ends).bound for ends in (False, True))
    assert 0 <= upper - labels < 0.2 * (upper - cells)


@pytest.mark.parametrize(
    ("loss", "second", "monotone", "serves"),
    [
        ("l1", "exceed:1", False, True),
        ("table:-1=1,1=0,2=1", "exceed:0.5", False, False),
        ("table:-1=1,1=0,2=1", "exceed:1", False, False),
        ("table:-1=1,1=0,2=1", "exceed:0.5", True, True),
        ("table:-2=1,-1=0.2,0=0,2=1", "exceed:0.5", False, True),
    ],
)
def test_an_atom_at_the_minimiser_has_to_be_cheap_for_the_budget_too(loss, second, monotone, serves):
    assert atom_serves(budgeted(1.0, 0.1, loss, second, 0.5, monotone=monotone)) == serves


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=12, max_size=12),
    st.integers(-4, 4),
    st.floats(0.05, 0.5),
    st.floats(0.3, 3.0),
    st.floats(0.3, 3.0),
)
def test_a_spread_atom_is_as_private(densities, place, atom, epsilon, more):
    """On cells of a quarter of the sensitivity: what `spiked` returns uncovers no more at ε than the law, and no more
    at ε₂ than κ where it says so itself; its mass stays next to the atom's place."""
    masses = [d / sum(densities) * (1 - atom) for d in densities]
    law = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=4, breaks=range(-6, 7), masses=masses, atom=atom, atom_unit=place
    )
    delta, _ = audit.shortfall_upper(law, epsilon, 1.0)
    rest = audit.delta_upper(law, epsilon + more, 1.0) - law.atom_mass
    if not delta < 0.8:
        return
    kappa = min(max(rest, 0.0) + 0.3 * atom, 0.99 * delta)
    problem = noise_problem(epsilon, delta, 1.0, "l1", second=Privacy(epsilon + more, kappa))
    made = spiked(law, problem)
    if made is None:
        return
    assert audit.shortfall_upper(made, epsilon, 1.0)[0] <= delta * (1 + 1e-9) + 1e-14
    assert made.atom_mass <= atom
    assert math.isclose(made.cdf(place / 4 + 0.26) - made.cdf(place / 4 - 0.26),
                        law.cdf(place / 4 + 0.26) - law.cdf(place / 4 - 0.26), rel_tol=1e-9)  # fmt: skip


def test_a_spike_where_there_is_no_room_is_not_made():
    law = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1, breaks=[-1, 0, 1], masses=[0.1, 0.1], atom=0.8
    )  # no density a sensitivity away
    assert spiked(law, noise_problem(1.0, 0.79, 1.0, "l1", second=Privacy(2.0, 0.1))) is None


@pytest.mark.parametrize(
    "problem",
    [
        budgeted(0.00104, 0.0809, "exceed:5.63", "exceed:5", 0.9),  # an idle budget
        budgeted(0.172, 2.47e-11, "pinball:0.89", "exceed:1", 0.9),  # one that binds
        budgeted(1.12, 0.0809, "exceed:0.245", "exceed:2", 0.9),
        noise_problem(0.177, 2.73e-10, 1.0, "l1", second=Privacy(3.107, 3.05e-12)),
    ],
)
def test_what_took_long(problem, monkeypatch):
    """Gaps of 4 to 15 % after two seconds once."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    found = solve(problem, SolverSettings(gap=1e-3, time_limit=6))
    assert admitted(found.noise, problem) is not None
    assert found.certificate.upper <= found.certificate.lower * 1.0015


def test_a_part_stops_when_somebody_wants_the_answer():
    problem = budgeted(6.55, 0.00018, "huber:1.94", "exceed:5", 0.11)
    found = solve(problem, SolverSettings(gap=1e-6, time_limit=30), lambda record: record.upper < math.inf)
    assert found.seconds < 5
    assert found.certificate.upper >= found.certificate.lower > 0


def test_every_part_asks_for_less():
    problem = noise_problem(1.0, 0.1, 1.0, "l1", second=Privacy(2.0, 0.01))
    parts = PartsSearch(problem, SolverSettings())._parts()
    assert [(part.privacy, part.privacies) for part in parts] == [(p, (p,)) for p in problem.privacies]


def test_closed_bounds_do_not_wait_for_the_parts():
    """Whatever time laws take, what costs nothing is proved."""
    problem = noise_problem(0.01, 1e-6, 1.0, "exceed:0.227", second=Privacy(0.7503, 1e-8))
    found = solve(problem, SolverSettings(gap=1e-3, time_limit=1e-3))
    assert found.certificate.lower >= 0.99
