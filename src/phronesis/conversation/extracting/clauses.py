"""Messages in sentences and clauses, with what is no statement of the speaker's masked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.conversation.extracting.tables import TIMES, Language
from phronesis.core.calendar import TimeSpan, find_times
from phronesis.models.text_features import simplify_script

MAX_READ: Final = 6_000
"""Characters of a message that are read: what is told of oneself comes early, and a pasted text is not told."""

MAX_CLAUSE: Final = 400
"""Characters of a clause: what is longer is no statement that the patterns know."""

MAX_CUTS: Final = 6

"""Places in a clause at which it may be two: each is tried when nothing is found in it as a whole."""

LABEL: Final = 120
"""Characters before a colon among which a label is sought: the longest that the tables know has some sixty."""

_HAN: Final = re.compile("[一-鿿]")
_LATIN: Final = re.compile(r"[A-Za-z]+(?:[.@_+\d-]+[A-Za-z]+)*")
"""A word, a hyphenated one, or an address: li.na@example.org is one."""
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.DOTALL)
_CODE_LINE: Final = re.compile(
    r"^[ \t]*(?:[$>#]\s|>>>|curl\s|ssh\s|sudo\s|Traceback\b|File \"|at \S+\(|"
    r"git\s(?:add|am|apply|bisect|blame|branch|checkout|cherry-pick|clone|commit|config|diff|fetch|grep|init|log|merge|"
    r"mv|pull|push|rebase|remote|reset|restore|revert|rm|show|stash|status|submodule|switch|tag|worktree)\b|"
    r"(?:pip3?|npm|yarn|docker|kubectl|brew|cargo)\s(?:-|add|apply|build|compose|create|delete|exec|get|i|"
    r"images?|init|install|logs?|mod|ps|publish|pull|push|remove|rm|run|start|stop|test|uninstall|update|upgrade)\b|"
    r"cd\s\S+\s*(?:$|&&|;)|[A-Za-z.]*(?:Error|Exception)\b:|HTTP/\d|(?:GET|POST|PUT|DELETE)\s/|"
    r"import\s\w[\w.]*\s*(?:$|;|,|as\s)|import\s(?:[{*\"']|[\w.]+\s+from\b)|"
    r"from\s\S+\simport\b|def\s\w+\(|class\s\w+[:({]|(?:SELECT|INSERT|UPDATE)\s|"
    r"(?:const|let|var)\s[\w\[{][^\n=]{0,60}=|function\s*\w*\(|(?:public|private)\s[^\n]{0,80}[({;=]|return\b[^\n]{0,80}[;({\[]|"
    r"[{}\[\]<]|\"[\w ]+\"\s*:|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG)\b|"
    r"[\w.\[\]'\"]+\s*(?:=|\+=|:=)\s*(?:[\d\"'\[{(]|\w+\(|True|False|None|null)|"
    r"\w+\([^)]{0,80}\);?$|//\s|(?:if|for|while)\s?\([^)\n]{0,80}\)\s?\{|(?:diff|index|---|\+\+\+|@@)\s).*$",
    re.MULTILINE,
)
_BLOCK: Final = re.compile(
    r"^(?:[a-z][\w-]*:[ \t]*\n(?:(?:[ \t]+|- )[\w-]+:.*(?:\n|\Z)){2,}|- [a-z][\w-]*:.*\n(?:[ \t]+[\w-]+:.*(?:\n|\Z))+)",
    re.MULTILINE,
)
"""Keys and values below a key, as settings are written."""
_QUOTED: Final = re.compile(
    '"([^"\n]{1,400})"|“([^”\n]{1,400})”|「([^」\n]{1,400})」|『([^』\n]{1,400})』|«([^»\n]{1,400})»'
    r"|(?<![\w])['‘]([^'‘’\n]{12,400})['’](?!\w)|^>[^\n]*$",
    re.MULTILINE,
)
_QUOTE_MARK: Final = re.compile("[\"“「『«'‘>]")
_SENTENCE: Final = re.compile(
    r"(?<!\b[A-HJ-Z](?=\.\s[A-Z]\.))(?<!\b[A-Z]\. [A-HJ-Z](?=\.\s[A-Z][a-z]))"
    r"[.!?…]+(?=[\s\"”’)\ue900]|$|[^\x00-\x7f])|[。！？；!?;]+|…+|\.{3,}|\n+"
)
_ENDING: Final = re.compile("[.!?…。！？；;\n]")
"""What ``_SENTENCE`` begins with: it is tried there alone, for it looks back first."""

_ABBREVIATED: Final = 8
"""Characters before a full stop among which an abbreviation is sought."""

MASK: Final = "\ue900"
"""Stands for each character of what is not read."""

MAX_SHORTENED: Final = 120
"""Characters of a clause that is tried without its adjuncts: in a longer one too much stands between."""

_CUTS: Final = 4
"""Adjuncts that are taken off a clause, one after the other from its end."""

_BLANK: Final = MASK + " \t\r\n\u3000\xa0"


@dataclass(frozen=True, slots=True)
class MaskedText:
    """The text that is read, of the length of the message, and whether code and quotations were taken out."""

    text: str
    code: bool
    quoted: bool


@dataclass(slots=True)  # a frozen one takes three times as long to make
class Clause:
    """A clause at [start, end) of its message.

    ``plain`` is its words with contractions written out and each time a character of ``TIMES``; ``bare`` the same
    without its times.
    """

    start: int
    end: int
    raw: str
    plain: str
    bare: str
    times: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence at [start, end), with the marks that end it."""

    start: int
    end: int
    raw: str
    asks: bool


