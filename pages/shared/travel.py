"""A visitor's problem goes along from page to page: ε, δ, sensitivity, unit, loss, by one set of names.

Pages name their controls alike where they can; where they cannot, `PLACES` says what a page's controls make of the
problem and what the problem makes of them. What a page has no control for, or does not accept, stays as it is there.
The sidebar offers the problem of the page the visitor came from ("Use my problem here") where it is another one than
this page's; `menu` takes a problem to a page that is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from dpcore.errors import InputError
from dpcore.loss import FAMILIES, family_of, parameters
from dpcore.numbers import read_number, write_number
from dpcore.privacy import DELTA_RANGE, EPSILON_RANGE
from dpcore.problem import NoiseProblem
from pages.registry import PAGES, Page

from . import prose
from .address import FRAME, LONGEST, Address, now, remembered

Values = Mapping[str, object]
"""By the names of the problem (epsilon, delta, sensitivity, unit, loss and its numbers, granularity, dimension), or of
the controls of a page."""

PROBLEM = ("epsilon", "delta", "sensitivity", "unit", "loss", *parameters(), "table")
NAMES = {page.name: page for page in PAGES}


@dataclass(frozen=True)
class Place:
    """What a page's controls and the problem are to each other.

    read : the controls' values → the problem.   write : the problem, the controls' values → those it changes.
    """

    read: Callable[[Values], dict[str, object]]
    write: Callable[[Values, Values], dict[str, object]]


def _same(values: Values) -> dict[str, object]:
    """Controls named as the problem is; of the numbers of losses those of this one."""
    own = FAMILIES[str(values["loss"])].parameters if values.get("loss") in FAMILIES else ()
    others = parameters().keys() - {one.name for one in own} | ({"table"} if values.get("loss") != "table" else set())
    return {key: values[key] for key in PROBLEM if key in values and key not in others}


def _from_optimal(values: Values) -> dict[str, object]:
    told = _same(values)
    if values["promise"] != "pair":
        del told["epsilon"], told["delta"]
    if (step := {"real": None, "whole": 1.0, "step": values["step"]}[str(values["values"])]) is not None:
        told["granularity"] = step
    return told


def _to_optimal(problem: Values, _: Values) -> dict[str, object]:
    told = _same(problem) | ({"promise": "pair"} if "epsilon" in problem else {})
    if (step := problem.get("granularity")) is not None:
        told |= {"values": "whole" if step == 1 else "step", "step": step}
    return told | {key: problem[key] for key in ("second_epsilon", "second_delta") if key in problem}


def _from_maps(values: Values) -> dict[str, object]:
    return _same(values) | {"epsilon": values["at_epsilon"], "delta": values["at_delta"]}


def _to_maps(problem: Values, values: Values) -> dict[str, object]:
    """The curves go through the problem, and the map reaches that far."""
    told = {key: value for key, value in _same(problem).items() if key not in ("epsilon", "delta")}
    for name, (least, largest) in {"epsilon": EPSILON_RANGE, "delta": DELTA_RANGE}.items():
        value = problem.get(name)
        if isinstance(value, float | int) and least <= value <= largest:
            told[f"at_{name}"] = value
            told[f"low_{name}"] = min(values[f"low_{name}"], value)
            told[f"high_{name}"] = max(values[f"high_{name}"], value)
    return told


POWERS = {"l1": 1.0, "l2": 2.0}


def _from_vector(values: Values) -> dict[str, object]:
    """Numbers of one size that together change by no more than one of them are a vector of that ℓ2-sensitivity."""
    told = {key: values[key] for key in ("epsilon", "delta")}
    loss = {power: key for key, power in POWERS.items()}.get(values["power"])
    told |= {"loss": loss} if loss else {"loss": "lp", "exponent": values["power"]}
    listed = str(values["numbers"]).split(",") if values["shape"] == "list" else []
    if len(set(listed)) == 1 and (len(listed) == 1 or values["l2"] is not None):
        try:
            told["sensitivity"] = read_number(listed[0], "sensitivity") if len(listed) == 1 else values["l2"]
        except InputError:
            return told
        if len(listed) > 1:
            told["dimension"] = len(listed)
    return told


def _to_vector(problem: Values, _: Values) -> dict[str, object]:
    told = {key: problem[key] for key in ("epsilon", "delta") if key in problem}
    power = problem.get("exponent") if problem.get("loss") == "lp" else POWERS.get(str(problem.get("loss")))
    if power is not None:
        told["power"] = power
    size, count = problem.get("sensitivity"), problem.get("dimension", 1)
    if isinstance(size, float | int) and isinstance(count, int):
        numbers = ",".join([write_number(size)] * count)
        if len(numbers) <= LONGEST:
            told |= {"shape": "list", "numbers": numbers, "l1": None, "l2": size if count > 1 else None}
    return told


LENGTHS = {"l1": "norm", "l2": "squared", "lp": "power", "exceed": "exceed"}
"""Loss of a number → of a vector's length."""


def _from_isotropic(values: Values) -> dict[str, object]:
    told = {key: values[key] for key in ("epsilon", "delta", "sensitivity", "unit", "dimension")}
    loss = {length: key for key, length in LENGTHS.items()}[str(values["loss"])]
    return (
        told
        | {"loss": loss}
        | {"lp": {"exponent": values["power"]}, "exceed": {"threshold": values["threshold"]}}.get(loss, {})
    )


