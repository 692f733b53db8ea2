"""What requests carry: forms in which an unknown field is an error. What fields may hold, the verbs say."""

from typing import Any

import pydantic


class Body(pydantic.BaseModel):
    """A request's body."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def given(self) -> dict[str, Any]:
        """Give what the caller said, as arguments of a verb."""
        return self.model_dump(exclude_unset=True)


class NewMemory(Body):
    """What to remember."""

    content: str | list[dict[str, Any]]
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    namespace: str | None = None
    metadata: dict[str, Any] | None = None
    occurred_at: str | None = None
    infer: bool = True
    kind: str | None = None
    importance: int | None = None
    subject: str | None = None
    key: str | None = None
    value: Any = None
    due: str | None = None
    expires: str | None = None
    idempotency_key: str | None = None
    wait: bool = True
