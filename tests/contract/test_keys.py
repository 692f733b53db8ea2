"""The keys of a server's callers."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.core.api_keys import Role, Token, parse_token
from phronesis.errors import InputError, NotFound, Unauthenticated
from phronesis.interfaces.authentication import Authenticator
from phronesis.store.side_tables import api_keys


@pytest.mark.both_databases
def test_a_key_is_found_by_its_token_until_it_is_revoked(memory: Memory) -> None:
    assert not memory.admin.keys.any_active()
    assert not memory.admin.keys.any_made()
    token, key = memory.admin.keys.create("write", label="Ada 的笔记本", actor="ada")
    assert (key.role, key.label, key.actor, key.tenant) == (Role.WRITE, "Ada 的笔记本", "ada", "acme")
    assert memory.admin.keys.any_active()
    assert memory.admin.keys.find(token) == key
    assert memory.admin.keys.list() == [key]
    revoked = memory.admin.keys.revoke(key.id)
    assert revoked.revoked_at is not None
    assert not revoked.active
    assert memory.admin.keys.find(token) is None
    assert not memory.admin.keys.any_active()
    assert memory.admin.keys.any_made()
    assert memory.admin.keys.revoke(key.id) == revoked  # the first time counts
    assert key.to_dict()["role"] == "write"


def test_a_secret_is_kept_as_a_hash_alone(memory: Memory) -> None:
    token, _ = memory.admin.keys.create(Role.READ, label="x")
    with memory.admin.components.database.transaction("acme", "read") as unit:
        (row,) = unit.run(sa.select(api_keys))
    assert parse_token(token).secret not in bytes(row.hash)
    assert token.rpartition(".")[2] not in str(row)


def test_what_does_not_open(memory: Memory) -> None:
    token, key = memory.admin.keys.create("read", label="x")
    given = parse_token(token)
    for wrong in (
        Token("acme", key.id, bytes(32)),
        Token("rival", key.id, given.secret),
        Token("no such tenant!", key.id, given.secret),
        Token("acme", "01a205fb-710c-7149-96b1-2d76b6d16db7", given.secret),
    ):
        assert memory.admin.keys.find(str(wrong)) is None
    with pytest.raises(Unauthenticated):
        memory.admin.keys.find("sk-1234")


def test_wrong_fields_are_named(memory: Memory) -> None:
    for field, given in {"role": {"role": "owner"}, "label": {"label": " "}, "actor": {"actor": "\n"}}.items():
        with pytest.raises(InputError) as refusal:
            memory.admin.keys.create(**{"role": "read", "label": "x", **given})
        assert refusal.value.field == field
    with pytest.raises(NotFound):
        memory.admin.keys.revoke("01a205fb-710c-7149-96b1-2d76b6d16db7")


def test_keys_are_of_a_tenant_and_no_part_of_its_memory(memory: Memory, tmp_path: Path) -> None:
    memory.add("tea", user_id="ada")
    before = memory.admin.rebuild(verify=True).live_hash
    token, key = memory.admin.keys.create("read", label="ada likes tea from the high mountains", actor="ada")
    rival = memory.for_tenant("rival")
    assert rival.admin.keys.list() == []
    assert not rival.admin.keys.any_active()
    assert not rival.admin.keys.any_made()
    with pytest.raises(NotFound):
        rival.admin.keys.revoke(key.id)
    assert memory.admin.rebuild(verify=True).live_hash == before
    memory.export(tmp_path / "all.jsonl")
    assert key.id not in (tmp_path / "all.jsonl").read_text("utf-8")
    assert memory.erase(user_id="ada").clean
    assert memory.admin.keys.find(token) == key


def test_admission_gives_a_caller_of_the_keys_tenant(memory: Memory) -> None:
    admission = Authenticator(memory, keys_required=False)
    anybody = admission.admit(None)
    assert (anybody.memory, anybody.role, anybody.actor, anybody.key) == (memory, Role.ADMIN, "agent", None)
    with pytest.raises(Unauthenticated):
        Authenticator(memory, keys_required=True).admit(None)
    token, key = memory.for_tenant("rival").admin.keys.create("read", label="x", actor="bob")
    guest = admission.admit(token)
    assert (guest.memory.admin.tenant, guest.role, guest.actor, guest.key) == ("rival", Role.READ, "bob", key)
    assert admission.admit(token).memory is guest.memory
    assert admission.admit(None).memory is memory  # the server's own tenant has no key
    _, own = memory.admin.keys.create("read", label="x")
    with pytest.raises(Unauthenticated, match="keys create"):
        admission.admit(None)
    memory.admin.keys.revoke(own.id)
    with pytest.raises(Unauthenticated, match="keys create"):  # who ever had a key is not opened by losing it
        admission.admit(None)
    memory.for_tenant("rival").admin.keys.revoke(key.id)
    with pytest.raises(Unauthenticated, match="revoked"):
        admission.admit(token)


def test_those_who_come_are_remembered_up_to_a_bound(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phronesis.interfaces.authentication.MOST_RECENT", 2)
    admission = Authenticator(memory, keys_required=True, seconds=60)
    tokens = [memory.admin.keys.create("read", label=f"{n}")[0] for n in range(3)]
    for token in tokens:
        assert admission.recent(token) is None
        assert admission.admit(token) is admission.recent(token)
    assert [admission.recent(token) is None for token in tokens] == [True, True, False]
    with pytest.raises(Unauthenticated):
        admission.admit(tokens[0][:-1] + ("0" if tokens[0][-1] != "0" else "1"))
