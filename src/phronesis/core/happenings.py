"""What happened to an item, in one word, read off a change of it (requirement NM-14)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from phronesis.core.traits.records import RANKS

Fields = Mapping[str, Sequence[Any]]

_FOUND: Final = (("support", "reinforced"), ("contra", "contradicted"))


def happening(op: str, fields: Fields, added: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]) -> str:
    """Give what a change came to, the weightiest of all that it did.

    ``created``; how it ended (``dissolved``, ``superseded``, ``retracted``, ``retired``) or ``revived``; ``archived``
    or ``restored``; ``quarantined`` or ``released``; ``modified``: it says something else; ``promoted`` or ``demoted``;
    ``reinforced`` or ``contradicted`` by new evidence; ``unsupported``: evidence was taken from it; else ``changed``.
    """
    if op == "create":
        return "created"
    return _ended(fields) or _moved(fields) or _weighed(added, removed)


def _ended(fields: Fields) -> str | None:
    for name, back in (("ended", "revived"), ("quarantine", "released")):
        if name in fields:
            after = fields[name][1]
            return back if after is None else str(after) if name == "ended" else "quarantined"
    if "status" in fields:
        return "archived" if fields["status"][1] == "archived" else "restored"
    return None


def _moved(fields: Fields) -> str | None:
    if "content" in fields:
        return "modified"
    before, after = fields.get("stage", (None, None))
    if before in RANKS and after in RANKS:
        return "promoted" if RANKS.index(after) > RANKS.index(before) else "demoted"
    return None


def _weighed(added: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]) -> str:
    polarities = {row.get("polarity") for row in added}
    found = next((word for polarity, word in _FOUND if polarity in polarities), None)
    return found or ("unsupported" if removed else "changed")
