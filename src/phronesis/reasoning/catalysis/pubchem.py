"""Client of PubChem's PUG REST: look up the compounds that a name means, within its rate limits (requirement RB-21).

A plain name is sent in the URL, as in PUG REST's own examples; a name with a slash or non-Latin letters is sent in a
POST body. Every answer is validated: a server that does not speak PUG REST yields an error, never "no such compound".
"""

import json
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from phronesis.core.lazy_loading import load_once
from phronesis.errors import AnswerRejected, Closed, InputError, MissingExtra, ModelError
from phronesis.models.call_policy import Limits
from phronesis.models.transport import Gateway, ModelHttp, Reply, retry_after
from phronesis.reasoning.laws.records import ReviewReason

# Rate limit: a number of requests per second shared by all threads of this process, reduced when the server asks.

PER_SECOND: Final = 5.0
"""Requests per second that PubChem allows a program (usage policy, "Programmatic Access")."""

LONGEST_HOLD: Final = 900.0
"""Maximum delay in seconds that a server's answer may impose, so that a wrong date does not block it forever."""

_STATES: Final = {"red": 1.0, "black": 10.0}
"""Seconds until the next request, by the worst state in ``X-Throttling-Control``: red is above 75 % of the allowance,
black is blocked (PubChem, "Dynamic Request Throttling").
"""

_STATE: Final = re.compile(r"status:\s{0,3}(\w{1,10})", re.IGNORECASE)
_LOOKED_AT: Final = 400
_PULSE: Final = 0.1


class Pace:
    """A rate limiter that assigns start times to requests. Thread-safe."""

    def __init__(
        self,
        per_second: float = PER_SECOND,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = 1.0 / per_second
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0
        self._lock = threading.Lock()

    def take(self, limits: Limits) -> bool:
        """Wait for a start time and return True; return False at once if it would be too late.

        ModelCancelled while waiting.
        """
        with self._lock:
            now = self._clock()
            turn = max(self._next, now)
            if turn - now >= limits.left:
                return False
            self._next = turn + self._gap
        while (left := turn - self._clock()) > 0:
            limits.check()
            self._sleep(min(left, _PULSE))
        limits.check()
        return True

    def hold(self, seconds: float) -> None:
        """Delay all further requests by some seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + min(seconds, LONGEST_HOLD))

    def apply_limits(self, headers: Mapping[str, str]) -> None:
        """Apply a server's ``Retry-After`` and ``X-Throttling-Control`` headers."""
        states = _STATE.findall(headers.get("x-throttling-control", "")[:_LOOKED_AT])
        self.hold(max([retry_after(headers) or 0.0, *(_STATES.get(state.lower(), 0.0) for state in states)]))


@load_once
def pace_of(_base_url: str) -> Pace:
    """Return the rate limiter of a server, one per process for all open stores."""
    return Pace()


PATIENCE_SECONDS: Final = 30.0
"""Maximum seconds of one look-up, retries and waits included: PubChem's own time-out ("Programmatic Access")."""

MAX_NAME: Final = 500
"""Maximum length of a requested name in characters. Systematic names of small molecules are below 300."""

MAX_COMPOUNDS: Final = 10
"""Maximum number of compounds examined for one name, PubChem's best first."""

MAX_BYTES: Final = 1 << 20
"""Maximum bytes of one answer: a property row takes about 200, a list of a thousand CIDs 10,000."""

TRIES: Final = 3
WAIT_SECONDS: Final = 1.0
"""Seconds before the second try, doubled before the third; longer when the server says so."""
_PROPERTIES: Final = "SMILES,ConnectivitySMILES,InChIKey,Title"
_BUSY: Final = (429, 500, 502, 503)
_TIMEOUT: Final = (408, 504)
"""Transient HTTP statuses."""

_CID: Final = re.compile(r"(?:pubchem ?)?cid ?[:#]? ?([1-9][0-9]{0,9})", re.IGNORECASE)
_INCHIKEY: Final = re.compile(r"[A-Z]{14}-[A-Z]{10}-[A-Z]")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,.()'\[\]-]{0,199}")
"""Names that can be sent in a URL path, percent-encoded, through any server and proxy."""
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("‘’′", "'"))
_GREEK: Final = {
    letter: unicodedata.name(letter).rpartition(" ")[2].lower().replace("lamda", "lambda")
    for letter in "αβγδεζηθικλμνξοπρστυφχψω"
}


@dataclass(frozen=True, slots=True)
class Compound:
    """A PubChem compound; properties absent from the answer are None."""

    cid: int
    name: str | None = None
    smiles: str | None = None
    inchikey: str | None = None


@dataclass(frozen=True, slots=True)
class Compounds:
    """The compounds of a name: their number, and the first of them."""

    total: int
    listed: tuple[Compound, ...] = ()


class LookupFailed(Exception):
    """PubChem gave no answer; ``reason`` says why. The error says nothing about the compound."""

    def __init__(self, reason: ReviewReason) -> None:
        super().__init__(reason)
        self.reason: ReviewReason = reason


