"""The law of consolidation: what a statement changes in the held items of the same subject (requirement SB-04).

Decisions depend only on the **sayings**, each with its time and the trust of its source, never on the order of arrival:
an old chat imported later enters as history. Of two values that cannot both hold,

- the later one stands and the other ends as ``superseded`` by it, if its source is trusted no less;
- otherwise neither ends: what a tool says after the user, and what two sources say at one instant, is **disputed**.
  Both stay, joined by ``contradicts`` edges, until either side speaks again.

An item that neither shares the key, nor is the opposite, nor is named by the statement, is never touched.

A value that begins in the future takes effect then: until that day the value it replaces holds, with that day as its
``valid_to``, and statements about the present made in between leave it unchanged.

That is the conflict rule ``occurred``. By ``trust`` the more trusted source stands whenever it spoke, and between
sources of equal trust the later; by ``keep_both`` two values are always disputed. A value that the statement itself
names as ended, and a retracted one, end as by ``occurred`` in any case. ``retention`` decides what becomes of a
replaced value.

Where nothing decides whether a later statement ends a held item, both stay, and the held one is marked as possibly
outdated by it (``may_outdate``). A mark ends nothing; saying the held one again takes it off.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from phronesis.core.items import Trust
from phronesis.core.proposals import Decision, Retention
from phronesis.core.statements import (
    OCCASIONS,
    SAME_DAY,
    HeldStatement,
    Statement,
    adds_detail,
    is_same_value,
    opposite_key,
)

MATCHING: Final = 0.6
"""Share of the shorter text's words that the longer must contain for both to be about one task: "renewed the passport"
finishes "renew my passport by June", and not "renew the lease".
"""


_ENDED: Final[Mapping[Retention, Mapping[str, Any]]] = {
    "versioned": {"ended": "superseded"},
    "overwrite": {"ended": "superseded", "status": "archived"},
    "retracted": {"ended": "retracted"},
}
"""Fields by which a replaced value ends, by its retention."""

Link = tuple[str, str]
"""An edge from one item to another, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of consolidating a statement.

    ``into`` is the held item that says the same, None if the statement becomes an item; ``fields`` are set in either.
    ``counted``: it is a further saying of that item; a repetition by a tool or the assistant is not. ``patches`` are
    new fields of held items, in which ``ended_by`` None means the entry. ``supersedes``, ``unlinked`` (``supersedes``
    that no longer hold) and ``contradicts`` are edges. ``outdated`` are held items that the statement may have
    outdated.
    """

    act: Decision
    into: str | None = None
    counted: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    patches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    supersedes: Sequence[Link] = ()
    unlinked: Sequence[Link] = ()
    contradicts: Sequence[Link] = ()
    outdated: Sequence[str] = ()


NOTHING: Final = Verdict(act="NONE")


def consolidate(new: Statement, held: Sequence[HeldStatement]) -> Verdict:
    """Return the verdict on an assertion; ``held`` are the items of its subject, ended ones included."""
    rivals = [one for one in held if (one.current or one.past) and _stands_against(new, one)]
    same = _same(new, held, rivals)
    begins = {one.item.id: start for one in rivals if (start := _coming_at(new, one)) is not None}
    rivals = [one for one in rivals if one.item.id not in begins]
    if same is not None:
        return confirm(new, same, [one for one in rivals if one is not same])
    verdict = enter(new, rivals)
    return replace(verdict, fields={"valid_to": min(begins.values()), **verdict.fields}) if begins else verdict


def enter(new: Statement, rivals: Sequence[HeldStatement]) -> Verdict:
    """Return the verdict that makes a statement an item: it supersedes rivals, stands beside or precedes them."""
    if new.closed:
        return Verdict(act="ADD", fields={"ended": "retired", "ended_by": None, "valid_to": new.until})
    followers = [one for one in rivals if any(new.loses_to(saying) for saying in one.sayings)]
    if followers:
        return _as_history(new, min(followers, key=lambda one: (_followed_at(new, one), one.item.id)), rivals)
    beaten = [one for one in rivals if one.current and _gives_way(new, one)]
    disputed = [one for one in rivals if one.current and one not in beaten]
    links = [(new.id, one.item.id) for one in disputed] + [(one.item.id, new.id) for one in disputed]
    if new.ahead:
        return Verdict(act="ADD", patches=_until(new, beaten, by=new.id), contradicts=tuple(links))
    return Verdict(
        act="SUPERSEDE" if beaten else "ADD",
        patches={one.item.id: _replaced(new, one, by=new.id, at=new.since) for one in beaten},
        supersedes=tuple((new.id, one.item.id) for one in beaten),
        contradicts=tuple(links),
    )


def confirm(new: Statement, same: HeldStatement, rivals: Sequence[HeldStatement]) -> Verdict:
    """Return the verdict for a repetition, perhaps a fuller one, of a held item; it settles a dispute over it."""
    item = same.item
    counted = new.saying.trust >= Trust.USER
    fuller = adds_detail(new.form, same.form, new.cardinality) and new.saying.trust >= item.trust
    fields: dict[str, Any] = {}
    if new.closed and same.current:
        fields = {"ended": "retired", "ended_by": None, "valid_to": _not_before(item.valid_from, new.until)}
    if counted and new.saying.trust > item.trust:
        fields["trust"] = new.saying.trust
    if counted and new.cardinality == "one" and item.valid_from is not None and new.since < item.valid_from:
        fields |= {"occurred_at": new.since, "valid_from": new.since}
    settled = [one for one in rivals if one.current and same.current and not new.closed and _gives_way(new, one)]
    patches = {one.item.id: _replaced(new, one, by=item.id, at=new.saying.at) for one in settled}
    if new.ahead:
        patches, settled = _until(new, settled, by=item.id), []
    if fields:
        patches[item.id] = fields
    act: Decision = "RETRACT" if "ended" in fields else "UPDATE" if fuller else "SUPERSEDE" if settled else "NONE"
    return Verdict(
        act=act,
        into=item.id,
        counted=counted or fuller,
        patches=patches,
        supersedes=tuple((item.id, one.item.id) for one in settled),
    )


def retract(
    new: Statement, held: Sequence[HeldStatement], *, whole: bool = False, named: Collection[str] = ()
) -> Verdict:
    """Return the verdict that ends a value, or the ``whole`` key; ``named`` are items found by other means.

    A value that was said again since, or by a more trusted source, stays.
    """
    meant = [one for one in held if one.item.id in named or _is_meant(new, one) or (whole and one.item.key == new.key)]
    found = [one for one in meant if one.current and _beaten(new, one)]
    over = new.until or new.since
    fields = {
        one.item.id: {"ended": "retracted", "ended_by": None, "valid_to": _not_before(one.item.valid_from, over)}
        for one in found
    }
    return Verdict(act="RETRACT", patches=fields) if found else NOTHING


def finish(new: Statement, one: HeldStatement | None) -> Verdict:
    """Return the verdict that ends a completed task (None: none was found): it was right, and is over."""
    if one is None or not (one.current and _beaten(new, one)):
        return NOTHING
    over = _not_before(one.item.valid_from, new.since)
    return Verdict(act="RETRACT", patches={one.item.id: {"ended": "retired", "ended_by": None, "valid_to": over}})


def may_outdate(new: Statement, one: HeldStatement) -> bool:
    """Return whether a held item was said earlier, by a source trusted no more, and still holds."""
    return one.current and _beaten(new, one)


def is_rescheduling(new: Statement, one: HeldStatement) -> bool:
    """Return whether a statement names another day for a held occasion that still lies ahead."""
    begins = one.item.valid_from
    ahead = begins is not None and begins > new.saying.at and new.kind in OCCASIONS
    return ahead and _is_meant(new, one) and not _one_occasion(new, one)


def best_match(words: AbstractSet[str], candidates: Mapping[str, AbstractSet[str]]) -> str | None:
    """Return the candidate that shares most words with a text (at least ``MATCHING`` of the shorter one), or None.

    Ties go to the more similar words (Jaccard 1912), then to the last candidate, the newest.
    """
    scored = []
    for n, (name, others) in enumerate(candidates.items()):
        common = len(words & others)
        share = common / (min(len(words), len(others)) or 1)
        scored.append((share, common / (len(words | others) or 1), n, name))
    best = max(scored, default=(0.0, 0.0, 0, None))
    return best[3] if best[0] >= MATCHING else None


def _stands_against(new: Statement, one: HeldStatement) -> bool:
    if one.item.key == new.key and one.item.id not in new.against:
        return new.cardinality == "one" and not is_same_value(new.form, one.form, new.cardinality)
    return one.item.id in new.against or (one.item.key == opposite_key(new.key) and one.form == new.form)


def _is_meant(new: Statement, one: HeldStatement) -> bool:
    return one.item.key == new.key and is_same_value(new.form, one.form, new.cardinality)


def _same(new: Statement, held: Sequence[HeldStatement], rivals: Sequence[HeldStatement]) -> HeldStatement | None:
    """Return the item that says the same, a current one first, and one in the same words before others."""
    meant = [one for one in held if one.item.id not in new.against and _is_meant(new, one) and _one_occasion(new, one)]
    found = [one for one in meant if _joins(new, one, rivals)]
    return min(found, key=lambda one: (not one.current, one.form != new.form), default=None)


def _joins(new: Statement, one: HeldStatement, rivals: Sequence[HeldStatement]) -> bool:
    """Return whether a saying belongs to an item: no other value held between it and the item's own sayings."""
    at = new.saying.at
    sayings = [saying for rival in rivals for saying in rival.sayings]
    if one.current:
        return not any(at < saying.at <= one.first and new.loses_to(saying) for saying in sayings)
    if not one.past:
        return new.closed and one.item.ended == "retired" and one.item.status == "active"
    if new.conflict != "occurred" and not any(map(new.loses_to, sayings)):
        return False  # without an order in time, nothing shows that this belongs to the past
    if at < one.first:
        return not any(at < saying.at <= one.first for saying in sayings)
    return at < one.last or not any(one.last <= saying.at <= at for saying in sayings)


