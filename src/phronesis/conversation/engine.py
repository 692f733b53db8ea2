"""The conversation engine: messages, what they state, and the names in them."""

from collections.abc import Iterable
from typing import Final

from phronesis.conversation import handlers, typed_items
from phronesis.conversation.entity_resolution import with_names
from phronesis.conversation.retention_policy import terms_of
from phronesis.conversation.value_reextraction import with_values
from phronesis.core.results import Check
from phronesis.engine.edits import UPDATE
from phronesis.engine.plugin import DoctorCheck, Engine, OpenEngine, Platform
from phronesis.models.lesson_encoder import is_installed


def _open(platform: Platform) -> OpenEngine:
    prepare = handlers.prepare_turns(platform.models, platform.policy)
    return OpenEngine(
        handlers=(*handlers.handlers(prepare), *typed_items.handlers(terms_of(platform.policy))),
        decorations={UPDATE: with_values},
        checks=(_extraction_check(platform),),
    )


def _extraction_check(platform: Platform) -> DoctorCheck:
    """Return the check that says by what messages are read."""

    def extraction(_tenant: str) -> Iterable[Check]:
        yield _check(platform)

    return extraction


def _check(platform: Platform) -> Check:
    model = platform.models.asker("extract")
    if not platform.policy.extraction:
        return Check("extraction", ok=True, detail="off: messages are kept word for word alone (extraction: false)")
    if model is not None:
        return Check("extraction", ok=True, detail=f"messages are read by {model.name}")
    if is_installed():
        return Check("extraction", ok=True, detail="messages are read by the learned reader, in English and Chinese")
    return Check(
        "extraction",
        ok=True,
        detail="without an encoder only plain sentences are understood; all messages are kept word for word",
        remedy='pip install "phronesis[embed]"',
    )


ENGINE: Final = Engine(name="conversation", open=_open, consequences=(with_names,))
