"""Find, start and connect to the daemon of a store. Standard library only: each hook of a host is a process of its own.

A daemon listens on a Unix socket in a folder that only its user can open. A connection begins with one line of JSON
from each side; what follows depends on the service that the client asked for. Where there are no Unix sockets (Windows)
no daemon is found, and each process opens the store itself.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Final

from phronesis import __version__
from phronesis.config.locations import StoreName, runtime_folder
from phronesis.errors import DaemonMismatch

PROTOCOL: Final = 1
"""Version of the first lines of a connection, and of the services."""

START_SECONDS: Final = 15.0
"""Seconds that a session waits for a daemon that it started; after them it opens the store itself."""

ANSWER_SECONDS: Final = 5.0
"""Seconds to wait for the first line of a daemon that accepted the connection."""

_POLL_SECONDS: Final = 0.02

UNIX: Final = hasattr(socket, "AF_UNIX") and sys.platform != "win32"


@dataclass(slots=True)
class Connection:
    """An open connection; ``hello`` is the daemon's first line."""

    socket: socket.socket
    reader: BinaryIO
    hello: dict[str, Any] = field(default_factory=dict)

    def send_line(self, message: Mapping[str, Any]) -> None:
        """Send one line of JSON."""
        self.socket.sendall(encode_line(message))

    def receive_line(self) -> dict[str, Any]:
        """Return the next line, an object of JSON. ConnectionError: the daemon ended, or this is none."""
        line = self.reader.readline()
        if not line:
            raise ConnectionError("the daemon closed the connection")
        try:
            message = json.loads(line)
        except ValueError as error:
            raise ConnectionError("the daemon sent a line that is no JSON") from error
        return message if isinstance(message, dict) else {}

    def close(self) -> None:
        """Close it."""
        self.reader.close()
        self.socket.close()


def encode_line(message: Mapping[str, Any]) -> bytes:
    """Return an object as one line of JSON."""
    return json.dumps(message, ensure_ascii=True).encode() + b"\n"


def socket_path(store: StoreName) -> Path:
    """Return the path of the socket of a store's daemon."""
    return runtime_folder() / f"{store.key}.sock"


def can_start() -> bool:
    """Return whether a daemon can run here: on a system with Unix sockets, with the extra ``mcp``."""
    return UNIX and find_spec("mcp") is not None


def connect(store: StoreName, service: Mapping[str, Any], *, start_seconds: float = 0) -> Connection | None:
    """Return a connection to the daemon of a store; None if there is none.

    With ``start_seconds`` one is started, if none runs, and waited for so long.

    DaemonMismatch: the daemon is another version of Phronesis, refuses the service or does not answer, or somebody else
    owns the folder of its socket.
    """
    connection = _open(store, service)
    if connection is None and start_seconds and can_start():
        try:
            started = _launch(store)
        except OSError:  # there is no place for a socket
            return None
        deadline = time.monotonic() + start_seconds
        while connection is None and time.monotonic() < deadline and not started.poll():  # 0: another one runs
            time.sleep(_POLL_SECONDS)
            connection = _open(store, service)
    return connection


def connect_or_say_why(
    store: StoreName, service: Mapping[str, Any], *, caller: str, start_seconds: float = 0
) -> Connection | None:
    """Return a connection as `connect` does; None, and why on stderr, where the daemon cannot be used."""
    try:
        return connect(store, service, start_seconds=start_seconds)
    except DaemonMismatch as error:
        print(f"phronesis: {error.message}; this {caller} opens the store itself", file=sys.stderr)
        return None


def _open(store: StoreName, service: Mapping[str, Any]) -> Connection | None:
    if not UNIX:
        return None
    path = socket_path(store)
    try:
        _check_owner(path.parent)
    except OSError:  # it is missing
        return None
    plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    plug.settimeout(ANSWER_SECONDS)
    connection = Connection(plug, plug.makefile("rb"))
    try:
        plug.connect(str(path))
        connection.send_line({"phronesis": PROTOCOL, "version": __version__, **service})
        connection.hello = connection.receive_line()
    except TimeoutError:
        connection.close()
        raise DaemonMismatch(
            "the daemon of this store does not answer: end its process, 'phronesis daemon run'"
        ) from None
    except OSError:  # none runs, or it crashed
        connection.close()
        return None
    if "error" in connection.hello:
        connection.close()
        raise DaemonMismatch(str(connection.hello["error"]))
    plug.settimeout(None)
    return connection


def _launch(store: StoreName) -> "subprocess.Popen[bytes]":
    """Start the daemon of a store, detached from this process. Of several that start at once one stays."""
    folder = make_folder()
    command = [sys.executable, "-m", "phronesis", "daemon", "run", "--url", store.url, "--tenant", store.tenant]
    if store.policy is not None:
        command += ["--policy", store.policy]
    with (folder / f"{store.key}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=folder
        )


def make_folder() -> Path:
    """Return the runtime folder, made for this user alone. DaemonMismatch: somebody else owns it."""
    folder = runtime_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(folder)
    folder.chmod(0o700)
    return folder


def _check_owner(folder: Path) -> None:
    """Raise DaemonMismatch if somebody else owns the runtime folder, who could then read what is sent to a daemon."""
    if folder.lstat().st_uid != os.getuid():
        raise DaemonMismatch(f"{folder} belongs to another user; set XDG_RUNTIME_DIR to a folder of your own")
