"""The resources engine: documents and their sections, from files, pages, and references of turns."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from phronesis.core.documents import DOCUMENT, SECTION, ReadDocument, Section
from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.index.projections import no_parts
from phronesis.resources import handlers
from phronesis.resources.fetch_rules import FetchRules
from phronesis.resources.fetcher import WebFetcher
from phronesis.resources.ingestion import Reader, TakingIn
from phronesis.resources.laws.summary import summary_of
from phronesis.resources.readers.port import RawDocument
from phronesis.resources.readers.registry import read_document
from phronesis.resources.references import RefRules, with_references
from phronesis.resources.search import ResourceBook, project_section


def _open(platform: Platform) -> OpenEngine:
    own = platform.policy.resources
    rules = FetchRules(
        max_bytes=own.max_bytes,
        seconds=own.timeout,
        allow_hosts=own.allow_hosts,
        deny_hosts=own.deny_hosts,
        allow_private=own.private_addresses,
    )
    fetch = partial(_fetched, WebFetcher(clock=platform.clock, monotonic=time.monotonic), rules)
    roots, redact = tuple(map(Path, own.file_roots)), platform.redactor.document
    documents = TakingIn(Reader(read_document), fetch, _in_short, own.urls, roots, own.max_bytes, redact)
    references = RefRules(own.urls, own.files, own.artifacts)
    return OpenEngine(
        handlers=handlers.handlers(documents),
        decorations={"turn": partial(with_references, rules=references)},
        components={"documents": documents, "resources": ResourceBook(platform.database)},
    )


def _fetched(fetcher: WebFetcher, rules: FetchRules, url: str) -> RawDocument:
    """Return the page at a URL as a document."""
    found = fetcher.fetch(url, rules)
    charset = f"; charset={found.charset}" if found.charset else ""
    media_type = f"{found.media_type}{charset}" if found.media_type else None
    return RawDocument(name=found.url, media_type=media_type, data=found.data)


def _in_short(document: ReadDocument) -> ReadDocument:
    """Replace a document by its summary as one section."""
    text = summary_of(document)
    sections = (Section((document.title,) if document.title else (), 0, len(text)),)
    return replace(document, text=text, sections=sections, media_type="text/plain")


ENGINE: Final = Engine(
    name="resources",
    open=_open,
    projections={DOCUMENT: no_parts, SECTION: project_section},
    consequences=(handlers.with_sections,),
    after=("experience",),
)
