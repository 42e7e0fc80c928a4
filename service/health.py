"""`python -m service.health`: status 0 when the dashboard on this machine answers its health check, 1 when not.

`--open` waits until it does and opens it in the browser, where there is a screen.
"""

from __future__ import annotations

import os
import sys
import time
import urllib.request
import webbrowser

TIMEOUT = 3.0


def healthy(port: int) -> bool:
    """The dashboard on this machine's port is ready for visitors."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=TIMEOUT) as answer:
            return answer.status == 200
    except OSError:
        return False


def open_when_healthy(port: int, patience: float = 120.0) -> bool:
    """Open the dashboard in the browser as soon as it answers; whether it did."""
    shown = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    end = time.monotonic() + patience
    while shown and time.monotonic() < end:
        if healthy(port):
            return webbrowser.open(f"http://localhost:{port}")
        time.sleep(0.3)
    return False


if __name__ == "__main__":
    number = int(os.environ.get("STREAMLIT_SERVER_PORT") or 8501)
    sys.exit(0 if (open_when_healthy if "--open" in sys.argv[1:] else healthy)(number) else 1)
