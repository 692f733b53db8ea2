"""What the reader of messages learns from: labelled turns as examples, and turns made of them.

A labelled turn is a message with every memory in it (benchmarks/data). Beside the turns as they are, the reader learns
from turns with other values of the same keys, from two turns in one message, from turns inside a text that is quoted or
handed over, and from the templates of ``reader_templates.toml``: negations, the past, fragments, short answers.
"""

import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

from phronesis.models.reader.network import FAMILIES, OLD, SUBJECT, WORD, Labels
from phronesis.models.reader.token_encoder import Tokens

NO_CLASS: Final = -1
"""The gate of a turn whose label does not say why nothing is to be remembered."""

UNCOUNTED: Final = -1
"""What is pointed at where that does not count."""

MAX_BEFORE: Final = 48
"""Tokens of what the assistant said before."""

FILLED: Final = 3
"""How often a template is filled in a round."""

NAMES: Final = ("profile/name", "profile/friend", "profile/colleague")
"""Keys whose values are put for the names of others."""

EXCHANGED: Final = 0.4
FOREIGN: Final = 0.6
EVEN: Final = 0.5
LONGEST: Final = 40
SHORT: Final = 70
"""How likely a turn has other values, a framed one is another's words, and the writer's statement comes first;
characters of a value put into a text, and of a statement that is joined with another."""


