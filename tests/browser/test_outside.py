"""In a real browser: no page asks anybody but its own server for anything, and no text from outside comes alive."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from running import Service, running

from pages.registry import PAGES

pytestmark = pytest.mark.browser

MARKUP = [
    "![q](//192.0.2.1/q)", "[q](javascript:q())", "<img src=x onerror=q()>", "<a href=//192.0.2.1>q</a>", "$q^2_1$",
    ":material/bolt:", ":red[q]", "www.192.example", "https://a.example/", "q@a.example", "<b>q</b>", "**q**", "`q`",
]  # fmt: skip


@pytest.fixture(scope="package")
def service(tmp_path_factory) -> Iterator[Service]:
    """The server with its headers, as it is operated."""
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started


class Watched:
    """A page with a record of every request, complaint and dialog."""

    def __init__(self, browser, home: str) -> None:
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.outside, self.complaints = [], []
        self.page.on("request", lambda request: self._request(request.url, home))
        self.page.on("websocket", lambda socket: self._request(socket.url, home.replace("http", "ws", 1)))
        self.page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text[:300]))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)[:300]))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))

    def _request(self, url: str, home: str) -> None:
        if not url.startswith((home + "/", "data:", "blob:")):
            self.outside.append(url)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector('[data-testid="stMainBlockContainer"] h1', timeout=30_000)
        self.page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=30_000)
        self.page.wait_for_timeout(700)


def paths() -> list[str]:
    """Addresses of all pages: the router's file names, unless they are the first."""
    return [page.address for page in PAGES]


def test_no_page_asks_anybody_else(service, browser):
    """Fonts, scripts, map tiles, figures, icons: all from this server; the policy has nothing to forbid."""
    watched = Watched(browser, service.address)
    assert "" in paths()
    for path in paths():
        watched.open(f"{service.address}/{path}")
        watched.page.mouse.wheel(0, 3000)
        watched.page.wait_for_timeout(500)
    assert not watched.outside
    assert not [text for text in watched.complaints if "Content Security Policy" in text or "Refused" in text]
    watched.page.close()


@pytest.mark.parametrize("place", ["link", "box"])
def test_markup_in_a_label_is_shown_as_text_or_not_at_all(service, browser, place):
    watched = Watched(browser, service.address)
    page = watched.page
    if place == "box":
        watched.open(f"{service.address}/?gap=5")
    for text in MARKUP[::4] if place == "box" else [" ".join(MARKUP[at::3]) for at in range(3)]:
        if place == "link":
            value = quote(text)
            watched.open(f"{service.address}/?gap=5&unit={value}&budget=other&budget_text={value}&budget_most=1")
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
