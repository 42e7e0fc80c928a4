"""What you have and what you publish: people, columns and lines, each entry with its complaint below it."""

from __future__ import annotations

import streamlit as st

from dpcore.plan.plan import MOST_LINES
from dpcore.plan.public import CHANGE_ONE, Category, Number
from dpcore.plan.statistics import STATISTICS, Statistic
from pages.shared import fields, frame, prose

from . import draft, fitting
from .controls import PAGE
from .draft import ColumnDraft, LineDraft, Reading
from .rows import Rows

TEXT = prose.sections("release_plan")

WHAT = {
    "count": "Count of people",
    "histogram": "Counts by group",
    "sum": "Sum",
    "mean": "Mean",
    "proportion": "Proportion",
    "quantile": "Median or quantile",
}


NEXT = {
    "publish": "what you publish", "cost": "the budget", "noise": "the noise", "expect": "what to expect",
    "release": "release",
}  # fmt: skip


def people_and_columns(found: Reading) -> None:
    """Whose data they are, and which values a column may have."""
    frame.heading("Who is in the data", TEXT["people"])
    _people(found)
    frame.heading("Columns", TEXT["columns"])
    st.markdown(TEXT["bounds"])
    rows = Rows("columns", ColumnDraft, found.complaints)
    for row, one in rows:
        with _row(rows, row, draft.summary(one)):
            if rows.unfolded(row):
                _column(rows, row, one)
    with st.container(horizontal=True):
        full = len(rows.drafts) >= draft.MOST_COLUMNS
        for kind, label in (("number", "Add a column of numbers"), ("category", "Add a column of categories")):
            st.button(label, key=f"add_{kind}", icon=":material/add:", disabled=full, on_click=rows.add,
                      args=(ColumnDraft(kind=kind),))  # fmt: skip
    with st.expander("Columns of a file of mine"):
        fitting.columns(rows)
    next_button("publish")


def _people(found: Reading) -> None:
    wrong = lambda name: found.complaints.get(("", 0, name))  # noqa: E731
    left, middle, right, last = st.columns([4, 3, 3, 3])
    with left:
        fields.pick(PAGE, "neighbours", "Neighbours: data sets that", help=TEXT["neighbours"])
    with middle:
        place = fields.number(PAGE, "people", "People, if public", help=TEXT["number"], step=100,
                              name="number of people")  # fmt: skip
        if wrong("people"):
            place.error(wrong("people"))
    with right:
        st.text_input("Column of the person", key="identifier", placeholder="none: one row each",
                      max_chars=200, autocomplete="off")  # fmt: skip
        if wrong("identifier"):
            st.error(wrong("identifier"))
    with last:
        fields.number(PAGE, "rows_each", "Rows each, at most", step=1, name="rows of one person",
                      help=TEXT["rows"])  # fmt: skip
        if PAGE["rows_each"] > 1 and not str(PAGE["identifier"] or "").strip():
            st.caption("Counts once a column says whose row it is.")
    if PAGE["neighbours"] == CHANGE_ONE:
        st.caption(TEXT["change"])


def _column(rows: Rows, row: int, one: ColumnDraft) -> None:
    name, kind, shape = st.columns([4, 3, 3])
    with name:
        rows.text(row, "name", "Name in the file", max_chars=200)
    with kind:
        rows.pick(row, "kind", "Holds", draft.KINDS)
    with shape:
        rows.pick(row, "shape", "Made-up values are", draft.SHAPES, help=TEXT["shape"])
    if one.kind == "category":
        rows.area(row, "values", "Categories", placeholder="female, male", help=TEXT["categories"])
    else:
        low, high, step, edges = st.columns([2, 2, 2, 4])
        with low:
            rows.text(row, "low", "Lower bound")
        with high:
            rows.text(row, "high", "Upper bound")
        with step:
            rows.text(row, "step", "Step", placeholder="by itself", help=TEXT["step"])
        with edges:
            rows.text(row, "edges", "Edges of groups", placeholder="0, 18, 65, 100", help=TEXT["edges"])


# Lines ------------------------------------------------------------------------------------------------


def lines(found: Reading) -> None:
    """What is to be published."""
    frame.heading("What you publish", TEXT["lines"])
    rows = Rows("lines", LineDraft, found.complaints)
    for (row, one), (_, title) in zip(rows, draft.named(rows.drafts)):
        statistic = found.statistics[row]
        with _row(rows, row, f"**{prose.literal(title, 80)}** · {WHAT[one.what].lower()}"):
            if statistic is not None:
                st.caption(sensitivity(statistic, found))
            if rows.unfolded(row):
                _line(rows, row, one, title, found)
    if not rows.drafts:
        st.info("Nothing is published yet: add a statistic.")
    with st.container(horizontal=True):
        full = len(rows.drafts) >= MOST_LINES
        for what, label in WHAT.items():
            st.button(label, key=f"add_{what}", icon=":material/add:", disabled=full, on_click=rows.add,
                      args=(_first(what, found),))  # fmt: skip
    next_button("cost")


