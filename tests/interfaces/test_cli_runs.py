"""The commands of runs, from a file to a learn that is taken back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
import scripted_lessons as lessons
from model_server import ModelServer, status
from phronesis.models.reader import READER_VERSION
from phronesis.reasoning.catalysis.pubchem import Pace
from pug_server import Pug

BLOCK = (
    'RBMEM_CLAIMS_V1\nTOPIC=Cu–Zn\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["x"]},'
    '"support":{"count":1,"run_ids":["x"]},"inference":"With Cu–Zn the selectivity of formate is at least 0.60."},'
    '{"claim_id":"c2","status":"fact","facts":{"source_run_ids":["x"]},"inference":"Copper is red."}]'
)
FEEDBACK = {"products": [{"name": "formate", "value": 7.5, "fraction": 0.7}], "pros": "clean"}


@pytest.fixture
def item(call: Any) -> str:
    call("add", "-", "--kind", "reasoning", "--user", "lin", stdin=BLOCK.encode())
    found: str = call("list", "--user", "lin", "--kind", "reasoning", "--json").json[0]["id"]
    return found


@pytest.fixture
def file(tmp_path: Path, item: str) -> str:
    first = {"run_id": "r1", "output": {"M1": "Cu", "M2": "Zn"}, "raw": "one", "memory_ids": [item]}
    rows = [{**first, "feedback": FEEDBACK}, {"run_id": "r2", "raw": "two"}]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return str(path)


def test_from_a_file_to_a_learn_that_is_taken_back(call: Any, item: str, file: str) -> None:
    assert call("runs", "list", "--user", "lin").out == "no run is recorded there\n"
    assert call("runs", "add", file, "--user", "lin").out == "r1\nr2\n"
    assert call("runs", "add", file, "--user", "lin", "--json").json == ["r1", "r2"]
    listed = call("runs", "list", "--user", "lin").out.splitlines()
    assert [line.split()[0] for line in listed] == ["run", "r2", "r1"]
    assert "M1=Cu M2=Zn" in listed[2]
    done = call("runs", "learn", "r1", "--user", "lin")
    assert done.out.startswith("2 claims looked at, 1 of them concerned\n")
    assert "2:0" in done.out
    assert "hypothesis → conclusion" in done.out
    shown = call("runs", "show", "r1", "--user", "lin").out
    assert 'feedback_text: {"pros": "clean"' in shown
    assert "learned in entry" in shown
    assert shown.endswith("\n\none\n")
    entry = done.out.rsplit(" ", 1)[1].strip()
    assert call("rollback", entry).code == 0
    assert call("get", item, "--json").json["data"]["standing"]["c1"]["status"] == "hypothesis"
    assert call("runs", "learn", "r2", "--user", "lin", "--json").json["run_id"] == "r2"


def test_a_model_judges_and_may_be_named_for_once(call: Any, item: str, file: str, tmp_path: Path) -> None:
    said = lessons.by_claim({"c1": "contra", "c2": "contra"}, reason="the feedback says black")
    with ModelServer(lessons.lesson(said)) as server:
        policy = lessons.policy(server.base_url)
        del policy["roles"]
        brain = tmp_path / "brain.yml"
        brain.write_text(json.dumps(policy), "utf-8")  # JSON is YAML
        call("runs", "add", file, "--user", "lin")
        asked = ("--user", "lin", "--policy", str(brain))
        done = call("runs", "learn", "r1", "--model", "lab/teacher", *asked)
        assert done.out.startswith("2 claims looked at, 2 of them concerned; lab/teacher was asked\n")
        assert "c2: the feedback says black\n" in done.out
        assert "does not count (decided_by_rule): contra of c1\n" in done.out
        rows = [line.split() for line in done.out.splitlines()]
        by = {row[1]: row[3] for row in rows if row[1:2] in (["c1"], ["c2"])}
        assert by == {"c1": "rule", "c2": "model"}
        server.answers(status(500))
        away = call("runs", "learn", "r1", "--model", "lab/teacher", *asked)
        assert "lab/teacher gave no answer (model.unavailable); learn-rules/1 stood in\n" in away.out
    wrong = call("runs", "learn", "r1", "--model", "teacher", *asked)
    assert wrong.code != 0
    assert "one of the gateways (lab)" in wrong.err


def test_feedback_from_standard_input(call: Any, file: str) -> None:
    call("runs", "add", file, "--user", "lin")
    said = {**FEEDBACK, "pros": "The fraction of formate is above 0.9.", "cons": "The total activity is at least 5."}
    assert call("runs", "feedback", "r2", "-", "--user", "lin", stdin=json.dumps(said).encode()).code == 0
    shown = call("runs", "learn", "r2", "--user", "lin").out
    assert "\nadded: " in shown
    assert "not taken (facts_disagree): RBMEM_CLAIMS_V1" in shown
    assert "feedback" in call("runs", "list", "--user", "lin").out


def test_mistakes(call: Any, file: str) -> None:
    for text in ("[1]", "{not json}\n", '{"raw": "x"}\n[2]\n'):
        done = call("runs", "add", "-", stdin=text.encode())
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("phronesis: file: ")
    assert call("runs", "learn", "r9", "--user", "lin").code == 1
    assert call("runs", "show", "r9").code == 1
    call("runs", "add", file)
    assert call("runs", "add", "-", stdin=b'{"run_id": "r1", "raw": "other"}').code == 1
    assert call("runs", "feedback", "r1", "-", stdin=b"[]").code == 2
    assert call("runs", "feedback", "r1", "-", stdin=b'{"products": 1}').code == 2


@pytest.fixture
def pubchem(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(Pug()) as server:
        monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", server.base_url)
        monkeypatch.setattr("phronesis.reasoning.catalysis.pubchem.pace_of", lambda _: Pace(1000.0))
        yield server


def with_modifier(call: Any, modifier: str | None, run_id: str = "m1") -> None:
    run = {"run_id": run_id, "output": {"M1": "Cu", "modifier": modifier}}
    assert call("runs", "add", "-", "--user", "lin", stdin=json.dumps(run).encode()).code == 0


def test_a_modifier_is_reviewed(call: Any, pubchem: ModelServer) -> None:
    with_modifier(call, "sodium benzoate")
    lines = call("runs", "review", "m1", "--user", "lin").out.splitlines()
    assert lines[:4] == [
        "sodium benzoate → CID 517055 Sodium Benzoate, has_cooh false",
        "    SMILES: C1=CC=C(C=C1)C(=O)[O-].[Na+]",
        "    InChIKey: WXMKPNITSTVMEF-UHFFFAOYSA-M",
        "    carboxylate: atoms 6,7,8",
    ]
    assert lines[4].startswith("    asked 20")
    assert lines[5].endswith("it is a carboxylate (–COO⁻). Consider sending the run back, or generating it anew.")
    assert "    modifier: sodium benzoate → CID 517055" in call("runs", "show", "m1", "--user", "lin").out
    assert len(pubchem.requests) == 2
    told = call("runs", "review", "m1", "--user", "lin", "--refresh", "--json").json
    assert (told["status"], told["cid"], told["has_carboxylate"]) == ("resolved", 517055, True)
    assert len(pubchem.requests) == 4
    for n, (modifier, said) in enumerate(
        ((None, "no modifier: unresolved (no_modifier)"), ("unobtainium", "unobtainium: unresolved (not_found)"))
    ):
        with_modifier(call, modifier, f"unknown{n}")
        assert call("runs", "review", f"unknown{n}", "--user", "lin").out.splitlines()[0] == said
    assert call("runs", "review", "m2", "--user", "lin").code != 0


def test_a_listing_says_on_stderr_how_to_go_on(call: Any, file: str) -> None:
    assert call("runs", "add", file, "--user", "lin").out == "r1\nr2\n"
    for command, first, second in ((["runs", "list"], "r2", "r1"), (["list", "--kind", "run"], "r2", "r1")):
        page = call(*command, "--user", "lin", "--limit", "1", "--json")
        assert [run["run_id"] for run in page.json] == [first]
        assert page.err.startswith("there is more: --cursor ")
        after = page.err.split()[-1]
        rest = call(*command, "--user", "lin", "--limit", "1", "--json", "--cursor", after)
        assert ([run["run_id"] for run in rest.json], rest.err) == ([second], "")
    wrong = call("list", "--user", "lin", "--cursor", "nonsense")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "leave cursor out to begin with the newest" in wrong.err


# The command line with models: who does what, and a model that is away.


POLICY = """\
version: 1
embedder: none
gateways:
  lab: {{kind: openai, base_url: "{url}", timeout: 30, tries: 1}}
roles:
  extract: {{gateway: lab, model: small}}
"""


def test_a_model_that_is_away_is_said_on_stderr_and_changes_no_output(call: Any, tmp_path: Path) -> None:
    policy = str(tmp_path / "brain.yml")
    with ModelServer(servers.chat(json.dumps({"names": [], "memories": []}))) as server:
        Path(policy).write_text(POLICY.format(url=server.base_url), encoding="utf-8")
        assert call("add", "Alice is here", "--user", "u", "--policy", policy).err == ""
    told = call("add", "Good morning, Bob", "--user", "u", "--policy", policy)
    assert told.code == 0
    assert told.out.startswith(told.out.split()[0] + "  message  Good morning, Bob\n")
    assert (
        told.err.strip()
        == f"extract: lab/small gave no answer (model.unavailable); mentions-rules/2 {READER_VERSION} stood in"
    )
    told = call("add", "Carol is here", "--user", "u", "--policy", policy, "--json")
    assert told.json["degraded"][0]["role"] == "extract"
