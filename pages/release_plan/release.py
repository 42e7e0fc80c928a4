"""The release, on explicit request, and the ledger of the tab: what these data have been asked for so far.

Neither the data nor what was released is in the link; both end with the tab.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from dpcore import __version__
from dpcore.errors import InputError
from dpcore.plan.budget import Split
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.release import ROUNDING, Ends, Released, carry_out, to_csv
from dpcore.plan.source import Source
from dpcore.plan.synthetic import synthetic
from pages.shared import compute, drawing, frame, prose, watching

from . import charts, fitting, headline, upload, work
from .controls import PAGE
from .takeaway import MOST_ROWS
from .work import Costs

TEXT = prose.sections("release_plan")

NOTHING = "Nothing was released. What had been entered as spent stays spent."

CRUMB = 1e-3
"""Share of a budget that is told as nothing if there is less."""


ABREAST = 4
"""Numbers in a row."""


@dataclass
class Ledger:
    """What has been spent on one set of data.   limit : (ε, δ) that may be, the first plan's unless it is raised."""

    limit: tuple[float, float]
    spent: list[tuple[float, float]] = field(default_factory=list)

    @property
    def sums(self) -> tuple[float, float]:
        """(Σε, Σδ)."""
        return sum(one for one, _ in self.spent), sum(one for _, one in self.spent)

    def left(self) -> tuple[float, float]:
        """(ε, δ) that may still be spent."""
        return max(self.limit[0] - self.sums[0], 0.0), max(self.limit[1] - self.sums[1], 0.0)

    def suffices(self, epsilon: float, delta: float) -> bool:
        """So much is left."""
        left = self.left()
        return epsilon <= left[0] + ROUNDING * self.limit[0] and delta <= left[1] + ROUNDING * self.limit[1]


@dataclass(frozen=True)
class Begun:
    """A release of made-up people that was paid for.   plan : its text.   turn : tells it from others."""

    plan: str
    turn: str
    price: tuple[float, float]


@dataclass(frozen=True)
class Done:
    """A release that was made.   plan : its text."""

    plan: str
    data: str
    numbers: tuple[Released, ...]
    price: tuple[float, float]


def release(costs: Costs) -> None:
    """Choose the data, ask, confirm, look."""
    frame.heading("Release", TEXT["release"])
    st.segmented_control("Data", PAGE.options("data"), format_func=PAGE.label("data"), key="data", required=True)
    own = None
    if PAGE["data"] == "file":
        own = fitting.table(costs.split.plan)
        if own is None:
            return
    else:
        st.caption(TEXT["made-up"])
    book = ledger(costs)
    _told(book, costs)
    waiting = st.session_state.get("release under way")
    if waiting is not None and PAGE["data"] == "made-up":
        _follow(waiting)
    elif own is not None and "release" in own.further:
        _follow_reading(own)
    elif st.session_state.get("release asked") == PAGE["data"]:
        _confirm(book, costs, own)
    else:
        label = "Release once more …" if book.spent else "Release these numbers …"
        st.button(label, key="release_ask", type="primary", on_click=_ask)
    done = st.session_state.get(f"released {PAGE['data']}")
    if done is not None:
        _show(done, costs)


def ledger(costs: Costs) -> Ledger:
    """The ledger of the data chosen; the budget of the first release is that of its plan."""
    books: dict[str, Ledger] = st.session_state.setdefault("release ledgers", {})
    price = costs.split.total, costs.split.plan.delta
    book = books.get(PAGE["data"])
    if book is None or not book.spent:
        book = books[PAGE["data"]] = Ledger((max(costs.split.plan.epsilon or 0.0, price[0]), price[1]))
    return book


def _told(book: Ledger, costs: Costs) -> None:
    """What has been spent, and what this would cost."""
    spent = book.sums
    columns = st.columns(3)
    columns[0].metric("This release costs ε", headline.up(costs.split.total, 4))
    columns[1].metric("Spent on these data in this tab", headline.up(spent[0], 4) if spent[0] else "0")
    columns[2].metric("Left", _left(book))
    st.caption(TEXT["ledger"])


