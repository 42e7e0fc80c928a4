"""A running dashboard and a browser in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import serving

ROOT = Path(__file__).parents[2]
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-first-run", "--disable-dev-shm-usage"]  # fmt: skip
"""Chromium as root in a container, calling nobody."""


@pytest.fixture(scope="session")
def dashboard() -> Iterator[str]:
    """Address of `streamlit run app.py` on a free port."""
    with serving("app.py") as address:
        yield address


@pytest.fixture(scope="package")
def browser(chromium_path: str) -> Iterator:
    """A headless Chromium; closed after these tests, for its driver occupies the thread with an event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def visitor(browser) -> Iterator[Callable]:
    """`visitor(width, height, **options)` → a page of a fresh browser profile where nothing glides; the tour is over
    unless `tour=True`."""
    profiles = []

    def come(width: int = 1280, height: int = 900, *, tour: bool = False, **options):
        seen = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce", **options}
        profile = browser.new_context(**seen)
        profiles.append(profile)
        if not tour:
            profile.add_init_script("localStorage.setItem('dp-frontier-tour-seen', 'yes')")
        page = profile.new_page()
        page.set_default_timeout(60_000)
        return page

    yield come
    for profile in profiles:
        profile.close()


@pytest.fixture
def artifacts() -> Path:
    """Where pictures are kept."""
    folder = ROOT / "artifacts"
    folder.mkdir(exist_ok=True)
    return folder
