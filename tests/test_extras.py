"""What needs a library that is not there says how to install it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from dpcore.errors import MissingExtraError
from dpcore.extras import needs

ROOT = Path(__file__).parents[1]


def test_the_message_is_the_line_that_installs():
    with pytest.raises(MissingExtraError) as caught, needs("plot"):
        import no_such_library  # noqa: F401
    assert str(caught.value) == 'no_such_library is not installed: pip install "dp-frontier[plot]"'
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_module_of_the_package_is_no_library():
    with pytest.raises(ModuleNotFoundError, match=r"dpcore\.no_such_module"), needs("plot"):
        import dpcore.no_such_module  # noqa: F401


@pytest.mark.parametrize(
    ("words", "library", "extra"),
    [
        (["account", "--mechanism", "laplace:epsilon=1", "--delta", "1e-6"], "dp_accounting", "accounting"),
        (["sweep", "--epsilon", "1", "--delta", "0.2", "--cluster", "tcp://127.0.0.1:1"], "distributed", "cluster"),
        (["sweep", "--epsilon", "5", "--delta", "0.9", "--workers", "1", "--out", "x.parquet"], "pyarrow", "parquet"),
    ],
)
def test_the_command_line_says_it_in_one_line(words, library, extra, tmp_path):
    blocked = f"import sys; sys.modules[{library!r}] = None; from dpcore.cli import main; sys.exit(main({words!r}))"
    environment = {"PYTHONPATH": str(ROOT), "DP_FRONTIER_STORE": str(tmp_path / "store"), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 1
    assert done.stderr == f'dpcore {words[0]}: {library} is not installed: pip install "dp-frontier[{extra}]"\n'
