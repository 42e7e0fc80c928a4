"""A running dashboard and a browser in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from running import Service, running
from serving import serving

ROOT = Path(__file__).parents[2]

PATIENCE = 30_000
"""Milliseconds that what is expected of a page may take to come: other tests are under way on the same two cores."""

QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-first-run", "--disable-dev-shm-usage", "--process-per-site"]  # fmt: skip
"""Chromium as root in a container, calling nobody; all pages of a profile share a process and its compiled scripts."""


class Profile:
    """A browser profile with one page left open, which keeps the process and what it has compiled; as new once it is
    cleared."""

    def __init__(self, browser, address: str) -> None:
        self._context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        self._context.set_default_timeout(60_000)
        self._kept = self._context.new_page()
        self._kept.goto(f"{address}/_stcore/health")

    def open(self, size: dict[str, int], colour_scheme: str, permissions: Sequence[str]):
        self._forget()  # what pages that are closed wrote last as well
        self._context.grant_permissions(permissions)
        page = self._context.new_page()
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colour_scheme)
        return page

    def clear(self) -> None:
        for page in self._context.pages:
            if page != self._kept:
                page.close()
        self._context.clear_permissions()
        self._forget()

    def _forget(self) -> None:
        self._context.clear_cookies()
        self._kept.evaluate("localStorage.clear()")


@pytest.fixture(scope="session")
def dashboard() -> Iterator[str]:
    """Address of `streamlit run app.py` on a free port."""
    with serving("app.py") as address:
        yield address


@pytest.fixture(scope="session")
def service(tmp_path_factory) -> Iterator[Service]:
    """The server with its headers, as it is operated."""
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator:
    """A headless Chromium, whose driver keeps an event loop in the thread until all tests are over."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def profiles() -> list[Profile]:
    """Profiles that tests have used and cleared."""
    return []


@pytest.fixture
def visitor(browser, dashboard: str, profiles: list[Profile]) -> Iterator[Callable]:
    """`visitor(width, height)` → a page of another browser profile, which remembers nothing and where nothing glides;
    the tour is over unless `tour=True`."""
    visited: list[Profile] = []

    def come(width: int = 1280, height: int = 900, *, tour: bool = False, color_scheme="light", permissions=()):
        visited.append(profiles.pop() if profiles else Profile(browser, dashboard))
        page = visited[-1].open({"width": width, "height": height}, color_scheme, permissions)
        if not tour:
            page.add_init_script("localStorage.setItem('dp-frontier-tour-seen', 'yes')")
        return page

    yield come
    for profile in reversed(visited):
        profile.clear()
        profiles.append(profile)


@pytest.fixture
def artifacts() -> Path:
    """Where pictures are kept."""
    folder = ROOT / "artifacts"
    folder.mkdir(exist_ok=True)
    return folder
