"""Files of sensitivities: columns, names, decimal commas, and tables of people, which are refused."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.vector.datasets import load
from dpcore.vector.files import profile_from_csv, read_file
from dpcore.vector.profile import own_profile, own_text, plain_name

COUNT = 20 * int(os.environ.get("THOROUGH", "0")) or 3


@pytest.mark.parametrize(
    ("text", "values", "names"),
    [
        ("column,sensitivity\nage,120\nsmoker,0.5\n", (120, 0.5), ("age", "smoker")),
        ("column;sensitivity\r\nage;120\r\nsmoker;0.5\r\n", (120, 0.5), ("age", "smoker")),
        ("column\tsensitivity\nage\t120\nsmoker\t5e-1", (120, 0.5), ("age", "smoker")),
        ('\ufeff"column","sensitivity"\n"age, in years","120"\n"a ""b""","0.5"', (120, 0.5), ("age in years", "a b")),
        ("age,120\nsmoker,0.5", (120, 0.5), ("age", "smoker")),
        ("120\n0.5\n3", (120, 0.5, 3), ()),
        ("λ\n120\n\n0.5\n", (120, 0.5), ()),
        ("sensitivity\n0\n1\n2\n", (0, 1, 2), ()),
        ("1\n2\n3\n", (1, 2, 3), ()),
        ("0\n1\n", (0, 1), ()),
        (",sensitivity\n0,120\n1,0.5\n2,0\n", (120, 0.5, 0), ()),
        (",0\n0,120.0\n1,0.5\n", (120, 0.5), ()),
        ("0,120.5\n1,0.5\n2,7\n", (120.5, 0.5, 7), ()),
        ("120, 0.5, 3", (120, 0.5, 3), ()),
        ("a;b;c\n120;0.5;3\n", (120, 0.5, 3), ("a", "b", "c")),
        ("name,lower,upper\nage,0,100\npay,0.1,0.3\nsite,7,7\n", (100, 0.2, 0), ("age", "pay", "site")),
        ("coordinate,name,sensitivity,gaussian-iid\n1,a,3,9\n2,b,4,9\n", (3, 4), ("a", "b")),
        ("age,sensitivity\n18,1\n19,1\n20,1\n", (1, 1, 1), ("18", "19", "20")),
        ("name;sensitivity;\na;1;\nb;2;\n;;\n", (1, 2), ("a", "b")),
        ("name,sensitivity\na,1\n,2\n", (1, 2), ("a", "")),
    ],
)
def test_what_goes_without_saying(text, values, names):
    found = profile_from_csv(text)
    assert (found.values, found.names) == (values, names)
    again = own_profile(own_text(found))
    assert (again.values, again.names) == (values, names)


def test_columns_by_name_and_number():
    text = "name,first,second\nx,3,1\ny,4,2.5\n\n"
    assert profile_from_csv(text, "first").values == (3, 4) and profile_from_csv(text, "first").names == ("x", "y")
    assert profile_from_csv(text, "3").values == (1, 2.5)
    with pytest.raises(InputError, match="column = none: expected one of name, first, second"):
        profile_from_csv(text)
    for column, said in (("third", "column = third"), ("4", "column = 4"), ("name", "line 2 of the file = x in name")):
        with pytest.raises(InputError, match=said):
            profile_from_csv(text, column)


