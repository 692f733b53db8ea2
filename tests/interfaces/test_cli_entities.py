"""The commands of entities."""

from typing import Any


def test_entities_are_listed_merged_and_split(call: Any) -> None:
    for subject, key, value in (("Robert", "home_city", "Paris"), ("Bob", "employer", "IBM")):
        given = ["--kind", "profile", "--subject", subject, "--key", key, "--value", value]
        call("add", f"{subject}: {value}", "--user", "lin", *given)
    found = {one["name"]: one["id"] for one in call("memory", "entities", "list", "--user", "lin", "--json").json}
    merged = call("memory", "entities", "merge", found["Robert"], found["Bob"], "--reason", "one man", "--json").json
    assert call("memory", "entities", "list", "bob", "--user", "lin").out.startswith("Robert = Bob  person  3  ")
    shown = call("memory", "entities", "show", found["Bob"]).out
    assert shown.startswith("Robert = Bob, person, mentioned 3 times, of lin\n")
    assert "user: Bob: IBM" in shown
    assert "retracted" in call("memory", "entities", "split", found["Robert"], "--alias", "Bob").out
    assert call("rollback", merged["entry_id"], "--cascade").code == 0
    item = call("list", "--user", "lin", "--kind", "profile", "--json").json
    chosen = next(one["id"] for one in (item["items"] if isinstance(item, dict) else item) if one["subject"] == "Bob")
    call("memory", "entities", "split", found["Bob"], "--item", chosen, "--name", "Bob Ray")
    assert "Bob Ray" in call("memory", "entities", "list", "--user", "lin", "--kind", "person").out
    assert call("memory", "entities", "merge", found["Robert"]).code == 2
    assert call("memory", "entities", "list").out == "no entity is mentioned there\n"