def _one_occasion(new: Statement, one: HeldStatement) -> bool:
    if new.kind not in OCCASIONS or new.saying.began is None:
        return True
    dated = [saying.began for saying in one.sayings if saying.began is not None]
    return not dated or any(abs(began - new.saying.began) <= SAME_DAY for began in dated)


def _beaten(new: Statement, one: HeldStatement) -> bool:
    return all(new.saying.wins_over(saying) for saying in one.sayings)


def _gives_way(new: Statement, one: HeldStatement) -> bool:
    """Return whether an item is replaced: by the rule for conflicts, or because the statement names it as ended."""
    return all(map(new.wins_over, one.sayings)) or (one.item.id in new.against and _beaten(new, one))


def _followed_at(new: Statement, one: HeldStatement) -> datetime:
    return min(saying.at for saying in one.sayings if new.loses_to(saying))


def _as_history(new: Statement, follower: HeldStatement, rivals: Sequence[HeldStatement]) -> Verdict:
    """Return the verdict that puts a statement before ``follower``, and after what ``follower`` had superseded."""
    start = follower.item.valid_from
    over = start if start is not None and start >= new.since else max(new.since, _followed_at(new, follower))
    # A later saying of lower trust does not separate them.
    between = any(map(new.saying.loses_to, follower.sayings))
    before = [
        one for one in rivals if between and one.past and one.item.ended_by == follower.item.id and _gives_way(new, one)
    ]
    return Verdict(
        act="ADD",
        fields={**_ENDED[new.retention], "ended_by": follower.item.id, "valid_to": over},
        patches={one.item.id: _replaced(new, one, by=new.id, at=new.since) for one in before},
        supersedes=((follower.item.id, new.id), *((new.id, one.item.id) for one in before)),
        unlinked=tuple((follower.item.id, one.item.id) for one in before),
    )