def test_what_can_be_chosen():
    file = read_file("feature;year;l1;l2;kind\na;2020;3;2;x\nb;2021;4;2;x\n")
    assert [one.label for one in file.choices] == ["year", "l1", "l2"] and file.suggested is None
    assert [file.sheet.label(at) for at in file.labels(file.choices[1])] == ["feature", "kind", "year", "l2"]
    assert file.profile(file.choices[1], 4).names == ("x", "x")
    bounds = read_file("a,0,100\nb,5,20\n")
    assert [one.label for one in bounds.choices] == ["column 3 − column 2", "column 2", "column 3"]
    assert bounds.suggested is None and bounds.profile(bounds.choices[0], 0).values == (100, 15)
    twice = read_file("sensitivity,sensitivity\n1,2\n3,4\n")
    assert [one.label for one in twice.choices] == ["sensitivity (column 1)", "sensitivity (column 2)"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "file = nothing"), ("\n \n", "file = nothing"), ("a,b\n", "one line of names"), ("x\n", "one line of n"),
        ("a,1\nb\n", "line 2 of the file = 1 column: expected 2"), ('a,"1\nb,2', "expected a CSV file"),
        ("a\nb\nc\n", "no column of numbers"),
        ("column;sensitivity\nage;0,5\npay;2,5\n", "0,5 in sensitivity.*write 0.5"),
        ("sensitivity\n0,5\n2,5\n", "line 2 of the file = 0,5 in sensitivity.*write 0.5"),
        ("0,5\n2,5\n", "line 1 of the file = 0,5: .*write 0.5 or 0; 5"), ("0,5;2,5", "write 0.5"),
        ("name,sensitivity\na,1\nb,\n", "line 3 of the file = a blank in sensitivity"),
        ("a,\nb,2\n", "line 1 .* a blank"),
        ("sensitivity\n1\nnan\n", "line 3 of the file = nan"), ("NA\n1\n2\n", "line 1 of the file = NA"),
        ("sensitivity\n1\n1e-400\n", "not so near to 0"), ("sensitivity\n1\n-1\n", "-1 .coordinate 2"),
        ("0\n1\n2\n3\n", "file = 0, 1, 2 …: expected sensitivities, not running numbers"),
        ("sensitivity\n0\n0\n", "only zeros"), ("lower,upper,name\n3,1,a\n", r"bounds = \[3, 1\]"),
        ("," * 2000 + "\n", "file = nothing"), ("1" + ",1" * 2000, "columns: expected up to 1000"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_its_line(text, said):
    with pytest.raises(InputError, match=said) as caught:
        profile_from_csv(text)
    assert len(str(caught.value)) < 600


# One line per person -----------------------------------------------------------------------------------


def written(header: str, rows: list[list], separator: str = ",") -> str:
    lines = [header.replace(",", separator)] * bool(header) + [separator.join(map(str, row)) for row in rows]
    return "\n".join(lines)


def adults(count: int, rng: random.Random) -> list[list]:
    """id, age, sex, salary"""
    return [[i, rng.randint(18, 90), rng.choice("FM"), rng.randint(18_000, 120_000)] for i in range(count)]


def people(rng: random.Random) -> list[str]:
    """Tables with a line per person, of many kinds."""
    rows, few = adults(300, rng), adults(5, rng)
    data = load("wine").rows.round(3).tolist()
    return [
        written("id,age,sex,salary", rows), written("id,age,sex,salary", few), written("", rows),
        written("patient_id,visits,score", [[f"P{i:03}", rng.randint(0, 9), rng.random()] for i in range(40)], ";"),
        written("id,age,salary", [[r[0], r[1], r[3]] for r in rows], "\t"),
        written("age", [[r[1]] for r in rows]), written("Alter;Gehalt", [r[1::2] for r in few], ";"),
        written("", [[r[1]] for r in rows]), written("", [[float(r[1])] for r in rows]),
        written("", [[r[3]] for r in rows]),
        written("name,salary", [[f"N{i}", r[3]] for i, r in enumerate(rows)]),
        written("person,value", [[f"N{i}", r[3]] for i, r in enumerate(few)]),
        written("userId,spend", [[i + 1000, rng.random()] for i in range(50)]),
        written("", [[i + 1, rng.random() * 40] for i in range(300)]),
        written("id,bmi_2", [[i, rng.random()] for i in range(9)]),
        written("id", [[i] for i in range(300)]), written("", [[1000 + i] for i in range(300)]),
        written("sex,value", [[rng.choice("FM"), rng.random()] for i in range(30)]),
        written("", [["F", 3], ["M", 4], ["F", 5]]),
        written("who,amount", [[f"a{i}@example.org", rng.random()] for i in range(10)]), written("", data),
        written("age,salary", [[34, 51_000]]), written("feature,patient,age", [["a", 3, 70], ["b", 4, 60]]),
        written("lower,upper,income,age", [[*r[:2], r[3], r[1]] for r in rows]),
    ]  # fmt: skip


def coordinates(rng: random.Random) -> list[str]:
    """Ordinary files of sensitivities, of many kinds."""
    values = [rng.lognormvariate(0, 3) for _ in range(300)]
    features = [f"f{i}" for i in range(300)]
    wholes = [rng.randint(1, 500) for _ in range(300)]
    known = ["age", "salary", "zip", "height", "smoker", "diagnosis"]
    return [
        written("", [[v] for v in values]), written("column,sensitivity", list(zip(features, wholes))),
        written("name,value", list(zip(known, wholes))), written("", list(zip(known, wholes)), ";"),
        written("feature,bound", list(zip(features, wholes))), written("name,sensitivity", [["x", v] for v in values]),
        written("bin,count", [[i, 1] for i in range(300)]), written("i,lambda", list(enumerate(values))),
        written("", [[1] for _ in range(300)]), written("", [[rng.choice([1, 5, 10])] for _ in range(300)]),
        written("age,sensitivity", [[i, 1] for i in range(100)]),
        written("age,sex,sensitivity", [[30, "F", 1], [30, "M", 1]]),
        written("id,sensitivity", list(enumerate(wholes))), written(",0", list(enumerate(values[:50]))),
        written("column,lower,upper", [[k, 0, w] for k, w in zip(features, wholes)]),
        written("name,min,max", [[k, 0, w] for k, w in zip(features[:50], wholes)]),
        written("", [[k, 0, w] for k, w in zip(features[:50], wholes)]), written("", [[v] for v in range(1, 51)]),
        written("layer,parameters,l2", [["conv1", 156, 0.5], ["conv2", 2416, 0.5], ["fc", 48_120, 1]]),
        written("query,l1 sensitivity,l2 sensitivity", list(zip(features, wholes, values))),
        written("age_sensitivity,salary_sensitivity", [[100, 5000]]), written("a,b,c", [[1, 2, 3]]),
        written("country,value", [["FR", 3], ["DE", 5]]), written("λ_i", [[v] for v in values]),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(COUNT))
def test_tables_of_people_are_refused(seed):
    for text in people(random.Random(seed)):
        with pytest.raises(InputError, match=r"one line per person \(.+\).*public statement about the query") as caught:
            read_file(text)
        assert caught.value.field == "file" and "call their column “sensitivity”" in caught.value.accepted, text[:60]


@pytest.mark.parametrize("seed", range(COUNT))
def test_files_of_sensitivities_are_not(seed):
    for text in coordinates(random.Random(seed)):
        file = read_file(text)
        choice = file.suggested or file.choices[0]
        assert len(file.profile(choice, file.label(choice))) == len(file.sheet.rows), text[:60]


def test_whoever_is_refused_can_say_what_the_column_is():
    """A hundred different whole numbers without a name may be ages or sensitivities."""
    values = [i * i for i in range(1, 120)]
    with pytest.raises(InputError, match="more than a dozen different whole numbers in 119 lines"):
        profile_from_csv("\n".join(map(str, values)))
    assert profile_from_csv("\n".join(["sensitivity", *map(str, values)])).values == tuple(values)


# Any file ----------------------------------------------------------------------------------------------


def plain_or_refused(text: str) -> None:
    try:
        file = read_file(text)
        for choice in file.choices:
            for label in (None, *file.labels(choice)):
                found = file.profile(choice, label)
                assert all(name == plain_name(name) for name in found.names)
                assert own_profile(own_text(found)).values == found.values
    except InputError as error:
        assert len(str(error)) < 600 and error.field and error.accepted


cells = st.sampled_from(
    ["0", "1", "2.5", "0,5", "", " ", "a", "age", "sensitivity", "λ", "nan", "1e-3", '"', "<b>", "=1+1"]
)
tables = st.tuples(st.sampled_from(",;\t"), st.lists(st.lists(cells, min_size=1, max_size=4), max_size=5)).map(
    lambda table: "\n".join(map(table[0].join, table[1]))
)


@given(st.one_of(st.text(), tables))
@example('a,"\x00')
@settings(max_examples=300)
def test_any_text_is_a_profile_or_refused(text):
    plain_or_refused(text)
