"""Reading one message: each clause is gated, matched against the tables, and said of somebody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from phronesis.conversation.extracting.cast import PEOPLE, DiscourseState, SubjectReference, quoted_one
from phronesis.conversation.extracting.clause_context import (
    EllipsisState,
    EventFrame,
    is_partner,
    note_value,
    resolve_event,
    together,
    turn,
)
from phronesis.conversation.extracting.clauses import (
    MAX_READ,
    Clause,
    Sentence,
    clauses,
    language_of,
    mask_message,
    self_answered,
    sentences,
    split_clause,
    times_of,
    with_capitals,
    with_times,
    written_out,
)
from phronesis.conversation.extracting.gate import (
    MAX_REFUSALS,
    before_quotation,
    before_supposition,
    clause_rule,
    count_statements,
    laughed_at,
    message_rule,
    own_words,
    refusal,
    sentence_rule,
)
from phronesis.conversation.extracting.introducing import (
    note_introduced,
    note_relatives,
    propose_related,
    subject_of,
    take_name,
)
from phronesis.conversation.extracting.matching import ClauseMatcher
from phronesis.conversation.extracting.memory_types import MemoryType, MemoryTypes
from phronesis.conversation.extracting.phrasing import content_of, days_of, due_day, join_proposals
from phronesis.conversation.extracting.postprocess import (
    is_day,
    is_of_others,
    said_before,
    told_of_others,
    without_unnamed,
)
from phronesis.conversation.extracting.slots import UNDATED, fill_slots, trim_value
from phronesis.conversation.extracting.tables import Language, Pattern, PatternMatch
from phronesis.core.calendar import TimeSpan
from phronesis.core.proposals import Basis, Proposal, Refusal
from phronesis.core.prospective import PROSPECTIVE
from phronesis.core.values import plain_relative
from phronesis.models.text_features import as_said, common_end

MAX_PROPOSALS: Final = 24
"""Proposals of one message."""

_MARKS: Final = " ,，.。:：;；\"“”'!！"


@dataclass(slots=True)
class MessageReader:
    """One message while it is read."""

    n: int
    text: str
    at: datetime
    types: MemoryTypes
    languages: Mapping[str, Language]
    cast: DiscourseState
    matching: ClauseMatcher
    basis: Basis = "user"
    proposals: list[Proposal] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rule: str | None = None
    simple: str = ""
    last: Clause | None = None
    times: list[TimeSpan] = field(default_factory=list)
    listing: bool = False
    laughs: Sequence[int] = ()
    begun: int = 0
    doubtful: bool = False
    going_on: EllipsisState = field(default_factory=EllipsisState)
    carried: str | None = None
    language: Language = field(init=False)

    def read(self) -> None:
        """Fill ``proposals`` and ``refusals``."""
        mask = own_words(mask_message(self.text), self.languages)
        self.simple = mask.text
        language = self.language = language_of(mask.text, self.languages)
        told = language.text["capital_i"].sub("", self.text[:MAX_READ])
        self.matching.small = not any(map(str.isupper, told))
        mask = replace(mask, text=with_capitals(mask.text, language, small=self.matching.small))
        mask = replace(mask, text=self_answered(mask.text, language))
        whole = message_rule(mask.text.lower(), language)
        times = self.times = times_of(mask.text, self.at)
        self.laughs = [laugh.start() for laugh in language.gates["laugh"].finditer(mask.text.lower())]
        for sentence in sentences(mask.text, language):
            language = language_of(sentence.raw, self.languages)
            found = clauses(sentence, times, language)
            self.begun = sentence.start
            self.cast.subject = self.cast.beside = self.matching.lead = None
            self.cast.unknown = False
            rule, kept = whole or sentence_rule(sentence.raw.lower(), language), 0
            if rule == "quotation" and whole is None:
                kept = before_quotation(sentence, found, language)
                if kept == 0 and found and (said := quoted_one(found[0].plain, language)) is not None:
                    propose_related(self, found[0], *said, language)
            elif rule == "hypothesis" and whole is None:
                kept = before_supposition(sentence, found, language)
            rule = rule if kept == 0 else None
            found = found[:kept] or found
            count = 0 if rule else count_statements(sentence, found, language)
            whole_text = written_out(sentence.raw.replace("’", "'"), language).lower()
            self.doubtful = clause_rule(whole_text, language) is not None
            self.matching.retracts = language.text["retract"].search(whole_text) is not None
            of_others = self._paired(sentence, found[:count], language)
            for clause in [one for one in found[:count] if one.start not in of_others]:
                self._clause(clause, language)
            for clause in found[count:]:
                if not language.gates["asked_for"].search(clause.plain.lower()) or rule:
                    self._gated(clause, language, rule or "question")
                    drafted = rule == "chit_chat" and language.gates["drafted"].search(sentence.raw.lower())
                    if rule in {None, "question", "chit_chat"} and whole is None and not drafted:
                        note_relatives(self, clause, language)
                else:
                    self._clause(clause, language)
        if mask.quoted or mask.code:
            self.rule = self.rule or ("code" if mask.code else "quotation")
        self._settle()

    def _clause(self, clause: Clause, language: Language) -> None:
        low = clause.plain.lower()
        rule = clause_rule(low, language) if self.doubtful else None
        ends = False
        if rule is not None:
            self._gated(clause, language, rule)
            self.cast.turn_to(clause, language)
            self.cast.unknown |= rule == "third_party_unknown"
            if self.cast.unknown and language.grammar.drops_subjects:
                self.cast.subject = None  # 雷军是仙桃人，武汉大学毕业的: both are said of him
        else:
            correction = language.text["not_this"].match(low)
            if self._told_after(low, language):
                ends = language.gates["nudges"].search(low) is None
            elif correction and self.proposals and self.proposals[-1].cardinality == "one":
                self._corrected(with_times(clause.plain[correction.start("old") : correction.end("old")], clause))
            elif self._carried(clause, language):
                pass
            elif self._said(clause, language) or not self._parted(clause, language):
                note_introduced(self, clause, language)
            self.going_on.note(clause, self.cast.thing, language)
            self.cast.mention(clause, language)
            self.last = clause
        if ends:
            self.matching.before = ""  # what it speaks of stands before it, not after
        elif not (self.listing and self.proposals and self.proposals[-1].start == clause.start):
            self.matching.went_by(clause, language)
        self.listing = language.gates["todo"].search(self.matching.before) is not None

    def _carried(self, clause: Clause, language: Language) -> bool:
        """Take what a clause says of the thing, or of the task, that the one before spoke of; tell whether it does."""
        for whole in self.going_on.wholes(clause, self.text, language):
            self.carried = whole.raw
            said = self._said(whole, language)
            self.carried = None
            if said:
                return True
        return False

    def _told_after(self, low: str, language: Language) -> bool:
        """Take what a clause says of the one before; tell whether it does: "sub 4 marathon, that's the dream"."""
        made = self.proposals[-1] if self.proposals else None
        is_task = made is not None and (made.key, made.act, made.done) == ("task", "assert", False)
        if made and is_task and language.gates["nudges"].search(low) is not None:
            self.proposals[-1] = replace(made, key="reminder")  # repot the monstera on Sunday, nudge me
            return True
        told, said = self.last, language.text["told_after"].match(low)
        if said is None or told is None or told.start < self.begun:
            return False
        if all(one.start != told.start for one in self.proposals):
            put = language.frames[str(said.lastgroup)].format
            self._said(replace(told, plain=put(told.plain), bare=put(told.bare)), language)
        return True

    def _said(self, clause: Clause, language: Language) -> bool:
        """Take what the likeliest pattern gives of a clause; tell whether one gave anything."""
        said = False
        self.cast.turn_to_pet(clause, language)
        for spoken, matched, act in self.matching.found(clause, language):
            if spoken.subject is None and "subject" not in matched.slots:
                if not spoken.thing:
                    self._refuse(clause, "third_party_unknown")
            elif self._take(clause, spoken, matched, act, language):
                said = True
                alone = language.text["maybe_we"].match(spoken.text) is None
                if alone or not (matched.pattern.done and clause.times):  # "we sent the form today" is an event too
                    break
        return said

    def _paired(self, sentence: Sentence, found: Sequence[Clause], language: Language) -> set[int]:
        """Read two or three clauses together where one says what the other is: "GMT+8, that's me".

        Give where those begin that speak of somebody else only by what follows: "Parkinson's, that's my father".
        """
        table, of_others = language.tables["pairs"], set[int]()
        if not table.patterns:
            return of_others
        for first, parts, clause in together(sentence, found):
            before = found[first - 1].raw.lower() if first else self.matching.before
            low = clause.bare.lower()
            for matched in table.matches(low):
                after = matched.pattern.after
                known = not after or language.gates[after].search(before) is not None
                known = known and not (matched.pattern.capital and self.matching.small)
                if known and clause_rule(low, language) in {None, "chit_chat"}:
                    kept = self.cast.subject, self.matching.lead
                    spoken = SubjectReference(self.cast.speaker, 0, clause.bare)
                    taken = self._take(clause, spoken, matched, "assert", language)
                    self.cast.subject, self.matching.lead = kept
                    if taken:
                        of_others |= told_of_others(matched, parts)
                        if "subject" in matched.slots and not language.grammar.drops_subjects:
                            self.cast.person = self.proposals[-1].subject  # "Femi, platform lead, speaks Yoruba"
                        break
        return of_others

    def _parted(self, clause: Clause, language: Language) -> bool:
        """Read a clause that says nothing as a whole as two; tell whether the first says anything."""
        if language.gates["settled"].search(self.matching.before):
            return False  # 商量好了，店里不打折: what is decided is the whole of it
        for first, second in split_clause(clause, self.times, language):
            if language.gates["denied"].match(second.bare):
                break  # 痛风没有
            if self._said(first, language) or language.text["introduces"].search(first.bare.lower()):
                note_introduced(self, first, language)
                self._clause(second, language)
                return True
        return False

    def _gated(self, clause: Clause, language: Language, rule: str) -> None:
        self.rule = self.rule or rule
        if len(self.refusals) < MAX_REFUSALS and next(self.matching.found(clause, language), None) is not None:
            self._refuse(clause, rule)

    def _refuse(self, clause: Clause, rule: str) -> None:
        self.rule = self.rule or rule
        if len(self.refusals) < MAX_REFUSALS and not any(one.rule == rule for one in self.refusals):
            self.refusals.append(refusal(self.n, self.text[clause.start : clause.end], rule))

    def _take(
        self, clause: Clause, spoken: SubjectReference, matched: PatternMatch, act: str, language: Language
    ) -> bool:
        """Make proposals of a match; tell whether it gave any."""
        subject = subject_of(self, clause, spoken, matched, language)
        if subject is None:
            return False
        taken = False
        cast, types = self.cast, self.types
        fill = partial(fill_slots, clause, spoken, matched=matched, language=language, types=types)
        slots = fill(thing=cast.thing, small=self.matching.small)
        for key, row, values in slots:
            old = matched.slots.get(f"old_{key}")
            replaces = trim_value(spoken.text[old[1] : old[2]], row, language) or None if old is not None else None
            told = EventFrame(row, subject, values)
            one = resolve_event(told, clause, spoken, at=self.at, cast=cast, types=types, language=language)
            if one is None:
                return False
            subject = one.subject  # its words and its time say whose it is
            if one.row.key == "uses" and subject != cast.speaker:  # what somebody else uses is a fact
                one = replace(one, row=types.find("uses", "fact") or one.row)
            if is_of_others(one.row.key, one.values[0], spoken, language, own=subject == cast.speaker):
                continue
            key_told = one.row.key if one.row is not told.row else key
            said = {"key": key_told, "act": act, "replaces": replaces}
            for value in one.values:
                taken = True
                subject = self._put(clause, spoken, matched, one.row, value, language=language, subject=subject, **said)
        if taken:
            turn(cast, spoken, matched, subject=subject, act=act, language=language)
            if act == "assert" and not spoken.elided:
                self.matching.leads(spoken, matched, language)
        return taken

    def _put(
        self,
        clause: Clause,
        spoken: SubjectReference,
        matched: PatternMatch,
        row: MemoryType,
        value: str,
        *,
        language: Language,
        **said: str | None,
    ) -> str:
        """Propose a value of a match, and note whom it names; return its subject, or that it is called by this name."""
        pattern, subject = matched.pattern, str(said["subject"])
        if said["key"] == "name" and spoken.thing:
            self.add(clause, spoken, row, value, pattern, language=language, **{**said, "replaces": None})
            return subject  # the shop is called Thread & Thimble
        if said["key"] == "name" and subject != self.cast.speaker:
            return take_name(self, clause, spoken, value, language) or subject
        if said["key"] == "name" and value.lower() == subject.lower():
            return subject  # 大家好我是阿坤, by 阿坤: the name is known
        word = matched.slots.get("word", (None, 0, 0))[0]
        said["key"] = row.key_of(pattern.word or (self._as_said(word, clause) if word else None))
        if said["replaces"]:
            said["replaces"] = self._as_said(said["replaces"], clause)
        own = row.key in PEOPLE and "subject" in matched.slots
        if row.key == "child" and spoken.elided and is_partner(subject, self.cast, self.proposals, language):
            own = True  # 我爱人是唐薇，小女儿叫罗一诺
        said["subject"] = self.cast.speaker if own else subject
        self.add(clause, spoken, row, value, pattern, language=language, **said)
        note_value(self.cast, spoken, matched, row, value, subject=subject, act=said["act"], language=language)
        return subject

    def _corrected(self, old: str) -> None:
        old = as_said(old.strip(_MARKS), self.simple, self.text, self.proposals[-1].end, self.language.contracted)
        self.proposals[-1] = replace(self.proposals[-1], replaces=old)

    def add(
        self,
        clause: Clause,
        spoken: SubjectReference,
        row: MemoryType,
        value: str,
        pattern: Pattern,
        *,
        language: Language,
        **said: str | None,
    ) -> None:
        """Propose a value, unless the same was proposed of the same: ``said`` are its subject, key, act, replaces."""
        subject, key, value = said["subject"] or self.cast.speaker, said["key"] or row.key, self._as_said(value, clause)
        subject = subject if subject == self.cast.speaker else self._as_said(subject, clause)
        same = [one for one in self.proposals if (one.subject, one.key, one.kind) == (subject, key, row.kind)]
        if said_before(same, row.form, value, clause.start):
            return
        timed = self.last if pattern.after and self.last and not clause.times else clause
        times = [] if row.key in UNDATED or row.key in PEOPLE else days_of(timed, self.at, pattern.lean, language)
        proposal = Proposal(
            n=self.n,
            quote=self.text[clause.start : clause.end],
            start=clause.start,
            end=clause.end,
            kind=row.kind,
            subject=subject,
            key=key,
            content=self._content(clause, spoken, said["subject"] or subject, language),
            value=value,
            cardinality=row.cardinality,
            act="retract" if "retract" in (said["act"], pattern.act) else "assert",
            done=pattern.done,
            replaces=said["replaces"],
            basis=self.basis,
            confidence=pattern.confidence,
            importance=row.importance,
            occurred_at=times[0] if times else None,
            due=due_day(timed, self.at, language) if row.kind in PROSPECTIVE else None,
        )
        self.proposals.append(proposal)

    def _content(self, clause: Clause, spoken: SubjectReference, subject: str, language: Language) -> str:
        if self.carried is not None:
            return self.carried  # "its licence is MIT": "the parser's licence is MIT"
        elided = spoken.elided and language.text["subject"].match(clause.bare) is None
        lead = spoken.text if self.matching.lead and spoken.text.startswith(self.matching.lead) else ""
        words = content_of(clause, language, subject=subject, speaker=self.cast.speaker, elided=elided, lead=lead)
        end = common_end(words, clause.raw)
        return f"{self._as_said(words[: len(words) - end], clause)}{self.text[clause.end - end : clause.end]}"

    def _as_said(self, text: str, clause: Clause) -> str:
        return as_said(text, self.simple, self.text, clause.start, self.language.contracted)

    def _settle(self) -> None:
        """Join what belongs together, and take back what was said with a laugh."""
        language = self.language
        kept = [replace(one, subject=plain_relative(one.subject)) for one in join_proposals(self.proposals, language)]
        kept = [one for one in kept if not (is_day(one, language) or language.gates["nobody"].match(one.subject))]
        kept = without_unnamed(kept, self.simple, self.cast.speaker, language)
        if len(kept) == 1 and laughed_at(kept[0], self.simple, self.laughs, language):
            self.rule = "joke"
            self.refusals.append(refusal(self.n, kept.pop().quote, "joke"))
        self.proposals = kept[:MAX_PROPOSALS]