def _left(book: Ledger) -> str:
    """ε that may still be spent, rounded down; crumbs are nothing."""
    left = book.left()[0]
    return headline.trimmed(prose.at_least(left, 4)) if left > CRUMB * book.limit[0] else "0"


def _ask() -> None:
    st.session_state["release asked"] = PAGE["data"]


def _forget() -> None:
    st.session_state.pop("release asked", None)


def _confirm(book: Ledger, costs: Costs, own: upload.Table | None) -> None:
    """The second click says what it costs; more than is left is refused."""
    price = costs.split.total, costs.split.plan.delta
    cost = f"ε = {headline.up(price[0], 4)}" + (f" and δ = {prose.delta_text(price[1])}" if price[1] else "")
    with st.container(border=True, key="release_confirm"):
        if not book.suffices(*price):
            left = _left(book)
            st.error(
                f"Refused: this costs {cost}, and ε = {left} is left of these data’s budget.", icon=":material/block:"
            )
            total = book.sums[0] + price[0]
            with st.container(horizontal=True):
                st.button(f"Raise the budget to ε = {headline.up(total, 4)}", key="release_raise", on_click=_raise,
                          args=(book, price))  # fmt: skip
                st.button("Leave it", key="release_cancel", on_click=_forget)
            return
        st.markdown(f"This spends **{cost}** for every person in the data, and cannot be taken back.")
        with st.container(horizontal=True):
            begin, given = (_begin, (book, price, costs.split)) if own is None else (
                _begin_reading, (book, price, costs.split, own)
            )  # fmt: skip
            st.button(f"Spend {cost} and release", key="release_confirmed", type="primary", on_click=begin, args=given)
            st.button("Not now", key="release_cancel", on_click=_forget)


def _raise(book: Ledger, price: tuple[float, float]) -> None:
    spent = book.sums
    book.limit = spent[0] + price[0], spent[1] + price[1]


def _may_begin(book: Ledger, price: tuple[float, float]) -> bool:
    """Once for every time it was asked for: the second of two quick clicks does nothing, and nothing is overspent."""
    return st.session_state.pop("release asked", None) == PAGE["data"] and book.suffices(*price)


def _begin(book: Ledger, price: tuple[float, float], split: Split) -> None:
    """Enter the price before a number is drawn. What is drawn is this plan, whatever is changed meanwhile."""
    if _may_begin(book, price):
        book.spent.append(price)
        st.session_state["release under way"] = Begun(plan_to_toml(split.plan), secrets.token_hex(16), price)


def _follow(begun: Begun) -> None:
    """The release of made-up people, until it is there."""
    job = compute.ask("release", work.Asked(begun.plan, begun.turn), work.LIMIT, task=work.draw)
    watching.strip(watching.under_way({"release": job}), lambda: st.markdown("Drawing the noise exactly …"),
                   label="Stop", key="stop_release")  # fmt: skip
    if not job.done:
        return
    st.session_state.pop("release under way")
    if job.solution is None:
        st.error(headline.told(job.error) if isinstance(job.error, InputError) else NOTHING)
        return
    st.session_state["released made-up"] = Done(begun.plan, "made-up", job.solution, begun.price)
    st.rerun()


def _begin_reading(book: Ledger, price: tuple[float, float], split: Split, own: upload.Table) -> None:
    """Have a visitor's table read; the price is entered once the table fits, before a number is drawn."""
    if not _may_begin(book, price) or "release" in own.further:
        return

    def carried(source: Source, tick: Callable[[], None]) -> Done:
        numbers = carry_out(split, source, tick, lambda: book.spent.append(price))
        return Done(plan_to_toml(split.plan), "file", numbers, price)

    own.further["release"] = own.read(carried)


