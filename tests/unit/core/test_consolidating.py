"""The law of consolidation: what was said later stands, whatever arrived first; nothing unrelated is touched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.laws import Verdict, consolidate, retract
from phronesis.core.items import Item, Trust
from phronesis.core.proposals import Cardinality, Retention
from phronesis.core.statements import HeldStatement, Occurrence, Statement

START = datetime(2026, 1, 1, tzinfo=UTC)
USER, TOOL = Trust.USER, Trust.TOOL


def at(day: int) -> datetime:
    return START + timedelta(days=day)


def saying(day: int, trust: Trust = USER, by: str | None = None, began: int | None = None) -> Occurrence:
    return Occurrence(at=at(day), trust=trust, by=by, began=None if began is None else at(began))


@dataclass
class Lane:
    """What one subject's statements make of nothing, by the verdicts alone."""

    held: dict[str, HeldStatement] = field(default_factory=dict)
    supersedes: set[tuple[str, str]] = field(default_factory=set)
    contradicts: set[tuple[str, str]] = field(default_factory=set)
    count: int = 0

    def statement(
        self, key: str, value: str, said: Occurrence, cardinality: Cardinality = "one", **more: Any
    ) -> Statement:
        self.count += 1
        kind = more.pop("kind", "profile")
        return Statement(
            id=f"{value}{self.count}", kind=kind, key=key, form=value, saying=said, cardinality=cardinality, **more
        )

    def state(
        self, key: str, value: str, said: Occurrence, cardinality: Cardinality = "one", **more: Any
    ) -> tuple[Statement, Verdict]:
        new = self.statement(key, value, said, cardinality, **more)
        verdict = consolidate(new, list(self.held.values()))
        self.carry_out(new, verdict)
        return new, verdict

    def carry_out(self, new: Statement, verdict: Verdict) -> None:
        if verdict.into is None and verdict.act in ("ADD", "SUPERSEDE"):
            item = Item(
                id=new.id,
                kind=new.kind,
                content=new.form,
                entry_id="e",
                recorded_at=START,
                updated_at=START,
                key=new.key,
                value=new.form,
                trust=new.saying.trust,
                valid_from=new.since,
                occurred_at=new.since,
            )
            self.held[new.id] = HeldStatement(item=item.with_fields(verdict.fields), sayings=(new.saying,))
        if verdict.into is not None and verdict.counted:
            before = self.held[verdict.into]
            value = new.form if verdict.act == "UPDATE" else before.item.value
            item = before.item.with_fields({"value": value})
            self.held[verdict.into] = replace(before, item=item, sayings=(*before.sayings, new.saying))
        for item_id, fields in verdict.patches.items():
            before = self.held[item_id]
            self.held[item_id] = replace(before, item=before.item.with_fields(fields))
        self.supersedes -= set(verdict.unlinked)
        self.supersedes |= set(verdict.supersedes)
        self.contradicts |= set(verdict.contradicts)

    def now(self, key: str) -> list[str]:
        return sorted(str(one.item.value) for one in self.held.values() if one.current and one.item.key == key)


@given(
    said=st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from("abcd"), st.sampled_from([USER, USER, TOOL])),
        max_size=5,
        unique_by=lambda row: row[0],
    )
)
def test_the_order_of_arrival_does_not_matter(said: list[tuple[int, str, Trust]]) -> None:
    """One source or two: what holds in the end is what the times say.

    What a tool says again adds nothing, so a tool's later saying of a held value is left out here.
    """
    by_user = [row for row in said if row[2] is USER]
    for rows in (by_user, _first_sayings(said)):
        outcomes = {tuple(_told(order).now("home")) for order in permutations(rows)}
        assert len(outcomes) == 1
    last = max(by_user, default=None)
    if last is not None:
        assert _told(by_user).now("home") == [last[1]]


def _first_sayings(said: Sequence[tuple[int, str, Trust]]) -> list[tuple[int, str, Trust]]:
    values: dict[str, tuple[int, str, Trust]] = {}
    for row in sorted(said):
        values.setdefault(row[1], row)
    return list(values.values())


