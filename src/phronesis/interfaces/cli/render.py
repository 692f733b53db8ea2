"""Results as a person reads them: compact, aligned, and as JSON where that was asked for."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import click

from phronesis.core.context import ContextPackage
from phronesis.core.ids import CITATION_PREFIX, short_id
from phronesis.core.items import Item, in_words, statement
from phronesis.core.proposals import DUPLICATE, Gated
from phronesis.core.results import (
    AddResult,
    Degraded,
    EditResult,
    Explanation,
    HistoryEvent,
    SearchResult,
    SessionInfo,
    Source,
    Turn,
)
from phronesis.core.serialization import as_json
from phronesis.core.timestamps import from_micros, parse_moment
from phronesis.interfaces.cli.output import (
    clean,
    count_of,
    cut,
    day,
    on_one_line,
    print_cut,
    print_json,
    print_lines,
    print_undo,
    say_table,
    second,
    table,
)

if TYPE_CHECKING:
    from phronesis.traits.laws.records import Trait, TraitEvidence


_HIDDEN: Final = frozenset({"id", "content", "data"})
"""Fields of an item that have a line of their own, or are for programs."""


def words(item: Item) -> str:
    """Return what an item says on one line; a reflection says what it came to."""
    if item.kind == "cycle":
        from phronesis.interfaces.cli.traits import in_short  # noqa: PLC0415 - it imports this module
        from phronesis.traits.laws.records import cycle_of  # noqa: PLC0415 - not for --help

        return in_short(cycle_of(item))
    return on_one_line(statement(item))


def about(item: Item) -> str:
    """Return an item's heading: what it is, who said it, when, where, whose it is, its id."""
    state = item.ended or ("archived" if item.status == "archived" else "")
    stage = item.stage if item.kind == "trait" and item.stage != state else ""
    who = item.name or item.role or item.subject or ("inferred" if item.source_type == "reflection" else "stated")
    parts = (item.kind, state, stage, who, day(item.occurred_at), item.session_id, _owner(item), short_id(item.id))
    return "  ".join(on_one_line(part) for part in parts if part)


def _owner(one: Item | SessionInfo) -> str:
    return f"user {one.user_id}" if one.user_id is not None else f"shared {one.namespace}"


def print_items(items: Sequence[Item]) -> None:
    """Print items, each its words and under them where they come from."""
    if not items:
        print_lines("nothing is remembered there")
    for item in items:
        print_cut(words(item))
        print_lines(f"   {about(item)}")


def print_due(items: Sequence[Item], now: datetime) -> None:
    """Print what is due, each its words and under them when, as seen at ``now``."""
    if not items:
        print_lines("nothing is due")
    for item in items:
        print_cut(on_one_line(statement(item)))
        print_lines(f"   {in_words(item, now)}  {about(item)}")


def print_found(result: SearchResult) -> None:
    """Print what a search found, best first."""
    if result.abstained:
        print_lines("nothing that is remembered supports an answer" + ("; nearest to it:" if len(result) else ""))
    for rank, evidence in enumerate(result, start=1):
        text = statement(evidence.item)
        if text == evidence.item.content and evidence.matched:
            text = evidence.matched[0].snippet
        print_cut(f"{rank:>2}. {on_one_line(text)}")
        print_lines(f"    {evidence.score:.2f}  {about(evidence.item)}")
        if evidence.why is not None:
            print_lines("    " + "  ".join(f"{name} {share:+.2f}" for name, share in evidence.why.items()))
    print_degraded(result.degraded)


def print_degraded(degraded: Sequence[Degraded]) -> None:
    """Say on stderr which models were away, and what stood in: a result in a pipe stays clean."""
    for one in degraded:
        click.echo(f"{one.role}: {one.instead_of} gave no answer ({one.reason}); {one.by} stood in", err=True)


def print_item(item: Item) -> None:
    """Print all that an item holds."""
    if item.kind == "trait":
        from phronesis.interfaces.cli.traits import print_trait  # noqa: PLC0415 - it imports this module

        print_trait(cast("Trait", item))
        return
    print_lines(clean(item.content) or words(item), "")
    shown = {"citation": item.citation, **item.to_dict()}
    rows = [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in shown.items()
        if name not in _HIDDEN and value not in (None, {}, [], "", False)
    ]
    print_lines(*table(rows))


