"""Reflection by a model in a real store: two stages, what it costs, erasing what it saw, and deriving anew (law 9)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import model_server as servers
from phronesis.core.results import ErasureCertificate
from phronesis.store.trace_search import SUFFIXES
from told_traits import USER, Told, again, against, behavior, telling, words

HIDDEN = "Zyxomania"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def told(url: str) -> Iterator[Told]:
    with telling(url) as opened:
        yield opened
        assert opened.differences() == ()


@pytest.fixture
def experience_search(url: str) -> Iterator[Told]:
    """With a first stage, and a role of its own for special reflections."""
    with telling(url, "reflect", "questions", "special_reflection") as opened:
        yield opened
        assert opened.differences() == ()


def shown(told: Told, form: str = "reflected") -> str:
    """What the model was last shown for a form."""
    return next(data for name, data in reversed(told.script.asked) if name == form)


def parts(data: str) -> dict[str, list[list[str]]]:
    """The columns of the lines of each part of what was shown."""
    found: dict[str, list[list[str]]] = {}
    for line in data.splitlines():
        if line.startswith("<turn-"):
            role = line.split('role="')[1].split('"')[0]
            found[role] = []
        elif " | " in line:
            found[role].append(line.split(" | "))
    return found


def texts(data: str, part: str) -> list[str]:
    """The texts of a part of what was shown."""
    return [columns[-1] for columns in parts(data)[part]]


# --- what a model is shown -------------------------------------------------------------------------------------------


def test_a_model_sees_new_memories_and_traits_and_nothing_else(told: Told) -> None:
    told.memory.add("kept word for word", user_id=USER, infer=False)
    told.memory.add("of another", user_id="other", kind="fact")
    told.behave("tea", cycles=1, context="work")
    told.remember("new", days=1)
    told.remember("weighty", importance=9)
    told.reflect(reinforcements=[again("tea", "new")])
    seen = parts(shown(told))
    assert set(seen) == {"new", "traits"}
    first, second = seen["new"]
    assert (first[:2], first[3:]) == (["m1", "s1"], ["episodic", "Once more it was new, as ever"])
    assert (second[:2], second[-1]) == (["m2", "s2"], "Once more it was weighty, as ever")
    assert seen["traits"] == [["t1", "behavior", "emerging 0.55", "work", words("tea")]]
    assert not any(one in shown(told) for one in told.ids.values())


def test_short_names_in_an_answer_stand_for_what_was_shown_and_a_bad_row_costs_itself_alone(told: Told) -> None:
    told.remember("a", "b", "c", "d")
    told.reflect(new_behaviors=[behavior("tea", "m1", "m2", "[m4]"), {"evidence_ids": ["m1"]}])
    assert {one.memory_id for one in told.memory.traits.evidence(told.ids["tea"])} == {told.ids[name] for name in "abd"}
    told.remember("e", days=1)
    told.reflect(reinforcements=[again("t1", "m1")])
    assert told.ids["e"] in {one.memory_id for one in told.memory.traits.evidence(told.ids["tea"])}


def test_more_than_fits_is_shown_by_weight_and_the_rest_has_been_looked_at(told: Told) -> None:
    long = "so it went on " * 40
    for n in range(90):
        told.memory.add(f"{n} {long}", user_id=USER, kind="episodic", importance=1 if n % 2 else 6)
    told.reflect()
    seen = texts(shown(told), "new")
    assert 40 < len(seen) < 90
    assert all(len(text) <= 600 for text in seen)
    weights = [int(text.split()[0]) % 2 for text in seen]
    assert weights.count(0) == 45
    assert not told.memory.should_reflect(USER)


# --- two stages ------------------------------------------------------------------------------------------------------


def test_it_asks_searches_and_then_concludes(experience_search: Told) -> None:
    told = experience_search
    told.memory.add("Rode the bicycle to the lake", user_id=USER, kind="episodic", session_id="s1")
    told.memory.add("Mended the bicycle in the yard", user_id=USER, kind="episodic", session_id="s2")
    told.memory.add("Paid the rent", user_id=USER, kind="episodic")
    told.reflect()
    first = [one.id for one in told.memory.get_all(user_id=USER, kinds=["episodic"]) if "bicycle" in one.content]
    made = told.memory.add("Bought a lamp for the bicycle", user_id=USER, kind="episodic", session_id="s3").items[0]
    told.script.questions = ("When did she ride the bicycle before?", "What does the bicycle mean to her?")
    cycle = told.reflect(days=1, new_behaviors=[behavior("cycling", *first, made.id)])
    assert told.asked[-2:] == ["questions", "reflected"]
    assert parts(shown(told, "questions")).keys() == {"new", "traits"}
    assert texts(shown(told), "new") == [made.content]
    earlier = texts(shown(told), "earlier")
    assert {*earlier} >= {"Rode the bicycle to the lake", "Mended the bicycle in the yard"}
    assert len({*earlier}) == len(earlier)  # each once
    assert (cycle.calls, cycle.tokens, cycle.traits_created) == (2, 240, 1)
    assert len(told.trait("cycling").evidence) == 3


# --- erasing (law 9) -------------------------------------------------------------------------------------------------


def everything_in(told: Told) -> bytes:
    path = told.memory.admin.components.database.path
    assert path is not None
    files = [Path(path + suffix) for suffix in SUFFIXES]
    return b"\0".join(one.read_bytes() for one in files if one.exists())


def assert_gone(told: Told, certificate: ErasureCertificate, text: str) -> None:
    assert certificate.clean, certificate.residue
    assert text.encode() not in everything_in(told)
    assert told.differences() == ()


def test_what_was_erased_leaves_every_trace_of_a_reflection(told: Told) -> None:
    told.remember("a", "b", "c")
    secret = told.memory.add(f"The doctor spoke of {HIDDEN}", user_id=USER, kind="episodic").items[0].id
    told.ids["secret"] = secret
    told.reflect(
        new_behaviors=[
            {"content": f"Speaks of {HIDDEN} a lot", "evidence_ids": ["secret", "a", "b"]},
            behavior("tea", "a", "b", "c"),
        ],
        reinforcements=[again(f"{HIDDEN}-trait", "a")],
    )
    assert HIDDEN.encode() in everything_in(told)
    told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
    certificate = told.memory.erase(id=secret)
    assert certificate.entries_prepared_again == 1
    assert_gone(told, certificate, HIDDEN)
    assert HIDDEN not in shown(told)
    assert told.shown() == ["tea"]
    [cycle] = told.memory.traits.reflections(USER)
    assert (cycle.memories_scanned, cycle.traits_created, cycle.refused) == (3, 1, ())


def test_what_was_only_shown_is_followed_too(told: Told) -> None:
    """A model may repeat what it saw in words that name no memory."""
    told.remember("a", "b", "c")
    told.ids["secret"] = told.memory.add(f"She dreamt of {HIDDEN}", user_id=USER, kind="episodic").items[0].id
    told.reflect(new_behaviors=[{**behavior("tea", "a", "b", "c"), "content": f"Dreams of {HIDDEN} over tea"}])
    told.remember("d", days=1)
    later = told.reflect(reinforcements=[again("tea", "d")])
    told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
    certificate = told.memory.erase(id=told.ids["secret"])
    assert_gone(told, certificate, HIDDEN)
    # The later reflection was shown the trait in those words: it is prepared again with it.
    assert certificate.entries_prepared_again == 2
    assert later.id in [one.id for one in told.memory.traits.reflections(USER)]


def test_what_a_question_found_is_followed_too(experience_search: Told) -> None:
    told = experience_search
    told.ids["secret"] = told.memory.add(f"The lake at {HIDDEN}", user_id=USER, kind="episodic").items[0].id
    told.reflect()
    told.remember("a", "b", "c", days=1)
    told.script.questions = (f"What happened at the lake at {HIDDEN}?",)
    told.reflect(new_behaviors=[{**behavior("tea", "a", "b", "c"), "content": f"Is given to {HIDDEN}"}])
    assert HIDDEN in shown(told)
    told.script.questions = ("What happened?",)
    told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
    assert_gone(told, told.memory.erase(id=told.ids["secret"]), HIDDEN)
    assert [one.content for one in told.memory.get_user_traits(USER, "trend")] == [words("tea")]


def test_what_a_special_reflection_saw_is_followed_too(told: Told) -> None:
    told.behave("tea", cycles=1)
    told.remember("no-1", days=1)
    told.reflect(contradictions=[against("tea", "no-1")])
    told.ids["secret"] = told.memory.add(f"Since {HIDDEN} no tea", user_id=USER, kind="episodic").items[0].id
    told.clock.pass_days(1)
    said = {"action": "modify", "new_content": f"No longer drinks tea, since {HIDDEN}", "reasoning": f"{HIDDEN}!"}
    told.reflect(contradictions=[against("tea", "secret")], special={"tea": said})
    assert HIDDEN in told.trait("tea").content
    told.operation()
    assert_gone(told, told.memory.erase(id=told.ids["secret"]), HIDDEN)
    found = told.trait("tea")
    assert (found.content, found.contradiction_count) == (words("tea"), 1)


def test_an_erasure_while_the_model_is_away_leaves_the_round_to_be_made_up_for(told: Told) -> None:
    told.remember("a", "b", "c", "d")
    operation = [behavior("tea", "a", "b", "c")]
    told.reflect(new_behaviors=operation)
    told.script.instead = lambda _form: servers.status(503)
    certificate = told.memory.erase(id=told.ids["d"])
    assert certificate.clean
    [cycle] = told.memory.traits.reflections(USER)
    assert (cycle.status, cycle.error, told.shown()) == ("failed", "model.unavailable", [])
    assert told.memory.should_reflect(USER).new_memories == 3
    told.script.instead = lambda _form: None
    made = told.reflect(force=False, new_behaviors=operation)
    assert made.traits_created == 1


# --- derived anew ----------------------------------------------------------------------------------------------------


def test_deriving_anew_finds_what_the_same_answers_give(told: Told) -> None:
    told.behave("tea", cycles=1)
    told.script.answer = {
        "new_behaviors": [behavior("tea", "tea-0", "tea-1", "tea-2")],
        "reinforcements": [again("tea", "tea-again-0", grade="A")],
    }
    cycles = {one.id for one in told.memory.traits.reflections(USER)}
    told.memory.items.archive(told.ids["tea-0"])  # since then
    before = told.trait("tea")
    told.memory.update(told.ids["tea-1"], content="Words that came later")
    asked = len(told.script.asked)
    result = told.memory.admin.rederive(user_id=USER)
    assert len(told.script.asked) == asked + 2  # each round is a question again
    assert "Words that came later" not in "".join(data for _, data in told.script.asked[asked:])
    assert (result.added, result.vanished) == ((), ())
    assert {*result.changed} == cycles  # each refuses what of the one answer is not of its round
    after = told.trait("tea")
    assert (after.evidence, after.confidence, after.stage) == (before.evidence, before.confidence, before.stage)
