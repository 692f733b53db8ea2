"""Write the pages of reference into a folder: ``python -m phronesis.interfaces.reference docs``."""

import sys
from pathlib import Path

from phronesis.interfaces.reference import PAGES


def write_pages(folder: Path) -> None:
    """Write every page under ``folder``, over what stands there."""
    for path, page in PAGES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page(), "utf-8", newline="\n")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
