"""What one visitor may ask for, and what is said when it is more; uploads as the page takes them."""

from __future__ import annotations

import json
import os
import random
import re
import time
from itertools import islice

import pytest
from hostile import RAW, TABLES, broken
from streamlit.testing.v1 import AppTest
from test_uploads import GOOD
from visits import HOME, PAGES, ROOT, shown, visit

from dpcore.export import solution_to_dict
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from pages.shared import compute
from service import configuration
from work.job import TooMany
from work.question import Question
from work.session import Session
from work.workers import Workers

VECTOR = "pages/vector_queries/page.py"
COUNT = 60 * int(os.environ.get("THOROUGH", "0")) or 8


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    compute.rest()


def test_a_time_limit_above_the_services_is_named_with_its_range():
    most = configuration.current().seconds
    app = visit(HOME, {"seconds": str(most + 1), "gap": "50"})
    assert not app.exception
    words = "\n".join(shown(app))
    assert re.search(rf"time limit = {most + 1:g}: expected a number above 0, at most {most:g}", words)


def test_one_session_cannot_have_any_number_of_jobs():
    workers, most = Workers(1), 3
    session = Session(workers, most=most)
    try:
        problems = [noise_problem(0.5 + number / 10, 0.01) for number in range(most + 2)]
        questions = [Question(solve, problem, SolverSettings(1e-6)) for problem in problems]
        jobs = [session.ask(f"slot {number}", question) for number, question in enumerate(questions)]
        refused = [job for job in jobs if isinstance(job.error, TooMany)]
        assert len(refused) == 2 and all(job.done for job in refused)
        assert re.search(rf"jobs = {most + 1}: expected at most {most} at a time", str(refused[0].error))
    finally:
        session.close()
        workers.rest()


def uploaders(app: AppTest):
    return {uploader.key: uploader for uploader in app.get("file_uploader")}


def test_uploads_through_the_page_are_read_or_named(caplog):
    """The very boxes of the page, with files that are none."""
    rng = random.Random(11)
    good = solution_to_dict(solve(GOOD["plain"], SolverSettings(gap=0.05)))
    app = visit(HOME, {"loss": "table", "panel": "Take it away", "gap": "50"})
    deadline = time.monotonic() + 120
    while "reload" not in uploaders(app) and time.monotonic() < deadline:
        time.sleep(0.1)
        app.run()
    files = [*rng.sample(RAW, 4), json.dumps(good).encode(), *islice(broken(rng, good), COUNT)]
    for raw in files:
        uploaders(app)["reload"].set_value(("noise.json", raw, "application/json"))
        app.run()
        assert not app.exception, raw[:200]
        said = "\n".join(shown(app))
        assert "not accepted" in said or "audited again" in said
    for text in rng.sample(TABLES, min(COUNT, len(TABLES))):
        uploaders(app)["table_file"].set_value(("table.csv", text.encode("utf-8", "replace"), "text/csv"))
        app.run()
        assert not app.exception, text[:200]
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(("page", "query"), [*((page, {}) for page in PAGES), (VECTOR, {"shape": "list"})])
def test_every_upload_box_in_sight_takes_hostile_files(page, query, caplog):
    """Whatever a page asks for, it gets a pickle, a zip, half a JSON and a million commas."""
    app = visit(page, query)
    assert "vector_file" in uploaders(app) or page != VECTOR or not query
    for key in uploaders(app):
        for raw in (*RAW[-8:], b"[" * 100_000, b"," * 1_000_000, b"a,b\n=1+1,nan\n1e999,\x00\n", b"\xff\xfe1,2"):
            box = uploaders(app)[key]
            kind = (list(box.proto.type) or [".csv"])[0]
            box.set_value((f"../../x{kind}", raw, "application/octet-stream"))
            app.run()
            assert not app.exception, f"{page}, {key}: {raw[:60]!r}"
            if key not in uploaders(app):
                break
    assert not [record for record in caplog.records if record.exc_info]
