"""Which held items a statement is about where key and value do not tell, and which of them it may have outdated.

Items are compared by their words (``index/tokens``); the laws of time and trust are those of ``conversation/laws``.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from phronesis.conversation.consolidation_apply import PlacedProposal
from phronesis.conversation.laws import best_match, may_outdate, moves
from phronesis.core.items import Item
from phronesis.core.proposals import Proposal
from phronesis.core.statements import HeldStatement, Statement, opposite_key
from phronesis.index.tokens import tokenize

TASKS: Final = ("task", "reminder", "plan", "goal")
"""Keys whose values are things to do: a finished task is looked for under all of them."""

RESTATED: Final = frozenset({"task", "intention", "decision", "fact"})
"""Kinds of which a held text in much the same words may be an older state of a new one."""

LIKELY: Final = 0.5
"""The least confidence of a doubtful value that marks the held value of its key."""


def find_by_words(text: str, among: Sequence[HeldStatement]) -> HeldStatement | None:
    """Return the current item whose words a text shares most (``best_match``), or None."""
    ordered = sorted((held for held in among if held.current), key=lambda held: (held.item.recorded_at, held.item.id))
    current = {held.item.id: held for held in ordered}
    words = {name: frozenset(tokenize(words_of(held.item))) for name, held in current.items()}
    found = best_match(frozenset(tokenize(text)), words)
    return None if found is None else current[found]


def find_outdated(one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement]) -> list[str]:
    """Return the ids of the held items that a statement may have outdated, though nothing decides it."""
    proposal = one.proposal
    earlier = [held for held in about if may_outdate(statement, held)]
    same = [held for held in earlier if held.item.key == proposal.key]
    if proposal.done:
        task = find_by_words(said_in(proposal), [held for held in earlier if held.item.key in {*TASKS, proposal.key}])
        return [] if task is None else [task.item.id]
    if proposal.act == "retract":
        return [held.item.id for held in earlier if is_ended_by(one, held)]
    found = [held for held in earlier if held.item.key == opposite_key(proposal.key) and _overlap(one, held)]
    found += [held for held in same if moves(statement, held)]
    if proposal.doubtful:
        likely = proposal.cardinality == "one" and proposal.confidence >= LIKELY
        found += [held for held in same if held.item.id in statement.against or (likely and held.form != one.form)]
    else:
        restated = find_by_words(said_in(proposal), same) if proposal.kind in RESTATED else None
        found += [] if restated is None else [restated]
    return [held.item.id for held in found]


def corrects(
    one: PlacedProposal, statement: Statement, about: Sequence[HeldStatement], ends: Iterable[PlacedProposal]
) -> bool:
    """Return whether one of ``ends`` names the held value whose place a value takes: "Zara, not Sara"."""
    if one.proposal.act == "retract" or one.proposal.done or one.proposal.cardinality == "many":
        return False
    rivals = [held for held in about if held.item.key == statement.key and may_outdate(statement, held)]
    return any(is_ended_by(end, held) for end in ends for held in rivals if held.form != one.form)


def is_ended_by(end: PlacedProposal, held: HeldStatement) -> bool:
    """Return whether an end is that of a held item: it has its key and value, or without a key its words."""
    proposal, item = end.proposal, held.item
    if not proposal.key:
        return stands_in(item, tokenize(said_in(proposal)))
    if item.key != proposal.key:
        return False
    return proposal.value is None or held.form == end.form or find_by_words(proposal.value, [held]) is not None


def stands_in(item: Item, words: Sequence[str]) -> bool:
    """Return whether an item's value stands among words in one piece."""
    value = tokenize(words_of(item))
    count = len(value)
    return count > 0 and any(words[n : n + count] == value for n in range(len(words) - count + 1))


def words_of(item: Item) -> str:
    """Return the text by which an item is compared: its value, or its content where that is none."""
    return item.value if isinstance(item.value, str) else item.content


def said_in(proposal: Proposal) -> str:
    """Return the text by which a proposal is compared."""
    return proposal.content if proposal.value is None else proposal.value


def _overlap(one: PlacedProposal, held: HeldStatement) -> bool:
    """Return whether one of two values has all the words of the other."""
    words, others = frozenset(tokenize(said_in(one.proposal))), frozenset(tokenize(words_of(held.item)))
    return bool(words and others) and (words <= others or others <= words)
