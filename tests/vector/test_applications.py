"""Principal components, coordinate descent, clipping per layer: calibration by hand, seeds, data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.errors import InputError
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy
from dpcore.vector.components import _clipped_sum, noises, private_components
from dpcore.vector.datasets import BUNDLED, load, read_table, unit_rows
from dpcore.vector.descent import _descend, _objective, private_descent
from dpcore.vector.layers import LAYERS, layer_noise
from dpcore.vector.profile import SensitivityProfile
from dpcore.vector.query import VectorQuery
from dpcore.vector.scales import RULES, allocate, gaussian_family, laplace_family
from dpcore.vector.tuned import SETTINGS, simulated, tuned_descent

PRIVACY = Privacy(1.0, 1e-6)


def test_bundled_tables_have_the_sizes_they_claim():
    sizes = {"digits": (1797, 61), "wine": (178, 13), "breast-cancer": (569, 30), "diabetes": (442, 10)}
    for name in BUNDLED:
        table = load(name)
        assert table.rows.shape == sizes[name]  # three pixels of the digits never change
        assert (np.abs(table.rows) <= table.half * (1 + 1e-12)).all() and len(table.target) == len(table.rows)
        assert np.abs(table.target).max() <= 1 + 1e-12
        norms = np.linalg.norm(unit_rows(table), axis=1)
        assert norms == pytest.approx(np.ones(len(norms)))
    with pytest.raises(InputError):
        load("california")


def test_uploaded_tables():
    rng = np.random.default_rng(0)
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in rng.normal(size=(30, 3)).tolist())
    table = read_table(text)
    assert table.rows.shape == (30, 2) and not table.ranges_public
    for bad in ("", "a,b\n1,2\n", text + "\n1,2", text + "\nx,y,z", text.replace("\n", "\nnan,1,2\n", 1)):
        with pytest.raises(InputError):
            read_table(bad)


def test_scales_of_the_upper_triangle():
    """σ_diag = 1/μ₀, σ_off = 1/(√2 μ₀) without clipping; for the clipped profile [MK, §VI-B] by hand."""
    M = 7
    K, mu = M * (M + 1) // 2, 1 / Gaussian.calibrate(PRIVACY, 1.0).sigma
    found = {noise.key: noise for noise in noises(M, PRIVACY)}
    assert found["gaussian-iid"].diagonal == found["gaussian-iid"].off == pytest.approx(1 / mu)
    exact = found["gaussian-exact"]
    assert (exact.diagonal, exact.off) == pytest.approx((1 / mu, 1 / (math.sqrt(2) * mu)))
    on, off = 1 / math.sqrt(K), 1 / math.sqrt(2 * K)
    l1 = M * on + (K - M) * off
    optimal = found["gaussian-optimal"]
    assert (optimal.diagonal, optimal.off) == pytest.approx((math.sqrt(on * l1) / mu, math.sqrt(off * l1) / mu))
    assert (found["gaussian-spr"].diagonal, found["gaussian-spr"].off) == pytest.approx((exact.diagonal, exact.off))
    assert found["laplace-iid"].off == pytest.approx((M + 1) / 2)


def test_one_person_moves_the_upper_triangle_by_no_more():
    rng, M = np.random.default_rng(1), 6
    for _ in range(300):
        x = rng.normal(size=M) * rng.exponential(size=M)
        x /= np.linalg.norm(x)
        d = np.outer(x, x)
        upper = d[np.triu_indices(M)]
        off = d[np.triu_indices(M, 1)]
        assert np.diag(d) @ np.diag(d) + 2 * off @ off <= 1 + 1e-12
        assert np.abs(upper).sum() <= (M + 1) / 2 + 1e-12 and np.abs(off).max() <= 0.5 + 1e-12


def test_clipped_sums_are_entry_by_entry():
    rows = np.random.default_rng(2).normal(size=(250, 4))
    bounds = np.full((4, 4), 0.3)
    expected = sum(np.clip(np.outer(x, x), -bounds, bounds) for x in rows)
    assert _clipped_sum(rows, bounds) == pytest.approx(expected)


def test_principal_components():
    """Same seeds, same answer; no clipping beats identical noise, whose error falls with ε."""
    table = load("synthetic")
    first, again = (private_components(table, Privacy(2.0, 1e-6), rank=10, trials=4) for _ in range(2))
    assert first == again
    found = {one.key: one for one in first}
    assert found["gaussian-exact"].values[1] < found["gaussian-iid"].values[1] < found["laplace-iid"].values[1]
    assert all(0 <= v <= 1 + 1e-9 for one in first for v in one.values)
    strict = {one.key: one for one in private_components(table, Privacy(1.0, 1e-6), rank=10, trials=4)}
    assert strict["gaussian-iid"].values[1] > found["gaussian-iid"].values[1]
    assert {one.key for one in private_components(load("wine"), Privacy(1.0, 0.0), rank=2, trials=2)} == {
        "laplace-iid", "laplace-spr", "laplace-optimal"
    }  # fmt: skip


@pytest.mark.parametrize(("name", "model"), [("diabetes", "lasso"), ("breast-cancer", "logistic")])
def test_coordinate_descent(name, model):
    table = load(name)
    found = private_descent(table, model, Privacy(2.0, 1e-5), clip=100.0, trials=3)
    assert found == private_descent(table, model, Privacy(2.0, 1e-5), clip=100.0, trials=3)
    errors = {one.key: one.values[0] for one in found}
    assert len(found) == 8 and all(np.isfinite(v) for v in errors.values())
    assert errors["gaussian-weighted"] < errors["gaussian-iid"]
    assert min(errors.values()) >= -1e-6  # nobody beats the optimum
    with pytest.raises(InputError):
        private_descent(table, "ridge", PRIVACY)


def test_descent_without_noise_and_clipping_converges():
    table = load("diabetes")
    smooth = (table.rows**2).mean(axis=0)
    quiet = np.zeros((1, 400, table.rows.shape[1]))
    steps, caps = 1 / smooth, np.full(len(smooth), 1e12)
    theta = _descend(table.rows, table.target, "lasso", steps, caps, 1e-3, 400, quiet)
    from sklearn.linear_model import Lasso

    fit = Lasso(alpha=1e-3, fit_intercept=False, max_iter=10**6, tol=1e-12).fit(table.rows, table.target)
    values = [_objective(table.rows, table.target, "lasso", 1e-3, t[None, :])[0] for t in (theta[0], fit.coef_)]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


@pytest.mark.parametrize("make", [gaussian_family, laplace_family])
def test_layers(make):
    """Constraint by hand: Σ_m (C/s_m)^q ≤ R^q whatever a layer's change; the optimum is the best of the three."""
    family = make(Privacy(5.0, 1e-5))
    found = {one.rule: one for one in layer_noise(family)}
    limit = 1 / len(LAYERS) ** (1 / family.q)
    unit = math.sqrt(family.moment(2.0))
    for one in found.values():
        spent = math.fsum((limit * unit / s) ** family.q for s in one.deviations)
        assert spent == pytest.approx(family.radius**family.q, rel=1e-9)
        counts = [count for _, count in LAYERS]
        assert one.total == pytest.approx(math.fsum(c * s * s for c, s in zip(counts, one.deviations)), rel=1e-9)
    assert found["optimal"].total == min(one.total for one in found.values())


