"""What recurs is found, and what only seems to is not: reflection by rules, in English and Chinese."""

import random
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.traits.laws.records import MemoryInput, ProposedOperations
from phronesis.traits.memory_features import (
    MemoryFeatures,
    add_odds,
    chances_of,
    clause_of,
    opposites_of,
    read,
    read_all,
    shows,
    the_tables,
    trait_sentence,
    weaken_wording,
)
from phronesis.traits.rule_reflection import RULES_VERSION, reconsider, reflect
from seen_memories import cosine_of, ids, memories, memory, trait

RUNS = (
    "Went for a run along the river before work",
    "Jogged 5 km before work in the rain",
    "Out running at six, then straight to the office",
)
CATS = ("下班后给小区的流浪猫添了猫粮", "蹲在车棚边等那只三花猫出来", "给院子里的野猫搭了窝")


def test_a_behaviour_is_found_across_sessions_and_said_in_general() -> None:
    seen = memories(*RUNS, "The boiler makes a noise like a kettle")
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]
    assert found.content == "Often goes running before work"
    assert found.context == "personal"
    assert RULES_VERSION == "reflection-rules/12"


def test_of_few_memories_none_is_left_out_of_a_behaviour() -> None:
    seen = memories(
        "Went for a 5k before work again, the canal path was all ice",
        "Got my morning run in despite the rain, shoes are drying on the radiator",
        "Was out by the river at quarter past six, in my running shoes, and still made standup",
        "Up at six for a jog round the reservoir, at my desk by half eight",
    )
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert (found.content, list(found.evidence_ids)) == ("Often goes running", ["m000", "m002", "m004", "m006"])


def test_a_behaviour_is_found_in_chinese_and_said_in_chinese() -> None:
    seen = memories(*CATS, "楼道的灯坏了")
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]
    assert found.content == "经常照顾猫"


def test_one_session_is_one_event() -> None:
    seen = [memory(n, text, session_id="s") for n, text in enumerate(RUNS)]
    assert reflect(seen, ids(seen), []) == ProposedOperations(
        new_behaviors=[], reinforcements=[], contradictions=[], upgrades=[]
    )


def test_what_is_sensitive_shows_nothing_else() -> None:
    seen = memories(
        *RUNS,
        "Jogged past the clinic before work for my test",
        "Went running to the clinic before work",
        "Went for a run to the clinic before work",
    )
    found = reflect(seen, ids(seen), [], sensitive=lambda text: "clinic" in text).new_behaviors
    assert [list(one.evidence_ids) for one in found] == [["m000", "m002", "m004"], ["m006", "m008", "m010"]]
    known = [trait("Often goes running", ["m000", "m002", "m004"])]
    proposed = reflect(seen[:4], {"m006"}, known, sensitive=lambda text: "clinic" in text)
    assert not proposed.reinforcements
    assert reflect(seen[:4], {"m006"}, known).reinforcements


def test_what_is_no_behaviour_of_the_users() -> None:
    cases: list[tuple[str, ...]] = [
        (
            "If I had a pool I would swim every day",
            "I'd take up swimming if I ever had a free evening",
            "Would love to go swimming one day",
        ),
        ("My sister went running before work", "Callum ran ten miles, says my brother Callum", "Callum went running"),
        ("User's birthday is on May 4", "User was born on 4 May", "User turned 41 in May"),
        ("Ran a script on the server", "The company runs a store", "Ran out of milk"),
    ]
    for texts in cases:
        seen = memories(*texts)
        assert not reflect(seen, ids(seen), []).new_behaviors


