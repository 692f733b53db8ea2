"""Reading one message: each clause is gated, matched against the tables, and said of somebody."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from phronesis.core.calendar import find_times
from phronesis.core.proposals import USER, Act, Basis, Proposal, Refusal
from phronesis.core.values import normal_value
from phronesis.derive.extracting.clauses import (
    Clause,
    clauses,
    is_chinese,
    masked,
    sentences,
    times_of,
    with_times,
    without_times,
)
from phronesis.derive.extracting.gate import MAX_REFUSALS, clause_rule, message_rule, refusal, sentence_rule, stated
from phronesis.derive.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.derive.extracting.slots import SEVERAL, trimmed, values_of
from phronesis.derive.extracting.tables import Language, Matched, Pattern

MAX_PROPOSALS: Final = 24
"""Proposals of one message."""

_UNDATED: Final = frozenset({"birthday", "attribute.*", "age", "timezone", "reply_style", "fact"})
"""Keys that hold a date themselves, or none."""

_PEOPLE: Final = frozenset({"partner", "child", "parent", "sibling", "friend", "colleague", "pet"})
"""Keys that name somebody, of whom the next words may speak."""

_NEAR: Final = 40
"""Characters between two values of which one holds the other, for them to be the same thing said again."""

_NAMES: Final = re.compile(r"\s*(?:,|、|&|和|跟|\band\b)\s*")

_MARKS: Final = " ,，.。:：;；\"“”'!！"

_COARSE: Final = frozenset({"month", "season", "year"})
"""How finely a day is not named."""

_NO_VALUES: Final = frozenset({"subject", "word"})

_SERIOUS: Final = frozenset({"preference", "task", "decision", "intention"})
"""Kinds that are meant even with a laugh; a joke is made about who one is and what befell one."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Who or what a clause speaks of, and where its predicate begins."""

    subject: str | None
    end: int
    text: str
    elided: bool = False
    relation: tuple[str, str] | None = None
    thing: bool = False
    names: bool = False


