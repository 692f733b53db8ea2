"""What outcomes say of an entry: proposals, judgements, echoes, and what was refused."""

from datetime import UTC, datetime

from phronesis.core.entries import Entry, Outcome
from phronesis.core.proposals import ECHOES, GATED, JUDGED, PROPOSALS, Proposal, Refusal, echo_predicate, refusals_in

ENTRY = Entry(
    id="e",
    lane_id=1,
    seq=1,
    verb="add",
    handler_version=1,
    actor="agent",
    recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    payload={"messages": [{"role": "user", "content": "I like tea"}, {"role": "tool", "content": "I like tea"}]},
)


def proposed(n: int) -> Proposal:
    return Proposal(
        n=n,
        quote="I like tea",
        start=0,
        end=10,
        kind="preference",
        subject="user",
        key="likes",
        content="I like tea",
        value="tea",
    )


def outcomes(**rows: object) -> dict[str, list[Outcome]]:
    roles = {"proposals": PROPOSALS, "refusals": GATED, "judgements": JUDGED, "echoes": ECHOES}
    return {roles[name]: [Outcome(role=roles[name], made_by="t", body={name: found})] for name, found in rows.items()}


def test_an_echo_is_never_the_users() -> None:
    rows: list[dict[str, object]] = [{"n": n, "of": [], "start": 0, "end": 10} for n in (0, 1, 7)]
    echoes = echo_predicate(ENTRY, outcomes(echoes=rows))
    assert [n for n in (0, 1, 2) if echoes(proposed(n))] == [1]


def test_what_was_refused_and_what_echoes_is_told() -> None:
    gate = Refusal(n=0, text="Do I like tea?", rule="question", reason="it asks")
    found = outcomes(
        refusals=[gate.to_dict()],
        echoes=[{"n": 1, "of": [], "start": 3, "end": 30}],
        proposals=[proposed(0).to_dict(), proposed(1).to_dict()],
    )
    first, second = refusals_in(ENTRY, found)
    assert first == gate
    assert (second.n, second.rule, second.text) == (1, "echo", "I like tea")
    assert refusals_in(ENTRY, outcomes(proposals=[proposed(1).to_dict()])) == []