def _to_isotropic(problem: Values, _: Values) -> dict[str, object]:
    told = {key: problem[key] for key in ("epsilon", "delta", "sensitivity", "unit", "dimension") if key in problem}
    if told.get("delta") == 0:
        del told["delta"]  # its laws need one
    if length := LENGTHS.get(str(problem.get("loss"))):
        told |= {"loss": length} | {
            name: problem[own] for name, own in (("power", "exponent"), ("threshold", "threshold")) if own in problem
        }
    return told


def problem_of(problem: NoiseProblem) -> dict[str, object]:
    """A problem by these names; a second pair and the granularity are taken where a page has them."""
    loss = {"loss": problem.loss.family} | family_of(problem.loss).values(problem.loss)
    told = {
        "epsilon": problem.privacy.epsilon,
        "delta": problem.privacy.delta,
        "sensitivity": problem.sensitivity,
    } | loss
    second = problem.second
    told |= {"second_epsilon": second and second.epsilon, "second_delta": second and second.delta}
    return told | ({} if problem.granularity is None else {"granularity": problem.granularity})


def _to_plan(problem: Values, _: Values) -> dict[str, object]:
    return {key: problem[key] for key in ("epsilon", "delta") if key in problem}


PLACES = {
    "optimal_noise": Place(_from_optimal, _to_optimal),
    "tradeoff_maps": Place(_from_maps, _to_maps),
    "vector_queries": Place(_from_vector, _to_vector),
    "isotropic": Place(_from_isotropic, _to_isotropic),
    "release_plan": Place(lambda _: {}, _to_plan),
}
"""By the pages' names. The problems of a plan are its lines', which go by `menu`."""


def written(page: Page, problem: Values) -> dict[str, object]:
    """The controls of a page that the problem changes, with their new values; those it does not accept stay."""
    values = _now(page.controls)
    told = PLACES[page.name].write(problem, values)
    return {key: value for key, value in told.items() if accepted(page.controls, key, value) and value != values[key]}


def accepted(controls: Address, key: str, value: object) -> bool:
    """A page has such a control, and it can hold this value."""
    control = controls.controls.get(key)
    try:
        return control is not None and control.read(control.write(value)) == value
    except (ValueError, KeyError, TypeError):
        return False


def _now(controls: Address) -> dict[str, object]:
    """What a page's controls hold, whether it is looked at or not."""
    known = remembered().get(controls.name)
    if st.session_state.get("address") == controls.name and known is not None:
        return now(controls)
    if known is not None:
        return dict(known)
    return controls.read(st.query_params)[0] | dict(controls.first or {} if not st.query_params else {})


def offer(name: str) -> None:
    """In the sidebar of a page: the problem of the page the visitor came from, if it is not this page's own."""
    trip = st.session_state.setdefault("trip", {"page": name, "from": "", "problem": {}})
    if trip["page"] != name:
        before = NAMES.get(trip["page"])
        if before is not None and before.name in PLACES and (known := remembered().get(before.controls.name)):
            if told := PLACES[before.name].read(known):
                trip |= {"from": before.title, "problem": told}
        trip["page"] = name
    if name not in PLACES or name not in NAMES or FRAME["projector"]:
        return
    page = NAMES[name]
    if changed := written(page, trip["problem"]):
        st.button(
            "Use my problem here", key="travel", type="tertiary", icon=":material/move_down:",
            help=f"From “{trip['from']}”: {said(trip['problem'])}.", on_click=page.controls.choose, args=(changed,),
        )  # fmt: skip


def menu(problem: Values, key: str, *, origin: str, label: str = "Look closer") -> None:
    """A menu of the pages that a problem can be taken to; origin : what it is the problem of."""
    titles = {page.title: page for page in PAGES if page.name in PLACES and page.name != "release_plan"}
    chosen = st.menu_button(label, list(titles), key=key, type="tertiary", help="Take this problem to another page.")
    if chosen is not None:
        go(titles[chosen], problem, origin=origin)


def go(page: Page, problem: Values, *, origin: str) -> None:
    """Turn to a page with a problem."""
    st.session_state["trip"] = {"page": page.name, "from": origin, "problem": dict(problem)}
    controls = page.controls
    st.switch_page(page.script, query_params=controls.enter({**_now(controls), **written(page, problem)}))


def later(page: Page, query: Mapping[str, str]) -> None:
    """Turn to a page at an address (a callback; `turned` does it then)."""
    st.session_state["turned to"] = page.script, query


def turned() -> None:
    """Go to the page that a button asked for, and look at it from its top; before anything is drawn."""
    if there := st.session_state.pop("turned to", None):
        st.session_state["from the top"] = st.session_state.get("from the top", 0) + 1
        st.switch_page(there[0], query_params=there[1])


def said(problem: Values) -> str:
    """A problem in a few words."""
    parts = []
    if "epsilon" in problem:
        parts.append(f"ε = {prose.plain(float(problem['epsilon']))}")
    if "delta" in problem:
        parts.append(f"δ = {prose.delta_text(float(problem['delta']))}")
    size = problem.get("sensitivity")
    if isinstance(size, float | int) and math.isfinite(size):
        unit = prose.literal(str(problem.get("unit") or ""))
        parts.append(f"sensitivity {prose.plain(float(size))} {unit}".rstrip())
    if problem.get("loss") in FAMILIES:
        parts.append(FAMILIES[str(problem["loss"])].label)
    return ", ".join(parts)
