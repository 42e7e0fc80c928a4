"""A visitor's own table: its columns for the plan, its rows for a release."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.plan.plan import Plan
from pages.shared import prose

from . import headline, upload
from .draft import MOST_COLUMNS, ColumnDraft
from .rows import Rows

TEXT = prose.sections("release_plan")

COMMAND = "python -m dpcore plan run plan.toml --data people.csv --ledger people.ledger"


def table(plan: Plan) -> upload.Table | None:
    """Draw what takes a table for the plan; the table, once it is there and fits the plan."""
    own = upload.opened("release_plan", TEXT, COMMAND, headline.told)
    return own if own is not None and _fits(own, plan) else None


def columns(rows: Rows) -> None:
    """Draw what takes columns of a table over into the plan: names and whether they hold numbers, nothing else."""
    own = upload.opened("release_plan", TEXT, COMMAND, headline.told)
    known = (own.look.answer if own is not None and own.look else None) or {}
    have = {one.name.strip().casefold() for one in rows.drafts}
    new = {name: numbers for name, numbers in known.items() if name.casefold() not in have}
    if own is None:
        return
    if not new:
        st.caption("All columns of the file are in the plan.")
        return
    room = MOST_COLUMNS - len(rows.drafts)
    chosen: Sequence[str] = st.multiselect(
        "Columns that statistics are about", list(new), key="file_columns", max_selections=max(room, 1),
        format_func=lambda name: f"{name} ({'numbers' if new.get(name) else 'text'})", placeholder="Choose columns",
        help=TEXT["of a file"], disabled=room < 1,
    )  # fmt: skip

    def add() -> None:
        st.session_state["file_columns"] = []
        rows.add(*(ColumnDraft(name, "number" if new[name] else "category") for name in chosen))

    st.button("Add them to the plan", key="file_columns_add", icon=":material/add:", disabled=not chosen, on_click=add)


def _fits(own: upload.Table, plan: Plan) -> bool:
    """Say what the table is; whether it has the plan's columns."""
    known = (own.look.answer if own.look else None) or {}
    wanted = [*([plan.people.identifier] if plan.people.identifier else []), *plan.columns]
    rows = [
        {"column": name, "holds": "numbers" if numbers else "text", "in the plan": "yes" if name in wanted else ""}
        for name, numbers in known.items()
    ]
    with st.expander(f"{len(rows)} columns"):
        st.dataframe(rows, hide_index=True)
    if missing := [name for name in wanted if name not in known]:
        shown = ", ".join(prose.literal(name, 40) for name in missing[:10])
        st.error(f"The plan speaks of columns that the file does not have: {shown}. Names have to agree to the letter.")
    return not missing
