"""Pages as AppTest shows them."""

from __future__ import annotations

import time

from streamlit.testing.v1 import AppTest


def settle(page: AppTest) -> AppTest:
    """Run again until nothing is under way: timers of fragments do not fire under AppTest."""
    for _ in range(300):
        if not any(button.key == "stop" for button in page.button):
            break
        time.sleep(0.1)
        page.run()
    assert not page.exception
    return page


def words(page: AppTest) -> str:
    """All that the page says outside of controls and tables."""
    blocks = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error]
    return "\n".join(str(block.value) for block in blocks)
