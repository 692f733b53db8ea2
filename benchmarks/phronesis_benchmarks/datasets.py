"""Conversations with questions whose evidence is known, turn by turn.

LoCoMo (Maharana et al., ACL 2024; snap-research/LoCoMo, CC BY-NC 4.0) is read from the JSON that its authors publish;
the data is never part of this package.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

from phronesis.errors import InputError

CATEGORIES: Final[Mapping[int, str]] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""LoCoMo's numbers; the order in which its authors' code scores them, not that of the paper's table."""

_UNANSWERABLE: Final = "adversarial"
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN_ID: Final = re.compile(r"D:?(\d+):(\d+)")
_DATE_FORMATS: Final = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``id`` is unique in its conversation; ``occurred_at`` is the date of its session, in UTC."""

    id: str
    session_id: str
    speaker: str
    role: Role
    text: str
    occurred_at: datetime | None

    def line(self) -> str:
        """Return the text with the speaker's name before it: how a store without a field for names is given it."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the turns that answer it (never empty, each one in the conversation).

    ``split`` says which part of a set it belongs to, where the set has parts: ``dev`` or ``test``.
    """

    id: str
    text: str
    evidence: tuple[str, ...]
    category: str
    answer: str
    split: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order they were said, and questions about them.

    ``dropped`` counts the turns and the evidence ids of the file that cannot be used: empty or repeated turns, ids
    that name no turn.
    """

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    dropped: int = 0

    def sessions(self) -> tuple[tuple[Turn, ...], ...]:
        """Return the turns, one tuple a session, in order."""
        return tuple(tuple(turns) for _, turns in groupby(self.turns, key=lambda turn: turn.session_id))


def load_locomo(path: Path, corrections: Path | None = None) -> tuple[Conversation, ...]:
    """Read LoCoMo's conversations with the questions that have evidence; adversarial ones are left out.

    ``corrections`` is the list of faulty questions of dial481/locomo-audit (``question_id``, ``question``,
    ``correct_evidence``), numbered as the questions of ``path`` are. A photo's caption is part of its turn's text.

    Raises:
        InputError: a file is missing, is not JSON, or is not what it should be; the message says where.
    """
    samples = read_list(path, field="data")
    fixes = _read_corrections(corrections) if corrections else {}
    conversations = []
    for number, sample in enumerate(samples):
        try:
            conversations.append(_read_sample(sample, number, fixes))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"data: sample {number} of {path.name} is not in LoCoMo's form ({type(error).__name__}: {error});"
                " give locomo10.json of snap-research/LoCoMo",
                field="data",
            ) from error
    return tuple(conversations)


def read_list(path: Path, *, field: str) -> Sequence[Any]:
    """Return the list of a JSON file; InputError where there is none, or an empty one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{field}: {path} cannot be read ({error.strerror})", field=field) from error
    except ValueError as error:
        raise InputError(f"{field}: {path} is not JSON in UTF-8 ({error})", field=field) from error
    if not isinstance(content, list) or not content:
        raise InputError(f"{field}: {path} must hold a list that is not empty", field=field)
    return content


def _read_corrections(path: Path) -> Mapping[str, tuple[str, Sequence[str]]]:
    rows = read_list(path, field="corrections")
    try:
        return {row["question_id"]: (row["question"], row["correct_evidence"]) for row in rows}
    except (KeyError, TypeError) as error:
        raise InputError(
            f"corrections: {path} is not the errors.json of locomo-audit ({type(error).__name__}: {error})",
            field="corrections",
        ) from error


def _read_sample(
    sample: Mapping[str, Any], number: int, fixes: Mapping[str, tuple[str, Sequence[str]]]
) -> Conversation:
    talk = sample["conversation"]
    turns: dict[str, Turn] = {}
    dropped = 0
    for turn in _read_turns(talk):
        if turn.text and turn.id not in turns:
            turns[turn.id] = turn
        else:
            dropped += 1
    questions = []
    for index, row in enumerate(sample["qa"]):
        category = CATEGORIES[row["category"]]
        if category == _UNANSWERABLE:
            continue
        cited = _corrected(row, f"locomo_{number}_qa{index}", fixes)
        evidence, unknown = _resolve(cited, turns)
        dropped += unknown
        if evidence:
            identity = f"{sample['sample_id']}-q{index}"
            questions.append(
                Question(
                    identity, row["question"], evidence, category, str(row.get("answer", "")), str(row.get("split", ""))
                )
            )
    return Conversation(sample["sample_id"], tuple(turns.values()), tuple(questions), dropped)


def _read_turns(talk: Mapping[str, Any]) -> Iterator[Turn]:
    sessions = sorted((int(match[1]), name) for name in talk if (match := _SESSION.fullmatch(name)))
    for _, name in sessions:
        moment = _read_date(talk.get(f"{name}_date_time", ""))
        for row in talk[name]:
            text = row.get("text", "").strip()
            if caption := row.get("blip_caption"):
                text = f"{text} [shares a photo: {caption}]".strip()
            role: Role = "user" if row["speaker"] == talk["speaker_a"] else "assistant"
            yield Turn(row["dia_id"], name, row["speaker"], role, text, moment)


def _read_date(text: str) -> datetime | None:
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _corrected(row: Mapping[str, Any], key: str, fixes: Mapping[str, tuple[str, Sequence[str]]]) -> Sequence[str]:
    cited: Sequence[str] = row.get("evidence") or ()
    if key not in fixes:
        return cited
    question, evidence = fixes[key]
    if question != row["question"]:
        raise InputError(
            f"corrections: {key} is another question there ({question!r:.60}) than in the data; the two files must"
            " come from the same selection of conversations",
            field="corrections",
        )
    return evidence or cited


def _resolve(cited: Sequence[str], turns: Mapping[str, Turn]) -> tuple[tuple[str, ...], int]:
    """Return the turns that are cited, once each, and the number of citations that name none.

    The file joins ids ("D8:6; D9:17"), pads them ("D30:05") and writes "D:11:26".
    """
    found: dict[str, None] = {}
    unknown = 0
    for text in cited:
        names = [f"D{int(session)}:{int(place)}" for session, place in _TURN_ID.findall(str(text))]
        unknown += sum(name not in turns for name in names) if names else 1
        found |= dict.fromkeys(name for name in names if name in turns)
    return tuple(found), unknown
