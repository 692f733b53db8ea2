"""The relation that stands with a name, by the lists of words for relations."""

import pytest

from phronesis.conversation.extraction.stated_relation import with_relation
from phronesis.core.proposals import USER, Proposal


def found(quote: str, subject: str) -> tuple[str | None, str | None]:
    one = with_relation(
        Proposal(n=0, quote=quote, start=0, end=len(quote), kind="fact", subject=subject, key="fact", content=quote)
    )
    return one.relation, one.relation_key


@pytest.mark.parametrize(
    ("quote", "subject", "relation", "key"),
    [
        ("My sister Anna lives in Oslo", "Anna", "sister", "sibling"),
        ("Lunch with my older sister Anna, who is vegan", "Anna", "older sister", "sibling"),
        ("my other brother Bob hates fish", "Bob", "brother", "sibling"),
        ("My manager, Priya Sharma, is vegan", "Priya Sharma", "manager", "colleague"),
        ("Anna, my aunt, lives in Rome", "Anna", "aunt", "aunt"),
        ("我妹妹小芳住在上海", "小芳", "妹妹", "sibling"),
        ("我的同事小芳住在北京", "小芳", "同事", "colleague"),
        ("同事小芳住在北京", "小芳", "同事", "colleague"),
        ("小芳，我妹妹，住在上海", "小芳", "妹妹", "sibling"),
    ],
)
def test_a_relation_of_the_user_is_found_beside_the_name(quote: str, subject: str, relation: str, key: str) -> None:
    assert found(quote, subject) == (relation, key)


@pytest.mark.parametrize(
    ("quote", "subject"),
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
def test_no_other_relation_is_taken_for_it(quote: str, subject: str) -> None:
    assert found(quote, subject) == (None, None)
