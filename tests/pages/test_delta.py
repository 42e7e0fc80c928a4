"""Every control of δ says what δ is, and leads to the picture of the worst event."""

from __future__ import annotations

import re

import pytest
from screens import ROOT
from streamlit.testing.v1 import AppTest

PAGES = [
    ("optimal_noise", {"promise": "composed"}), ("tradeoff_maps", {}), ("data_dependent", {}), ("vector_queries", {}),
    ("isotropic", {}), ("release_plan", {}),
    ("private_optimisation", {}), ("what_epsilon_means", {"mechanism": "gaussian"}),
    ("composition", {"topic": "growth", "co_mechanism": "approximate"}), ("composition", {"topic": "training"}),
    ("mechanism_gallery", {"topic": "additive_noise"}), ("mechanism_gallery", {"topic": "marginals"}),
    ("mechanism_gallery", {"topic": "never_meet"}),
    ("mechanism_gallery", {"topic": "private_regression", "pr_rule": "gaussian"}),
]  # fmt: skip
MEANING = "ow much more probable any event may become beyond the factor e^ε"


@pytest.mark.parametrize(("name", "address"), PAGES)
def test_every_control_of_delta_says_what_it_is(name, address):
    page = AppTest.from_file(str(ROOT / f"pages/{name}/page.py"), default_timeout=60)
    page.query_params.update(address)
    page.run()
    assert not page.exception
    boxes = [*page.select_slider, *page.number_input, *page.text_input]
    found = [box for box in boxes if re.match(r"(at |Total |Privacy |its )?δ(?! at)", box.label)]
    assert found
    for box in found:
        assert MEANING in f"{box.label} {box.help}", f"{box.label}: {box.help}"
    assert any("(what_epsilon_means?topic=worst-event)" in str(box.help) for box in found)
