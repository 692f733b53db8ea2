"""What is wrong with a table of questions is said."""

import pytest

from phronesis.errors import PhronesisError
from phronesis.recall.asked_keys.tables import parse_table

WHOLE = """
[pieces]
who = "(i|we)"
[who]
user = "i, we"
own = "my "
person = "[A-Z]+"
[relatives]
partner = "wife"
[frames]
before = "please "
after = " now"
[templates]
noun = ["<who> <noun>"]
[patterns]
age = ["how old am <who>"]
[nouns]
job = "job|work"
"""


def test_patterns_are_tried_before_nouns() -> None:
    table = parse_table("xx", WHOLE)
    assert [keys for keys, _ in table.asks] == [("age",), ("job",)]
    assert table.asks[1][1].fullmatch("we work") is not None
    assert (table.user, table.relatives) == (frozenset({"i", "we"}), {"wife": "partner"})


def test_what_is_wrong_is_said() -> None:
    cases: list[tuple[str, str]] = [
        ("= 3", "no TOML"),
        (WHOLE.replace("age =", "shoe_size ="), "'shoe_size' is no key"),
        (WHOLE.replace("am <who>", "am <whom>"), "no piece <whom>"),
        (WHOLE.replace("am <who>", "am (<who>"), "no regular expression"),
    ]
    for source, what in cases:
        with pytest.raises(PhronesisError, match=what):
            parse_table("xx", source)
