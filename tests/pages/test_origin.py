"""A file of another page is known by what it says of itself."""

from __future__ import annotations

import json

import pytest

from dpcore.data_dependent.files import KIND as DEPENDENT
from dpcore.isotropic.files import KIND as RADIAL
from pages.optimal_noise.takeaway import contents, origin


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


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": RADIAL, "dimension": 3, "epsilon": 2.0, "delta": 1e-5, "sensitivity": 1.0, "loss": "power:1.5"},
         {"dimension": 3, "epsilon": 2.0, "delta": 1e-5, "loss": "power", "power": 1.5}),
        ({"kind": DEPENDENT, "epsilon": 0.5, "query_range": [1.0, 7.0], "loss": "l2", "monotone": True},
         {"epsilon": 0.5, "low": 1.0, "high": 7.0, "loss": "l2", "monotone": True}),
        ({"problem": {"epsilon": 0.25, "sensitivities": [1.0, 2.5], "power": 2.0}, "mechanisms": []},
         {"epsilon": 0.25, "shape": "list", "numbers": "1.0, 2.5", "power": 2.0}),
        ({"kind": RADIAL, "dimension": "<b>", "epsilon": [], "loss": {"a": 1}}, {}),
    ],
)  # fmt: skip
def test_a_page_is_opened_with_the_problem_of_its_file(data, said):
    """The page that wrote it, with what its controls accept; anything else stays as it is there."""
    file = json.dumps(data).encode()
    told = contents(origin(file), file)
    assert said.items() <= told.items() and ("loss" in told) == (said.get("loss") is not None)