_NO_NEWS: Final = frozenset({"assistant"})
"""Rules of refusals that are not reported: nobody expects to learn of the user from an assistant's words."""

_FEW: Final = 3
"""Messages that are listed one by one; of more the numbers are printed."""


def print_added(result: AddResult) -> None:
    """Print what an ``add`` remembered and learned, and what it did not and why."""
    messages = [item for item in result.items if item.kind == "message"]
    learned = [item for item in result.items if item.kind != "message"]
    if len(messages) > _FEW:
        print_lines(
            f"{len(messages)} messages remembered, {count_of(len(learned), 'memory', 'memories')} learned from them"
        )
        messages = []
    print_lines(*(f"{short_id(item.id)}  {item.kind}  {cut(words(item), 60)}" for item in (*messages, *learned)))
    print_lines(
        *(f"{short_id(item.id)}  {item.ended or item.status}  {cut(words(item), 60)}" for item in result.superseded)
    )
    print_lines(*_gated_lines([text for text in result.gated if text.rule not in _NO_NEWS]))
    if not learned and not result.gated and any(item.role == "user" for item in messages):
        print_lines("nothing learned: no fact, preference, task or the like was recognised")
    print_degraded(result.degraded)


def _gated_lines(gated: Sequence[Gated]) -> Iterator[str]:
    """Return what was not remembered or learned, and why: text by text, or, of many, how often for each reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in gated:
        what = "stored" if one.rule == DUPLICATE or one.place is not None else "learned"
        found.setdefault((what, on_one_line(f"{one.rule}: {one.reason}")), []).append(one.text)
    for (what, reason), texts in found.items():
        if len(gated) > _FEW:
            yield f"not {what}: {len(texts)} × {reason}"
        else:
            yield from (f"not {what}: {cut(on_one_line(text), 40)} ({reason})" for text in texts)


def print_edited(result: EditResult) -> None:
    """Print what an edit changed, and the entry that takes it back."""
    for item in result.items:
        print_lines(
            f"{short_id(item.id)}  v{item.version}  {item.ended or item.status}  {cut(on_one_line(item.content), 60)}"
        )
    if not result.items:
        print_lines("nothing changed")
    print_undo(result.entry_id)


def print_sessions(sessions: Sequence[SessionInfo]) -> None:
    """Print conversations."""
    rows = [
        (one.session_id, _owner(one), one.turn_count, one.message_count, second(one.updated_at)) for one in sessions
    ]
    say_table(rows, head=("session", "whose", "turns", "messages", "last"), nothing="no conversation there")


def print_turns(turns: Sequence[Turn]) -> None:
    """Print a conversation as it was recorded."""
    if not turns:
        print_lines("no such conversation there")
    for turn in turns:
        title = cut(on_one_line(str(turn.session_metadata.get("title") or "")), 60)
        print_lines(
            f"turn {turn.number}  {second(turn.recorded_at)}  entry {short_id(turn.entry_id)}  {title}".rstrip()
        )
        for message in turn.messages:
            speaker = on_one_line(str(message.get("name") or message.get("role") or "erased"))
            at = f" ({message['created_at']})" if message.get("created_at") else ""
            content = message.get("content")
            print_lines(f"    {speaker}{at}: {clean(content) if isinstance(content, str) else _value(content)}")
        for call in turn.tool_calls:
            given = " → ".join(_value(call.get(name)) for name in ("args", "result") if call.get(name) is not None)
            print_lines(f"    tool {on_one_line(str(call.get('name')))}: {given}")
        for ref in turn.refs:
            print_lines(f"    {ref.get('type')}: {on_one_line(str(ref.get('uri')))}")


def print_context(package: ContextPackage, *, form: Literal["text", "messages"]) -> None:
    """Print a composed context as it goes into a prompt: one text, or the messages as JSON."""
    if form == "messages":
        print_json(package.render("messages"))
    else:
        print_lines(clean(package.render("text")))


def print_budget(package: ContextPackage) -> None:
    """Print on stderr what a context used of its budget, and what it left out."""
    click.echo(f"{package.token_count} of {package.token_budget} tokens", err=True)
    cited = (f"{alias}={short_id(one.removeprefix(CITATION_PREFIX))}" for alias, one in package.citations.items())
    click.echo(f"citations: {' '.join(cited)}", err=True)
    for name in ("budget", "cache", "dropped", "shortened"):
        shown = json.dumps(as_json(package.explain.get(name)), ensure_ascii=False)
        click.echo(f"{name}: {on_one_line(shown)}", err=True)


def print_history(events: Sequence[HistoryEvent]) -> None:
    """Print changes, oldest first, each with the id that takes it back."""
    for event in events:
        reason = f": {event.reason}" if event.reason else ""
        print_lines(
            on_one_line(f"v{event.version}  {second(event.at)}  {event.event}: {event.verb} by {event.actor}{reason}")
        )
        for name, (before, after) in event.fields.items():
            print_cut(f"    {name}: {_value(after) if event.op == 'create' else _change(before, after)}")
        for sign, rows in (("+", event.evidence_added), ("-", event.evidence_removed)):
            print_cut(*(f"    evidence: {sign} {_evidence(row)}" for row in rows))
        print_lines(f"    change {short_id(event.delta_id)}  entry {short_id(event.entry_id)}")


def print_explanation(found: Explanation, told: Sequence["TraitEvidence"] = ()) -> None:
    """Print why an item is held: its words, the log's entries under it, its evidence, edges and history.

    ``told`` is the evidence of a trait with the words of the memories, where they were read.
    """
    print_lines(clean(found.item.content), f"   {about(found.item)}", "", "sources")
    print_lines(*(line for source in found.sources for line in source_lines(source)))
    if found.needs_validation:
        print_lines("   no source is left that supports it: needs validation")
    if found.use.summary:
        print_lines("", found.use.summary)
    if told:
        from phronesis.interfaces.cli.traits import print_evidence  # noqa: PLC0415 - it imports this module

        print_evidence(told)
    evidence = () if told else found.evidence
    for title, rows, line in (("evidence", evidence, _evidence), ("edges", found.edges, _edge)):
        if rows:
            print_lines("", title, *(f"   {line(row)}" for row in rows))
    print_lines("", "history")
    print_history(found.history)


def source_lines(source: Source) -> list[str]:
    """Return where something comes from: the entry, the place, and the words."""
    named = {"session": source.session_id, "message": source.message_id, "ref": source.source_ref}
    place = [f"entry {short_id(source.entry_id)}", *(f"{name} {one}" for name, one in named.items() if one is not None)]
    place += [] if source.occurred_at is None else [second(source.occurred_at)]
    quote = [] if source.quote is None else [f"   “{on_one_line(source.quote)}”"]
    return [f"   {on_one_line('  '.join(place))}", *quote]


def _change(before: Any, after: Any) -> str:
    """Return what became of a value; of members of an object, of those alone that changed."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        return ", ".join(f"{name} {_value(before.get(name))} → {_value(after.get(name))}" for name in names)
    return f"{_value(before)} → {_value(after)}"


