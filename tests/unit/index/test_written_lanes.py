"""After a write the lanes that were written to are looked at for missing vectors, and now and then all of them."""

import threading

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


def test_no_lane_is_lost_among_writers_and_one_who_takes() -> None:
    lanes, found = WrittenLanes(), set[int]()
    lanes.take("acme")

    def write(base: int) -> None:
        for n in range(2_000):
            lanes.note("acme", base + n)

    threads = [threading.Thread(target=write, args=(base,)) for base in (0, 10_000)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found |= set(lanes.take("acme") or ())
    found |= set(lanes.take("acme") or ())
    assert len(found) == 4_000