def _told(rows: Sequence[tuple[int, str, Trust]]) -> Lane:
    lane = Lane()
    for day, value, trust in rows:
        lane.state("home", value, saying(day, trust))
    return lane


@given(
    said=st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from("abc"),
            st.sampled_from([USER, TOOL, Trust.ASSISTANT]),
            st.sampled_from([None, "Ada", "Bo"]),
        ),
        max_size=8,
    )
)
def test_no_dispute_is_lost(said: list[tuple[int, str, Trust, str | None]]) -> None:
    """Whatever values hold side by side, edges both ways say so; and whatever ended was ended by what is there."""
    lane = Lane()
    for day, value, trust, by in said:
        lane.state("home", value, saying(day, trust, by))
    current = {one.item.id for one in lane.held.values() if one.current}
    values = lane.now("home")
    assert len(values) == len(set(values))
    assert bool(values) == bool(said)
    for one in current:
        assert {other for other in current if (one, other) in lane.contradicts} == current - {one}
        assert {other for other in current if (other, one) in lane.contradicts} == current - {one}
    for held in lane.held.values():
        if held.item.ended is not None:
            assert (held.item.ended_by, held.item.id) in lane.supersedes
            assert held.item.valid_to is not None
            assert held.item.valid_from is not None
            assert held.item.valid_to >= held.item.valid_from


STATEMENTS = st.tuples(
    st.sampled_from(["assert", "retract", "retract all"]),
    st.sampled_from(["home", "likes", "dislikes", "task"]),
    st.sampled_from(["tea", "tea, green", "oslo"]),
    st.integers(0, 9),
    st.sampled_from([USER, TOOL]),
)


@given(rows=st.lists(STATEMENTS, max_size=12))
def test_nothing_unrelated_is_touched(rows: list[tuple[str, str, str, int, Trust]]) -> None:
    lane = Lane()
    for act, key, value, day, trust in rows:
        cardinality: Cardinality = "one" if key == "home" else "many"
        before: Mapping[str, HeldStatement] = dict(lane.held)
        new = lane.statement(key, value, saying(day, trust), cardinality)
        held = list(before.values())
        verdict = consolidate(new, held) if act == "assert" else retract(new, held, whole=act == "retract all")
        lane.carry_out(new, verdict)
        opposite = {"likes": "dislikes", "dislikes": "likes"}.get(key)
        for name, old in before.items():
            if lane.held[name] == old:
                continue
            same_key, first = old.item.key == key, value.split(",")[0]
            about = same_key and (cardinality == "one" or old.form.split(",")[0] == first or act == "retract all")
            assert about or (act == "assert" and old.item.key == opposite and old.form == value)


def test_what_a_tool_says_after_the_user_is_disputed_and_each_side_may_settle_it() -> None:
    lane = Lane()
    lane.state("home", "paris", saying(1))
    _, verdict = lane.state("home", "lyon", saying(2, TOOL))
    assert (verdict.act, lane.now("home")) == ("ADD", ["lyon", "paris"])
    assert lane.contradicts == {("paris1", "lyon2"), ("lyon2", "paris1")}
    _, verdict = lane.state("home", "paris", saying(3, TOOL))  # the tool sees it as the user does now
    assert (verdict.act, verdict.into, verdict.counted) == ("SUPERSEDE", "paris1", False)
    assert lane.now("home") == ["paris"]
    lane.state("home", "rome", saying(4, TOOL))
    lane.state("home", "bern", saying(5, TOOL))
    assert lane.now("home") == ["bern", "paris"]
    lane.state("home", "oslo", saying(6))
    assert lane.now("home") == ["oslo"]


