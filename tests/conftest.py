"""What all tests share: compiled kernels kept between runs, hypothesis settings, the browser or its absence."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from turns import TURNS, left_out
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes of tests share two cores: more threads only wait
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache"))

if "DP_FRONTIER_STORE" not in os.environ:  # tests leave nothing in anybody's cache and find nothing there
    os.environ["DP_FRONTIER_STORE"] = tempfile.mkdtemp(prefix="dp-frontier-")
    atexit.register(shutil.rmtree, os.environ["DP_FRONTIER_STORE"], ignore_errors=True)

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")

ENOUGH = 100
FEW = 40 if ON_CI and not os.environ.get("THOROUGH") else ENOUGH
"""Examples of a test that does not say how many it draws; on CI, of any test at most."""

# On CI the same examples every time, so that a red build can be looked at, and few; elsewhere new ones each time.
settings.register_profile(
    "project", deadline=None, derandomize=ON_CI, suppress_health_check=[HealthCheck.too_slow], print_blob=True,
    max_examples=FEW,
)  # fmt: skip
settings.load_profile("project")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


BROWSER_TESTS = "tests/browser/"

TURN = os.environ.get("TURN", "")
"""Which of the slow tests run, as a number of any size; all of them where it says nothing."""


class ByFile(LoadFileScheduling):
    """Tests of a file go to one process, for what they share, files of many tests first. Those in a browser, which
    share one dashboard and one browser, go to the first process, one by one, and the others to the rest, until one of
    them has none left: two browsers at once would wait for each other."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = len(self.nodes) > 1 and node is self.nodes[0]
        own = (scope for scope in self.workqueue if scope.startswith(BROWSER_TESTS) == first)
        if (scope := next(own, None)) is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ByFile | None:
    return ByFile(config, log) if config.option.dist == "loadfile" else None


@pytest.fixture(autouse=True)
def its_own_main() -> Iterator[None]:
    """AppTest leaves the page it ran as `__main__`, which processes that a later test starts would run again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


def pytest_report_header() -> str:
    chosen = f"an {TURNS}th of them, TURN={TURN}" if TURN else "all"
    return f"slow tests: {chosen}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests whose turn it is not. Skip browser tests where there is no browser, but never on CI: there
    they must fail. No test draws more examples than the others because it says itself how many it would like, where
    they are to be few."""
    if TURN:
        out = left_out([item.nodeid for item in items], int(TURN))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
        items[:] = [item for item in items if item.nodeid not in out]
    if FEW < ENOUGH:
        for item in items:
            asked = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
            if asked is not None and asked.max_examples > FEW:
                item.obj._hypothesis_internal_use_settings = settings(asked, max_examples=FEW)
    if CHROMIUM or ON_CI:
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="no Chromium found"))


def pytest_terminal_summary(terminalreporter) -> None:
    skipped = [r for r in terminalreporter.getreports("skipped") if "no Chromium found" in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} BROWSER TESTS WERE SKIPPED: no Chromium (Debian: apt-get install chromium)", yellow=True
        )


@pytest.fixture(scope="session")
def run_alone(tmp_path_factory) -> Callable[[str], str]:
    """`run_alone(script)`: what a script prints in a fresh environment without any package, cut off from this one."""
    folder = tmp_path_factory.mktemp("empty")
    venv.EnvBuilder(symlinks=os.name != "nt").create(folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def run(script: str) -> str:
        (folder / "script.py").write_text(script, encoding="utf-8")
        environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        command = [python, "-I", "script.py"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def scanned_once() -> Iterator[None]:
    """Every AppTest looks through all installed packages for components of Streamlit; what it finds stays the same."""
    from streamlit.components.v2 import manifest_scanner

    found = manifest_scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: list(found))
        yield


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where Chromium is."""
    assert CHROMIUM, "browser tests need Chromium (Debian: apt-get install chromium)"
    return CHROMIUM
