"""Taking the plan away: TOML, script, notebook, the command, made-up people to try them on."""

from __future__ import annotations

import re

import streamlit as st

from dpcore.errors import InputError
from dpcore.plan import made_up
from dpcore.plan.files import plan_to_toml
from dpcore.plan.plan import Plan
from dpcore.plan.script import plan_notebook, plan_script
from dpcore.plan.statement import plan_report
from pages.shared import actions, frame, prose

from . import headline
from .work import Costs

TEXT = prose.sections("release_plan")

MOST_ROWS = 100_000
"""Most rows of a file of made-up people."""


def take(costs: Costs) -> None:
    """Files, the command, the link."""
    frame.heading("Take it with you", TEXT["take"])
    plan, name = costs.split.plan, stem(costs.split.plan)
    try:
        program, notebook = plan_script(costs.split), plan_notebook(costs.split)
    except InputError as error:
        st.error(headline.told(error))
        program = notebook = ""
    with st.container(horizontal=True):
        st.download_button("Plan (TOML)", plan_to_toml(plan), f"{name}.toml", "application/toml", on_click="ignore",
                           type="primary")  # fmt: skip
        if program:
            st.download_button("Python script", program, f"{name}.py", "text/x-python", on_click="ignore")
            if theirs := _by_opendp(costs):
                st.download_button("OpenDP script", theirs, f"{name}_opendp.py", "text/x-python", on_click="ignore",
                                   help="The same with the noise of OpenDP (pip install opendp).")  # fmt: skip
            st.download_button("Notebook", notebook, f"{name}.ipynb", "application/x-ipynb+json", on_click="ignore")
        st.download_button(
            "Report (HTML)", lambda: plan_report(costs.split), f"{name}.html", "text/html", on_click="ignore",
            help="One page for the data-protection officer, to be read or printed.",
        )  # fmt: skip
        st.download_button(
            "Made-up people (CSV)",
            lambda: made_up.as_csv(plan.columns, plan.people, MOST_ROWS),
            "people.csv",
            "text/csv",
            on_click="ignore",
        )
    actions.row([actions.link()], key="plan_link")
    st.caption(TEXT["command"])
    st.code(
        f"python -m dpcore plan run {name}.toml --data people.csv --ledger ledger.db --out release.json",
        language="sh",
        wrap_lines=True,
    )
    with st.expander("The plan"):
        st.code(plan_to_toml(plan), language="toml", wrap_lines=True)
    if program:
        with st.expander("The script"):
            actions.show(program)


def _by_opendp(costs: Costs) -> str:
    """The script with OpenDP's noise, "" where it has none of the plan's."""
    try:
        return plan_script(costs.split, opendp=True)
    except InputError:
        return ""


def stem(plan: Plan) -> str:
    """The name of its files."""
    return re.sub(r"[^a-z0-9]+", "-", plan.title.lower()).strip("-")[:60] or "plan"
