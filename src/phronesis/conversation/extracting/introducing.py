"""Whom a message introduces: by name ("my sister Anna"), by a name that follows, or not yet ("a kitten")."""

from typing import TYPE_CHECKING, Final

from phronesis.conversation.extracting.cast import PEOPLE, SubjectReference, last_named, people_told, subject_said
from phronesis.conversation.extracting.clause_context import is_no_attribute, whole_of
from phronesis.conversation.extracting.clauses import Clause
from phronesis.conversation.extracting.phrasing import ahead, rename_subject
from phronesis.conversation.extracting.tables import Language, Pattern, PatternMatch
from phronesis.core.proposals import Act

if TYPE_CHECKING:
    from phronesis.conversation.extracting.reading import MessageReader


_NEAREST: Final = frozenset({"child", "pet", "sibling", "partner"})
"""Relations whose name may follow: "We have a daughter. Mia is five." """

_SHORT: Final = 4
"""Characters of what somebody wants to be called, as a clause of its own."""


def note_introduced(reading: "MessageReader", clause: Clause, language: Language) -> None:
    """Remember whom a clause introduces: by name ("my sister Anna"), or not yet ("a kitten")."""
    reading.cast.turn_to(clause, language)
    for known, name in people_told(clause, language):
        if language.grammar.capitals and language.never["form_name"].search(name.lower()):
            continue  # "Mandarin at home, English at work"
        propose_related(reading, clause, known, name, language)
        if language.grammar.drops_subjects and clause.bare.endswith(name):
            reading.cast.subject, reading.cast.unknown = name, False  # 带的实习生小林，日本籍
    note_place(reading, clause, language)
    called = language.text["kin_called"].match(clause.bare)
    if called is not None:
        _name_kin(reading, clause, called["kin"], called["called"], language)
    if _is_only_a_name(reading, clause, language) or _named_in(reading, clause, language):
        return
    is_my = language.text["is_my"].match(clause.bare)
    if is_my is not None and (met := last_named(reading.last, language)) is not None:
        propose_related(reading, clause, language.relations[is_my["rel"].lower()], met, language)
        return
    if (kin := language.text["kin_named"].match(clause.bare)) is not None:
        reading.cast.person = kin["name"]  # "Anna is my cousin and lives in Oslo"
        reading.cast.people.append(kin["name"])
    note_relatives(reading, clause, language)
    about = language.text["about"].match(clause.bare)
    if about is not None and not any(one.start == clause.start for one in reading.proposals):
        reading.cast.thing = about["thing"]
    await_name(reading, clause, language)


def _is_only_a_name(reading: "MessageReader", clause: Clause, language: Language) -> bool:
    """Take the name, or the relation of the one just named, that a clause says and nothing else; tell whether it is."""
    if (those := reading.cast.apposed(clause, language)) is not None:
        for known, name in those:
            propose_related(reading, clause, known, name, language)
        return True
    before = reading.last.bare if reading.last is not None else ""
    if language.text["called_so"].match(clause.bare) and 0 < len(before) <= _SHORT:
        propose_related(reading, clause, "address_as", before, language)  # 掌柜的，以后就这么叫我
        return True
    names = reading.cast.alone_named(clause, language)
    if not reading.cast.pending or not names:
        return False
    key, _, was = reading.cast.pending
    for name, age in names:
        propose_related(reading, clause, key, name, language, act=was)
        propose_age(reading, clause, name, age, language)
    if not reading.cast.several or reading.simple[clause.end : clause.end + 1] != ",":
        reading.cast.pending = None  # "three kids, Ann, Bo and Cy"
    if language.text["kin_only"].match(reading.matching.before) and not reading.cast.several:
        reading.cast.subject = reading.cast.person  # "my dad, Frank, is a driver"
    return True


def note_relatives(reading: "MessageReader", clause: Clause, language: Language) -> None:
    """Take whom a clause names beside what they are to the speaker, wherever: "a card for my wife Helena"."""
    for found in language.text["with_relative"].finditer(clause.bare):
        if (relative := language.relations.get(found["rel"].lower())) is not None:
            propose_related(reading, clause, relative, found["relname"], language)
        reading.cast.person = found["relname"]
        if found.end() == len(clause.bare):
            reading.cast.subject = found["relname"]
    whose, theirs = reading.cast.person, language.text["of_theirs"].search(clause.bare)
    if theirs is not None and whose in reading.cast.people:
        key = language.relations[theirs["rel"].lower()]
        propose_related(reading, clause, key, theirs["relname"], language, whose=whose)


