"""People's data on a running server: of a table that is opened, released and left nothing is on the disk or in the log,
and the server holds it no longer."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from pathlib import Path
from urllib.parse import urlencode

import pytest
from running import Service, apart, running
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.visitor import Visitor
from pages.release_plan import draft
from pages.release_plan.controls import PAGE

MARK = b"Zwoelfzehn-7193"
RAW = b"age,sex,note\n" + b"".join(b"%d,f,%s\n" % (i % 90, MARK) for i in range(120_000))
"""3 MB: more than a server keeps in memory by itself."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    (folder / "tmp").mkdir()
    with running(folder, TMPDIR=str(folder / "tmp")) as started:
        yield started


PLAN = {
    "columns": draft.pack([draft.ColumnDraft("age", "number", "0", "100", "1")]), "data": "file", "panel": "release",
    "lines": draft.pack([draft.LineDraft(what="mean", of=("age",)), draft.LineDraft(what="quantile", of=("age",))]),
}  # fmt: skip


def send(service: Service, session: str, raw: bytes) -> str:
    """Upload as the browser does; the file's name there."""
    cookie = service.ask("GET", "/_stcore/health").headers["Set-Cookie"].split(";")[0]
    file = str(uuid.uuid4())
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n'
    answer = service.ask(
        "PUT", f"/_stcore/upload_file/{session}/{file}", body=head + raw + b"\r\n--x--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=x", "Cookie": cookie,
                 "X-Xsrftoken": cookie.split("=", 1)[1]},
    )  # fmt: skip
    assert answer.status == 204, answer.text
    return file


def holding(service: Service) -> list[str]:
    """Files of the disk that hold the mark, and those that the server has open and nobody can name."""
    pid = service.process.pid
    places = [service.folder, Path(__file__).parents[2] / ".streamlit", Path.home() / ".duckdb"]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    files += [path for path in Path(f"/proc/{pid}/fd").iterdir() if re.search(r"^/.*deleted", str(path.readlink()))]
    return [str(path) for path in files if MARK in path.read_bytes()]


def test_nothing_of_a_table_is_on_the_disk_after_the_tab_is_closed(service):
    visitor = Visitor(service.address)

    async def stay() -> list[str]:
        async with visitor.visit():
            await visitor.finished(60)
            await visitor.turn_to("Release plan", urlencode(PAGE.query(PAGE.read({})[0] | PLAN)))
            await visitor.finished(60)
            box = await until(lambda: visitor.widget("people_file 0"))
            file = send(service, visitor.session, RAW)
            state = FileUploaderState()
            state.uploaded_file_info.add(file_id=file, name="people.csv", size=len(RAW))
            visitor._states["box"] = WidgetState(id=box.file_uploader.id, file_uploader_state_value=state)
            await visitor.run()
            del visitor._states["box"]
            await until(lambda: re.search("people.csv", "\n".join(visitor.texts())))
            for key in ("release_ask", "release_confirmed"):
                await until(lambda key=key: visitor.widget(key))
                await visitor.press(key)
            await until(lambda: re.search("the data say", "\n".join(visitor.texts())))
            return holding(service)

    async def until(found):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if value := found():
                    return value
            except KeyError:
                pass
            await asyncio.sleep(0.1)
        raise AssertionError("\n".join(visitor.texts())[-3000:])

    assert apart(stay()) == [], "while it is open"
    assert not visitor.exceptions and MARK.decode() not in "\n".join(visitor.texts())
    time.sleep(0.5)
    assert holding(service) == [], "after the tab was closed"
    assert MARK.decode() not in service.log and "people.csv" not in service.log
    assert not [event for event in service.events() if event.get("level") == "ERROR"]
