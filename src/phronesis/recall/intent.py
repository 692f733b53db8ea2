"""Intent of a message, and whether a document is needed to answer it, decided by rules on the cues of its sentences.

A document is needed for a question about a document, tool, instrument, product, procedure or error, for technical
advice, and for a command that works on a file. It is not needed for what the user said or did, private matters,
notes, reminders and small talk. A sentence with cues of both kinds needs one only if the document is to be consulted
("in the manual", 手册里). A question that mentions no person is taken to be about the world.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import find_mentions
from phronesis.core.retrieval_plan import Intent
from phronesis.core.text import UNSPACED
from phronesis.recall.word_lists import UnitText, Words, load_lists, parse_words

# Parsing a message into sentences and clauses with their cues.

MAX_READ: Final = 4_000
"""Characters of a message that are read, half of them from its beginning and half from its end."""

FEW_WORDS: Final = 3
"""Number of words up to which a sentence is too short to be interpreted alone."""

BEFORE: Final = 5
AFTER: Final = 3
"""Units before and after the name of a document among which a word may say that it is consulted."""

MAX_SENTENCES: Final = 40
MAX_SENTENCE: Final = 500
"""Maximum number of sentences, and characters of each."""

_BREAK: Final = re.compile(r"(?<=[.!?;])(?=\s)|(?<=[。！？；])|\n")
_CLAUSE: Final = re.compile(r"(?<=[，,；;：:])(?:\s|(?<=[，；：]))|\s[-–—]{1,2}\s")
_FENCED: Final = re.compile(r"```.{0,4000}?(?:```|\Z)", re.DOTALL)
_CODE: Final = re.compile(
    r"^\s{0,40}(?:def|class|async def|import|from\s\S+\simport|return|function|const|let|var|public|private|static"
    r"|fn|func|impl|struct|enum|template|#include|package|using|namespace|lemma|theorem|example|instance|by$|select|insert\sinto"
    r"|update\s\S+\sset|create\stable|if\s?\(|for\s?\(|while\s?\(|@\w+)\b|[{};]\s*$|^\s{0,40}[)\]}]|^\s{2,40}\S+\s?=\s|=>|:=",
    re.IGNORECASE | re.MULTILINE,
)
_IDENTIFIER: Final = re.compile(
    r"`[^`\n]{2,80}`"
    r"|(?<![\w/])/(?:[\w.{}:-]{1,40}/){0,6}[\w.{}:-]{2,40}"  # /api/orders
    r"|(?<![\w.])[A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}){1,4}(?![\w@])(?:\(\))?"  # pandas.merge
    r"|(?<![\w-])--[a-z][\w-]{1,40}"  # --no-cache
    r"|(?<!\w)[A-Za-z]{1,30}_\w{1,40}(?!\w)"  # retry_limit
    r"|(?<!\w)(?:[A-Z][a-z0-9]{1,20}){2,5}[A-Z]{0,4}(?!\w)|(?<!\w)[A-Z][a-z0-9]{1,20}[A-Z]{2,4}(?!\w)"  # InfluxDB
    r"|(?<!\w)[a-z]{2,20}[A-Z]\w{1,30}(?!\w)"  # useState
    r"|(?<!\w)\w{1,30}\(\)",
    re.ASCII,  # adjacent characters may be Chinese
)
_FILE: Final = re.compile(
    r"https?://\S{3,300}|\bwww\.\S{3,200}|(?<![\w/])(?:[\w.~-]{1,60}/){1,10}[\w.-]{1,60}\.[A-Za-z]\w{0,5}(?!\w)"
    r"|(?<![\w.])[\w\u4e00-\u9fff-]{1,60}\.(?:md|txt|pdf|docx?|xlsx?|pptx?|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|env|log|html?|xml|rst"
    r"|tex|bib|ipynb|py|pyi|js|jsx|ts|tsx|java|kt|go|rs|c|h|cc|cpp|hpp|cs|rb|php|sh|ps1|bat|sql|lean|v|thy|r|jl|m|swift"
    r"|scala|vue|css|scss|tf|gradle|lock|proto|cif|vasp|xyz|pdb|fasta|eml|zip|gz|tar)(?![\w])"
    r"|(?<!\w)(?:Dockerfile|Makefile|README|CHANGELOG|LICENSE|CONTRIBUTING|docker-compose)(?!\w)",
    re.ASCII,
)
_CURRENCY: Final = re.compile(r"\b(?:e\.g|i\.e|a\.m|p\.m|u\.s|u\.k|node\.js)\b", re.IGNORECASE)
_MARKS: Final = " \t.,;:!?~…。，！？、～)("
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_LATIN: Final = re.compile(rf"[^\W\d_{UNSPACED}]+")


@load_once
def load_words() -> Mapping[str, Words]:
    """Return the lists that are installed with the package, read at the first message."""
    return {name: parse_words(words) for name, words in load_lists("words.toml")["words"].items()}


@dataclass(frozen=True)
class Sentence:
    """One sentence; its words are looked up on first use."""

    text: str

    @cached_property
    def low(self) -> str:
        """The text in lower case."""
        return " ".join(self.text.casefold().split())

    @cached_property
    def read(self) -> UnitText:
        """The text as the units that lists of words are matched with."""
        return UnitText(self.text)

    def shows(self, name: str) -> bool:
        """Return whether it has a word of a list."""
        return self.read.has(load_words()[name])

    def begins(self, *names: str) -> bool:
        """Return whether it, or one of its clauses, begins with a word of these lists, after words of courtesy."""
        return any(part.begins_itself(names) for part in self.clauses)

    def begins_itself(self, names: Sequence[str]) -> bool:
        """Return whether its first words are of these lists, after words of courtesy."""
        words = load_words()
        starts = [start for name in names for start, _ in self.read.places(words[name])]
        polite = self.read.within(words["polite"])
        first = next((n for n in range(len(self.read.units)) if n not in polite), None)
        return first in starts or (0 in starts)

    @cached_property
    def asks(self) -> bool:
        """Return whether it is a question, or a command to find or tell something."""
        return self.low.endswith(("?", "？")) or self.shows("question") or self.begins("begins")

    @cached_property
    def mine(self) -> bool:
        """Return whether the user speaks of himself: "how do I" and 帮我 do not count."""
        words = load_words()
        taken = self.read.within(words["impersonal"])
        return any(start not in taken for start, _ in self.read.places(words["mine"]))

    @cached_property
    def consults(self) -> bool:
        """Return whether a document is to be looked into: one is named beside such a word, or a file is."""
        if self.shows("thing"):
            return self.file and not self.shows("recall")
        words = load_words()
        cites, says = self.read.within(words["cites"]), self.read.within(words["says"])
        return self.file or any(
            not (cites.isdisjoint(range(start - BEFORE, start)) and says.isdisjoint(range(end, end + AFTER)))
            for start, end in self.read.places(words["doc"])
        )

    @cached_property
    def looks_back(self) -> bool:
        """Return whether it speaks of what was: by a listed word, or a verb in the past."""
        ended = (self.read.surface(n).lower() for n in range(len(self.read.units)))
        return self.shows("behind") or any(
            word.endswith("ed") and len(word) > len("need") and word not in ("planned", "scheduled", "booked")
            for word in ended
        )

    @cached_property
    def file(self) -> bool:
        """Return whether it names a file or an address."""
        return _FILE.search(self.text) is not None

    @cached_property
    def identifier(self) -> bool:
        """Return whether it contains a name of code, an option or an API path."""
        return _IDENTIFIER.search(_CURRENCY.sub(" ", self.text)) is not None

    @cached_property
    def words(self) -> int:
        """The number of words: spaced ones, and two Chinese characters for one."""
        return len(_LATIN.findall(self.text)) + (len(_HAN.findall(self.text)) + 1) // 2

    @cached_property
    def clauses(self) -> Sequence["Sentence"]:
        """Its parts between commas."""
        found = [part.strip() for part in _CLAUSE.split(self.text) if part.strip()]
        return [Sentence(part) for part in found] if len(found) > 1 else [self]


@dataclass(frozen=True)
class Message:
    """A parsed message, without its code blocks."""

    text: str
    sentences: Sequence[Sentence]
    code: bool


def read_message(text: str) -> Message:
    """Split a message into sentences, without blocks of code; ``code``: it contains nothing else."""
    read = excerpt(text)
    plain = _FENCED.sub("\n", read) if "```" in read else read
    lines = [line for line in plain.split("\n") if line.strip()]
    # A single line that looks like code may be prose about it; among several, such lines are code.
    said = [line for line in lines if len(lines) == 1 or _CODE.search(line) is None]
    parts = [part.strip() for line in said for part in _BREAK.split(line) if part.strip(_MARKS)]
    half = MAX_SENTENCES // 2
    sentences = [Sentence(part[:MAX_SENTENCE]) for part in (*parts[:half], *parts[half:][-half:])]
    line = lines[0] if len(lines) == 1 else ""
    is_code = _CODE.search(line) is not None and not Sentence(line).asks and _HAN.search(line) is None
    return Message(read, sentences, bool(read.strip()) and (not sentences or is_code))


def identifiers(text: str) -> list[tuple[int, str]]:
    """Return names of code, options and API paths, with their positions."""
    return [
        (match.start(), match[0].strip("`"))
        for match in _IDENTIFIER.finditer(_CURRENCY.sub(lambda found: " " * len(found[0]), text))
    ]


def excerpt(text: str, most: int = MAX_READ) -> str:
    """Return a text whole, or its beginning and end if it is longer than ``most``."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-(most // 2) :]}"


