"""Find what somebody is to the user where it stands with the name: "my sister Anna", "Anna, my sister,", 我妹妹小芳."""

from dataclasses import replace
from typing import Final

from phronesis.core.proposals import USER, Proposal
from phronesis.core.values import plain_relative
from phronesis.recall.word_lists import KeyWords, UnitText, is_chinese, load_words

_OTHER: Final = "other"
_ONE: Final = {
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "neighbor": "neighbour",
    "姥姥": "外婆",
    "姥爷": "外公",
    "丈母娘": "岳母",
    "老丈人": "岳父",
    "姨": "姨妈",
}
"""Words for one relation, of those that have no key of their own; `plain_relative` knows the others."""

MAX_BEFORE: Final = 40
"""Characters before a name of an earlier sentence in which a relation is looked for."""

_OPEN, _CLOSED, _COMMAS = "(（", ")）", ",，"


def with_tie(one: Proposal, sentence: str, before: str = "") -> Proposal:
    """Return a proposal with the word for what its subject is to the user, if its sentence holds one.

    Where the sentence does not name the subject ("she"), it was named last in the text ``before``. The subject is the
    bare name then, also where it was given as "Anna (sister)" or "sister Anna".
    """
    if one.subject == USER:
        return one
    words = load_words()
    subject = UnitText(one.subject)
    relations = subject.places(words.relations)
    for start, end in relations:
        if start and one.subject[subject.spans[start - 1][1] : subject.spans[start][0]].strip()[:1] in [*_OPEN]:
            return _tied(one, one.subject[: subject.spans[start - 1][1]], subject, (start, end), words)
    place = sentence.find(one.subject)
    if place < 0:
        named = before.rfind(one.subject)
        sentence = before[max(0, named - MAX_BEFORE) :]
        place = min(named, MAX_BEFORE)
    if place < 0:
        return one
    ahead = UnitText(sentence[:place])
    own = {end for _, end in ahead.places(words.lists["own"])}
    for end in sorted((end for start, end in relations if start == 0 and end < len(subject.units)), reverse=True):
        if len(ahead.units) in own:
            return _tied(one, one.subject[subject.spans[end][0] :], subject, (0, end), words)
    found = _last(ahead, own, words)
    if found is not None and not sentence[ahead.spans[-1][1] : place].strip(" ,，、"):
        return _tied(one, one.subject, ahead, found, words)
    after = UnitText(sentence[place + len(one.subject) :])
    found = _between_commas(after, sentence[place + len(one.subject) :], words)
    return one if found is None else _tied(one, one.subject, after, found, words)


def _tied(one: Proposal, name: str, text: UnitText, place: tuple[int, int], words: KeyWords) -> Proposal:
    start, end = place
    key = words.relatives[" ".join(text.units[start:end])]
    word = text.text[text.spans[start][0] : text.spans[end - 1][1]].casefold()
    return replace(one, subject=name, tie=word, tie_key=_ONE.get(word, plain_relative(word)) if key == _OTHER else key)


def _last(read: UnitText, own: set[int], words: KeyWords) -> tuple[int, int] | None:
    """Return the words for a relation of the user at the end of a text; one word may stand after "my"."""
    for start, end in read.places(words.relations):  # the longest first
        between = read.units[start - 1] if start else ""
        owned = start in own or (start - 1 in own and between not in words.relations)
        if end == len(read.units) and (owned or (start == 0 and is_chinese(read.text))):
            return start, end
    return None


def _between_commas(read: UnitText, text: str, words: KeyWords) -> tuple[int, int] | None:
    """Return the words for a relation of the user between commas at the beginning of a text."""
    own = {end for start, end in read.places(words.lists["own"]) if start == 0}
    if text.lstrip()[:1] not in [*_COMMAS, *_OPEN]:
        return None
    for start, end in reversed(read.places(words.relations)):
        if start in own and text[read.spans[end - 1][1] :].lstrip()[:1] in ["", *_COMMAS, *_CLOSED]:
            return start, end
    return None
