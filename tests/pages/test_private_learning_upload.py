"""A visitor's own table on the page Private learning: what is public is stated, the rest stays in this process."""

from __future__ import annotations

import gc
import random
import sys
import threading
from typing import ClassVar

import pytest
from screens import ROOT, turn, words
from streamlit import config
from streamlit.runtime import caching
from streamlit.testing.v1 import AppTest

from dpcore.learning.tables import LearningTable, read_table
from dpcore.plan.public import Category, Number
from dpcore.store import Store
from pages.private_learning import own, work
from pages.private_learning.own import Draft
from pages.release_plan import upload
from pages.shared import compute

MARK = "Zwoelfzehn-7193"
_chance = random.Random(3)
ROWS = [(_chance.randint(18, 90), _chance.choice("fm"), MARK, _chance.choice(["no", "yes"])) for _ in range(120)]
RAW = ("age,sex,note,ill\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)).encode()
STATED = {
    "age": Draft("number", low="0", high="100"), "sex": Draft("category", values="f, m"), "note": Draft("ignored"),
    "ill": Draft("class", values="no, yes"),
}  # fmt: skip


class Noted(upload.Table):
    """Tables of sessions, which nobody else reaches."""

    tables: ClassVar[list[Noted]] = []

    def __init__(self, *rest: object) -> None:
        super().__init__(*rest)
        self.tables.append(self)


@pytest.fixture(autouse=True)
def local(monkeypatch, tmp_path):
    """A server for this machine alone, whose store is one of its own."""
    before = config.get_option("server.address")
    config.set_option("server.address", "127.0.0.1")
    monkeypatch.setattr(work, "Store", lambda folder: Store(tmp_path))
    monkeypatch.setattr(work, "EPSILONS", (1.0,))
    monkeypatch.setattr(upload, "Table", Noted)
    yield
    Noted.tables.clear()
    config.set_option("server.address", before)
    caching.clear_session_resource_cache("test session id")
    compute.rest()


def visit(**address: str) -> AppTest:
    app = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "private_learning")
    app.query_params.update({"data": "file", "splits": "2", "draws": "2", "panel": "sensitivities", **address})
    return settled(app.run())


def settled(app: AppTest) -> AppTest:
    for _ in range(900):
        assert not app.exception
        if not any(str(button.key).startswith("stop") for button in app.button):
            return app
        threading.Event().wait(0.1)
        app.run()
    raise AssertionError("still going on")


def code(app: AppTest) -> str:
    return "\n".join(one.value for one in app.code)


def take(app: AppTest, raw: bytes = RAW, name: str = "people.csv") -> AppTest:
    (box,) = [one for one in app.get("file_uploader") if one.key.startswith("people_file")]
    box.upload(name, raw, "text/csv")
    return settled(app.run())


def state(app: AppTest, drafts: dict[str, Draft] = STATED) -> AppTest:
    """Fill the fields as a visitor does."""
    for at, one in enumerate(drafts.values()):
        app.selectbox(key=f"own_1_{at}_kind").set_value(one.kind)
        app.run()
        for part in ("low", "high", "values"):
            if value := getattr(one, part):
                app.text_input(key=f"own_1_{at}_{part}").set_value(value)
    return settled(app.run())


@pytest.mark.parametrize("panel", ["paper", "promise", "vector", "sensitivities"])
def test_a_table_is_simulated_once_all_of_it_is_stated(panel):
    app = take(visit(panel=panel))
    assert "To be stated: age, sex, note, ill." in words(app) and "gets" not in words(app)
    app = state(app)
    said = words(app)
    assert "the optimum gets" in said and "everything together (1, 10⁻⁵)-DP" in said
    assert "--label ill --ranges 'age=0:100; sex=f|m; note=ignored; ill=no|yes'" in code(app)
    assert MARK not in said
    if panel == "promise":
        assert "**8** statistics (a person replaced changes at most)" in said


def test_coordinate_descent_learns_the_first_class_stated():
    raw = RAW.replace(b"yes\n", b"often\n", 20)
    drafts = STATED | {"ill": Draft("class", values="yes, no, often")}
    state(take(visit(model="coordinate-descent"), raw), drafts)
    found = Noted.tables[-1].further["table"].reading.answer
    assert found["coordinate-descent"].classes == ("yes", "not yes") and len(found["naive-bayes"].classes) == 3


def test_it_is_the_table_of_the_command_line():
    state(take(visit()))
    found: LearningTable = Noted.tables[-1].further["table"].reading.answer["naive-bayes"]
    expected = read_table(RAW.decode(), "ill", "age=0:100; sex=f|m; note=ignored; ill=no|yes")
    assert (found.columns, found.classes, found.public) == (expected.columns, expected.classes, expected.public)
    assert (found.values == expected.values).all() and (found.labels == expected.labels).all()
    curve = work.Curve("file", "naive-bayes", 1e-5, 2, 2)
    (key, what), *_ = curve.plan
    again = work.one(expected, what, key, work.Protocol(2, 2), lambda: False)
    assert Noted.tables[-1].further["curve"].trace[0] == again


def test_neither_link_nor_store_nor_job_nor_log_knows_the_table(tmp_path, monkeypatch, caplog):
    asked: list[object] = []
    ask = compute.ask
    monkeypatch.setattr(compute, "ask", lambda slot, problem, *rest, **how: (
        asked.append((problem, rest)), ask(slot, problem, *rest, **how))[1])  # fmt: skip
    app = visit(panel="promise")
    app = state(take(app))
    for panel in ("paper", "vector"):
        app.session_state["panel"] = panel
        app = settled(app.run())
    assert len(Noted.tables[-1].further["curve"].trace) == 5
    told = repr(asked) + repr(dict(app.query_params)) + repr(app.session_state._state.filtered_state) + caplog.text
    assert asked and not [word for word in (MARK, "people.csv", "LearningTable", "sex") if word in told]
    kept = Store(tmp_path)
    folder = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(word in path.read_bytes() for path in folder for word in (MARK.encode(), b"people.csv", b"learning"))
    kept.close()


