"""The dashboard in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


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
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "the dashboard stopped by itself"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the dashboard did not come up within a minute")