def _first(what: str, found: Reading) -> LineDraft:
    """A line to begin with: about the first column that fits."""
    wanted = Category if what == "proportion" else Number
    fitting = [
        name
        for name, one in found.columns.items()
        if (what == "histogram" and (isinstance(one, Category) or one.edges))
        or (what != "histogram" and isinstance(one, wanted))
    ]
    of = () if what == "count" else tuple(fitting[:1])
    value = found.columns[of[0]].values[0] if what == "proportion" and of else ""
    return LineDraft(what=what, of=of, value=value, non_negative=what in ("count", "histogram"))


def _line(rows: Rows, row: int, one: LineDraft, title: str, found: Reading) -> None:
    what, of, more = st.columns([3, 4, 3])
    with what:
        rows.pick(row, "what", "Statistic", {key: WHAT[key] for key in STATISTICS})
    with of:
        if one.what != "count":
            kinds = {"histogram": (Number, Category), "proportion": (Category,)}.get(one.what, (Number,))
            fitting = [name for name, column in found.columns.items() if isinstance(column, kinds)]
            label = "Groups by, up to three columns" if one.what == "histogram" else "Column"
            rows.pick_column(row, "of", label, fitting, 3 if one.what == "histogram" else 1)
    with more:
        if one.what == "quantile":
            rows.text(row, "q", "Share of people below", help="0.5 is the median, 0.9 the value that 90 % are below.")
        elif one.what == "proportion":
            column = found.columns.get(one.of[0]) if one.of else None
            rows.pick(row, "value", "Has the value", column.values if isinstance(column, Category) else ())
    where, name = st.columns([7, 3])
    with where:
        rows.text(row, "where", "Only people with", placeholder="everybody, or: age > 65 and sex = female")
    with name:
        rows.text(row, "name", "Name", placeholder=title, max_chars=200)
    if one.what != "histogram":
        _by_groups(rows, row, one, title, found)
    with st.container(horizontal=True):
        if one.what in ("count", "histogram"):
            rows.switch(
                row, "non_negative", "No negative counts", help="0 in place of what is below it: costs nothing."
            )
        if one.what == "mean":
            rows.switch(row, "spread", "Standard deviation, too", help=TEXT["spread"])


def _by_groups(rows: Rows, row: int, one: LineDraft, title: str, found: Reading) -> None:
    """The choice of a column for each of whose groups the statistic is then published."""
    room = MOST_LINES - len(rows.drafts) + 1
    grouped = [name for name, column in found.columns.items() if 2 <= _groups(column) <= room]
    if not grouped:
        return
    key = f"lines_{row}_each"

    def chosen() -> None:
        name = st.session_state[key]
        st.session_state[key] = None
        rows.exchange(row, draft.by_groups(one, title, found.columns[name]))

    st.selectbox("One for each group of", grouped, key=key, index=None, placeholder="no: one number for all",
                 help=TEXT["each"], on_change=chosen, width=360)  # fmt: skip


def _groups(column: Category | Number) -> int:
    return len(column.values) if isinstance(column, Category) else len(column.edges) - 1


def sensitivity(statistic: Statistic, found: Reading) -> str:
    """What one person changes, as a formula."""
    ranks = statistic.ranks(found.people, found.columns)
    if ranks is not None:
        return f"One person changes the rank by at most Δ = {ranks.formula}; the value is chosen by its rank."
    parts = []
    for total in statistic.totals(found.people, found.columns):
        what = "how many there are" if total.counts or total.column is None else "the sum"
        what = "the sum of squares" if total.squares else "the counts" if total.by else what
        parts.append(f"{what} by at most Δ = {total.formula}" + _equal(total.formula, total.sensitivity))
    return f"One person changes {' and '.join(parts)}."


def _equal(formula: str, sensitivity: float) -> str:
    told = prose.plain(sensitivity)
    return "" if formula.partition(" ")[0] == told or formula == told else f" = {told}"


# Parts ------------------------------------------------------------------------------------------------


def _row(rows: Rows, row: int, label: str):
    """The place of a row: a summary, with buttons that unfold the row and remove it."""
    wrong, unfolded = rows.wrong(row), rows.unfolded(row)
    place = st.container(border=True, key=f"{rows.key}_{row}_row", gap="small")
    with place, st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/error: {label} · **to be put right**" if wrong else label, width="stretch")
        for key, word, icon, act in (
            ("turn", "Done" if unfolded else "Edit", "check" if unfolded else "edit", rows.turn),
            ("remove", "Remove", "delete", rows.remove),
        ):
            st.button(word, key=f"{rows.key}_{row}_{key}", icon=f":material/{icon}:", type="tertiary", on_click=act,
                      args=(row,))  # fmt: skip
    return place


def next_button(panel: str) -> None:
    st.button(f"Next: {NEXT[panel]}", key=f"next_{panel}", type="primary",
              icon=":material/arrow_forward:", on_click=PAGE.choose, args=({"panel": panel},))  # fmt: skip
