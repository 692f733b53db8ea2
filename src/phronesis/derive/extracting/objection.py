"""What the rules have against a quotation that somebody else proposes to learn from: it asks, supposes or quotes."""

from collections.abc import Mapping

from phronesis.derive.extracting.clauses import MASK, clauses, is_chinese, masked, sentences
from phronesis.derive.extracting.gate import message_rule, own_words, sentence_rule, stated
from phronesis.derive.extracting.tables import Language


def objection(text: str, start: int, end: int, languages: Mapping[str, Language]) -> str | None:
    """Give the rule by which the words of a message at [start, end) state nothing; None: they may."""
    mask = own_words(masked(text), languages)
    if MASK in mask.text[start:end]:
        return "code" if mask.code else "quotation"
    whole = message_rule(mask.text.lower(), languages["zh" if is_chinese(mask.text) else "en"])
    if whole is not None:
        return whole
    for sentence in sentences(mask.text):
        if sentence.end <= start or sentence.start >= end:
            continue
        language = languages["zh" if is_chinese(sentence.raw) else "en"]
        rule = sentence_rule(sentence.raw.lower(), language)
        if rule is not None:
            return rule
        found = clauses(sentence, (), language)
        if any(start < clause.end and clause.start < end for clause in found[stated(sentence, found, language) :]):
            return "question"
    return None
