"""Points and breaks that look alike are the same: on lattices every loss is that of the numbers the texts name.

Truths by fractions; e^−ε by mpmath.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import audit
from dpcore.cli import main
from dpcore.loss import parse_loss, table
from dpcore.noise import DiscreteStaircase
from dpcore.noise.lattice import lattice_points, stretched
from dpcore.optimal import solve
from dpcore.problem import noise_problem

COMMANDS = [
    (1, "0.1", "0.1", "0.3"), (1, "0.1", "0.1", "0.6"), (1, "0.1", "0.1", "0.7"), (1, "0.1", "0.1", "1.2"),
    (5, "0.3", "0.1", "0.6"), (2, "0.07", "0.01", "0.29"), (0.5, "6", "3", "51"),
]  # fmt: skip
"""(ε, sensitivity, granularity, threshold) as they are typed; the quotient of the last two is whole, that of their
floats often is not."""


def beyond(rate: float, period: int, rise: int, last: int) -> mpmath.mpf:
    """P(|N| > last) of the staircase law with these parameters."""
    with mpmath.workdps(40):
        weight = lambda i: mpmath.exp(-mpmath.mpf(rate) * ((i - rise) // period + 1))  # noqa: E731
        far = last + period * (int(120 / rate) + 2)
        outside = 2 * sum(weight(i) for i in range(last + 1, far))
        return outside / (outside + weight(0) + 2 * sum(weight(i) for i in range(1, last + 1)))


def printed(capsys, command: str) -> dict:
    assert main(command.split()) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("epsilon", "sensitivity", "step", "threshold"), COMMANDS)
def test_solve_brackets_the_loss_of_the_law_in_its_own_file(capsys, epsilon, sensitivity, step, threshold):
    last = Fraction(threshold) / Fraction(step)
    assert last.denominator == 1
    options = f"--epsilon {epsilon} --delta 0 --sensitivity {sensitivity} --granularity {step}"
    found = printed(capsys, f"solve {options} --loss exceed:{threshold}")
    law = found["noise"]["parameters"]
    exact = beyond(law["rate"], law["period"], law["rise"], int(last))
    assert found["lower"] <= exact <= found["upper"]
    assert found["upper"] - found["lower"] <= 1e-9 * found["upper"]
    k = int(Fraction(sensitivity) / Fraction(step))
    assert found["lower"] <= min(beyond(epsilon, k, r, int(last)) for r in range(1, k + 1))


def test_inversion_finds_the_epsilon_that_suffices(capsys):
    found = printed(capsys, "invert --error 0.03 --delta 0 --sensitivity .1 --granularity .1 --loss exceed:0.3")
    assert found["epsilon_lower"] <= found["epsilon_upper"] <= 1
    assert beyond(found["epsilon_upper"], 1, 1, 3) <= 0.03 < beyond(found["epsilon_lower"], 1, 1, 3)


@pytest.mark.parametrize(("epsilon", "sensitivity", "step", "threshold"), COMMANDS)
def test_mechanisms_are_compared_by_their_true_losses(capsys, epsilon, sensitivity, step, threshold):
    last, k = int(Fraction(threshold) / Fraction(step)), int(Fraction(sensitivity) / Fraction(step))
    options = f"--epsilon {epsilon} --delta 1e-6 --sensitivity {sensitivity} --granularity {step}"
    rows = {row["key"]: row for row in printed(capsys, f"compare {options} --loss exceed:{threshold}")}
    assert rows["geometric"]["loss"] == pytest.approx(float(beyond(epsilon / k, 1, 1, last)), rel=1e-12)
    least = min(beyond(epsilon, k, r, last) for r in range(1, k + 1))
    assert rows["discrete-staircase"]["loss"] == pytest.approx(float(least), rel=1e-12)
    assert 1 <= rows["discrete-staircase"]["lower_bound_ratio"] <= 2


@given(st.integers(1, 9999), st.integers(-4, 3), st.integers(1, 400), st.floats(0.3, 5))
def test_a_threshold_that_is_a_point_is_that_point(digits, exponent, last, epsilon):
    """Whatever the decimal step: in steps, by the law in the query's unit, and on its points one by one."""
    step = Fraction(digits) * Fraction(10) ** exponent
    loss = parse_loss(f"exceed:{float(step * last)!r}")
    assert loss.scaled(float(step)).breaks.tolist() == [-last, 0, last]
    law = DiscreteStaircase(epsilon, 3, 2)
    exact = float(beyond(epsilon, 3, 2, last))
    assert stretched(law, float(step)).expected_loss(loss) == pytest.approx(exact, rel=1e-12)
    lower, upper = audit.lattice_costs(lattice_points(last - 1, 3, float(step)), loss)
    assert (lower[:2] == 0).all() and (upper[:2] == 0).all() and lower[2] > 0.99


