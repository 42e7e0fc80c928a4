"""[SLW, Prop. 4]: the bounds stay apart as the grid is refined, and the truth is where the module says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore import audit
from dpcore.errors import InputError
from dpcore.gallery import never_meet as nm
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings

PRIVACY = Privacy(1.0, 0.2)


def published_periodic(x):
    """[SLW, A.8.2] with Δf = 1, word for word."""
    i = math.floor(x)
    if x < i + 0.5:
        return 1.0
    if x < i + 5 / 8:
        return 5 + 8 * i - 8 * x
    return 0.0 if x < i + 7 / 8 else 8 * x - 8 * i - 7


def test_the_losses_are_the_published_ones():
    loss = nm.periodic_loss(3)
    for x in np.linspace(-2.999, 2.999, 997):
        assert float(loss.value(x)) == pytest.approx(published_periodic(x), abs=1e-9)
    jump = nm.jump_loss(PRIVACY)
    assert nm.plateau(PRIVACY) == 6
    assert jump.value([0.0, 1e-12, -5.0, 6.0, 6.5, -8.0]).tolist() == [0.0, 1.0, 1.0, 1.0, 7.5, 9.0]
    assert float(jump.mean(-0.5, 0.5)) == pytest.approx(1.0)


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_the_jump_keeps_the_bounds_apart(cells):
    said, proof = nm.proved("jump", PRIVACY), nm.on_grid("jump", PRIVACY, cells).certificate
    assert proof.lower <= said.program_lower < said.program_upper <= proof.upper
    assert proof.lower <= said.lower <= said.upper  # a lower bound of V, which is near 1 − δ


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_the_period_keeps_the_bounds_apart(cells):
    said, proof = nm.proved("periodic", PRIVACY), nm.on_grid("periodic", PRIVACY, cells).certificate
    assert proof.lower == 0.0 == said.program_lower
    assert proof.upper >= said.program_upper == pytest.approx(0.8 / (1 + math.e))


@pytest.mark.parametrize("pair", [(1.0, 0.2), (0.5, 0.1), (3.0, 0.3), (0.05, 0.05), (2.0, 0.999)])
def test_a_point_mass_costs_less_than_any_density(pair):
    privacy = Privacy(*pair)
    law = nm.point_mass_law(privacy)
    assert audit.shortfall_upper(law, privacy.epsilon)[0] <= privacy.delta
    cost = audit.loss_upper(law, nm.jump_loss(privacy))
    assert 1 - privacy.delta <= cost < 1
    assert cost == pytest.approx(1 - law.atom_mass, rel=1e-9)


def test_wells_lead_to_the_point():
    """Widened to a well, the point is no problem: the bracket meets, and rises towards 1 − δ as the well narrows."""
    lowers = []
    for well in (0.5, 0.25, 0.125):
        proof = solve(nm.widened("jump", PRIVACY, well), SolverSettings(gap=1e-3, time_limit=10)).certificate
        assert proof.upper <= proof.lower * (1 + 1e-3)
        lowers.append(proof.lower)
    assert lowers == sorted(lowers) and lowers[-1] <= nm.proved("jump", PRIVACY).upper


def test_a_finite_support_has_a_price():
    """On a finite support the lower bound is positive again, and above what is proved of all laws."""
    proof = solve(nm.widened("periodic", PRIVACY, 3), SolverSettings(gap=0.5, time_limit=10)).certificate
    assert 0 < proof.lower and proof.upper >= nm.proved("periodic", PRIVACY).lower


def test_the_solver_does_not_take_a_single_point():
    problem = NoiseProblem(PRIVACY, 1.0, nm.jump_loss(PRIVACY))
    with pytest.raises(InputError, match="one-sided"):
        solve(problem, SolverSettings(gap=1e-4, time_limit=5))


def test_bad_input_is_named():
    for call in (
        lambda: nm.proved("other", PRIVACY),
        lambda: nm.problem("other", PRIVACY, 3),
        lambda: nm.widened("other", PRIVACY, 1),
        lambda: nm.periodic_loss(0),
        lambda: nm.jump_loss(Privacy(1.0, 1e-6)),
    ):
        with pytest.raises(InputError):
            call()
