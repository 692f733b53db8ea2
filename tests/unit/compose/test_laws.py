"""Laws 5 and 8 for random packages: never over budget, nothing lost in silence, no fence closed from inside."""

import re
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, example, given, settings

from phronesis.compose.budget_selection import RenderedPiece
from phronesis.compose.composer import BUDGETED, compose, in_order
from phronesis.compose.item_wording import is_separate_turn
from phronesis.core.context import SLOTS, Block, Budget, Candidates, ContextPackage
from phronesis.errors import BudgetTooSmall
from phronesis.models.token_counter import MESSAGE_OVERHEAD, PRIMING_OVERHEAD, ByteBound, O200k, TokenCounter
from unit.compose.drawn import BUDGETS, CANDIDATES, evidence_of

RELAXED = settings(
    max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None
)
TAG = re.compile(r"</?(?:memory|turn)-(\d{9})")


@lru_cache
def counter_named(name: str) -> TokenCounter:
    return O200k() if name == "o200k" else ByteBound()


def counted(package: ContextPackage, counter: TokenCounter) -> int:
    messages = package.render("messages")
    chat = sum(counter.count(message["content"]) + MESSAGE_OVERHEAD for message in messages) + PRIMING_OVERHEAD
    return max(counter.count(package.render("text")), chat)


def check_budget(candidates: Candidates, budget: Budget, counter: TokenCounter) -> ContextPackage | None:
    try:
        package = compose(candidates, budget=budget, counter=counter, context_id="c", explain={"plan": 1})
    except BudgetTooSmall as error:
        check_refusal(error, candidates, budget, counter)
        return None
    assert package.token_count == counted(package, counter) <= budget.total
    assert package.user_message == candidates.user_message
    assert package == compose(candidates, budget=budget, counter=counter, context_id="c", explain={"plan": 1})
    assert package.explain["plan"] == 1
    assert package.explain["budget"]["used"] == package.token_count
    return package


def check_refusal(error: BudgetTooSmall, candidates: Candidates, budget: Budget, counter: TokenCounter) -> None:
    minimum = error.details["minimum"]
    assert error.field == "token_budget"
    assert budget.total < minimum
    assert str(minimum) in error.message
    least = compose(candidates, budget=Budget(total=minimum), counter=counter, context_id="c", explain={})
    assert least.token_count == minimum
    with pytest.raises(BudgetTooSmall):
        compose(candidates, budget=Budget(total=minimum - 1), counter=counter, context_id="c", explain={})


def check_nothing_lost(package: ContextPackage, candidates: Candidates, budget: Budget) -> None:
    for slot in BUDGETED:
        rows = {row["index"]: row for row in package.explain["dropped"] if row["slot"] == slot}
        cut = {row["index"] for row in package.explain["shortened"] if row["slot"] == slot}
        expected = [(n, source) for n, source in enumerate(getattr(candidates, slot)) if n not in rows]
        assert len(rows) == sum(row["slot"] == slot for row in package.explain["dropped"])
        for (index, source), got in zip(expected, getattr(package, slot), strict=True):
            assert got == source or (index in cut and isinstance(got, Block) and got.citations == source.citations)
        assert {row["reason"] for row in rows.values()} <= {"share", "budget", "count", "duplicate"}
    assert len(package.evidence) <= max(0, budget.evidence_count)
    assert len(package.recent_turns) <= max(0, budget.recent_turn_count)
    # No gap between the turns shown and the message.
    gone = [row["index"] for row in package.explain["dropped"] if row["slot"] == "recent_turns"]
    assert sorted(gone) == list(range(len(gone)))


def check_lending(package: ContextPackage, budget: Budget) -> None:
    """Nothing beyond a share but what others left, and of that nothing for the summary."""
    slots = package.explain["budget"]["slots"]
    for slot, row in slots.items():
        assert row["share"] <= row["cap"] == max(0, getattr(budget, slot))
        assert row["borrowed"] == max(0, row["used"] - row["share"])
    assert not slots["working_summary"]["borrowed"]
    assert sum(row["used"] for row in slots.values()) <= max(0, budget.total)


def check_what_is_said_twice(package: ContextPackage, candidates: Candidates) -> None:
    """What was taken from messages that stand in the turns is shown once, unless it ended or is disputed."""
    cut = {row["index"] for row in package.explain["shortened"] if row["slot"] == "recent_turns"}
    gone = {row["index"] for row in package.explain["dropped"] if row["slot"] == "recent_turns"}
    turns = enumerate(candidates.recent_turns)
    said = {one for n, turn in turns if n not in gone | cut for one in turn.citations}
    for evidence in package.evidence:
        citation = evidence.item.citation
        origins = candidates.taken_from.get(citation)
        if origins is None:
            assert citation not in said
        elif not evidence.conflicts and not evidence.item.ended:
            assert not origins or not said.issuperset(origins)


