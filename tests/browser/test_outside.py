"""In a real browser no text from outside comes alive, nor does it lead the page to ask anybody but its own server."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from views import Watched

pytestmark = pytest.mark.browser

MARKUP = [
    "![q](//192.0.2.1/q)", "[q](javascript:q())", "<img src=x onerror=q()>", "<a href=//192.0.2.1>q</a>", "$q^2_1$",
    ":material/bolt:", ":red[q]", "www.192.example", "https://a.example/", "q@a.example", "<b>q</b>", "**q**", "`q`",
]  # fmt: skip


def opened(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector('[data-testid="stMainBlockContainer"] h1', timeout=30_000)
    page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=30_000)
    page.wait_for_timeout(700)


@pytest.mark.parametrize("place", ["link", "box"])
def test_markup_in_a_label_is_shown_as_text_or_not_at_all(service, browser, place):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watched = Watched(page, service.address)
    if place == "box":
        opened(page, f"{service.address}/?gap=5")
    for text in MARKUP[::4] if place == "box" else [" ".join(MARKUP[at::3]) for at in range(3)]:
        if place == "link":
            value = quote(text)
            opened(page, f"{service.address}/?gap=5&unit={value}&budget=other&budget_text={value}&budget_most=1")
        else:
            box = page.get_by_role("textbox", name="Unit", exact=True)
            box.fill(text[:24])
            box.press("Enter")
            page.wait_for_timeout(600)
        alive = page.evaluate(ALIVE)
        assert not any(alive.values()), f"{text}: {alive}"
    assert not watched.outside
    assert not [text for text in watched.complaints if "Content Security Policy" in text]
    page.close()


ALIVE = """() => {
  const main = document.querySelector('[data-testid="stApp"]');
  const all = (selector) => [...main.querySelectorAll(selector)];
  const q = (list) => list.filter(e => /^q|^bolt$/.test((e.textContent || '').trim()));
  return {
    foreign: all('a[href], img[src], iframe, object, embed, script').filter(e => {
      const text = e.getAttribute('href') || e.getAttribute('src') || '';
      return /192\\.|a\\.example|^javascript:|^mailto:q/.test(text) || e.getAttribute('src') === 'x';
    }).map(e => e.outerHTML.slice(0, 200)),
    dressed: q(all('strong, b, span[style*="color"], [data-testid="stIconMaterial"], [role="img"]'))
      .map(e => e.outerHTML.slice(0, 200)),
    formulas: all('.katex').filter(e => /^q/.test(e.textContent)).map(e => e.textContent),
  };
}"""
