"""The gate: what is said and yet is not remembered, and why (tables ``[gates]``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.conversation.extracting.cast import quoted_one
from phronesis.conversation.extracting.clauses import MASK, Clause, MaskedText, Sentence, has_han, with_capitals
from phronesis.conversation.extracting.tables import Language
from phronesis.core.proposals import Basis, Proposal, Refusal

INJECTED: Final = "injected"
"""The rule that refuses what nobody in the conversation wrote (``core.data_delimiters``)."""

REASONS: Final = {
    "question": "a question states nothing",
    "joke": "it is said as a joke or an exaggeration",
    "quotation": "these are the words of somebody else",
    "hypothesis": "it is supposed, wished or doubted, not stated",
    "fiction": "it is told of an invented world",
    "code": "code, logs and commands are data, not statements",
    "chit_chat": "not recognised as something to keep; configure `roles.extract` (brain.yml) to read free talk",
    "assistant": "what the assistant says is no source about the person",
    "third_party_unknown": "it is not clear who is meant",
    "instruction": "a tool's answer may not tell what to do or to remember",
    INJECTED: "it repeats a composed context, or a program put it into the message",
    "fragment": "a word alone states nothing, unless the assistant asked the user for it right before",
    "forget_request": "nothing was deleted yet: find what is meant with search, call delete or erase on it, then delete"
    " this request",
    "operator": "what the operator writes is policy, not memory",
    "unlikely": "said this way it seldom is what a rule takes it for",
    "low_confidence": "the wording is not clear enough for what its source must have",
}
"""What each rule says of a text that it refuses."""

LAUGH: Final = 24
"""Characters between what is said and a laugh that is about it; a clause between takes the laugh."""

_SERIOUS: Final = frozenset({"preference", "task", "decision", "intention"})
"""Kinds that are meant even with a laugh; a joke is made about who one is and what befell one."""

MAX_REFUSALS: Final = 3
"""Refusals of one message: they are examples, not a copy of it."""

MAX_EXCERPT: Final = 160
"""Characters of a refused text that are kept."""

INFERRED_AT_MOST: Final = 0.6
"""The confidence of what nobody said, but something was concluded from (the issue's figure)."""

_TAG: Final = 4
"""Words of a clause that does no more than say whose words stand before it."""

_SENTENCE_RULES: Final = ("instruction", "fiction", "quotation", "hypothesis", "chit_chat")
_CLAUSE_RULES: Final = ("supposed", "hearsay", "passing")
_NAMED: Final = {"supposed": "hypothesis", "hearsay": "third_party_unknown", "passing": "chit_chat"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The least confidence that is stored, by who it comes from. ``inferred`` above .6 stores nothing inferred."""

    user: float = 0.8
    tool: float = 0.9
    inferred: float = 1.0

    def passes(self, basis: Basis, confidence: float) -> bool:
        """Return whether something of a basis and confidence is stored."""
        if basis == "inferred":
            return min(confidence, INFERRED_AT_MOST) >= self.inferred
        return confidence >= (self.user if basis == "user" else self.tool)


def refusal(n: int, text: str, rule: str) -> Refusal:
    """Return a refusal of a text in message ``n``, cut to an excerpt."""
    words = " ".join(text.split())
    return Refusal(n=n, text=words[:MAX_EXCERPT], rule=rule, reason=REASONS[rule])


def message_rule(text: str, language: Language) -> str | None:
    """Return the rule that refuses a message as a whole: a joke that is called one, a game, a novel, a pasted mail."""
    return next(
        (rule for rule in ("joke", "fiction", "quotation") if language.gates[f"{rule}_message"].search(text)), None
    )


def own_words(mask: MaskedText, languages: Mapping[str, Language]) -> MaskedText:
    """Return a masked text without what is handed over to be worked on.

    All that follows "翻译：" is somebody's text.
    """
    if ":" not in mask.text and "：" not in mask.text:
        return mask  # it is handed over after a colon, in every language
    language = languages["zh" if has_han(mask.text) else "en"]
    found = language.gates["handed"].search(mask.text.lower())
    if found is None:
        return mask
    kept = mask.text[: found.end()]
    return replace(mask, text=kept + MASK * (len(mask.text) - len(kept)), quoted=True)


def sentence_rule(text: str, language: Language) -> str | None:
    """Return the rule that refuses a sentence, in small letters."""
    return next((rule for rule in _SENTENCE_RULES if language.gates[rule].search(text)), None)


def before_quotation(sentence: Sentence, found: list[Clause], language: Language) -> int:
    """Return how many of a sentence's clauses stand before the one with somebody's words, and are its speaker's own.

    None, where that is a tag that gives the words before it to somebody else: "the best ever, my mum says".
    """
    said = language.gates["quotation"].search(sentence.raw.lower())
    place = sentence.start + (said.end() if said is not None else 0)
    own = sum(clause.end < place for clause in found)
    tag = len(found) <= own or len(found[own].raw.split()) <= _TAG
    return 0 if tag or language.gates["tagging"].match(found[own].raw.lower()) else own


def before_supposition(sentence: Sentence, found: list[Clause], language: Language) -> int:
    """Return how many of a sentence's clauses stand before the one that supposes, and are stated.

    None, where the sentence ends with a condition, which holds of what stands before it: 我就买房，如果明年涨薪.
    """
    said = language.gates["hypothesis"].search(sentence.raw.lower())
    place = sentence.start + (said.start() if said is not None else 0)
    own = sum(clause.end <= place for clause in found)
    last = own + 1 >= len(found) or language.grammar.condition_anywhere
    ends = last and language.gates["condition"].search(sentence.raw[place - sentence.start :].lower())
    return 0 if ends else own


def laughed_at(one: Proposal, text: str, laughs: Sequence[int], language: Language) -> bool:
    """Return whether one of the laughs in a text is about a proposal.

    Not where another clause or a request stands between, and not where it tells no more than who says something.
    """
    if one.kind in _SERIOUS or one.act != "assert":
        return False
    if quoted_one(with_capitals(one.quote, language, small=True), language) is not None:
        return False
    near = [place for place in laughs if place - one.end <= LAUGH]
    return any(language.text["meant"].search(text[one.end : place].lower()) is None for place in near)


def clause_rule(text: str, language: Language) -> str | None:
    """Return the rule that refuses a clause, in small letters."""
    return next((_NAMED[rule] for rule in _CLAUSE_RULES if language.gates[rule].search(text)), None)


def count_statements(sentence: Sentence, found: list[Clause], language: Language) -> int:
    """Return how many of a sentence's clauses, from its first, state something rather than ask."""
    first = found[0].plain.lower() if found else ""
    opens = language.gates["asks"]
    if not sentence.asks and language.gates["asks_unmarked"].search(sentence.raw.lower()) is None:
        return 0 if language.grammar.asks_first and opens.match(first) else len(found)
    if language.gates["tag"].search(sentence.raw.lower()) or opens.match(first):
        return 0
    asked = [n for n, clause in enumerate(found) if opens.match(clause.plain.lower())]
    last = len(found) - 1
    if last > 0 and last not in asked and language.gates["asks_bare"].match(found[last].plain.lower()):
        asked.append(last)  # "I have an exam on Monday, study timetable?" states before it asks
    before = asked[0] if asked and asked[-1] == last else 0
    wish = language.gates["wish"]  # 想学吉他，从哪开始: the wish is part of what is asked
    return next((n for n, clause in enumerate(found[:before]) if wish.match(clause.plain.lower())), before)
