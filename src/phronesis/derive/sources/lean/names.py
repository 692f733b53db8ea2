"""Names in Lean's messages and proofs: which are lemmas, which are of the local context."""

import re
from typing import Final

# A name between one pair of marks; Lean's own names may end in primes ('Nat.add_comm'').
_QUOTED: Final = re.compile(r"['`‘]←? ?([^\s'`‘’]{1,200}'{0,3})['`’](?!')")
_NAME: Final = re.compile(r"(?<![\w.'])[^\W\d][\w'!?₀-₉✝]{0,100}(?:\.[^\W\d][\w'!?₀-₉]{0,100}){0,12}")
_FIRST: Final = re.compile(r"[^._]*")
# h, hx, hab, hU, h₁, h1', ih, ih2, x, α, this: what people call what they assume.
_LOCAL: Final = re.compile(r"(?:h[A-Za-z]{0,2}|ih[a-z]?|this|[^\W\d_])[\d₀-₉']{0,6}")
_LEMMAS_IN_H: Final = frozenset({"hom", "has", "hat"})
_ABSENT: Final = re.compile(r"(?i)does not contain\s+['`‘]([^\s`‘’]{1,200}?)['`’](?=[\s,.]|$)")
_CLASS: Final = re.compile(r"[A-Z][\w.]{0,100}")


def quoted(text: str) -> list[str]:
    """Give the names that stand in quotation marks in a message, in order."""
    return list(dict.fromkeys(_QUOTED.findall(text)))


def is_local(name: str) -> bool:
    """Tell whether a name is one of the local context by its form: ``h``, ``hxy``, ``ih``, ``x_pos``, ``h.symm``."""
    found = _FIRST.match(name)
    first = found[0] if found is not None else ""
    return "✝" in name or (_LOCAL.fullmatch(first) is not None and first not in _LEMMAS_IN_H)


def is_lemma(name: str) -> bool:
    """Tell whether a name is that of a declaration by its form: parted by dots or underscores, and not local."""
    return ("." in name or "_" in name.strip("_")) and not is_local(name)


def names_in(text: str) -> list[str]:
    """Give every name in a text, in order, repeated ones too."""
    return _NAME.findall(text)


def lemmas_in(text: str) -> list[str]:
    """Give the names of declarations in a text, each once."""
    return [name for name in dict.fromkeys(names_in(text)) if is_lemma(name)]


def missing_name(text: str, kind: str) -> str:
    """Give the name that a message misses, empty where it names none."""
    said = text[:1000]
    absent = _ABSENT.search(said) if kind == "invalid_field" else None
    found = quoted(said)
    return absent[1] if absent is not None else found[0] if found else ""


def class_in(text: str) -> str:
    """Give the type class that could not be synthesised: the first name of the line behind the message's first."""
    for line in text.split("\n", 4)[1:4]:
        found = _CLASS.match(line.strip().lstrip("("))
        if found is not None:
            return found[0]
    return ""
