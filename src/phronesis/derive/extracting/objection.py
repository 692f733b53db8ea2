"""What the rules have against a quotation that somebody else proposes to learn from: it asks, supposes or quotes."""

from collections.abc import Mapping

from phronesis.derive.extracting.clauses import MASK, clauses, language_of, masked, sentences
from phronesis.derive.extracting.gate import message_rule, own_words, sentence_rule, stated
from phronesis.derive.extracting.tables import Language


def objection(text: str, start: int, end: int, languages: Mapping[str, Language]) -> str | None:
    """Give the rule by which the words of a message at [start, end) state nothing; None: they may."""
    mask = own_words(masked(text), languages)
    if MASK in mask.text[start:end]:
        return "code" if mask.code else "quotation"
    language = language_of(mask.text, languages)
    whole = message_rule(mask.text.lower(), language)
    if whole is not None:
        return whole
    for sentence in sentences(mask.text, language):
        if sentence.end <= start or sentence.start >= end:
            continue
        language = language_of(sentence.raw, languages)
        rule = sentence_rule(sentence.raw.lower(), language)
        if rule is not None:
            return rule
        found = clauses(sentence, (), language)
        if any(start < clause.end and clause.start < end for clause in found[stated(sentence, found, language) :]):
            return "question"
    return None
