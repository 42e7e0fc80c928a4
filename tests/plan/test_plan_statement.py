"""The report of one page: nothing of a plan becomes markup, and its numbers are those of the plan."""

from __future__ import annotations

import hashlib
import math
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.cli import main
from dpcore.plan.budget import split
from dpcore.plan.files import plan_to_toml
from dpcore.plan.plan import Line, Plan
from dpcore.plan.public import CHANGE_ONE, Category, Number, People
from dpcore.plan.statement import most_power, plan_report
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Quantile

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table><a href='js:0'>{title}</a>",
           "&lt;b&gt; \u202e right to left", "$style ${line} %s {0}")  # fmt: skip
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "section", "strong", "small", "br",
        "div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "footer"}  # fmt: skip


class Read(HTMLParser):
    """Tags, attributes and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile():
    one, two, three, four, five = HOSTILE
    columns = {one: Number(one, -3, 7, step=1, edges=(-3, 0, 7)), two: Category(two, (three, four))}
    lines = (
        Line(Count(five, (), (Condition(two, "=", three),))), Line(Mean(three, (one,), spread=True), "optimum"),
        Line(Histogram(two, (two, one))), Line(Quantile(four, (one,), q=0.25)),
    )  # fmt: skip
    return split(Plan(People(CHANGE_ONE, 900, two, 2), columns, lines, 1.0, 1e-6, one))


def test_hostile_names_stay_text(hostile):
    page = plan_report(hostile)
    found = Read(page)
    assert found.tags <= TAGS and found.attributes <= {
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "class",
        "scope",
    }
    for name in HOSTILE:
        assert name in found.text
    assert "default-src 'none'" in page


def test_its_numbers_are_the_plan_s(hostile):
    text = Read(plan_report(hostile)).text
    assert f"({math.ceil(hostile.total * 1e4) / 1e4:g}" in text.replace("1.000", "1")
    assert hashlib.sha256(plan_to_toml(hostile.plan).encode()).hexdigest() in text
    for told in ("2 rows of each", "-3 and 7", "2 rows each × 1 rank", "0.25-quantile", "audited", "public"):
        assert told in text


@given(st.floats(0.01, 4), st.floats(0, 0.2), st.floats(0.01, 0.5))
def test_no_test_finds_a_person_more_often(epsilon, delta, alarms):
    """Of the worst pair of laws that keeps (ε, δ), by the Neyman–Pearson lemma; and that one attains it."""
    rest = (1 - delta) / (1 + math.exp(epsilon))
    own = np.array([delta, rest * math.exp(epsilon), rest, 0.0])
    power, left = 0.0, alarms
    for p, q in zip(own, own[::-1]):  # by falling likelihood ratio
        share = 1.0 if q == 0 else min(1.0, left / q)
        power, left = power + share * p, left - share * q
    assert most_power(epsilon, delta, alarms) == pytest.approx(power, abs=1e-12)


def test_the_command_writes_it(tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text('format = 1\n[[lines]]\nname = "all"\nwhat = "count"\n[budget]\nepsilon = 0.5\n')
    assert main(["plan", "export", str(plan), "--as", "report"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>") and "(0.5000, 0)-differentially" in page
