"""Whom a message speaks of: its speaker, those it names, and whom "she" or nobody at all then means."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from phronesis.conversation.extracting.clauses import Clause, without_times
from phronesis.conversation.extracting.tables import Language, PatternMatch
from phronesis.core.proposals import USER, Act

_MARKS: Final = " ,，.。:：;；\"“”'!！"

PEOPLE: Final = frozenset({"partner", "child", "parent", "sibling", "friend", "colleague", "pet"})
"""Keys that name somebody, of whom the next words may speak."""

_AGED: Final = re.compile(r"(.*?)(?: (\d{1,2}))?")
"""A name, and the age beside it: "two boys, Finn 6 and Jonah 9"."""


@dataclass(slots=True)  # a frozen one takes three times as long to make
class SubjectReference:
    """Who or what a clause speaks of, and where its predicate begins."""

    subject: str | None
    end: int
    text: str
    elided: bool = False
    relation: tuple[str, str] | None = None
    thing: bool = False
    names: bool = False
    named: bool = False
    topic: str = ""


@dataclass(slots=True)
class DiscourseState:
    """Those a message has spoken of so far.

    ``subject`` is that of the clause before, ``person`` who "she" is, ``thing`` what "the budget" is that of.
    ``pending`` is a relation that was told without a name ("a kitten"): its key, its word, and whether it came or went;
    ``several``: there are more of them ("three kids"). ``owner`` is who has it, if not the speaker: 老吴有一只鹦鹉.
    ``unknown``: the clause before spoke of somebody who was not named; ``alone``: it was nothing but a name;
    ``beside``: so was the one before in the same sentence.
    ``pet``: the animal that was named last. ``mentioned``: who was named as the subject of a clause, of whom nothing
    was kept: "Dana never quits, she's been at Kestrel for years".
    """

    speaker: str = USER
    subject: str | None = None
    person: str | None = None
    thing: str | None = None
    pending: tuple[str, str, Act] | None = None
    owner: str | None = None
    several: bool = False
    people: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    unknown: bool = False
    alone: str | None = None
    beside: str | None = None
    pet: str | None = None
    mentioned: str | None = None

    @property
    def turned(self) -> bool:
        """Return whether the clause before spoke of somebody other than the speaker."""
        return self.unknown or self.subject not in {None, self.speaker, self.thing}

    def possessors(self, text: str, language: Language) -> Iterator[SubjectReference]:
        """Return whose something is: "my", "Anna's", "her"."""
        found = language.text["possessor"].match(text)
        if found is not None:
            yield replace(self._spoken(found, text, language), names=True)
        elif self.pending and language.text["named"].match(text):
            return
        elif (
            language.grammar.drops_subjects
            and not self.unknown
            and (self.subject or language.text["alone"].match(text))
        ):
            yield SubjectReference(self.subject or self.speaker, 0, text, elided=True)

    def subjects(self, text: str, language: Language) -> Iterator[SubjectReference]:
        """Return whom a clause speaks of, likeliest first; a subject of None is somebody unknown."""
        found = language.text["subject"].match(text)
        if found is not None and _is_it(found, language) and not (self.pet or self.pending):
            found = None  # 这套系统老了，它有问题
        if self.pending and language.text["given_name"].match(text):
            yield SubjectReference(
                self.pending[1], 0, text, elided=True, relation=self.pending[:2]
            )  # 闺女给它取名叫年糕
        elif found is not None and (found.groupdict().get("name") is None or not language.text["alone"].match(text)):
            yield self._spoken(found, text, language)
        elif (name := next((one for one in self.people if text.startswith(one)), None)) is not None:
            yield SubjectReference(name, len(name), text)
        elif self.pending and language.text["named"].match(text):
            yield SubjectReference(self.pending[1], 0, text, elided=True, relation=self.pending[:2])
        elif self.unknown:
            yield SubjectReference(None, 0, text, elided=True)
        elif language.text["as_if"].match(text):
            return  # "like a reminder" likes nothing
        elif self.beside is not None and language.text["of_alone"].match(text):
            yield SubjectReference(self.beside, 0, text, elided=True, named=True)  # "Nell, four, has eczema"
        elif (
            self.person
            and self.subject in {None, self.speaker}
            and (
                language.text["third_verb"].match(text)
                or (self.person in self.people and language.text["of_the_named"].match(text))
            )
        ):
            yield SubjectReference(self.person, 0, text, elided=True)  # "Bernadette is my twin, lives in Perth"
        elif self.subject is not None or _left_out(text, language):
            yield SubjectReference(self.subject or self.speaker, 0, text, elided=True)
            if (frame := language.frames.get("am")) and language.text["alone"].match(text):
                yield SubjectReference(self.subject or self.speaker, 0, frame.format(text), elided=True)

    def topics(self, text: str, language: Language) -> Iterator[SubjectReference]:
        """Return the speaker where a clause begins with what it is about: 收款我都用支付宝."""
        found = language.text["topic"].match(text)
        if found is not None:
            yield SubjectReference(self.speaker, found.end(), text, topic=found["topic"])

    def apposed(self, clause: Clause, language: Language) -> list[tuple[str, str]] | None:
        """Return what those just named are, by key and name, where a clause says no more: "Saoirse, my niece"."""
        if self.alone is None:
            return None
        if language.text["calls_me"].match(clause.bare):
            return [("address_as", self.alone)]
        kin = language.text["kin_only"].match(clause.bare)
        several = language.text["several_names"].search(self.alone) is not None
        if kin is None or several != (kin.groupdict().get("many") is not None):
            return None
        word = (kin["rel"] or kin.groupdict().get("rel_b") or "").lower()
        of, gates = language.relations.get(word, ""), language.gates
        key = next((one for one in ("pet", "friend") if gates[f"of_{one}s"].match(word)), of)
        key = key or ("colleague" if gates["of_colleagues"].match(word) else "")
        names = language.text["between_names"].split(self.alone) if several else [self.alone]
        self.person, self.subject = names[-1], None if several else self.alone
        return [(key, name) for name in names if key]

    def alone_named(self, clause: Clause, language: Language) -> list[tuple[str, str]]:
        """Return the names of a clause that holds nothing else, each with the age beside it, and note them."""
        found = language.text["names_only"].match(clause.bare)
        bare = language.text["small_one"].sub("", clause.bare) if found is not None else ""
        self.alone = bare if bare and not bare[-1].isdigit() else None
        self.beside = None if language.grammar.drops_subjects else self.alone
        if not bare or (language.grammar.capitals and language.never["form_name"].match(bare.lower())):
            return []
        aged = [_AGED.fullmatch(one) for one in language.text["between_names"].split(bare)]
        return [(one[1], one[2] or "") for one in aged if one is not None]

    def turn_to(self, clause: Clause, language: Language) -> None:
        """Note whom the next clause speaks of, where it leaves that out."""
        found = language.text["subject"].match(clause.bare)
        groups = found.groupdict() if found is not None else {}
        groups = {} if found is None or (_is_it(found, language) and self.pet is None) else groups
        drops = language.grammar.drops_subjects
        if language.text["stranger"].search(clause.bare) is not None:
            self.subject, self.unknown = None, True  # 那个博主住在大理，喜欢拍照
        elif (topic := language.text["topic_named"].match(clause.raw.lower())) is not None:
            self.subject, self.unknown = self.aliases.get(topic["name"], topic["name"]), False  # 孟晴嘛，爱喝两口
        elif (told := language.text["told_of"].match(clause.bare)) is not None and told.lastgroup:
            name = told[told.lastgroup]  # 供应商陶总，潮汕人
            self.subject, self.unknown = self.aliases.get(name, name), False
        elif groups.get("self"):
            self.subject, self.unknown = self.subject or self.speaker, False
        elif (
            drops
            and groups.get("rel")
            and not groups.get("relname")
            and not (self.people or (self.unknown and not language.text["own"].match(clause.bare)))
        ):
            self.subject, self.unknown = groups["rel"], False  # 我先生姓秦，叫秦越
        elif drops and (
            name := groups.get("name") or groups.get("mate") or groups.get("othername") or groups.get("other")
        ):
            self.subject, self.unknown = self.aliases.get(name, name), False  # 王总电话换了，13829971145
        elif not drops and groups.get("other") and not (groups.get("othername") or self.person or self.pending):
            self.person, self.unknown = groups["other"].lower(), False  # "my meemaw, she's ninety one"
        elif groups.get("third") and self.person is None and self.pending is None and self.beside is None:
            self.unknown = True
        elif (
            self.subject in {None, self.speaker}
            and self.pending is None
            and self.alone is None
            and language.text["third_verb"].match(clause.bare)
        ):
            self.subject, self.unknown = None, True  # "mains a druid, lives in a swamp, allergic to cheese"

    def mention(self, clause: Clause, language: Language) -> None:
        """Note who is the subject of a clause, by name or by what they are to the speaker."""
        found = None if language.grammar.drops_subjects else language.text["subject"].match(clause.bare)
        groups = found.groupdict() if found is not None else {}
        forms = ("name", "mate", "othername", "relname", "relname_b", "rel", "rel_b", "other")
        name = next((groups[one] for one in forms if groups.get(one)), None)
        if groups.get("name") and not language.text["acts"].match(clause.bare, found.end() if found else 0):
            return  # "Sundays after Mass", "Lab gossip"
        if name is not None and not language.never["subject"].search(name.lower()):
            self.mentioned = name

    def turn_to_pet(self, clause: Clause, language: Language) -> None:
        """Note that a clause is of the pet that was just named, where it says what holds of pets: 六岁了."""
        if self.pet is not None and language.text["of_pet"].match(clause.bare) is not None:
            self.subject = self.pet

    def _spoken(self, found: re.Match[str], text: str, language: Language) -> SubjectReference:
        groups = found.groupdict()
        forms = ("name", "mate", "othername", "relname", "relname_b")
        name = next((groups[one] for one in forms if groups.get(one)), None)
        relation = None
        if word := (groups.get("rel") or groups.get("rel_b") or "").lower():
            relation = (language.relations[word], word)
            if self.unknown and language.grammar.drops_subjects and not language.text["own"].match(text):
                return SubjectReference(None, found.end(), text)  # 碰见一位大姐，女儿在美国: the daughter is hers
        if name is not None:
            name = self.aliases.get(name, name)
            return SubjectReference(name, found.end(), text, relation=relation, named=language.grammar.capitals)
        if groups.get("self"):
            return SubjectReference(self.speaker, found.end(), text)
        if other := groups.get("other"):
            return SubjectReference(other.lower(), found.end(), text)
        if relation is not None:
            return SubjectReference(relation[1], found.end(), text, relation=relation)
        subject = self.person or (self.pending[1] if self.pending else None) or self.beside or self.mentioned
        if (
            subject is None
            and self.subject is not None
            and (self.subject in language.relations or language.text["known_by_role"].match(self.subject))
        ):
            subject = self.subject
        named = self.several and self.pending and language.text["are_called"].match(text)
        third = groups["third"].lower()
        subject = self.pet or subject if _is_it(found, language) else subject
        if self.several and self.person is None and language.text["he_or_she"].match(third):
            subject = self.subject if self.subject != self.speaker else None  # "has two girls, and he's vegan"
        if language.text["they"].match(third) and not named:
            subject = None  # "they" may be anybody
        return SubjectReference(subject, found.end(), text)


def _is_it(found: re.Match[str], language: Language) -> bool:
    """Return whether a subject is what stands for a pet that was named: 它有关节炎."""
    third = found.groupdict().get("third")
    return third is not None and language.text["it"].match(third) is not None


def _left_out(text: str, language: Language) -> bool:
    """Return whether a clause speaks of its speaker though it does not say so: in Chinese, unless it is an order."""
    if language.text["alone"].match(text) is not None:
        return True
    return language.grammar.drops_subjects and language.text["order"].match(text) is None


def subject_said(spoken: SubjectReference, matched: PatternMatch, language: Language, *, small: bool) -> str | None:
    """Return of whom or what a match says something, None where that can be nobody's name.

    ``small``: the message has no capitals, so that none can be asked of names.
    """
    if "subject" not in matched.slots:
        return spoken.subject
    _, start, end = matched.slots["subject"]
    subject = language.text["head"].sub("", without_times(spoken.text[start:end]).strip(_MARKS)).strip(_MARKS)
    never = language.never["thing" if spoken.thing else "subject"]
    first = subject[:1]
    proper = spoken.thing or small or not language.grammar.capitals or first.isupper() or not first.isascii()
    proper = proper or subject.lower() in language.relations  # "a nurse is what my sister is"
    proper = proper or language.text["kin_word"].match(subject) is not None
    return None if not proper or not subject or never.search(subject.lower()) else subject


def quoted_one(text: str, language: Language) -> tuple[str, str] | None:
    """Return who it is that says something, as a relation's key and a name.

    "my girlfriend Kelsey says hi" tells both.
    """
    said = language.text["quoted"].match(text)
    return None if said is None else (language.relations[said["rel"].lower()], said["relname"])


def last_named(clause: Clause | None, language: Language) -> str | None:
    """Return whom a clause names last: "I'm meeting Farah" before "she's my boss"."""
    names = list(language.text["whom"].finditer(clause.raw)) if clause is not None else []
    return names[-1]["relname"] if names else None


def people_told(clause: Clause, language: Language) -> list[tuple[str, str]]:
    """Return whom a clause names by their part in the speaker's life, each with the key: 我妈陈桂芳, 组里小唐."""
    found = (language.text[form].search(clause.bare) for form in ("person_told", "also_told", "kin_told"))
    return list(
        dict.fromkeys(
            (key, name or told["told"])  # a long expression for names stands once, and an empty group tells the key
            for told in found
            if told
            for key, name in told.groupdict().items()
            if name is not None and key != "told"
        )
    )
