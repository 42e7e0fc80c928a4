"""The page "Private optimisation": every story, every figure, the link, and what is asked wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screens import idle
from streamlit.testing.v1 import AppTest

from dpcore.figures import DARK, LIGHT
from dpcore.private_optimization import stories
from pages.private_optimisation import certainty, charts, headline, reproduce, takeaway, work
from pages.private_optimisation.story import Story, program_of, read_returns, sample

APP = Path(__file__).parents[2] / "app.py"
PAGE = "pages/private_optimisation/page.py"


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    app.switch_page(PAGE)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def finished(app: AppTest) -> AppTest:
    """The page once the releases are there."""
    for _ in range(80):
        assert not app.exception
        if any("keeps every limit" in text.value or "must not depend" in text.value for text in app.markdown):
            return app
        idle(0.5)
        app.run()
    raise AssertionError("no releases")


@pytest.mark.parametrize("story", ["picture", "transport", "portfolio", "advertising"])
def test_every_story(story):
    app = finished(opened(story=story, draws="20", groups="20"))
    assert not app.error
    assert app.selectbox(key="story").value == story
    assert any("is sure" in tab.label for tab in app.tabs)


def test_certified_numbers_are_rounded_outwards():
    said = certainty._optimum(1.0, 1.00000000001, maximise=True)
    assert "nothing above 1.00000001 is possible" in said
    assert "nothing below 0.999999999 is possible" in certainty._optimum(1.0, 0.9999999999, maximise=False)
    assert headline.share_of(0.9967) == "more than 99 %" == headline.share_of(0.9999)
    assert headline.share_of(1.0) == "100 %" and headline.share_of(0.0) == "0 %"


def test_own_program_asks_for_files():
    app = opened(story="own")
    assert not app.exception and "row,limit" in app.info[0].value
    assert {"Sample model", "Sample rows"} <= {one.label for one in app.get("download_button")}


def test_the_sample_is_a_program_as_it_is_uploaded():
    told = (("sensitivity", 1.0), ("granularity", 1.0), ("suffix", "mps"))
    asked = Story("own", told, sample())
    read = program_of(asked, 1.0, 1e-4)
    assert (read.model.matrix.shape, read.rows.tolist()) == ((5, 6), [2, 3, 4])
    (found,) = work.released(work.Releases(asked, 1.0, 1e-4, ("truncated-laplace",), 20), None, lambda record: False)
    assert len(found.run.objectives) == 20 and not np.any(found.run.violated > 0)


def test_zero_delta():
    app = finished(opened(delta="0", draws="20"))
    assert any("must not depend on the data" in text.value for text in app.markdown)


@pytest.mark.parametrize(
    "query, word",
    [
        ({"patients": "3, x"}, "patients"),
        ({"patients": "41,118"}, "write 41118 or 41.118 or 41; 118"),
        ({"patients": "300"}, "hospital 1"),
        ({"epsilon": "0"}, "ε"),
        ({"delta": "0.9"}, "δ"),
        ({"story": "portfolio", "target": "99"}, "at most"),
        ({"story": "picture", "first": "-1"}, "limit 1"),
    ],
)
def test_what_is_wrong_is_named(query, word):
    app = opened(**query)
    assert not app.exception and word in app.error[0].value


def test_one_plan_is_released_as_a_file():
    """It keeps the released limits and the true ones."""
    app = finished(opened(draws="20"))
    app.button(key="release_plan").click().run()
    assert not app.exception and not app.error
    assert any("Plan and limits" in one.label for one in app.get("download_button"))
    program = program_of(Story("picture"), 1.0, 1e-3)
    (found,) = simulate("picture", "tight")
    limits, plan = takeaway.draw(program, found.noise)
    rows = [line.split(",") for line in takeaway.table(program, limits.tolist(), plan).split()]
    assert [float(row[2]) for row in rows if row[0] == "limit"] == limits.tolist()
    assert [float(row[2]) for row in rows if row[0] == "variable"] == plan.x.tolist()
    used = (program.model.matrix @ plan.x)[program.rows]
    assert np.all(used <= limits) and np.all(limits <= program.limits)


def test_next_steps_change_the_story():
    app = opened(draws="20")
    app.button(key="step_0").click().run()
    assert not app.exception and app.selectbox(key="story").value == "picture"


# Work and charts --------------------------------------------------------------------------------------------


def simulate(kind: str, *mechanisms: str, values: tuple = (), draws: int = 30) -> tuple[work.Released, ...]:
    return work.released(work.Releases(Story(kind, values), 1.0, 1e-3, mechanisms, draws), None, lambda record: False)


def test_clouds_say_why_a_mechanism_is_missing():
    missing, tight, laplace = simulate("picture", "optimal", "tight", "laplace")
    assert missing.run is None and "granularity" in missing.reason
    assert not tight.run.violated.any() and laplace.run.violated.any()


def test_a_stopped_cast_keeps_what_it_has():
    told = []

    def stop(record: object) -> bool:
        told.append(record)
        return True

    found = work.released(work.Releases(Story("transport"), 1.0, 1e-3, ("tight", "laplace"), 2000), None, stop)
    assert told and sum(len(one.run.objectives) for one in found if one.run) < 4000


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_charts_of_the_clouds(colours):
    found = simulate("picture", "tight", "laplace")
    program = found[0].run.program
    strip, region = charts.objectives(found, colours, "value"), charts.region(program, found, colours, 1)
    crosses = [trace for trace in region.data if trace.marker.symbol == "x"]
    assert sum(len(trace.x) for trace in crosses) == sum(int((c.run.violated > 0).sum()) for c in found)
    assert len(strip.data) >= 3
    corners = charts.polygon(program, program.limits)
    assert {(0.0, 0.0), (0.0, 50.0), (10.0, 50.0), (22.5, 0.0)} <= {tuple(np.round(c, 6)) for c in corners.tolist()}
    assert charts.margins(program, found, colours).data


def test_the_map_shows_every_flow():
    story = stories.transport(3, 4)
    plan = np.zeros(12)
    plan[[0, 5, 10]] = [3.0, 2.0, 1.0]
    figure = charts.flow_map(story, plan, LIGHT)
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.x[0] is not None]
    assert sorted(trace.line.width for trace in lines) == [pytest.approx(w) for w in (4.0, 7.0, 10.0)]


def test_prices_and_published_figures():
    swept = work.sweep(work.Sweep(Story("transport"), (0.5, 2.0), 1e-3, 5), None, lambda record: False)
    kept = [price for price in swept if price.key in ("optimal", "tight", "truncated-laplace")]
    assert len(kept) == 6 and all(price.violated == 0 for price in kept)
    assert charts.prices(swept, LIGHT, 1.0, "loss").data and charts.violations(swept, LIGHT, 1.0).data
    points = reproduce.reproduce(reproduce.Published(5, 2), None, lambda record: False)
    assert len(points) == 15 and sum(point.ratio is None for point in points) == 3
    stopped = reproduce.reproduce(reproduce.Published(3, 1), None, lambda record: True)
    assert len(stopped) == 1 and charts.figure_3(stopped, LIGHT).data and charts.figure_2(LIGHT).data
    point = reproduce.Point("tight", 0.1, 1.0, 0.2)
    assert charts.figure_4([point], LIGHT).data


@pytest.mark.parametrize(
    "raw",
    [b"", b"a,b\n1,2\n", b"1\n" * 20, b"a,b\n" + b"1,x\n" * 20, b"\xff\xfe", b"0,5;0,3\n" * 20,
     "½,1\n".encode() + b"1,2\n" * 20],
)  # fmt: skip
def test_returns_are_checked(raw):
    from dpcore.errors import InputError

    with pytest.raises(InputError):
        read_returns(raw)
