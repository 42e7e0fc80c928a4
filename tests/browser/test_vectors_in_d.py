"""The page "Vectors in d dimensions" in a browser: a slider by keyboard, the laws, files, a script that runs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from views import HEADLINE, quiet

from dpcore.isotropic.files import load_solution

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ADDRESS = "isotropic?dimension=2&epsilon=2&delta=0.2&loss=norm&gap=30&view=picture&panel=export"


def numbers(page) -> list[float]:
    """The Gaussian's loss and both bounds, once they are there and the solver has finished."""
    page.wait_for_function("() => document.querySelectorAll('.st-key-headline p strong').length === 3")
    page.get_by_role("button", name="Stop here").wait_for(state="detached")
    quiet(page)
    return [float(text.replace("\u202f", "")) for text in page.locator(f"{HEADLINE} strong").all_inner_texts()]


def test_a_journey(dashboard, visitor, tmp_path):
    page = visitor()
    page.goto(f"{dashboard}/{ADDRESS}")
    gaussian, lower, upper = numbers(page)
    assert lower <= 0.6583 <= upper * 1.001 < gaussian == pytest.approx(0.754, abs=1e-3)
    page.locator(".st-key-chart_plane .heatmaplayer image").first.wait_for()

    def saved(button: str):
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        assert download.value.suggested_filename.startswith("vector_dimension-2_epsilon-2_delta-0.2_norm")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    back = load_solution(saved("JSON"))
    assert back.problem.dimension == 2 and back.lower <= upper and lower <= back.upper * 1.001
    run = subprocess.run([sys.executable, "-I", saved("Python")], capture_output=True, text=True, check=True)
    assert all(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", line) for line in run.stdout.splitlines()[-2:])

    slider = page.get_by_role("slider", name=re.compile("^d —"))
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Noise for 3 numbers").wait_for()
    assert numbers(page)[0] > gaussian and "dimension=3" in page.url
    page.locator(".st-key-chart_cloud canvas").first.wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    quiet(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
