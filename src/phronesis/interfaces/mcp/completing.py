"""What to write next: languages, users, sessions and memories, as far as the caller may see them."""

from collections.abc import Iterable
from typing import Any, Final

import anyio.to_thread
from mcp.server import MCPServer
from mcp.types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from phronesis.errors import PhronesisError
from phronesis.interfaces.mcp.prompts import LANGUAGES
from phronesis.interfaces.mcp.reception import Reception

MOST: Final = 100
"""Values of one completion: the protocol's limit."""


def add_completion(server: MCPServer[Any], reception: Reception) -> None:
    """Complete the arguments of prompts and of templates."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK says nothing of it
    async def complete(
        _ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:  # fmt: skip
        before = context.arguments if context is not None and context.arguments else {}
        try:
            known = await anyio.to_thread.run_sync(_known, reception, argument.name, before)
        except PhronesisError:  # nothing to suggest; what is wrong is told by the call itself
            known = []
        values = [value for value in dict.fromkeys(known) if value.startswith(argument.value)]
        return Completion(values=values[:MOST], total=len(values), has_more=len(values) > MOST)


def _known(reception: Reception, name: str, before: dict[str, str]) -> Iterable[str]:
    """Give the values that an argument may have, most likely first."""
    if name == "language":
        return list(LANGUAGES)
    caller, options = reception.caller(), reception.options
    scope = options.lane() | ({"user_id": before["user_id"]} if before.get("user_id") else {})
    if name == "session_id":
        return [one.session_id for one in caller.memory.list_sessions(**scope)]
    if name == "id":
        return [one.id for one in caller.memory.get_all(**scope, limit=MOST)]
    if name != "user_id":
        return []
    across: dict[str, Any] = {"across": "tenant"} if caller.may("admin") else scope
    seen = [one.user_id for one in caller.memory.list_sessions(**across)]
    return [one for one in (options.user_id, *seen) if one]