def mask_message(text: str) -> MaskedText:
    """Return a message without its code and its quotations, in simplified characters, each in its place.

    A short quotation with no verb's subject is a title or a name and stays: 'my favourite book is "Dune"'.
    """
    read = _PRIVATE.sub(" ", text[:MAX_READ]) if not text.isascii() else text[:MAX_READ]
    code = quoted = False
    if "`" in read:
        read, found = _FENCE.subn(lambda match: MASK * len(match[0]), read)
        code = found > 0
    if (_CODE_LINE.search(read) if "\n" in read else _CODE_LINE.match(read)) is not None:
        read = _CODE_LINE.sub(lambda match: MASK * len(match[0]), read)
        code = True
    if ":" in read and "\n" in read and _BLOCK.search(read) is not None:
        read = _BLOCK.sub(lambda match: MASK * len(match[0]), read)
        code = True

    def hide(match: re.Match[str]) -> str:
        nonlocal quoted
        inside = next((group for group in match.groups() if group is not None), None)
        if inside is not None and _is_title(inside):
            return match[0]
        quoted = True
        return MASK * len(match[0])

    # Most such marks are apostrophes: the pattern is tried where they stand before it is let loose.
    if any(_QUOTED.match(read, mark.start()) for mark in _QUOTE_MARK.finditer(read)):
        read = _QUOTED.sub(hide, read)
    return MaskedText(simplify_script(read), code, quoted)


_SAYING: Final = re.compile(
    r"\b(?:I|I['’]m|we|you|he|she|they|my|is|are|was|will)\b|[我你他她它们]|[。，！？,!?]", re.IGNORECASE
)


def _is_title(inside: str) -> bool:
    words = len(_LATIN.findall(inside)) + len(_HAN.findall(inside)) // 2
    return words <= 5 and _SAYING.search(inside) is None  # noqa: PLR2004 - words of a title


def is_chinese(text: str) -> bool:
    """Return whether a text is Chinese: more Han characters than Latin words."""
    return not text.isascii() and len(_HAN.findall(text)) > len(_LATIN.findall(text))


def has_han(text: str) -> bool:
    """Return whether a text holds a Han character."""
    return not text.isascii() and _HAN.search(text) is not None


def language_of(text: str, languages: Mapping[str, Language]) -> Language:
    """Return the language that a text is written in."""
    return languages["zh" if is_chinese(text) else "en"]


def sentences(text: str, language: Language) -> Iterator[Sentence]:
    """Return the sentences of a masked text; ``language`` is that of the whole."""
    start = 0
    for stop, after in [*_ends(text, language), (len(text), len(text))]:
        raw = text[start:stop]
        if any(map(str.isalnum, raw)):
            yield Sentence(start, stop, raw, any(mark in "?？" for mark in text[stop:after]))
        start = after


