"""A link to any page works as the very first visit to a server that has just started; THOROUGH=1 as well to one without
its headers."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect
from serving import serving

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("entry", ["server.py", *(["app.py"] if os.environ.get("THOROUGH") else [])])
def test_a_link_to_a_page_opens_it_inside_the_frame(entry, visitor):
    with serving(entry) as address:
        page = visitor()
        page.goto(f"{address}/vector_queries?epsilon=0.7")
        page.get_by_role("button", name="Copy link").wait_for()  # the frame's
        page.get_by_role("heading", name="Vector queries").wait_for()
        assert page.title() == "DP Frontier"
        assert "epsilon=0.7" in page.url
        expect(page.get_by_label("ε", exact=True).first).to_have_value("0.7", timeout=30_000)


MOVING = """() => {
    window.seen = { skeletons: 0, moving: [] };
    const look = () => {
        if (document.getElementById("snapshot")) {
            seen.skeletons += document.querySelectorAll("#root [data-testid=stSkeleton]").length;
            const targets = document.getAnimations().map(one => one.effect.target);
            seen.moving.push(...targets.filter(one => one.closest("#root")).map(one => one.className));
        }
        requestAnimationFrame(look);
    };
    look();
}"""


def test_nothing_moves_below_the_snapshot(service, visitor):
    address = f"{service.address}/optimal_noise?epsilon=1.5"
    for _ in range(2):  # the second time the answer is known
        page = visitor()
        page.emulate_media(reduced_motion="no-preference")
        page.add_init_script(f"({MOVING})()")
        page.goto(address)
        page.locator(".st-key-chart_density .js-plotly-plot .main-svg").first.wait_for()
        page.get_by_text("within 0.").first.wait_for()
    expect(page.locator("#snapshot")).to_have_count(0)
    seen = page.evaluate("() => window.seen")
    assert seen["skeletons"] and not seen["moving"]
