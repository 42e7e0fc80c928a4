"""`python -m dpcore`: the command line (docs/cli.md), with linear algebra on one thread."""

import os

from .alone import alone


def main() -> int:
    """What the command line asks for; returns the exit status."""
    os.environ.update(alone())
    from .cli import main as command  # loads NumPy

    return command()


if __name__ == "__main__":
    raise SystemExit(main())
