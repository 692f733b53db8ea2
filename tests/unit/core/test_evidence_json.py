"""Evidence read from JSON: what was written comes back, and whatever is wrong is named and refused."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from found_evidence import memory, plan, section
from phronesis.core.evidence_pack import (
    MAX_EVIDENCE,
    MAX_LISTED,
    EvidencePack,
    degraded_from_dict,
    evidence_from_dict,
    name_of,
)
from phronesis.core.items import Trust
from phronesis.core.results import ClaimMatch, Degraded, Evidence, Match, Source
from phronesis.errors import InputError

FULL = replace(
    section(1),
    item=replace(
        section(1).item,
        trust=Trust.EXTERNAL,
        value=["a", 1, 1.5, None, True, {"b": "c"}],
        metadata={"k": {}},
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        position=3,
        pinned=True,
        ended="superseded",
        status="archived",
        role="user",
        confidence=0.5,
    ),
    sources=(Source("e", "https://a.example", "s", "m", datetime(2026, 1, 2, tzinfo=UTC), "quoted"), Source("f")),
    matched=(
        Match("s1::chunk::0", "chunk:0", "words", 0.25),
        ClaimMatch("s1::claim::c1", "claim:c1", "", 0.5, "s1", "c1", "fact"),
    ),
    conflicts=("m9",),
)


def plain(found: Evidence = FULL) -> Any:
    return json.loads(json.dumps(found.to_dict()))


def changed(path: str, value: Any) -> Any:
    """Give a plain evidence with one member replaced: "item.kind", "sources.0.entry_id"."""
    out = plain()
    place = out
    *before, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in before:
        place = place[part]
    place[last] = value
    return out


def test_what_was_written_comes_back() -> None:
    cases: list[Evidence] = [FULL, memory(1), replace(memory(2), why=None), section(3)]
    for found in cases:
        assert evidence_from_dict(plain(found)) == found, found


def test_a_pack_comes_back_as_the_answer_to_its_plan() -> None:
    away = Degraded("rerank", "model.unavailable", "fusion", "m")
    pack = EvidencePack((FULL, memory(1)), plan(), True, {"memory": ("time",)}, {"x": 1}, (away,))
    read = EvidencePack.from_dict(json.loads(json.dumps(pack.to_dict())), plan=plan())
    assert (read.evidence, read.abstained, read.ignored_fields, read.degraded) == (
        pack.evidence,
        True,
        {"memory": ("time",)},
        (away,),
    )
    assert read.explain == {}
    assert (len(read), read[0], list(read[:1]), [*read][1].item.id) == (2, FULL, [FULL], "m1")
    assert EvidencePack.from_dict({"evidence": []}, plan=plan()).evidence == ()


def test_what_is_not_known_is_passed_over() -> None:
    more = plain()
    more["item"]["flavour"] = "new"
    assert evidence_from_dict({**more, "taste": 1}) == FULL


def test_a_field_that_is_wrong_is_named() -> None:
    cases: list[tuple[str, Any]] = [
        ("item", None),
        ("item.id", None),
        ("item.id", "a\nb"),
        ("item.kind", "potion"),
        ("item.content", "a\0b"),
        ("item.recorded_at", "yesterday"),
        ("item.version", -1),
        ("item.version", True),
        ("item.confidence", 2),
        ("item.confidence", "1"),
        ("item.trust", "mine"),
        ("item.trust", 4),
        ("item.pinned", 1),
        ("item.data", {"a": float("inf")}),
        ("item.role", "r" * 1001),
        ("score", 10**400),
        ("matched", "text"),
        ("matched.0", 7),
        ("matched.0.part", "chunk:x"),
        ("matched.1.claim_id", ""),
        ("sources.0.entry_id", None),
        ("sources.0.quote", 1),
        ("conflicts", [1]),
        ("why", {"a": "b"}),
        ("why", {str(n): 1.0 for n in range(MAX_LISTED + 1)}),
        ("conflicts", ["a"] * (MAX_LISTED + 1)),
    ]
    for path, value in cases:
        with pytest.raises(InputError) as told:
            evidence_from_dict(changed(path, value))
        assert told.value.field is not None, path
        assert told.value.field.startswith(f"evidence.{path.split('.', maxsplit=1)[0]}"), path


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(70):
        deep = [deep]
    with pytest.raises(InputError, match="levels deep"):
        evidence_from_dict(changed("item.data", {"a": deep}))


def test_a_pack_that_is_none_is_refused() -> None:
    cases: list[Any] = [
        None,
        [],
        {},
        {"evidence": None},
        {"evidence": [7]},
        {"evidence": [], "abstained": "no"},
        {"evidence": [], "ignored_fields": ["a"]},
        {"evidence": [], "ignored_fields": {"a": "b"}},
        {"evidence": [], "degraded": [{"role": "r"}]},
        {"evidence": [{}] * (MAX_EVIDENCE + 1)},
    ]
    for pack in cases:
        with pytest.raises(InputError):
            EvidencePack.from_dict(pack, plan=plan())


def test_names_are_short() -> None:
    with pytest.raises(InputError):
        name_of("\0", "x")
    assert degraded_from_dict({"role": "a", "reason": "b", "by": "c", "instead_of": "d"}, "x").by == "c"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
PATHS = ["item", "score", "matched", "sources", "conflicts", "why"]
PATHS += [f"item.{name}" for name in plain()["item"]] + [f"sources.0.{name}" for name in plain()["sources"][0]]
PATHS += [f"matched.0.{name}" for name in plain()["matched"][0]]


@given(st.sampled_from(PATHS), JSON)
def test_whatever_stands_in_a_field_is_read_or_refused(path: str, value: Any) -> None:
    given_value = changed(path, value)
    before = copy.deepcopy(given_value)
    try:
        read = evidence_from_dict(given_value)
    except InputError:
        return
    assert repr(given_value) == repr(before)
    assert evidence_from_dict(json.loads(json.dumps(read.to_dict()))) == read