@dataclass(slots=True)
class Example:
    """One message as numbers: its tokens, and per token the tag, the signs and what it points at."""

    ids: list[int]
    tags: list[int]
    signs: list[tuple[float, float]]
    counted: list[float]
    """1 for each token of a value: its signs count."""
    points: list[tuple[int, int, int]]
    """Per token, the token at which whose, word and replaced point; -1: it does not count."""
    gate: int = NO_CLASS
    holds: int = 0
    read_from: int = 1
    """The first token of the message itself: what stands before is what the assistant said."""

    @classmethod
    def empty(cls, ids: list[int], *, read_from: int) -> Self:
        """Return an example of which nothing is said yet."""
        size = len(ids)
        points = [(UNCOUNTED, UNCOUNTED, UNCOUNTED)] * size
        return cls(ids, [0] * size, [(0.0, 0.0)] * size, [0.0] * size, points, read_from=read_from)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, what is to be remembered of it, and what the assistant had said before."""

    text: str
    expect: Sequence[Mapping[str, Any]]
    gate: str | None = None
    before: str = ""


def load_turns(paths: Sequence[Path]) -> list[Turn]:
    """Return the turns of the split ``dev`` of the files that the user or a tool said."""
    turns = []
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["split"] != "dev" or row["role"] == "assistant" or not row["text"].strip():
                continue
            own = row["name"] if row["role"] == "user" else None
            labels = [{**one, "subject": "user"} if one["subject"] == own else one for one in row["expect"]]
            turns.append(Turn(row["text"], labels, row["gate"]))
    return turns


def is_chinese(text: str) -> bool:
    """Return whether a text holds Chinese letters."""
    return any("一" <= letter <= "鿿" for letter in text)


@dataclass(slots=True)
class Augmenter:
    """Makes turns of turns, with the numbers of one generator."""

    turns: Sequence[Turn]
    seed: int = 0
    dice: random.Random = field(init=False)
    values: dict[tuple[bool, str], list[str]] = field(init=False)
    templates: Mapping[str, Any] = field(init=False)
    short: dict[bool, list[Turn]] = field(init=False)
    """Short statements: those of others, and those of the writer."""

    def __post_init__(self) -> None:
        """Collect the values of each key."""
        self.dice = random.Random(self.seed)  # noqa: S311 - an order of examples, no secret
        self.values = {}
        for turn in self.turns:
            for label in turn.expect:
                key = (is_chinese(turn.text), name_of(label))
                self.values.setdefault(key, []).append(str(label["value"]))
        self.short = {True: [], False: []}
        for turn in self.turns:
            if turn.expect and len(turn.text) <= SHORT and not turn.text.rstrip().endswith(("?", "？")):
                self.short[any(label["subject"] != "user" for label in turn.expect)].append(turn)
        page = files("phronesis_benchmarks") / "reader_templates.toml"
        self.templates = tomllib.loads(page.read_text("utf-8"))

    def round(self) -> list[Turn]:
        """Return the turns of one round of learning: each once, some changed, and made ones beside them."""
        out = [self.exchanged(turn) if self.dice.random() < EXCHANGED else turn for turn in self.turns]
        out += [self.joined() for _ in range(len(self.turns) // 10)]
        out += [self.coordinated() for _ in range(len(self.turns) // 8)]
        out += [self.wrapped() for _ in range(len(self.turns) // 12)]
        out += [*self.filled(), *self.of_others(1)]
        self.dice.shuffle(out)
        return out

    def exchanged(self, turn: Turn) -> Turn:
        """Return a turn with other values of the same keys, where they stand in the text once."""
        text, labels = turn.text, [dict(label) for label in turn.expect]
        for label in labels:
            old = str(label["value"])
            new = self.dice.choice(self.values[is_chinese(turn.text), name_of(label)])
            others = [f"{one['value']} {one['subject']} {one['key']} {one.get('replaces')}" for one in labels]
            others.remove(f"{old} {label['subject']} {label['key']} {label.get('replaces')}")
            if len(new) > LONGEST or text.count(old) != 1 or new in text or any(old in one for one in others):
                continue
            text, label["value"] = text.replace(old, new), new
        return Turn(text, labels, turn.gate)

    def joined(self) -> Turn:
        """Return two turns of one language as one message."""
        one = self.dice.choice(self.turns)
        other = self.dice.choice(self.turns)
        while is_chinese(other.text) != is_chinese(one.text):
            other = self.dice.choice(self.turns)
        ended = one.text.rstrip()[-1:] in ".!?。！？…~"
        gap = self.dice.choice(["", "\n"] if is_chinese(one.text) else [" ", "\n"])
        if not ended:
            gap = ("。" if is_chinese(one.text) else ". ") + gap.strip(" ")
        labels = [*one.expect, *other.expect]
        return Turn(one.text.rstrip() + gap + other.text, labels, None if labels else one.gate)

    def coordinated(self) -> Turn:
        """Return two short statements, of which one is of somebody else where there is such a one, as one sentence."""
        one = self.dice.choice(self.short[False] or self.turns)
        chinese = is_chinese(one.text)
        among = [turn for turn in self.short[True] if is_chinese(turn.text) == chinese]
        other = self.dice.choice(among or [one])
        pair = [one, other] if self.dice.random() < EVEN else [other, one]
        first, second = (turn.text.strip().rstrip(".。!！") for turn in pair)
        if chinese:
            text = first + self.dice.choice(["，", "，", "，而", "，不过"]) + second + "。"
        else:
            second = second if second.startswith(("I ", "I'")) else second[:1].lower() + second[1:]
            text = first + self.dice.choice([", and ", " and ", ", but ", "; "]) + second + "."
        return Turn(text, [*one.expect, *other.expect])

    def wrapped(self) -> Turn:
        """Return a turn inside a frame: another's words or a text handed over, which hold nothing, or one's own."""
        turn = self.dice.choice(self.turns)
        while not turn.expect:
            turn = self.dice.choice(self.turns)
        frames = self.templates["zh" if is_chinese(turn.text) else "en"]
        if self.dice.random() < FOREIGN:
            return Turn(self.dice.choice(frames["foreign"]).replace("{}", turn.text), (), "quotation")
        return Turn(self.dice.choice(frames["own"]).replace("{}", turn.text), turn.expect)

    def stated(self, times: int) -> Iterator[Turn]:
        """Yield the templates of statements, each some times with other values."""
        for code in ("en", "zh"):
            for line in self.templates[code]["lines"] * times:
                turn = self._filled(line, chinese=code == "zh")
                if turn is not None:
                    yield turn

    def of_others(self, times: int) -> Iterator[Turn]:
        """Yield the templates of what is said of somebody by name, each some times with other names and values."""
        for code in ("en", "zh"):
            names = [name for key in NAMES for name in self.values.get((code == "zh", key), ())]
            for line in self.templates[code]["others"] * times if names else ():
                name = self.dice.choice(names)
                turn = self._filled(line.replace("{}", name), chinese=code == "zh", other=name)
                if turn is not None:
                    yield turn

    def filled(self) -> Iterator[Turn]:
        """Yield all templates, each some times with other values."""
        yield from self.stated(FILLED)
        for code in ("en", "zh"):
            for asked, key in self.templates[code]["questions"]:
                for _ in range(FILLED if (code == "zh", key) in self.values else 0):
                    yield self._answered(asked, key, code)
            names = [one for chinese, one in self.values if chinese == (code == "zh")]
            for asked in self.templates[code]["quizzes"] if names else ():
                name = self.dice.choice(names)
                value = self.dice.choice(self.values[code == "zh", name])
                ending = self.dice.choice(["", "。" if code == "zh" else "."])
                yield Turn(value + ending, (), "chit_chat", before=asked)
        for values in self.values.values():
            for value in self.dice.sample(values, min(len(values), 12)):
                yield Turn(value + self.dice.choice(["", ".", "!", "?"]), (), "chit_chat")

    def _answered(self, asked: str, key: str, code: str) -> Turn:
        kind, _, word = key.partition("/")
        value = self.dice.choice(self.values[code == "zh", key])
        frame = self.dice.choice(self.templates[code]["answers"])
        label = {"kind": kind, "subject": "user", "key": word, "value": value}
        return Turn(frame.replace("{}", value), [label], before=asked)

    def _filled(self, line: str, *, chinese: bool, other: str = "user") -> Turn | None:
        """Fill ``[kind/key]``, ``[@…]`` (of another), ``[-…]`` (retracted) and ``[~…]`` (not to be remembered)."""
        text, labels, rest = "", [], line
        while "[" in rest:
            before, _, rest = rest.partition("[")
            named, _, rest = rest.partition("]")
            sign = named[0] if named[0] in "-~@" else ""
            key = named.removeprefix(sign)
            among = self.values.get((chinese, key))
            if not among:
                return None
            value = self.dice.choice(among)
            text += before + value
            if sign != "~":
                kind, _, word = key.partition("/")
                label = {"kind": kind, "subject": other if sign == "@" else "user", "key": word, "value": value}
                labels.append(label | {"act": "retract"} if sign == "-" else label)
        return Turn(text + rest, labels, None if labels else "chit_chat")


def name_of(label: Mapping[str, Any]) -> str:
    """Return the name of a label's tag: its kind and key, of a family without its word."""
    family, _, _ = str(label["key"]).partition(".")
    return f"{label['kind']}/{family if family in FAMILIES else label['key']}"


