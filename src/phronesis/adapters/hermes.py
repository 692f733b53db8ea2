"""A memory provider of Hermes Agent: recall before each turn, the turn recorded after it, lessons of its tools.

``phronesis install hermes`` puts a plugin into Hermes' home that imports this module; Phronesis has to be installed
beside Hermes. The fields of ``phronesis.json`` in that home (``url``, ``user_id``, ``namespace``) say which store is
used and whose memory is meant.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agent.memory_provider import MemoryProvider

from phronesis.adapters.agent_hooks import failures_so_far, recall, record_run, start_session
from phronesis.adapters.hook_call import HookCall
from phronesis.core.data_delimiters import storable_messages
from phronesis.errors import PhronesisError
from phronesis.memory import Memory

SETTINGS_FILE: Final = "phronesis.json"

SEARCH: Final[dict[str, Any]] = {
    "name": "phronesis_search",
    "description": "Search long-term memory: facts, earlier conversations, what worked and what failed.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
REMEMBER: Final[dict[str, Any]] = {
    "name": "phronesis_remember",
    "description": "Remember one statement that is clear by itself and matters later. No secrets.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}

_SETTINGS: Final = (
    ("url", "Store: sqlite:///FILE or postgresql://…; empty: the one in your data folder"),
    ("user_id", "Whose memory it is where Hermes names no user"),
    ("namespace", "Where the experience of tools is kept"),
)


class PhronesisMemoryProvider(MemoryProvider):
    """Hermes' ``MemoryProvider`` over a Memory."""

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._session_id = ""
        self._scope: dict[str, Any] = {"user_id": None, "namespace": "hermes"}
        self._writes = True

    @property
    def name(self) -> str:
        """Hermes' name of this provider."""
        return "phronesis"

    def is_available(self) -> bool:
        """Return True: there is nothing to log in to."""
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open the store for a session. Sub-agents and timed jobs recall, and record nothing."""
        home = Path(str(kwargs.get("hermes_home", Path.home() / ".hermes")))
        try:
            settings = json.loads((home / SETTINGS_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            settings = {}
        settings = settings if isinstance(settings, dict) else {}
        self._session_id = session_id
        self._scope = {
            "user_id": kwargs.get("user_id") or settings.get("user_id") or "user",
            "namespace": settings.get("namespace") or "hermes",
        }
        self._writes = kwargs.get("agent_context", "primary") == "primary"
        self._memory = Memory.open(settings.get("url") or None)

    def system_prompt_block(self) -> str:
        """Return the user's profile and preferences: the part that stays the same, and so in the prompt cache."""
        return "" if self._memory is None else start_session(self._memory, self._call("session-start"))

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what bears on a message; empty if nothing does."""
        if self._memory is None:
            return ""
        return recall(self._memory, self._call("prompt", session_id, prompt=query))

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Record a turn, and what its tools taught; it is interpreted in the background."""
        if self._memory is None or not self._writes:
            return
        said = storable_messages([("user", user_content or ""), ("assistant", assistant_content or "")])
        record_run(self._memory, self._call("stop", session_id), said, _tool_calls(messages or ()), wait=False)

    def on_session_switch(self, new_session_id: str, **_kwargs: Any) -> None:
        """Go on under another session."""
        self._session_id = new_session_id

    def on_pre_compress(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return what failed in this session, so that the summary keeps it."""
        _ = messages
        return "" if self._memory is None else failures_so_far(self._memory, self._call("pre-compact"))

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools of the provider."""
        return [SEARCH, REMEMBER] if self._writes else [SEARCH]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **_kwargs: Any) -> str:
        """Call a tool; the result, or what was wrong, is JSON."""
        if self._memory is None:
            return json.dumps({"error": "the store is not open"})
        try:
            if tool_name == REMEMBER["name"]:
                added = self._memory.add(args.get("text", ""), session_id=self._session_id, **self._scope)
                return json.dumps({"remembered": [item.content for item in added.items]}, ensure_ascii=False)
            found = self._memory.search(args.get("query", ""), **self._scope)
        except PhronesisError as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)
        rows = [{"text": one.item.content, "citation": one.item.citation} for one in found]
        return json.dumps({"memories": [] if found.abstained else rows}, ensure_ascii=False)

    def shutdown(self) -> None:
        """Interpret what waits, and close the store."""
        if self._memory is not None:
            self._memory.flush()
            self._memory.close()
            self._memory = None

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the settings that ``hermes memory setup`` asks for."""
        return [{"key": key, "description": text, "required": False, "default": ""} for key, text in _SETTINGS]

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Write the settings to ``phronesis.json``."""
        known = {key: values[key] for key, _ in _SETTINGS if values.get(key)}
        (Path(hermes_home) / SETTINGS_FILE).write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")

    def _call(self, event: str, session_id: str = "", **payload: Any) -> HookCall:
        given = {"session_id": session_id or self._session_id, **payload}
        return HookCall(event, host=self.name, payload=given, **self._scope)


def register(context: Any) -> None:
    """Register the provider with Hermes."""
    context.register_memory_provider(PhronesisMemoryProvider())


def _tool_calls(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tool calls of the last turn, in the form of hooks, each with its result."""
    last = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    results = {one.get("tool_call_id"): one.get("content") for one in messages[last + 1 :] if one.get("role") == "tool"}
    asked = [call for one in messages[last + 1 :] for call in one.get("tool_calls") or () if call.get("id") in results]
    return [
        {
            "tool_name": call.get("function", {}).get("name", ""),
            "tool_input": _parsed(call.get("function", {}).get("arguments")),
            "tool_use_id": call["id"],
            "tool_response": _parsed(results[call["id"]]),
        }
        for call in asked
    ]


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
