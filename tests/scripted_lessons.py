"""A model server that learns from runs by a script: it reads what it is shown, and answers as a test says."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import model_server as servers
from model_server import Behaviour, Reply

Said = Mapping[str, Any]
"""A claim as it is shown, with its item's number under ``item`` and title under ``topic``; or a part of an answer."""

_TURN = re.compile(r'<turn-(\d{9}) (item|role|n)="([^"]*)">\n(.*?)\n</turn-\1>', re.DOTALL)


def shown(data: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give the FACTS and the items of a question."""
    turns = [(found[2], found[3], found[4]) for found in _TURN.finditer(data)]
    facts = next(json.loads(text) for kind, name, text in turns if (kind, name) == ("role", "facts"))
    return facts, [json.loads(text) for kind, _, text in turns if kind == "item"]


def classed(item: int, claim_id: str, says: str, **more: Any) -> dict[str, Any]:
    """Give a class as a model writes it, with a reason unless another is given."""
    reason = "" if says == "irrelevant" else "the feedback says so"
    return {"item": item, "claim_id": claim_id, "says": says, "quote": "", "reason": reason, "delete": False, **more}


def worded(inference: str, **more: Any) -> dict[str, Any]:
    """Give a claim as a model proposes it."""
    return {
        "claim_id": None,
        "status": "hypothesis",
        "inference": inference,
        "constraint": "",
        "conditions": [],
        "limitations": [],
        **more,
    }


def adds(*claims: Said, topic: str = "a topic") -> dict[str, Any]:
    """Give a proposal of a new item."""
    return {"action": "add", "item": None, "topic": topic, "claims": list(claims)}


def updates(item: int | None, *claims: Said) -> dict[str, Any]:
    """Give a proposal for an item that was shown."""
    return {"action": "update", "item": item, "topic": "", "claims": list(claims)}


Classing = Callable[[Said, Said], Said | None]
"""Gives the class of a claim by FACTS and claim; None where it is left out."""


def irrelevant(_facts: Said, claim: Said) -> Said:
    """Give every claim as irrelevant."""
    return classed(claim["item"], claim["claim_id"], "irrelevant")


def by_claim(classes: Mapping[str, str], **more: Any) -> Classing:
    """Class claims by their ids; the others are irrelevant."""

    def say(_facts: Said, claim: Said) -> Said:
        says = classes.get(claim["claim_id"], "irrelevant")
        return classed(claim["item"], claim["claim_id"], says, **({} if says == "irrelevant" else more))

    return say


def lesson(
    classing: Classing = irrelevant, *proposals: Said, extra: Sequence[Said] = (), rewrites: Behaviour | None = None
) -> Behaviour:
    """Answer questions about runs so; questions about form as ``rewrites`` does."""

    def behave(reply: Reply) -> None:
        data = reply.asked.body["messages"][1]["content"]
        if not data.startswith("FACTS"):
            assert rewrites is not None
            rewrites(reply)
            return
        facts, items = shown(data)
        claims = [
            {**claim, "item": n, "topic": item["topic"]} for n, item in enumerate(items) for claim in item["claims"]
        ]
        classes = [one for claim in claims if (one := classing(facts, claim)) is not None]
        answer = {"classes": [*classes, *extra], "proposals": list(proposals)}
        servers.chat(json.dumps(answer, ensure_ascii=False))(reply)

    return behave


def policy(url: str, **more: Any) -> dict[str, Any]:
    """Give a policy in which this server learns."""
    return {
        "embedder": "none",
        "token_counter": "bytes",
        "gateways": {"lab": {"kind": "openai", "base_url": url, "timeout": 10.0, "tries": 1}},
        "roles": {"learn": {"gateway": "lab", "model": "teacher", "max_tokens": 9000}},
        **more,
    }
