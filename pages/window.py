"""The window: its title and logo, and the menus of all pages."""

from __future__ import annotations

import copy
from functools import cache

import streamlit as st

from .registry import PAGES
from .shared import prose


def begin() -> None:
    """Its title, its icon, the logo."""
    st.set_page_config(page_title="DP Frontier", page_icon=prose.asset("favicon.svg"), layout="wide")
    st.logo(prose.asset("logo.svg"), icon_image=prose.asset("icon.svg"), size="large")


def menus() -> dict[str, list]:
    """Menu → its pages, for `st.navigation`, which notes in a page that it may be run."""
    found: dict[str, list] = {}
    for one, page in zip(PAGES, _pages()):
        found.setdefault(one.menu, []).append(copy.copy(page))
    return found


@cache
def _pages() -> list:
    """All pages as Streamlit has them, looked for on the disk once."""
    return [
        st.Page(
            one.script, title=one.title, icon=f":material/{one.icon}:", url_path=one.address or None,
            default=not one.address,
        )
        for one in PAGES
    ]  # fmt: skip
