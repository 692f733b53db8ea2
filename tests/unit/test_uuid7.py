import time
import uuid

from phronesis.core.ids import is_id
from phronesis.uuid7 import new_id


def test_an_id_is_a_uuid_of_version_7_that_begins_with_its_time() -> None:
    before = time.time_ns() // 1_000_000
    text = new_id()
    after = time.time_ns() // 1_000_000
    found = uuid.UUID(text)
    assert is_id(text)
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert before <= found.int >> 80 <= after


def test_ids_of_one_millisecond_differ() -> None:
    assert len({new_id() for _ in range(20_000)}) == 20_000
