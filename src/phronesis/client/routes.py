"""Routes of the verbs: method, path, and how arguments are sent. The server uses the verbs' own argument names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items, Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Reasoning, Runs
from phronesis.memory.traits import Traits

BODY: Final = frozenset({"POST", "PATCH"})
"""Methods whose arguments are sent as a JSON body; the others use a query."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a verb.

    ``path`` names arguments in braces, each one segment. ``renamed`` gives an argument another name; ``fixed`` is sent
    in addition to the arguments; ``whole`` is the argument that is the whole body; ``member`` is the member of the
    response that holds the result.
    """

    method: str
    path: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    whole: str | None = None
    member: str | None = None


_KINDS: Final = {"kinds": "kind"}

ROUTES: Final[Mapping[Callable[..., Any], Route]] = {
    Memory.add: Route("POST", "/memories"),
    Memory.get_all: Route("GET", "/memories", renamed=_KINDS),
    Memory.search: Route("POST", "/memories/search"),
    Memory.get: Route("GET", "/memories/{id}"),
    Memory.update: Route("PATCH", "/memories/{id}"),
    Memory.delete: Route("DELETE", "/memories/{id}"),
    Items.archive: Route("POST", "/memories/{id}/archive"),
    Items.unarchive: Route("POST", "/memories/{id}/unarchive"),
    Items.pin: Route("POST", "/memories/{id}/pin"),
    Items.unpin: Route("POST", "/memories/{id}/unpin"),
    Items.retract: Route("POST", "/memories/{id}/retract"),
    Items.delete_all: Route("DELETE", "/memories"),
    Items.due: Route("GET", "/due"),
    Items.preview: Route("POST", "/preview"),
    Memory.history: Route("GET", "/memories/{id}/history"),
    Memory.explain: Route("GET", "/memories/{id}/explain"),
    Memory.rollback: Route("POST", "/rollback"),
    Memory.commit_turn: Route("POST", "/turns"),
    Sessions.turns: Route("GET", "/turns"),
    Sessions.list: Route("GET", "/sessions"),
    Memory.compose_context: Route("POST", "/context", fixed={"explain": True}),
    Memory.ingest: Route("POST", "/experiences"),
    Resources.ingest_source: Route("POST", "/experiences"),
    Resources.get_source: Route("GET", "/experiences/source"),
    Resources.get_episode: Route("GET", "/experiences/episode"),
    Resources.get: Route("GET", "/resources/{id}"),
    Memory.aggregate: Route("POST", "/aggregate"),
    Memory.abstract: Route("POST", "/abstract"),
    Memory.query: Route("POST", "/query"),
    Memory.feedback: Route("POST", "/feedback"),
    Memory.forget: Route("POST", "/forget"),
    Memory.get_user_traits: Route("GET", "/users/{user_id}/traits"),
    Memory.should_reflect: Route("GET", "/users/{user_id}/should-reflect"),
    Memory.reflect: Route("POST", "/users/{user_id}/reflect"),
    Traits.evidence: Route("GET", "/traits/{id}/evidence"),
    Traits.correct: Route("PATCH", "/traits/{id}"),
    Traits.delete: Route("DELETE", "/traits/{id}"),
    Traits.reflections: Route("GET", "/users/{user_id}/reflections"),
    Memory.mem_search: Route("GET", "/reasoning"),
    Reasoning.add: Route("POST", "/reasoning"),
    Reasoning.check: Route("POST", "/reasoning/check"),
    Reasoning.get: Route("GET", "/reasoning/{id}"),
    Reasoning.rebuild_index: Route("POST", "/reasoning/index"),
    Runs.record: Route("POST", "/runs", member="run_id"),
    Runs.list: Route("GET", "/runs"),
    Runs.get: Route("GET", "/runs/{run_id}"),
    Runs.feedback: Route("POST", "/runs/{run_id}/feedback"),
    Memory.learn: Route("POST", "/runs/{run_id}/learn"),
    Runs.review: Route("GET", "/runs/{run_id}/review"),
    Resources.ingest: Route("POST", "/resources"),
    Memory.plan: Route("POST", "/plan"),
    Memory.retrieve: Route("POST", "/retrieve", whole="plan"),
    Admin.jobs: Route("GET", "/jobs"),
    Admin.retry: Route("POST", "/jobs/{entry_id}/retry"),
    Admin.overview: Route("GET", "/overview"),
    Admin.users: Route("GET", "/users"),
    Admin.contexts: Route("GET", "/contexts"),
    Admin.context: Route("GET", "/contexts/{context_id}"),
    Admin.requests: Route("GET", "/requests"),
    Admin.latencies: Route("GET", "/requests/latencies"),
    Admin.unlearned: Route("GET", "/unlearned"),
    Entities.list: Route("GET", "/entities"),
    Entities.get: Route("GET", "/entities/{id}"),
    Entities.merge: Route("POST", "/entities/merge"),
    Entities.split: Route("POST", "/entities/{id}/split"),
    Quarantine.list: Route("GET", "/quarantine"),
    Quarantine.release: Route("POST", "/quarantine", fixed={"action": "release"}),
    Quarantine.reject: Route("POST", "/quarantine", fixed={"action": "reject"}),
}
"""The verbs that the server offers. Verbs that need the store's machine (rebuild, import, keys …) are missing."""

QUEUEABLE: Final = frozenset(
    {Memory.add, Memory.commit_turn, Memory.ingest, Memory.feedback, Resources.ingest, Resources.ingest_source}
)
"""Writes whose result a caller can do without, so that they may wait in an outbox."""
