"""The readable terms of a text, for people: words as they stand there, and Chinese stretches that may be words."""

import re
from typing import Final

from phronesis.index.tokens import CHINESE_FUNCTION_CHARACTERS, CHINESE_STOP_BIGRAMS, ENGLISH_STOP_WORDS

MAX_READ: Final = 4_000
"""Characters of a text that are looked at."""

LONGEST: Final = 4
"""Characters of a Chinese term: nearly all words are shorter."""

_WORDS: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9_'\-.]{1,40}[A-Za-z0-9](?![A-Za-z0-9_])")
_HAN: Final = re.compile("[\u3400-\u9fff]{2,}")

_LIGHT_WORDS: Final = """
one two three first second last next new old other another every each several many much few less least time times
way thing things something anything nothing everything everybody somebody someone anyone nobody without within
against along around across among toward towards upon onto per via since though although however whether either
neither already still yet again always never often ever now today later soon instead rather quite really even almost
enough make makes made making take takes took taken taking put puts putting get gets got getting give gives gave
given go goes went gone going come comes came coming use used using uses tried try tries trying told tell tells said
say says saying see saw seen seeing know knew known want wanted need needed needs let lets keep kept seem seems
seemed look looked looking found find finds left right done doing turn turned ask asked back away far near long
short big small good bad better best worse worst well like able sure whole half part
"""
_LIGHT: Final = frozenset(_LIGHT_WORDS.split())
"""Words that say nothing of a matter by themselves: numbers, pronouns, adverbs and light verbs."""

_EDGES: Final = CHINESE_FUNCTION_CHARACTERS | frozenset(
    "一二两三几个些每把从对向给让等后前再又才只没不有去来到得地所已这那此其某会能要可应该上下里中时用为以由于因则若如"
)
"""Characters with which no term begins or ends: numbers, prepositions, auxiliaries, places."""


def readable(text: str) -> list[str]:
    """Give a text's Latin words in lower case, and its Chinese stretches of two to `LONGEST` characters."""
    words = [word for word in map(str.lower, _WORDS.findall(text[:MAX_READ]))
             if word not in ENGLISH_STOP_WORDS and word not in _LIGHT]  # fmt: skip
    return words + [stretch for run in _HAN.findall(text[:MAX_READ]) for stretch in _stretches(run)]


def _stretches(run: str) -> list[str]:
    found = (run[begin : begin + size] for size in range(2, LONGEST + 1) for begin in range(len(run) - size + 1))
    return [one for one in found if one[0] not in _EDGES and one[-1] not in _EDGES and one not in CHINESE_STOP_BIGRAMS]
