"""Reviews of modifiers: the rules that turn a PubChem answer into a review, and `ModifierReviews`, which obtains them.

A review comes from the cached answer, from PubChem at once, or from a background thread.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from phronesis.core.ids import LaneName
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.engine.background import Background
from phronesis.errors import MissingExtra, StorageError
from phronesis.reasoning.catalysis.pubchem import Compound, Compounds, LookupFailed, PubChem, normal_name
from phronesis.reasoning.catalysis.run_facts import CarboxylGroups, Drawing, carboxyl_groups, drawing_of, modifier_of
from phronesis.reasoning.handlers import find_run
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import Candidate, Review, ReviewReason, Run, folded_name
from phronesis.store.database import Database
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane, lock_lane
from phronesis.store.model_calls import Lookup, keep_lookup, lookup_number, read_lookup

# Rules: from PubChem's answer to one or several compounds, carboxyl groups and a suggestion.

SKELETON: Final = 14
"""Characters of an InChIKey that encode the skeleton: equal for stereoisomers, isotopes and zwitterions (IUPAC's InChI
technical manual).
"""

MAX_SHOWN: Final = 60
"""Maximum characters of a modifier's name in a suggestion."""

_LOOKED_AT: Final = 20_000
_NONE: Final = frozenset("none n/a nil null unmodified without - / 无 無 没有 不加 未加 未修饰 空白".split())
"""Entries that mean "no modifier". PubChem has compounds under some of these names."""
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN: Final = re.compile("[A-Za-z]")


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A look-up for a run: the modifier as written, and the name to request.

    ``name`` is None when there is nothing to request: no modifier, or one that cannot be a name.
    """

    run_id: str
    modifier: str | None
    name: str | None
    chinese: bool = False


def asked_of(run: Run) -> ReviewRequest:
    """Return the look-up for a run's modifier."""
    written = modifier_of(run)
    if written is None or (isinstance(written, str) and folded_name(written) in _NONE):
        return ReviewRequest(run.run_id, None, None)
    name = normal_name(written) if isinstance(written, str) else None
    return ReviewRequest(run.run_id, str(written), name, _is_chinese(run))


def reviewed(asked: ReviewRequest, found: Compounds) -> Review:
    """Return the review that follows from PubChem's answer, without the time."""
    review = _unresolved_review(asked, "no_structure" if found.total else "not_found")
    if not found.listed:
        return review
    groups, has_rdkit = _groups(found.listed)
    candidates = tuple(map(_candidate, found.listed, groups))
    review = replace(review, reason="", candidates=candidates)
    if not _is_one(found):
        return replace(review, reason="ambiguous")
    best, group = found.listed[0], groups[0]
    named = replace(review, cid=best.cid, name=best.name, smiles=best.smiles, inchikey=best.inchikey)
    if best.smiles is None:
        return replace(named, reason="no_structure")
    if not has_rdkit:
        return replace(named, reason="no_rdkit")
    if group is None:
        return replace(named, reason="bad_smiles")
    if len({(one.has_cooh, one.has_carboxylate) for one in candidates}) > 1:
        return replace(review, reason="ambiguous")  # an acid and its zwitterion share one InChIKey
    done = replace(
        named,
        status="resolved",
        has_cooh=bool(group.acid),
        has_carboxylate=bool(group.carboxylate),
        matched={"acid": group.acid, "carboxylate": group.carboxylate, "ester": group.ester},
    )
    return done if group.acid else replace(done, suggestion=_suggestion(asked, best, group))


def _groups(compounds: Sequence[Compound]) -> tuple[list[CarboxylGroups | None], bool]:
    try:
        return [None if one.smiles is None else carboxyl_groups(one.smiles) for one in compounds], True
    except MissingExtra:
        return [None] * len(compounds), False


def _candidate(compound: Compound, group: CarboxylGroups | None) -> Candidate:
    return Candidate(
        cid=compound.cid,
        name=compound.name,
        smiles=compound.smiles,
        inchikey=compound.inchikey,
        has_cooh=None if group is None else bool(group.acid),
        has_carboxylate=None if group is None else bool(group.carboxylate),
    )


def _is_one(found: Compounds) -> bool:
    """Return whether all compounds of a name are equal except for stereochemistry, isotopes and proton positions."""
    skeletons = {(compound.inchikey or "")[:SKELETON] for compound in found.listed}
    return found.total == 1 or (found.total == len(found.listed) and len(skeletons) == 1 and "" not in skeletons)


