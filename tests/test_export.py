"""Files: what is written reads back, is audited again and is not believed otherwise; scripts run and sample the law."""

from __future__ import annotations

import copy
import csv
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincc

from dpcore import __version__, audit
from dpcore.errors import InputError
from dpcore.export import (
    load_solution,
    noise_to_csv,
    python_snippet,
    solution_from_dict,
    solution_from_json,
    solution_to_dict,
    solution_to_json,
)
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.staircase import Staircase
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from dpcore.solution import Certificate, Progress, Solution

RELOADED = "reloaded; lower bound as stated in the file"


def truncated_laplace(epsilon=1.0, delta=0.2, sensitivity=2.0, *, k=3, atom=0.0, loss="l1", **constraints) -> Solution:
    """A certified solution made by hand: a truncated Laplace law on a lattice and the lower bound 0."""
    problem = noise_problem(epsilon, delta, sensitivity, loss, **constraints)
    n = k * math.ceil(problem.privacy.truncation() + 2)
    masses = np.exp(-epsilon * np.abs(np.arange(-n, n + 1)) / k)
    noise = PiecewiseNoise.from_masses(
        sensitivity=sensitivity,
        resolution=2 * k,
        breaks=np.arange(-2 * n - 1, 2 * n + 2, 2),
        masses=(1 - atom) * masses / masses.sum(),
        atom=atom,
    )
    delta_upper, shift = audit.shortfall_upper(noise, epsilon)
    upper = audit.loss_upper(noise, problem.loss)
    certificate = Certificate(0.25 * upper, upper, delta_upper, shift)
    trace = (Progress(0.1, 0.0, math.inf, 3, 4), Progress(0.2, 0.25 * upper, upper, 7, 9))
    return Solution(problem, SolverSettings(), noise, certificate, trace, 0.25, len(masses), 2 * k, "made by hand")


def staircase(epsilon=1.0, atom=0.0) -> Solution:
    problem = noise_problem(epsilon, atom, 2.0)
    noise = Staircase.calibrate(problem.privacy, 2.0, atom=atom)
    upper = noise.loss_upper(problem.loss)
    certificate = Certificate(upper * (1 - 1e-8), upper, noise.shortfall(epsilon, 2.0), 2.0)
    return Solution(problem, SolverSettings(), noise, certificate, (), 0.0, 0, 0, "closed form")


SOLUTIONS = [
    truncated_laplace(),
    truncated_laplace(0.3, 0.1, 0.1, k=1, loss="pinball:0.8", support=(-5.0, math.inf)),
    truncated_laplace(2.0, 0.4, 1e6, atom=0.1, symmetric=True, monotone=True),
    truncated_laplace(1.0, 0.2, loss="table:-1=2.5,0.5=0,2=1"),
    staircase(),
    staircase(0.5, 0.3),
]


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_reads_back_exactly(solution, tmp_path):
    text = solution_to_json(solution)
    file = tmp_path / "noise.json"
    file.write_text(text)
    for again in (solution_from_json(text), solution_from_json(text.encode()), load_solution(file)):
        assert again.problem == solution.problem
        assert again.source == RELOADED
        assert again.certificate.delta_upper == solution.certificate.delta_upper
        assert again.certificate.upper == pytest.approx(solution.certificate.upper, rel=1e-12)
        assert again.certificate.lower == solution.certificate.lower
        one, two = solution_to_dict(solution)["noise"], solution_to_dict(again)["noise"]
        assert one == two


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "constraints"),
    [
        (1.0, 0.2, "l1", {"monotone": True}),
        (1.0, 0.2, "pinball:0.8", {"symmetric": True}),
        (1.0, 0.2, "pinball:0.8", {"monotone": True}),
        (1.0, 0.2, "l1", {"support": (-math.inf, 0.0)}),
        (1.0, 0.2, "l1", {"support": (-2.3, 3.1)}),
        (5.0, 0.5, "l2", {}),
        (0.0, 0.6, "l1", {}),
        (0.001, 1e-12, "l1", {}),
        (1.0, 0.2, "exceed:2", {}),
        (2.0, 0.0, "huber:1", {}),
        (2.0, 0.0, "asym:1:3", {}),
    ],
)
def test_solved_noise_reads_back(epsilon, delta, loss, constraints):
    """What the solver makes passes every check a file goes through, with the certificate it came with."""
    problem = noise_problem(epsilon, delta, 1.0, loss, **constraints)
    solution = solve(problem, SolverSettings(gap=0.02, time_limit=1.0))
    again = solution_from_json(solution_to_json(solution))
    assert again.certificate.lower == solution.certificate.lower
    assert again.certificate.delta_upper == solution.certificate.delta_upper <= delta
    assert again.certificate.upper == pytest.approx(solution.certificate.upper, rel=1e-12)
    compile(python_snippet(solution), "snippet", "exec")


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_json_is_strict_and_probabilities_sum_to_one(solution):
    data = json.loads(solution_to_json(solution), parse_constant=lambda name: pytest.fail(name))
    assert data["version"] == __version__
    noise = data["noise"]
    assert abs(math.fsum([*noise["probabilities"], noise["atom"]["mass"]]) - 1) <= 1e-15
    assert len(noise["edges"]) == len(noise["probabilities"]) + 1


