"""Where each verb goes: method, path, and how its arguments travel. The server's forms have the verbs' own names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

BODY: Final = frozenset({"POST", "PATCH"})
"""Methods whose arguments travel as a JSON body; those of the others are a query."""


@dataclass(frozen=True, slots=True)
class Route:
    """A verb's place on the server.

    ``path`` names arguments in braces, each one part of it. ``renamed`` gives an argument another name; ``fixed`` is
    sent beside the arguments; ``whole`` is the argument that is the body; ``member`` the member of the answer that the
    """

    method: str
    path: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    whole: str | None = None
    member: str | None = None


_KINDS: Final = {"kinds": "kind"}

ROUTES: Final[Mapping[str, Route]] = {
    "add": Route("POST", "/memories"),
    "get_all": Route("GET", "/memories", renamed=_KINDS),
    "search": Route("GET", "/memories", renamed=_KINDS),
    "get": Route("GET", "/memories/{id}"),
    "update": Route("PATCH", "/memories/{id}"),
    "delete": Route("DELETE", "/memories/{id}"),
    "archive": Route("POST", "/memories/{id}/archive"),
    "unarchive": Route("POST", "/memories/{id}/unarchive"),
    "pin": Route("POST", "/memories/{id}/pin"),
    "unpin": Route("POST", "/memories/{id}/unpin"),
    "retract": Route("POST", "/memories/{id}/retract"),
    "history": Route("GET", "/memories/{id}/history"),
    "explain": Route("GET", "/memories/{id}/explain"),
    "rollback": Route("POST", "/rollback"),
    "commit_turn": Route("POST", "/turns"),
    "get_turns": Route("GET", "/turns"),
    "list_sessions": Route("GET", "/sessions"),
    "compose_context": Route("POST", "/context", fixed={"explain": True}),
    "ingest": Route("POST", "/experiences"),
    "ingest_source": Route("POST", "/experiences"),
    "get_source": Route("GET", "/experiences/source"),
    "aggregate": Route("POST", "/aggregate"),
    "abstract": Route("POST", "/abstract"),
    "query": Route("POST", "/query"),
    "feedback": Route("POST", "/feedback"),
    "forget": Route("POST", "/forget"),
    "get_user_traits": Route("GET", "/users/{user_id}/traits"),
    "should_reflect": Route("GET", "/users/{user_id}/should-reflect"),
    "reflect": Route("POST", "/users/{user_id}/reflect"),
    "add_reasoning": Route("POST", "/reasoning"),
    "record_run": Route("POST", "/runs", member="run_id"),
    "list_runs": Route("GET", "/runs"),
    "get_run": Route("GET", "/runs/{run_id}"),
    "run_feedback": Route("POST", "/runs/{run_id}/feedback"),
    "learn": Route("POST", "/runs/{run_id}/learn"),
    "review_run": Route("GET", "/runs/{run_id}/review"),
    "ingest_resource": Route("POST", "/resources"),
    "plan": Route("POST", "/plan"),
    "retrieve": Route("POST", "/retrieve", whole="plan"),
    "jobs": Route("GET", "/jobs"),
    "quarantine_list": Route("GET", "/quarantine"),
    "quarantine_release": Route("POST", "/quarantine", fixed={"action": "release"}),
    "quarantine_reject": Route("POST", "/quarantine", fixed={"action": "reject"}),
}
"""The verbs that the server has. What belongs to the store's machine (rebuild, import, keys …) is not among them."""
