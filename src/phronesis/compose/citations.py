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
"""Prefix of an alias; a number follows."""

_CITED: Final = re.compile(rf"\b(?:{CITATION_PREFIX}[\w-]+|policy:[0-9]+)")
_SAMPLE: Final = f"{PREFIX}100"
"""An alias of typical length, used to estimate a heading's cost before the numbers are known."""


def aliases(headings: Iterable[str]) -> dict[str, str]:
    """Return the alias of each citation in headings, numbered in their order."""
    found = dict.fromkeys(cited[0] for heading in headings for cited in _CITED.finditer(heading))
    return {citation: f"{PREFIX}{n}" for n, citation in enumerate(found, 1)}


def shortened(heading: str, known: Mapping[str, str]) -> str:
    """Return a heading with aliases for citations."""
    return _CITED.sub(lambda cited: known.get(cited[0], cited[0]), heading)


def sized(heading: str) -> str:
    """Return a heading of about the length that it has with aliases."""
    return _CITED.sub(_SAMPLE, heading)


CITATIONS_SHOWN: Final = 3
"""Maximum citations before a block, and conflicts in a memory's heading; each costs about 25 tokens."""

_MAX_DEPTH: Final = 16
"""Maximum number of a section's headings that are read."""

_LINES: Final = re.compile(r"#(L[0-9]{1,9}(?:-L[0-9]{1,9})?)\Z")
"""The line suffix of a reference."""

_LONGEST_LINES: Final = len("#L-L") + 2 * 9

_NOWHERE: Final = "entry:"
"""Prefix of the address of a document without a URI."""


def heading_of(evidence: Evidence, zone: tzinfo = UTC) -> str:
    """Return the heading of a memory, on one line; it contains no text of the memory except cleaned names.

    A time without an offset is shown as a day of ``zone``.
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
    """Return the citations of a memory and of its restatements, the newest first."""
    return " ".join(f"[mem:{one}]" for one in (evidence.item.id, *evidence.same)[:CITATIONS_SHOWN])


def _session(evidence: Evidence) -> str:
    """Return the session of a disputed memory, to distinguish its sources."""
    named = (source.session_id for source in evidence.sources if source.session_id is not None)
    return label(evidence.item.session_id or next(named, ""))


def _source(item: Item) -> list[str]:
    """Return the speaker, and the trust if it is below the user's and not implied by the speaker."""
    who = name_of(item.name or "") or label(item.role or "") or item.kind
    trust = item.trust.name.lower()
    return [who, trust] if item.trust < Trust.USER and trust != who else [who]


def _where(item: Item) -> list[str]:
    """Return a section's document and headings, and its address with lines."""
    path = item.data.get("path") or ()
    named = title([one for one in (item.data.get("title"), *path[-_MAX_DEPTH:]) if isinstance(one, str)])
    reference = item.source_ref or ""
    lines = _LINES.search(reference, max(0, len(reference) - _LONGEST_LINES))
    uri = item.data.get("uri")
    if not isinstance(uri, str):  # from another server
        uri = reference if lines is None else reference[: lines.start()]
    address = "" if uri.startswith(_NOWHERE) else place(uri)
    stands = " ".join(filter(None, [address, "" if lines is None else lines[1]]))
    return [one for one in (named, stands) if one]
