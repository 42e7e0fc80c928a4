"""What the controls hold → a problem, and back. The only reader of the page's address; every value in it is
untrusted text.

Each control has a key that is also its name in the address, so a link reproduces the screen. Numbers, switches
and texts are bound by Streamlit (`bind="query-params"`); choices would be written there by their labels, so they
are read and written here by their short names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dpcore.errors import InputError
from dpcore.loss import Loss, parse_loss
from dpcore.loss_table import read_table
from dpcore.mechanisms import MECHANISMS
from dpcore.privacy import Privacy
from dpcore.problem import Budget, NoiseProblem, SolverSettings

from . import prose

PRESETS: list[dict] = json.loads((prose.ASSETS / "presets.json").read_text(encoding="utf-8"))

LOSSES = {
    "l1": "absolute error |x|",
    "l2": "squared error x²",
    "lp": "power |x|ᵖ",
    "pinball": "pinball (quantile) loss",
    "asym": "asymmetric linear",
    "huber": "Huber loss",
    "exceed": "probability of a large error",
    "table": "my own table",
}
SUPPORTS = {
    "line": "any real number",
    "negative": "never above 0 (x ≤ 0)",
    "positive": "never below 0 (x ≥ 0)",
    "interval": "between two numbers",
}
VALUES = {"real": "any real number", "whole": "whole numbers (counts)", "step": "multiples of a step"}
"""Values that the query can take."""

BUDGETS = {
    "none": "no second loss",
    "l1": LOSSES["l1"],
    "l2": LOSSES["l2"],
    "exceed": LOSSES["exceed"],
    "other": "another loss, as text",
}
"""Second losses that a budget can bound."""

OVERLAYS = {key: mechanism.name for key, mechanism in MECHANISMS.items()}
METHODS = {"certified": "certified (this project)", "reference": "reference (Selvi, Liu, Wiesemann)"}

DEFAULTS: dict[str, object] = {
    "epsilon": 1.0, "delta": 0.2, "sensitivity": 1.0, "unit": "people", "values": "real", "step": 1.0,
    "loss": "l1", "exponent": 1.5, "tau": 0.8, "slope_below": 1.0, "slope_above": 3.0, "threshold": 2.0,
    "table": "-2, 1\n0, 0\n2, 2",
    "symmetric": False, "monotone": False, "support": "line", "low": None, "high": None,
    "budget": "none", "budget_threshold": 2.0, "budget_text": "huber:1", "budget_most": None,
    "second_epsilon": None, "second_delta": None,
    "overlays": ["laplace", "truncated-laplace", "gaussian"],
    "gap": 0.1, "seconds": 10.0, "method": "certified", "cells": 8, "truth": 100.0,
}  # fmt: skip
"""Every control's key and first value."""

LOSS_ARGUMENTS = {
    "lp": ("exponent",),
    "pinball": ("tau",),
    "asym": ("slope_below", "slope_above"),
    "huber": ("threshold",),
    "exceed": ("threshold",),
}
"""The controls that a family of losses reads besides its name."""

LABELS = {
    "epsilon": "ε", "delta": "δ", "slope_below": "cost per unit below", "slope_above": "cost per unit above",
    "granularity": "step of the query's values", "budget": "second loss", "second": "second pair",
    "tau": "τ", "gap": "target gap", "time_limit": "time limit", "cells_per_sensitivity": "cells per sensitivity",
}  # fmt: skip


def explain(error: InputError) -> str:
    """One sentence for people: what was given, what would be accepted."""
    name = LABELS.get(error.field, error.field)
    given = "nothing" if error.value is None else error.value
    if isinstance(given, float):
        given = f"{given:g}".replace("-", "−")
    return f"{name} = {given}: expected {error.accepted}."


def read_problem() -> NoiseProblem:
    """The problem that the controls' current values describe."""
    state = st.session_state
    privacy = Privacy(state["epsilon"], state["delta"])
    support = {
        "line": (-math.inf, math.inf),
        "negative": (-math.inf, 0.0),
        "positive": (0.0, math.inf),
        "interval": (_end("low", -math.inf), _end("high", math.inf)),
    }[state["support"]]
    shape = (state["symmetric"], state["monotone"], support)
    extras = {"budget": read_budget(), "second": read_second(), "granularity": read_granularity()}
    return NoiseProblem(privacy, state["sensitivity"], read_loss(), *shape, **extras)


def read_granularity() -> float | None:
    """The step of the query's values; None for real numbers."""
    if st.session_state["values"] == "step" and st.session_state.get("step") is None:
        raise InputError("granularity", None, "a number")
    return {"real": None, "whole": 1.0, "step": st.session_state.get("step")}[st.session_state["values"]]


def read_budget() -> Budget | None:
    """The budget that the controls describe; None while there is no second loss or no bound on it."""
    state = st.session_state
    family, most = state["budget"], state.get("budget_most")
    if family == "none" or most is None:
        return None
    text = {"exceed": f"exceed:{state.get('budget_threshold')}", "other": _text("budget_text")}.get(family, family)
    try:
        return Budget(parse_loss(text), most)
    except InputError as error:
        raise _about("budget", error) from None


def read_second() -> Privacy | None:
    """The second pair (ε₂, κ) that the controls describe; None when both boxes are empty."""
    epsilon, delta = st.session_state["second_epsilon"], st.session_state["second_delta"]
    if epsilon is None and delta is None:
        return None
    try:
        return Privacy(epsilon, delta)
    except InputError as error:
        raise _about("second", error) from None


