"""The page "Private learning" under AppTest, with the real core."""

from __future__ import annotations

import pytest
from screens import ROOT, turn, until, words
from streamlit.testing.v1 import AppTest

from dpcore.figures import LIGHT
from dpcore.store import Store
from pages.private_learning import charts, work
from pages.private_learning.controls import PANELS
from work.question import TICK

QUICK = {"data": "ecoli", "splits": "2", "draws": "2"}


def visit(**address: str) -> AppTest:
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "private_learning")
    page.query_params.update({**QUICK, **address})
    return page.run()


@pytest.mark.parametrize(
    ("panel", "model"),
    [*((one, "naive-bayes") for one in PANELS), *((one, "coordinate-descent") for one in ("promise", "vector"))],
)
def test_every_panel_opens(panel, model):
    page = visit(panel=panel, model=model)
    assert not page.exception
    if panel == "promise":
        said = words(page)
        count = "**26** statistics (a person replaced" if model == "naive-bayes" else "**200** statistics (T·K"
        assert count in said and ("**0.9354**" in said or model == "coordinate-descent")


def test_the_headline_is_that_of_the_curve():
    page = until(visit(data="breast-cancer"), "the optimum gets")
    assert "everything together (1, 10⁻⁵)-DP" in words(page)
    assert any(
        block.value.startswith("Optimal noise is") or "no better noise" in block.value for block in page.markdown
    )


def test_bad_input_is_named_under_its_field():
    assert "ε = 12: expected a number from 0.1 to 10." in words(visit(epsilon="12"))
    assert "δ of each" in words(visit(each_delta="2"))
    assert "data = upload" in words(visit(data="upload")), "tables of people are for the command line"


def test_cells_are_kept_and_stopping_keeps_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "Store", lambda folder: Store(tmp_path))
    asked, seen = work.Curve("ecoli", "naive-bayes", 1e-5, 2, 2), []
    found = work.cells(asked, lambda record: record is not TICK and (seen.append(record) or len(seen) == 2))
    assert found == seen and [one.key for one in found] == ["none", "gaussian"]
    assert work.cells(asked, lambda record: record is TICK) == [*found], "read again; the next one is stopped at once"
    figure = charts.errors(found, rows="inside", chosen=1.0, colours=LIGHT)
    assert {"Gaussian, analytic", "No noise"} <= {trace.name for trace in figure.data}
