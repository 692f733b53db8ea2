import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.datasets import Conversation, load_locomo


def test_a_turn_has_its_speaker_role_and_session_date(conversation: Conversation) -> None:
    turn = conversation.turns[1]
    assert (turn.speaker, turn.role, turn.session_id) == ("Otto", "assistant", "session_2")
    assert conversation.turns[0].role == "user"
    assert turn.occurred_at == datetime(2024, 5, 14, 20, 30, tzinfo=UTC)
    assert turn.line() == "Otto: Nice. I sold the red bicycle yesterday."


def test_evidence_is_split_unpadded_and_without_repeats(conversation: Conversation) -> None:
    assert [question.evidence for question in conversation.questions] == [("D2:2",), ("D10:1", "D2:1"), ("D2:1",)]


def test_corrections_replace_the_evidence(locomo_file: Path, tmp_path: Path) -> None:
    fixes = tmp_path / "errors.json"
    row = {"question_id": "locomo_0_qa0", "question": "Which bicycle was sold?", "correct_evidence": ["D10:2"]}
    fixes.write_text(json.dumps([row]), encoding="utf-8")
    questions = load_locomo(locomo_file, fixes)[0].questions
    assert [question.evidence for question in questions][:2] == [("D10:2",), ("D10:1", "D2:1")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", "not JSON"),
        ("[]", "must hold a list"),
        ("[1]", "sample 0 .* not in LoCoMo's form"),
        ('[{"qa": []}]', "KeyError: 'conversation'"),
        (
            '[{"sample_id": "x", "conversation": {}, "qa": [{"question": "q", "category": 9, "evidence": []}]}]',
            "KeyError: 9",
        ),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        load_locomo(path)
    assert caught.value.field == "data"
