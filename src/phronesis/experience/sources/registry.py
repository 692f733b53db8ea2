"""The source adapters by type: classes that distributions register as entry points of ``phronesis.sources``."""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Final

from phronesis.config.plugins import SOURCES as GROUP
from phronesis.config.plugins import broken, find_plugins, load_plugin
from phronesis.core.lazy_loading import load_once
from phronesis.experience.sources.port import Source, Sources


class SourceRegistry(Mapping[str, Source]):
    """The adapters by type, imported on first use: their grammars take a fifth of a second."""

    def __getitem__(self, source_type: str) -> Source:
        return _load_source(find_plugins(GROUP)[source_type])

    def __contains__(self, source_type: object) -> bool:
        return source_type in find_plugins(GROUP)

    def __iter__(self) -> Iterator[str]:
        return iter(find_plugins(GROUP))

    def __len__(self) -> int:
        return len(find_plugins(GROUP))


@load_once
def _load_source(point: EntryPoint) -> Source:
    source: Source = load_plugin(point)()
    if source.source_type != point.name:
        raise broken(point, f"has the source_type '{source.source_type}', which must be its name")
    return source


SOURCES: Final[Sources] = SourceRegistry()
