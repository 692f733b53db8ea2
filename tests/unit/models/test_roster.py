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

    def model_registry(keys: Any = None, **policy: Any) -> ModelRegistry:
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

    yield model_registry
    for one in made:
        one.close()


def test_each_model_is_made_once(make: Callable[..., ModelRegistry]) -> None:
    roles = {
        "extract": {"gateway": "lab", "model": "small"},
        "rerank": {"gateway": "lab", "model": "judge"},
        "embed": {"gateway": "lab", "model": "vectors", "prefix_scheme": "e5", "dimension": 8},
        "plan": {"gateway": "lab", "model": "small"},
    }
    model_registry = make({"lab": pydantic.SecretStr("sk-secret")}, gateways=SERVERS, roles=roles)
    asker, judge, embedder = model_registry.asker("extract"), model_registry.judge(), model_registry.embedder()
    assert asker is not None
    assert judge is not None
    assert embedder is not None
    assert (asker.name, judge.name, embedder.name) == ("lab/small", "lab/judge", "lab/vectors+e5@8")
    assert (embedder.dimension, embedder.prefix_scheme) == (8, "e5")
    assert model_registry.asker("extract") is asker
    assert model_registry.judge() is judge
    assert model_registry.embedder() is embedder
    assert {one.role for one in model_registry.effective() if one.by != "rules"} == set(roles)
    assert "sk-secret" not in repr(asker)


def test_a_model_that_is_named_for_once(make: Callable[..., ModelRegistry]) -> None:
    gateways = {**SERVERS, "far": {**SERVERS["lab"], "api_key_env": "FAR_KEY"}, "here": {"kind": "fastembed"}}
    role = {"gateway": "lab", "model": "small", "temperature": None, "max_tokens": 77}
    model_registry = make(gateways=gateways, roles={"learn": role})
    usual, deep = model_registry.asker("learn"), model_registry.asker("learn", "lab/org/deep")
    assert usual is not None
    assert deep is not None
    assert (usual.name, deep.name, deep.max_tokens, deep.role) == ("lab/small", "lab/org/deep", 77, "learn")
    assert model_registry.asker("learn", "small") is usual
    assert model_registry.asker("learn", "rules") is None
    assert (model_registry.reference("learn", "org/deep"), model_registry.reference("learn", "rules")) == (
        "lab/org/deep",
        "rules",
    )
    for name, what in (("far/m", "FAR_KEY, which is not set"), ("here/m", "must be a server"), ("lab/", "no model")):
        with pytest.raises(InputError, match=what):
            model_registry.reference("learn", name)
    bare = make(gateways=gateways)
    assert bare.reference("learn", "lab/small") == "lab/small"
    with pytest.raises(InputError, match=r"one of the gateways \(far, here, lab\), not 'small'"):
        bare.asker("learn", "small")


def test_closing_ends_what_would_be_asked(make: Callable[..., ModelRegistry]) -> None:
    model_registry = make(gateways=SERVERS, roles={"embed": {"gateway": "lab", "model": "vectors"}})
    embedder = model_registry.embedder()
    assert embedder is not None
    model_registry.close()
    with pytest.raises(ModelError) as told:
        embedder.embed_query("tea")
    assert told.value.code == "model.cancelled"