def note_place(reading: "MessageReader", clause: Clause, language: Language) -> None:
    """Take where a relative lives from "my daughter in Boston", whatever is said of her."""
    found = language.text["lives_in"].match(clause.bare)
    row = reading.types.find("home_city")
    if found is None or row is None or language.relations.get(found["rel"].lower()) == "pet":
        return
    place = found["place"]
    forms = (language.never.get("form_place"), language.never.get("home_city"))
    if place.isupper() or any(never is not None and never.search(place.lower()) for never in forms):
        return
    whose = found["relname"] or found["rel"].lower()
    said = {"subject": whose, "key": "home_city", "act": "assert", "replaces": None}
    reading.add(clause, SubjectReference(whose, 0, clause.plain), row, place, Pattern(p=""), language=language, **said)


def _name_kin(reading: "MessageReader", clause: Clause, kin: str, name: str, language: Language) -> None:
    """Propose how a relative is called who has no key of the speaker's: 女婿宋凯, 小姨子姚瑶."""
    if not language.grammar.keeps_kin_names:  # "my grandson's name is Caleb, and he is nine" tells his age of him
        reading.cast.person = name
        reading.cast.people.append(name)
        return
    row = reading.types.find("name")
    if row is None:
        return
    said = {"subject": kin, "key": "name", "act": "assert", "replaces": None}
    reading.add(clause, SubjectReference(kin, 0, clause.plain), row, name, Pattern(p=""), language=language, **said)
    reading.cast.person = reading.cast.aliases[kin] = name
    reading.cast.people.append(name)
    if clause.bare.endswith(name):
        reading.cast.subject = name


def _named_in(reading: "MessageReader", clause: Clause, language: Language) -> bool:
    """Take whom a clause names beside what they are to the speaker; tell whether it names somebody."""
    for form in ("subject", "possessor"):
        found = language.text[form].match(clause.bare)
        if found is None:
            continue
        groups, rest = found.groupdict(), clause.bare[found.end() :]
        if mate := groups.get("mate"):
            propose_related(reading, clause, "colleague", mate, language)
            reading.cast.subject, reading.cast.unknown = reading.cast.subject or mate, False
            return True
        name, relation = (groups.get(one) or groups.get(f"{one}_b") for one in ("relname", "rel"))
        if name and relation:
            propose_related(reading, clause, language.relations[relation.lower()], name, language)
            reading.cast.subject = reading.cast.subject or name
            return True
        named = groups.get("name") not in {None, reading.cast.person} and form == "subject"
        if (
            reading.cast.pending
            and named
            and reading.cast.pending[0] in _NEAREST
            and language.text["is_one"].match(rest)
        ):
            key, _, was = reading.cast.pending
            if not reading.cast.several:
                reading.cast.pending = None  # "three kids: Mason is 9, Lily is 6"
            propose_related(reading, clause, key, str(groups["name"]), language, act=was)
            return True
    return False


def await_name(reading: "MessageReader", clause: Clause, language: Language) -> None:
    """Remember that somebody is there whose name may follow."""
    found = language.text["introduces"].search(clause.bare.lower())
    if found is not None and not any(one.start == clause.start and one.key in PEOPLE for one in reading.proposals):
        act: Act = "retract" if language.text["retract"].search(clause.bare.lower()) else "assert"
        word = found["rel"] or "partner"  # "I got engaged, her name is Deepa"
        reading.cast.pending = (language.relations[word], word, act)
        reading.cast.owner = _owner(clause, language) if language.relations[word] == "pet" else None
        reading.cast.several = found.groupdict().get("many") is not None
        reading.cast.person = None
        alone = found["rel"] and not reading.cast.several and language.text["kin_only"].match(clause.bare)
        if language.grammar.drops_subjects or alone:
            reading.cast.subject = found["rel"]  # 我有个弟弟，在部队当兵; "dad, 81, lives alone"