def language_of(text: str) -> str:
    """Return ``zh``, ``en`` or ``und``: the main language of a message.

    Chinese if there are at least as many Han characters as spaced words, since tools keep Latin names in Chinese text.
    Any other text in Latin letters is English.
    """
    read = excerpt(text)
    han, words = len(_HAN.findall(read)), len(_LATIN.findall(read))
    return "zh" if han and han >= words else "en" if words else "und"


@dataclass(frozen=True, slots=True)
class SentenceIntent:
    """The intent of a sentence, whether it needs a document, and why."""

    sentence: Sentence
    intent: Intent
    needs: bool
    reason: str

    @property
    def is_question(self) -> bool:
        """Return whether the sentence asks for information."""
        return self.intent != "chat"


@dataclass(frozen=True, slots=True)
class MessageIntent:
    """The intent of a whole message, with its sentences."""

    intent: Intent
    needs: bool
    reasons: Sequence[str]
    sentences: Sequence[SentenceIntent]


def decide(message: Message) -> MessageIntent:
    """Judge a message: it needs documents if one of its sentences does; its intent is that of the main sentence."""
    if message.code:
        error = Sentence(message.text[:2000])
        if error.shows("error"):
            return MessageIntent("how_to", True, ("an error: what it means stands in documents",), ())
        return MessageIntent("chat", False, ("code without a word: nothing is asked",), ())
    judged = _in_company([judge(sentence) for sentence in message.sentences])
    needing = [one for one in judged if one.needs]
    asked = needing or [one for one in judged if one.is_question]
    intent: Intent = asked[-1].intent if asked else "chat"  # earlier sentences lead up to the last
    reasons = list(dict.fromkeys(one.reason for one in (asked or judged)))
    return MessageIntent(intent, bool(needing), tuple(reasons[:4]) or ("nothing is asked",), judged)


