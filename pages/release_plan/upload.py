"""A visitor's own table as data of a release."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import streamlit as st

from dpcore.plan.plan import Plan
from dpcore.plan.source import Source

Opened = Callable[[], AbstractContextManager[Source]]
"""Opens the table for one release."""


def table(plan: Plan) -> Opened | None:
    """Draw what takes a table for the plan; what opens it, once there is one."""
    st.info(
        "People’s data are not taken here: take the plan with you (step 7) and run "
        "`python -m dpcore plan run plan.toml --data people.csv` where the data are."
    )  # fmt: skip
    return None
