"""Short names of what a context cites: ``[m1]`` for ``[mem:<uuid>]``, numbered in the order in which they are shown.

A number depends only on what stands before it, so that appending a line changes none of the earlier ones, and evidence,
which stands behind all that is stable, changes none of that.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from phronesis.core.ids import CITATION_PREFIX

PREFIX: Final = "m"
"""How an alias begins; a number follows."""

_CITED: Final = re.compile(rf"\b(?:{CITATION_PREFIX}[\w-]+|policy:[0-9]+)")
_SAMPLE: Final = f"{PREFIX}100"
"""An alias as long as others: what a heading costs is estimated with it before the numbers are known."""


def aliases(headings: Iterable[str]) -> dict[str, str]:
    """Give the alias of each citation in headings that are in the order in which they are shown."""
    found = dict.fromkeys(cited[0] for heading in headings for cited in _CITED.finditer(heading))
    return {citation: f"{PREFIX}{n}" for n, citation in enumerate(found, 1)}


def shortened(heading: str, known: Mapping[str, str]) -> str:
    """Give a heading with aliases for citations."""
    return _CITED.sub(lambda cited: known.get(cited[0], cited[0]), heading)


def sized(heading: str) -> str:
    """Give a heading about as long as it will be once its citations are aliases."""
    return _CITED.sub(_SAMPLE, heading)
