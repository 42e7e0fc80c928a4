"""A running dashboard and a browser in front of it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--no-first-run", "--disable-dev-shm-usage"]  # fmt: skip
"""Chromium as root in a container, calling nobody."""


@pytest.fixture(scope="session")
def dashboard() -> Iterator[str]:
    """Address of `streamlit run app.py` on a free port."""
    with serving("app.py") as address:
        yield address


@contextmanager
def serving(entry: str) -> Iterator[str]:
    """Address of `streamlit run ENTRY` on a free port, just started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", entry, f"--server.port={port}",
               "--server.address=127.0.0.1", "--server.headless=true"]  # fmt: skip
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ}, stdout=subprocess.DEVNULL)
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def _wait_until_healthy(address: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert server.poll() is None, "the dashboard stopped by itself"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the dashboard did not come up within 30 s")


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
    """`visitor(width, height, **options)` → a page of a fresh browser profile; the tour is over unless `tour=True`."""
    profiles = []

    def come(width: int = 1280, height: int = 900, *, tour: bool = False, **options):
        profile = browser.new_context(viewport={"width": width, "height": height}, **options)
        profiles.append(profile)
        if not tour:
            profile.add_init_script("localStorage.setItem('dp-frontier-tour-seen', 'yes')")
        page = profile.new_page()
        page.set_default_timeout(40_000)
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