NEARNESS = (
    "Looked for the swifts over the mill until dark",
    "Watched the kestrel on the pylon through the telescope",
    "Saw two curlews on the mudflat at dawn",
)
BACKGROUND = tuple(
    "Moved the sofa|Boiler serviced on Friday|The lift is broken|Locked out of the shed|Renewed the permit"
    "|Rain all week".split("|")
)
MORE = tuple(
    "A parcel came for Ulla|The dentist has moved|Grandad turned ninety|Tomas has a new car|Rent goes up in spring"
    "|Bea passed her exam|My badge expires in June|The well is dry|The attic is full of boxes"
    "|Customs kept the package|The tram has a new driver".split("|")
)
MORE = (*BACKGROUND, *MORE)
"""What tells of nothing that the user does, enough of it to say what is usual."""


def test_an_encoder_finds_what_shares_no_word() -> None:
    seen = memories(*NEARNESS, *MORE)
    assert not reflect(seen, ids(seen), []).new_behaviors
    groups = {one.id: 0 if n < 3 else n for n, one in enumerate(seen)}
    [found] = reflect(seen, ids(seen), [], cosine=cosine_of(groups)).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]


def test_new_evidence_reinforces_and_makes_no_twin() -> None:
    seen = memories(*RUNS, "Went for a run before work again")
    proposed = reflect(seen, {"m006"}, [trait("Often goes running", ["m000", "m002", "m004"])])
    assert not proposed.new_behaviors
    [more] = proposed.reinforcements
    assert (more.trait_id, list(more.new_evidence_ids), more.quality_grade) == ("t1", ["m006"], "C")


def test_grades() -> None:
    cases: list[tuple[str, dict[str, str], str]] = [
        ("I always go running before work", {}, "B"),
        ("Went for a run", {"session_id": "s0"}, "D"),
        ("Went for a run with friends at the party", {}, "A"),
        ("我一向早上跑步", {}, "B"),
    ]
    for text, fields, grade in cases:
        seen = [*memories("Went for a run before work, office later", *RUNS[1:]), memory(9, text, **fields)]
        [more] = reflect(seen, {"m009"}, [trait("Often goes running", ["m000", "m002", "m004"])]).reinforcements
        assert more.quality_grade == grade


def test_the_opposite_contradicts() -> None:
    cases: list[tuple[str, tuple[str, ...], str]] = [
        ("Often goes running", RUNS, "No more runs before work for me"),
        ("Often goes running", RUNS, "Stopped running in May"),
        (
            "Often stays up late",
            ("Stayed up until 2am", "Coding past midnight", "Night owl, up late"),
            "In bed by ten, lights out",
        ),
    ]
    for content, texts, last in cases:
        seen = memories(*texts, last)
        proposed = reflect(seen, {"m006"}, [trait(content, ["m000", "m002", "m004"])])
        [against] = proposed.contradictions
        assert (against.trait_id, list(against.contradicting_evidence_ids)) == ("t1", ["m006"])
        assert not proposed.reinforcements


def test_behaviours_of_one_field_point_to_a_preference() -> None:
    two = [trait("Often goes running", id="a"), trait("Often goes swimming", id="b", confidence=0.6)]
    [up] = reflect([], set(), two).upgrades
    assert (list(up.from_trait_ids), up.new_subtype, up.new_content) == (["a", "b"], "preference", "Likes to keep fit")
    assert up.context == "personal"
    assert "goes running; Often" in up.reasoning
    made = trait("Likes to keep fit", id="c", subtype="preference")
    assert not reflect([], set(), [*two, made]).upgrades
    unsure = [two[0], trait("Often goes swimming", id="b", confidence=0.4)]
    assert not reflect([], set(), unsure).upgrades
    short = [two[0], trait("Often goes swimming", id="b", stage="trend", confidence=None)]
    assert not reflect([], set(), short).upgrades
    unknown = [trait("Often twirls", id="a"), trait("Often whirls", id="b")]
    assert not reflect([], set(), unknown).upgrades