def _suggestion(asked: ReviewRequest, compound: Compound, group: CarboxylGroups) -> str:
    name = excerpt(" ".join((asked.modifier or "").split()), MAX_SHOWN)
    if asked.chinese:
        instead = "它是羧酸盐（–COO⁻），" if group.carboxylate else "它是酯，" if group.ester else ""
        return f"修饰剂 {name}（PubChem CID {compound.cid}）没有游离羧基（–COOH）：{instead}建议打回或重新生成。"
    instead = "it is a carboxylate (–COO⁻)" if group.carboxylate else "it is an ester" if group.ester else ""
    why = f": {instead}" if instead else ""
    return (
        f"The modifier {name} (PubChem CID {compound.cid}) has no free carboxyl group –COOH{why}."
        " Consider sending the run back, or generating it anew."
    )


def _is_chinese(run: Run) -> bool:
    """Return whether more than a fifth of a run's letters are Han; a Chinese word has two to five."""
    text = run.raw[:_LOOKED_AT] or " ".join(value for value in run.fields().values() if isinstance(value, str))
    han = len(_HAN.findall(text[:_LOOKED_AT]))
    return han * 4 > len(_LATIN.findall(text[:_LOOKED_AT]))


FOUND_DAYS: Final = 30
"""Days for which an answer is cached. PubChem's structures change seldom, the compound of a name now and then."""

ABSENT_DAYS: Final = 7
"""Days for which "no such compound" is cached: names are added daily."""

SULK_SECONDS: Final = 60.0
"""Seconds after a failure before the background thread retries a name; explicit requests are not delayed."""

MAX_WAITING: Final = 1_000
"""Maximum number of queued names; beyond it the oldest are dropped and looked up when a review is requested."""

CLOSING_SECONDS: Final = 2.0
"""Seconds that closing waits for the thread: the system's DNS look-up cannot be interrupted."""

_AWAY: Final = frozenset({"unreachable", "busy", "no_http_client"})
"""Failures after which the remaining queued names are not requested either."""

_FORM: Final = "pubchem/1"
"""Version of the cached answer's format; other versions are not read."""

Mode = Literal["never", "on_request", "background"]


@dataclass(frozen=True, slots=True)
class _LookupRequest:
    tenant: str
    lane: LaneName
    asked: ReviewRequest
    refresh: bool = False

    @property
    def name(self) -> str:
        return self.asked.name or ""


