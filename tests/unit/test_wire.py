"""Records on the wire: what goes out is of the schema, and reads back as it was."""

import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.core.ids import is_id
from phronesis.core.items import Item, Trust
from phronesis.core.reports import Page
from phronesis.core.results import Evidence, SearchResult, Source
from phronesis.errors import InputError
from phronesis.uuid7 import new_id
from phronesis.wire import RECORD_OF_KIND, decode_record, decoded_item

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ITEM = Item(id="i1", kind="fact", content="茶 is tea", entry_id="e1", recorded_at=NOW, updated_at=NOW, trust=Trust.TOOL)


def test_an_item_reads_back_as_it_was() -> None:
    for trust in Trust:
        item = replace(ITEM, trust=trust, valid_from=NOW, metadata={"a": [1, {"b": None}]})
        assert decoded_item(item.to_dict()) == item


def test_an_item_is_the_record_of_its_kind() -> None:
    for kind, made in RECORD_OF_KIND.items():
        record = made(**{**_fields(ITEM), "kind": kind})
        back = decoded_item(record.to_dict())
        assert (type(back), back.to_dict()) == (type(record), record.to_dict())


def test_results_read_back() -> None:
    found = Evidence(item=ITEM, score=0.5, sources=(Source("e1", quote="茶"),), why={"words": 0.5})
    back = decode_record(SearchResult, SearchResult((found,), abstained=True).to_dict())
    assert (back.abstained, back[0].item, back[0].sources[0].quote) == (True, ITEM, "茶")
    page = decode_record(Page[Item], Page((ITEM,), "next").to_dict())
    assert (list(page), page.next_cursor) == ([ITEM], "next")


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(InputError, match=r"recorded_at"):
        decoded_item({**ITEM.to_dict(), "recorded_at": "yesterday"})
    with pytest.raises(InputError, match=r"trust"):
        decoded_item({**ITEM.to_dict(), "trust": "holy"})


def _fields(item: Item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in Item.__dataclass_fields__}


# New ids.


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
