"""What a pattern says: readable in both languages, with what the members share and the lesson of the most typical."""

from datetime import UTC, datetime
from typing import Any

from phronesis.experience.laws.principle_text import PatternText, describe
from phronesis.experience.laws.records import L1Event

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, attempt: str, **fields: Any) -> L1Event:
    return L1Event(
        id=f"e{number}",
        kind="l1",
        content=attempt,
        entry_id="x",
        recorded_at=AT,
        updated_at=AT,
        attempt=attempt,
        **fields,
    )


def described(*events: L1Event, outcome: str = "failure", rare: float = 1.0) -> PatternText:
    return describe(events, outcome, terms_of=str.split, rarity=lambda term: 0.0 if term == "the" else rare)


def test_a_failure_says_what_to_avoid_and_the_lesson_of_the_most_typical() -> None:
    told = described(
        event(1, "Retried the job."),
        event(2, "Retried it.", reflection="Read the log first."),
        event(3, "Again.", reflection="Another."),
    )
    assert told.recommendation == "Avoid: Retried the job.\nLesson: Read the log first."
    assert told.summary == "Retried the job."


def test_chinese_is_told_in_chinese_and_without_stray_spaces() -> None:
    told = described(
        event(1, "锁定依赖版本。 再构建。", result="用 lake build 通过。", reflection="先锁定。"), outcome="success"
    )
    assert told.recommendation == "建议：锁定依赖版本。再构建。\n教训：先锁定。"
    assert told.summary == "锁定依赖版本。再构建。 → 用 lake build 通过。"
    assert described(event(1, "用 `linarith` 证。"), outcome="failure").recommendation == "避免：用 `linarith` 证。"


def test_the_signature_names_what_half_of_the_members_share() -> None:
    told = described(
        event(
            1, "pinned the lockfile 缓存 缓存目录 目录", artifacts=("file:app.py",), family="stale", source_type="log"
        ),
        event(2, "pinned the lockfile 缓存 缓存目录 目录", artifacts=("file:app.py", "file:b.py"), family="stale"),
        event(3, "the other 目录", goal="a goal", source_type="chat"),
    )
    assert told.signature == {
        "terms": ["目录", "lockfile", "pinned", "缓存目录"],
        "artifacts": ["file:app.py"],
        "families": ["stale"],
        "source_types": ["chat", "log"],
    }
    assert "目录, lockfile, pinned, 缓存目录, app.py" in told.content.splitlines()
