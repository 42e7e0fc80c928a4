"""Files that are no tables of people, or are made to do harm: each is refused by the name of what it is, and what
stands in it is in no message. The same file gives the same totals from disk and from memory."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dpcore.errors import InputError
from dpcore.plan import sheet
from dpcore.plan.public import Category, Number, People
from dpcore.plan.source import Interrupted, Source
from dpcore.plan.statistics import Histogram, Sum

SECRET = "Zwölfzehn"
GOOD = b"age;note\n" + b"31;a\n" * 40
COLUMNS = {"age": Number("age", 0, 100, step=1), "note": Category("note", ("a", "b"))}


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("people.csv", GOOD)
    return file.getvalue()


def as_parquet(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


HOSTILE = {
    "formula in a cell": (GOOD + f"3;=HYPERLINK('//x','{SECRET}')\n".encode(), "columns.note = a formula in a cell"),
    "command in a cell": (GOOD + f"3;+1+cmd|' /C {SECRET}'!A0\n".encode(), "columns.note = a formula in a cell"),
    "formula after a blank": (GOOD + f'3;" @SUM({SECRET})"\n'.encode(), "columns.note = a formula in a cell"),
    "formula as a name": (b"age,=1+1\n1,2\n", "a formula in place of a name for column 2"),
    "100000 columns": (
        ",".join(f"c{i}" for i in range(100_000)).encode() + b"\n",
        "100000 columns: expected at most 1000",
    ),
    "a first line without end": (b"x" * (sheet.HEAD + 9), "a first line of more than 4 MB"),
    "mixed encodings": (GOOD + f"3;{SECRET}\n".encode("latin-1"), "line 42 in another encoding"),
    "a character cut by a chunk's end": (
        b"a,b\n" + b"x" * (sheet.CHUNK - 5) + "ä,é\n".encode() + b"\xff,1\n",
        "line 3 in another encoding",
    ),
    "UTF-16": (GOOD.decode().encode("utf-16"), "a byte 0"),
    "another encoding in the first line": (f"age;{SECRET}\n1;2\n".encode("cp1252"), "line 1 in another encoding"),
    "NUL": (GOOD + b"3;\x00\n", "a byte 0 in line 42"),
    "zip": (zipped(), "a zip archive or a workbook"),
    "gzip": (b"\x1f\x8b\x08" + bytes(50), "a gzip archive"),
    "old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), "a workbook of an old kind"),
    "empty": (b"", "an empty file"),
    "blank": (b" \n\r\n\t", "an empty file"),
    "no header": (f"39,f,{SECRET}\n40,m,x\n".encode(), "a number in place of a name for column 1"),
    "no name": (b"age,,sex\n1,2,3\n", "no name for column 2"),
    "duplicate names": (b"age,sex,Age\n1,2,3\n", "the name of column 3 again"),
    "a row too short": (GOOD + f"{SECRET}\n".encode(), "line 42 with 1 cells: expected 2 cells"),
    "a row too long": (GOOD + f"3;a;{SECRET}\n".encode(), "line 42 with 3 cells: expected 2 cells"),
    "quote without end": (GOOD + f'3;"{SECRET}\n'.encode(), "with a quote that is not closed"),
    "line ends of two kinds": (GOOD + b"3;a\r\n", "lines that end alike"),
    "an endless cell": (GOOD + b"3;" + b"x" * 5_000_000 + b"\n", "data"),
    "pickle": (b"\x80\x04\x95" + bytes(30), "a byte 0"),
    "half a Parquet file": (as_parquet(pyarrow.table({"age": [1]}))[:-20], "a Parquet file"),
    "Parquet with a large index": (
        b"PAR1" + bytes(90) + (1 << 30).to_bytes(4, "little") + b"PAR1",
        "an index of 1073741824",
    ),
    "Parquet with many columns": (as_parquet(pyarrow.table({f"c{i}": [1] for i in range(1001)})), "1001 columns"),
    "Parquet with a formula": (as_parquet(pyarrow.table({"note": ["=1+1"]})), "columns.note = a formula in a cell"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_by_name(kind):
    raw, words = HOSTILE[kind]
    with pytest.raises(InputError, match=re.escape(words)) as caught, Source.held(raw, "people.csv") as source:
        source.look()
    assert SECRET not in str(caught.value) and len(str(caught.value)) < 300
    assert caught.value.__context__ is None, "what the library said about the file"


@given(st.one_of(st.binary(max_size=60), st.text(alphabet="a1;,\"'\n\r =\x00é", max_size=40).map(str.encode)))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_a_table_or_refused(raw):
    try:
        with Source.held(raw, "people.csv") as source:
            assert all(isinstance(number, bool) for number in source.look().values())
    except InputError as error:
        assert error.field == "data" or error.field.startswith("columns.")


def test_harmless_signs_are_no_formulas():
    raw = b"age;phone;left;by\n-3;+49 170 1;--;a@b\n;-;+;x = y\n"
    with Source.held(raw, "people.csv") as source:
        assert source.look() == {"age": True, "phone": False, "left": False, "by": False}


@pytest.mark.parametrize("kind", ["csv", "bom", "windows", "tab", "parquet"])
def test_a_file_in_memory_gives_the_totals_of_the_file_on_disk(kind, tmp_path):
    lines = ["id;age;note", *(f"{i % 9};{i % 120};{'ab'[i % 2]}" for i in range(300)), '10;;"a"', "11; 5 ;b", ";7;a"]
    text = "\n".join(lines) + "\n"
    raw = {
        "csv": text.encode(), "bom": text.encode("utf-8-sig"), "windows": text.replace("\n", "\r\n").encode(),
        "tab": text.replace(";", "\t").encode(),
        "parquet": as_parquet(pyarrow.table({"id": [1, 2, 3] * 30, "age": range(90), "note": ["a", "b"] * 45})),
    }[kind]  # fmt: skip
    path = tmp_path / "people"
    path.write_bytes(raw)
    for people in (People(), People(identifier="id", rows_each=40)):
        found = []
        for opened in (Source.file(path), Source.held(raw, "people")):
            with opened as source:
                source.bind(people, COLUMNS)
                totals = [Sum("s", ("age",)), Histogram("h", ("note",))]
                found.append([source.totals(one.totals(people, COLUMNS), ()) for one in totals])
        assert found[0] == found[1] and found[0][0][0][0] > 0


def test_a_file_in_memory_opens_nothing_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("a\n1\n")
    with Source.held(GOOD, "people.csv") as source:
        for text in (
            "SELECT * FROM read_csv('other.csv')", "SELECT * FROM read_text('held://other')", "INSTALL httpfs",
            "COPY (SELECT 1) TO 'out.csv'", "COPY (SELECT 1) TO 'held://people'", "EXPORT DATABASE 'out'",
            "SET memory_limit = '9GB'", "SET temp_directory = '.'", "ATTACH 'x.db' AS x",
        ):  # fmt: skip
            with pytest.raises(InputError):
                source._rows(text)
    assert [one.name for one in Path(tmp_path).iterdir()] == ["other.csv"]


def test_nothing_holds_the_bytes_once_it_is_closed():
    import sys

    raw = bytes(bytearray(GOOD))
    before = sys.getrefcount(raw)
    with Source.held(raw, "people.csv") as source:
        source.look()
    del source
    assert sys.getrefcount(raw) == before


def test_what_does_not_fit_into_the_memory_set_aside_is_refused():
    raw = b"who;age\n" + b"".join(b"%d;%d\n" % (i, i % 90) for i in range(400_000))
    people = People(identifier="who", rows_each=2)
    with (
        pytest.raises(InputError, match="the memory set aside"),
        Source.held(raw, "people.csv", memory="8MB") as source,
    ):
        source.bind(people, {"age": Number("age", 0, 100)})


def test_reading_ends_when_it_is_interrupted():
    raw = b"a;b\n" + b"1;2\n" * 2_000_000
    with Source.held(raw, "people.csv") as source:
        threading.Timer(0.05, source.interrupt).start()
        with pytest.raises(Interrupted):
            for _ in range(100):
                source.look()
