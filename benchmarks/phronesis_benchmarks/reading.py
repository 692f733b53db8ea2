"""How well running conversations are read, by any configured model (``phronesis bench reading``).

A conversation is a JSON object a line: ``{"id", "language", "author", "turns": [{"session", "at", "messages",
"memories", "optional"}]}``. A memory is ``{"ref", "subject", "value", "also", "about", "does", "of"}``: ``does`` says
whether it is new, or replaces, refines, ends, completes or repeats those named in ``of``. A stored item matches a label
of the same subject when the words of the one are among those of the other. What is stored and is neither expected nor
optional is wrong. The labelled turns of ``phronesis bench extraction`` are read as conversations of one turn.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from phronesis import Memory
from phronesis.config import Policy
from phronesis.conversation.extraction.context import BUDGET, estimate_tokens
from phronesis.core.items import Item
from phronesis.core.statements import STATED
from phronesis.core.timestamps import parse_moment
from phronesis.index.tokens import tokenize
from phronesis.models.text_features import has_han
from phronesis.wiring import read_settings
from phronesis_benchmarks.cassette import played
from phronesis_benchmarks.records import read_rows, render_table

SHARED: Final = 0.6
"""Share of the shorter text's words that both must have to say the same."""

ABOUT: Final = 0.5
"""The same, of a whole sentence that tells what a label is about."""

_INSTRUCTIONS: Final = 1_300
_ANSWER: Final = 250
"""Tokens of the instructions and of an answer, about."""

STORING: Final = frozenset({"new", "replaces", "refines"})
ENDING: Final = frozenset({"replaces", "ends", "completes"})


@dataclass(slots=True, kw_only=True)
class ReadingScore:
    """Counts of one set of conversations."""

    name: str
    turns: int = 0
    stored: int = 0
    right: int = 0
    wanted: int = 0
    found: int = 0
    empty: int = 0
    empty_kept: int = 0
    changes: int = 0
    changes_seen: int = 0
    touched: int = 0
    degraded: int = 0
    differing: int = 0
    """Conversations whose replay gives another state."""

    def add(self, other: "ReadingScore") -> None:
        """Add the counts of another set."""
        for one in fields(self):
            if one.name != "name":
                setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def row(self) -> Sequence[object]:
        """Return the counts as cells of a table."""
        pairs = (
            (self.right, self.stored),
            (self.found, self.wanted),
            (self.empty_kept, self.empty),
            (self.changes_seen, self.changes),
        )
        shares = (_share(part, whole) for part, whole in pairs)
        return self.name, self.turns, *shares, self.touched, self.degraded


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingReport:
    """The scores by language, what the calls cost, and what the cassette lacked."""

    scores: tuple[ReadingScore, ...]
    calls: int
    tokens_per_message: float
    missed: int
    mistakes: tuple[Mapping[str, Any], ...] = ()

    def to_markdown(self) -> str:
        """Return a table."""
        head = ("set", "turns", "precision", "recall", "empty kept empty", "changes seen", "wrongly ended", "by rules")
        table = render_table(head, (score.row() for score in self.scores))
        cost = f"{self.calls} calls, {self.tokens_per_message:.0f} tokens a message besides the instructions"
        differing = self.scores[-1].differing
        cost += f"; the replay of {differing} conversations differs" if differing else "; every replay gives the same"
        missed = f"\n{self.missed} requests are not on the cassette: the prompt or the data changed" * bool(self.missed)
        return f"{table}\n\n{cost}{missed}"