@pytest.mark.parametrize("solution", SOLUTIONS[4:])
def test_listed_cells_of_a_staircase_are_its_cells(solution):
    law = solution.noise
    edges, probabilities = law.listed()
    middles = 0.5 * (edges[1:] + edges[:-1])
    assert probabilities / np.diff(edges) == pytest.approx(law.density(middles), rel=1e-12)
    assert 1 - (law.cdf(edges[-1]) - law.cdf(edges[0])) <= 2e-16
    inside = edges[:-1] + 0.999 * np.diff(edges)
    assert probabilities / np.diff(edges) == pytest.approx(law.density(inside), rel=1e-12)  # constant on each cell


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_csv(solution):
    rows = list(csv.DictReader(noise_to_csv(solution).splitlines()))
    assert list(rows[0]) == ["left", "right", "probability", "density"]
    assert abs(math.fsum(float(row["probability"]) for row in rows) - 1) <= 1e-15
    for row in rows:
        if row["density"]:
            width = float(row["right"]) - float(row["left"])
            assert float(row["density"]) * width == pytest.approx(float(row["probability"]), rel=1e-12)
        else:
            assert row["left"] == row["right"]
    assert sum(row["density"] == "" for row in rows) == len(solution.noise.atoms)


@pytest.mark.parametrize("solution", [SOLUTIONS[0], SOLUTIONS[2], SOLUTIONS[5]])
def test_snippet_runs_alone_and_samples_the_law(solution, tmp_path):
    script = tmp_path / "noise.py"
    script.write_text(
        python_snippet(solution)
        + "\n    import json\n    assert abs(release(5.0)) < 1e9"
        + "\n    open('out.json', 'w').write(json.dumps([VERSION, PROBLEM, CERTIFICATE, sample(20000)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "noise.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )  # -S: no installed package, numpy included
    assert len(done.stdout.splitlines()) == 12
    version, problem, certificate, draws = json.loads((tmp_path / "out.json").read_text())
    assert version == __version__
    assert problem["epsilon"] == solution.problem.privacy.epsilon and problem["loss"] == solution.problem.loss.spec
    assert certificate["upper"] == solution.certificate.upper
    law = solution.noise
    ((_, mass),) = law.atoms or ((0.0, 0.0),)
    draws = np.array(draws)
    cuts = np.unique(law.quantile(np.linspace(0.02, 0.98, 25)))
    cuts = np.unique(np.append(cuts[np.abs(cuts) > 1e-9], [-1e-12, 1e-12]))  # the atom by itself
    probabilities = np.diff(np.concatenate([[0.0], law.cdf(cuts), [1.0]]))
    counts = np.bincount(np.searchsorted(cuts, draws), minlength=len(probabilities))
    keep = probabilities > 1e-9
    # The lattice point 0 belongs to a cell as well: a share of some 1e-6 of it, unseen in 20 000 draws, or the atom.
    assert counts[~keep].sum() <= 2
    statistic = ((counts[keep] - 20000 * probabilities[keep]) ** 2 / (20000 * probabilities[keep])).sum()
    # No seed is possible; a correct sampler fails once in 10^10 runs.
    assert float(gammaincc((keep.sum() - 1) / 2, statistic / 2)) > 1e-10
    assert bool(mass) == ("ATOM_WEIGHT = 0" not in python_snippet(solution) and bool(law.atoms))


