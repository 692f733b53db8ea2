"""The keys of a server's callers."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.core.api_keys import Role, parse_token
from phronesis.errors import NotFound
from phronesis.store.schema import api_keys


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
