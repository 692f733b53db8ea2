"""The conversation engine: messages, what they state, and the names in them."""

from typing import Final

from phronesis.conversation import handlers, typed_items
from phronesis.conversation.entity_resolution import with_names
from phronesis.conversation.retention_policy import terms_of
from phronesis.conversation.value_reextraction import with_values
from phronesis.engine.edits import UPDATE
from phronesis.engine.plugin import Engine, OpenEngine, Platform


def _open(platform: Platform) -> OpenEngine:
    prepare = handlers.prepare_turns(platform.models, platform.policy)
    return OpenEngine(
        handlers=(*handlers.handlers(prepare), *typed_items.handlers(terms_of(platform.policy))),
        decorations={UPDATE: with_values},
    )


ENGINE: Final = Engine(name="conversation", open=_open, consequences=(with_names,))
