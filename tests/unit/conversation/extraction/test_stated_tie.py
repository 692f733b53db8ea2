"""What somebody is to the user, where it stands with the name, by the lists of words for relations."""

import pytest

from phronesis.conversation.extraction.extraction_rules import add_relation
from phronesis.core.proposals import USER, Proposal


def found(sentence: str, subject: str) -> tuple[str, str | None, str | None]:
    given = Proposal(n=0, quote="x", start=0, end=1, kind="fact", subject=subject, key="fact", content="x")
    one = add_relation(given, sentence)
    return one.subject, one.tie, one.tie_key


@pytest.mark.parametrize(
    ("sentence", "subject", "tie", "key"),
    [
        ("My sister Anna lives in Oslo", "Anna", "sister", "sibling"),
        ("Lunch with my older sister Anna, who is vegan", "Anna", "older sister", "sibling"),
        ("my other brother Bob hates fish", "Bob", "brother", "sibling"),
        ("My manager, Priya Sharma, is vegan", "Priya Sharma", "manager", "colleague"),
        ("Anna, my aunt, lives in Rome", "Anna", "aunt", "aunt"),
        ("My grandma Rosa is ninety", "Rosa", "grandma", "grandmother"),
        ("我妹妹小芳住在上海", "小芳", "妹妹", "sibling"),
        ("我的同事小芳住在北京", "小芳", "同事", "colleague"),
        ("同事小芳住在北京", "小芳", "同事", "colleague"),
        ("小芳，我妹妹，住在上海", "小芳", "妹妹", "sibling"),
    ],
)
def test_a_relation_of_the_user_is_found_beside_the_name(sentence: str, subject: str, tie: str, key: str) -> None:
    assert found(sentence, subject) == (subject, tie, key)


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("Tom's sister Anna lives in Rome", "Anna"),
        ("My friend's sister Anna lives in Rome", "Anna"),
        ("I told my boss that Anna lives in Rome", "Anna"),
        ("I told Anna my sister is ill", "Anna"),
        ("Anna, my sister lives in Oslo", "Anna"),
        ("我朋友的妹妹小芳住在上海", "小芳"),
        ("My sister Anna lives in Oslo", USER),
        ("She lives in Oslo with my sister", "Anna"),
    ],
)
def test_no_other_relation_is_taken_for_it(sentence: str, subject: str) -> None:
    assert found(sentence, subject) == (subject, None, None)


@pytest.mark.parametrize("subject", ["Anna (sister)", "Anna（sister）", "sister Anna"])
def test_a_subject_that_holds_the_relation_is_parted(subject: str) -> None:
    assert found("Then my sister Anna moved", subject) == ("Anna", "sister", "sibling")


def test_whom_a_sentence_does_not_name_was_named_last_before() -> None:
    given = Proposal(n=0, quote="x", start=0, end=1, kind="fact", subject="Anna", key="fact", content="x")
    before = "My sister Anna called. Then I met my colleague Anna. "
    assert add_relation(given, "She works at IBM", before).tie == "colleague"
    assert add_relation(given, "She works at IBM", "Anna called. ").tie is None
    assert add_relation(given, "She works at IBM").tie is None


def test_a_title_that_begins_with_a_relation_stays_whole() -> None:
    assert found("I loved Sister Act", "Sister Act") == ("Sister Act", None, None)
