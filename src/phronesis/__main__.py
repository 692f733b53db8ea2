"""``python -m phronesis``: the command line."""

from phronesis.interfaces.cli import main

main()
