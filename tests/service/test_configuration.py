"""Every variable is read, checked and named when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.configuration import PREFIX, Configuration, ConfigurationError, read


def test_nothing_set_is_the_default():
    assert read({}) == read({f"{PREFIX}WORKERS": " ", "OTHER": "x"}) == Configuration()


def test_every_variable_is_read(tmp_path):
    given = {
        "STORE": str(tmp_path / "a" / "b"), "STORE_MEGABYTES": "7", "WORKERS": "3", "SECONDS": "12.5",
        "JOBS_PER_SESSION": "4", "ADDRESS_LENGTH": "2048", "LOG": "json", "METRICS": "[::1]:9464", "UPLOADS": "off",
    }  # fmt: skip
    found = read({PREFIX + name: text for name, text in given.items()})
    assert found == Configuration(Path(tmp_path / "a" / "b"), 7, 3, 12.5, 4, 2048, "json", ("::1", 9464), False)
    assert (tmp_path / "a" / "b").is_dir()
    assert read({f"{PREFIX}STORE": "off"}).store is None


@pytest.mark.parametrize(
    ("name", "text", "accepted"),
    [
        ("WORKERS", "0", "a whole number from 1 to 64"), ("WORKERS", "two", "a whole number from 1 to 64"),
        ("WORKERS", "1.5", "a whole number from 1 to 64"), ("SECONDS", "nan", "a number from 1 to 3600"),
        ("SECONDS", "1e9", "a number from 1 to 3600"), ("LOG", "xml", "plain or json"),
        ("METRICS", "9464", "HOST:PORT"),
        ("UPLOADS", "public", "on or off"),
        ("METRICS", "localhost:0", "HOST:PORT"), ("METRICS", "a:70000", "HOST:PORT"),
        ("STORE", "relative/folder", "the absolute path"), ("STORE", "/proc/nowhere/at/all", "the absolute path"),
        ("STORE", "/dev/null/x", "the absolute path"), ("STORE", "/a\x00b", "the absolute path"),
        ("STORE_MEGABYTES", "-1", "a whole number from 1"), ("ADDRESS_LENGTH", "99", "a whole number from 1024"),
        ("WORKER", "2", "one of DP_FRONTIER_STORE, "),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_what_is_accepted(name, text, accepted):
    with pytest.raises(ConfigurationError) as caught:
        read({PREFIX + name: text, f"{PREFIX}LOG": "json" if name != "LOG" else text})
    (fault,) = caught.value.faults
    assert fault.startswith(f"{PREFIX}{name} = {text}: expected ") and accepted in fault


def test_all_faults_are_told_at_once():
    with pytest.raises(ConfigurationError) as caught:
        read({f"{PREFIX}LOG": "x", f"{PREFIX}SECONDS": "y", f"{PREFIX}METRICS": "z"})
    assert len(caught.value.faults) == 3


@given(st.dictionaries(st.sampled_from(["WORKERS", "SECONDS", "LOG", "METRICS", "ADDRESS_LENGTH", "X"]), st.text()))
def test_any_text_is_read_or_named(values):
    try:
        assert isinstance(read({PREFIX + name: text for name, text in values.items()}), Configuration)
    except ConfigurationError as error:
        assert error.faults