def _in_company(judged: Sequence[SentenceIntent]) -> list[SentenceIntent]:
    """Adjust sentences by context: text after "translate …" is data; an error alone is a question."""
    out = list(judged)
    asks = any(one.is_question for one in judged)
    for n, one in enumerate(judged):
        if one.intent == "act" and not one.needs and n == 0 and one.sentence.shows("text_work"):
            return [one]  # the rest is the text to work on
        if not one.is_question and not asks and one.sentence.shows("fault") and _is_of_a_thing(one.sentence):
            out[n] = SentenceIntent(one.sentence, "how_to", True, "something does not work")
    return out


_Verdict = tuple[Intent, bool, str]
"""An intent, whether a document is needed, and the reason."""


def judge(one: Sentence) -> SentenceIntent:
    """Judge one sentence."""
    for rule in (_error, _command, _small_talk, _personal, _document, _technical, _private):
        found = rule(one)
        if found is not None:
            return SentenceIntent(one, *found)
    if one.asks and one.words > FEW_WORDS + 2 * one.shows("follow"):  # "and that one?"
        return SentenceIntent(one, _wanted(one, "lookup"), True, "a question that is about nobody here")
    if one.asks:
        return SentenceIntent(one, "recall", False, "a short question about what was said before")
    return SentenceIntent(one, "chat", False, "nothing is asked")