def _ends(text: str, language: Language) -> Iterator[tuple[int, int]]:
    at, short = 0, language.text["abbreviated"]
    while (near := _ENDING.search(text, at)) is not None:
        found = _SENTENCE.match(text, near.start())
        if near[0] == "." and short.search(text[max(0, near.start() - _ABBREVIATED) : near.start()]) is not None:
            found = None  # "Dr. Lee"
        at = near.end() if found is None else found.end()
        if found is not None:
            yield found.span()


def clauses(sentence: Sentence, times: Sequence[TimeSpan], language: Language) -> list[Clause]:
    """Return a sentence's clauses. One that is nothing but a time belongs to the next."""
    found: list[Clause] = []
    start = sentence.start
    raw = sentence.raw
    inside = [time for time in times if sentence.start <= time.start and time.end <= sentence.end]
    ends = [
        (match.start() + sentence.start, match.end() + sentence.start)
        for match in language.text["split"].finditer(raw)
        if not (
            inside
            and any(
                time.start < match.end() + sentence.start and match.start() + sentence.start < time.end
                for time in inside
            )
        )
        and not (match[0].strip() in {":", "："} and _labels(raw, match.start(), language))
    ]
    for stop, after in [*ends, (sentence.end, sentence.end)]:
        clause = _clause(raw[start - sentence.start : stop - sentence.start], start, inside, language)
        rest = language.text["time_rest"].match(clause.bare) or language.text["only_time"].match(clause.plain)
        alone = not clause.bare or (not found and rest is not None)
        if alone and clause.times and stop < sentence.end:
            continue
        says, end = language.text, stop - sentence.start
        if says["and_i"].match(raw, end) and says["shares"].match(clause.bare):
            continue  # "my friend Aisha and I went to the fair" is one clause
        if says["oneself"].match(clause.raw) and says["and_my"].match(raw, end):
            continue  # "me and my sister decided" is one clause
        bare = clause.bare
        if says["then_my"].match(raw, end) and (says["unended"].search(bare) or says["names_only"].match(bare)):
            continue  # "Idris my lad is 13" is one clause
        if (
            not clause.times
            and _is_a_time(raw, after - sentence.start, inside, sentence.start, language)
            and language.text["appointed"].match(clause.bare) is not None
        ):
            continue  # "smear test, Tuesday 9.40" is one clause
        start = after
        if clause.raw and len(clause.raw) <= MAX_CLAUSE and MASK not in clause.raw:
            found.append(clause)
    return found


def _is_a_time(raw: str, begun: int, times: Sequence[TimeSpan], start: int, language: Language) -> bool:
    """Return whether nothing but a time stands from a place to the next mark."""
    before, after = language.text["before_appointed"], language.text["after_appointed"]
    for time in times:
        lead = raw[begun : time.start - start]
        if time.start - start >= begun and before.match(lead) and after.match(raw, time.end - start):
            return True
    return False


def _labels(raw: str, colon: int, language: Language) -> bool:
    """Return whether a label stands before a colon ("Name: Ana"); what is further before it cannot be one."""
    cut = max(0, colon - LABEL)
    return language.text["label"].search(("…" if cut else "") + raw[cut:colon]) is not None


def split_clause(clause: Clause, times: Sequence[TimeSpan], language: Language) -> Iterator[tuple[Clause, Clause]]:
    """Return a clause in two where the next one may begin without a mark, the shortest first part first.

    Who speaks to a microphone sets no commas: 我膝盖不好蹲不下去的.
    """
    places = [match.start() for match in language.text["cut"].finditer(clause.raw)]
    inside = [time for time in times if clause.start <= time.start and time.end <= clause.end]
    for place in places[:MAX_CUTS]:
        at = clause.start + place
        if not any(time.start < at < time.end for time in inside):
            first, second = clause.raw[:place], clause.raw[place:]
            yield (_clause(first, clause.start, inside, language), _clause(second, at, inside, language))


