"""What the resources engine brings to an open store: what takes documents in."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from phronesis.core.entries import ReadDocument, Section
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.resources import handlers
from phronesis.resources.fetcher import FetchRules, WebFetcher
from phronesis.resources.ingestion import Reader, TakingIn
from phronesis.resources.laws.outline import summary_of
from phronesis.resources.policy_section import ResourcePolicy
from phronesis.resources.readers.port import RawDocument, read_document


def open_documents(platform: Platform) -> OpenEngine:
    """Open what takes documents in, and its verb."""
    own = platform.policy.of(ResourcePolicy).resources
    rules = FetchRules(
        max_bytes=own.max_bytes,
        seconds=own.timeout,
        allow_hosts=own.allow_hosts,
        deny_hosts=own.deny_hosts,
        allow_private=own.private_addresses,
    )
    fetch = partial(_fetch_document, WebFetcher(clock=platform.clock, monotonic=time.monotonic), rules)
    roots, redact = tuple(map(Path, own.file_roots)), platform.redactor.document
    documents = TakingIn(Reader(read_document), fetch, _summarise, own.urls, roots, own.max_bytes, redact)
    return OpenEngine(handlers=handlers.handlers(documents), components={"documents": documents})


def _fetch_document(fetcher: WebFetcher, rules: FetchRules, url: str) -> RawDocument:
    """Return the page at a URL as a document."""
    found = fetcher.fetch(url, rules)
    charset = f"; charset={found.charset}" if found.charset else ""
    media_type = f"{found.media_type}{charset}" if found.media_type else None
    return RawDocument(name=found.url, media_type=media_type, data=found.data)


def _summarise(document: ReadDocument) -> ReadDocument:
    """Replace a document by its summary as one section."""
    text = summary_of(document)
    sections = (Section((document.title,) if document.title else (), 0, len(text)),)
    return replace(document, text=text, sections=sections, media_type="text/plain")