def test_what_had_ceased_when_it_was_said_is_history_alone() -> None:
    lane = Lane()
    lane.state("home", "paris", saying(9))
    _, verdict = lane.state("home", "leeds", saying(10, began=1), until=at(4))
    assert verdict.fields == {"ended": "retired", "ended_by": None, "valid_to": at(4)}
    assert lane.now("home") == ["paris"]
    assert lane.state("home", "leeds", saying(11, began=1), until=at(4))[1].into == "leeds2"
    assert lane.state("home", "leeds", saying(12))[1].into is None  # there again
    _, verdict = lane.state("home", "leeds", saying(13), until=at(13))
    assert verdict.act == "RETRACT"
    assert lane.now("home") == []


def test_an_event_is_another_on_another_day_and_does_not_cease() -> None:
    lane = Lane()
    lane.state("event", "kyoto", saying(9, began=1), "many", kind="event")
    assert lane.state("event", "kyoto", saying(10, began=2), "many", kind="event")[1].act == "NONE"
    assert lane.state("event", "kyoto", saying(10), "many", kind="event")[1].act == "NONE"
    assert lane.state("event", "kyoto", saying(11, began=8), "many", kind="event", until=at(9))[1].fields == {}
    lane.state("event", "nara", saying(9), "many", kind="event")
    assert lane.state("event", "nara", saying(12, began=8), "many", kind="event")[1].act == "NONE"


@given(
    said=st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abcd")), max_size=5, unique_by=lambda row: row[0]),
    retention=st.sampled_from(["overwrite", "retracted"]),
)
def test_what_holds_does_not_depend_on_the_retention(said: list[tuple[int, str]], retention: Retention) -> None:
    kept, ended = Lane(), Lane()
    for day, value in said:
        kept.state("home", value, saying(day))
        ended.state("home", value, saying(day), retention=retention)
        assert ended.now("home") == kept.now("home")


@given(
    said=st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from([USER, TOOL, Trust.ASSISTANT])),
        max_size=5,
        unique_by=lambda row: row[0],
    )
)
def test_by_trust_the_order_of_arrival_does_not_matter(said: list[tuple[int, Trust]]) -> None:
    """Each says another value: the most trusted stands, and of these the latest."""
    expected = [str(day) for _, day in sorted((trust, day) for day, trust in said)[-1:]]
    for order in permutations(said):
        lane = Lane()
        for day, trust in order:
            lane.state("home", str(day), saying(day, trust), conflict="trust")
        assert lane.now("home") == expected


def test_by_keep_both_values_stay_disputed_until_one_is_named_as_gone() -> None:
    lane = Lane()
    both: dict[str, Any] = {"conflict": "keep_both"}
    lane.state("home", "paris", saying(1), **both)
    lane.state("home", "lyon", saying(5), **both)
    lane.state("home", "rome", saying(3), **both)
    assert lane.now("home") == ["lyon", "paris", "rome"]
    assert {pair for pair in lane.contradicts if pair[0] == "rome3"} == {("rome3", "paris1"), ("rome3", "lyon2")}
    _, verdict = lane.state("home", "lyon", saying(7), **both)
    assert (verdict.act, verdict.into, lane.now("home")) == ("NONE", "lyon2", ["lyon", "paris", "rome"])
    lane.state("home", "bern", saying(8), against=frozenset({"paris1"}), **both)
    assert lane.now("home") == ["bern", "lyon", "rome"]
    _, verdict = lane.state("home", "paris", saying(9), **both)  # it holds again, beside the others
    assert (verdict.act, verdict.into) == ("ADD", None)
    gone = retract(lane.statement("home", "rome", saying(9), **both), list(lane.held.values()))
    assert set(gone.patches) == {"rome3"}


@given(said=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.sampled_from([USER, TOOL])), max_size=8))
def test_by_keep_both_nothing_ends(said: list[tuple[int, str, Trust]]) -> None:
    lane = Lane()
    for day, value, trust in said:
        lane.state("home", value, saying(day, trust), conflict="keep_both")
    assert lane.now("home") == sorted({value for _, value, _ in said})
    current = {one.item.id for one in lane.held.values() if one.current}
    for one in current:
        assert {other for other in current if (one, other) in lane.contradicts} == current - {one}
