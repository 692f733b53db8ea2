"""The command line: it parses, calls Memory and renders. Nothing heavy is imported before a command needs it."""

import sys

from phronesis.interfaces.cli.exit_codes import run


def main() -> None:
    """Run ``phronesis`` and leave with its exit code."""
    sys.exit(run())
