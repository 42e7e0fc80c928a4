"""Links, files and command lines of an older version, kept in tests/corpus: each still says the same."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
import streamlit as st

from dpcore import data_dependent, export
from dpcore.cli import main, reading
from dpcore.data_dependent import files as channels
from dpcore.data_dependent.clamped import ClampedNoise
from dpcore.loss import load_table, parse_loss
from dpcore.private_optimization.files import load_model, load_rows
from dpcore.vector.files import profile_from_csv
from pages.data_dependent import controls as dependent
from pages.optimal_noise import inputs, pins
from pages.private_optimisation import controls as programs
from pages.registry import PAGES
from pages.shared.address import Address
from pages.tradeoff_maps import controls as maps
from pages.vector_queries import controls as vectors

CORPUS = Path(__file__).parent / "corpus"
FILES = CORPUS / "files"
LINKS = json.loads((CORPUS / "links.json").read_text(encoding="utf-8"))
COMMANDS = json.loads((CORPUS / "commands.json").read_text(encoding="utf-8"))
READ = json.loads((CORPUS / "files.json").read_text(encoding="utf-8"))

PAGE_OF = {page.address: page for page in PAGES}


# What is compared: plain JSON, made of what things are called in files and on the command line ---------------


def noise_problem(problem: Any) -> dict:
    """What is asked of additive noise."""
    loss, low_high = problem.loss, [end if math.isfinite(end) else None for end in problem.support]
    return {
        "epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta, "sensitivity": problem.sensitivity,
        "loss": loss.spec, "losses": [float(loss.value(x)) for x in (-3.5, -1.0, -0.25, 0.0, 0.25, 1.0, 3.5)],
        "symmetric": problem.symmetric, "monotone": problem.monotone, "support": low_high,
        "granularity": problem.granularity,
        "budget": problem.budget and [problem.budget.loss.spec, problem.budget.most],
        "second": problem.second and [problem.second.epsilon, problem.second.delta],
        "profile": problem.profile and problem.profile.spec,
    }  # fmt: skip


def dependent_problem(problem: data_dependent.DataDependentProblem) -> dict:
    """What is asked of data-dependent noise."""
    return {
        "epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta, "sensitivity": problem.sensitivity,
        "loss": problem.loss.spec, "range": [*problem.query_range], "weight": problem.weight.spec,
        "cap": problem.instance_cap, "monotone": problem.monotone, "ordered": problem.ordered,
        "partition": [*problem.partition],
    }  # fmt: skip


def vector_query(query: Any) -> dict:
    return {
        "epsilon": query.privacy.epsilon, "delta": query.privacy.delta, "power": query.power, "l1": query.l1,
        "l2": query.l2, "profile": [*query.profile.values], "names": [*query.profile.names],
    }  # fmt: skip


def private_program(program: Any) -> dict:
    model = program.model
    return {
        "epsilon": program.epsilon, "delta": program.delta, "sensitivity": program.sensitivity,
        "granularity": program.granularity, "rows": program.rows.tolist(), "guaranteed": program.guaranteed.tolist(),
        "limits": program.limits.tolist(), **model_figures(model),
    }  # fmt: skip


def model_figures(model: Any) -> dict:
    """A model's shape and a few sums that tell one from another."""
    quadratic = 0.0 if model.quadratic is None else float(abs(model.quadratic).sum())
    return {
        "shape": [*model.matrix.shape], "entries": float(abs(model.matrix).sum()), "quadratic": quadratic,
        "costs": float(np.abs(model.costs).sum()), "maximise": bool(model.maximise), "offset": float(model.offset),
        "finite rows": [float(part[np.isfinite(part)].sum()) for part in (model.row_lower, model.row_upper)],
    }  # fmt: skip


def certificate(proof: Any) -> dict:
    names = ("lower", "upper", "delta_upper", "worst_shift", "budget_upper", "second_delta_upper")
    return {name: getattr(proof, name) for name in names}


