"""DP Frontier: the dashboard's frame. Pages do the rest."""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware

from pages.registry import PAGES
from pages.shared import compute, drawing, frame, seen, travel
from pages.shared.address import FRAME
from pages.shared.prose import ASSETS
from pages.start.controls import meant_for_noise
from service import connections, entrance
from service.library import Library
from service.steps import Steps

AROUND = [
    entrance.before(page="optimal_noise", meant=meant_for_noise),
    Middleware(Library),
    Middleware(Steps, pages=frozenset(page.address for page in PAGES if page.address)),
]
"""What stands around the pages wherever they are served."""


def run() -> None:
    """One run of the script: the frame, and in it the page of the address."""
    st.set_page_config(page_title="DP Frontier", page_icon=str(ASSETS / "favicon.svg"), layout="wide")
    st.logo(str(ASSETS / "logo.svg"), icon_image=str(ASSETS / "icon.svg"), size="large")
    FRAME.open()
    menus: dict[str, list] = {}
    for one in PAGES:
        icon, address = f":material/{one.icon}:", one.address
        page = st.Page(one.script, title=one.title, icon=icon, url_path=address or None, default=not address)
        menus.setdefault(one.menu, []).append(page)
    page = st.navigation(menus, position="top")
    travel.turned()
    with compute.turn():
        here = next(one for one in PAGES if one.address == page.url_path)
        frame.begin(here.name)
        compute.turn_to(page.url_path)
        seen.begin(here)
        page.run()
        FRAME.close()
        seen.keep(here, light=not drawing.dark())


if __name__ == "__main__":
    run()
else:  # `streamlit run app.py` loads it before anybody comes, and with it what `pages/__init__.py` says to Streamlit
    connections.at_once()
    app = st.App(__file__, middleware=AROUND)
