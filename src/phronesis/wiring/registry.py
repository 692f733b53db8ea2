"""The registry of handlers and projections: one line for each engine."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from phronesis.config.policy_sections import ResourceRules
from phronesis.conversation import handlers as conversation
from phronesis.conversation import typed_items
from phronesis.conversation.entity_resolution import with_names
from phronesis.conversation.forget_requests import with_requests_met
from phronesis.conversation.retention_policy import USUAL, RetentionPolicy
from phronesis.core.changes import Fold
from phronesis.core.documents import DOCUMENT, SECTION, ReadDocument, Section
from phronesis.engine import edits, erasure_effect
from phronesis.engine.entry_applier import EntryApplier, without_second_names
from phronesis.engine.handler import Handler, Prepare, Registry
from phronesis.engine.replay import rederive_handler
from phronesis.engine.rollback import retry_handler, undo_handler
from phronesis.experience.event_embeddings import project_event, project_learned
from phronesis.experience.event_handlers import handlers as experience_handlers
from phronesis.experience.event_handlers import without_unheld
from phronesis.experience.feedback import HANDLERS as FEEDBACK_HANDLERS
from phronesis.experience.laws.evidence_fold import STANDINGS
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE
from phronesis.experience.pattern_handlers import handlers as pattern_handlers
from phronesis.experience.principle_handlers import handlers as principle_handlers
from phronesis.experience.watermarks import KIND as MARK
from phronesis.forgetting.handler import HANDLERS as FORGET_HANDLERS
from phronesis.index.projections import Projector, no_parts
from phronesis.reasoning import handlers as reasoning
from phronesis.reasoning.documents import PROJECTED, project_reasoning
from phronesis.reasoning.laws.records import REASONING
from phronesis.reasoning.learning import handlers as learn_handlers
from phronesis.reasoning.migration import handlers as migrate_handlers
from phronesis.resources.fetch_rules import Fetcher, FetchRules
from phronesis.resources.fetcher import WebFetcher
from phronesis.resources.handlers import handlers as document_handlers
from phronesis.resources.handlers import with_sections
from phronesis.resources.ingestion import Reader, TakingIn
from phronesis.resources.laws.summary import summary_of
from phronesis.resources.readers.port import RawDocument
from phronesis.resources.readers.registry import read_document
from phronesis.resources.references import RefRules, with_references
from phronesis.resources.search import project_section
from phronesis.traits import contradictions
from phronesis.traits.contradictions import without_withdrawn
from phronesis.traits.laws.records import CYCLE
from phronesis.traits.laws.strength import TRAIT
from phronesis.traits.reflection import FOLDS as TRAIT_FOLDS
from phronesis.traits.reflection import handlers as reflect_handlers
from phronesis.traits.search import project_trait

CONSEQUENCES: Final = (
    with_names,
    without_withdrawn,
    without_unheld,
    with_sections,
    with_requests_met,
    without_second_names,
)
"""The consequences of changes, whatever verb made them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing:
    """The preparations of entries by content; None where the verb needs none, or rules do it.

    ``turns`` and added messages, ``runs`` to learn from, ``old`` memories, ``reflections``, raw ``sources`` of
    experience, ``patterns`` of events, ``principles`` of patterns, ``documents``.
    """

    turns: Prepare | None = None
    runs: Prepare | None = None
    old: Prepare | None = None
    reflections: Prepare | None = None
    sources: Prepare | None = None
    patterns: Prepare | None = None
    principles: Prepare | None = None
    documents: Prepare | None = None


def make_registry(preparing: Preparing, *, refs: RefRules | None = None, terms: RetentionPolicy = USUAL) -> Registry:
    """Return the handlers of all verbs; a new engine adds a line here.

    ``refs`` are the rules by which references of turns become documents, ``terms`` the policy on stated items.
    """
    handlers: list[Handler] = [
        *_conversing(preparing.turns, refs or RefRules()),
        *typed_items.handlers(terms),
        *edits.EDIT_HANDLERS,
        *edits.QUARANTINE_HANDLERS,
    ]
    handlers += [
        *reasoning.REASONING_HANDLERS,
        *experience_handlers(preparing.sources),
        *pattern_handlers(preparing.patterns),
        *principle_handlers(preparing.principles),
        *document_handlers(preparing.documents),
        *FEEDBACK_HANDLERS,
        *FORGET_HANDLERS,
        *erasure_effect.HANDLERS,
        *contradictions.HANDLERS,
    ]
    handlers += [
        *reasoning.RUN_HANDLERS,
        *learn_handlers(preparing.runs),
        *migrate_handlers(preparing.old),
        *reflect_handlers(preparing.reflections),
    ]
    folds = {**reasoning.FOLDS, **TRAIT_FOLDS, **STANDINGS}
    return with_keeping([*handlers, undo_handler(folds)], folds)


def _conversing(extract: Prepare | None, refs: RefRules) -> list[Handler]:
    return [with_references(one, refs) if one.verb == "turn" else one for one in conversation.handlers(extract)]


def make_projector() -> Projector:
    """Return the projector; a kind with parts of its own adds a line here."""
    by_kind = {
        REASONING: project_reasoning,
        reasoning.RUN: no_parts,
        CYCLE: no_parts,
        TRAIT: project_trait,
        L1: project_event,
        PATTERN: project_learned,
        PRINCIPLE: project_learned,
        MARK: no_parts,
        DOCUMENT: no_parts,
        SECTION: project_section,
    }
    return Projector(by_kind, of_members={REASONING: PROJECTED})


def with_keeping(handlers: Sequence[Handler], folds: Mapping[str, Fold]) -> Registry:
    """Return a registry of ``handlers`` and of the verbs built on them: retry and rederive."""
    retrying = [*handlers, retry_handler(Registry(handlers, folds))]
    again = EntryApplier(Registry(retrying, folds, CONSEQUENCES), make_projector())
    return Registry([*retrying, rederive_handler(again)], folds, CONSEQUENCES)


# Wiring of document ingestion.


def make_ref_rules(own: ResourceRules) -> RefRules:
    """Return the rules by which references of turns become documents."""
    return RefRules(own.urls, own.files, own.artifacts)


def make_taking_in(
    own: ResourceRules, clock: Callable[[], datetime], redact: Callable[[ReadDocument], ReadDocument]
) -> TakingIn:
    """Join the components that parse documents and fetch pages by the policy's rules."""
    rules = FetchRules(
        max_bytes=own.max_bytes,
        seconds=own.timeout,
        allow_hosts=own.allow_hosts,
        deny_hosts=own.deny_hosts,
        allow_private=own.private_addresses,
    )
    pages = _Pages(WebFetcher(clock=clock, monotonic=time.monotonic), rules)
    roots = tuple(map(Path, own.file_roots))
    return TakingIn(Reader(read_document), pages, _in_short, own.urls, roots, own.max_bytes, redact)


@dataclass(frozen=True, slots=True)
class _Pages:
    """Fetches pages as documents."""

    fetcher: Fetcher
    rules: FetchRules

    def __call__(self, url: str) -> RawDocument:
        found = self.fetcher.fetch(url, self.rules)
        charset = f"; charset={found.charset}" if found.charset else ""
        media_type = f"{found.media_type}{charset}" if found.media_type else None
        return RawDocument(name=found.url, media_type=media_type, data=found.data)


def _in_short(document: ReadDocument) -> ReadDocument:
    """Replace a document by its summary as one section."""
    text = summary_of(document)
    sections = (Section((document.title,) if document.title else (), 0, len(text)),)
    return replace(document, text=text, sections=sections, media_type="text/plain")
