"""What may be fetched, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

DEFAULT_TYPES: Final = (
    "text/*", "application/pdf", "application/json", "application/*+json", "application/xml", "application/*+xml",
    "application/yaml", "application/x-yaml", "application/toml", "application/javascript", "application/octet-stream",
    "application/vnd.openxmlformats-officedocument.*",
)  # fmt: skip
"""Types that a reader may make something of. Servers say octet-stream of what they do not know, Markdown among it."""

DEFAULT_PORTS: Final = (80, 443, 8080, 8443)
"""HTTP's own ports, and those that stand in for them: no mail server or database listens there."""

MAX_REDIRECTS: Final = 5
"""As many as the first HTTP specification allowed for (RFC 1945, 9.3); pages need one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """The rules of fetching; each of them refuses by its name.

    ``max_bytes`` are of the body, as it comes and as it unfolds; ``seconds`` of everything, redirects included. A host
    of ``allow_hosts`` or ``deny_hosts`` stands for those below it too (``example.org`` for ``docs.example.org``); when
    hosts are allowed, others are not. ``content_types`` may end in ``*``. ``allow_private`` opens this machine and
    private networks, but never the link-local ones, where clouds answer with credentials.
    """

    max_bytes: int = 10 << 20
    seconds: float = 30.0
    max_redirects: int = MAX_REDIRECTS
    ports: Sequence[int] = DEFAULT_PORTS
    content_types: Sequence[str] = DEFAULT_TYPES
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()
    allow_private: bool = False
    user_agent: str = "phronesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What an address gave: ``url`` is where it was found in the end, ``data`` the body, unfolded.

    ``media_type`` is without parameters, in small letters, empty where the server said none; then ``charset`` is None.
    """

    url: str
    status: int
    media_type: str
    charset: str | None
    data: bytes
    fetched_at: datetime


class Fetcher(Protocol):
    """Fetches documents."""

    def fetch(self, url: str, rules: FetchRules) -> Fetched:
        """Give what is at an address; FetchRefused when a rule forbids it, FetchFailed when nothing came."""
        ...
