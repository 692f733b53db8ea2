"""A policy's roles become models, each made once, and closed together."""

from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from fake_models import NOON, MemoryLedger
from phronesis.config import Policy
from phronesis.errors import InputError, ModelError
from phronesis.models.model_registry import ModelRegistry
from phronesis.models.token_counter import ByteBound

SERVERS = {"lab": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "timeout": 0.5, "tries": 1}}


@pytest.fixture
def make() -> Any:
    made: list[ModelRegistry] = []

    def roster(keys: Any = None, **policy: Any) -> ModelRegistry:
        ledger = MemoryLedger()
        made.append(
            ModelRegistry(
                Policy.model_validate(policy),
                keys or {},
                tenant="acme",
                ledger=ledger,
                clock=lambda: NOON,
                counter=ByteBound,
            )
        )
        return made[-1]

    yield roster
    for one in made:
        one.close()


def test_each_model_is_made_once(make: Callable[..., ModelRegistry]) -> None:
    roles = {
        "extract": {"gateway": "lab", "model": "small"},
        "rerank": {"gateway": "lab", "model": "judge"},
        "embed": {"gateway": "lab", "model": "vectors", "prefix_scheme": "e5", "dimension": 8},
        "plan": {"gateway": "lab", "model": "small"},
    }
    roster = make({"lab": pydantic.SecretStr("sk-secret")}, gateways=SERVERS, roles=roles)
    asker, judge, embedder = roster.asker("extract"), roster.judge(), roster.embedder()
    assert asker is not None
    assert judge is not None
    assert embedder is not None
    assert (asker.name, judge.name, embedder.name) == ("lab/small", "lab/judge", "lab/vectors+e5@8")
    assert (embedder.dimension, embedder.prefix_scheme) == (8, "e5")
    assert roster.asker("extract") is asker
    assert roster.judge() is judge
    assert roster.embedder() is embedder
    assert {one.role for one in roster.effective() if one.by != "rules"} == set(roles)
    assert "sk-secret" not in repr(asker)


def test_a_model_that_is_named_for_once(make: Callable[..., ModelRegistry]) -> None:
    gateways = {**SERVERS, "far": {**SERVERS["lab"], "api_key_env": "FAR_KEY"}, "here": {"kind": "fastembed"}}
    role = {"gateway": "lab", "model": "small", "temperature": None, "max_tokens": 77}
    roster = make(gateways=gateways, roles={"learn": role})
    usual, deep = roster.asker("learn"), roster.asker("learn", "lab/org/deep")
    assert usual is not None
    assert deep is not None
    assert (usual.name, deep.name, deep.max_tokens, deep.role) == ("lab/small", "lab/org/deep", 77, "learn")
    assert roster.asker("learn", "small") is usual
    assert roster.asker("learn", "rules") is None
    assert (roster.reference("learn", "org/deep"), roster.reference("learn", "rules")) == ("lab/org/deep", "rules")
    for name, what in (("far/m", "FAR_KEY, which is not set"), ("here/m", "must be a server"), ("lab/", "no model")):
        with pytest.raises(InputError, match=what):
            roster.reference("learn", name)
    bare = make(gateways=gateways)
    assert bare.reference("learn", "lab/small") == "lab/small"
    with pytest.raises(InputError, match=r"one of the gateways \(far, here, lab\), not 'small'"):
        bare.asker("learn", "small")


def test_closing_ends_what_would_be_asked(make: Callable[..., ModelRegistry]) -> None:
    roster = make(gateways=SERVERS, roles={"embed": {"gateway": "lab", "model": "vectors"}})
    embedder = roster.embedder()
    assert embedder is not None
    roster.close()
    with pytest.raises(ModelError) as told:
        embedder.embed_query("tea")
    assert told.value.code == "model.cancelled"
