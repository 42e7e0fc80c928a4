"""Splitting one budget over several named queries; the total is certified by composed privacy-loss distributions."""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

import streamlit as st
from scipy.optimize import brentq

from dpcore import figures
from dpcore.accounting.budget import FAMILIES, MOST_QUERIES, MOST_QUERY_USES, Plan, Query
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.truth import Truth
from dpcore.errors import InputError
from dpcore.figures import Chart, Palette
from pages.composition import work
from pages.composition.pieces import DELTA, LEGEND, name, shown
from pages.lessons import lines, widgets
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values, Work
from pages.lessons.widgets import HEIGHT, Stops
from pages.shared import prose
from pages.shared.address import PLAIN, Choice, Text
from pages.shared.messages import explain

TOTAL = Stops(1.0, (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0))
LONGEST_NAME = 40
COLUMNS = ("query", "sensitivity", "uses", "weight")
SYMBOLS = dict(zip(LEGEND, ("circle", "square-open", "diamond-open", "diamond-open", "triangle-up-open", "cross-open")))


class Queries(Text):
    """name:sensitivity:uses:weight; … — names in letters, digits and plain signs, since they are shown."""

    def read(self, text: str) -> str:
        parse(super().read(text))
        return text


def parse(text: str) -> tuple[Query, ...]:
    """The queries of a text; InputError names what is wrong."""
    out = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        words = [word.strip() for word in part.split(":")]
        if len(words) != 4 or len(words[0]) > LONGEST_NAME or not PLAIN.fullmatch(words[0]):
            raise InputError("queries", part, "name:sensitivity:uses:weight; a name in plain letters and digits")
        out.append(Query(words[0], *words[1:]))
    if not 1 <= len(out) <= MOST_QUERIES:
        raise InputError("queries", f"{len(out)} of them", f"from 1 to {MOST_QUERIES}")
    return tuple(out)


def write(queries: list[Query]) -> str:
    """The text of some queries."""
    return ";".join(f"{one.name}:{one.sensitivity:g}:{one.uses}:{one.weight:g}" for one in queries)


