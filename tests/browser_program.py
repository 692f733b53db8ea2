"""The browser that the tests drive: Chromium of the system, installed from Debian's packages where it is missing."""

import os
import shutil
import subprocess
from functools import cache

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@cache
def chromium_path() -> str | None:
    """Give the browser's path; None where there is none and none can be installed."""
    return _found() or _installed()


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _installed() -> str | None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-noto-cjk"],
    ):
        subprocess.run(command, env=environment, check=False, capture_output=True, timeout=600)
    return _found()
