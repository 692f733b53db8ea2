"""Resources of another server that speaks the contract: ``POST {url}/api/v1/retrieve`` (SB-08).

The plan goes out without whom it is for and without its part for memory: the key says which store the other side looks
through. What comes back is bounded, checked field by field and made foreign; whatever is wrong with it, the answer here
is an empty part that says why.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from phronesis.core.packs import EvidencePack
from phronesis.core.plan import RetrievalPlan, Store, SubPlan
from phronesis.core.results import Degraded
from phronesis.core.scope import Scope
from phronesis.errors import AnswerRejected, Closed, InputError, MissingExtra, ModelError, ModelRefused
from phronesis.index.tokens import tokenize
from phronesis.models.calls import Limits
from phronesis.models.gateway import Gateway
from phronesis.models.transport import ModelHttp
from phronesis.recall.manner import Encodings
from phronesis.recall.retrieving.foreign import foreign
from phronesis.recall.retrieving.local import RESOURCES, main_query
from phronesis.recall.retrieving.port import Retrieved
from phronesis.storage.eligible import NO_EXCLUSION, Exclusion

PATH: Final = "/api/v1/retrieve"

MAX_BYTES: Final = 4 << 20
"""Bytes of one answer: forty sections of twenty thousand characters, three bytes each, and what is said of them."""

PAUSE_SECONDS: Final = 10.0
"""How long a server that was not reached is left alone: plans are carried out meanwhile without waiting for it."""

ROLE: Final = "retrieve"
WITHOUT: Final = "local"
"""Who answers when it does not: the retrievers of this store."""

UNAVAILABLE: Final = "remote.unavailable"
REFUSED: Final = "remote.refused"
UNREADABLE: Final = "remote.answer"
"""Why a server's part is empty: not reached in time or failing; it refuses the key or the path; its answer is none."""


@dataclass(slots=True)
class RemoteRetriever:
    """Asks one server. Thread-safe; connects when it is first asked; close it when done."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 5.0
    seconds: Callable[[], float] = time.monotonic
    store: Store = RESOURCES
    _away_until: float = float("-inf")
    _http: ModelHttp | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """``remote:`` and the server's host and port."""
        return f"remote:{urlsplit(self.url).netloc}"

    def retrieve(
        self,
        tenant: str,  # noqa: ARG002 - the port's
        plan: RetrievalPlan,
        encodings: Encodings,  # noqa: ARG002
        exclude: Exclusion = NO_EXCLUSION,  # noqa: ARG002 - its resources are of no session
    ) -> Retrieved:
        """Give what the server finds for a plan."""
        sub = plan.resources
        if sub is None or not sub.queries:
            return Retrieved(self.name, self.store)
        if self.seconds() < self._away_until:
            return self._nothing(UNAVAILABLE)
        try:
            pack = self._asked(plan, sub)
        except ModelRefused:
            return self._nothing(REFUSED)
        except MissingExtra as error:
            return self._nothing(error.code)
        except (AnswerRejected, InputError):  # not JSON, too long, or a field that is wrong
            return self._nothing(UNREADABLE)
        except (ModelError, Closed):
            with self._lock:
                self._away_until = self.seconds() + PAUSE_SECONDS
            return self._nothing(UNAVAILABLE)
        return self._told(pack, sub)

    def close(self) -> None:
        """Close the connections; a call under way ends."""
        with self._lock:
            self._closed = True
            if self._http is not None:
                self._http.close()

    def _asked(self, plan: RetrievalPlan, sub: SubPlan) -> EvidencePack:
        limits = Limits(self.seconds, self.seconds() + self.timeout, max_bytes=MAX_BYTES)
        outgoing = replace(plan, scope=Scope(), memory=None, kinds=None, limit=sub.limit, share=0.0, degraded=())
        return EvidencePack.from_dict(self._connected().post(PATH, outgoing.to_dict(), limits=limits), plan=plan)

    def _told(self, pack: EvidencePack, sub: SubPlan) -> Retrieved:
        asked = set(tokenize(main_query(sub).text))
        found = tuple(foreign(one, server=self.url, asked=asked) for one in pack.evidence[: sub.limit])
        ignored = sorted({name for fields in pack.ignored_fields.values() for name in fields})
        degraded = tuple(replace(one, instead_of=f"{self.name}/{one.instead_of}") for one in pack.degraded)
        return Retrieved(
            self.name, self.store, found, pack.abstained or not found, tuple(ignored), degraded, {"url": self.url}
        )

    def _nothing(self, reason: str) -> Retrieved:
        away = Degraded(ROLE, reason, WITHOUT, self.name)
        return Retrieved(self.name, self.store, degraded=(away,), explain={"url": self.url})

    def _connected(self) -> ModelHttp:
        with self._lock:
            if self._closed:
                raise Closed(f"{self.name}: its connections were closed")
            if self._http is None:
                self._http = ModelHttp(Gateway(self.name, self.url, self.api_key))
            return self._http
