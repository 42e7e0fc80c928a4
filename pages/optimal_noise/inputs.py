"""The controls of the page "Optimal noise" by name, and what they hold → a problem, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from dpcore._validate import above
from dpcore.errors import InputError
from dpcore.loss import FAMILIES, family_of, labels, parameters, parse_loss
from dpcore.mechanisms import INTEGER_MECHANISMS, MECHANISMS
from dpcore.numbers import read_columns
from dpcore.privacy import DELTA, EPSILON, SENSITIVITY, Privacy
from dpcore.privacy_profile import MU, RELEASES, Composed, GaussianProfile, PairList, PrivacyProfile
from dpcore.problem import CELLS, GAP, TIME_LIMIT, Budget, NoiseProblem, SolverSettings
from pages.shared import prose
from pages.shared.address import PLAIN, Address, Choice, Choices, Label, Number, Switch, Text, numbers
from service import configuration

PRESETS: list[dict] = json.loads((prose.ASSETS / "presets.json").read_text(encoding="utf-8"))
FIRST = PRESETS[0]
"""Where a first visit starts."""

TEACHING = 0.01
"""From this δ on an example is for teaching."""

SUPPORTS = {
    "line": "any real number",
    "negative": "never above 0 (x ≤ 0)",
    "positive": "never below 0 (x ≥ 0)",
    "interval": "between two numbers",
}
VALUES = {"real": "any real number", "whole": "whole numbers (counts)", "step": "multiples of a step"}
"""Values that the query can take."""

PROMISES = {
    "pair": "one pair (ε, δ)",
    "gdp": "a whole curve (μ-GDP)",
    "list": "several pairs (ε, δ)",
    "composed": "(ε, δ) for T releases",
}
"""What the noise must keep."""

BUDGETED = ("l1", "l2", "exceed")
BUDGETS = {"none": "no second loss", **labels(*BUDGETED), "other": "another loss, as text"}
"""Second losses that a budget can bound."""

OVERLAYS = {key: mechanism.name for key, mechanism in MECHANISMS.items()}
INTEGER_OVERLAYS = {key: mechanism.name for key, mechanism in INTEGER_MECHANISMS.items()}
METHODS = {"certified": "certified (this project)", "reference": "reference (Selvi, Liu, Wiesemann)"}

MOST_PEOPLE = 10**12

PANELS = ("How sure is this?", "Price of a constraint", "Try it", "Side by side", "Take it away")

HOME = Address(
    "optimal noise", FIRST["values"],
    epsilon=Number.of(EPSILON), delta=Number.of(DELTA), promise=Choice("pair", PROMISES), mu=Number.of(MU),
    pairs=Text("0.5, 0.2\n1, 0.1\n2, 0.02", 4000), releases=Number.of(RELEASES), sensitivity=Number.of(SENSITIVITY),
    unit=Label("people", 24),
    values=Choice("real", VALUES), step=Number(1.0),
    loss=Choice("l1", labels()), **numbers(parameters()), table=Text("-2, 1\n0, 0\n2, 2", 20_000),
    symmetric=Switch(), monotone=Switch(), support=Choice("line", SUPPORTS), low=Number(None), high=Number(None),
    budget=Choice("none", BUDGETS), **numbers(parameters(*BUDGETED), "budget_"), budget_text=Text("huber:1", 2000),
    budget_most=Number(None), second_epsilon=Number(None), second_delta=Number(None),
    people=Number(None, 1, MOST_PEOPLE, whole=True),
    overlays=Choices(("laplace", "truncated-laplace", "gaussian"), OVERLAYS), log_y=Switch(),
    gap=Number(100 * GAP.default), seconds=Number.of(TIME_LIMIT), method=Choice("certified", METHODS),
    cells=Number.of(CELLS), both=Switch(),
    panel=Choice(PANELS[0], PANELS), truth=Number(100.0, linked=False),
    rival=Choice("laplace", OVERLAYS | INTEGER_OVERLAYS), style=Choice("dots", ("dots", "histogram")),
    pins=Text("", 4000), afford=Number(None),
)  # fmt: skip
"""Every control of the page."""

ASKED = (*list(HOME.controls)[: list(HOME.controls).index("second_delta") + 1], "gap", "seconds", "method", "cells")
"""The controls that say what is asked; the others say how it is looked at."""

Values = Mapping[str, object]
"""What the controls of `HOME` hold, by key: `HOME.values()`, or another address read by `HOME.read`."""


def read_problem(values: Values) -> NoiseProblem:
    """The problem that the controls' values describe."""
    profile = read_profile(values)
    privacy = Privacy(values["epsilon"], values["delta"]) if profile is None else profile.anchor
    support = {
        "line": (-math.inf, math.inf),
        "negative": (-math.inf, 0.0),
        "positive": (0.0, math.inf),
        "interval": (_or(values["low"], -math.inf), _or(values["high"], math.inf)),
    }[values["support"]]
    shape = (values["symmetric"], values["monotone"], support)
    extras = {"budget": read_budget(values), "second": read_second(values), "granularity": read_granularity(values)}
    loss = FAMILIES[values["loss"]].from_values(values)
    return NoiseProblem(privacy, values["sensitivity"], loss, *shape, **extras, profile=profile)


