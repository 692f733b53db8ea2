"""The words of ``proof_words.toml``, compiled: strategies, and what a proof says of its own success."""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Final

from phronesis.core.loading import once
from phronesis.core.pattern_tables import parse_folded

_BEFORE: Final = 48  # characters before a sign in which a denial of it may stand


@once
def load_table() -> Mapping[str, Any]:
    """Give ``proof_words.toml`` as it is written."""
    return parse_folded(
        "proof_words.toml", resources.files(__package__).joinpath("proof_words.toml").read_text("utf-8")
    )


@once
def load_pattern(section: str, name: str = "") -> re.Pattern[str]:
    """Give a section's list of patterns, or one pattern, compiled as one, without case."""
    found = load_table()[section][name] if name else [one for row in load_table()[section].values() for one in row]
    return re.compile(found if isinstance(found, str) else "|".join(f"(?:{one})" for one in found), re.IGNORECASE)


def strategies_in(text: str) -> list[str]:
    """Give the strategies that a proof follows, in the order in which it names them first."""
    table = load_table()
    avoided = load_pattern("fails", "avoided")
    places: dict[str, int] = {}
    for name in table["strategies"]:
        for found in load_pattern("strategies", name).finditer(text):
            if avoided.search(text[max(0, found.start() - _BEFORE) : found.start()]) is None:
                places[name] = found.start()
                break
    for special, general in table["instead"].items():
        if special in places:
            places.pop(general, None)
    return sorted(places, key=lambda name: places[name])


def failures_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Give where a text between two places says that it failed, unless the words before deny it."""
    denied = load_pattern("fails", "denied")
    found = [one for name in ("english", "chinese") for one in load_pattern("fails", name).finditer(text, start, end)]
    for one in sorted(found, key=lambda match: match.start()):
        if denied.search(text[max(start, one.start() - _BEFORE) : one.start()]) is None:
            yield one.span()


def done_in(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Give where a text between two places first says that its proof is done."""
    found = load_pattern("done", "marks").search(text, start, end)
    return None if found is None else found.span()
