"""Front matter: the YAML mapping at the start of a Markdown file."""

import re
from typing import Any, Final

import yaml

_BEGIN: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_END: Final = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses aliases: with them a few lines stand for a value of any size."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*) are not read; write the value where it is meant")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Return the front matter, between two lines of ``---`` at the start, and the text after it; None without any."""
    begin = _BEGIN.match(text)
    end = _END.search(text, begin.end()) if begin else None
    return (None, text) if begin is None or end is None else (text[begin.end() : end.start()], text[end.end() :])


def parse_front_matter(text: str) -> dict[str, Any]:
    """Return the mapping that front matter holds. ValueError: it is no YAML, or no mapping."""
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:  # a date that does not exist is a ValueError
        raise ValueError(" ".join(str(error).split())) from error
    if not isinstance(found, dict):
        raise ValueError("it is no mapping")  # noqa: TRY004 - of a text, not of a type
    return found
