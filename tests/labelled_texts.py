"""The labelled texts of `benchmarks/data`, unpacked once into a folder that git ignores."""

import hashlib
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_ARCHIVE: Final = _ROOT / "benchmarks" / "data" / "labelled.tar.xz"


def _unpack() -> Path:
    """Return the folder of the labelled texts; processes that unpack at once end with one copy."""
    digest = hashlib.sha256(_ARCHIVE.read_bytes()).hexdigest()[:16]
    folder = _ROOT / ".build" / f"labelled-{digest}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as passing:
            with tarfile.open(_ARCHIVE) as archive:
                archive.extractall(passing, filter="data")
            try:
                os.rename(Path(passing) / "labelled", folder)  # noqa: PTH104 - atomic; another process may be first
            except OSError:
                if not folder.exists():
                    raise
    return folder


LABELLED_TEXTS: Final = _unpack()
