"""The time that a message asks about: of which of its words the times count, and which way they lean.

A time counts where something is looked for. It does not in what is only told or noted, in how something is done (a
procedure has no date), or in a clause about the user beside a question about a document ("I started here last Monday").
It does in a sentence before the question that says where the answer stands ("you told me on Friday …").
"""

from collections.abc import Sequence
from datetime import datetime

from phronesis.core.asked_time import read_window
from phronesis.core.plan import TimeWindow
from phronesis.recall.planning.deciding import Decided, Judged
from phronesis.recall.planning.reading import Sentence


def window_of(decided: Decided, now: datetime) -> TimeWindow | None:
    """Give the window that a message asks about, or None."""
    asked = [one for one in decided.sentences if one.asked and one.intent != "how_to"]
    if not asked:
        return None
    text = " ".join(part for one in decided.sentences for part in _dated(one, decided))
    if not text:
        return None
    ahead = not decided.needs and any(one.sentence.shows("ahead") for one in asked)
    ahead = ahead and not any(one.sentence.shows("behind") for one in asked)
    window = read_window(text, now, ahead=ahead)
    if window is not None and decided.intent == "act" and window.since > now:
        return None  # what is to be done then, not what is looked for
    return window


def _dated(one: Judged, decided: Decided) -> Sequence[str]:
    """Give the parts of a sentence whose times count."""
    sentence = one.sentence
    if one.intent == "how_to":
        return ()
    if not one.asked:
        told = sentence.shows("told") or not (decided.needs or decided.intent in ("act", "advise"))
        return (sentence.text,) if told and not sentence.shows("chat") else ()
    if one.intent in ("act", "advise") and not (sentence.shows("recall") or one.needs):
        return ()  # when it is to be done
    if not one.needs:
        return (sentence.text,)
    clauses = [part for part in sentence.clauses if not _aside(part)]
    return (" ".join(part.text for part in clauses),)


def _aside(clause: Sentence) -> bool:
    """Whether a clause tells something of the user and says nothing of where the answer stands."""
    return clause.shows("mine") and not any(clause.shows(name) for name in ("told", "question", "doc"))
