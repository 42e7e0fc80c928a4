"""The page "Private learning" under AppTest, with the real core."""

from __future__ import annotations

import time

import pytest
from screens import ROOT, turn, until, words
from streamlit.testing.v1 import AppTest

from dpcore.figures import LIGHT
from dpcore.privacy import Privacy
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


def test_one_vector_stands_beside_the_numbers_of_an_iteration():
    page = until(visit(panel="vector", model="coordinate-descent", each_delta="1e-5"), "one vector an iteration gets")
    assert "2 numbers" in words(page) and "smaller than the Gaussian of one vector" in words(page)
    (shown,) = [table.value for table in page.dataframe if "deviation of each" in table.value.columns]
    assert list(shown["released in an iteration"]) == ["2 numbers"] * 4 + ["one vector of 8"] * 3
    assert shown["noise"].iloc[-1] == "Best isotropic" and "none" not in set(shown.iloc[-2])


def test_the_headline_is_that_of_the_curve():
    page = until(visit(data="breast-cancer"), "the optimum gets")
    assert "everything together (1, 10⁻⁵)-DP" in words(page)
    assert any(
        block.value.startswith("Optimal noise is") or "no better noise" in block.value for block in page.markdown
    )


def test_bad_input_is_named_under_its_field():
    assert "ε = 12: expected a number from 0.1 to 10." in words(visit(epsilon="12"))
    assert "δ of each" in words(visit(each_delta="2"))
    page = visit(delta="0.5")
    assert not page.error and any("more than 1/n = 1/336" in one.value for one in page.warning)
    assert "data = upload" in words(visit(data="upload")), "tables of people are for the command line"


def test_cells_are_kept_and_stopping_keeps_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "Store", lambda folder: Store(tmp_path))
    asked, seen = work.Curve("ecoli", "naive-bayes", 1e-5, 2, 2), []
    found = work.cells(asked, lambda record: record is not TICK and (seen.append(record) or len(seen) == 2))
    assert found == seen and [one.key for one in found] == ["none", "gaussian"]
    assert work.cells(asked, lambda record: record is TICK) == [*found], "read again; the next one is stopped at once"
    figure = charts.errors(found, rows="inside", chosen=1.0, colours=LIGHT)
    assert {"Gaussian, analytic", "No noise"} <= {trace.name for trace in figure.data}


def test_stop_is_heard_while_promises_are_accounted():
    """Twice in every account, and never more than .3 s of processor time apart once everything is compiled."""
    setting = work.Setting("contraceptive", "naive-bayes", Privacy(1.0, 0.1), 2, 2)
    asked = work.Account.of(setting, work.table_of("contraceptive", "naive-bayes"))
    found = work.promised(asked, 1e-5, progress=lambda _: False)
    told = [time.process_time()]
    assert work.promised(asked, 1e-5, progress=lambda _: told.append(time.process_time())) == found
    told.append(time.process_time())
    assert max(later - sooner for sooner, later in zip(told, told[1:])) < 0.3
    assert len(told) - 2 >= 3 * len(found.promises), "before the law, its δ and its ε"
    looks = iter([False, True])
    assert work.promised(asked, 1e-5, progress=lambda _: next(looks)) == work.Promised(()), "amid the first account"
