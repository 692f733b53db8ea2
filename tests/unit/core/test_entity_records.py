"""What an entity is follows from what is said of it, and from whose name it is."""

from phronesis.core.reports import entity_kind


def test_a_kind_is_stated_or_follows_from_keys() -> None:
    assert entity_kind({"attribute.kind": "project", "job": "nurse"}, set()) == "project"
    assert entity_kind({}, {"sibling"}) == "person"
    assert entity_kind({}, {"employer"}) == "organisation"
    assert entity_kind({}, {"home_city"}) == "place"
    assert entity_kind({"job": "nurse"}, set()) == "person"
    assert entity_kind({"attribute.deadline": "May"}, set()) == "project"
    assert entity_kind({"attribute.color": "red"}, set()) == "thing"
    assert entity_kind({"fact": "it is old"}, set()) == "unknown"
