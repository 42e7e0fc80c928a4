"""A visitor's own table on the page Release plan: where it is taken, what it comes to, and that it is forgotten."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pytest
from streamlit import config
from streamlit.runtime import caching
from streamlit.testing.v1 import AppTest

from dpcore.plan.files import plan_to_toml
from pages.release_plan import draft, upload
from pages.release_plan.controls import PAGE
from pages.shared import compute
from pages.shared.address import Address

COLUMNS = draft.pack(
    [draft.ColumnDraft("age", "number", "0", "100", "1"), draft.ColumnDraft("sex", "category", values="f, m")]
)
LINES = draft.pack([
    draft.LineDraft(what="count", where="age > 40"), draft.LineDraft(what="histogram", of=("sex",)),
    draft.LineDraft(what="mean", of=("age",)),
])  # fmt: skip
PLAN = {"title": "", "number": None, "columns": COLUMNS, "lines": LINES, "epsilon": 20.0, "delta": 0.0,
        "panel": "release", "data": "file"}  # fmt: skip
ROOT = Path(__file__).parents[2]
MARK = "Zwölfzehn"
RAW = ("age;sex;note\n" + f"41;f;{MARK}\n" * 30 + f"12;m;{MARK}\n" * 12).encode()


@pytest.fixture(autouse=True)
def local():
    """A server for this machine alone."""
    before = config.get_option("server.address")
    config.set_option("server.address", "127.0.0.1")
    yield
    config.set_option("server.address", before)
    close()
    compute.rest()


def close() -> None:
    """What the server does when a tab's connection ends; tests have one session."""
    caching.clear_session_resource_cache("test session id")


def opened(page: Address = PAGE, **other: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "release_plan" / "page.py"), default_timeout=60)
    for key, text in page.query(page.read({})[0] | PLAN | other).items():
        app.query_params[key] = text
    return settled(app.run())


def settled(app: AppTest) -> AppTest:
    """Run until nothing goes on."""
    for _ in range(100):
        assert not app.exception
        if not any(button.key.startswith("stop") for button in app.button):
            return app
        threading.Event().wait(0.1)
        app.run()
    raise AssertionError("still going on")


def take(app: AppTest, raw: bytes, name: str = "people.csv") -> AppTest:
    (box,) = [one for one in app.get("file_uploader") if one.key.startswith("people_file")]
    box.upload(name, raw, "text/csv")
    return settled(app.run())


def click(app: AppTest, key: str) -> AppTest:
    next(button for button in app.button if button.key == key).click()
    return settled(app.run())


def words(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.error, app.metric)
    return "\n".join(str(getattr(one, "value", "")) for kind in kinds for one in kind)


def test_a_table_is_released_and_forgotten():
    app = opened()
    assert "on this machine" in words(app)
    raw = bytes(bytearray(RAW))  # a copy that only this test has
    held = sys.getrefcount(raw)
    app = take(app, raw)
    assert "people.csv" in words(app) and not [one for one in app.get("file_uploader") if "people" in one.key]
    app = click(click(app, "release_ask"), "release_confirmed")
    shown = words(app)
    counts = {one.label: one.value for one in app.metric}
    assert any(value in ("28", "29", "30", "31", "32") for value in counts.values()), counts
    assert MARK not in shown
    app = click(app, "people_forget")
    assert [one for one in app.get("file_uploader") if "people" in one.key]
    gc.collect()
    assert sys.getrefcount(raw) == held, "nobody holds the bytes any more"


def test_columns_of_a_table_are_taken_over_without_anything_of_its_values():
    app = opened(panel="have", columns="", lines="")
    app = take(app, b"age;sex;note;height\n41;f;" + MARK.encode() + b";1.5\n12;m;;\n")
    box = next(one for one in app.multiselect if one.key == "file_columns")
    assert box.options == ["age (numbers)", "sex (text)", "note (text)", "height (numbers)"]
    box.set_value(["height", "sex"])
    app = click(settled(app.run()), "file_columns_add")
    found = draft.unpack(draft.ColumnDraft, app.session_state["columns"])
    assert found == [draft.ColumnDraft("height"), draft.ColumnDraft("sex", "category")]
    assert "a number that is public" in words(app) and MARK not in words(app)
    assert next(one for one in app.multiselect if one.key == "file_columns").options[:1] == ["age (numbers)"]
    config.set_option("server.address", "0.0.0.0")
    assert "not taken here" in words(opened(panel="have"))


def test_neither_link_nor_plan_nor_anything_kept_knows_the_table():
    app = take(opened(), RAW)
    app = click(click(app, "release_ask"), "release_confirmed")
    state = {key: value for key, value in app.session_state._state.filtered_state.items()}
    assert MARK not in repr(state) and "people.csv" not in repr(dict(app.query_params))
    found = draft.read(
        PAGE.read({key: one[0] if isinstance(one, list) else one for key, one in app.query_params.items()})[0]
    )
    assert MARK not in plan_to_toml(found.plan)


@pytest.mark.parametrize(
    ("raw", "told"),
    [(b"PK\x03\x04" + bytes(90), "a zip archive"), (b"age;sex\n1;=2+3\n", "a formula in a cell"),
     (b"", "an empty file"),     (b"age,sex\n1\n", "line 2 with 1 cells"), (b"years,sex\n1,f\n", "does not have: age"),
     (",".join(f"c{i}" for i in range(100_000)).encode(), "100000 columns")],
)  # fmt: skip
def test_a_table_that_is_none_is_named(raw, told):
    app = take(opened(), raw)
    assert told in words(app).replace("\\", "")
    assert not [button for button in app.button if button.key == "release_ask"]


@pytest.mark.parametrize(
    ("address", "told"), [(None, "can be reached from other machines"), ("0.0.0.0", "from other machines")]
)
def test_a_server_for_others_takes_no_data_and_says_what_to_do(address, told):
    config.set_option("server.address", address)
    app = opened()
    assert told in words(app) and "dpcore plan run" in app.code[0].value
    assert not [one for one in app.get("file_uploader") if "people" in one.key]


def test_a_session_that_ends_forgets_while_it_reads():
    files = Files()
    table = upload.Table("session", files)
    table.take("people.csv", b"age;sex\n" + b"1;f\n" * 3_000_000)
    look = table.look
    table.forget()
    assert look.wait(30) and (look.stopped or look.answer is not None)
    assert table.raw == b"" and files.removed == ["session", "session"]


class Files:
    """What receives uploads."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def remove_session_files(self, session: str) -> None:
        self.removed.append(session)
