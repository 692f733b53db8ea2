"""A server of Phronesis in a process of its own, on a port that is free."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROGRAM = (sys.executable, "-c", "from phronesis.interfaces.cli import main; main()")
STOPS_WITHIN = 60
"""Seconds; a machine under load may be slow, a server that hangs is not waited for."""


@dataclass
class Served:
    """A server that listens."""

    process: subprocess.Popen[str]
    url: str

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOPS_WITHIN)


@contextmanager
def serving(url: str, *options: str, **environment: str) -> Iterator[Served]:
    """Serve the store at ``url``; the server is ended when the test is."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--url", url, "--port", "0", "--json", *options],
        env={**own, "PHRONESIS_EMBEDDER": "none", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = ""
        while not told.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise AssertionError(process.communicate()[1])
            told += line
        yield Served(process, json.loads(told)["url"])
    finally:
        process.kill()
        process.communicate()
