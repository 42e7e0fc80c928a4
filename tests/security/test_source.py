"""What the program's source never does: run data as code, unpickle, hand text to the browser as HTML, call anybody."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([ROOT / "app.py", ROOT / "server.py", *(
    path for folder in ("dpcore", "pages", "service", "work") for path in (ROOT / folder).rglob("*.py")
)])  # fmt: skip

MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib.load", "joblib.dump", "joblib.Memory",
    "imp", "code", "codeop", "ctypes", "pty",
    "smtplib", "ftplib", "telnetlib", "xmlrpc", "http.client", "requests", "httpx", "aiohttp", "urllib3", "socket",
    "subprocess", "multiprocessing", "dask", "distributed",
}  # fmt: skip
"""Modules that run data as code or talk to others."""

NETWORK_IN = {
    "service/health.py": {"urllib.request"},
    "service/connections.py": {"socket"},
    "dpcore/sweeps/executors.py": {"distributed", "distributed.Client", "distributed.scheduler",
                                  "distributed.scheduler.KilledWorker"},
    "work/pool.py": {"subprocess", "multiprocessing.connection", "multiprocessing.connection.Client",
                     "multiprocessing.connection.Connection", "multiprocessing.connection.Listener",
                     "multiprocessing.reduction", "multiprocessing.reduction.ForkingPickler"},
    "work/packing.py": {"multiprocessing.reduction", "multiprocessing.reduction.ForkingPickler"},
    "work/process.py": {"multiprocessing.connection", "multiprocessing.connection.Client",
                        "multiprocessing.connection.Connection", "multiprocessing.reduction",
                        "multiprocessing.reduction.ForkingPickler"},
}  # fmt: skip
"""The only ones that talk to others: the health check of this very machine, an option of the server's own connections,
sweeps that somebody sends to a Dask cluster of theirs from the command line, and the dashboard with the processes that
compute for it, which it starts itself and which know a secret of that start."""

NAMES = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
ATTRIBUTES = {
    ("os", "system"), ("os", "popen"), ("yaml", "load"), ("np", "fromfile"), ("np", "memmap"), ("pd", "read_pickle"),
    ("pd", "eval"), ("sp", "sympify"), ("torch", "load"), ("np", "fromstring"),
}  # fmt: skip


STYLES = {
    ("pages/shared/frame.py", "f\"<style>{' '.join(rules)}</style>\""),
    ("pages/tradeoff_maps/panels.py", "cells.html(asked.plane.axes, known, shown, colours=drawing.colours())"),
    ("pages/optimal_noise/matters.py", "markup(known, problem)"),
    ("pages/start/page.py", "picture(one.picture())"),
    ("pages/lessons/cards.py", "f'<style>{_rules(job.solution)}</style>'"),
}
"""The look of every page, from files of assets/ and the palette's colours; the map's cells as a table, whose texts are
numbers and names of mechanisms, escaped (tests/pages/test_tradeoff_maps.py); the table of where optimal noise matters,
whose texts are numbers and words of its own module; pictures of the start page
and of all topics, drawings without texts as images."""


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def findings(tree: ast.AST) -> list[str]:
    """What in a module is not allowed, with its line."""
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found += [f"{node.lineno}: import {n}" for n in names if n in MODULES or n.split(".")[0] in MODULES]
        found += [f"{node.lineno}: import {n}" for n in names if n.startswith("urllib.request")]
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in NAMES:
                found.append(f"{node.lineno}: {function.id}()")
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                if (function.value.id, function.attr) in ATTRIBUTES:
                    found.append(f"{node.lineno}: {function.value.id}.{function.attr}()")
                if function.attr == "load" and function.value.id in ("np", "numpy"):
                    pickles = [word.value for word in node.keywords if word.arg == "allow_pickle"]
                    if not (pickles and isinstance(pickles[0], ast.Constant) and pickles[0].value is False):
                        found.append(f"{node.lineno}: np.load() without allow_pickle=False")
            for word in node.keywords:
                loud = isinstance(word.value, ast.Constant) and word.value.value is False
                if word.arg in ("allow_pickle", "shell", "unsafe_allow_html", "unsafe_allow_javascript") and not loud:
                    found.append(f"{node.lineno}: {word.arg}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=ids)
def test_nothing_is_unpickled_and_no_data_is_run(path):
    allowed = NETWORK_IN.get(ids(path), set())
    faults = [fault for fault in findings(ast.parse(path.read_text())) if fault.split("import ")[-1] not in allowed]
    assert not faults, f"{ids(path)}: {faults}"


def test_the_search_finds_what_it_is_for():
    program = """
import pickle
from joblib import load
import urllib.request
import numpy as np
np.load("x")
np.load("x", allow_pickle=True)
eval("1")
import yaml; yaml.load("x")
st.markdown("x", unsafe_allow_html=True)
np.load("x", allow_pickle=False)
"""
    lines = {int(fault.split(":")[0]) for fault in findings(ast.parse(program))}
    assert lines == {2, 3, 4, 6, 7, 8, 9, 10}


@pytest.mark.parametrize("path", [p for p in SOURCES if "pages" in p.parts or p.name == "app.py"], ids=ids)
def test_html_on_a_page_is_the_programs_own(path):
    """`st.html` gets literals or files of assets/, never text with a value in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("html", "iframe", "write_html"):
            if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "st":
                continue
            (what, *_) = node.args
            own = isinstance(what, ast.Constant) or "ASSETS" in ast.unparse(what)
            own = own or (ids(path), ast.unparse(what)) in STYLES
            assert own, f"{ids(path)}:{node.lineno}: {ast.unparse(what)[:80]}"


def test_the_command_line_and_the_core_never_look_at_the_network():
    """Importing everything opens no socket."""
    import subprocess
    import sys

    program = """
import socket, sys
def refuse(*arguments, **named):
    raise RuntimeError("a socket")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
import dpcore.cli
sys.exit(dpcore.cli.main(["solve", "--epsilon", "1", "--delta", "0.2", "--gap", "0.5"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
