"""The recipes of CONTRIBUTING.md, followed in a copy of the tree: what is added works everywhere, in so many files."""

from __future__ import annotations

import pytest
from recipes import Tree


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_the_copy_knows_what_was_touched(tree):
    tree.insert("dpcore/errors.py", "NEW = 1\n", before="class InputError(")
    tree.write("pages/new/page.py", "")
    where = tree.run("-c", "import dpcore.errors, screens; print(dpcore.errors.NEW, dpcore.__file__, screens.ROOT)")
    assert where == f"1 {tree.root}/dpcore/__init__.py {tree.root}\n"
    assert tree.touched() == ["dpcore/errors.py", "pages/new/page.py"]
