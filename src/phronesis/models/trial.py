"""Trying a role's model with the smallest question there is: what ``doctor`` does."""

from typing import Annotated, Final, cast

import pydantic

from phronesis.config.roles import ChatName
from phronesis.models.judge import ROLE as RERANK
from phronesis.models.metered_embedder import ROLE as EMBED
from phronesis.models.roster import Roster
from phronesis.models.structured import Task

_TEXTS: Final = ("Tea is served at four.", "The train leaves at nine.")


class Ready(pydantic.BaseModel):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="forbid")

    word: Annotated[str, pydantic.Field(max_length=40)]


def try_role(roster: Roster, role: str, tenant: str) -> None:
    """Ask a role's model something; ModelError or MissingExtra when it does not answer. Nothing for rules."""
    if role == EMBED:
        embedder = roster.embedder()
        if embedder is not None:
            embedder.embed_query(_TEXTS[0])
    elif role == RERANK:
        judge = roster.judge()
        if judge is not None:
            judge.judge(tenant, "When is tea?", _TEXTS)
    else:
        asker = roster.asker(cast("ChatName", role))
        answer = None if asker is None else asker.ask(tenant, Task("Answer with the word ready.", "Go.", Ready))
        if answer is not None and answer.error is not None:
            raise answer.error
