"""The real server in a process of its own, with log, store and monitoring, for tests that talk to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.visitor import Visitor

ROOT = Path(__file__).parents[1]


class Service:
    """`streamlit run server.py` on a free port of this machine."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.port, self.metrics_port = free_port(), free_port()
        self.folder, self.log_path = folder, folder / f"log-{self.port}"
        self._variables = {
            "DP_FRONTIER_LOG": "json", "DP_FRONTIER_STORE": str(folder / "store"),
            "DP_FRONTIER_METRICS": f"127.0.0.1:{self.metrics_port}", **variables,
        }  # fmt: skip
        command = [sys.executable, "-m", "streamlit", "run", "server.py", "--server.address=127.0.0.1",
                   f"--server.port={self.port}", "--server.headless=true"]  # fmt: skip
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **self._variables}, stdout=log, stderr=log
            )

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def events(self) -> list[dict]:
        """The log's lines; what Streamlit prints for people at the start is left out."""
        lines = [line for line in self.log.splitlines() if line.strip()]
        greeting = ("You can now view", "URL:")
        return [json.loads(line) for line in lines if not line.strip().startswith(greeting)]

    def wait(self, seconds: float = 60) -> Service:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the server stopped by itself: {self.log[-2000:]}"
            try:
                if self.ask("GET", "/_stcore/health").status == 200:
                    return self
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not come up")

    def ask(self, method: str, path: str, *, headers: dict | None = None, body: bytes | None = None, port: int = 0):
        """The answer to a request whose path is sent as it is, `..` and all; its body is in `answer.text`."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}))
            for name, value in {**(headers or {}), "Content-Length": str(len(body or b""))}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            answer.text = answer.read().decode(errors="replace")
            return answer
        finally:
            connection.close()

    def figures(self) -> dict[str, float]:
        """What the monitoring is told."""
        text = self.ask("GET", "/metrics", port=self.metrics_port).text
        pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def visit(self, query: dict[str, str] | None = None, *, seconds: float = 30, until: str = "") -> Visitor:
        """What a visitor saw with this address after one run, or once a text matched `until`."""
        visitor = Visitor(self.address, urllib.parse.urlencode(query or {}, errors="replace"))

        async def look() -> None:
            async with visitor.visit():
                await visitor.finished(seconds)
                deadline = time.monotonic() + seconds
                while until and not re.search(until, "\n".join(visitor.texts())):
                    assert time.monotonic() < deadline, "\n".join(visitor.texts())[:2000]
                    await asyncio.sleep(0.1)

        apart(look())
        return visitor

    def stop(self) -> int:
        """Ask the server to end; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


@contextmanager
def running(folder: Path, **variables: str) -> Iterator[Service]:
    """A server that answers, ended when the block is left."""
    service = Service(folder, **variables)
    try:
        yield service.wait()
    finally:
        if service.process.poll() is None:
            service.kill()


def apart(work: Coroutine) -> Any:
    """`asyncio.run` in a thread of its own: where a browser is driven, this thread has a loop already."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