def _about(name: str, error: InputError) -> InputError:
    """The error, with the name of the control it is about before the name of the value."""
    field = error.field if error.field.startswith(name) else f"{name} {error.field}"
    return InputError(field, error.value, error.accepted)


def read_loss() -> Loss:
    """The loss that the controls' current values describe."""
    state = st.session_state
    family = state["loss"]
    if family == "table":
        return read_table(_text("table"))
    arguments = LOSS_ARGUMENTS.get(family, ())
    for name in arguments:
        if state[name] is None:
            raise InputError(name, None, "a number")
    return parse_loss(":".join([family, *(repr(float(state[name])) for name in arguments)]))


def restore(problem: NoiseProblem) -> None:
    """Set the controls so that they describe `problem` (a callback: runs before the controls are drawn)."""
    low, high = problem.support
    values: dict[str, object] = {
        "epsilon": problem.privacy.epsilon, "delta": problem.privacy.delta, "sensitivity": problem.sensitivity,
        "symmetric": problem.symmetric, "monotone": problem.monotone, "support": "interval",
        "low": None if math.isinf(low) else low, "high": None if math.isinf(high) else high,
    }  # fmt: skip
    if problem.granularity is None:
        values["values"] = "real"
    else:
        values |= {"values": "whole" if problem.granularity == 1 else "step", "step": problem.granularity}
    simple = {(-math.inf, math.inf): "line", (-math.inf, 0.0): "negative", (0.0, math.inf): "positive"}
    values["support"] = simple.get(problem.support, "interval")
    values.update(_extra_values(problem))
    family, _, rest = problem.loss.spec.partition(":")
    values["loss"] = family
    names = LOSS_ARGUMENTS.get(family, ())
    values.update(zip(names, map(float, rest.split(":") if names else ())))
    if family == "table":
        values["table"] = "\n".join(pair.replace("=", ", ") for pair in rest.split(","))
    choose(values)


def _extra_values(problem: NoiseProblem) -> dict[str, object]:
    """The controls of the budget and the second pair."""
    budget, second = problem.budget, problem.second
    values: dict[str, object] = {
        "budget": "none", "budget_most": None if budget is None else budget.most,
        "second_epsilon": None if second is None else second.epsilon,
        "second_delta": None if second is None else second.delta,
    }  # fmt: skip
    if budget is not None:
        family, _, rest = budget.loss.spec.partition(":")
        values["budget"] = family if family in BUDGETS else "other"
        values["budget_text"] = budget.loss.spec
        if family == "exceed":
            values["budget_threshold"] = float(rest)
    return values


def choose(values: dict[str, object]) -> None:
    """Set controls (a callback of a button: runs before the controls are drawn)."""
    for key, value in values.items():
        st.session_state[key] = value


def read_settings() -> SolverSettings:
    """The solver settings that the controls' current values describe; a page never solves for longer than a minute."""
    state = st.session_state
    gap = None if state["gap"] is None else state["gap"] / 100
    return SolverSettings(gap, min(state["seconds"] or 0, 60), state["method"], state["cells"])  # type: ignore[arg-type]


# The address -----------------------------------------------------------------------------------------


@contextmanager
def choice(key: str, options: dict[str, str]) -> Iterator[None]:
    """Keep a choice (or several, with commas) in the address by its short name, around the control that holds it."""
    several = isinstance(DEFAULTS[key], list)
    if key not in st.session_state:
        wanted = [name for name in st.query_params.get(key, "").split(",") if name in options]
        st.session_state[key] = (wanted or DEFAULTS[key]) if several else (wanted or [DEFAULTS[key]])[0]
    yield
    value = st.session_state[key]
    if value == DEFAULTS[key]:
        st.query_params.pop(key, None)
    else:
        st.query_params[key] = ",".join(value) if several else value


def malformed() -> list[str]:
    """The values of the address that were not understood when this session began and gave way to a default."""
    if "malformed" not in st.session_state:
        known = {key: text for key, text in st.query_params.items() if key in DEFAULTS}
        st.session_state["malformed"] = [f"{k} = {v[:40]}" for k, v in known.items() if not _understood(k, v)]
    return st.session_state["malformed"]


def current(key: str) -> object:
    """A number control's value before it is drawn: the session's, the address's or the default."""
    if key in st.session_state:
        return st.session_state[key]
    return _float(st.query_params.get(key, ""), DEFAULTS[key])  # type: ignore[arg-type]


def _understood(key: str, text: str) -> bool:
    choices = {"loss": LOSSES, "support": SUPPORTS, "method": METHODS, "overlays": OVERLAYS}
    choices |= {"budget": BUDGETS, "values": VALUES}
    if key in choices:
        return all(name in choices[key] for name in text.split(","))
    default = DEFAULTS[key]
    if isinstance(default, bool):
        return text.lower() in ("true", "false", "1", "0")
    return isinstance(default, str) or not text or _is_number(text)


def _is_number(text: str) -> bool:
    return math.isfinite(_float(text, math.nan))


def _float(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default


def _end(key: str, otherwise: float) -> float:
    value = st.session_state.get(key)
    return otherwise if value is None else value


def _text(key: str) -> str:
    return str(st.session_state.get(key) or "").strip()
