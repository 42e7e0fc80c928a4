"""docs/security.md and the tests behind it name each other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text()
NAMED = set(re.findall(r"`(tests/[\w/]+\.py::test_\w+)`", TEXT))


def named_in(path: Path) -> set[str]:
    """Names of all tests of a module, as the document writes them."""
    place = path.relative_to(ROOT).as_posix()
    functions = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {f"{place}::{name}" for name in functions if name.startswith("test_")}


def test_every_test_the_document_names_exists():
    assert len(NAMED) > 20
    for name in NAMED:
        path = ROOT / name.split("::")[0]
        assert path.exists() and name in named_in(path), name


def test_every_test_of_security_is_in_the_document():
    found = set().union(*(named_in(path) for path in (ROOT / "tests" / "security").glob("test_*.py")))
    assert not found - NAMED, sorted(found - NAMED)


def test_every_line_of_the_list_has_a_test():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert len(rows) > 15
    for row in rows:
        assert "`tests/" in row, row