HOSPITAL = "patients:1:1:1;mean age:0.02:1:2;ages by decade:1:10:1;admissions by month:1:36:0.5"
SURVEY = "respondents:1:1:1;yes to question 1:1:1:1;yes to question 2:1:1:1;yes to question 3:1:1:1"
DASHBOARD = "daily visits:1:365:1;yearly total:1:1:20"
CONTROLS = {
    "bu_epsilon": TOTAL, "delta": DELTA, "bu_family": Choice("laplace", FAMILIES),
    "bu_queries": Queries(HOSPITAL, 2000),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.slider(page, "bu_epsilon", "Total ε")
    widgets.delta(page, label="Total δ")
    widgets.pick(page, "bu_family", "Noise")
    st.caption("The queries are in the table below the picture.")


def asked(values: Values) -> work.Budget:
    """What is to be worked out."""
    queries = parse(values["bu_queries"] or "")
    return work.Budget(queries, values["bu_epsilon"], values["delta"], values["bu_family"])


def picture(values: Values, colours: Palette) -> Picture:
    queries, found = parse(values["bu_queries"] or ""), values["found"]
    best, plain = found[-1], found[0]
    uses, gain = sum(one.uses for one in queries), plain.errors[0] / best.errors[0]
    at = f"δ = {prose.delta_text(values['delta'])}"
    within = f"{prose.count(uses)} releases within ε = **{values['bu_epsilon']:g}** at {at}: "
    if gain > 1.01:
        headline = (
            f"{within}exact accounting needs **{prose.number(gain, 3)} times** less noise than adding up; "
            f"“{queries[0].name}” errs by "
            f"**{prose.number(best.errors[0], 3)}** instead of {prose.number(plain.errors[0], 3)} on average."
        )
    else:
        error = prose.number(best.errors[0], 3)
        headline = f"{within}“{queries[0].name}” errs by **{error}** on average; no rule gains over adding up."
    facts = {
        "total ε, certified": f"at most {prose.at_most(best.total, 8)}",
        "rule": best.name,
        "queries": write(list(queries)),
    }
    notes = (
        "Every split is proportional to the weights, and its total ε is certified by composed privacy-loss "
        "distributions, whatever rule it "
        "was made by. Neighbours: whatever the sensitivities are meant for.",
    )
    return Picture(headline, (errors(queries, found, values, colours), totals(found, values, colours)), facts, notes)


def errors(queries: tuple[Query, ...], found: tuple[Plan, ...], values: Values, colours: Palette) -> Panel:
    """Mean error of every query under the split of every rule."""
    figure, names = Chart(), [f"{i + 1}. {one.name}" for i, one in enumerate(queries)]
    for plan in found:
        hue = lines.colour(colours, plan.rule)
        figure.add_scatter(
            x=plan.errors, y=names, name=name(plan.rule), mode="markers", cliponaxis=False,
            marker={"color": hue, "symbol": SYMBOLS[plan.rule], "size": 0.85 * colours.type,
                    "line": {"width": 2, "color": hue}},
            hovertemplate=f"<b>{name(plan.rule)}</b><br>%{{y}}: mean error %{{x:.3~r}}<extra></extra>",
        )  # fmt: skip
    low = min(min(plan.errors) for plan in found)
    high = max(max(plan.errors) for plan in found)
    ends = [math.log10(low / 1.5), math.log10(high * 1.5)]
    figure.update_xaxes(
        title="mean absolute error (the query's unit)", **figures.log_ticks(low / 1.5, high * 1.5) | {"range": ends}
    )
    figure.update_yaxes(autorange="reversed")
    best = found[-1]
    gaussian = values["bu_family"] == "gaussian"
    table = {
        "query": [one.name for one in queries], "sensitivity": [f"{one.sensitivity:g}" for one in queries],
        "uses": [prose.count(one.uses) for one in queries], "weight": [f"{one.weight:g}" for one in queries],
        "σ" if gaussian else "ε of each use": [
            prose.number(best.scales[i], 3) if gaussian else prose.number(best.factor * one.weight, 3)
            for i, one in enumerate(queries)
        ],
        **{f"error, {name(plan.rule)}": [prose.number(error, 3) for error in plan.errors] for plan in found},
    }  # fmt: skip
    alt = "Mean error of every query: " + "; ".join(
        f"{one.name} {prose.number(best.errors[i], 3)} by exact accounting, {prose.number(found[0].errors[i], 3)} by "
        f"adding up"
        for i, one in enumerate(queries)
    )
    figure = figures.finish(figure, colours, height=HEIGHT)
    figure.layout.yaxis.update(showgrid=True)
    figure.layout.meta = {"labels": False}  # each rule has a dot in every row
    return Panel("Error of each query", figure, alt, table)


def totals(found: tuple[Plan, ...], values: Values, colours: Palette) -> Panel:
    """What of the budget every rule's split really uses."""
    figure, rows = Chart(), sorted(found, key=lambda one: one.total)
    figure.add_bar(
        y=[name(one.rule) for one in rows], x=[one.total for one in rows], orientation="h", showlegend=False,
        marker={"color": [lines.colour(colours, one.rule) for one in rows]},
        text=[prose.at_most(one.total, 3) for one in rows], textposition="inside", insidetextanchor="end",
        hovertemplate="%{y}: %{x:.3~r}<extra></extra>",
    )  # fmt: skip
    figures.upright(figure, values["bu_epsilon"], line=lines.reference(colours))
    figure.update_xaxes(title="ε that is really spent (certified, rounded up)", range=[0, 1.2 * values["bu_epsilon"]])
    table = {"rule": [name(one.rule) for one in found], "ε spent, at most": [shown(one.total, 3) for one in found]}
    alt = "ε that each split really spends: " + ", ".join(f"{name(one.rule)} {shown(one.total)}" for one in found)
    return Panel("What each split really spends", figures.finish(figure, colours, height=260), alt, table, "spent")


def more(page) -> None:
    """The table of queries; what is typed there goes into the link."""
    st.subheader("Your queries", anchor=False)
    try:
        queries = parse(page["bu_queries"] or "")
    except InputError:
        queries = parse(HOSPITAL)
    rows = [dict(zip(COLUMNS, (one.name, one.sensitivity, one.uses, one.weight))) for one in queries]
    number = lambda label, low, high, **more: st.column_config.NumberColumn(  # noqa: E731
        label, min_value=low, max_value=high, required=True, default=1, **more
    )
    columns = {
        "query": st.column_config.TextColumn("Query", max_chars=LONGEST_NAME, required=True, default="query"),
        "sensitivity": number("Sensitivity", 1e-9, 1e9, format="%g"),
        "uses": number("Uses", 1, MOST_QUERY_USES, step=1),
        "weight": number("Weight", 1e-3, 1e3, format="%g", help="Twice the weight, half the noise."),
    }
    key = f"bu_table_{zlib.crc32(write(list(queries)).encode())}"
    st.data_editor(
        rows,
        num_rows="dynamic",
        hide_index=True,
        column_config=columns,
        key=key,
        on_change=_take,
        args=(page, rows, key),
    )
    if told := st.session_state.pop("bu_refused", None):
        st.error(f"Not taken over: {told}", icon=":material/error:")
    with st.container(horizontal=True):
        for number, (label, text) in enumerate((("Hospital", HOSPITAL), ("Survey", SURVEY), ("Dashboard", DASHBOARD))):
            st.button(label, key=f"bu_preset_{number}", on_click=page.choose, args=({"bu_queries": text},))


def _take(page, rows: list[dict], key: str) -> None:
    """What was typed into the table goes into the link, if it is a budget."""
    try:
        page.choose({"bu_queries": write(changed(rows, st.session_state[key]))})
    except InputError as error:
        st.session_state["bu_refused"] = explain(error)


def changed(rows: list[dict], changes: dict) -> list[Query]:
    """The queries of a table after the changes that its widget reports; InputError names what is wrong."""
    edited = [{**row, **changes["edited_rows"].get(i, {})} for i, row in enumerate(rows)]
    kept = [row for i, row in enumerate(edited) if i not in set(changes["deleted_rows"])]
    first = {"query": "query", "sensitivity": 1.0, "uses": 1, "weight": 1.0}
    kept += [{**first, **row} for row in changes["added_rows"]]
    found = [Query(plain(row["query"]), *(row[column] for column in COLUMNS[1:])) for row in kept]
    parse(write(found))
    return found


def plain(text: str) -> str:
    """A name that may be shown."""
    return "".join(c for c in str(text) if PLAIN.fullmatch(c))[:LONGEST_NAME].strip() or "query"


@lru_cache(maxsize=16)
def dilution(queries: int) -> float:
    """How much a query's Gaussian noise grows when so many like it are to share its budget."""
    return _deviation(queries) / _deviation(1)


@lru_cache(maxsize=16)
def _deviation(uses: int) -> float:
    """The Gaussian noise with which so many uses are (1, 10⁻⁶)-DP."""
    spent = lambda sigma: Truth((Release(parse_mechanism(f"gaussian:sigma={sigma!r}"), uses),)).epsilon_upper(1e-6)  # noqa: E731
    return brentq(lambda sigma: spent(sigma) - 1.0, 1.0, 100.0, xtol=1e-9)


def shared(queries: int) -> Question:
    """The noise of each of some queries that share the budget of one."""
    return Question(
        text=f"One query with Gaussian noise uses up your whole budget. Now {queries} queries like it are to share the "
        "same (ε, δ), accounted for exactly. By what factor does the noise of each grow?",
        right=lambda: dilution(queries),
        because=lambda: (
            f"By {dilution(queries):.4g} = √{queries}: the composition of Gaussian mechanisms is a Gaussian mechanism "
            f"again, with μ² added up. Adding up ε would ask for about {queries} times the noise, or more."
        ),
        unit="times",
        hint="Gaussian mechanisms compose to one with μ² added up.",
    )


TOPIC = Topic(
    name="budget",
    title="Budget planner",
    section="13.8",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    work=Work(work.split, asked),
    experiments=(
        Experiment("A hospital's yearly report", {"bu_queries": HOSPITAL, "bu_family": "laplace", "bu_epsilon": 1.0}),
        Experiment(
            "A dashboard, every day of a year", {"bu_queries": DASHBOARD, "bu_family": "gaussian", "bu_epsilon": 2.0}
        ),
        Experiment("Four questions, once each", {"bu_queries": SURVEY, "bu_family": "laplace", "bu_epsilon": 1.0}),
    ),
    question=shared(100),
    vary=lambda rng: shared(rng.choice((4, 9, 16, 25, 36, 64))),
    more=more,
)
