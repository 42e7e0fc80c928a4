"""Predict, then reveal; the table of all topics in the documentation."""

from __future__ import annotations

import json
import math

from screens import ROOT, settle, turn, words
from streamlit.testing.v1 import AppTest

from pages.lessons import moving, path, predicting, table
from pages.lessons.topic import Sketch
from pages.shared import prose


def visit(name: str, **query: str) -> AppTest:
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), name)
    for key, value in query.items():
        page.query_params[key] = value
    return settle(page.run())


def test_every_topic_has_a_claim_and_a_prediction_to_choose():
    for step in path.steps():
        texts = step.course.texts(step.topic)
        assert texts["claim"].endswith(".")
        if step.topic.guess is None:
            asked, options = predicting.prediction(texts)
            assert asked and 2 <= len(set(options)) == len(options) <= 4
        else:
            assert "prediction" not in texts and list(step.topic.guess.stops) == sorted(set(step.topic.guess.stops))


def test_a_number_is_marked_on_the_axes_and_then_stands_beside_the_truth():
    page = visit("composition", topic="subsampling", predict="true")
    step = next(step for step in path.steps() if step.topic.name == "subsampling")
    truth = step.topic.guess.truth(step.course.known(step.course.page.read({})[0]))
    before = chart(page)
    assert [trace["marker"]["opacity"] for trace in before["data"]] == [0] and before["data"][0]["mode"] == "markers"
    assert prose.at_most(truth, 3) not in words(page) and "annotations" not in before["layout"]
    page.select_slider(key="mark_subsampling_0").set_value(0.5).run()
    assert [shape["y0"] for shape in chart(page)["layout"]["shapes"]] == [0.5]
    page.button(key="predict_0").click().run()
    after = chart(page)
    assert "You predicted: 0.5." in words(page) and len(after["data"]) > 3
    assert [shape["y0"] for shape in after["layout"]["shapes"]] == [0.5, truth]
    page.select_slider(key="su_rate").set_value(0.2).run()
    assert "shapes" not in chart(page)["layout"], "the mark answers the question that was asked"


def test_every_truth_can_be_marked():
    for step in path.steps():
        topic, course = step.topic, step.course
        if topic.guess is not None:
            values = course.known({**course.page.read({})[0], **topic.start})
            truth = topic.guess.truth(moving.worked_out(topic, values, lambda _: False))
            if isinstance(topic.guess, Sketch):
                assert len(truth) == len(topic.guess.places) and list(topic.guess.places) == sorted(topic.guess.places)
                truth = max(truth)
            assert topic.guess.stops[0] < truth <= topic.guess.stops[-1], topic.name
            assert topic.guess.show(truth) not in topic.guess.asks(values).split(), topic.name


