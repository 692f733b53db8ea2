"""Apply what a turn says of its context: edges from the reply to the items that it used, ignored or contradicted."""

from collections.abc import Iterable, Sequence

from phronesis.core.entries import Entry, TurnPayload, payload_of
from phronesis.core.items import Item
from phronesis.core.relations import BY_CITATION, CONTEXT_ID, CONTEXT_OUTCOME, OUTCOMES, Edge


def outcome_edges(entry: Entry, made: Iterable[Item]) -> Sequence[Edge]:
    """Return the edges from the last reply among the items ``made`` of a turn's messages, or from the last message.

    A turn whose messages were recorded before makes none, so its outcomes count once. Citations in a reply that is in
    quarantine are not counted.
    """
    payload = payload_of(entry, TurnPayload)
    said, messages = payload.get("outcomes"), list(made)
    if not said or not messages:
        return ()
    reply = next((one for one in reversed(messages) if one.role == "assistant"), messages[-1])
    by_citation = said.get("by") == BY_CITATION
    if by_citation and reply.quarantine is not None:
        return ()
    return [
        Edge(
            type=CONTEXT_OUTCOME,
            from_kind="item",
            from_id=reply.id,
            to_kind="item",
            to_id=item_id,
            entry_id=entry.id,
            grade=outcome,
            origin="model" if by_citation else "rule",
            data={CONTEXT_ID: payload.get("context_id")},
        )
        for outcome in OUTCOMES
        for item_id in said.get(outcome, ())
    ]