def check_fences(package: ContextPackage) -> None:
    text = package.text.removesuffix(package.messages[-1]["content"])
    stable = "".join(message["content"] for message in package.messages[: package.stable_messages])
    changing = changing_of(package)
    lasting = [list(package.working_summary), [block for block in package.system_blocks if block.label != "Due"]]
    alone = sum(block.fenced for slot in lasting for block in slot if block.label is None)
    groups = [{b.label for b in slot if b.fenced and b.label is not None} for slot in lasting]
    held = alone + sum(map(len, groups))
    found = any(b.fenced for b in package.system_blocks if b.label == "Due") + bool(package.evidence)
    turns = len(package.recent_turns)
    numbers = set(TAG.findall(text))
    assert len(numbers) == bool(held or found or turns)
    number = numbers.pop() if numbers else ""
    assert not number or number not in package.messages[-1]["content"]
    for kind, expected, where in (
        ("memory", held + found, text),
        ("turn", turns, text),
        ("memory", held, stable),
        ("memory", found, changing),
    ):
        assert where.count(f"<{kind}-{number}") == where.count(f"</{kind}-{number}>") == expected
    assert text.startswith(stable)
    assert text.rstrip().removesuffix("# User message").rstrip().endswith(changing.rstrip())
    turn_messages = list(package.messages)[package.stable_messages : -1 - bool(changing)]
    for turn, message in zip(package.recent_turns, turn_messages, strict=True):
        assert message["role"] == (turn.role if is_separate_turn(turn) else "user")
        assert len(TAG.findall(message["content"])) == (0 if is_separate_turn(turn) else 2)


def changing_of(package: ContextPackage) -> str:
    """Give the message of data before the user's, or nothing."""
    due = any(block.label == "Due" for block in package.system_blocks)
    return package.messages[-2]["content"] if due or package.evidence else ""


def check_citations(package: ContextPackage) -> None:
    """Every block and memory is cited where it is shown, and nothing else is."""
    where = [message["content"] for message in package.messages[: package.stable_messages]]
    shown = "".join([*where, changing_of(package)])
    pieces = [
        RenderedPiece(slot, n, block, "", 0) for slot in SLOTS[:2] for n, block in enumerate(getattr(package, slot))
    ]
    order = sorted([one for slot in SLOTS[:2] for one in in_order(pieces, slot)], key=lambda one: one.due)
    most = {"system_blocks": 3, "working_summary": 1}
    cited = [f"[{citation}]" for piece in order for citation in piece.block.citations[: most[piece.slot]]]
    cited += [f"[{evidence.item.citation}]" for evidence in package.evidence]
    assert [f"[{package.citations[one]}]" for one in re.findall(r"\[(m\d+)\]", shown)] == cited
    assert not re.search(r"\[mem:", shown)
    assert list(package.citations) == [f"m{n}" for n in range(1, len(package.citations) + 1)]
    alias = {citation: one for one, citation in package.citations.items()}
    fenced = package.text.partition("# Memory\n")[2] if package.evidence else ""
    for evidence in package.evidence:
        assert f"\n[{alias[evidence.item.citation]}] (" in fenced


def check_nothing_invisible(package: ContextPackage) -> None:
    others = [message["content"] for message in package.messages[:-1]]
    for text in (package.text.removesuffix(package.messages[-1]["content"]), *others):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\U000e0000-\U000e007f]", text)
    package.text.encode()


def check_all(candidates: Candidates, budget: Budget, counter: TokenCounter) -> None:
    package = check_budget(candidates, budget, counter)
    if package:
        check_nothing_lost(package, candidates, budget)
        check_lending(package, budget)
        check_what_is_said_twice(package, candidates)
        check_fences(package)
        check_citations(package)
        check_nothing_invisible(package)


@pytest.mark.parametrize("name", ["o200k", "bytes"])
@given(candidates=CANDIDATES, budget=BUDGETS)
@RELAXED
def test_laws(name: str, candidates: Candidates, budget: Budget) -> None:
    check_all(candidates, budget, counter_named(name))


class Superadditive:
    """A vocabulary that no real one is: longer texts cost more a character, so that every estimate is too low."""

    name = "superadditive"
    exact = True

    def count(self, text: str) -> int:
        return len(text) + len(text) ** 2 // 2_000


@pytest.mark.slow
@given(candidates=CANDIDATES, budget=BUDGETS)
@example(candidates=Candidates("hi", evidence=[evidence_of("word " * 9, number=n) for n in range(9)]), budget=Budget())
@RELAXED
def test_laws_hold_where_estimates_fail(candidates: Candidates, budget: Budget) -> None:
    check_all(candidates, budget, Superadditive())