def test_the_axis_of_a_mark_spans_its_places_and_an_upright_mark_stands_on_x():
    page = visit("mechanism_gallery", topic="bias_and_noise", epsilon="0.5", predict="true")
    step = next(step for step in path.steps() if step.topic.name == "bias_and_noise")
    layout, stops = chart(page)["layout"], step.topic.guess.stops
    assert layout["xaxis"]["type"] == "log" and layout["xaxis"]["range"] == [
        math.log10(stops[0]),
        math.log10(stops[-1]),
    ]
    mark = layout["shapes"][0]
    assert mark["x0"] == mark["x1"] == stops[len(stops) // 2] and mark["yref"] == "paper"
    page.button(key="predict_0").click().run()
    after = chart(page)["layout"]["shapes"][-1]
    assert after["label"]["text"].startswith("it is near") and after["xref"] == "x"


def test_a_mark_at_0_is_a_prediction():
    page = visit("what_epsilon_means", topic="posterior", predict="true")
    page.select_slider(key="mark_posterior_0").set_value(0).run()
    page.button(key="predict_0").click().run()
    assert "You predicted: 0." in words(page)


def test_what_no_axis_has_is_told_beside_the_mark():
    page = visit("what_epsilon_means", topic="renyi", mechanism="truncated-laplace", predict="true")
    page.button(key="predict_0").click().run()
    (mark,) = chart(page)["layout"]["shapes"]
    assert mark["label"]["text"].endswith("; it is ∞")


def test_nothing_but_a_place_is_taken_from_the_browser(monkeypatch):
    topic = next(step.topic for step in path.steps() if step.topic.name == "subsampling")
    held: dict = {}
    monkeypatch.setattr(predicting.st, "session_state", held)
    for told in (None, -1, len(topic.guess.stops), 1.0, True, "3"):
        predicting.take(topic, told)
    assert held == {}
    predicting.take(topic, 3)
    assert held == {"mark_subsampling": topic.guess.stops[3]}


def chart(page: AppTest) -> dict:
    """The first chart, as the browser is sent it."""
    drawn = next(one.proto for one in page.get("bidi_component") if one.proto.component_name == "dp_frontier_chart")
    return json.loads(json.loads(drawn.json)["figure"])


def test_a_curve_is_sketched_on_the_axes_and_then_lies_beside_the_truth():
    page = visit("what_epsilon_means", topic="tradeoff", mechanism="laplace", predict="true")
    guess = next(step.topic for step in path.steps() if step.topic.name == "tradeoff").guess
    (axes, sketch), places = chart(page)["data"], list(guess.places)
    assert axes["marker"]["opacity"] == 0 and (sketch["x"], sketch["y"]) == (places, [0.5] * len(places))
    page.session_state["heights"] = True  # the fold with the sliders
    page.run().select_slider(key="mark_tradeoff_1").set_value(0.9).run()
    assert chart(page)["data"][1]["y"] == [0.5, 0.9, *[0.5] * (len(places) - 2)]
    assert "at least **" not in words(page)
    page.button(key="predict_0").click().run()
    (line,) = chart(page)["layout"]["shapes"]
    assert line["path"].startswith("M0.0,0.5 L0.05,0.9 L0.1,0.5")
    assert "misses most at α = 0: 0.5, and it is 1.00." in words(page)  # f(0) = 1: nobody guesses for nothing
    page.select_slider(key="epsilon").set_value(2.0).run()
    assert "shapes" not in chart(page)["layout"] and "Your sketch" not in words(page), "that was another question"


def test_nothing_but_a_height_for_every_place_is_taken_from_the_browser(monkeypatch):
    topic = next(step.topic for step in path.steps() if step.topic.name == "tradeoff")
    held: dict = {}
    monkeypatch.setattr(predicting.st, "session_state", held)
    count = len(topic.guess.places)
    for told in (
        None,
        3,
        [3] * (count - 1),
        [3] * (count + 1),
        [3] * (count - 1) + [21],
        [True] * count,
        ["3"] * count,
    ):
        predicting.take(topic, told)
    assert held == {}
    predicting.take(topic, [*range(count)])
    assert held == {"mark_tradeoff": topic.guess.stops[:count]}


def test_headline_notes_and_citation_are_covered_until_an_answer_is_chosen():
    page = visit("what_epsilon_means", predict="true")
    shown = next(step for step in path.steps() if step.topic.name == "worst-event")
    asked, options = predicting.prediction(shown.course.texts(shown.topic))
    assert prose.formulas(asked) in words(page) and "The most telling event" not in words(page)
    assert not any("0.2658" in block.value for block in page.code)
    page.button(key="predict_1").click().run()
    assert "The most telling event" in words(page) and f"You predicted: {options[1]}." in words(page)
    page.selectbox(key="topic").set_value("renyi").run()
    assert "Predict first." in words(page), "every topic asks for itself"
    page.button(key="predict_1").click().run()
    assert "Predict first." not in words(page) and "You predicted" not in words(page)


def test_nothing_is_covered_where_a_link_does_not_say_so():
    assert "Predict first." not in words(visit("what_epsilon_means"))


def test_the_table_in_the_documentation_is_that_of_the_topics():
    assert table.DOCS.read_text(encoding="utf-8") == table.written(), "python -m pages.lessons.table"
    assert len(table.rows()) == len(path.steps())
