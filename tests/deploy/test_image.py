"""The image and the example with two copies: what they say agrees with the program and with docs/operate.md.

Where no engine runs, THOROUGH=1 does the Dockerfile's steps in an empty folder: installs, compiles, starts the server
as an ordinary user and asks it for a page.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from dockerfile import NOBODY, ROOT, Sandbox, stages
from running import apart

from benchmarks.visitor import Visitor
from service.configuration import PREFIX, Configuration, read

DOCKERFILE = stages((ROOT / "Dockerfile").read_text())
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
CADDYFILE = (ROOT / "deploy" / "Caddyfile").read_text()
MANUAL = (ROOT / "docs" / "operate.md").read_text()
LET_THROUGH = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def test_two_stages_and_the_last_has_no_tools_and_no_root():
    build, final = DOCKERFILE
    assert build.image == final.image and "-slim" in final.image
    commands = " ".join(step.text for step in final.named("RUN"))
    assert "pip uninstall" in commands and "apt" not in commands
    assert "--without-pip" in " ".join(step.text for step in build.named("RUN"))
    order = [step.name for step in final.steps]
    assert order.index("USER") > max(at for at, name in enumerate(order) if name in ("RUN", "COPY"))
    assert final.named("USER")[0].words == ["dashboard"]
    assert all(step.options.get("from") == "build" for step in final.named("COPY"))


def test_everything_that_is_installed_is_pinned():
    (install,) = [step for step in DOCKERFILE[0].named("RUN") if "install" in step.text]
    assert "--requirement requirements.txt" in install.text and "--only-binary :all:" in install.text
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    pins = [line.removesuffix(' ; sys_platform != "win32"') for line in lines]  # the image is Linux's
    assert all(re.fullmatch(r"[A-Za-z0-9._\[\]-]+==[\w.]+", pin) for pin in pins)


def test_everything_the_program_needs_is_copied_and_nothing_else_exists():
    copied = [name for step in DOCKERFILE[0].named("COPY") for name in step.words[:-1]]
    assert {"app.py", "server.py", "dpcore", "pages", "service", "work", "assets", ".streamlit"} <= set(copied)
    assert set(copied) <= LET_THROUGH
    assert all((ROOT / name).exists() for name in LET_THROUGH - {"**/__pycache__"})


def test_the_kernels_are_compiled_for_any_processor_and_found_again():
    build, final = DOCKERFILE
    assert any("work.warm" in step.text for step in build.named("RUN"))
    for name in ("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME"):
        assert build.environment[name] == final.environment[name]
    assert any("chown" in step.text and final.environment["NUMBA_CACHE_DIR"] in step.text for step in final.steps)


def test_ports_variables_and_health_agree():
    final = DOCKERFILE[-1]
    environment = final.environment
    port = environment["STREAMLIT_SERVER_PORT"]
    assert final.named("EXPOSE")[0].words == [port]
    assert final.named("HEALTHCHECK")[0].command == ["python", "-m", "service.health"]
    assert final.named("CMD")[0].command == ["streamlit", "run", "server.py"]
    read({name: text for name, text in environment.items() if name.startswith(PREFIX) and text != "/data"})
    assert environment[f"{PREFIX}STORE"] == final.named("VOLUME")[0].words[0] == "/data"
    copies = [name for name in COMPOSE["services"] if name.startswith("dashboard")]
    assert len(copies) == 2
    assert f"reverse_proxy {' '.join(f'{name}:{port}' for name in copies)} {{" in CADDYFILE
    (door,) = COMPOSE["services"]["proxy"]["ports"]
    outside, inside = door.split(":")
    assert re.search(rf"^:{inside} {{", CADDYFILE, re.M) and f"http://localhost:{outside}" in MANUAL
    for name in copies:
        service = COMPOSE["services"][name]
        read(service["environment"])
        assert service["volumes"] == ["results:/data"] and service["networks"] == ["inside"]
        assert "ports" not in service, "visitors come through the proxy only"
        assert service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"]
    assert COMPOSE["networks"]["inside"]["internal"] is True, "a copy cannot reach anything outside"
    assert set(COMPOSE["services"]["proxy"]["depends_on"]) == set(copies)


def test_people_s_data_are_taken_by_no_copy():
    """Said in so many words, besides that a copy is bound to more than the loopback address."""
    assert DOCKERFILE[-1].environment[f"{PREFIX}UPLOADS"] == "off"
    copies = [service for name, service in COMPOSE["services"].items() if name.startswith("dashboard")]
    assert all(service["environment"][f"{PREFIX}UPLOADS"] == "off" for service in copies)
    assert not read({f"{PREFIX}UPLOADS": "off"}).uploads


def test_the_proxy_keeps_a_visitor_with_one_copy_and_shuts_what_is_not_for_visitors():
    assert "lb_policy cookie" in CADDYFILE and "health_uri /_stcore/health" in CADDYFILE
    assert re.search(r"@shut path /_stcore/metrics\* /_stcore/agent/\*\s+respond @shut 404", CADDYFILE)
    config = (ROOT / ".streamlit" / "config.toml").read_text()
    upload = int(re.search(r"maxUploadSize = (\d+)", config)[1])
    assert f"max_size {upload + 1}MB" in CADDYFILE, "an upload of the largest size and its wrapping"


@pytest.mark.skipif(not shutil.which("caddy"), reason="no Caddy here")
def test_the_proxy_understands_its_file():
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(ROOT / "deploy" / "Caddyfile")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_every_variable_is_in_the_manual_and_every_one_of_the_manual_exists():
    rows = dict(re.findall(r"^\| `(DP_FRONTIER_\w+)` \| [^|]+ \| ([^|]+) \|", MANUAL, re.M))
    default = Configuration()
    told = {None: "none", True: "on"}
    expected = {PREFIX + f.name.upper(): getattr(default, f.name) for f in fields(Configuration)}
    assert rows.keys() == expected.keys()
    assert rows[f"{PREFIX}STORE"].strip() == "the user's cache folder"
    del expected[f"{PREFIX}STORE"]
    for name, value in expected.items():
        text = told.get(value, f"{value:g}" if isinstance(value, float | int) else str(value))
        assert rows[name].strip() == (f"`{text}`" if text != "none" else "none"), name
    for name in re.findall(r"`(STREAMLIT_\w+)`", MANUAL):
        from streamlit import config

        assert name in {option.env_var for option in config._config_options_template.values()}


@pytest.fixture
def empty() -> Iterator[Path]:
    """A folder that everybody may enter (pytest's own are for its user alone)."""
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.timeout(1200)
def test_the_steps_in_an_empty_folder_by_an_ordinary_user(empty):
    """What the image's build and start do, done here (minutes: an installation from scratch)."""
    if not os.environ.get("THOROUGH"):
        pytest.skip("minutes; THOROUGH=1")
    root, box = empty, Sandbox(empty)
    for folder in box.FOLDERS:
        (root / folder[1:]).mkdir(parents=True)
    build, final = DOCKERFILE
    for step in build.steps:
        if step.name == "ENV":
            box.environment |= {n: box.place(v) for n, v in (word.split("=", 1) for word in step.words)}
        elif step.name == "COPY":
            target = step.words[-1]
            box.copy(step.words[:-1], "/app/" + ("" if target == "./" else target), LET_THROUGH)
        elif step.name == "RUN":
            box.run(step.text, home=root)
    kernels = sorted((root / "app" / ".numba_cache").rglob("*.nbc"))
    assert kernels, "compiled while building"
    assert not list((root / "opt" / "venv").rglob("site-packages/pip")), "no installer is left"
    own = [root / "data", root / "app" / ".numba_cache"]
    if os.geteuid() == 0:
        for path in [p for folder in own for p in [folder, *folder.rglob("*")]]:
            os.chown(path, NOBODY, NOBODY)
    start_and_ask(box, final)
    assert sorted((root / "app" / ".numba_cache").rglob("*.nbc")) == kernels, "nothing was compiled again"
    if os.geteuid() == 0:
        changed = [p for p in (root / "app").rglob("*") if p.stat().st_uid == NOBODY and own[1] not in [p, *p.parents]]
        assert not changed, "the server cannot write to the program"


async def every_page(address: str) -> None:
    """What the image holds is enough for all of them."""
    visitor = Visitor(address)
    async with visitor.visit():
        await visitor.finished(60)
        for title in visitor.pages:
            await visitor.turn_to(title)
            await visitor.finished(60)
            assert not visitor.exceptions, title


def start_and_ask(box: Sandbox, final) -> None:
    """CMD, HEALTHCHECK and a visitor."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: box.place(value) for name, value in final.environment.items()} | {
        "STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_ADDRESS": "127.0.0.1", "PATH": f"{box.root}/opt/venv/bin",
    }  # fmt: skip
    (command,), (health,) = final.named("CMD"), final.named("HEALTHCHECK")
    program = Path(environment["PATH"]) / command.command[0]
    where = {"cwd": box.root / "app", "env": environment, **box.user}
    log = (box.root / "log").open("wb")
    server = subprocess.Popen([program, *command.command[1:]], stdout=log, stderr=log, **where)
    try:
        python = Path(environment["PATH"]) / "python"
        deadline = time.monotonic() + 60
        while subprocess.run([python, *health.command[1:]], **where).returncode:
            assert server.poll() is None and time.monotonic() < deadline, (box.root / "log").read_text()
            time.sleep(0.5)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            assert answer.status == 200 and "default-src 'self'" in answer.headers["Content-Security-Policy"]
        apart(every_page(f"http://127.0.0.1:{port}"))
        solve = [python, "-m", "dpcore", "solve", "--epsilon", "1", "--delta", "0.2", "--method", "reference"]
        assert subprocess.run([*solve, "--cells", "4"], capture_output=True, **where).returncode == 0
    finally:
        server.terminate()
        assert server.wait(10) is not None
    assert "Traceback" not in (box.root / "log").read_text()