def test_preferences_of_one_kind_point_to_a_core_trait() -> None:
    two = [
        trait("喜欢运动健身", id="a", subtype="preference", confidence=0.7),
        trait("喜欢户外活动", id="b", subtype="preference", confidence=0.6),
    ]
    [up] = reflect([], set(), two).upgrades
    assert (up.new_subtype, up.new_content, up.facet, up.context) == ("core", "重视健康", "value", "general")
    assert up.reasoning.startswith("都指向同一倾向")
    assert not reflect([], set(), two[:1]).upgrades


_WORDS = st.sampled_from([*RUNS, *CATS, *BACKGROUND, "I hate running", "不再喂猫了", "", " ", "\ud800\x00", "if", "🎉"])
_TEXTS = st.lists(st.one_of(_WORDS, st.text(max_size=40)), max_size=14)


@settings(max_examples=60, deadline=None)
@given(texts=_TEXTS, sessions=st.integers(1, 5), shuffle=st.randoms(use_true_random=False), old=st.integers(0, 8))
def test_laws(texts: list[str], sessions: int, shuffle: random.Random, old: int) -> None:
    seen = [memory(n, text, session_id=f"s{n % sessions}") for n, text in enumerate(texts)]
    new = {one.id for one in seen[old:]}
    traits = [trait("Often goes running", ["m000", "m001"]), trait("经常照顾猫", ["m002"], id="t2")]
    proposed = reflect(seen, new, traits)
    mixed = [*seen]
    shuffle.shuffle(mixed)
    assert reflect(mixed, new, traits[::-1]) == proposed
    places = {one.id: one.session_id for one in seen}
    taken = {"m000", "m001", "m002"}
    for one in proposed.new_behaviors:
        assert len(one.evidence_ids) == len(set(one.evidence_ids)) >= 3
        assert len({places[that] for that in one.evidence_ids}) >= 2
        assert new.intersection(one.evidence_ids)
        assert not taken.intersection(one.evidence_ids)
        assert one.content.strip()
        taken.update(one.evidence_ids)
    for more in proposed.reinforcements:
        assert set(more.new_evidence_ids) <= new
        assert more.trait_id in {"t1", "t2"}
    for against in proposed.contradictions:
        assert set(against.contradicting_evidence_ids) <= new


# How the rules of a reflection read words: the table, and what is said of a trait.


def test_words_name_behaviours_in_any_form_and_only_as_whole_words() -> None:
    cases: list[tuple[str, bool]] = [
        ("Jogged to the mill", True),
        ("Went for a run", True),
        ("Ran a script on the server", False),
        ("Jogging before dawn", True),
        ("A pig and a jogglery", False),
        ("周末又去夜跑了", True),
        ("跑题了", False),
    ]
    for text, named in cases:
        assert ("run" in read(memory(0, text)).behaviours) is named, text


def test_what_is_over_is_told_from_what_goes_on() -> None:
    cases: list[tuple[str, bool]] = [
        ("I haven't been on the bike in months", True),
        ("Gave it up after the winter", True),
        ("Tuned the cello before the rehearsal", False),
        ("书柜塞满了", False),
        ("戒了咖啡", True),
    ]
    for text, ended in cases:
        assert ("ended" in read(memory(0, text)).marks) is ended, text


def test_a_memory_is_barred_by_its_kind_and_by_its_subject() -> None:
    assert not read(memory(0, "Runs", subject="user")).barred
    assert read(memory(0, "Runs", subject="Ann")).barred
    assert read(memory(0, "Run", kind="task")).barred


def test_a_trait_is_said_by_the_clause_that_tells_something() -> None:
    assert clause_of("User baked two loaves, then slept.") == "baked two loaves"
    assert clause_of("Yes. The user walked to the mill") == "The user walked to the mill"
    assert clause_of("我绕湖走了两圈，下雨了") == "绕湖走了两圈"
    assert trait_sentence("goes to bed early", "bedtime", "en") == "Often goes to bed early"
    assert trait_sentence("跑步", "weekend", "zh") == "经常周末跑步"
    assert weaken_wording("Now often goes running", "en") == "Sometimes goes running"
    assert weaken_wording("有时跑步", "zh") is None