def law(noise: Any) -> dict:
    """Support, values of the distribution function and quantiles."""
    ends = [end if math.isfinite(end) else None for end in noise.support]
    places = noise.quantile(np.array([0.05, 0.3, 0.5, 0.9]))
    return {"support": ends, "quantiles": places.tolist(), "cdf": noise.cdf(places).tolist()}


# Links ------------------------------------------------------------------------------------------------------


def address_of(name: str) -> Address:
    """The reader of a page's address."""
    return next(page for page in PAGES if page.name == name).controls


def _map(values: dict) -> dict:
    asked = maps.read()
    assert asked.fault is None
    planes = {name: getattr(asked, name).axes for name in ("plane", "along", "across")}
    axes = {name: [list(part) for part in (one.epsilons, one.deltas)] for name, one in planes.items()}
    against = asked.frontier and asked.frontier.second.spec
    return {**noise_problem(asked.problem), **axes, "gap": asked.plane.gap, "wanted": asked.wanted, "against": against}


def _home(values: dict) -> dict:
    kept, faults = pins.read(values["pins"])
    assert not faults
    settings = inputs.read_settings(values)
    effort = [settings.gap, settings.time_limit, settings.method, settings.cells_per_sensitivity]
    pinned = [{**noise_problem(pin.problem), "unit": pin.unit} for pin in kept]
    return {**noise_problem(inputs.read_problem(values)), "effort": effort, "pins": pinned}


def _program(values: dict) -> dict | None:
    asked = programs._read(())
    assert not asked.complaints, asked.complaints
    named = {"mechanisms": [*asked.mechanisms]}
    return named if asked.program is None else {**named, **private_program(asked.program)}


PROBLEMS: dict[str, Callable[[dict], dict | None]] = {
    "optimal_noise": _home,
    "data_dependent": lambda values: dependent_problem(dependent.read_problem(values)),
    "vector_queries": lambda values: vector_query(vectors.read()),
    "tradeoff_maps": _map,
    "private_optimisation": _program,
}
"""Pages whose controls describe a problem; some read them from the session."""


def read_link(link: str) -> dict:
    """What a link says: every control that links hold, and the problem."""
    parts = urlsplit(link)
    path = parts.path.strip("/")
    page = PAGE_OF[path or "optimal_noise"]  # before there was a start page
    address = address_of(page.name)
    values, malformed = address.read(dict(parse_qsl(parts.query, keep_blank_values=True)))
    assert not malformed
    before = st.session_state.to_dict()
    address.choose(values)  # where `read` looks
    problem = PROBLEMS[page.name](values) if page.name in PROBLEMS else None
    for key in st.session_state.to_dict().keys() - before.keys():
        del st.session_state[key]
    linked = {key: value for key, value in values.items() if getattr(address.controls[key], "linked", True)}
    return {"values": linked, "problem": problem}


@pytest.mark.parametrize("kept", LINKS, ids=lambda kept: kept["link"][:60])
def test_a_link_opens_the_same_problem(kept):
    found = json.loads(json.dumps(read_link(kept["link"])))
    assert kept["values"].items() <= {key: found["values"].get(key) for key in kept["values"]}.items()
    same(found["problem"], kept["problem"])


# Files ------------------------------------------------------------------------------------------------------


def _solution(path: Path) -> dict:
    found = export.load_solution(path)
    return {
        "problem": noise_problem(found.problem), "certificate": certificate(found.certificate), "law": law(found.noise),
        "profile": found.certificate.profile and export.profile_to_dict(found.certificate.profile),
    }  # fmt: skip


