"""Whether a constraint is negative: it says what to avoid, and orders nothing (RB-07)."""

from phronesis.derive.claims_gate.wording import fold, load_wording


def positive_words(constraint: str) -> str | None:
    """Give the words of a constraint that are no negative constraint; None when all of it is one, or it is empty.

    Lists in the notation ``avoid[…]`` may hold anything. Of the rest, each sentence must negate something, and no
    part of it may order something else; the reason it gives is not looked at.
    """
    rules = load_wording().constraint
    folded = fold(constraint)
    if rules["none"].search(folded):
        return None
    rest = rules["listed"].sub("avoid", folded)
    for sentence in rules["split"].split(rest):
        said = rules["reason"].sub("", sentence)
        if not any(char.isalnum() for char in said):
            continue
        if rules["negative"].search(said) is None:
            return said.strip()
        for piece in rules["turn"].split(said):
            left = rules["negated"].sub(" avoid ", piece)
            if rules["positive"].search(left) is not None:
                return piece.strip()
            if rules["imperative"].search(left) is not None and rules["negative"].search(left) is None:
                return piece.strip()
    return None


def is_reason(text: object) -> bool:
    """Tell whether an exception's reason is one: a text that says something."""
    return isinstance(text, str) and load_wording().constraint["empty_reason"].search(fold(text)) is None