def _follow_reading(own: upload.Table) -> None:
    """The release of a visitor's table, until it is there."""
    reading = own.further.get("release")
    if reading is None or not upload.follow(reading, "stop_release"):
        return
    own.further.pop("release", None)
    if reading.answer is not None:
        st.session_state["released file"] = reading.answer
        st.rerun()
    refusal = reading.error
    st.error(headline.told(refusal) if isinstance(refusal, InputError) else NOTHING)


# What was released ------------------------------------------------------------------------------------


def _show(done: Done, costs: Costs) -> None:
    """The numbers, with intervals; tables as figures."""
    whose = "made-up people" if done.data == "made-up" else "your file"
    frame.heading(f"Released: {whose}", TEXT["released"])
    if done.plan != plan_to_toml(costs.split.plan):
        st.info("The plan has been changed since; these numbers are of the plan before.")
    columns = plan_from_toml(done.plan).columns
    singles = [(one.name, row) for one in done.numbers if not one.by for row in one.rows]
    for first in range(0, len(singles), ABREAST):
        for place, (name, row) in zip(st.columns(min(len(singles), ABREAST)), singles[first : first + ABREAST]):
            with place:
                _number(name, *row)
    for number, one in enumerate(one for one in done.numbers if one.by):
        labels = [label for label, *_ in one.rows]
        widths = [(ends[1] - ends[0]) / 2 if ends else 0.0 for ends in one.measured]
        st.markdown(f"**{prose.literal(one.name, 80)}**")
        figure = charts.cells(labels, one.values, widths, drawing.colours(), what=charts.plain(one.name, 40))
        told = "; ".join(
            f"{prose.literal(label, 40)} {prose.plain(value)}" for label, value in list(zip(labels, one.values))[:12]
        )
        drawing.draw(figure, key=f"chart_released_{number}", alt=f"Released: {told}.",
                     table=lambda one=one: st.dataframe(_rows(one), hide_index=True))  # fmt: skip
        st.download_button(
            "Synthetic people (CSV)", partial(synthetic, one, columns, MOST_ROWS), "synthetic.csv", "text/csv",
            key=f"synthetic_{number}", on_click="ignore",
            help="Rows that have the counts of this table: they tell no more than it does, and cost nothing.",
        )  # fmt: skip
    with st.container(horizontal=True):
        st.download_button("Numbers (CSV)", to_csv(done.numbers), "release.csv", "text/csv", on_click="ignore")
        st.download_button("Numbers and plan (JSON)", _json(done), "release.json", "application/json",
                           on_click="ignore")  # fmt: skip


def _number(name: str, label: str, value: float, measured: Ends | None, population: Ends | None) -> None:
    """One number with its intervals."""
    told = (f"{prose.literal(label, 40)}: " if label else "") + prose.literal(name, 60)
    st.metric(told, prose.plain(value, 7))
    if measured:
        st.caption(f"the data say {_between(measured)} (95 %)")
    if population:
        st.caption(f"the population {_between(population)} (95 %, an estimate)")


def _between(ends: Ends) -> str:
    return f"{prose.plain(ends[0], 5)} to {prose.plain(ends[1], 5)}"


def _rows(one: Released) -> list[dict[str, str]]:
    return [
        {"cell": label, "released": prose.plain(value, 7), "95 %": _between(ends) if ends else "–"}
        for label, value, ends, _ in one.rows
    ]


def _json(done: Done) -> str:
    """What was released, its price and the plan."""
    import tomllib

    lines = [
        {"name": one.name, "cells": [list(label) for label in one.labels], "values": list(one.values),
         "measured_95": one.measured, "population_95": one.population}
        for one in done.numbers
    ]  # fmt: skip
    told = {"format": 1, "version": __version__, "data": done.data, "epsilon": done.price[0], "delta": done.price[1],
            "lines": lines, "plan": tomllib.loads(done.plan)}  # fmt: skip
    return json.dumps(told, ensure_ascii=False, indent=1)
