"""Evidence of another server, made such that nothing here takes it for its own.

Anybody may have written what it says: it is trusted as a document is, and only what a section of a document has is
taken over. Its ids are namespaced, so that none can ever be one of this store: ``get`` and every verb that changes
something refuse them by their form (``core.ids.parse_id``). Where it can be looked up, ``source_ref``, stays.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from phronesis.core.fusion.relevance import COVERED, OUTLYING
from phronesis.core.ids import REMOTE_PREFIX, derived_id
from phronesis.core.items import Item, Trust
from phronesis.core.resources.records import SECTION
from phronesis.core.results import Evidence, Match, Source
from phronesis.index.tokens import tokenize

MAX_CONTENT: Final = 20_000
"""Characters of a remote section: what is shown of it is a snippet."""

MAX_READ: Final = 4_000
"""Characters in which the question's words are looked for."""

_TEXTS: Final = ("title", "document_id")
_NUMBERS: Final = ("start", "end")
_MAX_PATH: Final = 16
_MAX_NAME: Final = 300


def foreign(found: Evidence, *, server: str, asked: Collection[str]) -> Evidence:
    """Give evidence of ``server`` as ours; ``asked`` are the question's terms.

    How much of the question it holds is counted here: what a server says of its own results is not comparable with what
    another says. Its cosine's standing, which it alone can know, is taken as it says.
    """
    item, theirs = found.item, found.item.data
    own = {name: theirs[name][:_MAX_NAME] for name in _TEXTS if isinstance(theirs.get(name), str)}
    document = own.pop("document_id", None)
    path = theirs.get("path")
    data: dict[str, Any] = {
        **own, **{name: theirs[name] for name in _NUMBERS if isinstance(theirs.get(name), int)},
        "path": [one[:_MAX_NAME] for one in path[:_MAX_PATH] if isinstance(one, str)] if isinstance(path, list) else [],
        "document_id": _named(server, document or item.source_ref or item.id),
        "remote": server, "remote_id": item.id,
    }  # fmt: skip
    content = item.content[:MAX_CONTENT]
    matched = tuple(_matched(one, server, item.id) for one in found.matched[:1])
    ours = Item(
        id=_named(server, item.id), kind=SECTION, content=content, entry_id=_named(server, item.entry_id),
        recorded_at=item.recorded_at, updated_at=item.updated_at, version=item.version, trust=Trust.EXTERNAL,
        confidence=item.confidence, source_ref=item.source_ref, valid_from=item.valid_from, valid_to=item.valid_to,
        occurred_at=item.occurred_at, data=data,
    )  # fmt: skip
    why = {**_plain(found.why), COVERED: _covered([*own.values(), *data["path"], content], asked)}
    return Evidence(ours, found.score, matched, tuple(_source(one, server) for one in found.sources), why=why)


def _named(server: str, identity: str) -> str:
    return f"{REMOTE_PREFIX}{derived_id('remote', server, identity)}"


def _matched(match: Match, server: str, item_id: str) -> Match:
    part = match.part if match.part == "whole" or match.part.startswith("chunk:") else "whole"
    mine = _named(server, item_id)
    which = part.partition(":")[2]
    return Match(mine if not which else f"{mine}::chunk::{which}", part, match.snippet[:MAX_READ], match.distance)


def _source(source: Source, server: str) -> Source:
    quote = None if source.quote is None else source.quote[:MAX_READ]
    return Source(_named(server, source.entry_id), source.source_ref, occurred_at=source.occurred_at, quote=quote)


def _plain(why: Mapping[str, float] | None) -> dict[str, float]:
    return {name: value for name, value in (why or {}).items() if name == OUTLYING}


def _covered(texts: Collection[str], asked: Collection[str]) -> float:
    if not asked:
        return 0.0
    held = set(tokenize("\n".join(texts)[:MAX_READ]))
    return round(len(held.intersection(asked)) / len(asked), 6)
