"""The sources that come with the package, by their type; a new one is a line here."""

from typing import Final

from phronesis.derive.sources.lean import LeanSource
from phronesis.derive.sources.math_proof import ProofSource
from phronesis.derive.sources.port import Source, Sources

_ALL: Final[tuple[Source, ...]] = (LeanSource(), ProofSource())

SOURCES: Final[Sources] = {one.source_type: one for one in _ALL}
