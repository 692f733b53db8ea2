"""The registry of built-in source adapters by type; a new one is one line here."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from phronesis.core.lazy_loading import once
from phronesis.experience.sources.port import Source, Sources

_PLACES: Final = MappingProxyType(
    {
        "lean": ("lean", "LeanSource"),
        "math_proof": ("math_proof", "ProofSource"),
        "chat": ("chat", "ChatSource"),
        "log": ("log", "LogSource"),
        "manual": ("manual", "ManualSource"),
        "run": ("run", "RunSource"),
    }
)


class Shelf(Mapping[str, Source]):
    """The adapters by type, imported on first use: their grammars take a fifth of a second."""

    def __getitem__(self, source_type: str) -> Source:
        return _made(*_PLACES[source_type])

    def __contains__(self, source_type: object) -> bool:
        return isinstance(source_type, str) and source_type in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


@once
def _made(module: str, name: str) -> Source:
    found: Source = getattr(import_module(f"phronesis.experience.sources.{module}"), name)()
    return found


SOURCES: Final[Sources] = Shelf()
