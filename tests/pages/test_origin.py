"""A file of another page is known by what it says of itself."""

from __future__ import annotations

import json

import pytest

from dpcore.data_dependent.files import KIND as DEPENDENT
from dpcore.isotropic.files import KIND as RADIAL
from pages.optimal_noise.takeaway import origin


@pytest.mark.parametrize(
    ("data", "title"),
    [
        ({"kind": RADIAL}, "Vectors in d dimensions"), ({"kind": DEPENDENT}, "Data-dependent noise"),
        ({"version": "0", "problem": {}, "mechanisms": []}, "Vector queries"), ({"kind": "x"}, None), ([], None),
    ],
)  # fmt: skip
def test_the_page_of_a_file(data, title):
    page = origin(json.dumps(data).encode())
    assert (page and page.title) == title


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_of_no_page(text):
    assert origin(text) is None
