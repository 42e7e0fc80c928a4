"""`python -m dpcore`: the command line (docs/cli.md)."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