def test_a_table_is_forgotten_with_all_that_came_of_it():
    raw = bytes(bytearray(RAW))
    held = sys.getrefcount(raw)
    app = state(take(visit(), raw, "forgotten.csv"))
    table = Noted.tables[-1]
    assert table.further.keys() == {"table", "curve"} and table.stated
    held_by_buttons = [one.reading.stop for one in table.further.values()]  # Streamlit keeps what a button calls
    next(button for button in app.button if button.key == "people_forget").click()
    app = settled(app.run())
    assert [one for one in app.get("file_uploader") if "people" in one.key]
    assert (table.raw, table.further, table.stated, table.look) == (b"", {}, {}, None)
    gc.collect()
    assert sys.getrefcount(raw) == held and held_by_buttons
    assert not [one for one in gc.get_objects() if isinstance(one, LearningTable) and one.name == "forgotten.csv"]


def test_stop_keeps_what_is_done_and_goes_on():
    rng = random.Random(0)
    text = "x,y\n" + "".join(f"{rng.random()},{rng.choice('ab')}\n" for _ in range(300))
    table = read_table(text, "y", "x=0:1; y=a|b")
    asked = work.Curve("file", "naive-bayes", 1e-5, 50, 100)
    run = own._begun(asked, table, [])
    while len(run.trace) < 2:
        threading.Event().wait(0.01)
    run.stop()
    assert run.reading.wait(30) and run.halted and run.error is None
    done = len(run.trace)
    assert 2 <= done < len(asked.plan)
    quick = work.Curve("file", "naive-bayes", 1e-5, 2, 2)
    more = own._begun(quick, table, run.trace)
    assert more.reading.wait(60) and not more.halted
    assert more.trace[:done] == run.trace and len(more.trace) == len(asked.plan)


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        ({"age": Draft("number", low="0", high="wide")}, "upper bound = wide"),
        ({"age": Draft("number", low="7", high="3")}, "upper bound = 3: expected a number above the lower bound 7"),
        ({"sex": Draft("category")}, "(sex)"),
        ({"ill": Draft("class", values="no")}, "1 classes in ill"),
        ({"ill": Draft("category", values="no, yes")}, "0 columns are the class"),
        ({"sex": Draft("class", values="f, m")}, "2 columns are the class"),
        ({"age": Draft("ignored"), "sex": Draft("ignored")}, "No column to learn from"),
        ({"sex": Draft("category", values="f, d")}, "rows: expected one of the values stated in every row. (sex)"),
        ({"note": Draft("number", low="0", high="1")}, "nothing of the kind in 120 rows: expected a number in every"),
    ],
)
def test_what_is_stated_wrongly_is_named_and_nothing_of_a_cell_is_told(drafts, said):
    app = take(visit())
    Noted.tables[-1].stated = STATED | drafts
    app = settled(app.run())
    assert said in words(app).replace("\\", "") and "the optimum gets" not in words(app)
    assert MARK not in words(app)


@pytest.mark.parametrize(
    ("raw", "told"),
    [(b"PK\x03\x04" + bytes(90), "a zip archive"), (b"age,sex\n1,=2+3\n", "a formula in a cell"),
     (b"age,sex\n1\n", "line 2 with 1 cells"), (b"age,ill\n1,no\n", "lines"),
     (",".join(f"c{i}" for i in range(61)).encode() + b"\n", "61 columns: expected at most 60")],
)  # fmt: skip
def test_a_table_that_is_none_is_named(raw, told):
    app = take(visit(), raw)
    if raw.startswith(b"age,ill"):
        Noted.tables[-1].stated = STATED
        app = settled(app.run())
        told = "1 lines, 1 columns"
    assert told in words(app).replace("\\", "") and "the optimum gets" not in words(app)


@pytest.mark.parametrize(("address", "told"), [(None, "can be reached from other machines"), ("0.0.0.0", "reached")])
def test_a_server_for_others_takes_no_table_and_hands_over_the_command(address, told):
    config.set_option("server.address", address)
    app = visit()
    assert told in words(app) and "python -m dpcore learn --data people.csv" in code(app)
    assert not [one for one in app.get("file_uploader") if "people" in one.key]


def test_other_columns_are_left_out_at_a_click():
    app = take(visit())
    Noted.tables[-1].stated = {name: STATED[name] for name in ("age", "ill")}
    app = settled(app.run())
    next(button for button in app.button if button.key == "own_rest").click()
    app = settled(app.run())
    assert "the optimum gets" in words(app) and "sex=ignored; note=ignored" in code(app)


def test_the_command_is_offered_where_it_can_say_the_same():
    assert "'it'\"'\"'s.csv'" in own.command("it's.csv", STATED)
    for drafts in ({"a;b": STATED["age"]}, {"a=b": STATED["age"]}, {"a": Draft("category", values="x|y, z")},
                   {"a": Draft("category", values="x")}):  # fmt: skip
        assert own.command("t.csv", STATED | drafts) == ""
    assert own.command("t.parquet", STATED) == ""


def test_a_draft_is_what_is_public():
    assert Draft("number", low="1000", high="2e3").column("pay") == Number("pay", 1000.0, 2000.0)
    assert Draft("category", values="a\nb, c").column("x") == Category("x", ("a", "b, c"))
    assert Draft("ignored", low="x").column("y") is None
