"""What is said becomes what is held: added, said again, said more fully, taken back, disputed, taken the place of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from custom_store import open_with
from phronesis.conversation import handlers as conversation
from phronesis.core.items import Item, Trust
from phronesis.memory import Memory
from scripted import proposal, scripted

DAY = timedelta(days=1)
START = datetime(2026, 1, 10, 9, tzinfo=UTC)
PARIS = proposal("I live in Paris", "home_city", "paris")
LYON = proposal("I live in Lyon", "home_city", "lyon")
NEAR = proposal("I live in Lyon, near the station", "home_city", "lyon, near the station")
TEA = proposal("I like tea", "likes", "tea")
COFFEE = proposal("I like coffee", "likes", "coffee")
NO_TEA = proposal("I hate tea", "dislikes", "tea")
PHRASES = (PARIS, NEAR, LYON, TEA, COFFEE, NO_TEA)


class Talk:
    """A memory whose clock a test moves, and whose extractor knows some phrases."""

    def __init__(self, folder: Path, *phrases: Any, **more: Any) -> None:
        self.now = START
        self.folder = folder
        prepare = scripted(phrases or PHRASES, **more)
        handlers = [replace(handler, prepare=prepare) for handler in conversation.handlers()]
        self.memory: Memory = open_with(f"sqlite:///{folder / 'memory.db'}", handlers, clock=lambda: self.now)

    def say(
        self, text: str, *, role: str = "user", after: timedelta = DAY, user: str | None = "ada", **more: Any
    ) -> Any:
        self.now += after
        message = {"role": role, "content": text, **more.pop("message", {})}
        return self.memory.add([message], user_id=user, **more)

    def held(self, key: str, user: str | None = "ada") -> list[Any]:
        scope: dict[str, Any] = {"user_id": user} if user is not None else {}
        return sorted(item.value for item in self.memory.get_all(limit=100, **scope) if item.key == key)

    def one(self, made: Any) -> Item:
        (item,) = [item for item in made.items if item.kind != "message"]
        return self.memory.get(item.id)

    def support(self, item: Item) -> list[Any]:
        return [row for row in self.memory.explain(item.id).evidence if row["polarity"] == "support"]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def open_talk(*phrases: Any, **more: Any) -> Talk:
        talks.append(Talk(tmp_path, *phrases, **more))
        return talks[-1]

    yield open_talk
    for talk in talks:
        verified = talk.memory.admin.rebuild(verify=True)
        assert verified.equal, verified.differences
        talk.memory.close()


@pytest.fixture
def talk(opening: Callable[..., Talk]) -> Talk:
    return opening()


def test_a_message_and_what_it_states_are_items(talk: Talk) -> None:
    made = talk.say("Well, I live in Paris now.", session_id="s1", message={"id": "m1"}, metadata={"app": "x"})
    message, home = made.items
    assert (message.kind, home.kind) == ("message", "profile")
    assert (home.subject, home.key, home.value, home.trust) == ("user", "home_city", "paris", Trust.USER)
    assert (home.session_id, home.message_id, home.source_type, home.metadata) == ("s1", "m1", "chat", {"app": "x"})
    assert home.valid_from == home.occurred_at == talk.now
    explained = talk.memory.explain(home.id)
    (source,) = explained.sources
    assert (source.quote, source.session_id, source.message_id) == ("I live in Paris", "s1", "m1")
    assert source.entry_id == made.entry_id
    assert not explained.needs_validation
    (found,) = talk.memory.search("Where is home? Paris", user_id="ada", kinds=["profile"])
    assert found.sources[0].quote == "I live in Paris"


def test_what_is_said_with_infer_false_is_a_message_alone(talk: Talk) -> None:
    assert [item.kind for item in talk.say("I live in Paris", infer=False).items] == ["message"]


def test_values_of_a_key_that_holds_many_stand_beside_each_other(talk: Talk) -> None:
    tea = talk.one(talk.say("I like tea"))
    talk.say("I like coffee")
    assert talk.held("likes") == ["coffee", "tea"]
    assert talk.memory.get(tea.id) == tea


def test_a_new_home_takes_the_place_of_the_old_one(talk: Talk) -> None:
    paris = talk.one(talk.say("I live in Paris"))
    made = talk.say("I live in Lyon")
    lyon = talk.one(made)
    (ended,) = made.superseded
    assert (ended.id, ended.ended, ended.ended_by) == (paris.id, "superseded", lyon.id)
    assert ended.valid_to == lyon.valid_from
    assert ended == talk.memory.get(paris.id)
    assert talk.held("home_city") == ["lyon"]
    edges = [(edge["type"], edge["from_id"], edge["to_id"]) for edge in talk.memory.explain(paris.id).edges]
    assert edges == [("supersedes", lyon.id, paris.id)]
    assert talk.memory.history(paris.id)[-1].reason == "superseded by what was said"
    then = talk.memory.search("live Paris Lyon", user_id="ada", kinds=["profile"], valid_at=paris.valid_from)
    assert [each.item.value for each in then] == ["paris"]


def test_what_an_old_chat_says_enters_as_history(talk: Talk) -> None:
    lyon = talk.one(talk.say("I live in Lyon"))
    made = talk.say("I live in Paris", occurred_at=START - 400 * DAY)
    paris = talk.one(made)
    assert (paris.ended, paris.ended_by, paris.valid_to) == ("superseded", lyon.id, lyon.valid_from)
    assert (talk.held("home_city"), made.superseded) == (["lyon"], ())
    assert talk.memory.get(lyon.id).ended is None
    early = proposal("My flat is in Rome", "home_city", "rome")
    assert early["key"] == "home_city"


def test_history_goes_between_what_it_followed_and_what_followed_it(opening: Callable[..., Talk]) -> None:
    talk = opening(PARIS, LYON, proposal("I live in Rome", "home_city", "rome"))
    paris = talk.one(talk.say("I live in Paris"))
    talk.now += 300 * DAY
    lyon = talk.one(talk.say("I live in Lyon"))
    rome = talk.one(talk.say("I live in Rome", occurred_at=START + 100 * DAY))
    line = [talk.memory.get(item.id) for item in (paris, rome, lyon)]
    assert [item.ended_by for item in line] == [rome.id, lyon.id, None]
    assert [item.valid_to for item in line] == [rome.valid_from, lyon.valid_from, None]
    edges = {(edge["from_id"], edge["to_id"]) for item in line for edge in talk.memory.explain(item.id).edges}
    assert edges == {(rome.id, paris.id), (lyon.id, rome.id)}


def test_what_the_user_says_again_counts_once_a_session(talk: Talk) -> None:
    tea = talk.one(talk.say("I like tea", session_id="s1"))
    for session in ("s1", "s1", "s2", None, None):
        again = talk.say("You know, I like tea", session_id=session)
        assert [item.kind for item in again.items] == ["message"]
    assert len(talk.support(tea)) == 4  # s1, s2, and two entries without a session
    assert len(talk.memory.explain(tea.id).sources) == 6
    assert talk.held("likes") == ["tea"]


def test_what_an_assistant_or_a_tool_repeats_adds_nothing(talk: Talk) -> None:
    tea = talk.one(talk.say("I like tea"))
    talk.say("I like tea", role="assistant")
    talk.say("I like tea", role="tool")
    assert talk.memory.get(tea.id) == tea
    assert talk.support(tea) == []


def test_the_user_vouches_for_what_a_tool_said(talk: Talk) -> None:
    tool = talk.one(talk.say("I live in Paris", role="tool"))
    assert tool.trust is Trust.TOOL
    talk.say("I live in Paris")
    assert talk.memory.get(tool.id).trust is Trust.USER


def test_a_value_said_more_fully_is_the_same_item(talk: Talk) -> None:
    lyon = talk.one(talk.say("I live in Lyon"))
    made = talk.say("I live in Lyon, near the station")
    fuller = talk.one(made)
    assert (fuller.id, fuller.version, fuller.value) == (lyon.id, 2, "lyon, near the station")
    assert fuller.content == "I live in Lyon, near the station"
    assert made.superseded == ()
    talk.say("I live in Lyon")  # less is not another value
    assert talk.held("home_city") == ["lyon, near the station"]


def test_likes_and_dislikes_of_one_value_stand_against_each_other(talk: Talk) -> None:
    talk.say("I like coffee")
    tea = talk.one(talk.say("I like tea"))
    hate = talk.one(talk.say("I hate tea"))
    assert talk.memory.get(tea.id).ended_by == hate.id
    assert (talk.held("likes"), talk.held("dislikes")) == (["coffee"], ["tea"])


def test_a_tool_that_says_otherwise_is_a_dispute_until_the_user_speaks(talk: Talk) -> None:
    paris = talk.one(talk.say("I live in Paris"))
    made = talk.say("I live in Lyon", role="tool")
    lyon = talk.one(made)
    assert (talk.held("home_city"), made.superseded) == (["lyon", "paris"], ())
    found = talk.memory.search("live Paris Lyon", user_id="ada", kinds=["profile"])
    assert {each.item.id: each.conflicts for each in found} == {paris.id: (lyon.id,), lyon.id: (paris.id,)}
    settled = talk.say("I live in Paris")
    assert [(item.id, item.ended_by) for item in settled.superseded] == [(lyon.id, paris.id)]
    (left,) = talk.memory.search("live Paris Lyon", user_id="ada", kinds=["profile"])
    assert left.conflicts == ()


def test_two_speakers_at_one_instant_are_a_dispute(opening: Callable[..., Talk]) -> None:
    talk = opening(
        proposal("due on Monday", "deadline", "monday", subject="Apollo"),
        proposal("due on Friday", "deadline", "friday", subject="Apollo"),
    )
    talk.memory.add(
        [
            {"role": "user", "name": "Ada", "content": "due on Monday"},
            {"role": "user", "name": "Bo", "content": "due on Friday"},
        ]
    )
    assert talk.held("deadline", user=None) == ["friday", "monday"]
    talk.say("due on Friday", user=None, message={"name": "Ada"})
    assert talk.held("deadline", user=None) == ["friday"]


def test_one_who_corrects_himself_in_one_breath_is_no_dispute(talk: Talk) -> None:
    made = talk.say("I live in Paris. No, wait: I live in Lyon.")
    assert talk.held("home_city") == ["lyon"]
    assert [(item.kind, item.ended) for item in made.items] == [
        ("message", None),
        ("profile", "superseded"),
        ("profile", None),
    ]


def test_there_and_back_in_one_entry(talk: Talk) -> None:
    talk.memory.add(
        [{"role": "user", "content": text} for text in ("I live in Paris", "I live in Lyon", "I live in Paris")],
        user_id="ada",
    )
    assert talk.held("home_city") == ["paris"]


def test_what_no_longer_holds_is_retracted(opening: Callable[..., Talk]) -> None:
    talk = opening(
        TEA,
        COFFEE,
        proposal("I went off tea", "likes", "tea", act="retract"),
        proposal("I like nothing any more", "likes", None, act="retract"),
    )
    tea = talk.one(talk.say("I like tea"))
    coffee = talk.one(talk.say("I like coffee"))
    made = talk.say("I went off tea")
    assert [(item.id, item.ended, item.ended_by) for item in made.superseded] == [(tea.id, "retracted", made.entry_id)]
    assert talk.memory.get(tea.id).valid_to == talk.now
    assert talk.memory.get(coffee.id) == coffee
    assert talk.say("I went off tea").superseded == ()
    assert [item.id for item in talk.say("I like nothing any more").superseded] == [coffee.id]


def test_a_task_that_is_done_is_retired(opening: Callable[..., Talk]) -> None:
    talk = opening(
        proposal("renew my passport by June", "task", "renew my passport by june"),
        proposal("renew the lease", "task", "renew the lease"),
        proposal("I renewed my passport", "task", "renewed my passport", done=True),
        proposal("I fed the cat", "task", "fed the cat", done=True),
    )
    passport = talk.one(talk.say("I have to renew my passport by June"))
    lease = talk.one(talk.say("Also renew the lease"))
    assert talk.say("I fed the cat").superseded == ()
    (done,) = talk.say("I renewed my passport").superseded
    assert (done.id, done.ended) == (passport.id, "retired")
    assert talk.memory.get(lease.id) == lease


def test_a_decision_instead_of_another_supersedes_that_one(opening: Callable[..., Talk]) -> None:
    talk = opening(
        proposal("We go with MySQL", "decision", "use mysql"),
        proposal("We ship on Fridays", "decision", "ship on fridays"),
        proposal("We take Postgres, not MySQL", "decision", "use postgres", replaces="mysql"),
        proposal("tea rather than coffee", "likes", "tea", replaces="coffee"),
        COFFEE,
    )
    for text in ("We go with MySQL", "We ship on Fridays", "I like coffee"):
        talk.say(text)
    assert [item.value for item in talk.say("We take Postgres, not MySQL").superseded] == ["use mysql"]
    assert talk.held("decision") == ["ship on fridays", "use postgres"]
    assert [item.value for item in talk.say("tea rather than coffee").superseded] == ["coffee"]


def test_what_was_left_behind_long_ago_is_history_from_the_start(opening: Callable[..., Talk]) -> None:
    until = (START - 900 * DAY).isoformat()
    talk = opening(
        PARIS,
        proposal(
            "I lived in Rome until 2023",
            "home_city",
            "rome",
            valid_to=until,
            occurred_at=(START - 2000 * DAY).isoformat(),
        ),
    )
    paris = talk.one(talk.say("I live in Paris"))
    rome = talk.one(talk.say("I lived in Rome until 2023"))
    assert (rome.ended, rome.valid_to) == ("retired", START - 900 * DAY)
    assert (talk.held("home_city"), talk.memory.get(paris.id)) == (["paris"], paris)
    assert len(talk.say("I lived in Rome until 2023").items) == 1


def test_a_move_that_is_told_late_is_a_move(opening: Callable[..., Talk]) -> None:
    talk = opening(
        PARIS, proposal("I moved to Lyon last month", "home_city", "lyon", occurred_at=(START - 30 * DAY).isoformat())
    )
    paris = talk.one(talk.say("I live in Paris"))
    lyon = talk.one(talk.say("I moved to Lyon last month"))
    assert (talk.held("home_city"), lyon.valid_from) == (["lyon"], START - 30 * DAY)
    assert talk.memory.get(paris.id).valid_to == paris.valid_from  # not before it began


def test_the_same_words_on_another_date_are_another_event(opening: Callable[..., Talk]) -> None:
    first, second = (START - 90 * DAY).isoformat(), (START - 5 * DAY).isoformat()
    talk = opening(
        proposal("Kyoto in autumn", "event", "went to kyoto", occurred_at=first),
        proposal("Kyoto last week", "event", "went to kyoto", occurred_at=second),
        proposal("went to Kyoto", "event", "went to kyoto"),
    )
    for text in ("Kyoto in autumn", "Kyoto last week", "went to Kyoto", "Kyoto last week"):
        talk.say(text)
    assert talk.held("event") == ["went to kyoto", "went to kyoto"]


def test_other_people_are_other_people_and_one_person_may_have_many_names(opening: Callable[..., Talk]) -> None:
    talk = opening(
        PARIS,
        proposal("Robert lives in Rome", "home_city", "rome", subject="Robert"),
        proposal("老王就是Robert", "alias", "robert", subject="老王"),
        proposal("Robert goes by Bob", "alias", "bob", subject="Robert"),
        proposal("Bob moved to Oslo", "home_city", "oslo", subject="Bob"),
        proposal("My name is Ada Ray", "name", "ada ray"),
        proposal("Ada Ray lives in Lyon", "home_city", "lyon", subject="Ada Ray"),
    )
    for text in ("I live in Paris", "Robert lives in Rome", "老王就是Robert", "Robert goes by Bob"):
        talk.say(text)
    assert talk.held("home_city") == ["paris", "rome"]
    assert [item.value for item in talk.say("Bob moved to Oslo").superseded] == ["rome"]
    assert talk.held("home_city") == ["oslo", "paris"]
    talk.say("My name is Ada Ray")
    assert [item.value for item in talk.say("Ada Ray lives in Lyon").superseded] == ["paris"]
    assert talk.held("home_city") == ["lyon", "oslo"]
    homes = [item for item in talk.memory.get_all(user_id="ada", limit=99) if item.key == "home_city"]
    assert {item.value: item.subject for item in homes} == {"lyon": "user", "oslo": "老王"}
    found = talk.memory.search("Where does 老王 live?", user_id="ada", kinds=["profile"], explain=True)
    assert found[0].item.value in ("oslo", "robert", "bob")


def test_a_single_name_joins_the_family_of_the_other(opening: Callable[..., Talk]) -> None:
    talk = opening(
        proposal("Robert also goes by Bob", "alias", "Bob", subject="Robert"),
        proposal("老王就是Bob", "alias", "Bob", subject="老王"),
        proposal("老王住在苏州", "home_city", "苏州", subject="老王"),
    )
    talk.say("Robert also goes by Bob")
    talk.say("老王就是Bob。老王住在苏州。")
    (home,) = [item for item in talk.memory.get_all(user_id="ada") if item.key == "home_city"]
    assert home.subject == "Robert"


def test_the_lanes_user_id_is_a_name_of_the_user(opening: Callable[..., Talk]) -> None:
    talk = opening(PARIS, proposal("Ada lives in Lyon", "home_city", "lyon", subject="Ada"))
    talk.say("I live in Paris")
    talk.say("Ada lives in Lyon")
    assert talk.held("home_city") == ["lyon"]


def test_an_echo_is_refused_and_the_users_own_counts(opening: Callable[..., Talk]) -> None:
    talk = opening(
        *PHRASES,
        echoes={"As you said: I like tea": [], "I like tea, I said": []},
        refused={"Do I like tea?": "question"},
    )
    echo = talk.say("As you said: I like tea", role="tool", idempotency_key="k")
    assert [(gated.rule, gated.text) for gated in echo.gated] == [("echo", "I like tea")]
    assert talk.held("likes") == []
    message = {"role": "tool", "content": "As you said: I like tea"}
    assert talk.memory.add([message], user_id="ada", idempotency_key="k").to_dict() == echo.to_dict()
    assert [gated.rule for gated in talk.say("Do I like tea?").gated] == ["question"]
    talk.say("I like tea")
    (tea,) = [item for item in talk.memory.get_all(user_id="ada") if item.key == "likes"]
    talk.say("I like tea, I said")
    assert len(talk.support(tea)) == 1 + 1  # "Do I like tea?" proposed nothing but its phrase did


def test_a_repeated_call_gives_what_the_first_gave(talk: Talk) -> None:
    def call() -> Any:
        message = {"role": "user", "content": "I live in Lyon and I like tea"}
        return talk.memory.add([message], user_id="ada", idempotency_key="k")

    talk.say("I live in Paris")
    first = call()
    assert (len(first.items), len(first.superseded)) == (3, 1)
    talk.say("I live in Paris")
    assert call().to_dict() == first.to_dict()


def test_taking_an_entry_back_restores_what_it_took_the_place_of(talk: Talk) -> None:
    paris = talk.one(talk.say("I live in Paris"))
    made = talk.say("I live in Lyon")
    talk.memory.rollback(made.entry_id)
    again = talk.memory.get(paris.id)
    assert (again.ended, again.ended_by, again.valid_to) == (None, None, None)
    assert talk.held("home_city") == ["paris"]
    assert talk.memory.explain(paris.id).edges == ()
    talk.say("I live in Lyon")  # what was taken back is no basis
    assert talk.held("home_city") == ["lyon"]


def test_messages_that_are_repeated_or_archived_are_no_basis(talk: Talk) -> None:
    tea = talk.one(talk.say("I like tea"))
    talk.memory.items.archive(tea.id)
    again = talk.one(talk.say("I like tea"))
    assert again.id != tea.id
    turn = {"messages": [{"role": "user", "id": "1", "content": "I like coffee"}]}
    talk.memory.commit_turn("s", turn, user_id="ada")
    repeated = talk.memory.commit_turn("s", turn, user_id="ada")
    assert (repeated.stored, [gated.rule for gated in repeated.gated]) == ((), ["duplicate_message"])
    (coffee,) = [item for item in talk.memory.get_all(user_id="ada") if item.value == "coffee"]
    assert talk.support(coffee) == []


@contextmanager
def judging(folder: Path, *rows: dict[str, Any], target: str | None = None) -> Iterator[Talk]:
    judged = [{"i": 0, "target": target, **row} for row in rows]
    talk = Talk(folder, *PHRASES, judged=judged)
    try:
        yield talk
        assert talk.memory.admin.rebuild(verify=True).equal
    finally:
        talk.memory.close()


@pytest.mark.parametrize(
    ("act", "known", "held"),
    [
        ("ADD", True, ["lyon", "paris"]),
        ("SUPERSEDE", True, ["lyon"]),
        ("RETRACT", True, []),
        ("NONE", True, ["paris"]),
        ("UPDATE", True, ["lyon"]),
        ("NONE", False, ["lyon"]),
        ("GUESS", True, ["lyon"]),
    ],
)
def test_a_models_judgement_is_taken_where_it_fits(tmp_path: Path, act: str, known: bool, held: list[str]) -> None:
    with judging(tmp_path) as talk:
        paris = talk.one(talk.say("I live in Paris"))
    with judging(tmp_path, {"act": act}, target=paris.id if known else None) as talk:
        talk.now += DAY
        talk.say("I live in Lyon")
        assert talk.held("home_city") == held


def test_a_judgement_about_somebody_else_or_another_key_is_not_taken(tmp_path: Path) -> None:
    bob = proposal("Bob lives in Rome", "home_city", "rome", subject="Bob")
    first = Talk(tmp_path, bob, TEA)
    rome, tea = first.one(first.say("Bob lives in Rome")), first.one(first.say("I like tea"))
    first.memory.close()
    for target in (rome.id, tea.id):
        with judging(tmp_path, {"act": "UPDATE"}, target=target) as talk:
            talk.now += 9 * DAY
            talk.say("I live in Lyon")
            assert talk.memory.get(rome.id) == rome
            assert talk.memory.get(tea.id) == tea


def test_an_item_that_is_stated_under_a_known_key_takes_its_place_too(talk: Talk) -> None:
    paris = talk.one(talk.say("I live in Paris"))
    talk.now += DAY
    made = talk.memory.add("Home is Lyon", user_id="ada", kind="profile", key="home_city", value="Lyon")
    assert [item.id for item in made.superseded] == [paris.id]
    assert made.items[0].subject == "user"
    talk.now += DAY
    again = talk.memory.add("Home is Lyon", user_id="ada", kind="profile", key="home_city", value="LYON", subject="Ada")
    assert [item.id for item in again.items] == [made.items[0].id]
    assert len(talk.support(again.items[0])) == 1
    assert {source.entry_id for source in talk.memory.explain(again.items[0].id).sources} == {
        made.entry_id,
        again.entry_id,
    }
    talk.now += DAY
    talk.say("I live in Paris")
    assert talk.held("home_city") == ["paris"]


def test_an_item_under_no_key_or_one_of_the_callers_own_stands_alone(talk: Talk) -> None:
    for _ in range(2):
        talk.memory.add("Tea is hot", kind="fact")
        talk.memory.add("Tea is hot", kind="fact", subject="tea")
        talk.memory.add("Tea is hot", kind="fact", key="state")
        talk.memory.add("Tea is hot", kind="fact", subject="tea", key="state")
    assert len(talk.memory.get_all(kinds=["fact"])) == 2 * 4


def test_agents_that_state_different_things_at_one_instant_are_a_dispute(talk: Talk) -> None:
    for agent, value in (("a", "Monday"), ("b", "Friday")):
        talk.memory.add(
            f"Due {value}",
            kind="fact",
            subject="Apollo",
            key="attribute.deadline",
            value=value,
            agent_id=agent,
            occurred_at=START,
        )
    assert talk.held("attribute.deadline", user=None) == ["Friday", "Monday"]


@pytest.mark.parametrize("question", ["What did I prefer before? Where did I live before?", "我之前住在哪里? live"])
def test_a_question_for_the_past_shows_what_was_before(talk: Talk, question: str) -> None:
    talk.say("I live in Paris")
    talk.say("I live in Lyon")
    shown = talk.memory.search(question, user_id="ada", kinds=["profile"])
    assert [(each.item.value, each.item.ended) for each in shown] == [("lyon", None), ("paris", "superseded")]
    assert shown[1].sources[0].quote == "I live in Paris"
    assert len(talk.memory.search(question, user_id="ada", kinds=["profile"], limit=1)) == 1
    plain = talk.memory.search("Where do I live?", user_id="ada", kinds=["profile"])
    assert [each.item.value for each in plain] == ["lyon"]


def test_values_are_compared_in_the_form_of_their_key(opening: Callable[..., Talk]) -> None:
    talk = opening(
        proposal("I am 34", "age", "34", kind="profile", cardinality="one"),
        proposal("我三十四岁", "age", "三十四", kind="profile", cardinality="one", compared="34"),
        proposal("I am 35", "age", "thirty-five", kind="profile", cardinality="one", compared="35"),
    )
    talk.say("I am 34")
    assert [item.kind for item in talk.say("我三十四岁").items] == ["message"]
    assert talk.held("age") == ["34"]
    talk.say("I am 35")
    stated = talk.memory.add("35 years", user_id="ada", kind="profile", key="age", value="35 years old")
    assert [item.value for item in stated.items] == ["thirty-five"]
    other = talk.memory.add("36 years", user_id="ada", kind="profile", key="age", value="36 years")
    assert [item.value for item in other.superseded] == ["thirty-five"]
    assert other.items[0].value == "36 years"
