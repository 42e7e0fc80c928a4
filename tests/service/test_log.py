"""The log in JSON: one line per record of whatever library, and never a word of what was logged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from service import log

ROOT = Path(__file__).parents[2]

PROGRAM = """
import logging, sys, threading, warnings
early = logging.getLogger("early")
early.addHandler(logging.StreamHandler()); early.propagate = False
from service import log
log.install()
log.record("start", version="1", python="3", workers=2, store=True, metrics=False)
early.error("SECRET %s", "SECRET")
logging.getLogger("late").warning("SECRET %(a)s", {"a": "SECRET"})
logging.getLogger("root.less").error("100 % SECRET")
late = logging.getLogger("formatted")
late.addHandler(logging.StreamHandler()); late.propagate = False
late.error("SECRET", extra={"secret": "SECRET"}, stack_info=True)
try:
    raise ValueError("SECRET")
except ValueError:
    early.exception("SECRET")
    logging.getLogger("late").error("SECRET", exc_info=sys.exc_info())
warnings.warn("SECRET")
thread = threading.Thread(target=lambda: 1 / int("0")); thread.start(); thread.join()
from dpcore.privacy import Privacy
try:
    Privacy(-123.456, 0.2)
except ValueError as error:
    log.record("script error", error=type(error).__name__, place=log.place(error))
raise RuntimeError("SECRET")
"""


def test_every_record_is_a_line_without_what_it_said():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "SECRET" not in done.stderr + done.stdout and "123.456" not in done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["start", *["library"] * 6, *["script error"] * 3]
    assert lines[0] | {"time": ""} == {
        "time": "", "level": "INFO", "event": "start", "version": "1", "python": "3", "workers": 2, "store": True,
        "metrics": False,
    }  # fmt: skip
    assert {line["logger"] for line in lines if line["event"] == "library"} == {
        "early", "late", "root.less", "formatted"
    }  # fmt: skip
    assert [line["error"] for line in lines if "error" in line] == [
        "ValueError", "ValueError", "ZeroDivisionError", "InputError", "RuntimeError"
    ]  # fmt: skip
    assert lines[-2]["place"].startswith("dpcore/_validate.py:")


def test_events_say_only_what_the_manual_lists():
    with pytest.raises(ValueError, match="says nothing about"):
        log.Event("solve", {"epsilon": 1.0})
    with pytest.raises(ValueError, match="no fixed words"):
        log.Event("refused", {"reason": "the text <b>somebody</b> typed"})
    with pytest.raises(KeyError):
        log.Event("invented", {})
    manual = (ROOT / "docs" / "operate.md").read_text().split("## Log")[1].split("## Monitoring")[0]
    for event, said in log.FIELDS.items():
        (row,) = [line for line in manual.splitlines() if line.startswith(f"| `{event}` |")]
        for word in said:
            assert word in row.rsplit("|", 2)[1], f"{event}: {word}"