def test_the_table_names_what_is_there() -> None:
    tables = the_tables()
    assert {one.field for one in tables.behaviours.values()} <= tables.fields.keys()
    assert {one.core for one in tables.fields.values()} <= tables.cores.keys()
    assert opposites_of(frozenset(tables.behaviours)) <= tables.behaviours.keys()


QUIET = (
    "Stayed quiet in the meeting at the office",
    "Said nothing on the call with the client",
    "Quiet again in the retro",
)
LOUD = ("Told stories at the pub with friends", "Talked so much at the party with friends")


def later(*texts: str, **fields: str) -> list[MemoryInput]:
    """Give memories after all others."""
    return [memory(40 + 2 * n, text, **fields) for n, text in enumerate(texts)]


def test_two_situations_are_two_sides() -> None:
    found = reconsider(trait("Often avoids conflict"), memories(*QUIET), later(*LOUD))
    assert found.action == "split"
    here, there = found.sides
    assert (here.content, here.context) == ("Often avoids conflict at work", "work")
    assert there.context == "social"
    assert there.content.startswith("Often is talkative")
    assert list(there.evidence_ids) == ["m040", "m042"]
    assert found.reasoning == "It differs at work and with friends"


def test_the_opposite_behaviour_takes_its_place() -> None:
    late = memories("Stayed up until 2am", "Up past midnight", "Night owl again")
    found = reconsider(trait("Often stays up late"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert (found.action, found.new_content) == ("modify", "Now often goes to bed early")
    same = reconsider(trait("Now often goes to bed early"), late, later("Asleep by ten", "Lights out, in bed by ten"))
    assert same.new_content != "Now often goes to bed early"
    late_zh = memories("熬夜到凌晨", "又熬夜", "半夜还在写")
    assert reconsider(trait("经常熬夜"), late_zh, later("十点就睡", "早睡了")).new_content == "现在经常早睡"


def test_what_speaks_against_it_outweighs() -> None:
    found = reconsider(trait("Often goes running"), memories("Went for a run"), later("I hate running"))
    assert (found.action, found.reasoning) == ("dissolve", "No less speaks against it than for it")
    assert reconsider(trait("经常跑步"), [], []).action == "dissolve"


def readings(*texts: str) -> list[MemoryFeatures]:
    return read_all(memories(*texts))


DONE = (
    "Sewed the hem of the blue coat before breakfast",
    "Took the early ferry and drew the gulls on the railing",
    "晚饭后绕着湖走了两圈",
    "周末又去河边拍鸟",
)
FACTS = (
    "The office has moved to the third floor",
    "Her sister's birthday is in May",
    "办公室搬到三楼了",
    "妹妹在邮局上班",
)


def test_what_is_done_is_likelier_a_behaviour_than_what_is_so() -> None:
    def chance(text: str) -> float:
        chances = chances_of(text)
        assert chances is not None
        return chances["shown"]

    for done, known in product(DONE, FACTS):
        assert chance(done) > chance(known) or done.isascii() != known.isascii(), (done, known)


def test_without_a_reader_plain_words_tell_what_is_no_behaviour() -> None:
    given = add_odds(readings("Went for a run", "If only I had time to run", "要是有空就去夜跑"), lambda _: None)
    assert [shows(one) for one in given] == [True, False, False]
    assert [one.apart for one in given] == [False, True, True]


def test_many_memories_are_told_from_the_users_mean() -> None:
    def judge(text: str) -> dict[str, float]:
        return {"shown": 0.99 if "luck" in text else 0.5, "apart": 0.0, "private": 0.0}

    few, many = ([f"{what} {n}" for what in ("A boiler", "Luck: luck") for n in range(size)] for size in (2, 20))
    assert all(map(shows, add_odds(readings(*few), judge)))
    assert [shows(one) for one in add_odds(readings(*many), judge)] == [*[False] * 20, *[True] * 20]
