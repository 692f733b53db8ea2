"""The sources that come with the package, by their type; a new one is a line here."""

from typing import Final

from phronesis.derive.sources.chat import ChatSource
from phronesis.derive.sources.lean import LeanSource
from phronesis.derive.sources.log import LogSource
from phronesis.derive.sources.manual import ManualSource
from phronesis.derive.sources.math_proof import ProofSource
from phronesis.derive.sources.port import Source, Sources
from phronesis.derive.sources.run import RunSource

_ALL: Final[tuple[Source, ...]] = (
    LeanSource(), ProofSource(), ChatSource(), LogSource(), ManualSource(), RunSource(),
)  # fmt: skip

SOURCES: Final[Sources] = {one.source_type: one for one in _ALL}