@st.composite
def decimal_tables(draw) -> tuple[list[str], list[str]]:
    """Breakpoints and values as texts, two breakpoints possibly very close; the outer slopes do not point down."""
    x = sorted(draw(st.lists(st.integers(-60, 60), min_size=2, max_size=7, unique=True)))
    y = draw(st.lists(st.integers(0, 30), min_size=len(x), max_size=len(x)))
    breakpoints = [f"{value / 10:.1f}" for value in x]
    near = draw(st.one_of(st.none(), st.integers(0, len(x) - 1)))
    if near is not None:
        after = f"{Decimal(x[near]) / 10 + Decimal('1e-14'):.14f}"
        breakpoints.insert(near + 1, after)
        y.insert(near + 1, draw(st.integers(0, 30)))
    y[0], y[-1] = max(y[:2]), max(y[-2:])
    if len(y) == 2:
        y[0] = y[1] = max(y)
    return breakpoints, [f"{value / 10:.1f}" for value in y]


def interpolated(breakpoints: list[str], values: list[str], x: Fraction) -> Fraction:
    at, y = [Fraction(b) for b in breakpoints], [Fraction(v) for v in values]
    i = min(max(sum(b <= x for b in at) - 1, 0), len(at) - 2)
    return y[i] + (y[i + 1] - y[i]) * (x - at[i]) / (at[i + 1] - at[i])


@given(decimal_tables(), st.booleans())
def test_costs_of_lattice_points_enclose_the_true_ones(columns, symmetric):
    """Steep tables and symmetrised ones among them."""
    loss = table(*columns)
    loss = loss.symmetrised() if symmetric else loss
    lower, upper = audit.lattice_costs(lattice_points(-70, 141, 0.1), loss)
    for i, below, above in zip(range(-70, 71), lower.tolist(), upper.tolist()):
        exact = interpolated(*columns, Fraction(i, 10))
        if symmetric:
            exact = (exact + interpolated(*columns, Fraction(-i, 10))) / 2
        assert Fraction(below) <= exact <= Fraction(above)
        assert above - below <= 1e-13 * (1 + float(exact)) + 1e-13 * above


def test_lower_bounds_of_symmetrised_tables_are_rounded_down():
    """The mean of two decimals is not the float next to it."""
    for pair in np.random.default_rng(5).integers(1, 10**6, (40, 2)).tolist():
        left, right = (f"{value}e-6" for value in sorted(pair))
        loss = table(["-1", "0", "0.1", "0.2"], [left, left, right, right])
        problem = noise_problem(1.0, 0.9, 1.0, loss, granularity=1.0, symmetric=True, support=(-3.0, 3.0))
        far = (Fraction(left) + Fraction(right)) / 2  # every point but 0, which pays `left`
        lower, upper = audit.lattice_costs(lattice_points(-3, 7, 1.0), problem.paid_loss)
        assert all(Fraction(lower[i]) <= far <= Fraction(upper[i]) for i in (0, 1, 2, 4, 5, 6))
        certificate = solve(problem).certificate
        assert Fraction(certificate.lower) <= (9 * Fraction(left) + far) / 10 or Fraction(left) == far


def test_sweeps_see_the_same_loss(capsys):
    options = "--epsilon 1,2 --delta 0 --sensitivity .1 --granularity .1 --loss exceed:0.3 --workers 1 --fresh"
    for row in printed(capsys, f"sweep {options}"):
        exact = beyond(row["epsilon"], 1, 1, 3)
        assert row["lower"] <= exact <= row["upper"]
