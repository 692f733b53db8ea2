"""Requests to forget something, made by a user in a conversation: open tasks until somebody carries them out.

A sentence alone deletes nothing. The request becomes a task of the user under ``KEY``, due at once, so that contexts
show it and ``due`` lists it, and ``gated`` says which verb to call. It ends when something that it names is deleted or
retracted, or when the request itself is deleted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from phronesis.conversation.extracting.clauses import clauses, language_of, mask_message, sentences
from phronesis.conversation.extracting.gate import own_words, refusal
from phronesis.conversation.extracting.tables import Language
from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.proposals import USER, Proposal, Refusal
from phronesis.core.timestamps import isoformat
from phronesis.index.tokens import tokenize
from phronesis.store.lane_view import LaneView

KEY: Final = "forget_request"
KIND: Final = "task"

IMPORTANCE: Final = 8
"""Importance of a request, above that of a user's task: it is addressed to the memory itself."""

CLOSING: Final = frozenset({"archive", "archive_all", "retract"})
"""Verbs by which somebody removes an item from what is held."""

_MARKS: Final = " \t,，.。!！?？:：;；\"'“”「」"


def forget_requests(
    n: int, text: str, at: datetime, *, speaker: str | None, languages: Mapping[str, Language]
) -> tuple[list[Proposal], list[Refusal]]:
    """Return the requests to forget in a user's message, and for each the refusal that names the verb to call."""
    found = list(_asked(text, languages))
    proposals = [
        Proposal(
            n=n,
            quote=text[start:end],
            start=start,
            end=end,
            kind=KIND,
            subject=speaker or USER,
            key=KEY,
            value=target,
            content=language.frames["forget"].format(target),
            importance=IMPORTANCE,
            due=isoformat(at),
        )
        for start, end, target, language in found
    ]
    return proposals, [refusal(n, text[start:end], KEY) for start, end, _, _ in found]


def _asked(text: str, languages: Mapping[str, Language]) -> Iterator[tuple[int, int, str, Language]]:
    """Yield the start of a request's clause, the end of its sentence, the object to forget, and the language."""
    mask = own_words(mask_message(text), languages)
    for sentence in sentences(mask.text, language_of(mask.text, languages)):
        language = language_of(sentence.raw, languages)
        for clause in clauses(sentence, (), language):
            said = mask.text[clause.start : sentence.end]
            match = language.text["forget"].match(said.lower())
            if match is None:
                continue
            start, end = match.span(match.lastgroup or 0)
            target = text[clause.start + start : clause.start + end].strip(_MARKS)
            if target:
                yield clause.start, sentence.end, target, language
                break


def with_requests_met(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return changes that also end the requests which they fulfil (``handler.Consequence``)."""
    if entry.verb not in CLOSING:
        return changes
    gone = [
        held[patch.item_id]
        for patch in changes.patches
        if patch.item_id in held
        and held[patch.item_id].key != KEY
        and (patch.fields.get("status") == "archived" or patch.fields.get("ended") == "retracted")
    ]
    if not gone:
        return changes
    words = {word for item in gone for word in tokenize(f"{item.content} {item.value or ''}")}
    fields = {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}
    met = [
        Patch(one.id, fields, "carried out")
        for one in view.find(kinds=[KIND], key=KEY)
        if not words.isdisjoint(tokenize(str(one.value))) and all(patch.item_id != one.id for patch in changes.patches)
    ]
    return replace(changes, patches=[*changes.patches, *met]) if met else changes
