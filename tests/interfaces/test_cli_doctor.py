"""``phronesis doctor``: what it finds in a store that was broken, and that the command it names mends it."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from phronesis import wiring
from phronesis.errors import SchemaMissing
from phronesis.memory import Memory
from phronesis.store import schema


@pytest.fixture
def hashing(store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "hashing")
    with Memory.open(store) as memory:
        memory.add("我喜欢绿茶", user_id="lin")
        memory.flush()
    return store


def findings(call: Any, *arguments: str) -> dict[str, Any]:
    """Return what is wrong, by its code."""
    shown = call("doctor", "--json", *arguments)
    report = json.loads(shown.out)
    wrong = {check["code"]: check for check in report["checks"] if not check["ok"]}
    assert shown.code == (1 if wrong else 0)
    assert report["ok"] is not bool(wrong)
    return wrong


def _pending(url: str) -> None:
    with Memory.open(url) as memory:
        memory._runtime._background.stop()
        memory.add("later", user_id="lin", wait=False)


def _no_vector(url: str) -> None:
    with Memory.open(url) as memory:
        memory._runtime._background.stop()
        memory.add("红茶", user_id="lin")


def _other_encoder(url: str) -> None:
    with (
        Memory.open(url) as memory,
        memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit,
    ):
        unit.run(sa.update(schema.embedding_models).values(model_id="novel-1"))


@pytest.mark.parametrize(
    ("code", "breaks"),
    [("entries.pending", _pending), ("vectors.missing", _no_vector), ("embedder.other", _other_encoder)],
)
def test_the_command_mends_it(call: Any, hashing: str, code: str, breaks: Callable[[str], None]) -> None:
    assert findings(call) == {}
    breaks(hashing)
    found = findings(call, "--url", hashing, "--tenant", "default")[code]
    assert found["command"].endswith(f" --url {hashing} --tenant default")
    assert f"         $ {found['command']}\n" in call("doctor", "--url", hashing, "--tenant", "default").out
    mended = call(*shlex.split(found["command"])[1:])
    assert mended.code == 0, mended.err
    assert findings(call) == {}


def test_a_password_is_not_repeated(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Memory:
        raise SchemaMissing("older")

    monkeypatch.setattr(wiring, "open_memory", refuse)
    found = findings(call, "--url", "postgresql://lin:geheim@db.example/p")["storage.schema_missing"]
    assert found["command"] == "phronesis store upgrade --url URL"


def test_a_store_that_cannot_be_opened_is_a_finding(call: Any, tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("this is no database at all, but a text that is long enough" * 20, "utf-8")
    found = findings(call, "--url", f"sqlite:///{tmp_path / 'no.db'}")["storage.error"]
    assert "not a SQLite database" in found["detail"]
    assert found["level"] == "error"


def test_every_mistake_of_a_policy_is_a_finding_with_its_line(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    path.write_text("version: 1\nretentoin: {}\nbudgets:\n  total: lots\n", "utf-8")
    shown = call("doctor", "--policy", str(path), "--json")
    assert shown.code == 1
    checks = json.loads(shown.out)["checks"]
    assert [check["detail"].split(":")[0] for check in checks] == [f"{path}, line 2", f"{path}, line 4"]
    assert {check["code"] for check in checks} == {"policy.invalid"}
    path.write_text("version: 1\nbudgets:\n  total: 3000\n", "utf-8")
    assert findings(call, "--policy", str(path)) == {}