def with_names(text: str, times: Sequence[str], language: Language) -> str:
    """Return a part of ``plain`` with the words of those times that belong to a name: "the January exam"."""

    def put(match: re.Match[str]) -> str:
        n = ord(match["time"]) - 0xE000
        named = n < len(times) and language.text["time_named"].match(times[n]) is not None
        return f"{match['of']}{times[n]}" if named else match[0]

    if not times:
        return text
    text = language.text["times_own"].sub(lambda match: times[ord(match[0]) - 0xE000], text)
    return language.text["time_of"].sub(put, text)


def _clause(raw: str, start: int, times: Sequence[TimeSpan], language: Language) -> Clause:
    left = len(raw) - len(raw.lstrip(_BLANK))
    raw = raw.strip(_BLANK)
    start += left
    end = start + len(raw)
    parts: list[str] = []
    surfaces: list[str] = []
    at = start
    for time in times:
        if start <= time.start and time.end <= end:
            surfaces.append(raw[time.start - start : time.end - start])
            parts += [raw[at - start : time.start - start], chr(0xE000 + len(surfaces) - 1)]
            at = time.end
    plain = "".join(parts) + raw[at - start :]
    plain = written_out(plain.replace("’", "'").replace(MASK, " ").strip(), language)
    plain = language.text["closing"].sub("", language.text["opening"].sub("", plain, count=1)).strip()
    plain = language.text["after_time_mark"].sub(lambda match: match["time"], plain)
    bare = plain
    if surfaces:
        plain = language.text["time_apart"].sub(r"\g<time>", plain)
        named = with_names(plain, surfaces, language)
        bare = " ".join(language.text["around_time"].sub(" ", named).split()).strip(" ,，")
        if not language.grammar.spaces:
            bare = bare.replace(" ", "") if bare.isascii() is False and not _LATIN.search(bare) else bare
    return Clause(start, end, raw, plain, bare, tuple(surfaces))


def self_answered(text: str, language: Language) -> str:
    """Return a text with a colon for the mark of a question that its speaker answers: "favourite film? Alien".

    Of a thing it is the sign for "is": "our queue? Kafka".
    """
    if "?" not in text:
        return text

    def put(match: re.Match[str]) -> str:
        at, end = (place - match.start() for place in match.span("mark"))
        return f"{match[0][:at]}:{' ' * (end - at - 1)}{match[0][end:]}"

    labelled = language.text["answered"].sub(put, text)
    return language.text["answered_label"].sub(
        lambda match: f"{match[0][:-1]}{'=' if match['thing'] else ':'}", labelled
    )


def with_capitals(text: str, language: Language, *, small: bool) -> str:
    """Return a text with the capitals of common names: "callum and i".

    ``small``: it has none, and gets those of any name that stands beside what one is: "my wife anna".
    """

    def put(match: re.Match[str]) -> str:
        at = match.start("small") - match.start()
        return f"{match[0][:at]}{match[0][at].upper()}{match[0][at + 1 :]}"

    text = language.text["small_known"].sub(put, text)
    return language.text["small_name"].sub(put, text) if small else text


def shorten_clause(clause: Clause, language: Language) -> Iterator[str]:
    """Return a clause without what is said beside it, the longest first: "I'm a roofer | up in the mines".

    Nothing where that could turn its sense (a negation, "in theory"), or where it speaks of nobody.
    """
    text, says = clause.bare, language.text
    if len(text) > MAX_SHORTENED or says["no_adjunct"].search(text) is not None:
        return
    if says["subject"].match(text) is None and says["alone"].match(text) is None:
        return
    for found in list(says["adjunct"].finditer(text))[: -_CUTS - 1 : -1]:
        yield text[: found.start()]


def written_out(text: str, language: Language) -> str:
    """Return a text with its contractions written out: "I'm" is "I am"."""
    short = language.text.get("short")
    if short is None:
        return text
    return short.sub(lambda match: language.normal.get(match[0].lower(), match[0]), text)


def with_times(text: str, clause: Clause) -> str:
    """Return a part of ``plain`` with the words of its times."""
    for n, surface in enumerate(clause.times):
        text = text.replace(chr(0xE000 + n), surface)
    return text


def without_times(text: str) -> str:
    """Return a part of ``plain`` without the characters for times."""
    return re.sub(f"[{TIMES}]", "", text)


def times_of(text: str, at: datetime) -> list[TimeSpan]:
    """Return the times of what is read of a message."""
    return find_times(text, at)[:200]