class ModifierReviews:
    """Reviews of the modifiers of runs. Thread-safe; close it before the database."""

    def __init__(self, database: Database, pubchem: PubChem, *, mode: Mode, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._pubchem = pubchem
        self._mode = mode
        self._clock = clock
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._waiting: dict[tuple[str, str], _LookupRequest] = {}
        self._failed: dict[tuple[str, str], tuple[ReviewReason, float]] = {}
        self._background = Background(self._work, name="phronesis-reviews")

    def recorded(self, tenant: str, lane: LaneName, run: Run) -> None:
        """Queue the look-up of a run's modifier, if the policy allows it. Never fails and never waits."""
        if self._mode == "background" and (asked := asked_of(run)).name is not None:
            self._queue_lookup(_LookupRequest(tenant, lane, asked))

    def known(self, tenant: str, run: Run) -> Review | None:
        """Return the review that follows from cached answers, or None; sends no request."""
        asked = asked_of(run)
        kept = None if asked.name is None else self._read(tenant, asked.name)
        return None if kept is None else _from(asked, kept)

    def review(self, tenant: str, lane: LaneName, run: Run, *, refresh: bool, wait: bool) -> Review:
        """Return the review of a run.

        Without ``wait``, return what is cached and look up the rest in the background.
        """
        asked = asked_of(run)
        if asked.name is None:
            return _unresolved_review(asked, "no_modifier" if asked.modifier is None else "unreadable_modifier")
        kept = None if refresh and self._mode != "never" else self._read(tenant, asked.name)
        if kept is not None:
            return _from(asked, kept)
        if self._mode == "never":
            return _unresolved_review(asked, "never_asked")
        wanted = _LookupRequest(tenant, lane, asked, refresh)
        if wait:
            return self._review_now(wanted)
        reason = self._failure(self._key(wanted))
        if reason is not None:
            return _unresolved_review(asked, reason)
        self._queue_lookup(wanted)
        return replace(_unresolved_review(asked, "looking_up"), status="pending")

    def drawing(self, review: Review) -> Drawing | None:
        """Return the drawing of a modifier, or None; MissingExtra when RDKit is not installed."""
        return None if review.smiles is None else drawing_of(review.smiles, review.matched)

    def close(self) -> None:
        """Stop the thread. Queued names are dropped; they are looked up when a review is requested."""
        self._closed.set()
        self._pubchem.close()
        self._background.stop(within=CLOSING_SECONDS)

    def _queue_lookup(self, wanted: _LookupRequest) -> None:
        key = self._key(wanted)
        with self._lock:
            if key in self._waiting and not wanted.refresh:
                return
            self._waiting[key] = wanted
            if len(self._waiting) > MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
        self._background.wake(pressing=True)

    def _work(self, stopped: Callable[[], bool]) -> None:
        while not stopped():
            with self._lock:
                if not self._waiting:
                    return
                key, wanted = next(iter(self._waiting.items()))
            is_away = self._failure(key) is None and self._review_now(wanted).reason in _AWAY
            with self._lock:
                if self._waiting.get(key) is wanted:
                    del self._waiting[key]
                if is_away:
                    self._waiting.clear()

    def _review_now(self, wanted: _LookupRequest) -> Review:
        """Look a name up at PubChem, one after another; concurrent requests for the same name share one answer."""
        asked = wanted.asked
        if not self._asking.acquire(timeout=self._pubchem.patience):
            return replace(_unresolved_review(asked, "looking_up"), status="pending")
        try:
            kept = None if wanted.refresh else self._read(wanted.tenant, wanted.name)
            return _from(asked, kept or self._look_up(wanted))
        except LookupFailed as failed:
            self._note(self._key(wanted), failed.reason)
            return _unresolved_review(asked, failed.reason)
        finally:
            self._asking.release()

    def _look_up(self, wanted: _LookupRequest) -> Lookup:
        asked_at = self._clock()
        found = self._pubchem.look_up(wanted.name, cancelled=self._closed.is_set)
        days = FOUND_DAYS if found.total else ABSENT_DAYS
        answer = {"total": found.total, "listed": [asdict(compound) for compound in found.listed]}
        lookup = Lookup(to_micros(asked_at), to_micros(asked_at + timedelta(days=days)), answer)
        if not self._closed.is_set():
            self._keep(wanted, lookup)
        return lookup

    def _number(self, name: str) -> str:
        return lookup_number(f"{_FORM} {self._pubchem.base_url}", name)

    def _key(self, wanted: _LookupRequest) -> tuple[str, str]:
        return wanted.tenant, self._number(wanted.name)

    def _read(self, tenant: str, name: str) -> Lookup | None:
        with self._database.transaction(tenant, "read") as unit:
            return read_lookup(unit, self._number(name), now=to_micros(self._clock()))

    def _keep(self, wanted: _LookupRequest, lookup: Lookup) -> None:
        """Cache an answer unless its run was erased meanwhile, as checked under the lane's lock."""
        # A store may be read-only.
        with suppress(StorageError), self._database.transaction(wanted.tenant, "derive") as unit:
            lane = find_lane(unit, wanted.lane)
            locked = None if lane is None else lock_lane(unit, lane.lane_id)
            if locked is not None and find_run(LaneView(unit, locked), wanted.asked.run_id) is not None:
                keep_lookup(unit, self._number(wanted.name), lookup)

    def _note(self, key: tuple[str, str], reason: ReviewReason) -> None:
        with self._lock:
            if len(self._failed) >= MAX_WAITING:
                self._failed.clear()
            self._failed[key] = (reason, time.monotonic() + SULK_SECONDS)

    def _failure(self, key: tuple[str, str]) -> ReviewReason | None:
        with self._lock:
            reason, until = self._failed.get(key, ("", 0.0))
        return reason if time.monotonic() < until else None


def _unresolved_review(asked: ReviewRequest, reason: ReviewReason) -> Review:
    return Review(run_id=asked.run_id, modifier=asked.modifier, status="unresolved", reason=reason)


def _from(asked: ReviewRequest, lookup: Lookup) -> Review:
    answer: Mapping[str, Any] = lookup.answer
    found = Compounds(answer["total"], tuple(Compound(**row) for row in answer["listed"]))
    return replace(reviewed(asked, found), asked_at=from_micros(lookup.asked_at))
