"""A composed context with each alias written out, so that a test can say which item is meant."""

import re

from phronesis.core.context import ContextPackage


def in_full(package: ContextPackage, text: str | None = None) -> str:
    """Give the text of a package with citations for aliases."""
    shown = package.text if text is None else text
    return re.sub(r"(?<=\[)m\d+(?=\])|(?<=[ ,])m\d+(?=[,;) ])", lambda one: package.citations[one[0]], shown)
