"""A model server that reflects by a script: names of a story stand for ids, which it looks up when it is asked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import model_server as servers
from model_server import Reply

LISTS = ("new_trends", "new_behaviors", "reinforcements", "contradictions", "upgrades")
ID_FIELDS = ("evidence_ids", "new_evidence_ids", "contradicting_evidence_ids", "from_trait_ids")


def policy(server: servers.ModelServer, *roles: str, **more: Any) -> dict[str, Any]:
    """Give a policy in which the server's model has these roles."""
    role = {"gateway": "scripted", "model": "m", "max_tokens": 4000}
    return {
        "embedder": "none",
        "gateways": {"scripted": {"kind": "openai", "base_url": server.base_url, "tries": 1}},
        "roles": dict.fromkeys(roles or ("reflect",), role),
        "traits": {"sensitive": {"topics": []}},  # the made sentences are no texts that a classifier could judge
        **more,
    }


def asked_for(body: Mapping[str, Any]) -> str | None:
    """Give the name of the form that a request asks for; None where it asks for JSON of a form told in words."""
    schema = body.get("response_format", {}).get("json_schema")
    return None if schema is None else str(schema["name"])


@dataclass
class Script:
    """What the model says next: to a reflection, and to a special reflection by the words of the trait."""

    ids: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)
    special: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    questions: tuple[str, ...] = ()
    asked: list[tuple[str, str]] = field(default_factory=list)
    instead: Callable[[str], Any] = lambda _form: None

    def __call__(self, reply: Reply) -> None:
        """Answer one request."""
        form = asked_for(reply.asked.body) or self.asked[-1][0]
        data = reply.asked.body["messages"][-1]["content"]
        self.asked.append((form, data))
        behaviour = self.instead(form)
        if behaviour is None:
            said = {"reflected": self._reflected, "special": self._special, "questions": self._questions}[form](data)
            behaviour = servers.chat(json.dumps(said), usage={"prompt_tokens": 100, "completion_tokens": 20})
        behaviour(reply)

    def _reflected(self, _data: str) -> dict[str, Any]:
        empty: dict[str, Any] = {name: [] for name in LISTS}
        return empty | {name: [self.named(one) for one in proposed] for name, proposed in self.answer.items()}

    def _special(self, data: str) -> dict[str, Any]:
        told = [said for name, said in self.special.items() if self.said.get(name, name) in data]
        said = told[0] if told else next(iter(self.special.values()))
        return {**said, "split": [self.named(side) for side in said.get("split") or ()]}

    def _questions(self, _data: str) -> dict[str, Any]:
        return {"questions": list(self.questions)}

    def named(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        """Give a operation with ids in the place of names."""
        out = {name: value for name, value in operation.items() if name != "as"}
        for name in ID_FIELDS:
            if name in out:
                out[name] = [self.ids.get(one, one) for one in out[name]]
        if "trait_id" in out:
            out["trait_id"] = self.ids.get(out["trait_id"], out["trait_id"])
        return out
