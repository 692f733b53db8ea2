"""After a write the lanes that were written to are looked at for missing vectors, and now and then all of them."""

from phronesis.index.vectorizer import LOOK_AROUND_SECONDS, WrittenLanes


def test_all_lanes_are_looked_at_first_and_now_and_then() -> None:
    now = [0.0]
    lanes = WrittenLanes(seconds=lambda: now[0])
    lanes.note("acme", 1)
    assert lanes.take("acme") is None
    lanes.note("acme", 1)
    assert lanes.take("acme") == {1}
    now[0] += LOOK_AROUND_SECONDS
    lanes.note("acme", 2)
    assert lanes.take("acme") is None
    assert lanes.take("acme") == set()
    lanes.note_all("acme")
    assert lanes.take("acme") is None
