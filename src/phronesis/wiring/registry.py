"""What interprets entries, and what of items is searched: an engine is a line here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.changes import Fold
from phronesis.core.experience.records import L1, PATTERN, PRINCIPLE
from phronesis.core.experience.standing import STANDINGS
from phronesis.core.reasoning.records import REASONING
from phronesis.core.resources.records import DOCUMENT, SECTION
from phronesis.core.traits.records import CYCLE
from phronesis.core.traits.strength import TRAIT
from phronesis.derive import (
    conversation,
    edits,
    erasure,
    quarantine,
    reasoning,
    runs,
    typed_items,
)
from phronesis.derive.experience.events import handlers as experience_handlers
from phronesis.derive.experience.feedback import HANDLERS as FEEDBACK_HANDLERS
from phronesis.derive.experience.marks import KIND as MARK
from phronesis.derive.experience.patterns import handlers as pattern_handlers
from phronesis.derive.experience.principles import handlers as principle_handlers
from phronesis.derive.experience.withdrawing import without_unheld
from phronesis.derive.external_ids import without_second_names
from phronesis.derive.forget_requests import with_requests_met
from phronesis.derive.forgetting.forget import HANDLERS as FORGET_HANDLERS
from phronesis.derive.governing import USUAL, Terms
from phronesis.derive.handler import Handler, Prepare, Registry
from phronesis.derive.learning.learn import handlers as learn_handlers
from phronesis.derive.migrating.migrate import handlers as migrate_handlers
from phronesis.derive.parting import with_names
from phronesis.derive.rederive import rederive_handler
from phronesis.derive.reflecting import correcting
from phronesis.derive.reflecting.cycle import FOLDS as TRAIT_FOLDS
from phronesis.derive.reflecting.cycle import handlers as reflect_handlers
from phronesis.derive.reflecting.withdrawing import without_withdrawn
from phronesis.derive.resources.documents import handlers as document_handlers
from phronesis.derive.resources.following import with_sections
from phronesis.derive.resources.referring import RefRules, with_references
from phronesis.derive.retry import retry_handler
from phronesis.derive.rollback import undo_handler
from phronesis.derive.step import Stepper
from phronesis.index.experience import project_event, project_learned
from phronesis.index.projections import Projector
from phronesis.index.reasoning import PROJECTED, project_reasoning
from phronesis.index.resources import project_section
from phronesis.index.traits import project_trait
from phronesis.index.unsearched import no_parts

CONSEQUENCES: Final = (with_names, without_withdrawn, without_unheld, with_sections, with_requests_met,
    without_second_names,
)  # fmt: skip
"""What follows from changes, whatever verb wished them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing:
    """How entries are prepared, by what they bring: None, and a verb says everything itself, or its rules do it.

    ``turns`` and added messages, ``runs`` that are learned from, ``old`` memories, ``reflections``, raw ``sources`` of
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


def make_registry(preparing: Preparing, *, refs: RefRules | None = None, terms: Terms = USUAL) -> Registry:
    """Give every verb's handler; a new engine is a new line here.

    ``refs`` says which references of turns become documents, ``terms`` what the policy says of stated items.
    """
    handlers: list[Handler] = [
        *_conversing(preparing.turns, refs or RefRules()),
        *typed_items.handlers(terms),
        *edits.HANDLERS,
        *quarantine.HANDLERS,
    ]
    handlers += [
        *reasoning.HANDLERS,
        *experience_handlers(preparing.sources),
        *pattern_handlers(preparing.patterns),
        *principle_handlers(preparing.principles),
        *document_handlers(preparing.documents),
        *FEEDBACK_HANDLERS,
        *FORGET_HANDLERS,
        *erasure.HANDLERS,
        *correcting.HANDLERS,
    ]
    handlers += [
        *runs.HANDLERS,
        *learn_handlers(preparing.runs),
        *migrate_handlers(preparing.old),
        *reflect_handlers(preparing.reflections),
    ]
    folds = {**reasoning.FOLDS, **TRAIT_FOLDS, **STANDINGS}
    return with_keeping([*handlers, undo_handler(folds)], folds)


def _conversing(extract: Prepare | None, refs: RefRules) -> list[Handler]:
    return [with_references(one, refs) if one.verb == "turn" else one for one in conversation.handlers(extract)]


def make_projector() -> Projector:
    """Give the projector; a kind that is searched in parts of its own is a line here."""
    by_kind = {
        REASONING: project_reasoning, runs.RUN: no_parts, CYCLE: no_parts, TRAIT: project_trait, L1: project_event,
        PATTERN: project_learned, PRINCIPLE: project_learned, MARK: no_parts, DOCUMENT: no_parts,
        SECTION: project_section,
    }  # fmt: skip
    return Projector(by_kind, of_members={REASONING: PROJECTED})


def with_keeping(handlers: Sequence[Handler], folds: Mapping[str, Fold]) -> Registry:
    """Give a registry of ``handlers`` and of the verbs that stand on them all: retry and rederive."""
    retrying = [*handlers, retry_handler(Registry(handlers, folds))]
    again = Stepper(Registry(retrying, folds, CONSEQUENCES), make_projector())
    return Registry([*retrying, rederive_handler(again)], folds, CONSEQUENCES)