def test_floats_alone_are_enough():
    """A file written by another program: edges on a lattice and probabilities, no whole numbers."""
    solution = truncated_laplace(atom=0.05)
    data = solution_to_dict(solution)
    for key in ("weights", "breaks", "resolution", "total", "origin"):
        del data["noise"][key]
    data["noise"]["atom"] = {"location": 0.0, "mass": data["noise"]["atom"]["mass"]}
    again = solution_from_dict(data)
    assert again.certificate.upper == pytest.approx(solution.certificate.upper, rel=1e-9)
    assert again.noise.masses == pytest.approx(solution.noise.masses, abs=1e-12)


def test_lower_bound_is_kept_only_where_it_can_be_true():
    data = solution_to_dict(SOLUTIONS[0])
    assert solution_from_dict(data).certificate.lower == data["lower"]
    data["certificate"]["lower"] = data["upper"] * 1.01
    assert solution_from_dict(data).certificate.lower is None
    data["certificate"]["lower"] = None
    again = solution_from_dict(data)
    assert again.certificate.lower is None and solution_to_dict(again)["gap"] is None


def test_stated_bounds_are_not_believed():
    data = solution_to_dict(SOLUTIONS[0])
    data["certificate"].update(upper=0.0, delta_upper=0.0)
    data["upper"] = 0.0
    again = solution_from_dict(data)
    assert again.certificate.upper == SOLUTIONS[0].certificate.upper
    assert again.certificate.delta_upper == SOLUTIONS[0].certificate.delta_upper


def changed(path: str, value: object) -> dict:
    data = copy.deepcopy(solution_to_dict(SOLUTIONS[0]))
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("epsilon", KeyError, "epsilon"),
        ("epsilon", "1", "epsilon"),
        ("epsilon", 1e6, "epsilon"),
        ("epsilon", math.nan, "epsilon"),
        ("epsilon", True, "epsilon"),
        ("epsilon", 0.5, "noise"),  # private at 1, not at 0.5
        ("delta", 0.01, "noise"),
        ("delta", None, "delta"),
        ("delta", [0.2], "delta"),
        ("sensitivity", 0, "sensitivity"),
        ("loss", "l3", "loss"),
        ("loss", 7, "loss"),
        ("loss", "l" * 200_000, "loss"),
        ("support", [0, None], "noise.edges"),
        ("support", [None], "support"),
        ("support", ["a", "b"], "support"),
        ("symmetric", 1, "symmetric"),
        ("monotone", "yes", "monotone"),
        ("format", 2, "format"),
        ("noise", KeyError, "noise"),
        ("noise", [], "noise"),
        ("noise.family", "gaussian", "noise.family"),
        ("noise.weights", [1], "noise.breaks"),
        ("noise.weights", "x", "noise.weights"),
        ("noise.weights", [None] * 31, "noise.weights"),
        ("noise.weights", ["-1"] * 31, "noise.weights"),
        ("noise.weights", [1.5] * 31, "noise.weights"),
        ("noise.weights", ["9" * 30] * 31, "noise.weights"),
        ("noise.weights", ["1"] * 300_000, "noise.weights"),
        ("noise.breaks", [0, 1], "noise.breaks"),
        ("noise.breaks", list(range(31, -1, -1)), "noise.breaks"),
        ("noise.breaks", [2**62 + i for i in range(32)], "noise.breaks"),
        ("noise.resolution", 0, "noise.resolution"),
        ("noise.resolution", 2.5, "noise.resolution"),
        ("noise.resolution", 2**62, "noise.resolution"),
        ("noise.resolution", KeyError, "noise.resolution"),
        ("noise.total", 7, "noise.total"),
        ("noise.origin", math.inf, "noise.origin"),
        ("noise.name", "n" * 500, "noise.name"),
        ("noise.atom", 3, "atom"),
        ("noise.atom.weight", "1", "noise.weights"),
        ("noise.atom.unit", 0.5, "noise.atom.unit"),
        ("certificate.lower", "low", "certificate.lower"),
        ("certificate.lower", -1, "certificate.lower"),
    ],
)
def test_hostile_fields_are_named(path, value, field):
    with pytest.raises(InputError) as caught:
        solution_from_dict(changed(path, value))
    assert caught.value.field == field
    assert len(str(caught.value)) < 400