def _is_of_a_thing(one: Sentence) -> bool:
    return one.shows("tech") or one.identifier or one.file


def _error(one: Sentence) -> _Verdict | None:
    if not one.shows("error") or (one.shows("recall") and not one.identifier):
        return None
    plain = one.asks and not one.shows("how_to") and one.shows("means")
    return "lookup" if plain else "how_to", True, "an error: what it means stands in documents"


def _command(one: Sentence) -> _Verdict | None:
    if one.asks and not one.low.startswith(("can you", "could you", "please")):
        return None
    if one.shows("text_work") and not one.file:
        return "act", False, "the text to work on stands in the message"
    chinese = one.text.startswith(("把", "给", "请把", "请给", "帮我把", "帮我给")) and one.shows("in_chinese_act")
    change = one.begins_itself(["change_it"]) or (chinese and one.shows("change_it")) or one.shows("added")
    if not change and (one.begins_itself(["act"]) or one.shows("anywhere") or chinese):
        return "act", False, "something to note or to do"
    if not change and not one.begins_itself(["make"]) and not one.shows("make_anywhere"):
        return None
    if one.shows("recall") and not one.file:
        return "act", False, "it is made from what was said"
    if one.file or one.consults or (change and (_is_of_a_thing(one) or one.shows("doc"))):
        return "act", True, "what is to be worked on stands in a file or document"
    return "act", False, "something to make, from what is said"


def _small_talk(one: Sentence) -> _Verdict | None:
    if one.shows("chat") and not one.consults and not one.shows("how_to"):
        return "chat", False, "small talk"
    if one.asks or one.shows("how_to") or one.shows("advise"):
        return None
    if one.file and Sentence(_FILE.sub(" ", one.text)).words <= FEW_WORDS:
        return "lookup", True, "a file or address is given"
    return "chat", False, "something is told"


def _personal(one: Sentence) -> _Verdict | None:
    """Judge a sentence about the user and the assistant: it needs a document only if one is consulted too."""
    if not one.shows("recall"):
        return None
    if one.consults:
        return _wanted(one, "lookup"), True, "a document is asked beside what was said"
    if one.shows("how_to") and (one.shows("tech") or one.shows("rule")) and not one.mine:
        return None
    return _wanted(one, "recall"), False, "it asks what was said or done"


def _document(one: Sentence) -> _Verdict | None:
    if one.consults:
        return _wanted(one, "lookup"), True, "a document, file or address is asked"
    if one.shows("doc") and not one.shows("thing"):
        return _wanted(one, "lookup"), True, "a document is named"
    return None


def _technical(one: Sentence) -> _Verdict | None:
    """Judge a sentence about tools, instruments, products or procedures: it needs documents."""
    of_things = one.shows("tech") or one.identifier
    if one.shows("life") and not of_things:
        return None
    if of_things and (not one.mine or one.shows("how_to") or one.shows("fault")):
        return _wanted(one, "lookup"), True, "how a tool, instrument or product works stands in documents"
    if one.shows("rule") and (not one.mine or one.shows("how_to")):
        return _wanted(one, "lookup"), True, "rules and procedures stand in documents"
    return None


def _private(one: Sentence) -> _Verdict | None:
    # A capitalised name may be a person's.
    named = not one.shows("how_to") and any(name.kind in ("name", "handle") for name in find_mentions(one.text))
    if named or one.mine or one.shows("life"):
        return _wanted(one, "recall"), False, "it is about the user and those around"
    if one.shows("advise") and not one.shows("how_to"):
        return "advise", False, "counsel on what is no matter of documents"
    return None


def _wanted(one: Sentence, otherwise: Intent) -> Intent:
    """Return the intent that the words name, or ``otherwise``."""
    if one.shows("change"):
        return "change"
    if one.shows("fault") and otherwise != "recall" and (one.shows("advise") or one.shows("how_to")):
        return "how_to"
    if one.shows("advise") and not (otherwise == "recall" and one.looks_back):
        return "advise"
    if one.shows("how_to") and otherwise != "recall":
        return "how_to"
    return otherwise
