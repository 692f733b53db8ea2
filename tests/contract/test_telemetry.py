"""OpenTelemetry spans of memory operations and model calls: their names, and that they hold no word of a user."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import model_server as servers
from model_server import ModelServer, Reply
from phronesis import Memory, telemetry
from phronesis.errors import InputError, NotFound

SAID = "I'm allergic to acetone."


class Spans:
    """The spans that were written, oldest first."""

    def __init__(self, exporter: Any) -> None:
        self.exporter = exporter

    def taken(self) -> list[Any]:
        """Return the spans since the last call."""
        found = sorted(self.exporter.get_finished_spans(), key=lambda one: one.start_time)
        self.exporter.clear()
        return found


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """Return the spans of this test: a provider can be set once in a process."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    exports = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter, provider = memory.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(exports.SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    return Spans(exporter)


def opened(**policy: Any) -> Memory:
    return Memory.open("sqlite://", policy={"embedder": "none", **policy})


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened() as held:
        yield held


def test_each_operation_of_memory_is_a_span(memory: Memory, spans: Spans) -> None:
    item = memory.add(SAID, user_id="lin", session_id="s1").items[-1]
    memory.commit_turn("s1", "The lab is in Kiel.", user_id="lin")
    memory.search("acetone", user_id="lin")
    memory.compose_context("s1", "What am I allergic to?", user_id="lin")
    memory.ingest({"attempt": "make", "label": "failure", "source_type": "run", "source_ref": "r"}, user_id="lin")
    memory.query(situation="make", user_id="lin")
    memory.retrieve(memory.plan("acetone", user_id="lin"))
    memory.update(item.id, content="Allergic to acetone and ether.")
    memory.delete(item.id)
    memory.forget(user_id="lin")
    memory.erase(user_id="lin")
    found = spans.taken()
    assert [(one.name, one.attributes["phronesis.verb"]) for one in found] == [
        *(("upsert_memory", "add"), ("upsert_memory", "commit_turn"), ("search_memory", "search")),
        *(("search_memory", "compose_context"), ("upsert_memory", "ingest"), ("search_memory", "query")),
        *(("search_memory", "retrieve"), ("update_memory", "update"), ("delete_memory", "delete")),
        *(("delete_memory", "forget"), ("delete_memory", "erase")),
    ]
    added, updated = found[0].attributes, found[7].attributes
    assert added == {
        "gen_ai.operation.name": "upsert_memory",
        "gen_ai.provider.name": "phronesis",
        "gen_ai.memory.store.id": "default",
        "gen_ai.memory.record.count": 2,
        "gen_ai.conversation.id": "s1",
        "phronesis.verb": "add",
    }
    assert updated["gen_ai.memory.record.id"] == item.id
    told = "".join(one.to_json() for one in found)
    assert not any(word in told for word in ("acetone", "Kiel", "allergic", '"lin"'))


def test_texts_and_users_are_told_when_the_policy_says_so(spans: Spans) -> None:
    with opened(telemetry={"content": True, "users": True}) as memory:
        memory.add(SAID, user_id="lin")
        memory.search("acetone", user_id="lin", limit=1)
    added, searched = (one.attributes for one in spans.taken())
    assert added["user.id"] == "lin"
    assert SAID in [record["content"] for record in json.loads(added["gen_ai.memory.records"])]
    assert searched["gen_ai.memory.query.text"] == "acetone"
    (record,) = json.loads(searched["gen_ai.memory.records"])
    assert set(record) == {"id", "content", "score"}


def test_an_error_is_named_and_not_quoted(memory: Memory, spans: Spans) -> None:
    with pytest.raises(NotFound):
        memory.update("01900000-0000-7000-8000-000000000000", content="A secret.")
    with pytest.raises(InputError):
        memory.search("", user_id="lin")
    updated, searched = spans.taken()
    assert (updated.attributes["error.type"], updated.status.is_ok) == ("not_found", False)
    assert searched.attributes["error.type"] == InputError.code
    assert updated.status.description is None
    assert updated.events == searched.events == ()


def test_calls_of_models_are_spans_within_their_operation(spans: Spans) -> None:
    def behave(reply: Reply) -> None:
        embed = reply.asked.path.endswith("/embeddings")
        (servers.embed_each(lambda _text: [1.0, 0.0]) if embed else servers.chat(json.dumps({"facts": []})))(reply)

    with ModelServer(servers.status(500), behave) as server:
        roles = {
            "extract": {"gateway": "lab", "model": "m", "max_tokens": 900},
            "embed": {"gateway": "lab", "model": "v", "dimension": 2},
        }
        gateway = {"kind": "openai", "base_url": server.base_url, "tries": 2}
        with opened(gateways={"lab": gateway}, roles=roles) as memory:
            memory._runtime._background.stop()
            memory.add(SAID, user_id="lin")
            memory.search("acetone", user_id="lin")
    added, *asked = spans.taken()
    chat = next(one for one in asked if one.name == "chat m")
    assert (chat.kind.name, chat.parent.span_id) == ("CLIENT", added.context.span_id)
    assert chat.attributes["gen_ai.provider.name"] == "lab"
    assert chat.attributes["gen_ai.request.max_tokens"] == 900
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert "acetone" not in chat.to_json()
    (embedded,) = [one.attributes for one in asked if one.name == "embeddings v"]
    assert embedded["gen_ai.usage.input_tokens"] > 0


def test_without_opentelemetry_nothing_is_written(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert not telemetry.is_traced()
    assert memory.add(SAID, user_id="lin").items
    with telemetry.span("none", {}) as current:
        assert current is None
