"""What the policy file says of conversations is done, in both languages; and a replay needs none of it."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custom_store import open_with
from fake_models import ScriptedModel, asker
from phronesis.conversation import handlers
from phronesis.conversation.extraction.extractor import LocalExtractor, MessageExtractor
from phronesis.conversation.extraction.gate import terms_of
from phronesis.conversation.extraction.model_extractor import ModelExtractor
from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.conversation.summaries import SessionSummarizer
from phronesis.core.items import Item
from phronesis.memory import Memory
from phronesis.store.conversations import find_summary
from phronesis.store.lanes import list_lanes
from phronesis.store.log import read_outcomes
from set_clock import Clock

ASKED = {"en": "Where did I live before?", "zh": "我以前住在哪里？"}
ENDS = {
    "versioned": ("superseded", "active", True),
    "overwrite": ("superseded", "archived", False),
    "retracted": ("retracted", "active", False),
}
TABLE_SETS = {
    "en": [("I live in Lyon.", "Lyon"), ("I live in Oslo.", "Oslo")],
    "zh": [("我住在成都。", "成都"), ("我住在大理。", "大理")],
}


Opening = Callable[..., Memory]


@pytest.fixture
def opening(database_url: str) -> Iterator[Opening]:
    opened: list[Memory] = []

    def open_memory(**policy: Any) -> Memory:
        opened.append(
            Memory.open(database_url, policy={"embedder": "none", **policy}, clock=Clock(step=timedelta(hours=1)))
        )
        return opened[-1]

    yield open_memory
    verified = opened[-1].admin.rebuild(verify=True)
    assert verified.equal, verified.differences
    for memory in opened:
        memory.close()


def say(memory: Memory, text: str, *, role: str = "user", session: str = "s") -> Any:
    return memory.commit_turn(session, {"messages": [{"role": role, "content": text}]}, user_id="u")


def values(memory: Memory, key: str) -> list[Any]:
    return sorted(item.value for item in memory.get_all(user_id="u", limit=100) if item.key == key)


def one(made: Any, key: str) -> Item:
    found: list[Item] = [item for item in made.stored if item.key == key]
    return found[0]


def shown(memory: Memory, question: str) -> list[tuple[Any, str | None]]:
    found = memory.search(question, user_id="u", kinds=["profile"])
    return [(evidence.item.value, evidence.item.ended) for evidence in found]


@pytest.mark.parametrize(("retention", "language"), [("versioned", "zh"), ("overwrite", "en"), ("retracted", "zh")])
def test_what_was_before_is_a_version_is_archived_or_was_wrong(opening: Opening, retention: str, language: str) -> None:
    ended, status, before = ENDS[retention]
    memory = opening(retention={"types": {"home_city": retention}})
    (first, old), (second, new) = TABLE_SETS[language]
    made = one(say(memory, first), "home_city")
    told = say(memory, second)
    (replaced,) = told.superseded
    assert (replaced.id, replaced.ended, replaced.status) == (made.id, ended, status)
    assert replaced.ended_by == one(told, "home_city").id
    assert values(memory, "home_city") == [new]
    assert shown(memory, ASKED[language])[0] == (new, None)
    assert ((old, "superseded") in shown(memory, ASKED[language])) is before
    then = [item.value for item in memory.get_all(user_id="u", kinds=["profile"], valid_at=made.valid_from)]
    assert then == [old] * before  # what was never so did not hold then either
    known = memory.get_all(user_id="u", kinds=["profile"], as_of=told.stored[0].recorded_at - timedelta(minutes=1))
    assert [item.value for item in known] == [old]  # what was known then is what was known
    assert len(memory.history(made.id)) == 2
    memory.rollback(told.entry_id)
    assert (memory.get(made.id).ended, memory.get(made.id).status) == (None, "active")
    assert values(memory, "home_city") == [old]


def test_a_rule_is_that_of_the_nearest_name_and_of_what_a_caller_states_too(opening: Opening) -> None:
    memory = opening(retention={"types": {"favorite.*": "overwrite", "favorite.food": "retracted"}})
    for key in ("favorite.color", "favorite.food", "home_city"):
        for value in ("green", "blue"):
            told = memory.add(value, kind="preference", key=key, value=value, subject="user", user_id="u")
        (ended,) = told.superseded
        expected = {"favorite.color": ("superseded", "archived"), "favorite.food": ("retracted", "active")}
        assert (ended.ended, ended.status) == expected.get(key, ("superseded", "active"))


@pytest.mark.parametrize(
    ("mine", "theirs", "later"),
    [
        ("My sister Mei works at Siemens.", "My sister Mei works at Bosch.", "My sister Mei works at Airbus."),
        ("我妹妹小芳在华为工作。", "我妹妹小芳在腾讯工作。", "我妹妹小芳在小米工作。"),
    ],
)
@pytest.mark.parametrize("conflict", ["occurred", "trust", "keep_both"])
def test_what_a_tool_says_after_the_user(opening: Opening, mine: str, theirs: str, later: str, conflict: str) -> None:
    memory = opening(conflict={"types": {"employer": conflict}})
    first = one(say(memory, mine), "employer").value
    second = one(say(memory, theirs, role="tool"), "employer").value
    assert values(memory, "employer") == ([first] if conflict == "trust" else sorted([first, second]))
    third = one(say(memory, later), "employer").value
    assert values(memory, "employer") == (sorted([first, second, third]) if conflict == "keep_both" else [third])


def test_of_a_dispute_contexts_show_both_sides_or_the_best(opening: Opening) -> None:
    memory = opening(conflict={"default": "keep_both"}, core={"kinds": []}, budgets={"recent_turn_count": 1})
    for city in ("Oslo", "Lyon"):
        text = f"The staging server is in {city}."
        memory.add(text, kind="fact", subject="staging server", key="located_in", value=city, user_id="u")
    for name in ("Wei", "Li"):
        memory.add(f"Name is {name}.", kind="profile", subject="user", key="name", value=name, user_id="u")
    question = "Where is the staging server, and what is my name?"
    both = memory.compose_context("other", question, user_id="u")
    assert sorted(part.item.value for part in both.evidence) == ["Li", "Lyon", "Oslo", "Wei"]
    assert "disputed by" in both.render("text")
    best = opening(conflict={"default": "keep_both", "disputes": "best"}, core={"kinds": []})
    package = best.compose_context("other", question, user_id="u")
    assert sorted(part.item.value for part in package.evidence) == ["Li", "Lyon"]
    assert "disputed by" not in package.render("text")
    assert package.explain["conflicts"] == []
    assert len(package.explain["retrieved"]["outweighed"]) == 2
    past = best.compose_context("other", question, user_id="u", as_of=datetime(2027, 1, 1, tzinfo=UTC))
    assert len(past.evidence) == 4
    core = opening(conflict={"default": "keep_both", "disputes": "best"})
    texts = [block.text for block in core.compose_context("other", question, user_id="u").system_blocks]
    assert texts == ["Name: Li"]
    older = next(item for item in core.get_all(user_id="u") if item.value == "Wei")
    core.items.pin(older.id)
    texts = [block.text for block in core.compose_context("other", question, user_id="u").system_blocks]
    assert sorted(texts) == ["Name: Li", "Name: Wei"]


SENSITIVE = [("I have asthma. I like tea.", "asthma", "tea"), ("我有哮喘。我喜欢喝茶。", "哮喘", "喝茶")]


@pytest.mark.parametrize(("text", "matter", "other"), SENSITIVE)
@pytest.mark.parametrize("store", ["all", "messages_only", "nothing_derived"])
def test_what_is_kept_of_a_sensitive_matter(opening: Opening, text: str, matter: str, other: str, store: str) -> None:
    memory = opening(sensitive={"store": store})
    told = say(memory, text)
    assert [gate.rule for gate in told.gated] == ([] if store == "all" else ["sensitive"])
    assert all("physical_health" in gate.reason for gate in told.gated)
    assert [item.value for item in told.stored if item.key == "health"] == ([matter] if store == "all" else [])
    assert len([item for item in told.stored if item.key == "likes"]) == (store != "nothing_derived")
    found = memory.search(f"{matter} {other}", user_id="u")
    assert bool(list(found)) is (store != "nothing_derived")
    assert [turn.messages[0]["content"] for turn in memory.sessions.turns("s", user_id="u")] == [text]
    assert [block.text for block in memory.compose_context("s", "?", user_id="u").recent_turns] == [text]
    say(memory, {"asthma": "I live in Oslo.", "哮喘": "我住在大理。"}[matter])
    assert len(values(memory, "home_city")) == 1
    memory.erase(session_id="s", user_id="u")
    assert memory.get_all(user_id="u") == []


def test_an_older_log_comes_under_a_new_policy_by_deriving_anew(opening: Opening) -> None:
    memory = opening()
    say(memory, "I have asthma.")
    say(memory, "My number is +33 6 12 34 56 78.")
    say(memory, "I live in Lyon.")
    say(memory, "I live in Oslo.")
    policy: dict[str, Any] = {
        "sensitive": {"store": "nothing_derived"},
        "gates": {"never": ["phone"]},
        "retention": {"default": "overwrite"},
    }
    memory = opening(**policy)
    assert len(memory.get_all(user_id="u")) == 7
    assert memory.admin.rebuild(verify=True).equal
    result = memory.admin.rederive(user_id="u")
    assert {item.content for item in memory.get_all(user_id="u")} == {
        "My number is +33 6 12 34 56 78.",
        "I live in Lyon.",
        "I live in Oslo.",
        "I live in Oslo",
    }
    assert len(result.vanished) == 3
    (lyon,) = [item for item in memory.get_all(user_id="u", filters={"status": "archived"}) if item.value == "Lyon"]
    assert (lyon.ended, lyon.status) == ("superseded", "archived")
    memory.rollback(result.entry_id)
    assert len(memory.get_all(user_id="u")) == 7


def test_core_memory_and_the_summary_have_as_many_lines_as_the_policy_says(opening: Opening) -> None:
    budgets = {"recent_turn_count": 1}
    memory = opening(core={"items": 2, "due": 1}, summary={"noted": 2, "said": 3, "opening": 20}, budgets=budgets)
    for n in range(4):
        memory.add(f"Likes tea {n}.", kind="preference", subject="user", key=f"own{n}", user_id="u")
        memory.add(f"Call {n}.", kind="task", due=datetime(2026, 3, 1, tzinfo=UTC), user_id="u")
        say(memory, f"We decided to use database{n}, and so on, at length.")
    context = memory.compose_context("s", "Hi", user_id="u")
    labels = [block.label for block in context.system_blocks]
    assert (labels.count("Preferences"), labels.count("Due")) == (2, 1)
    lines = [block.role for block in context.working_summary]  # what stands in the recent turn is not said again
    assert (lines.count("system"), lines.count("user")) == (1, 1)
    quoted = [block.text for block in context.working_summary if block.role == "user"]
    assert max(map(len, quoted)) <= 21
    memory = opening(core={"due": 0}, summary={"noted": 0, "said": 0}, budgets=budgets)
    context = memory.compose_context("s", "Hi", user_id="u")
    assert list(context.working_summary) == []
    assert "Due" not in [block.label for block in context.system_blocks]


def test_a_model_sees_nothing_that_is_withheld_and_its_memories_carry_the_rules(tmp_path: Path) -> None:
    said = [("I live in Oslo", "home_city", "Oslo"), ("My number is 555 0199", "phone", "555 0199")]
    memories = [
        {"n": 1, "quote": quote, "subject": "user", "key": key, "value": value, "content": f"{quote}."}
        for quote, key, value in said
    ]
    model = ScriptedModel([json.dumps({"names": [{"n": 0, "surface": "Asthma"}], "memories": memories})])
    policy = ConversationPolicy.model_validate(
        {
            "sensitive": {"store": "nothing_derived"},
            "gates": {"never": ["phone"]},
            "retention": {"default": "overwrite"},
        }
    )
    prepare = ModelExtractor(asker(model), LocalExtractor(MessageExtractor(), terms_of(policy)))
    with open_with(f"sqlite:///{tmp_path / 'm.db'}", handlers.handlers(prepare)) as memory:
        turn = {
            "messages": [
                {"role": "user", "content": "Asthma runs in my family; I have asthma."},
                {"role": "user", "content": "I live in Oslo. My number is 555 0199."},
            ]
        }
        told = memory.commit_turn("s", turn, user_id="u")
        assert "sthma" not in str(model.asked[0][0][1:])
        assert [item.key for item in told.stored] == [None, "home_city"]
        assert sorted(gate.rule for gate in told.gated) == ["never", "sensitive"]
        with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
            rows = {row["role"]: json.loads(row["body"]) for row in read_outcomes(unit, [told.entry_id])[told.entry_id]}
        assert rows["proposals"]["proposals"][0]["retention"] == "overwrite"
        assert rows["withheld"] == {"withheld": [{"n": 0, "topic": "physical_health"}]}
        quiet = memory.add(turn["messages"], user_id="u", infer=False)
        assert ([item.kind for item in quiet.items], [gate.rule for gate in quiet.gated]) == (
            ["message"],
            ["sensitive"],
        )
        assert memory.admin.rebuild(verify=True).equal


def test_who_sums_up_sees_no_sensitive_matter_and_may_say_none(tmp_path: Path) -> None:
    lines = [{"text": "The user lives in Oslo.", "of": [0]}, {"text": "The user has asthma.", "of": [0]}]
    model = ScriptedModel([json.dumps({"lines": lines})])
    terms = terms_of(ConversationPolicy.model_validate({"sensitive": {"store": "messages_only"}}))
    prepare = SessionSummarizer(
        LocalExtractor(MessageExtractor(), terms), asker(model), every_turns=2, max_tokens=200, hides=terms.hides
    )
    with open_with(f"sqlite:///{tmp_path / 'm.db'}", handlers.handlers(prepare)) as memory:
        say(memory, "I have asthma.")
        say(memory, "I live in Oslo.")
        assert "asthma" not in str(model.asked[0][0][1:])
        with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
            summary = find_summary(unit, list_lanes(unit)[0].lane_id, "s")
        assert summary is not None
        assert [line.text for line in summary.lines] == ["The user lives in Oslo."]


def _rules(choices: list[str], names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Give a section of rules: a default, and some names' own."""
    one = st.sampled_from(choices)
    return st.fixed_dictionaries({"default": one, "types": st.dictionaries(st.sampled_from(names), one)})


