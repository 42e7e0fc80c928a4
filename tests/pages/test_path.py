"""The path through all topics of the Learn pages: its order, its buttons, and links to a topic that moved."""

from __future__ import annotations

from screens import ROOT, settle, turn
from streamlit.testing.v1 import AppTest

from pages.lessons import cards, path

PLACES = {step.place.name for step in path.steps()}


def visit(name: str, **query: str) -> AppTest:
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), name)
    for key, value in query.items():
        page.query_params[key] = value
    return settle(page.run())


def told(page: AppTest) -> dict[str, str]:
    """The page's address; one that a page wrote holds texts, one it was switched to lists of them."""
    return {key: text if isinstance(text, str) else text[0] for key, text in page.query_params.items()}


def test_sections_rise_along_the_path_and_every_topic_is_on_it_once():
    steps = path.steps()
    numbers = [[int(part) for part in step.topic.section.split(".")] for step in steps if step.topic.section]
    assert numbers == sorted(numbers) and len(PLACES) == 3
    assert steps[-1].topic.name == "never_meet" and not steps[-1].topic.section
    assert len({step.topic.name for step in steps}) == len(steps) == sum(len(one.course.topics) for one in (
        {step.place.name: step for step in steps}.values()
    ))  # fmt: skip
    assert [path.place(step.topic) for step in steps] == list(range(len(steps)))


def test_the_buttons_lead_to_neighbours_on_other_pages_with_epsilon_and_back():
    page = visit("what_epsilon_means", topic="worst-event", epsilon="2")
    page.button(key="turn_1").click()
    settle(page.run())
    assert page.title[0].value == "3.2 Randomised response"
    assert told(page) == {"epsilon": "2", "topic": "randomised_response"}
    page.button(key="turn_-1").click()
    settle(page.run())
    assert page.title[0].value == "3.1 The worst event" and told(page)["epsilon"] == "2"


def test_the_path_has_ends():
    first, last = path.steps()[0], path.steps()[-1]
    page = visit(first.place.name, topic=first.topic.name)
    assert "turn_-1" not in {button.key for button in page.button}
    page = visit(last.place.name, topic=last.topic.name)
    assert "turn_1" not in {button.key for button in page.button}


def test_an_old_link_to_the_topic_that_moved_leads_to_it_with_its_values():
    page = visit("what_epsilon_means", topic="response", yes="0.25", people="100000", epsilon="0.5")
    assert page.title[0].value == "3.2 Randomised response" and not page.error
    assert told(page) == {"topic": "randomised_response", "rr_share": "0.25", "rr_people": "100000", "epsilon": "0.5"}
    plain = visit("what_epsilon_means", topic="response")
    assert told(plain) == {"topic": "randomised_response", "rr_share": "0.1", "rr_people": "1000"}


def test_values_of_earlier_stops_are_all_kept():
    """What the old topic accepted, the new one does."""
    for step in path.steps():
        for old, moved in step.course.moved.items():
            target = next(one for one in path.steps() if one.topic.name == moved.topic)
            for key, name in moved.keys.items():
                stops = step.course.page.controls[key].stops
                assert set(stops) <= set(target.course.page.controls[name].stops), (old, key)


def test_all_topics_are_cards_with_their_pictures_and_one_press_turns_to_any():
    page = visit("what_epsilon_means", topic="worst-event", epsilon="2")
    page.button(key="topics").click()
    settle(page.run())
    titles = [one.label for one in page.button if str(one.key).startswith("turn_to_")]
    assert titles == [step.topic.numbered for step in path.steps()]
    number = next(n for n, step in enumerate(path.steps()) if step.topic.name == "gaussian")
    page.button(key=f"turn_to_{number}").click()
    settle(page.run())
    assert page.title[0].value == "9.3 Gaussian noise, exactly" and told(page)["epsilon"] == "2"
    assert not [one for one in page.button if str(one.key).startswith("turn_to_")]


def test_cards_show_what_their_topics_draw():
    found = cards.drawn(cards.Asked(False), None, progress=lambda _: False)
    assert {step.topic.name for step in path.steps()} - found.keys() == {"growth", "budget", "training", "training_run"}
    assert all(svg.count("<path") + svg.count("<rect") >= 1 for svg in found.values())
    assert sum(map(len, found.values())) < 400_000
    assert len(cards.drawn(cards.Asked(True), None, progress=lambda _: True)) == 1


def test_reset_takes_the_values_that_a_topic_begins_with():
    app = visit("mechanism_gallery", topic="noisy_max")
    topic = next(step.topic for step in path.steps() if step.topic.name == "noisy_max")
    app.select_slider(key="epsilon").set_value(3.0).run()
    app.button(key="reset").click().run()
    assert app.select_slider(key="epsilon").value == 1.0
    assert {key: app.session_state[key] for key in topic.start} == dict(topic.start)
    assert "reset" not in {one.key for one in app.button}, "there is nothing to reset"
