"""What recurs is found, and what only seems to is not: reflection by rules, in English and Chinese."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.traits.by_rules import RULES_VERSION, reflect
from phronesis.traits.by_rules.similarity import (
    OWN,
    SHARED,
    SHARED_BY_CHANCE,
    SHARING,
    sharing,
)
from phronesis.traits.laws.records import SeenMemory, Wishes
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
    assert RULES_VERSION == "reflection-rules/10"


def test_a_behaviour_is_found_in_chinese_and_said_in_chinese() -> None:
    seen = memories(*CATS, "楼道的灯坏了")
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]
    assert found.content == "经常照顾猫"


def test_a_time_of_day_is_named_in_chinese() -> None:
    seen = memories("清早去公园跑步", "早上绕湖跑了五公里", "天刚亮就去晨跑")
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert found.content == "经常早上跑步"


def test_one_session_is_one_event() -> None:
    seen = [memory(n, text, session_id="s") for n, text in enumerate(RUNS)]
    assert reflect(seen, ids(seen), []) == Wishes(new_behaviors=[], reinforcements=[], contradictions=[], upgrades=[])


def test_two_sessions_are_two_occasions() -> None:
    seen = [memory(n, text) for n, text in enumerate(RUNS)]
    assert [one.session_id for one in seen] == ["s0", "s0", "s1"]
    assert not reflect(seen, ids(seen), []).new_behaviors
    again = [*seen, memory(4, "Jogged by the river before work")]
    assert reflect(again, ids(again), []).new_behaviors


def test_what_is_so_makes_no_habit_of_what_was_done_twice() -> None:
    done = memories(*RUNS[:2])
    fact = memory(8, "Running shoes are too dear, says the 10k shop", kind="fact")
    assert not reflect([*done, fact], ids([*done, fact]), []).new_behaviors
    habit = memory(8, "Goes running before work every Friday", kind="fact")
    assert reflect([*done, habit], ids([*done, habit]), []).new_behaviors


def test_what_is_sensitive_shows_nothing_else() -> None:
    seen = memories(
        *RUNS,
        "Jogged past the clinic before work for my test",
        "Ran to the clinic before work",
        "Went for a run to the clinic before work",
    )
    found = reflect(seen, ids(seen), [], sensitive=lambda text: "clinic" in text).new_behaviors
    assert [list(one.evidence_ids) for one in found] == [["m000", "m002", "m004"], ["m006", "m008", "m010"]]
    known = [trait("Often goes running", ["m000", "m002", "m004"])]
    wishes = reflect(seen[:4], {"m006"}, known, sensitive=lambda text: "clinic" in text)
    assert not wishes.reinforcements
    assert reflect(seen[:4], {"m006"}, known).reinforcements


def test_without_a_session_each_day_is_one() -> None:
    days = [memory(2 * n, text, session_id=None) for n, text in enumerate(RUNS)]
    assert reflect(days, ids(days), []).new_behaviors
    day = [
        memory(0, text, id=f"d{n}", session_id=None)
        if n < 0
        else SeenMemory(id=f"d{n}", content=text, kind="episodic", at=days[0].at)
        for n, text in enumerate(RUNS)
    ]
    assert not reflect(day, ids(day), []).new_behaviors


def test_something_new_is_needed() -> None:
    seen = memories(*RUNS)
    assert not reflect(seen, set(), []).new_behaviors
    assert reflect(seen, {"m004"}, []).new_behaviors


def test_what_is_no_behaviour_of_the_users() -> None:
    cases: list[tuple[str, ...]] = [
        (
            "If I had a pool I would swim every day",
            "I'd take up swimming if I ever had a free evening",
            "Would love to go swimming one day",
        ),
        ("要是公司附近有泳池就天天游泳", "如果有泳池我肯定去游泳", "想去学游泳"),
        ("My sister went running before work", "Callum ran ten miles, says my brother Callum", "Callum went running"),
        ("我同事每天加班", "老婆又加班了", "室友小林加班到十点"),
        ("Joked that I will marry the coffee machine", "Kidding, my blood type is coffee", "Told them coffee haha"),
        ("User's birthday is on May 4", "User was born on 4 May", "User turned 41 in May"),
        ("他们说：“跑步对身体好”", "书上写着“跑步”", "标语写着：“跑步”"),
        ("Ran a script on the server", "The company runs a store", "Ran out of milk"),
    ]
    for texts in cases:
        seen = memories(*texts)
        assert not reflect(seen, ids(seen), []).new_behaviors


def test_kinds_and_subjects_that_show_nothing() -> None:
    cases: list[dict[str, str]] = [
        {"kind": "task"},
        {"kind": "profile"},
        {"kind": "profile", "key": "address"},
        {"subject": "my sister"},
        {"kind": "decision"},
    ]
    for fields in cases:
        seen = memories(*RUNS, **fields)
        assert not reflect(seen, ids(seen), []).new_behaviors


def test_a_fact_shows_a_behaviour_where_it_names_one() -> None:
    runs = memories(
        "Runs before work, morning run", "User goes running before work", "Hobby: goes running, 5k", kind="fact"
    )
    assert reflect(runs, ids(runs), []).new_behaviors
    hobby = memories(*RUNS, kind="profile", key="hobby", subject="user")
    assert reflect(hobby, ids(hobby), []).new_behaviors
    dull = memories("The gate is blue and heavy", "The heavy blue gate", "A gate, blue, heavy", kind="fact")
    assert not reflect(dull, ids(dull), [], cosine=cosine_of(dict.fromkeys(ids(dull), 0))).new_behaviors


def test_who_is_told_of_by_name_is_the_user() -> None:
    seen = memories(
        "Priya went for a run before work",
        "Priya jogged before work",
        "Priya went running, 5k",
        "Priya's teammate Callum went running",
        "Callum went for a run",
        "Callum ran 5k",
    )
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]
    named = memories("小陈早上去跑步", "小陈晨跑了五公里", "小陈又去夜跑", "小陈的同事也晨跑")
    [found] = reflect(named, ids(named), []).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]


def test_a_name_that_no_table_knows_is_somebody_who_does_something_again() -> None:
    other = memories(
        "Zorbo goes running at six",
        "Zorbo went running",
        "Zorbo runs before work, 5k",
        *BACKGROUND,
        "The gate is shut",
        "Bought socks",
    )
    assert not reflect(other, ids(other), []).new_behaviors
    nicknamed = memories(
        "阿May跑步", "阿May又去晨跑", "阿May晨跑了五公里", *(f"楼道的{one}坏了" for one in "灯门窗锁铃梯墙管栏")
    )
    assert not reflect(nicknamed, ids(nicknamed), []).new_behaviors
    titled = memories("张姐早上去跑步", "李老师晨跑了五公里", "王哥又去夜跑")
    assert not reflect(titled, ids(titled), []).new_behaviors
    things = memories("Jogging was hard before work", "Jogging is fun", "Jogging in the rain, 5k")
    assert reflect(things, ids(things), []).new_behaviors
    mine = memories("客户催了两次，用户还是去跑步了", "朋友来了，用户一早去晨跑", "同事加班，用户去夜跑了五公里")
    assert reflect(mine, ids(mine), []).new_behaviors


def test_words_that_no_table_knows_are_shared_by_what_is_nearly_the_same() -> None:
    seen = memories(
        "Whittled another wooden spoon on the porch",
        "Whittled a wooden spoon, porch swept after",
        "On the porch, whittled one more wooden spoon",
        "Locked the shed",
        "Rain all week",
        "Called the bank",
        "Bought socks",
        "The lift is broken",
    )
    [found] = reflect(seen, ids(seen), []).new_behaviors
    assert found.content.startswith("Often")
    assert "porch" in found.content or "spoon" in found.content


NEARNESS = (
    "Looked for the swifts over the mill until dark",
    "Watched the kestrel on the pylon through the telescope",
    "Saw two curlews on the mudflat at dawn",
)
BACKGROUND = (
    "Moved the sofa",
    "Boiler serviced on Friday",
    "The lift is broken",
    "Locked out of the shed",
    "Renewed the permit",
    "Rain all week",
)
MORE = (
    *BACKGROUND,
    "The office is on the third floor",
    "A parcel came for Ulla",
    "Our street gets new lamps",
    "Ferry was late",
    "The dentist has moved",
    "Two invoices are open",
    "Grandad turned ninety",
    "The printer is out of toner",
    "Snow is forecast",
    "Tomas has a new car",
    "The bakery closes in May",
    "Rent goes up in spring",
    "A fuse blew",
    "The meeting was cancelled",
    "Bea passed her exam",
    "The bridge is being painted",
    "My badge expires in June",
    "A tree fell on the fence",
    "The radio plays jazz",
    "The well is dry",
    "The new manager is called Odd",
    "The attic is full of boxes",
    "The concert was sold out",
    "The lake froze over",
    "Customs kept the package",
    "The kettle is broken",
    "The tram has a new driver",
)
"""What tells of nothing that the user does, enough of it to say what is usual."""


def test_an_encoder_finds_what_shares_no_word() -> None:
    seen = memories(*NEARNESS, *MORE)
    assert not reflect(seen, ids(seen), []).new_behaviors
    groups = {one.id: 0 if n < 3 else n for n, one in enumerate(seen)}
    [found] = reflect(seen, ids(seen), [], cosine=cosine_of(groups)).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004"]


def test_what_is_said_in_the_same_words_is_one_behaviour() -> None:
    seen = memories(*RUNS, *(f"{text} once more" for text in RUNS), *MORE)
    groups = {one.id: n // 3 if n < 6 else n for n, one in enumerate(seen)}
    [found] = reflect(seen, ids(seen), [], cosine=cosine_of(groups)).new_behaviors
    assert list(found.evidence_ids) == ["m000", "m002", "m004", "m006", "m008", "m010"]


def test_what_is_done_often_is_no_ground_to_be_seen_against() -> None:
    seen = memories(*(f"Went for a run before work, lap {n}" for n in range(24)), *(BACKGROUND * 3))
    groups = {one.id: 0 if n < 24 else n for n, one in enumerate(seen)}
    known = trait("Often goes running", [one.id for one in seen[:22]])
    wishes = reflect(seen, {seen[22].id, seen[23].id}, [known], cosine=cosine_of(groups))
    [more] = wishes.reinforcements
    assert list(more.new_evidence_ids) == [seen[22].id, seen[23].id]


def test_an_encoder_keeps_apart_what_only_shares_words() -> None:
    seen = memories(*RUNS, *BACKGROUND)
    apart = {one.id: n for n, one in enumerate(seen)}
    assert not reflect(seen, ids(seen), [], cosine=cosine_of(apart)).new_behaviors


def test_what_has_no_vector_is_compared_by_words() -> None:
    seen = memories(*RUNS, *BACKGROUND)
    without = {one.id: n for n, one in enumerate(seen) if n > 2}
    assert reflect(seen, ids(seen), [], cosine=cosine_of(without)).new_behaviors
    few = {one.id: n for n, one in enumerate(seen) if n < 4}  # too few to have a mean
    assert reflect(seen, ids(seen), [], cosine=cosine_of(few)).new_behaviors


def test_new_evidence_reinforces_and_makes_no_twin() -> None:
    seen = memories(*RUNS, "Went for a run before work again")
    wishes = reflect(seen, {"m006"}, [trait("Often goes running", ["m000", "m002", "m004"])])
    assert not wishes.new_behaviors
    [more] = wishes.reinforcements
    assert (more.trait_id, list(more.new_evidence_ids), more.quality_grade) == ("t1", ["m006"], "C")


def test_a_trait_whose_evidence_is_away_is_known_by_its_sentence() -> None:
    seen = memories("Went for a run before work again")
    [more] = reflect(seen, ids(seen), [trait("Often goes running", ["gone"])]).reinforcements
    assert list(more.new_evidence_ids) == ["m000"]


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


def test_a_behaviour_before_the_preference_it_led_to() -> None:
    seen = memories(*RUNS, "Went for a run before work again")
    liked = trait("Likes to keep fit", ["m000", "m002", "m004"], id="a", subtype="preference")
    [more] = reflect(seen, {"m006"}, [trait("Often goes running", ["m000", "m002", "m004"]), liked]).reinforcements
    assert more.trait_id == "t1"


def test_the_opposite_contradicts() -> None:
    cases: list[tuple[str, tuple[str, ...], str]] = [
        ("Often goes running", RUNS, "No more runs before work for me"),
        ("Often goes running", RUNS, "I hate running"),
        ("Often goes running", RUNS, "Stopped running in May"),
        ("经常喝咖啡", ("早上一杯咖啡", "又喝咖啡", "手冲咖啡一壶"), "我不再喝咖啡了"),
        ("经常喝咖啡", ("早上一杯咖啡", "又喝咖啡", "手冲咖啡一壶"), "讨厌咖啡"),
        (
            "Often stays up late",
            ("Stayed up until 2am", "Coding past midnight", "Night owl, up late"),
            "In bed by ten, lights out",
        ),
    ]
    for content, texts, last in cases:
        seen = memories(*texts, last)
        wishes = reflect(seen, {"m006"}, [trait(content, ["m000", "m002", "m004"])])
        [against] = wishes.contradictions
        assert (against.trait_id, list(against.contradicting_evidence_ids)) == ("t1", ["m006"])
        assert not wishes.reinforcements


def test_what_contradicts_nothing() -> None:
    seen = memories(*RUNS, "Callum stopped running", "If I stopped running I would be sad", "Quit the newspaper")
    traits = [trait("Often goes running", ["m000", "m002", "m004"])]
    assert not reflect(seen, {"m006", "m008", "m010"}, traits).contradictions
    never = memories("Never drinks coffee", "No coffee for me, never drink coffee", "Did not have coffee")
    wishes = reflect(never, {"m004"}, [trait("Never drinks coffee", ["m000", "m002"])])
    assert not wishes.contradictions
    assert wishes.reinforcements


def test_an_ending_that_an_encoder_sees() -> None:
    seen = memories(*NEARNESS, "Sold the telescope, that is over with", *MORE)
    groups = {one.id: 0 if n < 4 else n for n, one in enumerate(seen)}
    [against] = reflect(
        seen, {"m006"}, [trait("Counts what flies", ["m000", "m002", "m004"])], cosine=cosine_of(groups)
    ).contradictions
    assert list(against.contradicting_evidence_ids) == ["m006"]


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


def test_a_preference_made_of_the_same_evidence_is_not_made_again() -> None:
    seen = memories(*RUNS)
    evidence = list(ids(seen))
    below = [trait("Often goes running", evidence, id="a"), trait("Often goes swimming", id="b")]
    above = trait("Loves sport", evidence, id="c", subtype="preference")
    assert not reflect(seen, set(), [*below, above]).upgrades


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
    wishes = reflect(seen, new, traits)
    mixed = [*seen]
    shuffle.shuffle(mixed)
    assert reflect(mixed, new, traits[::-1]) == wishes
    places = {one.id: one.session_id for one in seen}
    taken = {"m000", "m001", "m002"}
    for one in wishes.new_behaviors:
        assert len(one.evidence_ids) == len(set(one.evidence_ids)) >= 3
        assert len({places[that] for that in one.evidence_ids}) >= 2
        assert new.intersection(one.evidence_ids)
        assert not taken.intersection(one.evidence_ids)
        assert one.content.strip()
        taken.update(one.evidence_ids)
    for more in wishes.reinforcements:
        assert set(more.new_evidence_ids) <= new
        assert more.trait_id in {"t1", "t2"}
    for against in wishes.contradictions:
        assert set(against.contradicting_evidence_ids) <= new


def test_thousands_are_no_matter() -> None:
    seen = [memory(n, RUNS[n % 3]) for n in range(300)]
    found = reflect(seen, ids(seen), []).new_behaviors
    assert max(len(one.evidence_ids) for one in found) <= 40


def test_what_others_do_shows_nothing_of_the_user() -> None:
    cases: list[tuple[str, ...]] = [
        ("Yesterday, my flatmate went running", "Again, my brother ran 5k", "Once again my gran went jogging"),
        ("Kevin 又去跑步", "Kevin 每次都晨跑", "Kevin 说他夜跑"),
        ("阿琳又去跑步", "阿琳晨跑了五公里", "我说阿琳夜跑"),
        ("jog at six", "5k before work", "Ozren runs at six", "Ozren ran 5k", "Ozren jogged home"),
    ]
    for texts in cases:
        seen = memories(*texts, *["the gate is shut", "mild day", "bins out"] * 3)
        assert not reflect(seen, ids(seen), []).new_behaviors


@given(st.integers(4, 40), st.integers(0, 2**32 - 1))
def test_what_is_shared_is_the_cosine_of_the_lists(size: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).normal(size=(size, size)).astype(np.float32)
    deviations = drawn + drawn.T
    lists = np.zeros((size, size))
    for n in range(size):
        nearest = sorted((m for m in range(size) if m != n), key=lambda m: -deviations[n, m])[:SHARED]
        held = np.maximum(deviations[n, nearest], 0.0)
        lists[n, nearest] = held / max(held.sum(), 1e-6)
        lists[n, n] = OWN
    lists /= np.linalg.norm(lists, axis=1, keepdims=True)
    expected = deviations + SHARING * (lists @ lists.T - SHARED_BY_CHANCE)
    np.testing.assert_allclose(sharing(deviations), expected, atol=1e-5)