def encode(turn: Turn, tokenize: Callable[[str], Tokens], labels: Labels, ends: tuple[int, int]) -> Example:
    """Return a turn as an example; ``ends`` are the numbers of the tokens that begin and end a text."""
    begin, end = ends
    seen = tokenize(turn.text)
    asked = [*list(tokenize(turn.before).ids)[-MAX_BEFORE:], end] if turn.before else []
    first = 1 + len(asked)
    ids = [begin, *asked, *seen.ids, end]
    example = Example.empty(ids, read_from=first)
    marking = _Marking(turn.text.casefold(), seen, first, example, labels)
    spans = [(label, marking.place(str(label["value"]))) for label in turn.expect]
    for label, span in spans:
        marking.mark(span, name_of(label))
    for label, span in spans:
        if span:
            marking.describe(label, span)
    example.holds = int(bool(turn.expect))
    if turn.gate in labels.gates or turn.gate is None:
        example.gate = labels.gate(turn.gate)
    return example


@dataclass(slots=True)
class _Marking:
    """Writes into an example what the labels say of the tokens of a text."""

    low: str
    seen: Tokens
    first: int
    example: Example
    labels: Labels
    taken: list[tuple[int, int]] = field(default_factory=list)

    def place(self, words: str) -> range:
        """Return the tokens of a value at its first place that no other value has taken."""
        free = (
            at
            for at in self._places(words)
            if all(stop <= at or at + len(words) <= start for start, stop in self.taken)
        )
        at = next(free, None)
        if at is None:
            return range(0)
        self.taken.append((at, at + len(words)))
        return self._tokens(at, at + len(words))

    def beside(self, words: str, span: range) -> range:
        """Return the tokens of words at the last place before a value, or at the first behind it."""
        near = self.seen.starts[span.start - self.first]
        places = self._places(words)
        before = [at for at in places if at <= near]
        at = before[-1] if before else places[0] if places else None
        return range(0) if at is None else self._tokens(at, at + len(words))

    def _places(self, words: str) -> list[int]:
        words, found, at = words.casefold(), [], -1
        while words and (at := self.low.find(words, at + 1)) >= 0:
            found.append(at)
        return found

    def _tokens(self, start: int, end: int) -> range:
        inside = [n for n in range(len(self.seen)) if self.seen.starts[n] < end and start < self.seen.ends[n]]
        return range(self.first + inside[0], self.first + inside[-1] + 1) if inside else range(0)

    def mark(self, span: range, name: str) -> None:
        """Tag the tokens of a span, unless one has a tag."""
        if any(self.example.tags[n] for n in span):
            return
        for n in span:
            self.example.tags[n] = self.labels.tag("B" if n == span.start else "I", name)

    def describe(self, label: Mapping[str, Any], span: range) -> None:
        """Write the signs of a value, and what it points at."""
        word = old = UNCOUNTED
        whose = 0 if label["subject"] == "user" else self._pointed(str(label["subject"]), span, SUBJECT)
        family, _, about = str(label["key"]).partition(".")
        if family in FAMILIES and about:
            word = self._pointed(about, span, WORD)
        retracted = label.get("act") == "retract"
        if not retracted:
            old = max(0, self._pointed(str(label.get("replaces") or ""), span, OLD))
        for n in span:
            self.example.signs[n] = (float(retracted), float(bool(label.get("done"))))
            self.example.counted[n] = 1.0
        self.example.points[span.start] = (whose, word, old)

    def _pointed(self, words: str, span: range, tag: str) -> int:
        found = self.beside(words, span)
        self.mark(found, tag)
        return found.start if found else UNCOUNTED
