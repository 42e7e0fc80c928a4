"""What the documentation site does besides showing docs/: files of the repository's root as pages, and links that work
in the repository made to work in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES = {
    "index.md": "README.md", "core.md": "dpcore/README.md", "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}  # fmt: skip
"""Page of the site → file of the repository outside docs/."""

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside docs/."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with its links relative to the site."""
    return relinked(markdown, PAGES.get(page.file.src_uri, f"docs/{page.file.src_uri}"))


def relinked(markdown: str, source: str) -> str:
    """Links of a file of the repository as the site has them: to other pages, or, where the site has no such page, the
    words alone."""
    outside = {path: page for page, path in PAGES.items()}

    def link(found: re.Match[str]) -> str:
        image, words, target, anchor = found.groups(default="")
        if not target or target.startswith(("http:", "https:", "mailto:")):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path in outside:
            return f"{image}[{words}]({outside[path]}{anchor})"
        return f"{image}[{words}]({path.removeprefix('docs/')}{anchor})" if path.startswith("docs/") else words

    return LINK.sub(link, markdown)