def _coming_at(new: Statement, one: HeldStatement) -> datetime | None:
    """Return when a rival, known before, begins, if only after what is now said of the present."""
    start, at = one.item.valid_from, new.saying.at
    return start if new.ahead is False and one.current and start and start > at and one.last <= at else None


def _until(new: Statement, beaten: Sequence[HeldStatement], *, by: str) -> dict[str, dict[str, Any]]:
    """Return patches that let replaced values hold until a statement begins; those not begun by then end."""
    return {
        one.item.id: _replaced(new, one, by=by, at=new.since)
        if one.item.valid_from is not None and one.item.valid_from > new.saying.at
        else {"valid_to": _not_before(one.item.valid_from, new.since)}
        for one in beaten
    }


def _replaced(new: Statement, one: HeldStatement, *, by: str, at: datetime) -> dict[str, Any]:
    if new.ahead is not None and one.item.valid_to is not None:
        at = min(at, one.item.valid_to)
    return {**_ENDED[new.retention], "ended_by": by, "valid_to": _not_before(one.item.valid_from, at)}


def _not_before(start: datetime | None, end: datetime | None) -> datetime | None:
    """Return the end of an interval, at least its start: "I moved last month" may follow "I live here" of today."""
    return end if start is None or end is None else max(start, end)