def read_profile(values: Values) -> PrivacyProfile | None:
    """The whole promise that the controls describe; None for one pair."""
    promise = values["promise"]
    if promise == "gdp":
        return GaussianProfile(values["mu"])
    if promise == "composed":
        return Composed(values["releases"], Privacy(values["epsilon"], values["delta"]))
    if promise == "list":
        return read_pairs(str(values["pairs"] or ""))
    return None


def read_pairs(text: str) -> PairList:
    """One pair a line: ε, δ."""
    rows = read_columns(text, ("ε", "δ"), "pairs", "one pair a line: ε, δ, with points in the numbers")
    return PairList(tuple(Privacy(*row) for row in rows.values()))


def read_unit(values: Values) -> str:
    """The unit of the query; shown everywhere, so only plain text is accepted."""
    text = str(values["unit"] or "").strip()
    if not PLAIN.fullmatch(text):
        raise InputError("unit", text, "letters, digits, spaces and the signs % ° € $ £ ¥ · / ( ) ' + −")
    return text


def read_granularity(values: Values) -> float | None:
    """The step of the query's values; None for real numbers."""
    return {"real": None, "whole": 1.0, "step": values["step"]}[values["values"]]


def read_budget(values: Values) -> Budget | None:
    """The budget that the controls describe; None while there is no second loss or no bound on it."""
    family, most = values["budget"], values["budget_most"]
    if family == "none" or most is None:
        return None
    try:
        if family == "other":
            return Budget(parse_loss(str(values["budget_text"] or "").strip()), most)
        own = {name: values[f"budget_{name}"] for name in parameters(family)}
        return Budget(FAMILIES[family].from_values(own), most)
    except InputError as error:
        raise _about("budget", error) from None


def read_second(values: Values) -> Privacy | None:
    """The second pair (ε₂, κ) that the controls describe; None when both boxes are empty."""
    epsilon, delta = values["second_epsilon"], values["second_delta"]
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


def read_settings(values: Values) -> SolverSettings:
    """The solver settings that the values describe; a page never solves for longer than the service allows."""
    seconds = above(0, configuration.current().seconds, time_limit=values["seconds"])
    return SolverSettings(values["gap"] / 100, seconds, values["method"], values["cells"])


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


RESET = (
    "values", "symmetric", "monotone", "support", "low", "high", "budget", "second_epsilon", "second_delta", "promise",
    "people",
)  # fmt: skip
"""Controls that an example leaves at their defaults unless it says otherwise."""


def preset_values(preset: dict) -> dict[str, object]:
    """What an example sets the controls to."""
    return {**{key: HOME.default(key) for key in RESET}, **preset["values"]}


def on_screen(preset: dict, shown: Mapping[str, object]) -> bool:
    """Controls with these values say what the example does, apart from what no link says."""
    told = HOME.linked
    return all(
        told[key].write(shown[key]) == told[key].write(value)
        for key, value in preset_values(preset).items()
        if key in told
    )


def preset_title(preset: dict) -> str:
    """Name of an example; one whose δ no real release should have says so."""
    return preset["title"] + (" (for teaching)" if preset["values"].get("delta", 0.0) >= TEACHING else "")


def values_of(problem: NoiseProblem) -> dict[str, object]:
    """The values of the controls that describe `problem`: what `read_problem` reads, the other way round."""
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
    values.update(_promise_values(problem.profile))
    values.update(_extra_values(problem))
    return values | {"loss": problem.loss.family} | family_of(problem.loss).values(problem.loss)


def _promise_values(profile: PrivacyProfile | None) -> dict[str, object]:
    """The controls of the promise."""
    if isinstance(profile, GaussianProfile):
        return {"promise": "gdp", "mu": profile.mu}
    if isinstance(profile, Composed):
        return {"promise": "composed", "releases": profile.releases}
    if profile is not None:
        return {"promise": "list", "pairs": "\n".join(f"{p.epsilon!r}, {p.delta!r}" for p in profile.pairs)}
    return {"promise": "pair"}


def _extra_values(problem: NoiseProblem) -> dict[str, object]:
    """The controls of the budget and the second pair."""
    budget, second = problem.budget, problem.second
    values: dict[str, object] = {
        "budget": "none", "budget_most": None if budget is None else budget.most,
        "second_epsilon": None if second is None else second.epsilon,
        "second_delta": None if second is None else second.delta,
    }  # fmt: skip
    if budget is not None:
        family = budget.loss.family
        values |= {"budget": family if family in BUDGETED else "other", "budget_text": budget.loss.spec}
        if family in BUDGETED:
            values |= {f"budget_{name}": number for name, number in family_of(budget.loss).values(budget.loss).items()}
    return values
