"""Joining what takes documents in."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from phronesis.config.resources import ResourceRules
from phronesis.core.resources.records import ReadDocument, Section
from phronesis.core.resources.summarising import summary_of
from phronesis.derive.resources.fetching.fetcher import WebFetcher
from phronesis.derive.resources.fetching.rules import Fetcher, FetchRules
from phronesis.derive.resources.reading.port import RawDocument
from phronesis.derive.resources.reading.shelf import read_document
from phronesis.derive.resources.referring import RefRules
from phronesis.derive.resources.taking_in import Reader, TakingIn


def make_ref_rules(own: ResourceRules) -> RefRules:
    """Give which references of turns become documents."""
    return RefRules(own.urls, own.files, own.artifacts)


def make_taking_in(
    own: ResourceRules, clock: Callable[[], datetime], redact: Callable[[ReadDocument], ReadDocument]
) -> TakingIn:
    """Join what reads documents, and fetches pages by the policy's rules."""
    rules = FetchRules(
        max_bytes=own.max_bytes, seconds=own.timeout, allow_hosts=own.allow_hosts, deny_hosts=own.deny_hosts,
        allow_private=own.private_addresses,
    )  # fmt: skip
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
    """Give a document's summary in its place: one section."""
    text = summary_of(document)
    sections = (Section((document.title,) if document.title else (), 0, len(text)),)
    return replace(document, text=text, sections=sections, media_type="text/plain")
