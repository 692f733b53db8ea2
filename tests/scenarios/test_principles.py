"""Principles in a real store: what patterns come to, and what becomes of it when experience says otherwise (EMB-10)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from phronesis.experience.laws.records import Aggregation, L1Event, Pattern, Principle
from phronesis.memory import Memory
from phronesis.store.trace_search import SUFFIXES
from scenarios.engines import Clock

BUILDS = ("nightly", "weekly", "release", "hotfix", "staging", "preview")
PIN = "Pinned the compiler version in the lock file before the {} build"
LOOSE = "Upgraded the compiler to the newest release right before the {} build"
SITUATION = "The {} build of the firmware breaks whenever the compiler changes"


@dataclass
class Tried:
    """A Memory whose experience tests tell."""

    memory: Memory
    clock: Clock
    events: dict[str, L1Event] = field(default_factory=dict)

    def tell(self, attempt: str, label: str, names: Sequence[str], **more: Any) -> list[str]:
        """Ingest an attempt for each name; gives the ids of the events."""
        self.clock.pass_days(0.01)
        given = []
        for name in names:
            one = {"situation": SITUATION, "result": "", **more, "attempt": attempt, "label": label}
            texts = {key: value.format(name) if isinstance(value, str) else value for key, value in one.items()}
            given.append({"source_ref": f"log:{label}-{name}", **texts})
        return [event.id for event, _ in self.memory.ingest(given)]

    def pinned(self, *names: str, **more: Any) -> list[str]:
        return self.tell(PIN, "success", names, **{"result": "The {} build of the firmware passed", **more})

    def upgraded(self, *names: str, **more: Any) -> list[str]:
        return self.tell(LOOSE, "failure", names, **{"result": "The {} build broke with new warnings", **more})

    def draw(self) -> Aggregation:
        """Aggregate and abstract."""
        self.clock.pass_days(0.01)
        self.memory.aggregate()
        self.clock.pass_days(0.01)
        return self.memory.abstract()

    def principles(self) -> list[Principle]:
        found = [self.memory.get(item.id) for item in self.memory.get_all(kinds=["principle"])]
        assert all(isinstance(one, Principle) for one in found)
        return [one for one in found if isinstance(one, Principle)]

    def only(self) -> Principle:
        [one] = self.principles()
        return one

    def same(self) -> None:
        assert self.memory.admin.rebuild(verify=True).differences == ()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def tried(url: str) -> Iterator[Tried]:
    clock = Clock()
    with Memory.open(url, policy={"embedder": "none"}, clock=clock) as memory:
        opened = Tried(memory, clock)
        yield opened
        opened.same()


def of_kind(found: Sequence[Any], kind: type) -> list[Any]:
    assert all(isinstance(one, kind) for one in found)
    return list(found)


# --- making ----------------------------------------------------------------------------------------------------------


def test_what_worked_makes_a_principle_with_its_evidence(tried: Tried) -> None:
    lesson = "A compiler that nobody chose changes under the build"
    ids = tried.pinned(*BUILDS[:3], reflection=lesson, observations={"seconds": 30})
    made = tried.draw()
    [one] = of_kind(made.new, Principle)
    assert one.content.startswith("If ")
    assert "firmware" in one.condition
    assert one.action.startswith("Pinned the compiler version")
    assert lesson in one.because
    assert "3 of 3 attempts worked (1 source: " in one.because
    assert all(f"log:success-{name}" in one.because for name in BUILDS[:3])
    assert one.watch_out == ""
    assert one.cost == "30 s (median of 3)"
    assert one.risk == "failed in 0 of 3 such attempts (0 %, 95 % interval 0–56 %)"
    assert one.support == {"patterns": 1, "events": 3, "successes": 3, "failures": 0, "sources": 1, "contra": 0}
    assert one.confidence == 0.75
    assert (one.label, one.needs_validation, one.counter) == ("success", False, ())
    assert made.mapping == {one.patterns[0]: [one.id]}
    pattern = tried.memory.get(one.patterns[0])
    assert isinstance(pattern, Pattern)
    assert {event for event, _ in pattern.members} == set(ids)
    assert {row["type"] for row in tried.memory.explain(one.id).edges} == {"supports"}


def test_patterns_in_chinese_make_one_in_chinese(tried: Tried) -> None:
    given = [
        ("把编译器版本锁定在配置文件里再构建{}版固件", "success", "{}版固件构建通过了", "没人选过的编译器会自己变"),
        ("临近{}发布才换上最新的编译器，没有先试", "failure", "{}版固件构建失败，出现新的警告", ""),
    ]
    for attempt, label, result, lesson in given:
        tried.tell(
            attempt,
            label,
            ("夜间", "每周", "正式"),
            result=result,
            reflection=lesson,
            situation="编译器一变，{}版固件的构建就坏",
            observations={"minutes": 2},
        )
    one = of_kind(tried.draw().new, Principle)[0]
    assert one.content.startswith("如果编译器一变")
    assert "，那么把编译器版本锁定" in one.content
    assert one.because.startswith("没人选过的编译器会自己变；3/3 次尝试成功（1 个来源：log:success-")
    assert one.watch_out.startswith("避免：临近")
    assert "失败 3 次（log:failure-" in one.watch_out
    assert one.cost == "120 秒（3 次的中位数）"
    assert one.risk == "此类尝试 0/3 次失败（0%，95% 区间 0–56%）"


# --- staying ---------------------------------------------------------------------------------------------------------


def test_a_little_more_leaves_the_words_and_much_more_changes_them(tried: Tried) -> None:
    tried.pinned(*(f"build-{n}" for n in range(8)))
    tried.draw()
    first = tried.only()
    tried.pinned("one-more")
    assert tried.draw().changed == ()
    assert tried.only() == first
    tried.pinned("and-another", "and-a-third")
    changed = tried.draw()
    assert ([one.id for one in changed.changed], changed.new) == ([first.id], ())
    now = tried.only()
    assert (now.support["events"], now.confidence) == (11, round(11 / 12, 9))
    then = tried.memory.get(first.id, as_of=first.recorded_at)
    assert isinstance(then, Principle)
    assert (then.support, then.confidence, then.patterns) == (first.support, first.confidence, first.patterns)


def test_an_entry_can_be_taken_back_and_made_again(tried: Tried) -> None:
    tried.pinned(*BUILDS[:3])
    made = tried.draw()
    tried.memory.rollback(made.entry_id)
    assert tried.principles() == []
    assert tried.memory.get(made.new[0].id).ended == "retracted"
    assert [edge for edge in tried.memory.explain(made.new[0].id).edges if edge["type"] == "supports"] == []
    again = tried.memory.abstract()
    assert len(again.new) == 1
    tried.pinned(*BUILDS[3:])
    changed = tried.draw()
    grown = tried.only()
    tried.memory.rollback(changed.entry_id)
    assert tried.only().support == again.new[0].to_dict()["support"]
    assert tried.only().confidence < grown.confidence


# --- being contradicted ----------------------------------------------------------------------------------------------

BROKE = "The {} build broke at link time"


def test_a_new_failure_is_named_in_the_next_answer(tried: Tried) -> None:
    tried.pinned(*BUILDS[:5])
    tried.draw()
    before = tried.only()
    [failed] = tried.tell(PIN, "failure", ["preview"], result=BROKE)
    changed = tried.draw()
    assert [one.id for one in changed.changed] == [before.id]
    now = tried.only()
    assert "the same failed: The preview build broke at link time (log:failure-preview)" in now.watch_out
    assert now.watch_out in now.content
    assert now.counter == (failed,)
    assert now.data["counterexamples"] == [{"id": failed, "source_ref": "log:failure-preview", "label": "failure"}]
    assert now.confidence == round(5 / 7, 9) < before.confidence
    assert now.risk.startswith("failed in 1 of 6 ")
    assert now.support["contra"] == 1
    assert {edge["type"] for edge in tried.memory.explain(now.id).edges} == {"supports", "contradicts"}
    assert tried.draw().changed == ()


def test_as_much_against_it_dissolves_it(tried: Tried) -> None:
    tried.pinned(*BUILDS[:3])
    tried.draw()
    before = tried.only()
    tried.tell(PIN, "failure", BUILDS[:3], result=BROKE)
    ended = tried.draw()
    assert [one.id for one in ended.retired] == [before.id]
    assert tried.principles() == []
    gone = tried.memory.get(before.id)
    assert gone.ended == "dissolved"
    assert tried.memory.history(gone.id)[-1].reason == "as much contradicts it as supports it"
    assert tried.draw().new == ()


def test_what_a_slot_explains_makes_a_narrower_one(tried: Tried) -> None:
    tried.pinned(*BUILDS)
    tried.draw()
    broad = tried.only()
    where = SITUATION + " on arm64 boards"
    tried.tell(PIN, "failure", BUILDS[:2], result=BROKE, situation=where, source_ref="arm:{}")
    made = tried.draw()
    [narrow] = of_kind(made.new, Principle)
    assert [one.id for one in made.changed] == [broad.id]
    assert narrow.data["slot"] == {"kind": "situation", "value": "arm64"}
    assert "arm64" in narrow.condition
    assert narrow.action.startswith("do not: Pinned")
    [edge] = [one for one in tried.memory.explain(narrow.id).edges if one["type"] == "refines"]
    assert (edge["from_id"], edge["to_id"]) == (narrow.id, broad.id)
    now = next(one for one in tried.principles() if one.id == broad.id)
    assert "not where arm64 plays a part: arm:" in now.watch_out
    assert now.counter == narrow.patterns
    assert broad.confidence > now.confidence > 0.7
    assert tried.draw().changed == ()


# --- what is withdrawn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["items.archive", "items.retract"])
def test_a_pattern_that_goes_takes_its_support_along(tried: Tried, verb: str) -> None:
    tried.pinned(*BUILDS[:3])
    tried.upgraded(*BUILDS[:3])
    tried.draw()
    before = tried.only()
    worked, failed = sorted(before.patterns, key=lambda one: tried.memory.get(one).label == "failure")
    done = attrgetter(verb)(tried.memory)(failed)
    now = tried.only()
    assert (now.patterns, now.confidence) == ((worked,), 0.75)
    tried.memory.rollback(done.entry_id)
    assert tried.only().patterns == before.patterns
    attrgetter(verb)(tried.memory)(worked)
    attrgetter(verb)(tried.memory)(failed)
    bare = tried.only()
    assert (bare.patterns, bare.confidence, bare.needs_validation) == ((), 0.0, True)
    ended = tried.memory.abstract()
    assert [one.id for one in ended.retired] == [before.id]
    assert tried.memory.history(before.id)[-1].reason == "no pattern supports it any more"


def test_a_counterexample_that_was_wrong_no_longer_counts(tried: Tried) -> None:
    tried.pinned(*BUILDS[:5])
    [failed] = tried.tell(PIN, "failure", ["preview"], result=BROKE)
    tried.draw()
    assert tried.only().counter == (failed,)
    tried.memory.items.retract(failed)
    now = tried.only()
    assert (now.counter, now.confidence) == ((), round(5 / 6, 9))
    tried.draw()
    assert tried.only().watch_out == ""


@pytest.mark.parametrize("verb", ["items.archive", "items.retract"])
def test_what_a_person_put_away_is_not_made_again(tried: Tried, verb: str) -> None:
    tried.pinned(*BUILDS[:3])
    tried.draw()
    one = tried.only()
    attrgetter(verb)(tried.memory)(one.id)
    tried.pinned(*BUILDS[3:])
    again = tried.draw()
    assert (again.new, again.changed, again.retired) == ((), (), ())


def everything_in(tried: Tried) -> bytes:
    path = tried.memory.admin.components.database.path
    assert path is not None
    files = [Path(path + suffix) for suffix in SUFFIXES]
    return b"\0".join(one.read_bytes() for one in files if one.exists())


def test_an_erased_event_leaves_no_word_of_it(tried: Tried) -> None:
    ids = tried.pinned(*BUILDS[:4])
    [hidden] = tried.tell(PIN, "success", ["fifth"], reflection="Zyxomania told me so", result="Qwertzuiop passed")
    [failed] = tried.tell(PIN, "failure", ["preview"], result="Xanthippe broke at link time")
    tried.draw()
    tried.pinned("seventh")
    tried.draw()
    one = tried.only()
    assert "Zyxomania" in one.because
    assert "Xanthippe" in one.watch_out
    for event in (hidden, failed):
        certificate = tried.memory.erase(id=event)
        assert certificate.clean, certificate.residue
    tried.memory.flush()
    kept = everything_in(tried)
    for word in (b"Zyxomania", b"Qwertzuiop", b"Xanthippe", b"log:success-fifth", hidden.encode()):
        assert word not in kept or word == hidden.encode()
    now = tried.only()
    assert (now.support["events"], now.counter, now.watch_out) == (5, (), "")
    pattern = tried.memory.get(now.patterns[0])
    assert isinstance(pattern, Pattern)
    assert set(ids) < {event for event, _ in pattern.members}


# --- who says so -----------------------------------------------------------------------------------------------------


def test_what_one_machine_alone_says_is_no_principle_until_a_person_or_another_source_agrees(tried: Tried) -> None:
    tried.pinned(*BUILDS[:3], source_type="run")
    tried.draw()
    one = tried.only()
    assert one.needs_validation
    assert [found.needs_validation for found in tried.memory.query(situation=SITUATION).l3_principles] == [True]
    tried.memory.feedback(one.id, "correct", actor="agent")
    assert tried.only().needs_validation
    tried.memory.feedback(one.id, "correct", actor="user")
    assert not tried.only().needs_validation
    tried.memory.feedback(one.id, "incorrect", actor="user")
    assert tried.only().needs_validation