def _channel(path: Path) -> dict:
    found = channels.load_solution(path)
    mechanism, proof = found.mechanism, found.certificate
    told = law(mechanism.noise) if isinstance(mechanism, ClampedNoise) else [
        mechanism.masses.tolist(), mechanism.atom_masses.tolist(), mechanism.grid.points.tolist(),
    ]  # fmt: skip
    return {
        "problem": dependent_problem(found.problem), "certificate": certificate(proof), "law": told,
        "cap": found.cap, "instance_upper": found.instance_upper,
    }  # fmt: skip


def _model(path: Path) -> dict:
    model = load_model(path)
    rows, limits = load_rows(path.with_suffix(".csv"), model)
    names = [list(names[:5]) for names in (model.row_names, model.column_names)]
    return {**model_figures(model), "rows": rows.tolist(), "limits": limits.tolist(), "names": names}


def _profile(path: Path) -> dict:
    found = profile_from_csv(path.read_text(encoding="utf-8"))
    return {"profile": [*found.values], "names": [*found.names]}


def _table(path: Path) -> dict:
    loss = load_table(path)
    return {"loss": loss.spec, "losses": [float(loss.value(x)) for x in (-5.0, -1.0, 0.0, 0.5, 7.0)]}


READERS: dict[str, Callable[[Path], dict]] = {
    "solution": _solution, "channel": _channel, "model": _model, "sensitivities": _profile, "loss": _table,
    "pairs": lambda path: {"profile": reading.read_pairs(str(path)).spec},
}  # fmt: skip


def read_file(kind: str, path: Path) -> dict:
    return READERS[kind](path)


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_was(name):
    kept = READ[name]
    found = json.loads(json.dumps(read_file(kept["kind"], FILES / name)))
    same(found, kept["read"])


# Command lines ----------------------------------------------------------------------------------------------

UNTOLD = {"seconds", "trace", "version", "cells", "shifts", "source", "noise", "certificate", "gap"}
"""Parts of an answer that say how it was found, and the law, of which there are many within the same bracket."""


@pytest.mark.parametrize("kept", COMMANDS, ids=lambda kept: kept["command"].removeprefix("python -m dpcore ")[:60])
def test_a_command_answers_as_it_did(kept, capsys, monkeypatch):
    monkeypatch.chdir(FILES)
    assert main(shlex.split(kept["command"])[3:]) == 0, capsys.readouterr().err
    found, before = json.loads(capsys.readouterr().out), kept["answer"]
    if isinstance(before, list) and "key" in before[0]:  # mechanisms may have joined
        found = [row for row in found if row["key"] in {old["key"] for old in before}]
    rows = [(found, before)] if isinstance(before, dict) else list(zip(found, before, strict=True))
    for one, other in rows:
        told = {key: value for key, value in other.items() if key not in UNTOLD}
        if told.keys() >= {"lower", "upper"}:  # two brackets of one optimum overlap
            assert one["lower"] <= told.pop("upper") and told.pop("lower") <= one["upper"]
        same(one, told)


def same(found: Any, kept: Any) -> None:
    """Equal, numbers to nine digits: summed in another order, as other processors do, they may differ behind them (a
    lower bound by the accountant's grid did by 3e-10), and nothing else may."""
    if isinstance(kept, dict):
        assert kept.keys() <= found.keys()
        for key, value in kept.items():
            if key == "loss" and isinstance(
                value, str
            ):  # or another text for the same pieces: steep losses were written as their tables
                assert found[key] == value or parse_loss(found[key]).pieces == parse_loss(value).pieces
            else:
                same(found[key], value)
    elif isinstance(kept, list):
        if kept and isinstance(kept[0], dict) and "rule" in kept[0]:  # of composition; there may be more by now
            known = {one["rule"] for one in kept}
            found = [one for one in found if one["rule"] in known]
        assert len(found) == len(kept)
        for one, other in zip(found, kept):
            same(one, other)
    elif isinstance(kept, float):
        assert found == pytest.approx(kept, rel=1e-9, abs=1e-14)
    else:
        assert found == kept and isinstance(found, bool) == isinstance(kept, bool)
