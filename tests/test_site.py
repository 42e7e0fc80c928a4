"""The documentation site is built without a complaint, shows every manual, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import dpcore

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "object": "data"}


def program(name: str) -> ModuleType:
    """A file of docs/, which is no package."""
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loads(HTMLParser):
    """What a page loads, and whether it runs scripts of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if (value := dict(attrs).get(LOADED.get(tag, ""))) and dict(attrs).get("rel") != "canonical":
            self.found.append(value)


def test_nothing_comes_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 12
    for page in pages:
        seen = Loads()
        seen.feed(page.read_text())
        assert seen.found and not [url for url in seen.found if re.match(r"(https?:)?//", url)], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text()), sheet.name


def test_the_reference_shows_the_stable_functions(site):
    page = (site / "reference.html").read_text()
    for name in ("solve", "compare", "sweep", "invert", "frontier", "account", "release", "save", "load"):
        assert f'id="dpcore.interface.{name}"' in page
    assert "the privacy; both are needed" in page and "MissingExtraError" in page


def test_every_manual_has_its_place():
    menu = re.findall(r": ([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1])
    made = program("hooks").PAGES
    assert sorted(menu) == sorted([*made, *(path.name for path in (ROOT / "docs").glob("*.md"))])
    assert all((ROOT / source).exists() for source in made.values())


@pytest.mark.parametrize(
    ("line", "source", "shown"),
    [
        ("[m](docs/method.md#a)", "README.md", "[m](method.md#a)"),
        ("![p](docs/screenshot.png)", "README.md", "![p](screenshot.png)"),
        ("[d](../dpcore/README.md)", "docs/api.md", "[d](core.md)"),
        ("[a](../docs/api.md)", "dpcore/README.md", "[a](api.md)"),
        ("[l](LICENSE) and [w](https://example.org/x)", "README.md", "l and [w](https://example.org/x)"),
        ("[here](#there)", "docs/cli.md", "[here](#there)"),
    ],
)
def test_links_of_the_repository_work_in_the_site(line, source, shown):
    assert program("hooks").relinked(line, source) == shown


def test_entries_of_docstrings_are_kept_apart():
    spread = program("docstrings").spread
    assert spread("One.\n\na : first.   b : second\n    part.") == "One.\n\n\n* `a`: first.\n* `b`: second\n    part."
    text = "One.\n\nParameters\n----------\na, *b : first\n    part.\n\nRaises\n------\nE : wrong."
    assert spread(text) == (
        "One.\n\nParameters\n----------\na, *b\n    first\n    part.\n\nRaises\n------\nE\n    wrong."
    )


def test_all_say_the_same_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert str(cited["version"]) == first == dpcore.__version__


def test_issue_templates_are_forms():
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
        form = yaml.safe_load(path.read_text())
        assert form["name"] and form["description"] and len({part["id"] for part in form["body"]}) == len(form["body"])


def test_hooks_run_what_a_commit_must_pass():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    assert [hook["entry"].split()[0] for hook in repository["hooks"]] == ["make"]
    assert all(hook["entry"].split()[1] in targets for hook in repository["hooks"])
