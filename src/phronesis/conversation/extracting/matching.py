"""Which patterns of the tables hold for a clause, and of whom each is said."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from phronesis.conversation.extracting.cast import DiscourseState, SubjectReference
from phronesis.conversation.extracting.clauses import Clause, shorten_clause
from phronesis.conversation.extracting.slots import SEVERAL
from phronesis.conversation.extracting.tables import Language, Pattern, PatternMatch

_BARE: Final = 8
"""Characters of a clause that says no more than that something is decided: 商量好了."""

_TRAITS: Final = frozenset(
    [
        "name",
        "age",
        "hometown",
        "home_city",
        "nationality",
        "job",
        "employer",
        "school",
        "field_of_study",
        "language",
        "skill",
        "hobby",
        "allergy",
        "diet",
        "health",
        "likes",
        "dislikes",
        "relationship_status",
        "experience",
        "phone",
        "email",
        "gender",
        "address",
        "timezone",
        "alias",
        "goal",
    ]
)
"""Slots of what holds of one person: in a Chinese clause that names nobody, of whom the clause before spoke."""

_PERSONAL: Final = frozenset(
    [
        "age",
        "hometown",
        "home_city",
        "nationality",
        "job",
        "field_of_study",
        "skill",
        "hobby",
        "allergy",
        "diet",
        "health",
        "likes",
        "dislikes",
        "prefers",
        "relationship_status",
        "experience",
        "goal",
        "plan",
    ]
)
"""Slots of what no thing has: behind a clause about one, a clause that names nobody tells it of its speaker."""


@dataclass(slots=True)
class ClauseMatcher:
    """What matching a clause rests on beside its words: who is spoken of, and what was said before it.

    ``small``: the message has no capitals. ``retracts``: its sentence says that something holds no more. ``before`` is
    the clause before, ``lead`` how a list was begun ("I like") that the clause may go on with.
    """

    cast: DiscourseState
    small: bool = False
    retracts: bool = False
    before: str = ""
    lead: tuple[str, ...] | None = None
    _gates: dict[str, bool] = field(default_factory=dict)

    def found(self, clause: Clause, language: Language) -> Iterator[tuple[SubjectReference, PatternMatch, str]]:
        """Return what the tables find in a clause: said outright, then as no longer so, then as the list goes on."""
        texts = [(clause.plain, "dated"), (clause.bare, "")] if clause.times else [(clause.bare, "")]
        retract = language.text["retract"]
        brief = language.text["lasting"].sub("", clause.bare)
        texts += [(brief, "")] if brief != clause.bare else []
        if (fronted := language.text["fronted"].match(clause.bare)) is not None:
            texts.append(("".join(fronted[part] or "" for part in ("own", "verb", "topic", "end")), ""))
        for text, dated in texts:
            low = text.lower()
            if not self.retracts or retract.search(low) is None or language.text["no_retract"].search(low):
                yield from self._matches(text, dated, language, "assert")
            else:
                yield from self._retractions(text, dated, language)
        yield from self._list_items(clause, language)
        if not self.retracts:
            for shorter in shorten_clause(clause, language):
                yield from self._matches(shorter, "", language, "assert")

    def _retractions(
        self, text: str, dated: str, language: Language
    ) -> Iterator[tuple[SubjectReference, PatternMatch, str]]:
        """Return what a clause says that is no longer so, read without the words that say it."""
        for spoken, matched, act in self._matches(text, dated, language, "assert"):
            if matched.pattern.act == "retract" or matched.pattern.done or matched.pattern.negated:
                yield spoken, matched, act
        positive = " ".join(language.text["not"].sub("", language.text["retract"].sub("", text)).split())
        positive = positive if language.grammar.spaces else positive.replace(" ", "")
        yield from self._matches(positive, dated, language, "retract")

    def _list_items(self, clause: Clause, language: Language) -> Iterator[tuple[SubjectReference, PatternMatch, str]]:
        """Return what a clause says as the next item of a list that the clause before began."""
        if not self.lead or not self.cast.subject or not language.text["list_item"].match(clause.bare.lower()):
            return
        rest = language.text["list_on"].sub("", clause.bare)
        for lead in dict.fromkeys(self.lead):
            if language.text["is_so"].match(lead) and language.text["doing_so"].match(rest):
                continue
            text = f"{lead}{' ' if language.grammar.spaces else ''}{rest}"
            for matched in language.tables["says"].matches(text.lower()):
                if self._fits(matched.pattern, language):
                    yield SubjectReference(self.cast.subject, 0, text, elided=True), matched, "assert"

    def went_by(self, clause: Clause, language: Language) -> None:
        """Note what the next clause goes on from: with 决定了 before it, where that was a clause of its own."""
        said = clause.raw.lower()
        bare = len(self.before) <= _BARE and language.gates["decided"].search(self.before) is not None
        self.before = f"{self.before}，{said}" if bare else said
        self._gates.clear()

    def leads(self, spoken: SubjectReference, matched: PatternMatch, language: Language) -> None:
        """Note how a list was begun, where the next clause may go on with it."""
        lead = spoken.text[spoken.end : matched.begins].strip()
        if not lead:
            return
        if language.text["is_a"].match(lead) or any(one in SEVERAL for one in matched.slots):
            self.lead = (lead, lead.split()[0])
        elif language.text["is_so"].match(f"{lead} "):
            self.lead = (lead.split()[0],)

    def _matches(
        self, text: str, dated: str, language: Language, act: str
    ) -> Iterator[tuple[SubjectReference, PatternMatch, str]]:
        low = text.lower()
        if len(low) != len(text):
            low = text
        tables = language.tables
        if self.cast.thing and language.gates["of_rule"].search(self.before):
            yield from self._of_thing(
                text, low, dated, language, act
            )  # 护理部有规定，发药前必须核对: no task of its speaker
        own = language.text["own"]
        other = self.cast.turned and language.grammar.drops_subjects and own.search(text) is None
        at_thing = self.cast.thing is not None and self.cast.subject == self.cast.thing
        at_thing = at_thing and language.grammar.drops_subjects
        for matched in tables["whole" + dated].matches(low, fits=partial(self._fits, language=language)):
            if other and self.cast.unknown and matched.slots.get("subject", ("",))[0] in language.relations:
                continue  # 碰见一位大姐，女儿在美国: the daughter is hers
            of_other = other and "subject" not in matched.slots and not _TRAITS.isdisjoint(matched.slots)
            if at_thing and "address" in matched.slots and own.search(text) is None:
                yield (
                    SubjectReference(self.cast.thing, 0, text, thing=True),
                    matched,
                    act,
                )  # 总部在合肥，地址是望江路66号
                continue
            subject = self.cast.subject if of_other else self.cast.speaker
            yield SubjectReference(subject, 0, text, elided=of_other), matched, act
        for spoken in self.cast.possessors(text, language):
            for matched in tables["has" + dated].matches(low, spoken.end):
                yield spoken, matched, act
        for spoken in (*self.cast.topics(text, language), *self.cast.subjects(text, language)):
            said = spoken.text.lower()
            begin = language.text["adverbs"].match(said, spoken.end)
            after = begin.end() if begin else spoken.end
            bare = spoken.end + (said[spoken.end : spoken.end + 1] == " ")
            for at in dict.fromkeys((after, bare)):
                for matched in tables["says" + dated].matches(said, at, partial(self._fits, language=language)):
                    own_again = spoken.elided and at_thing and not _PERSONAL.isdisjoint(matched.slots)
                    yield (replace(spoken, subject=self.cast.speaker) if own_again else spoken), matched, act
        yield from self._of_thing(text, low, dated, language, act)

    def _of_thing(
        self, text: str, low: str, dated: str, language: Language, act: str
    ) -> Iterator[tuple[SubjectReference, PatternMatch, str]]:
        for matched in language.tables["things" + dated].matches(low):
            if self._fits(matched.pattern, language):
                yield SubjectReference(self.cast.thing, 0, text, thing=True), matched, act

    def _fits(self, pattern: Pattern, language: Language) -> bool:
        if pattern.capital and self.small:
            return False
        if not pattern.after:
            return True
        known = self._gates.get(pattern.after)
        if known is None:
            known = self._gates[pattern.after] = language.gates[pattern.after].search(self.before) is not None
        return known
