"""Names in a text, found by rules: addresses, paths, handles, quoted titles and capitalised names."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from phronesis.core.text import UNSPACED

RULES_VERSION: Final = "mentions-rules/2"
MAX_SCANNED: Final = 20_000
"""Characters of a text that are scanned: names occur early, and a pasted log would yield thousands."""
MAX_MENTIONS: Final = 64
"""Maximum number of names kept for one text."""
MAX_SURFACE: Final = 300
"""Maximum length of a name in characters."""
_LETTER: Final = rf"[^\W{UNSPACED}]"  # of a word that stands alone, in Chinese text too: "我和Alice去"
_STEM: Final = rf"(?:{_LETTER}|[.-])"
_CAPITAL: Final = "[A-ZÀ-ÖØ-Þ]"
_SMALL: Final = "[a-zß-öø-ÿ\u0101-\u017f]{1,30}"
_PARTICLES: Final = "(?:(?:of|de|van|von|der|da|di|la|le)[ -]){0,2}"
_EXTENSIONS: Final = (
    "c|cc|cfg|cif|conf|cpp|cs|css|csv|db|doc|docx|env|gif|go|gz|h|hpp|html|ini|ipynb|java|jpeg|jpg|js|json|jsonl|jsx|"
    "kt|lean|lock|log|md|mp3|mp4|odt|parquet|pdf|php|png|ppt|pptx|ps1|py|pyi|r|rb|rs|rst|sh|sql|sqlite|svg|swift|tar|"
    "tex|toml|ts|tsv|tsx|txt|vasp|wav|xls|xlsx|xml|xyz|yaml|yml|zip"
)
"""Extensions that make a word a file without a folder; otherwise "5 p.m." and "kids.They" would be files."""

_RULES: Final = (
    # Chinese letters belong to an address only where a part of it begins (/wiki/北京); else the sentence goes on.
    ("url", "://", rf"https?://(?:[^\s<>\"'）)】\]{UNSPACED}\uff01-\uff65‘’“”]|(?<=[/=#?&])[一-鿿]{{1,40}}){{3,300}}"),
    (
        "email",
        "@",
        rf"(?<!{_LETTER})(?<![.+-])(?:{_LETTER}|[.+-]){{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,4}}",
    ),
    (
        "file",
        "[.][A-Za-z]",
        (
            rf"(?<!{_LETTER})(?<![/.~-])(?:"
            rf"(?:~|\.{{1,2}})?(?:/?{_STEM}{{1,80}}/){{1,12}}{_STEM}{{1,80}}\.[A-Za-z][A-Za-z0-9]{{0,5}}"
            rf"|(?:{_LETTER}|-){_STEM}{{0,79}}\.(?:{_EXTENSIONS}))(?!{_LETTER})(?!/)"
        ),
    ),
    ("handle", "@", rf"(?<!{_LETTER})(?<!@)@[A-Za-z][A-Za-z0-9_-]{{1,38}}"),
    ("title", "《", r"《([^《》\n]{1,40})》"),
    # What stands before the name is looked at behind its first letter: capitals are found fast.
    (
        "name",
        _CAPITAL,
        rf"{_CAPITAL}(?<!{_LETTER}.)(?<!['’].){_SMALL}(?:[ -]{_PARTICLES}{_CAPITAL}{_SMALL}){{0,3}}(?!{_LETTER})",
    ),
)
"""Rules, each with an expression that quickly excludes most texts; ``re`` compiles and keeps them at first use."""
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?。！？:：;\n\"“(（]\s{0,2})$")
_COMMON: Final = frozenset(
    """
    i a an and are as at be but by can could did do does for from had has have he her here hey hi his how if in is
    it its just let my no not now of oh ok okay on or our please she so sorry sure thanks that the their then there
    these they this to was we well were what when where which who why will with would yes you your yesterday today
    tomorrow monday tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december
    about after also because before congrats congratulations dear good great hello maybe wow yeah
    """.split()
)
"""Capitalised words at the start of a sentence that are no names; weekdays and months are times, not entities."""


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name in a text at [start, end)."""

    surface: str
    kind: str
    start: int
    end: int


def find_mentions(text: str) -> list[NameMatch]:
    """Return the names in a text, in order, without overlaps; the earlier rule wins.

    A greeting or a weekday before a name is no part of it ("Hey Caroline"). A capitalised word at the start of a
    sentence counts only when it occurs elsewhere in the text too. Time is linear in the text.
    """
    scanned = text[:MAX_SCANNED]
    taken = bytearray(len(scanned))
    found: list[NameMatch] = []
    names: list[NameMatch] = []
    for kind, needed, source in _RULES:
        if re.search(needed, scanned) is None:
            continue
        rule = re.compile(source)
        group = rule.groups  # the quoted title, or else the whole match
        for match in rule.finditer(scanned):
            if kind == "name" and match[group].casefold() in _COMMON:
                continue
            one = _trim_match(match[group], kind, match.start(group))
            if one.surface and len(one.surface) <= MAX_SURFACE and not any(taken[one.start : one.end]):
                (names if kind == "name" else found).append(one)
                taken[one.start : one.end] = b"\1" * len(one.surface)
    if names:
        times = Counter(word for one in names for word in one.surface.split())
        found += [one for one in names if _is_name(one, scanned, times)]
    return sorted(found, key=lambda one: one.start)[:MAX_MENTIONS]


def _trim_match(surface: str, kind: str, start: int) -> NameMatch:
    surface = surface.rstrip(".,;:!?'’")
    if kind == "name":
        words = surface.split(" ")
        while words and words[0].casefold() in _COMMON:
            start += len(words.pop(0)) + 1
        while words and words[-1].casefold() in _COMMON:
            words.pop()
        surface = " ".join(words)
    return NameMatch(surface, kind, start, start + len(surface))


def _is_name(found: NameMatch, text: str, times: Counter[str]) -> bool:
    opens = _SENTENCE_START.search(text[max(0, found.start - 3) : found.start]) is not None
    return not opens or " " in found.surface or times[found.surface] > 1