@dataclass(slots=True)
class Reading:
    """One message while it is read."""

    n: int
    text: str
    at: datetime
    types: MemoryTypes
    languages: Mapping[str, Language]
    speaker: str = USER
    basis: Basis = "user"
    proposals: list[Proposal] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rule: str | None = None
    small: bool = False
    subject: str | None = None
    person: str | None = None
    thing: str | None = None
    pending: tuple[str, str, Act] | None = None
    people: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    unknown: bool = False
    lead: tuple[str, str] | None = None
    before: str = ""
    laughs: bool = False

    def read(self) -> None:
        """Fill ``proposals`` and ``refusals``."""
        mask = masked(self.text)
        self.small = not any(char.isupper() for char in re.sub(r"\bI\b", "", self.text))
        language = self.languages["zh" if is_chinese(mask.text) else "en"]
        whole = message_rule(mask.text.lower(), language)
        times = times_of(mask.text, self.at)
        self.laughs = language.gates["laugh"].search(mask.text.lower()) is not None
        for sentence in sentences(mask.text):
            language = self.languages["zh" if is_chinese(sentence.raw) else "en"]
            found = clauses(sentence, times, language)
            self.subject = self.lead = None
            self.unknown = False
            rule = whole or sentence_rule(sentence.raw.lower(), language)
            count = 0 if rule else stated(sentence, found, language)
            for clause in found[:count]:
                self._clause(clause, language)
            for clause in found[count:]:
                if not language.gates["asked_for"].search(clause.plain.lower()) or rule:
                    self._gated(clause, language, rule or "question")
                else:
                    self._clause(clause, language)
        if mask.quoted or mask.code:
            self.rule = self.rule or ("code" if mask.code else "quotation")
        self._settle()

    def _clause(self, clause: Clause, language: Language) -> None:
        low = clause.plain.lower()
        rule = clause_rule(low, language)
        if rule is not None:
            self._gated(clause, language, rule)
            self._whose(clause, language)
        else:
            correction = language.text["not_this"].match(low)
            if correction and self.proposals and self.proposals[-1].cardinality == "one":
                self._corrected(correction["old"])
            else:
                for spoken, matched, act in self._match(clause, language):
                    if spoken.subject is None and "subject" not in matched.slots:
                        if not spoken.thing:
                            self._refuse(clause, "third_party_unknown")
                    elif self._take(clause, spoken, matched, act, language):
                        break
                self._note(clause, language)
        self.before = clause.raw.lower()

    def _gated(self, clause: Clause, language: Language, rule: str) -> None:
        self.rule = self.rule or rule
        if len(self.refusals) < MAX_REFUSALS and next(self._match(clause, language), None) is not None:
            self._refuse(clause, rule)

    def _refuse(self, clause: Clause, rule: str) -> None:
        self.rule = self.rule or rule
        if len(self.refusals) < MAX_REFUSALS and not any(one.rule == rule for one in self.refusals):
            self.refusals.append(refusal(self.n, clause.raw, rule))

    def _match(self, clause: Clause, language: Language) -> Iterator[tuple[Spoken, Matched, str]]:
        """Give what the tables find in a clause: said outright, then as no longer so, then as the list goes on."""
        texts = [(clause.plain, "dated"), (clause.bare, "")] if clause.times else [(clause.bare, "")]
        retract = language.text["retract"]
        for text, dated in texts:
            if retract.search(text.lower()) is None or language.text["no_retract"].search(text.lower()):
                yield from self._matches(text, dated, language, "assert")
            else:
                for spoken, matched, act in self._matches(text, dated, language, "assert"):
                    if matched.pattern.act == "retract" or matched.pattern.done or matched.pattern.negated:
                        yield spoken, matched, act
                positive = " ".join(language.text["not"].sub("", retract.sub("", text)).split())
                positive = positive if language.code == "en" else positive.replace(" ", "")
                yield from self._matches(positive, dated, language, "retract")
        rest = language.text["list_on"].sub("", clause.bare)
        if self.lead and self.subject and language.text["list_item"].match(clause.bare.lower()):
            for lead in dict.fromkeys(self.lead):
                text = f"{lead}{' ' if language.code == 'en' else ''}{rest}"
                for matched in language.tables["says"].matches(text.lower()):
                    if self._fits(matched.pattern, language):
                        yield Spoken(self.subject, 0, text, elided=True), matched, "assert"

    def _matches(self, text: str, dated: str, language: Language, act: str) -> Iterator[tuple[Spoken, Matched, str]]:
        low = text.lower()
        if len(low) != len(text):
            low = text
        tables = language.tables
        for matched in tables["whole" + dated].matches(low):
            if self._fits(matched.pattern, language):
                yield Spoken(self.speaker, 0, text), matched, act
        for spoken in self._possessors(text, language):
            for matched in tables["has" + dated].matches(low, spoken.end):
                yield spoken, matched, act
        for spoken in self._subjects(text, language):
            begin = language.text["adverbs"].match(low, spoken.end)
            after = begin.end() if begin else spoken.end
            bare = spoken.end + (low[spoken.end : spoken.end + 1] == " ")
            for at in dict.fromkeys((after, bare)):
                for matched in tables["says" + dated].matches(low, at):
                    if self._fits(matched.pattern, language):
                        yield spoken, matched, act
        for matched in tables["things" + dated].matches(low):
            yield Spoken(self.thing, 0, text, thing=True), matched, act

    def _fits(self, pattern: Pattern, language: Language) -> bool:
        if pattern.capital and self.small:
            return False
        return not pattern.after or language.gates[pattern.after].search(self.before) is not None

    def _possessors(self, text: str, language: Language) -> Iterator[Spoken]:
        found = language.text["possessor"].match(text)
        if found is not None:
            yield replace(self._spoken(found, text, language), names=True)
        elif self.pending and language.text["named"].match(text):
            return
        elif language.code == "zh" and not self.unknown and (self.subject or language.text["alone"].match(text)):
            yield Spoken(self.subject or self.speaker, 0, text, elided=True)

    def _subjects(self, text: str, language: Language) -> Iterator[Spoken]:
        found = language.text["subject"].match(text)
        if found is not None:
            yield self._spoken(found, text, language)
        elif (name := next((one for one in self.people if text.startswith(one)), None)) is not None:
            yield Spoken(name, len(name), text)
        elif self.pending and language.text["named"].match(text):
            yield Spoken(self.pending[1], 0, text, elided=True, relation=self.pending[:2])
        elif self.unknown:
            yield Spoken(None, 0, text, elided=True)
        elif self.subject is not None or language.text["alone"].match(text):
            yield Spoken(self.subject or self.speaker, 0, text, elided=True)

    def _spoken(self, found: re.Match[str], text: str, language: Language) -> Spoken:
        groups = found.groupdict()
        name = groups.get("name") or groups.get("relname") or groups.get("relname_b")
        relation = None
        if word := (groups.get("rel") or groups.get("rel_b") or "").lower():
            relation = (language.relations[word], word)
        if name is not None:
            name = self.aliases.get(name, name)
            return Spoken(name, found.end(), text, relation=relation)
        if groups.get("self"):
            return Spoken(self.speaker, found.end(), text)
        if relation is not None:
            return Spoken(relation[1], found.end(), text, relation=relation)
        subject = self.person or (self.pending[1] if self.pending else None)
        return Spoken(subject, found.end(), text)

    def _take(self, clause: Clause, spoken: Spoken, matched: Matched, act: str, language: Language) -> bool:
        """Make proposals of a match; tell whether it gave any."""
        pattern = matched.pattern
        subject = self._subject_of(spoken, matched, language)
        if subject is None or (pattern.when and not (clause.times and self._ahead(clause, pattern.lean))):
            return False
        word = matched.slots.get("word", (None, 0, 0))[0]
        found = self._values(clause, spoken, matched, language)
        taken = False
        for key, row, values in found:
            old = matched.slots.get(f"old_{key}")
            replaces = trimmed(spoken.text[old[1] : old[2]], row, language) or None if old is not None else None
            coarse = row.key == "appointment" and any(one.precision in _COARSE for one in find_times(clause.raw, self.at))
            plan = self.types.find("plan")
            if coarse and plan is not None and language.text["doing"].match(values[0].lower()):
                row, key = plan, "plan"  # noqa: PLW2901 - what lies ahead without a day is planned
            for value in values:
                taken = True
                if key == "name" and subject != self.speaker:
                    self._called(clause, spoken, value, language)
                    continue
                self._add(
                    clause,
                    spoken,
                    row,
                    value,
                    pattern,
                    subject=subject,
                    key=row.key_of(word),
                    act=act,
                    replaces=replaces,
                    language=language,
                )
                if row.key in _PEOPLE and act == "assert":
                    self.person, self.pending = value, None
                    self.people.append(value)
                elif row.key == "alias":
                    self.aliases[value] = subject
        if taken:
            self.subject = self.person if language.code == "zh" and spoken.names and self.person else subject
            self.thing = subject if spoken.thing else self.thing
            lead = spoken.text[spoken.end : matched.begins].strip()
            several = any(one in SEVERAL for one in matched.slots) or lead.startswith(("am ", "is ", "是"))
            if lead and act == "assert" and not spoken.elided and several:
                self.lead = (lead, lead.split()[0])
        return taken

    def _values(
        self, clause: Clause, spoken: Spoken, matched: Matched, language: Language
    ) -> list[tuple[str, MemoryType, list[str]]]:
        """Give what the slots of a match hold; nothing unless every one of them holds what it should."""
        found: list[tuple[str, MemoryType, list[str]]] = []
        for key, (_, start, end) in matched.slots.items():
            row = None if key in _NO_VALUES or key.startswith("old_") else self.types.find(key.rstrip("0123456789"), matched.pattern.kind)
            if row is None:
                continue
            surface = spoken.text[start:end]
            surface = with_times(surface, clause) if row.key in _UNDATED or row.kind == "decision" else surface
            values = values_of(row, surface, language, small=self.small)
            if not values:
                return []
            found.append((key.rstrip("0123456789"), row, values))
        return found

    def _ahead(self, clause: Clause, lean: int) -> bool:
        """Tell whether a clause's time lies where its pattern says: what is past is no appointment."""
        times = find_times(clause.raw, self.at, lean=lean)
        today = self.at.date()
        return not times or (times[0].last >= today if lean > 0 else times[0].first <= today)

    def _subject_of(self, spoken: Spoken, matched: Matched, language: Language) -> str | None:
        if "subject" not in matched.slots:
            return spoken.subject
        _, start, end = matched.slots["subject"]
        subject = language.text["head"].sub("", without_times(spoken.text[start:end]).strip(_MARKS)).strip(_MARKS)
        never = language.never["thing" if spoken.thing else "subject"]
        if not (
            spoken.thing or self.small or language.code == "zh" or subject[:1].isupper() or not subject[:1].isascii()
        ):
            return None
        return None if not subject or never.search(subject.lower()) else subject

    def _called(self, clause: Clause, spoken: Spoken, name: str, language: Language) -> None:
        """Take "she is called Pixel" for the name of the pet that was just spoken of."""
        relation = spoken.relation or self.pending
        if relation is not None and relation[1] == spoken.subject:
            self._related(clause, relation[0], name, language)
            if not language.text["one_of"].match(clause.bare):
                self.pending = None

    def _related(self, clause: Clause, key: str, name: str, language: Language, act: str = "assert") -> None:
        row = self.types.find(key)
        if row is not None:
            spoken = Spoken(self.speaker, 0, clause.plain)
            self._add(clause, spoken, row, name, Pattern(p=""), subject=self.speaker, key=key, act=act,
                      replaces=None, language=language)  # fmt: skip
            self.person = name
            self.people.append(name)

    def _note(self, clause: Clause, language: Language) -> None:
        """Remember whom a clause introduces: by name ("my sister Anna"), or not yet ("a kitten")."""
        self._whose(clause, language)
        if self.pending and language.text["names_only"].match(clause.bare):
            key, _, was = self.pending
            for name in _NAMES.split(clause.bare):
                self._related(clause, key, name, language, was)
            self.pending = None
            return
        for form in ("subject", "possessor"):
            found = language.text[form].match(clause.bare)
            if found is None:
                continue
            groups = found.groupdict()
            name, relation = (groups.get(one) or groups.get(f"{one}_b") for one in ("relname", "rel"))
            if name and relation:
                self._related(clause, language.relations[relation.lower()], name, language)
                self.subject = self.subject or name
                return
            if self.pending and form == "subject" and groups.get("name") not in {None, self.person}:
                key, _, was = self.pending
                self.pending = None
                self._related(clause, key, str(groups["name"]), language, was)
                return
        found = language.text["introduces"].search(clause.bare.lower())
        if found is not None and not any(one.start == clause.start and one.key in _PEOPLE for one in self.proposals):
            act: Act = "retract" if language.text["retract"].search(clause.bare.lower()) else "assert"
            self.pending = (language.relations[found["rel"]], found["rel"], act)
            self.person = None

    def _whose(self, clause: Clause, language: Language) -> None:
        """Note whom the next clause speaks of, where it leaves that out."""
        found = language.text["subject"].match(clause.bare)
        groups = found.groupdict() if found is not None else {}
        if groups.get("self"):
            self.subject, self.unknown = self.subject or self.speaker, False
        elif groups.get("third") and self.person is None and self.pending is None:
            self.unknown = True

    def _corrected(self, old: str) -> None:
        self.proposals[-1] = replace(self.proposals[-1], replaces=old.strip(_MARKS))

    def _add(
        self, clause: Clause, spoken: Spoken, row: MemoryType, value: str, pattern: Pattern, *, language: Language,
        **said: str | None,
    ) -> None:  # fmt: skip
        subject, key = said["subject"] or self.speaker, said["key"] or row.key
        normal = normal_value(row.form, value)
        for one in self.proposals:
            if (one.subject, one.key) == (subject, key) and one.value is not None and one.kind == row.kind:
                other = normal_value(row.form, one.value)
                if normal == other or (one.start <= clause.start and (normal in other or other in normal)
                                       and clause.start - one.end <= _NEAR):  # fmt: skip
                    return
        times = [] if row.key in _UNDATED or row.key in _PEOPLE else self._dates(clause, pattern, language)
        self.proposals.append(
            Proposal(
                n=self.n,
                quote=clause.raw,
                start=clause.start,
                end=clause.end,
                kind=row.kind,
                subject=subject,
                key=key,
                content=self._content(clause, spoken, subject, language),
                value=value,
                cardinality=row.cardinality,
                act="retract" if "retract" in (said["act"], pattern.act) else "assert",
                done=pattern.done,
                replaces=said["replaces"],
                basis=self.basis,
                confidence=pattern.confidence,
                importance=row.importance,
                occurred_at=times[0] if times else None,
            )  # fmt: skip
        )

    def _dates(self, clause: Clause, pattern: Pattern, language: Language) -> list[str]:
        """Give the days that a clause's times begin at, but for limits ("by June", 六月前)."""
        if not clause.times:
            return []
        limit_before, limit_after = language.text["limit_before"], language.text["limit_after"]
        return [
            f"{time.first.isoformat()}T00:00:00Z"
            for time in find_times(clause.raw, self.at, lean=pattern.lean)
            if not limit_before.search(clause.raw[: time.start].lower())
            and not limit_after.match(clause.raw[time.end :])
        ]

    def _content(self, clause: Clause, spoken: Spoken, subject: str, language: Language) -> str:
        """Give the clause so that it stands alone: with its subject, where it leaves it out or says "she"."""
        raw = clause.raw
        third = language.text["third"].match(raw)
        if third is not None:
            return f"{subject}{raw[third.end() :]}" if subject != self.speaker else raw
        me = language.text["me"]
        who = me.pattern if subject == self.speaker == USER else subject
        if spoken.elided and language.text["subject"].match(clause.bare) is None:
            raw = language.text["list_on"].sub("", language.text["opening"].sub("", raw, count=1))
            space = " " if language.code == "en" else ""
            lead = spoken.text.removesuffix(raw) if self.lead and spoken.text.startswith(self.lead) else ""
            return f"{who}{space}{lead}{raw}"
        return f"{self.speaker}: {raw}" if self.speaker != USER and subject == self.speaker else raw

    def _settle(self) -> None:
        """Join what belongs together, and take back what was said with a laugh."""
        kept: list[Proposal] = []
        for one in self.proposals:
            new = next(
                (
                    other
                    for other in self.proposals
                    if other.act == "assert"
                    and one.act == "retract"
                    and one.cardinality == "one"
                    and (other.subject, other.key) == (one.subject, one.key)
                ),
                None,
            )
            if new is None:
                kept.append(one)
        for n, one in enumerate(kept):
            gone = next(
                (
                    other
                    for other in self.proposals
                    if other not in kept and (other.subject, other.key) == (one.subject, one.key)
                ),
                None,
            )
            if gone is not None and one.replaces is None:
                kept[n] = replace(one, replaces=gone.value)
        if self.laughs and len(kept) == 1 and kept[0].kind not in _SERIOUS:
            self.rule = "joke"
            self.refusals.append(refusal(self.n, kept.pop().quote, "joke"))
        self.proposals = kept[:MAX_PROPOSALS]
