"""A server of a store in a process of its own, for benchmarks to ask."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from phronesis.errors import PhronesisError

_PROGRAM: Final = (sys.executable, "-c", "from phronesis.interfaces.cli import main; main()")
_POLICY: Final = "version: 1\nembedder: none\nserver: {access_log: false}\n"


@contextlib.contextmanager
def served(store: str) -> Iterator[tuple[float, str]]:
    """Serve a store by ``phronesis serve``; give the seconds until it listened, and host and port.

    PhronesisError when it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="phronesis-serving-") as folder:
        policy = Path(folder, "brain.yml")
        policy.write_text(_POLICY, "utf-8")
        began = time.perf_counter()
        called = [*_PROGRAM, "serve", "--url", store, "--port", "0", "--json", "--policy", str(policy)]
        with subprocess.Popen(called, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
            try:
                place = _told(process)
                yield time.perf_counter() - began, place
            finally:
                process.terminate()


def _told(process: "subprocess.Popen[str]") -> str:
    """Wait until a server says where it listens; give host and port."""
    told = ""
    while process.stdout is not None and not told.rstrip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            raise PhronesisError("the server did not start; run phronesis serve to see why")
        told += line
    place: str = urlsplit(json.loads(told)["url"]).netloc
    return place