@pytest.mark.parametrize("model", ["lasso", "logistic"])
def test_tuned_descent(model):
    """Every rule picks the best of its settings; identical noise is worst, scale-perturb-rescale best."""
    privacy, seen = Privacy(1.0, 1 / 20_000**2), []
    found = tuned_descent(simulated(model), model, privacy, passes=(20,), progress=lambda one: seen.append(one))
    assert [one.rule for one in found] == ["iid", "spr", "optimal"] and [one for one in seen if one] == found
    assert len(seen) == 3 * (1 + math.prod(map(len, SETTINGS[model])))
    errors = {one.rule: one.error for one in found}
    assert errors["spr"] < errors["optimal"] < errors["iid"]
    assert all(0 <= one.quiet < 0.01 and one.error > 0 for one in found)
    assert tuned_descent(simulated(model), model, privacy, passes=(2,), progress=lambda _: True) == []
    for wrong in ("ridge", ""):
        with pytest.raises(InputError):
            simulated(wrong)


def test_no_allocation_beats_scale_perturb_rescale_for_the_objective():
    """½Σ M σ² of the rules as docs/vector.md says, and random allocations of the same resource never below."""
    rng = np.random.default_rng(4)
    M, family = 10 ** rng.uniform(-2, 2, size=6), gaussian_family(PRIVACY)
    lam = 1 / np.sqrt(M)
    query = VectorQuery(PRIVACY, SensitivityProfile(tuple(lam)))
    cost = {rule: float(M @ allocate(query, family, rule).scales ** 2) * family.radius**2 for rule in RULES}
    assert cost["iid"] == pytest.approx(M.sum() * (1 / M).sum())
    assert cost["optimal"] == pytest.approx(np.sqrt(M).sum() * (1 / np.sqrt(M)).sum())
    assert cost["spr"] == pytest.approx(36)
    for _ in range(200):
        shares = rng.dirichlet(np.ones(6))
        assert M @ (lam**2 / shares) >= 36 * (1 - 1e-9)  # λ²/σ² = shares of the resource