def _owner(clause: Clause, language: Language) -> str | None:
    """Return who has what a clause brings in, where it names them: 我邻居老吴有一只鹦鹉."""
    found = language.text["subject"].match(clause.bare) if language.grammar.drops_subjects else None
    groups = found.groupdict() if found is not None else {}
    forms = ("name", "mate", "othername", "relname", "relname_b", "rel", "other")
    return next((groups[one] for one in forms if groups.get(one)), None)


def take_name(
    reading: "MessageReader", clause: Clause, spoken: SubjectReference, name: str, language: Language
) -> str | None:
    """Take "she is called Pixel" for the name of the pet that was just spoken of; give whom it names now."""
    key = language.relations.get(spoken.subject or "")
    relation = spoken.relation or reading.cast.pending or ((key, spoken.subject) if key and spoken.subject else None)
    if relation is not None and relation[1] == spoken.subject:
        for one in language.text["between_names"].split(name) if reading.cast.several else [name]:
            owner = reading.cast.owner if relation[0] == "pet" else None
            propose_related(reading, clause, relation[0], one, language, whose=owner)
        if language.grammar.drops_subjects and not reading.cast.several:
            reading.proposals = rename_subject(reading.proposals, relation[1], name, reading.begun)
        if not language.text["one_of"].match(clause.bare):
            reading.cast.pending = None
    elif language.text["known_by_role"].match(spoken.subject or "") is not None and (row := reading.types.find("name")):
        said = {"subject": spoken.subject, "key": "name", "act": "assert", "replaces": None}
        reading.add(clause, spoken, row, name, Pattern(p=""), language=language, **said)
        reading.cast.person = reading.cast.aliases[str(spoken.subject)] = name
        reading.cast.people.append(name)
    elif spoken.subject in reading.cast.people and language.text["full_name"].search(clause.bare):
        propose_related(reading, clause, "alias", name, language, whose=spoken.subject)  # 发小阿浩，大名是傅文浩
    return name if not language.grammar.drops_subjects and reading.cast.person == name else None


def propose_related(
    reading: "MessageReader",
    clause: Clause,
    key: str,
    name: str,
    language: Language,
    *,
    act: str = "assert",
    whose: str | None = None,
) -> None:
    """Propose that somebody or something of the speaker's is called so, and note who is spoken of."""
    row = reading.types.find(key)
    if row is not None:
        spoken = SubjectReference(reading.cast.speaker, 0, clause.plain)
        said = {"subject": whose or reading.cast.speaker, "key": key, "act": act, "replaces": None}
        reading.add(clause, spoken, row, name, Pattern(p=""), language=language, **said)
        reading.cast.person = name
        reading.cast.people.append(name)
        reading.cast.pet = name if row.key == "pet" else reading.cast.pet


def propose_age(reading: "MessageReader", clause: Clause, name: str, age: str, language: Language) -> None:
    """Propose the age that stands beside a name."""
    if age and (row := reading.types.find("age")) is not None:
        said = {"subject": name, "key": "age", "act": "assert", "replaces": None}
        reading.add(clause, SubjectReference(name, 0, clause.plain), row, age, Pattern(p=""), language=language, **said)


def subject_of(
    reading: "MessageReader", clause: Clause, spoken: SubjectReference, matched: PatternMatch, language: Language
) -> str | None:
    """Return whom a match is said of; None where it says nothing to keep."""
    pattern = matched.pattern
    subject = subject_said(spoken, matched, language, small=reading.matching.small)
    if subject is None or (pattern.when and not (clause.times and ahead(clause, reading.at, pattern.lean))):
        return None
    if pattern.others and subject == reading.cast.speaker:
        return None
    if pattern.untimed and clause.times:
        return None  # "my sister is in Paris this week" is no home
    surname = language.gates["of_name"].search(reading.matching.before)
    if spoken.elided and subject == reading.cast.speaker and "name" in matched.slots and surname is None:
        return None  # 今天学了一道菜，叫清蒸鲈鱼: a dish is called so, not the speaker
    of_nobody = spoken.named and language.never["subject"].search(subject.lower())
    if of_nobody or is_no_attribute(spoken, matched, language):
        return None  # Python uses indentation
    return whole_of(subject, spoken, reading.proposals, begun=reading.begun, language=language)
