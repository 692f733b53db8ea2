"""What a message is after, and whether a document is needed to answer it: by what its sentences show.

The rules say what a careful person would: a question about a document, a tool, an instrument, a product, a procedure
or an error needs one, and so does counsel on technical means, and a command that works on a file. What the user said
or did, private matters, notes, reminders and small talk need none. A sentence in which both meet needs a document
only where it is consulted ("in the manual", 手册里). A question that speaks of nobody is taken for one about the world.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from phronesis.core.plan import Intent
from phronesis.recall.planning.reading import FEW_WORDS, Message, Sentence


@dataclass(frozen=True, slots=True)
class Judged:
    """What a sentence is after, whether a document is needed for it, and why."""

    sentence: Sentence
    intent: Intent
    needs: bool
    reason: str

    @property
    def asked(self) -> bool:
        """Whether anything is looked for."""
        return self.intent != "chat"


@dataclass(frozen=True, slots=True)
class Decided:
    """The same of a whole message, with its sentences."""

    intent: Intent
    needs: bool
    reasons: Sequence[str]
    sentences: Sequence[Judged]


def decide(message: Message) -> Decided:
    """Judge a message: documents are needed where one of its sentences needs them; its intent is the weightiest one."""
    if message.code:
        error = Sentence(message.text[:2000])
        if error.shows("error"):
            return Decided("how_to", True, ("an error: what it means stands in documents",), ())
        return Decided("chat", False, ("code without a word: nothing is asked",), ())
    judged = [judge(sentence) for sentence in message.sentences]
    judged = _in_company(judged)
    needing = [one for one in judged if one.needs]
    asked = needing or [one for one in judged if one.asked]
    intent = _weightiest(asked)
    reasons = list(dict.fromkeys(one.reason for one in (asked or judged)))
    return Decided(intent, bool(needing), tuple(reasons[:4]) or ("nothing is asked",), judged)


def _weightiest(judged: Sequence[Judged]) -> Intent:
    """Give the intent of the last sentence that asks: what stands before it leads up to it."""
    return judged[-1].intent if judged else "chat"


def _in_company(judged: Sequence[Judged]) -> list[Judged]:
    """See a sentence with those beside it: behind an order to translate stands the text; a fault alone is asked."""
    out = list(judged)
    asks = any(one.asked for one in judged)
    for n, one in enumerate(judged):
        if one.intent == "act" and not one.needs and one.sentence.shows("act_text") and n == 0:
            return [one]  # the rest is the text that is worked on
        if not one.asked and not asks and one.sentence.shows("fault") and _is_of_a_thing(one.sentence):
            out[n] = Judged(one.sentence, "how_to", True, "something does not work")
    return out


def judge(one: Sentence) -> Judged:
    """Judge one sentence."""
    for rule in (_error, _command, _small_talk, _personal, _document, _technical, _private):
        found = rule(one)
        if found is not None:
            return found
    if one.shows("question") and one.words > FEW_WORDS + 2 * one.shows("follow"):  # "and that one?"
        return Judged(one, _wanted(one, "lookup"), True, "a question that is about nobody here")
    if one.shows("question"):
        return Judged(one, "recall", False, "a short question about what was said before")
    return Judged(one, "chat", False, "nothing is asked")


def _is_of_a_thing(one: Sentence) -> bool:
    return one.shows("tech") or one.identifier or one.file


def _consults(one: Sentence) -> bool:
    """Whether a document is what answers: it is consulted, or a file or address is named in a question."""
    return one.shows("doc_in") or (one.file and not one.shows("doc_thing"))


def _error(one: Sentence) -> Judged | None:
    if not one.shows("error") or (one.shows("recall") and not one.identifier):
        return None
    plain = one.shows("question") and not one.shows("how_to") and _asks_meaning(one)
    return Judged(one, "lookup" if plain else "how_to", True, "an error: what it means stands in documents")


def _asks_meaning(one: Sentence) -> bool:
    return "mean" in one.low or "意思" in one.low or "含义" in one.low


def _command(one: Sentence) -> Judged | None:
    if one.shows("act_text") and one.shows("quoted") and not one.file:
        return Judged(one, "act", False, "the text to work on stands in the message")
    if one.shows("act_own") and not (
        one.shows("recall") and one.shows("question") and not one.low.startswith("remember")
    ):
        if one.shows("question") and one.low.endswith(("?", "？")) and not one.low.startswith(("can you", "could you")):
            return None
        return Judged(one, "act", False, "something to note or to do")
    if not one.shows("act_make") or one.shows("how_to") or one.low.endswith(("?", "？")):
        return None
    if one.shows("recall") and not _consults(one):
        return Judged(one, "act", False, "it is made from what was said")
    if (
        one.file
        or _consults(one)
        or (one.shows("modify") and (_is_of_a_thing(one) or one.shows("doc") or one.shows("code")))
    ):
        return Judged(one, "act", True, "what is to be worked on stands in a file or document")
    return Judged(one, "act", False, "something to make, from what is said")


def _small_talk(one: Sentence) -> Judged | None:
    if one.shows("chat") and not _consults(one) and not one.shows("how_to"):
        return Judged(one, "chat", False, "small talk")
    if not one.shows("question") and not one.shows("how_to") and not one.shows("advise"):
        if one.shows("gist") and not one.shows("mine") and (one.shows("doc") or one.file):
            return Judged(one, "lookup", True, "what a document says is asked for")
        if one.file_alone:
            return Judged(one, "lookup", True, "a file or address is given")
        return Judged(one, "chat", False, "something is told")
    return None


def _personal(one: Sentence) -> Judged | None:
    """What was said or done between the two: a document is needed where it is consulted beside that."""
    if not one.shows("recall"):
        return None
    if one.shows("doc_in") and not (one.shows("doc_thing") and not one.file):
        return Judged(one, _wanted(one, "lookup"), True, "a document is asked beside what was said")
    if one.shows("how_to") and (one.shows("tech") or one.shows("rule")) and not one.shows("mine"):
        return None
    return Judged(one, _wanted(one, "recall"), False, "it asks what was said or done")


def _document(one: Sentence) -> Judged | None:
    if _consults(one):
        return Judged(one, _wanted(one, "lookup"), True, "a document, file or address is asked")
    if one.shows("doc") and not one.shows("doc_thing"):
        return Judged(one, _wanted(one, "lookup"), True, "a document is named")
    return None


def _technical(one: Sentence) -> Judged | None:
    """Tools, instruments, products, procedures: what is known of them stands in documents, whoever asks."""
    of_things = one.shows("tech") or one.identifier
    if one.shows("life") and not of_things:
        return None
    if of_things and (not one.shows("mine") or one.shows("how_to") or one.shows("fault")):
        return Judged(one, _wanted(one, "lookup"), True, "how a tool, instrument or product works stands in documents")
    if one.shows("rule") and (not one.shows("mine") or one.shows("how_to")):
        return Judged(one, _wanted(one, "lookup"), True, "rules and procedures stand in documents")
    return None


def _private(one: Sentence) -> Judged | None:
    named = one.names_somebody and not one.shows("how_to")
    if named or one.shows("mine") or one.shows("person") or one.shows("life"):
        return Judged(one, _wanted(one, "recall"), False, "it is about the user and those around")
    if one.shows("advise") and not one.shows("how_to"):
        return Judged(one, "advise", False, "counsel on what is no matter of documents")
    return None


def _wanted(one: Sentence, otherwise: Intent) -> Intent:
    """Give the intent that the words name, or what is left."""
    if one.shows("change"):
        return "change"
    if one.shows("fault") and otherwise != "recall" and (one.shows("advise") or one.shows("how_to")):
        return "how_to"
    if one.shows("advise") and not (otherwise == "recall" and one.shows("behind")):
        return "advise"
    if one.shows("how_to") and otherwise != "recall":
        return "how_to"
    return otherwise
