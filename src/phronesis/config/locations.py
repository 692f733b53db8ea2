"""Folders of a user on this machine, and the store that a process uses: no import beyond the standard library."""

import getpass
import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DATA_FOLDERS: Final = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Application Support")}
"""Variables and usual folders of a user's data, by platform."""
_SQLITE: Final = "sqlite:///"
_OFF: Final = frozenset({"0", "off", "no", "false"})


def data_folder(platform: str = sys.platform) -> Path:
    """Return the folder of the user's data by the conventions of Windows, macOS and, elsewhere, XDG."""
    variable, usual = _DATA_FOLDERS.get(platform, ("XDG_DATA_HOME", ".local/share"))
    given = os.environ.get(variable, "").strip()
    return (Path(given) if given else Path.home() / usual) / "phronesis"


def default_url() -> str:
    """Return the URL of the store in the user's data folder, creating the folder."""
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return f"{_SQLITE}{folder / 'memory.db'}"


def runtime_folder() -> Path:
    """Return the folder of sockets and the files that describe running processes, readable by this user only.

    It is ``XDG_RUNTIME_DIR/phronesis``, else a folder of this user among the temporary files: a socket's path may have
    about 100 characters, so the data folder will not do.
    """
    given = os.environ.get("XDG_RUNTIME_DIR", "").strip()
    user = getattr(os, "getuid", lambda: "user")()
    return Path(given) / "phronesis" if given else Path(tempfile.gettempdir()) / f"phronesis-{user}"


def home_folder() -> Path:
    """Return the user's home folder."""
    return Path.home()


def login_name() -> str:
    """Return the user's name on this machine; "user" where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "user"


def daemon_enabled() -> bool:
    """Return whether processes of this user may share a daemon: unless ``PHRONESIS_DAEMON`` is ``off``."""
    return os.environ.get("PHRONESIS_DAEMON", "").strip().lower() not in _OFF


@dataclass(frozen=True, slots=True)
class StoreName:
    """The store that a process uses, and how: resolved, so that two processes that mean the same have equal names."""

    url: str
    tenant: str
    policy: str | None

    @property
    def key(self) -> str:
        """Return a short name for files."""
        return hashlib.sha256(repr((self.url, self.tenant, self.policy)).encode()).hexdigest()[:16]


def store_name(url: str | None, tenant: str | None, policy: Path | str | None) -> StoreName:
    """Return the name of the store that these options and the environment select."""
    chosen = url or os.environ.get("PHRONESIS_URL") or default_url()
    if chosen.startswith(_SQLITE):
        path, mark, query = chosen.removeprefix(_SQLITE).partition("?")
        chosen = f"{_SQLITE}{Path(path).absolute()}{mark}{query}"
    named = policy or os.environ.get("PHRONESIS_POLICY") or None
    return StoreName(chosen, tenant or "default", None if named is None else str(Path(named).absolute()))