STORES = ["all", "messages_only", "nothing_derived"]
TOPICS = st.lists(st.sampled_from(["physical_health", "finances"]), unique=True)
NEVER = st.lists(st.sampled_from(["likes", "favorite.*", "profile"]))
POLICIES = st.fixed_dictionaries(
    {
        "retention": _rules([*ENDS], ["home_city", "profile", "favorite.*", "preference"]),
        "conflict": _rules(["occurred", "trust", "keep_both"], ["employer", "home_city", "likes"]),
        "sensitive": st.fixed_dictionaries({"store": st.sampled_from(STORES), "topics": TOPICS}),
        "gates": st.fixed_dictionaries({"never": NEVER}),
    }
)
SAID = st.tuples(
    st.sampled_from(
        [
            "I live in Lyon.",
            "我住在成都。",
            "I live in Oslo.",
            "I work at Siemens.",
            "我在华为工作。",
            "I have asthma.",
            "我有哮喘。",
            "My favorite color is green.",
            "我最喜欢的颜色是绿色。",
            "I like tea.",
            "I hate tea.",
            "My salary is 50,000 euros.",
            "No, I no longer live in Oslo.",
        ]
    ),
    st.sampled_from(["user", "user", "tool"]),
    st.integers(0, 40),
)


@pytest.mark.slow
def test_a_replay_under_another_policy_gives_the_same(tmp_path: Path, sqlite_template: Path) -> None:
    numbers = count()

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(said=st.lists(SAID, min_size=2, max_size=7), ruled=POLICIES, other=POLICIES)
    def replayed(said: list[tuple[str, str, int]], ruled: dict[str, Any], other: dict[str, Any]) -> None:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        stores = [folder / name for name in ("memory.db", "copy.db")]
        for store in stores:
            shutil.copyfile(sqlite_template, store)
        with _under(ruled, stores[0]) as memory:
            for text, role, day in said:
                at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
                memory.add([{"role": role, "content": text, "created_at": at.isoformat()}], user_id="u")
            own = memory.admin.rebuild(verify=True)
            memory.export(folder / "log.jsonl")
        assert own.equal, own.differences
        with _under(other, stores[0]) as memory:
            again = memory.admin.rebuild(verify=True)
            assert (again.equal, again.live_hash) == (True, own.live_hash), again.differences
        with _under(other, stores[1]) as memory:
            memory.import_(folder / "log.jsonl")
            assert memory.admin.rebuild(verify=True).live_hash == own.live_hash

    replayed()


def _under(policy: dict[str, Any], store: Path) -> Memory:
    return Memory.open(f"sqlite:///{store}", policy={"embedder": "none", **policy})