class PubChem:
    """A client of one PUG REST server. Thread-safe; it connects on first use and must be closed."""

    def __init__(
        self, base_url: str, *, pace: Pace | None = None, patience: float = PATIENCE_SECONDS, wait: float | None = None
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._pace = pace or pace_of(self.base_url)
        self.patience = patience
        self._wait = WAIT_SECONDS if wait is None else wait
        self._making = threading.Lock()
        self._http: ModelHttp | None = None
        self._closed = False

    def look_up(self, name: str, *, cancelled: Callable[[], bool]) -> Compounds:
        """Return the compounds of a name, CID or InChIKey; none if PubChem does not know it. LookupFailed on errors.

        An unknown name with Greek letters is requested once more with the letters spelled out, as PubChem lists most of
        them.
        """
        limits = Limits(time.monotonic, time.monotonic() + self.patience, cancelled, MAX_BYTES)
        try:
            for namespace, identifier in _questions(name):
                by_cid = namespace == "cid"
                cids = [int(identifier)] if by_cid else self._cids(namespace, identifier, limits)
                listed = self._properties(cids[:MAX_COMPOUNDS], limits) if cids else ()
                if total := len(listed if by_cid else cids):
                    return Compounds(total, listed)
        except AnswerRejected:
            raise LookupFailed("unreadable_answer") from None
        except MissingExtra:
            raise LookupFailed("no_http_client") from None
        except (ModelError, InputError, Closed):  # their messages are about models
            raise LookupFailed("unreachable" if limits.left > 0.0 else "timeout") from None
        return Compounds(0)

    def close(self) -> None:
        """Close the connections; a look-up in progress fails."""
        with self._making:
            self._closed = True
            if self._http is not None:
                self._http.close()

    def _connect(self) -> ModelHttp:
        with self._making:
            if self._closed:
                raise LookupFailed("unreachable")
            if self._http is None:
                self._http = ModelHttp(Gateway("pubchem", self.base_url))
            return self._http

    def _cids(self, namespace: str, identifier: str, limits: Limits) -> list[int]:
        if _PLAIN.fullmatch(identifier):
            body = self._ask(f"/compound/{namespace}/{quote(identifier, safe='')}/cids/JSON", None, limits)
        else:
            body = self._ask(f"/compound/{namespace}/cids/JSON", {namespace: identifier}, limits)
        if body is None:
            return []
        cids = _member(body, "IdentifierList", "CID")
        if not all(isinstance(cid, int) and not isinstance(cid, bool) and cid >= 0 for cid in cids):
            raise LookupFailed("unreadable_answer")
        return [cid for cid in dict.fromkeys(cids) if cid]  # some answers use 0 for "none"

    def _properties(self, cids: Sequence[int], limits: Limits) -> tuple[Compound, ...]:
        asked = ",".join(map(str, cids))
        body = self._ask(f"/compound/cid/{asked}/property/{_PROPERTIES}/JSON", None, limits)
        if body is None:
            return ()
        rows = {row.cid: row for row in map(_compound, _member(body, "PropertyTable", "Properties"))}
        return tuple(rows[cid] for cid in cids if cid in rows)

    def _ask(self, path: str, form: Mapping[str, str] | None, limits: Limits) -> Any:
        """Return the JSON of an answer, or None when PubChem reports that nothing was found."""
        http = self._connect()
        for tried in range(1, TRIES + 1):
            if not self._pace.take(limits):
                raise LookupFailed("busy")
            reply = http.exchange(path, form, limits=limits)
            self._pace.apply_limits(reply.headers)
            if reply.status == HTTPStatus.OK:
                return _parse_reply(reply)
            if reply.status == HTTPStatus.NOT_FOUND:
                if _fault(reply) == "PUGREST.NotFound":
                    return None
                raise LookupFailed("unreadable_answer")
            busy, late = reply.status in _BUSY, reply.status in _TIMEOUT
            reason: ReviewReason = "busy" if busy else "timeout" if late else "refused"
            if reason == "refused" or tried == TRIES:
                raise LookupFailed(reason)
            self._pace.hold(self._wait * 2 ** (tried - 1))
        raise AssertionError  # pragma: no cover - the last try returns or raises


def normal_name(written: str) -> str | None:
    """Return a name normalised for a request (width, dashes, spaces), or None if it cannot be a name."""
    if len(written) > 2 * MAX_NAME:
        return None
    name = " ".join(unicodedata.normalize("NFKC", written.translate(_DASHES)).translate(_DASHES).split())
    return name if 0 < len(name) <= MAX_NAME and name.isprintable() else None


def _questions(name: str) -> Iterator[tuple[str, str]]:
    """Yield the requests to try until one succeeds, as (namespace, identifier)."""
    if (cid := _CID.fullmatch(name)) is not None:
        yield "cid", cid[1]
    elif _INCHIKEY.fullmatch(name):
        yield "inchikey", name
    else:
        spelled = "".join(_GREEK.get(letter, letter) for letter in name)
        yield from dict.fromkeys((("name", name), ("name", spelled)))


def _parse_reply(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise LookupFailed("unreadable_answer") from None


def _fault(reply: Reply) -> str | None:
    """Return the code of a fault, ``{"Fault": {"Code": …}}``, or None, as for a proxy's error page."""
    try:
        fault = _parse_reply(reply)["Fault"]["Code"]
    except (LookupFailed, KeyError, TypeError, IndexError):
        return None
    return fault if isinstance(fault, str) else None


def _member(body: Any, outer: str, inner: str) -> list[Any]:
    inside = body.get(outer) if isinstance(body, dict) else None
    found = inside.get(inner) if isinstance(inside, dict) else None
    if not isinstance(found, list):
        raise LookupFailed("unreadable_answer")
    return found


def _compound(row: Any) -> Compound:
    cid = row.get("CID") if isinstance(row, dict) else None
    if not isinstance(cid, int) or isinstance(cid, bool) or cid <= 0:
        raise LookupFailed("unreadable_answer")
    texts = {name: value for name, value in row.items() if isinstance(value, str) and value}
    smiles = texts.get("ConnectivitySMILES") or texts.get("SMILES")
    return Compound(cid, texts.get("Title"), smiles, texts.get("InChIKey"))