def run_reading(
    data: Sequence[Path],
    *,
    policy: Path | None,
    cassette: Path | None = None,
    record: bool = False,
    bulk: bool = False,
    split: str | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> ReadingReport:
    """Read conversations turn by turn in stores of their own, and compare.

    ``cassette`` plays recorded answers of the model that ``policy`` names for ``extract``; with ``record`` what is not
    on it is asked and added, so that an interrupted run goes on. ``bulk`` adds a conversation at once and lets the
    background read it.
    """
    conversations = [
        one for path in data for one in load_conversations(path) if split is None or one.get("split", split) == split
    ]
    given = Policy() if policy is None else read_settings("sqlite://", tenant=None, policy=policy).policy
    scores: dict[str, ReadingScore] = {}
    mistakes: list[Mapping[str, Any]] = []
    role = given.role("extract")
    at_once = 1 if role is None else given.gateways[role.gateway].concurrency
    with played(given, ("extract",), cassette, record=record) as (used, player), ThreadPoolExecutor(at_once) as pool:

        def read(conversation: Mapping[str, Any]) -> _Run:
            run = _Run(conversation, used)
            run.read(bulk=bulk)
            return run

        for i, run in enumerate(pool.map(read, conversations), start=1):
            if on_progress is not None:
                on_progress("conversations read", i, len(conversations))
            language = run.conversation["language"]
            scores.setdefault(language, ReadingScore(name=language)).add(run.score)
            mistakes += run.mistakes
    total = ReadingScore(name="all")
    for score in scores.values():
        total.add(score)
    messages = sum(len(turn["messages"]) for one in conversations for turn in one["turns"])
    return ReadingReport(
        scores=(*scores.values(), total),
        calls=0 if player is None else player.calls,
        tokens_per_message=0.0 if player is None else player.data_tokens / max(1, messages),
        missed=0 if player is None else player.missed,
        mistakes=tuple(mistakes),
    )


def estimate(data: Sequence[Path]) -> str:
    """Return what reading these conversations costs, about."""
    turns = [turn for path in data for one in load_conversations(path) for turn in one["turns"]]
    said = sum(estimate_tokens(message["content"]) for turn in turns for message in turn["messages"])
    prompts = said + len(turns) * (BUDGET // 2 + _INSTRUCTIONS)
    return (
        f"at most {len(turns)} calls, about {prompts:,} tokens of prompts ({len(turns) * _INSTRUCTIONS:,} of them the"
        f" instructions, which servers cache) and {len(turns) * _ANSWER:,} of answers"
    )


def load_conversations(path: Path) -> list[dict[str, Any]]:
    """Return the labelled conversations of a file; InputError names the line that cannot be read."""

    def checked(one: dict[str, Any]) -> dict[str, Any]:
        one = _as_conversation(one) if "expect" in one else one
        for turn in one["turns"]:
            parse_moment(turn["at"], field="at")
            _ = turn["messages"], [(label["value"], label["does"]) for label in turn["memories"]]
        return one

    return read_rows(path, checked, what="conversation")


def _as_conversation(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a labelled turn (``phronesis bench extraction``) as a conversation of one turn."""
    does = {"retract": "ends"}
    memories = [
        {
            "ref": f"m{i}",
            "subject": label["subject"],
            "value": label["value"],
            "does": "completes" if label.get("done") else does.get(label.get("act", ""), "new"),
            "of": [],
        }
        for i, label in enumerate(one["expect"])
    ]
    message = {"role": one["role"], "content": one["text"], **({"name": one["name"]} if one.get("name") else {})}
    turn = {"session": "s", "at": one["at"], "messages": [message], "memories": memories}
    language = "zh" if has_han(one["text"]) else "en"
    return {"id": one["id"], "language": language, "split": one["split"], "turns": [turn]}


@dataclass(slots=True)
class _Run:
    """One conversation in a store of its own."""

    conversation: Mapping[str, Any]
    policy: Policy
    score: ReadingScore = field(default_factory=lambda: ReadingScore(name=""))
    mistakes: list[Mapping[str, Any]] = field(default_factory=list)
    _known: dict[str, set[str]] = field(default_factory=dict)
    """The items that hold a label, by its name."""
    _labels: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _now: datetime | None = None

    def read(self, *, bulk: bool) -> None:
        """Read the turns and compare; the store is removed."""
        folder = Path(tempfile.mkdtemp(prefix="phronesis-reading-"))
        try:
            with Memory.open(f"sqlite:///{folder / 'm.db'}", policy=self.policy, clock=self._clock) as memory:
                if bulk:
                    self._read_all(memory)
                else:
                    for turn in self.conversation["turns"]:
                        self._turn(memory, turn)
                self.score.differing = int(not memory.admin.rebuild(verify=True).equal)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _clock(self) -> datetime:
        return self._now or parse_moment(self.conversation["turns"][0]["at"], field="at")

    def _commit(self, memory: Memory, turn: Mapping[str, Any], *, wait: bool = True) -> bool:
        self._now = parse_moment(turn["at"], field="at")
        messages = [{**message, "created_at": turn["at"]} for message in turn["messages"]]
        done = memory.commit_turn(turn["session"], {"messages": messages}, user_id="u", wait=wait)
        return bool(done.degraded)

    def _read_all(self, memory: Memory) -> None:
        for turn in self.conversation["turns"]:
            self._commit(memory, turn, wait=False)
        memory.flush()
        # Only the end is compared: what is to hold, and what is to hold no longer.
        turns = self.conversation["turns"]
        after = _items(memory)
        labels = [label for turn in turns for label in turn["memories"]]
        gone = {name for label in labels if label["does"] in ENDING for name in label["of"]}
        live = [item for item in after.values() if item.live]
        current = [label for label in labels if label["does"] in STORING and label["ref"] not in gone]
        optional = [one for turn in turns for one in turn.get("optional", ())]
        self._score_stored(live, {**turns[-1], "memories": labels, "optional": optional}, current)
        self.score.turns = len(turns)
        speakers = self._speakers(turns)
        stale = [item for item in live if not any(_matches(item, label, speakers) for label in (*current, *optional))]
        for label in labels:
            if label["ref"] in gone:
                self.score.changes += 1
                self.score.changes_seen += not any(_matches(item, label, speakers) for item in stale)

    def _turn(self, memory: Memory, turn: Mapping[str, Any]) -> None:
        before = _items(memory)
        self.score.degraded += self._commit(memory, turn)
        after = _items(memory)
        touched = [item for name, item in after.items() if before.get(name) != item]
        written = [one for one in touched if one.id not in before or one.content != before[one.id].content]
        closed = {one.id for one in touched if one.id in before and before[one.id].live and not one.live}
        labels = turn["memories"]
        self.score.turns += 1
        self.score.empty += not labels
        wrong = self.score.stored - self.score.right
        matched = self._score_stored(written, turn, [one for one in labels if one["does"] in STORING], after)
        self.score.empty_kept += not labels and self.score.stored - self.score.right == wrong
        for label in labels:
            own = {item.id for item, label_ in matched if label_ is label}
            if label["does"] == "repeats":
                own |= set().union(*(self._known.get(name, set()) for name in label["of"]))
            self._known[label["ref"]] = own
            self._labels[label["ref"]] = label
        self._score_changes(turn, before, after, closed, {item.id for item in written})

    def _score_stored(
        self,
        written: Sequence[Item],
        turn: Mapping[str, Any],
        wanted: Sequence[Mapping[str, Any]],
        held: Mapping[str, Item] | None = None,
    ) -> list[tuple[Item, Mapping[str, Any]]]:
        speakers = self._speakers([turn])
        matched = [(item, label) for item in written for label in turn["memories"] if _matches(item, label, speakers)]
        right = {item.id for item, _ in matched}
        right |= {item.id for item in written for one in turn.get("optional", ()) if _matches(item, one, speakers)}
        found = [label for label in wanted if any(label is one for _, one in matched)]
        missing = [label for label in wanted if not any(label is one for one in found)]
        for label in missing:
            same = [item for item in (held or {}).values() if item.live and _matches(item, label, speakers)]
            if same:
                found.append(label)
                matched += [(item, label) for item in same]
            else:
                self._note("missed", turn, label.get("about", label["value"]))
        for item in written:
            if item.id not in right:
                self._note("wrong", turn, f"{item.subject} / {item.key}: {item.content}")
        self.score.stored += len(written)
        self.score.right += sum(item.id in right for item in written)
        self.score.wanted += len(wanted)
        self.score.found += len(found)
        return matched

    def _score_changes(
        self,
        turn: Mapping[str, Any],
        before: Mapping[str, Item],
        after: Mapping[str, Item],
        closed: set[str],
        written: set[str],
    ) -> None:
        meant: set[str] = set()
        for label in turn["memories"]:
            held = {name for ref in label["of"] for name in self._known.get(ref, ()) if name in before}
            meant |= held
            was = {name for name in held if before[name].live}
            if label["does"] not in ENDING or not was:
                continue
            over = [name for name in was if after[name].valid_to is not None and before[name].valid_to is None]
            seen = bool(over) or any(not after[name].live or name in written for name in was)
            self.score.changes += 1
            self.score.changes_seen += seen
            if not seen:
                self._note("change missed", turn, label.get("about", label["value"]))
        speakers = self._speakers([turn])
        ending = [label for label in turn["memories"] if label["of"]]
        ending += [self._labels[ref] for label in ending for ref in label["of"]]
        for name in sorted(closed - meant):
            if not any(_matches(before[name], label, speakers) for label in ending):
                self.score.touched += 1
                self._note("wrongly ended", turn, before[name].content)

    def _note(self, what: str, turn: Mapping[str, Any], text: str) -> None:
        said = turn["messages"][0]["content"]
        self.mistakes.append({"what": what, "id": self.conversation["id"], "text": text, "said": said})

    @staticmethod
    def _speakers(turns: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        return frozenset(
            message["name"].casefold() for turn in turns for message in turn["messages"] if message.get("name")
        )


def _items(memory: Memory) -> dict[str, Item]:
    """Return all stated items of the store, ended ones too."""
    found: dict[str, Item] = {}
    cursor: str | None = None
    while True:
        page = memory.get_all(user_id="u", kinds=sorted(STATED), filters=_ANY_END, limit=1000, cursor=cursor)
        found |= {item.id: item for item in page.items}
        cursor = page.next_cursor
        if cursor is None:
            return found


_ANY_END: Final = {"OR": [{"ended": None}, {"ended": {"in": ["superseded", "retracted", "retired"]}}]}


def _matches(item: Item, label: Mapping[str, Any], speakers: frozenset[str]) -> bool:
    about = label.get("about", "")
    if _same_subject(item, label["subject"], about, speakers):
        return _same_value(item, label, about)
    # "The shop", "the bakery" and its name are one; a person and the user are not.
    things = "user" not in {item.subject, label["subject"]} and not {item.subject, label["subject"]} & speakers
    words, content = set(tokenize(about)), set(tokenize(item.content))
    return things and bool(words and content) and _shared(words, content) >= SHARED


def _same_subject(item: Item, subject: str, about: str, speakers: frozenset[str]) -> bool:
    one, other = (item.subject or "").casefold(), subject.casefold()
    first, second = ({"user"} if name in speakers else {name} for name in (one, other))
    if first == second or set(tokenize(one)) & set(tokenize(other)):
        return True
    # "My wife is called Ana" may be told of the user or of Ana, and "the shop" has a name.
    return (one != "user" and one in about.casefold()) or (other != "user" and other in item.content.casefold())


def _same_value(item: Item, label: Mapping[str, Any], about: str) -> bool:
    texts = [set(tokenize(text)) for text in (str(item.value or ""), item.content) if text]
    for given in (label["value"], *label.get("also", ())):
        words = set(tokenize(str(given)))
        if any(words and text and _shared(words, text) >= SHARED for text in texts):
            return True
    words, content = set(tokenize(about)), set(tokenize(item.content))
    return bool(words and content) and _shared(words, content) >= ABOUT and len(words & content) > 1


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / min(len(one), len(other))


def _share(one: int, of: int) -> str:
    return f"{one / of:.3f} ({of})" if of else "none"