def _evidence(row: Mapping[str, Any]) -> str:
    """Return a piece of evidence: which way it points, for which part, how good it is, when, and where it is from."""
    item = row.get("source_item_id")
    source = short_id(item) if item else row.get("source_ref") or row.get("source_key") or ""
    told = [row.get("polarity"), row.get("part"), row.get("grade"), _moment(row.get("occurred_at")), source]
    entry = row.get("source_entry_id") or row.get("entry_id")
    return on_one_line("  ".join(str(one) for one in (*told, f"entry {short_id(entry)}" if entry else "") if one))


def _edge(row: Mapping[str, Any]) -> str:
    """Return an edge: from where to where, and what it says."""
    kinds = (row.get("from_kind"), row.get("to_kind"))
    start, end = ("" if kind == "item" else f"{kind} " for kind in kinds)
    start, end = start + short_id(str(row.get("from_id"))), end + short_id(str(row.get("to_id")))
    weight = row.get("weight")
    return on_one_line(f"{start}  {row.get('type')}  {end}" + (f"  {weight:.2f}" if weight is not None else ""))


def _moment(value: Any) -> str:
    """Return the day of a time; a delta holds times in microseconds."""
    if value is None:
        return ""
    return day(from_micros(value) if isinstance(value, int) else parse_moment(value, field="occurred_at"))


def _value(value: Any) -> str:
    return on_one_line(value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False))
