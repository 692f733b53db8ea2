"""Blocks of claims for tests: a lawful one to break, and any lawful one."""

import json
from typing import Any

from hypothesis import strategies as st

from phronesis.core.confidence import CLAIM_STATUSES
from phronesis.reasoning.laws.facts import METRICS, OPERATORS
from phronesis.reasoning.laws.records import KEYS, MEMBERS, Claim, ReasoningBlock, Tally


def member(claim_id: Any = "c1", **fields: Any) -> dict[str, Any]:
    facts = {"source_run_ids": ["r1"], "run_id": "r1"}
    return {"claim_id": claim_id, "status": "hypothesis", "facts": facts, "inference": "Cu binds formate.", **fields}


def block(*members: Any, topic: str = "Cu", more: str = "") -> str:
    claims = json.dumps(list(members), ensure_ascii=False)
    return f"RBMEM_CLAIMS_V1\nTOPIC={topic}\n{more}CLAIMS_JSON={claims}"


SAID = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).filter(str.strip)
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=20)
IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=8).filter(str.strip)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | SAID,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SAID, inner, max_size=3),
    max_leaves=5,
)
RUNS = st.lists(IDS, max_size=3, unique=True).map(tuple)
EXTRA = st.dictionaries(SAID.filter(lambda name: name not in (*MEMBERS, "count", "run_ids")), VALUES, max_size=2)
TALLIES = st.builds(
    lambda runs, more, extra: Tally(count=len(runs) + more, run_ids=runs, extra=extra), RUNS, st.integers(0, 3), EXTRA
)
NAMED = st.fixed_dictionaries(
    {},
    optional={
        "M1": SAID,
        "M2": SAID,
        "modifier": SAID,
        "ratio": st.fixed_dictionaries({"op": st.sampled_from(OPERATORS), "value": NUMBERS}),
    },
)
TESTS = st.builds(
    lambda metric, product, op, against, given: {
        "metric": metric,
        "op": op,
        **({} if metric == "activity" else {"product": product}),
        **against,
        "given": given,
    },
    st.sampled_from(METRICS),
    SAID,
    st.sampled_from(OPERATORS),
    st.fixed_dictionaries({"value": NUMBERS}) | st.fixed_dictionaries({"versus": NAMED.filter(bool)}),
    NAMED,
)
CLAIMS = st.builds(
    Claim,
    claim_id=IDS,
    status=st.sampled_from(CLAIM_STATUSES),
    facts=st.builds(lambda runs, rest: {**rest, "source_run_ids": runs}, st.lists(IDS, min_size=1, max_size=3), EXTRA),
    inference=SAID,
    constraint=st.just("") | SAID,
    allow_positive=st.booleans(),
    exception_reason=st.just("") | SAID,
    conditions=st.lists(SAID, max_size=2).map(tuple),
    limitations=st.lists(SAID, max_size=2).map(tuple),
    support=TALLIES,
    contra=TALLIES,
    test=st.none() | TESTS,
    extra=EXTRA,
)
KEY = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,9}", fullmatch=True).filter(lambda key: key.upper() not in KEYS)
BLOCKS = st.builds(
    ReasoningBlock,
    topic=LINE,
    scope=st.none() | LINE,
    claims=st.lists(CLAIMS, max_size=10, unique_by=lambda claim: claim.claim_id).map(tuple),
    extra=st.lists(st.tuples(KEY, LINE), max_size=3, unique_by=lambda pair: pair[0]).map(tuple),
)
