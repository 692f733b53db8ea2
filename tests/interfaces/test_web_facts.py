"""What facts are called on a person's page, how they are grouped, and what a correction of one changes."""

from datetime import UTC, datetime

import pytest

from phronesis.core.items import Item
from phronesis.interfaces.web.pages.people import corrected, group_facts, key_text
from phronesis.interfaces.web.session import words_of

EN = words_of("en")


AT = datetime(2026, 5, 1, tzinfo=UTC)


def fact(key: str | None, value: object = None, content: str = "Said so.", subject: str | None = "user") -> Item:
    return Item(
        id="1",
        kind="profile",
        content=content,
        entry_id="e",
        recorded_at=AT,
        updated_at=AT,
        key=key,
        value=value,
        subject=subject,
    )


@pytest.mark.parametrize(
    ("key", "english", "chinese"),
    [
        ("allergy", "Allergy", "过敏"),
        ("favorite.color", "Favourite color", "最喜欢的color"),
        ("not.allergy", "Not so: Allergy", "并非：过敏"),
        ("badge_number", "badge number", "badge number"),
        ("shoe.size", "shoe: size", "shoe: size"),
        (None, "Profile", "个人资料"),
    ],
)
def test_a_fact_is_called_by_its_key_in_words(key: str | None, english: str, chinese: str) -> None:
    assert (key_text(fact(key), EN), key_text(fact(key), words_of("zh"))) == (english, chinese)


def test_facts_are_grouped_by_subject_and_topic_the_user_and_what_matters_first() -> None:
    facts = [fact("diet", subject="Mia"), fact("email"), fact("not.allergy", subject="lin"), fact("shoe.size")]
    groups = [(group.subject, group.topic, len(group.facts)) for group in group_facts([*facts, fact("allergy")], "lin")]
    assert groups == [(None, "health", 2), (None, "contact", 1), (None, "other", 1), ("Mia", "health", 1)]


@pytest.mark.parametrize(
    ("value", "content", "changed"),
    [
        ("nuts", "I avoid nuts.", None),
        ("", "", None),
        ("figs", "I avoid nuts.", ("I avoid figs.", "figs")),
        ("figs", "I avoid all figs.", ("I avoid all figs.", "figs")),
        ("nuts", "I avoid figs.", ("I avoid figs.", None)),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one_in_the_text(
    value: str, content: str, changed: tuple[str, str | None] | None
) -> None:
    assert corrected(fact("allergy", "nuts", "I avoid nuts."), value, content, EN) == changed


def test_a_value_that_the_text_does_not_name_is_stated_by_its_key() -> None:
    assert corrected(fact("allergy", "nuts", "They harm me."), "figs", "They harm me.", EN) == ("Allergy: figs", "figs")
