"""Headings of memories in a context (citation, date, speaker, status, disputes), and short citation aliases."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo
from typing import Final

from phronesis.compose.item_wording import said_at, told_days
from phronesis.core.documents import SECTION
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item, Trust
from phronesis.core.prospective import due_of
from phronesis.core.results import Evidence
from phronesis.core.text import label, name_of, place, title

# Short citation aliases: ``[m1]`` for ``[mem:<uuid>]``, numbered in order of appearance.

PREFIX: Final = "m"
"""How an alias begins; a number follows."""

_CITED: Final = re.compile(rf"\b(?:{CITATION_PREFIX}[\w-]+|policy:[0-9]+)")
_SAMPLE: Final = f"{PREFIX}100"
"""An alias as long as others: what a heading costs is estimated with it before the numbers are known."""


def aliases(headings: Iterable[str]) -> dict[str, str]:
    """Return the alias of each citation in headings that are in the order in which they are shown."""
    found = dict.fromkeys(cited[0] for heading in headings for cited in _CITED.finditer(heading))
    return {citation: f"{PREFIX}{n}" for n, citation in enumerate(found, 1)}


def shortened(heading: str, known: Mapping[str, str]) -> str:
    """Return a heading with aliases for citations."""
    return _CITED.sub(lambda cited: known.get(cited[0], cited[0]), heading)


def sized(heading: str) -> str:
    """Return a heading about as long as it will be once its citations are aliases."""
    return _CITED.sub(_SAMPLE, heading)


CITATIONS_SHOWN: Final = 3
"""Citations shown before a block, and conflicts named in a memory's heading; each costs about 25 tokens."""

_MAX_DEPTH: Final = 16
"""Headings of a section that are looked at."""

_LINES: Final = re.compile(r"#(L[0-9]{1,9}(?:-L[0-9]{1,9})?)\Z")
"""How a reference ends that names lines."""

_LONGEST_LINES: Final = len("#L-L") + 2 * 9

_NOWHERE: Final = "entry:"
"""How the address of a document begins that was given none."""


def heading_of(evidence: Evidence, zone: tzinfo = UTC) -> str:
    """Return the heading of a memory, on one line; nothing in it is a text's own but cleaned names.

    Of what was said in no offset the day is that of ``zone``.
    """
    item = evidence.item
    said = said_at(item, evidence.sources, zone=zone)
    about = [said.date().isoformat(), *_source(item)]
    if item.kind == SECTION:
        about += _where(item)
    if item.valid_to is not None:
        about.append(f"until {item.valid_to.date().isoformat()}")
    if item.ended:
        about.append(label(item.ended))
    due = due_of(item)
    about += [f"due {due.date().isoformat()}"] if due is not None else []
    days = told_days(item.content, said, dated=True) if item.kind != SECTION else ""
    if not evidence.conflicts:
        return f"{_cited(evidence)} ({'; '.join(filter(None, [', '.join(about), days]))})"
    where = _session(evidence)
    named = ", ".join(f"mem:{identity}" for identity in evidence.conflicts[:CITATIONS_SHOWN])
    more = len(evidence.conflicts) - CITATIONS_SHOWN
    about += [f"session {where}"] if where else []
    disputed = f"disputed by {named}{f' and {more} more' if more > 0 else ''}"
    return f"{_cited(evidence)} ({'; '.join(filter(None, [', '.join(about), days, disputed]))})"


def _cited(evidence: Evidence) -> str:
    """Return the citations of a memory and of those that say the same, the newest first."""
    return " ".join(f"[mem:{one}]" for one in (evidence.item.id, *evidence.same)[:CITATIONS_SHOWN])


def _session(evidence: Evidence) -> str:
    """Return where something disputed was said, that its sources can be told apart."""
    named = (source.session_id for source in evidence.sources if source.session_id is not None)
    return label(evidence.item.session_id or next(named, ""))


def _source(item: Item) -> list[str]:
    """Return who said it, and how far that is trusted where that is below the user and not said already."""
    who = name_of(item.name or "") or label(item.role or "") or item.kind
    trust = item.trust.name.lower()
    return [who, trust] if item.trust < Trust.USER and trust != who else [who]


def _where(item: Item) -> list[str]:
    """Return the document and the headings that a section stands under, and its address with its lines."""
    path = item.data.get("path") or ()
    named = title([one for one in (item.data.get("title"), *path[-_MAX_DEPTH:]) if isinstance(one, str)])
    reference = item.source_ref or ""
    lines = _LINES.search(reference, max(0, len(reference) - _LONGEST_LINES))
    uri = item.data.get("uri")
    if not isinstance(uri, str):  # another server's
        uri = reference if lines is None else reference[: lines.start()]
    address = "" if uri.startswith(_NOWHERE) else place(uri)
    stands = " ".join(filter(None, [address, "" if lines is None else lines[1]]))
    return [one for one in (named, stands) if one]