def test_expensive_files_are_refused():
    """Some 10^9 shifts: the auditor would be busy for hours and the memory full."""
    data = solution_to_dict(SOLUTIONS[0])
    data["noise"]["resolution"] = 2**40
    for cells in (1400, 3000, 10_000):
        data["noise"]["breaks"] = [i * 2**30 + i * i for i in range(cells + 1)]
        data["noise"]["weights"] = [1] * (cells - 1) + [2**62 - cells + 1]
        with pytest.raises(InputError, match="shifts"):
            solution_from_dict(data)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "3", '"x"', "{", "{}", "[" * 200_000, '{"epsilon": 1e999}', b"\xff\xfe"]
)
def test_texts_that_are_no_solution(text):
    with pytest.raises(InputError):
        solution_from_json(text)


def test_constraints_are_checked():
    data = solution_to_dict(SOLUTIONS[0])
    n = len(data["noise"]["weights"])
    for name in ("symmetric", "monotone"):
        data[name] = True
    solution_from_dict(data)
    weights = [int(w) for w in data["noise"]["weights"]]
    crooked = list(weights)
    crooked[n // 2 + 1] -= 10**9
    crooked[n // 2 + 2] += 10**9
    for name in ("symmetric", "monotone"):
        other = copy.deepcopy(data) | {"symmetric": name == "symmetric", "monotone": name == "monotone"}
        solution_from_dict(other)
    with pytest.raises(InputError, match="not symmetric"):
        solution_from_dict(data | {"monotone": False, "noise": data["noise"] | {"weights": crooked}})
    bumpy = list(weights)
    for near, far in ((n // 2 - 1, n // 2 - 2), (n // 2 + 1, n // 2 + 2)):
        bumpy[near], bumpy[far] = bumpy[far], bumpy[near]
    with pytest.raises(InputError, match="increases away from 0"):
        solution_from_dict(data | {"noise": data["noise"] | {"weights": bumpy}})


paths = st.sampled_from(
    ["epsilon", "delta", "sensitivity", "loss", "symmetric", "monotone", "support", "format", "lower", "seconds",
     "certificate", "certificate.lower", "noise", "noise.family", "noise.breaks", "noise.weights", "noise.resolution",
     "noise.origin", "noise.total", "noise.name", "noise.atom", "noise.atom.unit", "noise.atom.weight"]
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(KeyError),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(paths, anything)
def test_whatever_a_field_holds_the_answer_is_private_or_a_message(path, value):
    try:
        solution = solution_from_dict(changed(path, value))
    except InputError:
        return
    privacy, noise = solution.problem.privacy, solution.noise
    assert solution.certificate.delta_upper <= privacy.delta
    assert audit.shortfall_upper(noise, privacy.epsilon)[0] == solution.certificate.delta_upper
    assert audit.loss_upper(noise, solution.problem.loss) == solution.certificate.upper
    solution_from_json(solution_to_json(solution))


def test_written_by_an_earlier_interrupt():
    """A solution without lower bound: null, not NaN."""
    solution = replace(SOLUTIONS[0], certificate=replace(SOLUTIONS[0].certificate, lower=None))
    data = json.loads(solution_to_json(solution))
    assert data["lower"] is None and data["gap"] is None
    assert "no lower bound" in python_snippet(solution)
    compile(python_snippet(solution), "snippet", "exec")
