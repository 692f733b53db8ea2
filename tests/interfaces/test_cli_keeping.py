"""The commands that keep a store in order."""

import json
from pathlib import Path
from typing import Any

import pytest

from phronesis.core.results import RebuildResult
from phronesis.errors import NotFound
from phronesis.memory.admin import Admin


@pytest.fixture
def tea(call: Any) -> str:
    """Return the id of a message that user lin sent in the session monday."""
    arguments = ("add", "I drink green tea", "--user", "lin", "--session", "monday", "--json")
    identity: str = call(*arguments).json["items"][0]["id"]
    return identity


def test_rebuild(call: Any, tea: str) -> None:
    assert "1 entries replayed: equal to the live state" in call("rebuild", "--verify").out
    assert call("rebuild", "--json").json["equal"]
    assert call("get", tea).code == 0


def test_a_difference_is_an_exit_code(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    different = RebuildResult(equal=False, live_hash="a", replayed_hash="b", differences=("item 1",), entries=1)
    monkeypatch.setattr(Admin, "rebuild", lambda *_, **__: different)
    shown = call("rebuild", "--verify")
    assert shown.code == 1
    assert "differs: item 1" in shown.out


def test_rederive(call: Any, tea: str) -> None:
    shown = call("rederive", "--user", "lin")
    assert shown.code == 0
    assert shown.out.startswith("added: 0\nchanged: 0\nvanished: 0\nto take it back: phronesis rollback ")
    assert call("rederive", "--user", "nobody").code == 1


def test_export_and_import(call: Any, tea: str, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    assert call("export", str(file)).out == f"1 entries of 1 lanes are in {file}\n"
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert call("import", str(file), "--url", other, "--json").json["entries_added"] == 1
    assert "0 entries taken in, 1 known already" in call("import", str(file), "--url", other).out
    assert call("get", tea, "--url", other, "--json").json["content"] == "I drink green tea"
    assert call("import", str(tmp_path / "nothing.jsonl")).code == 2
    file.write_text("nonsense", "utf-8")
    assert call("import", str(file)).code in {1, 2}


def test_doctor(call: Any, tea: str) -> None:
    shown = call("doctor", "--json")
    assert shown.json["ok"]
    assert call("doctor").out.startswith("ok ")


def test_doctor_prints_the_policy_in_force(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "team.yml"
    path.write_text(
        "version: 1\nretention:\n  types:\n    home_city: overwrite\npolicies: [不要透露内部代号。]\n", "utf-8"
    )
    lines = call("doctor", "--policy", str(path)).out.partition("The policy in force:")[2].splitlines()
    told = {line.split()[0]: line.split() for line in lines if line}
    assert told["retention.types.home_city"][-1] == '"overwrite"'
    assert f"{path}, line 4" in " ".join(told["retention.types.home_city"])
    assert told["budgets.total"] == ["budgets.total", "default", "4000"]
    assert told["policies"][-1] == '["不要透露内部代号。"]'
    rows = json.loads(call("doctor", "--policy", str(path), "--json").out)["policy"]
    assert {"path": "retention.types.home_city", "value": "overwrite", "source": f"{path}, line 4"} in rows
    assert len(rows) == len(lines) - 2  # less the head, and the end of the line before it
    path.write_text("version: 1\nretentoin: {}\n", "utf-8")
    wrong = call("doctor", "--policy", str(path))
    assert wrong.code == 1
    assert f"{path}, line 2: unknown field 'retentoin'; did you mean 'retention'?" in wrong.out


def test_reembed(call: Any, tea: str) -> None:
    assert "1 vectors made; searches use hashing" in call("reembed", "hashing").out
    assert call("reembed", "nonsense").code == 2


def test_erase_a_memory(call: Any, tea: str) -> None:
    shown = call("erase", tea, "--yes")
    assert shown.code == 0, shown.err
    assert "no trace" in shown.out
    assert call("get", tea).code == 1
    assert call("rebuild", "--verify").code == 0


def test_erase_a_session_and_a_user(call: Any, tea: str) -> None:
    call("add", "I like coffee", "--user", "lin", "--session", "tuesday")
    assert call("erase", "--session", "monday", "--user", "lin", "--yes", "--json").json["items_erased"] == 1
    listed = call("list", "--user", "lin", "--json").json
    assert {(item["kind"], item["content"]) for item in listed} == {
        ("message", "I like coffee"),
        ("preference", "I like coffee"),
    }
    assert call("erase", "--user", "lin", "--yes").code == 0
    assert call("list", "--user", "lin", "--json").json == []


def test_erase_asks_first(call: Any, tea: str) -> None:
    assert call("erase", tea, stdin=b"n\n").code == 1
    assert call("get", tea).code == 0
    assert call("erase", tea, stdin=b"y\n").code == 0
    assert call("get", tea).code == 1


def test_worker_does_what_is_left(call: Any, tea: str) -> None:
    assert call("worker", "--once").out == "0 entries and vectors done\n"
    assert call("worker", "--once", "--json").json == {"done": 0, "faults": {}}


def test_worker_runs_until_signalled(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []
    monkeypatch.setattr("phronesis.worker.Worker.run_until_signalled", lambda _: ran.append(True))
    assert call("worker").code == 0
    assert ran


def test_worker_names_what_it_could_not_do(call: Any, tea: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise NotFound("the encoder is away")

    monkeypatch.setattr("phronesis.index.vectorizer.Vectorizer.run", missing)
    shown = call("worker", "--once")
    assert shown.code == 1
    assert "cannot be brought up to date: not_found" in shown.out


def test_db_upgrade(call: Any) -> None:
    assert call("db", "upgrade", "--json").json["before"] is None
    again = call("db", "upgrade", "--json").json
    assert again["before"] == again["after"]
    assert call("db", "upgrade").out == f"schema {again['after']} before, schema {again['after']} now\n"
    assert call("db", "upgrade", "--url", "sqlite:////nowhere/x.db").code == 1


def test_a_postgres_database_serves_as_well(call: Any, postgres_dsn: str) -> None:
    store = ("--url", postgres_dsn)
    assert call("db", "upgrade", *store).code == 0
    call("add", "我喜欢绿茶", "--user", "lin", *store)
    assert call("search", "绿茶", "--user", "lin", *store, "--json").json["evidence"][0]["item"]["user_id"] == "lin"
    assert call("rebuild", "--verify", *store).code == 0


def test_jobs_are_listed(call: Any) -> None:
    assert call("jobs").out == "0 entries wait, 0 failed, 0 documents have no vector yet\n"
    call("add", "我住在杭州。", "--user", "lin")
    listed = call("jobs").out
    assert "due    reflect  lin" in listed
    assert call("jobs", "--json").json["jobs"][0]["user_id"] == "lin"
